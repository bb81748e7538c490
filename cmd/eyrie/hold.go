package main

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/plan"
	"github.com/eyrie-ai/eyrie/progress"
)

// hold is what the job wants reserved for a request.
func (s *session) hold() dispatch.Hold {
	if s.job.Hold == "expected" {
		return dispatch.Expected
	}
	return dispatch.Strict
}

// heldEach says what a request holds.
var heldEach = map[dispatch.Hold]string{
	dispatch.Strict:   "what it may cost at the worst",
	dispatch.Expected: "what hardly one costs",
}

// longMeans is how many times as long as the mean hardly an answer is, before
// any was seen.
const longMeans = 3

// expectedHold is what hardly a request costs: by the answers of the set whose
// answers are longest, or by the means that the forecast rests on.
func expectedHold(sets []plan.SetInput, st *progress.State) func(*eyrie.Lane, int, int) eyrie.Money {
	tokens := 0
	for _, in := range sets {
		tokens = max(tokens, dispatch.HighLength(st, in.Name, int(longMeans*in.OutputTokens)))
	}
	return func(l *eyrie.Lane, promptTokens, maxTokens int) eyrie.Money {
		exact := *l
		exact.Overruns = false
		return min(l.WorstCase(promptTokens, maxTokens), exact.WorstCase(promptTokens, tokens))
	}
}

// overshoot is by how much the budget may be passed at the very worst: where
// every request that can run at once becomes as long as it may, on the lanes
// that charge a stream that is cut in full.
func overshoot(f *plan.Forecast) (most eyrie.Money) {
	for _, l := range exposed(f) {
		more := l.over(f)
		most = max(most, min(share(more, eyrie.Money(f.Concurrency), 1), share(more, f.Left, max(1, l.Hold))))
	}
	return most
}

// share is m·n/d, saturating.
func share(m, n, d eyrie.Money) eyrie.Money {
	hi, lo := bits.Mul64(uint64(m), uint64(n))
	if hi >= uint64(d) {
		return eyrie.MaxMoney
	}
	q, _ := bits.Div64(hi, lo, uint64(d))
	return eyrie.Money(min(q, uint64(eyrie.MaxMoney)))
}

type exposedLane struct{ *plan.LaneForecast }

// over is what a request may cost beyond what it holds.
func (l exposedLane) over(f *plan.Forecast) eyrie.Money {
	longest := 0.0
	for _, s := range f.Sets {
		longest = max(longest, s.PromptTokens)
	}
	return l.Lane.WorstCase(int(longest), f.MaxTokens) - l.Hold
}

// exposed are the lanes on which a request may cost more than it holds although
// it is cut.
func exposed(f *plan.Forecast) (out []exposedLane) {
	for i := range f.Lanes {
		if l := (exposedLane{&f.Lanes[i]}); !l.Lane.Stops && l.over(f) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// riskOf says what holds of what is expected put at risk.
func riskOf(f *plan.Forecast) string {
	var names []string
	for _, l := range exposed(f) {
		names = append(names, l.Lane.Tag)
	}
	if names == nil {
		return "hold: expected: the budget cannot be passed on these lanes: they cost nothing more once a stream is cut, and streams are cut before that"
	}
	return fmt.Sprintf("hold: expected: the budget may be passed, by %s at the very worst, if every answer under way at its end became as long as it may on lanes that bill a stream that is cut in full: %s; hold: strict never passes it",
		overshoot(f).Cents(), strings.Join(names, ", "))
}
