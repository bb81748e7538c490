package route

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Sort says in which order lanes are filled.
type Sort uint8

// The orders. Each lane still takes what it has room for: the order decides who
// is filled first.
const (
	ByCost       Sort = iota // the cheapest first
	ByThroughput             // the one first whose answers are written fastest
	ByLatency                // the one first that begins to answer soonest
	ByDeadline               // the cheapest first, and no more lanes than are needed to be done in time
)

var sortNames = []string{"price", "throughput", "latency", "deadline"}

// Sorts lists the names of the orders.
func Sorts() []string { return slices.Clone(sortNames) }

func (s Sort) String() string { return sortNames[s] }

// ParseSort reads the name of an order.
func ParseSort(name string) (Sort, error) {
	i := slices.Index(sortNames, name)
	if i < 0 {
		return 0, fmt.Errorf("sort %q: want one of %s", name, strings.Join(sortNames, ", "))
	}
	return Sort(i), nil
}

// Pace is how a lane has answered so far.
type Pace struct {
	Rate         float64       // tokens a second of one answer; 0 unknown
	FirstContent time.Duration // until an answer began; 0 unknown
	Most         int           // answers at once
}

// Compare orders two lanes by how they answer, and 0 where the order in which
// they stand decides. A lane that has not answered yet comes first: it must, to
// be known.
func (s Sort) Compare(a, b Pace) int {
	switch s {
	case ByThroughput:
		return known(a.Rate > 0, b.Rate > 0, cmp.Compare(b.Rate, a.Rate))
	case ByLatency:
		return known(a.FirstContent > 0, b.FirstContent > 0, cmp.Compare(a.FirstContent, b.FirstContent))
	}
	return 0
}

func known(a, b bool, order int) int {
	switch {
	case a && b:
		return order
	case a:
		return 1
	case b:
		return -1
	}
	return 0
}

const (
	// spare is how much more than is needed the lanes should give: answers are
	// of different length, and lanes falter.
	spare = 1.2
	// guess is the rate of a lane that has not answered yet.
	guess = 30
)

// Needed is how many lanes of an order, from the first on, together give so many
// tokens in the time that is left, with something to spare. It is all of them
// when they do not, and at least one.
func Needed(order []Pace, tokens int64, left time.Duration) int {
	want := spare * float64(tokens)
	for i, p := range order {
		rate := p.Rate
		if rate <= 0 {
			rate = guess
		}
		if want -= rate * float64(p.Most) * left.Seconds(); want <= 0 {
			return i + 1
		}
	}
	return len(order)
}
