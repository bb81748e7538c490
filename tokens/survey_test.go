package tokens_test

import (
	"maps"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/tokens"
)

// seen is an answer for a survey: its text, and the completion that is billed.
type seen struct {
	answer     eyrie.Answer
	completion string
	reasoning  int
	billed     int
}

// surveyOf surveys each answer as often as it says.
func surveyOf(t *testing.T, r *tokens.Rebuilder, times map[*seen]int) tokens.Habits {
	t.Helper()
	s := r.Survey()
	for x, n := range times {
		a := x.answer
		a.Usage = bill(t, r, question, true, x.completion, x.reasoning)
		a.Usage.CompletionTokens += x.billed
		for range n {
			s.Add(question, true, &a)
		}
	}
	return s.Habits()
}

func TestSurvey(t *testing.T) {
	answer := eyrie.Answer{Reasoning: "The cat sat", Content: "The cat.", FinishReason: "stop"}
	plain := &seen{answer, "The cat sat</think>The cat." + imEnd, 4, 0}
	trimmed := &seen{answer, "The cat sat\n</think>The cat." + imEnd, 5, 0}
	unbilled := &seen{answer, "The cat sat</think>The cat." + imEnd, 4, -1}
	bare := &seen{answer, "The cat sat</think>The cat." + imEnd, 3, 0}
	visible := &seen{eyrie.Answer{Reasoning: "The cat\n", Content: "The", FinishReason: "stop"}, "The cat\n</think>The" + imEnd, 4, 0}
	wild := &seen{answer, "The cat sat</think>The cat." + imEnd, 4, 9}
	rows := []struct {
		name  string
		times map[*seen]int
		a     tokens.Assumption
		share float64
		near  float64
	}{
		{"nothing seen", nil, tokens.LineAfterReasoning, 0.0005, 0},
		{"plain answers", map[*seen]int{plain: 5000}, tokens.LineAfterReasoning, 0, 0.0005},
		{"a server that trims", map[*seen]int{plain: 3000, trimmed: 2000}, tokens.LineAfterReasoning, 0.4, 0.05},
		{"the odd longer split is no habit", map[*seen]int{plain: 10000, trimmed: 80}, tokens.LineAfterReasoning, 0, 0.003},
		{"white space that was not trimmed", map[*seen]int{plain: 3000, trimmed: 2000, visible: 1}, tokens.LineAfterReasoning, 0, 0},
		{"an end that is not billed", map[*seen]int{unbilled: 4000}, tokens.EndUnbilled, 0.95, 0.05},
		{"an end that is billed", map[*seen]int{plain: 4000}, tokens.EndUnbilled, 0, 0.0005},
		{"reasoning counted with its end", map[*seen]int{plain: 4000}, tokens.EndUncounted, 0, 0.03},
		{"reasoning counted without its end", map[*seen]int{bare: 4000}, tokens.EndUncounted, 1, 0.03},
		{"counts that nothing explains", map[*seen]int{wild: 4000}, tokens.LineAfterReasoning, 0, 0.0005},
	}
	r := toyRebuilder(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h := surveyOf(t, r, row.times)
			if math.Abs(h[row.a]-row.share) > row.near {
				t.Errorf("%v: %.4f, want %.4f ± %.4f", row.a, h[row.a], row.share, row.near)
			}
		})
	}
}

// TestSurveyCertifies shows what a survey is for: rows that need an assumption
// get their certificate, and the rows of a lane without the habit do not.
func TestSurveyCertifies(t *testing.T) {
	r := toyRebuilder(t)
	answer := eyrie.Answer{Reasoning: "The cat sat", Content: "The cat.", FinishReason: "stop"}
	unbilled := &seen{answer, "The cat sat</think>The cat." + imEnd, 4, -1}
	h := surveyOf(t, r, map[*seen]int{unbilled: 200})
	a := answer
	a.Usage = bill(t, r, question, true, unbilled.completion, 4)
	a.Usage.CompletionTokens--
	for _, x := range []struct {
		r    *tokens.Rebuilder
		want bool
	}{{r, false}, {r.With(h), true}} {
		row, err := x.r.Row(question, true, &a)
		if err != nil {
			t.Fatal(err)
		}
		if row.Known.Certified() != x.want {
			t.Errorf("%s, %q; want certified: %t", row.Known, row.Reason, x.want)
		}
	}
}

// TestSurveyOrder adds the same answers in two orders, at once.
func TestSurveyOrder(t *testing.T) {
	p := newPopulation(t, 3)
	samples := make([]sample, 200)
	for i := range samples {
		samples[i] = p.sample(t, servers[i%len(servers)])
	}
	survey := func(order []sample) tokens.Habits {
		s := p.rebuild.Survey()
		var wg sync.WaitGroup
		for half := range slices.Chunk(order, 100) {
			wg.Go(func() {
				for _, x := range half {
					s.Add(x.generation, x.thinking, x.answer)
				}
			})
		}
		wg.Wait()
		return s.Habits()
	}
	a := survey(samples)
	slices.Reverse(samples)
	if b := survey(samples); !maps.Equal(a, b) {
		t.Errorf("%v\nin another order %v", a, b)
	}
}
