package tokens_test

import (
	"slices"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/tokens"
)

// TestExplain explains an answer whose reasoning lost a line's end.
func TestExplain(t *testing.T) {
	r := toyRebuilder(t)
	a := &eyrie.Answer{Reasoning: "The cat sat", Content: "The cat.", FinishReason: eyrie.FinishStop}
	a.Usage = bill(t, r, question, true, "The cat sat\n</think>The cat."+imEnd, 5)
	e, err := r.Explain(question, true, a)
	if err != nil {
		t.Fatal(err)
	}
	row, err := r.Row(question, true, a)
	if err != nil {
		t.Fatal(err)
	}
	if e.Row.Known != row.Known || e.Row.Reason != row.Reason || !slices.Equal(e.Row.CompletionIDs, row.CompletionIDs) {
		t.Errorf("explains the row %+v, made %+v", e.Row, row)
	}
	if want := (tokens.Count{Ours: 8, Billed: 9}); e.Completion != want {
		t.Errorf("completion %+v, want %+v", e.Completion, want)
	}
	if want := (tokens.Count{Ours: 4, Billed: 5}); e.Reasoning != want {
		t.Errorf("reasoning %+v, want %+v", e.Reasoning, want)
	}
	if e.Prompt.Ours != e.Prompt.Billed || e.Prompt.Ours != len(row.PromptIDs) {
		t.Errorf("prompt %+v of %d ids", e.Prompt, len(row.PromptIDs))
	}
	plain, best := e.Readings[0], e.Readings[1]
	if len(plain.Assumed) > 0 || plain.Fits || plain.Tokens != 8 || plain.Chance != 0 {
		t.Errorf("the first reading is %+v, want the plain one, which does not fit", plain)
	}
	if !best.Fits || !slices.Equal(best.Assumed, []tokens.Assumption{tokens.LineAfterReasoning}) && !slices.Equal(best.Assumed, []tokens.Assumption{tokens.SpaceAfterReasoning}) {
		t.Errorf("the likeliest reading is %+v, want white space after the reasoning", best)
	}
	total := 0.0
	for i, rd := range e.Readings {
		total += rd.Chance
		if (rd.Chance > 0) != rd.Fits || rd.Fits && rd.Tokens != 9 {
			t.Errorf("reading %d is %+v", i, rd)
		}
		if i > 1 && rd.Chance > e.Readings[i-1].Chance {
			t.Errorf("reading %d is likelier than the one before it", i)
		}
	}
	if total <= 0 || total >= 1 {
		t.Errorf("the chances sum to %v: another split must have some", total)
	}
}

// TestExplainNoBill explains an answer without counts, and one with returned ids.
func TestExplainNoBill(t *testing.T) {
	r := toyRebuilder(t)
	a := &eyrie.Answer{Content: "The cat.", FinishReason: eyrie.FinishStop}
	e, err := r.Explain(question, false, a)
	if err != nil {
		t.Fatal(err)
	}
	if e.Prompt.Billed != -1 || e.Completion != (tokens.Count{Ours: 4, Billed: -1}) || e.Reasoning.Billed != -1 {
		t.Errorf("prompt %+v, completion %+v, reasoning %+v; nothing was billed", e.Prompt, e.Completion, e.Reasoning)
	}
	a.CompletionIDs = kimiToy.EncodeSpecial(nil, "The cat."+imEnd)
	if e, err = r.Explain(question, false, a); err != nil {
		t.Fatal(err)
	}
	if e.Row.Known != eyrie.KnownRetokenised || e.Completion.Ours != 4 { // the prompt has no count
		t.Errorf("%s with %+v", e.Row.Known, e.Completion)
	}
}

func TestNotableHabits(t *testing.T) {
	h := tokens.Habits{tokens.LineAfterReasoning: 0.3, tokens.SpaceAfterReasoning: 0.0001, tokens.EndUncounted: 0.5, tokens.ReasoningOpen: 0}
	if got := h.Notable(); len(got) != 1 || got[tokens.LineAfterReasoning] != 0.3 {
		t.Errorf("notable: %v", got)
	}
	seen := map[string]bool{}
	for a := tokens.LineAfterReasoning; a <= tokens.EndUncounted; a++ {
		if name := a.Name(); name == "" || seen[name] {
			t.Errorf("%v is named %q", a, name)
		} else {
			seen[name] = true
		}
	}
}
