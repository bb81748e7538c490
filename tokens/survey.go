package tokens

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/eyrie-ai/eyrie"
)

// Survey learns the habits of one lane from its answers. It is safe for
// concurrent use, and what it learns does not depend on the order in which the
// answers come.
//
// Two things tell a habit. White space that stands where a trimming server
// would have taken it off rules trimming out. And an assumption that explains
// far more counts than chance splits could is how the lane works.
type Survey struct {
	r  *Rebuilder
	mu sync.Mutex
	// seen counts the answers by what could explain their bill. Guarded by mu.
	seen map[evidence]int
	kept set // trimming that visible white space rules out. Guarded by mu.
}

// evidence is what an answer says: the assumptions that could apply, and the
// sets of them that explain its bill. There are at most maxExplanations;
// an answer with more says nothing.
type evidence struct {
	could     set
	more      int // how many more tokens were billed than the plain text has, within bounds
	explained [maxExplanations]set
	n         int
}

const maxExplanations = 24

// Survey returns an empty survey.
func (r *Rebuilder) Survey() *Survey {
	return &Survey{r: r, seen: map[evidence]int{}}
}

// Add takes in one answer. Answers whose ids the server returned, or without a
// count, say nothing.
func (s *Survey) Add(g *eyrie.Generation, thinking bool, a *eyrie.Answer) {
	if s.r.form == nil || len(a.CompletionIDs) > 0 || undecidable(a) != "" {
		return
	}
	b := newBuilder(s.r, g, thinking, a)
	plain := b.assemble(b.plain())
	more := a.Usage.CompletionTokens - plain.size()
	ev := evidence{could: b.could, more: min(max(more, -2), 8)} // beyond, chance knows no difference
	full := false
	b.try(func(_ draft, held set) {
		if full = ev.n == maxExplanations; full {
			return
		}
		ev.explained[ev.n] = held
		ev.n++
	})
	kept := b.kept()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept |= kept
	if !full {
		s.seen[ev]++
	}
}

// Answers counts the answers that said something.
func (s *Survey) Answers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, times := range s.seen {
		n += times
	}
	return n
}

// kept is the trimming that the answer's own white space rules out.
func (b *builder) kept() set {
	var s set
	a := b.answer
	if !stopped(a.FinishReason) {
		return s // white space may stand where the answer was cut
	}
	if b.thinks && endsInSpace(a.Reasoning) {
		s = s.with(LineAfterReasoning).with(SpaceAfterReasoning)
	}
	if beginsInSpace(a.Content) {
		s = s.with(LineBeforeContent).with(SpaceBeforeContent)
	}
	if len(a.ToolCalls) > 0 && endsInSpace(a.Content) {
		s = s.with(LineAfterContent).with(SpaceAfterContent)
	}
	return s
}

const (
	// surveyRounds is how often the shares are estimated anew from what they
	// explain; they have long settled by then.
	surveyRounds = 200
	// surveyDoubt is how many answers without evidence every share starts with,
	// so that a handful of chance splits does not make a habit.
	surveyDoubt = 100
)

// Habits returns what the answers so far say. It estimates the shares under
// which the bills are likeliest (by expectation and maximisation), with another
// split of the text as the standing rival of every assumption.
func (s *Survey) Habits() Habits {
	s.mu.Lock()
	seen, kept := maps.Clone(s.seen), s.kept
	s.mu.Unlock()

	order := slices.SortedFunc(maps.Keys(seen), compareEvidence)
	sh := Habits(nil).shares()
	for a := range EndUncounted {
		switch {
		case kept.has(a):
			sh[a] = 0
		case a == SpaceAfterReasoning || a == SpaceBeforeContent || a == SpaceAfterContent:
			sh[a] = 0.005 // where a count fits both, a line's end is likelier
		default:
			sh[a] = 0.05
		}
	}
	for range surveyRounds {
		sh = sh.improve(order, seen, kept)
	}
	sh.couple()
	h := Habits{}
	for a := range assumptions {
		h[a] = sh[a]
	}
	return h
}

// couple makes a trimmed line's end at least as likely as a trimmed space at
// the same place. A space always counts; a line's end is mostly one token with
// the full stop before it, and then no count shows that it was there. But a
// server that takes off one takes off the other.
func (sh *shares) couple() {
	for _, at := range [][2]Assumption{
		{LineAfterReasoning, SpaceAfterReasoning},
		{LineBeforeContent, SpaceBeforeContent},
		{LineAfterContent, SpaceAfterContent},
	} {
		sh[at[0]] = max(sh[at[0]], sh[at[1]])
	}
}

// improve returns the shares that the evidence suggests if sh is right.
func (sh *shares) improve(order []evidence, seen map[evidence]int, kept set) shares {
	prior := Habits(nil).shares()
	var held, could shares
	for a := range held {
		held[a], could[a] = prior[a]*surveyDoubt, surveyDoubt
	}
	for _, ev := range order {
		n := float64(seen[ev])
		var weights [maxExplanations]float64
		total := 0.0
		for i, x := range ev.explained[:ev.n] {
			weights[i] = sh.likelihood(x, ev.could)
			total += weights[i]
		}
		total += sh.rival(ev.could, ev.more)
		if total == 0 {
			continue
		}
		for a := range ev.could.all {
			if a == EndUncounted && ev.n == 0 {
				continue // an unexplained bill says nothing about counting
			}
			could[a] += n
			for i, x := range ev.explained[:ev.n] {
				if x.has(a) {
					held[a] += n * weights[i] / total
				}
			}
		}
	}
	var out shares
	for a := range out {
		if !kept.has(Assumption(a)) {
			out[a] = held[a] / could[a]
		}
	}
	return out
}

func compareEvidence(a, b evidence) int {
	return cmp.Or(
		cmp.Compare(a.could, b.could),
		cmp.Compare(a.more, b.more),
		slices.Compare(a.explained[:a.n], b.explained[:b.n]),
	)
}
