package tokens

import (
	"cmp"
	"slices"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// Explanation says how an answer came to its row: what was counted, and what
// was tried.
type Explanation struct {
	Row eyrie.Row
	// Prompt, Completion and Reasoning compare the answer as it came with the
	// bill. The reasoning is counted with the tokens around it.
	Prompt, Completion, Reasoning Count
	// Readings are the ways in which the completion was read from the text: the
	// plain one first, then those that fit the bill, the likeliest first, then
	// the others. There are none where the written form of answers is not known.
	Readings []Reading
}

// Count is a number of tokens by our count and by the server's.
type Count struct {
	Ours   int // -1 where we cannot count
	Billed int // -1 where the server did not say
}

// Reading is one way to read a completion from an answer's text.
type Reading struct {
	Assumed   []Assumption // empty for the answer as it came
	Tokens    int          // that the bill would count
	Reasoning int          // of them, with the tokens around it
	Fits      bool         // has the counts of the bill
	// Chance is how likely the reading is among everything that fits the bill,
	// another split of the text included; 0 for one that does not fit.
	Chance float64
}

// Explain makes the row of an answer as [Rebuilder.Row] does and says how.
func (r *Rebuilder) Explain(g *eyrie.Generation, thinking bool, a *eyrie.Answer) (*Explanation, error) {
	row, err := r.Row(g, thinking, a)
	if err != nil {
		return nil, err
	}
	prompt, err := r.Prompt(nil, chat.Conversation{Messages: g.Messages, Tools: g.Tools, Thinking: thinking})
	if err != nil {
		return nil, err
	}
	e := &Explanation{
		Row:        row,
		Prompt:     Count{len(prompt), billed(a, a.Usage.PromptTokens)},
		Completion: Count{len(row.CompletionIDs), billed(a, a.Usage.CompletionTokens)},
		Reasoning:  Count{-1, -1},
	}
	if r.form == nil {
		return e, nil
	}
	b := newBuilder(r, g, thinking, a)
	plain := b.assemble(b.plain())
	e.Completion.Ours = plain.size()
	e.Reasoning.Ours = plain.reasoning + plain.around
	if a.Usage.Given && b.reasoningCounted() {
		e.Reasoning.Billed = a.Usage.ReasoningTokens
	}
	e.Readings = b.explain(plain)
	return e, nil
}

// billed is a count of the bill. No text has no tokens: a count of zero is none.
func billed(a *eyrie.Answer, n int) int {
	if !a.Usage.Given || n <= 0 {
		return -1
	}
	return n
}

// explain lists the readings.
func (b *builder) explain(plain draft) []Reading {
	total := b.rival(plain)
	var out []Reading
	b.candidates(func(d draft, held set, counting set, fits bool) {
		rd := Reading{Tokens: d.size(), Reasoning: d.reasoning + d.around, Fits: fits}
		if held.has(EndUnbilled) {
			rd.Tokens--
		}
		rd.Assumed = slices.Collect(held.all)
		if fits {
			rd.Chance = b.shares.likelihood(held|counting, b.could)
			total += rd.Chance
		}
		out = append(out, rd)
	})
	for i := range out {
		if out[i].Fits {
			out[i].Chance /= total
		}
	}
	slices.SortStableFunc(out[1:], func(a, b Reading) int { return cmp.Compare(b.Chance, a.Chance) })
	return out
}
