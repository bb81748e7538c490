// Package harvest reads a run's journal and yields its accepted generations as
// rows of token ids, in the order of the data sets.
//
// The order does not depend on when answers came: sets in the order of their
// names, then prompts as they stood in the data set, samples, and turns. The
// same answers give the same rows in the same order, however often the run was
// interrupted. It works while the run goes on.
//
// How ids are found again depends on what a lane does to its answers, which its
// answers tell. So a harvest is read twice: [Harvest.Sample] hands out a bounded
// number of a lane's answers to learn from, and [Harvest.RowsByLane] makes the
// rows by what was learned. Neither holds more than a few answers at a time.
package harvest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

// Rebuilder turns an answer into a row.
type Rebuilder interface {
	Row(g *eyrie.Generation, thinking bool, a *eyrie.Answer) (eyrie.Row, error)
}

// Item is one accepted generation.
type Item struct {
	Generation eyrie.Generation
	Record     *eyrie.EndedRecord
	Sampling   eyrie.Sampling
	Split      string       // the part of the set that the conversation belongs to
	Origin     eyrie.Origin // what the conversation's row said of itself
	Row        eyrie.Row
	// Err says why no row could be made; Row is then empty.
	Err error
}

// ID names the item's row: the prompt's id in its set, the turn and the sample.
func (it *Item) ID() string {
	return fmt.Sprintf("%s/t%d/s%d", it.Generation.PromptID, it.Generation.Turn, it.Generation.Sample)
}

// Harvest is the index of a run's accepted generations.
type Harvest struct {
	run     *os.Root
	prompts map[eyrie.Digest]prompt
	entries []entry               // in the order of compare
	sets    []string              // that have entries, sorted
	lanes   []string              // that have entries, sorted
	bills   map[int64]eyrie.Money // of accepted answers, that came late
}

type prompt struct {
	ref     journal.Ref
	ordinal int
}

type entry struct {
	set     string
	ordinal int
	prompt  eyrie.Digest
	sample  int
	turn    int
	lane    string
	ref     journal.Ref
	started journal.Ref
}

// Open indexes the journal of a run directory.
func Open(run *os.Root) (*Harvest, error) {
	h := &Harvest{run: run, prompts: map[eyrie.Digest]prompt{}, bills: map[int64]eyrie.Money{}}
	started := map[int64]journal.Ref{}
	have := map[eyrie.Key]bool{}
	for e, err := range journal.Outline(run) {
		if err != nil {
			return nil, err
		}
		switch r := e.Record.(type) {
		case *eyrie.PromptRecord:
			if _, ok := h.prompts[r.Prompt]; !ok {
				h.prompts[r.Prompt] = prompt{e.Ref, r.Ordinal}
			}
		case *eyrie.StartedRecord:
			started[r.Attempt] = e.Ref
		case *eyrie.EndedRecord:
			if r.OK && !have[r.Key] {
				have[r.Key] = true
				h.entries = append(h.entries, entry{r.Set, 0, r.Prompt, r.Sample, r.Turn, r.Lane, e.Ref, started[r.Attempt]})
			}
			delete(started, r.Attempt)
		case *eyrie.SettledRecord:
			if len(r.Attempts) == 1 {
				h.bills[r.Attempts[0]] = r.Cost
			}
		}
	}
	for i := range h.entries {
		e := &h.entries[i]
		p, ok := h.prompts[e.prompt]
		if !ok {
			e.ordinal = math.MaxInt // its prompt was lost; see orphan
			continue
		}
		e.ordinal = p.ordinal
	}
	slices.SortFunc(h.entries, compare)
	h.sets = distinct(h.entries, func(e *entry) *string { return &e.set })
	h.lanes = distinct(h.entries, func(e *entry) *string { return &e.lane })
	return h, nil
}

// distinct lists the different names that entries have, sorted, and lets equal
// names share their memory.
func distinct(entries []entry, name func(*entry) *string) []string {
	seen := map[string]string{}
	for i := range entries {
		n := name(&entries[i])
		if _, ok := seen[*n]; !ok {
			seen[*n] = *n
		}
		*n = seen[*n]
	}
	return slices.Sorted(maps.Keys(seen))
}

// compare orders entries as the data sets do.
func compare(a, b entry) int {
	return cmp.Or(
		cmp.Compare(a.set, b.set), cmp.Compare(a.ordinal, b.ordinal),
		slices.Compare(a.prompt[:], b.prompt[:]),
		cmp.Compare(a.sample, b.sample), cmp.Compare(a.turn, b.turn))
}

// Sets lists the sets that have answers, sorted.
func (h *Harvest) Sets() []string { return slices.Clone(h.sets) }

// Lanes lists the lanes that gave answers, sorted.
func (h *Harvest) Lanes() []string { return slices.Clone(h.lanes) }

// Len counts the accepted generations of a set.
func (h *Harvest) Len(set string) int {
	n := 0
	for _, e := range h.entries {
		if e.set == set {
			n++
		}
	}
	return n
}
