package progress

import "math/bits"

// Lengths is how long answers were, in completion tokens. It counts them in
// steps of an eighth or less, so that what it says is never below the truth,
// and at most an eighth above it. The zero Lengths has seen none.
type Lengths struct {
	counts [lengthSteps]uint32
	seen   int
}

// lengthSteps is enough for answers of two million tokens.
const lengthSteps = 8 * 20

// step is the number of the step that holds n: the eighths of each power of
// two, and single tokens below eight.
func step(n int) int {
	if n < 8 {
		return max(n, 0)
	}
	exp := bits.Len(uint(n)) - 4
	return min(8*exp+n>>exp, lengthSteps-1)
}

// top is the largest number in a step.
func top(i int) int {
	if i < 16 {
		return i
	}
	exp := i/8 - 1
	return (i%8+9)<<exp - 1
}

func (l *Lengths) add(n int) {
	l.counts[step(n)]++
	l.seen++
}

func (l *Lengths) merge(o *Lengths) {
	for i, n := range o.counts {
		l.counts[i] += n
	}
	l.seen += o.seen
}

// Seen is how many answers it has counted.
func (l *Lengths) Seen() int { return l.seen }

// Quantile is a length that the part q of the answers does not pass, as 0.95.
func (l *Lengths) Quantile(q float64) int {
	want, have := q*float64(l.seen), 0.0
	for i, n := range l.counts {
		if have += float64(n); n > 0 && have >= want {
			return top(i)
		}
	}
	return 0
}

// Mean is how long they were on average; 0 where none was seen.
func (l *Lengths) Mean() int {
	sum := 0
	for i, n := range l.counts {
		sum += int(n) * top(i)
	}
	return sum / max(1, l.seen)
}

// Beyond are those of at least so many tokens: what may become of an answer
// that has as many already.
func (l *Lengths) Beyond(tokens int) (longer Lengths) {
	for i := step(tokens); i < lengthSteps; i++ {
		longer.counts[i] = l.counts[i]
		longer.seen += int(l.counts[i])
	}
	return longer
}

// source is where answers came from.
type source struct{ set, lane string }

// Lengths is how long the answers of a data set were on a lane, and on all
// lanes together. Answers that were refused count, where their usage is known.
func (s *State) Lengths(set, lane string) (here, all Lengths) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for k, l := range s.lengths {
		if k.set != set {
			continue
		}
		all.merge(l)
		if k.lane == lane {
			here = *l
		}
	}
	return here, all
}
