package tokens

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// prompt finds the ids of the prompt that was served.
func (r *Rebuilder) prompt(g *eyrie.Generation, thinking bool, a *eyrie.Answer) (finding, error) {
	c := chat.Conversation{Messages: g.Messages, Tools: g.Tools, Thinking: thinking}
	text, err := r.tmpl.Render(nil, c)
	if err != nil {
		return finding{}, err
	}
	ids := r.tok.EncodeSpecial(nil, string(text))
	if len(a.PromptIDs) > 0 {
		return returnedPrompt(ids, a), nil
	}
	if !a.Usage.Given || a.Usage.PromptTokens == 0 {
		return finding{ids, eyrie.KnownRetokenised, "the server gave no count"}, nil
	}
	want := a.Usage.PromptTokens
	var fits [][]int32
	if len(ids) == want {
		fits = append(fits, ids)
	}
	for _, other := range otherPrompts(c, a.Reasoning != "") {
		otherText, err := r.tmpl.Render(nil, other.conversation)
		if err != nil {
			return finding{}, err
		}
		if bytes.Equal(otherText, text) {
			continue
		}
		if len(fits) > 0 && !other.common {
			continue
		}
		otherIDs := r.tok.EncodeSpecial(nil, string(otherText))
		if len(otherIDs) == want && !containsIDs(fits, otherIDs) {
			fits = append(fits, otherIDs)
		}
	}
	switch len(fits) {
	case 0:
		return finding{ids, eyrie.KnownMismatch, difference(len(ids), want)}, nil
	case 1:
		return finding{ids: fits[0], known: eyrie.KnownCounted}, nil
	}
	return finding{fits[0], eyrie.KnownRetokenised,
		"the history prints in several ways of the length that was billed"}, nil
}

// returnedPrompt takes the server's ids, and says so where they are not ours.
func returnedPrompt(ours []int32, a *eyrie.Answer) finding {
	f := finding{ids: slices.Clone(a.PromptIDs), known: eyrie.KnownEngine}
	if u := a.Usage; u.Given && u.PromptTokens > 0 && u.PromptTokens != len(f.ids) {
		f.known = eyrie.KnownMismatch
		f.reason = fmt.Sprintf("the server returned %d ids and billed %d", len(f.ids), u.PromptTokens)
		return f
	}
	if i, same := firstDifference(ours, f.ids); !same {
		f.reason = fmt.Sprintf("the server's ids differ from ours from number %d on", i)
	}
	return f
}

// otherPrompt is a conversation as another server would show it.
type otherPrompt struct {
	conversation chat.Conversation
	common       bool // as likely as the first reading
}

// otherPrompts lists how else the conversation may have reached the template.
// reasoned says whether the answer has reasoning in it.
func otherPrompts(c chat.Conversation, reasoned bool) []otherPrompt {
	var others []otherPrompt
	if reasoned && !c.Thinking { // the server did not hear that it should not
		o := c
		o.Thinking = true
		others = append(others, otherPrompt{o, false})
	}
	var calls, reasons bool
	for i := range c.Messages {
		m := &c.Messages[i]
		calls = calls || len(m.ToolCalls) > 0
		reasons = reasons || m.Reasoning != ""
	}
	if !calls { // then no arguments to print, and no tool loop that shows reasoning
		return others
	}
	written := c
	written.Arguments = chat.AsWritten
	others = append(others, otherPrompt{written, true})
	if !reasons {
		return others
	}
	// Some servers hand reasoning on under a key that the template ignores.
	dropped := slices.Clone(c.Messages)
	for i := range dropped {
		dropped[i].Reasoning = ""
	}
	for _, form := range []chat.Arguments{chat.Reprinted, chat.AsWritten} {
		o := c
		o.Messages, o.Arguments = dropped, form
		others = append(others, otherPrompt{o, false})
	}
	return others
}

func containsIDs(all [][]int32, ids []int32) bool {
	return slices.ContainsFunc(all, func(o []int32) bool { return slices.Equal(o, ids) })
}

// firstDifference returns where a and b part.
func firstDifference(a, b []int32) (int, bool) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i, false
		}
	}
	return min(len(a), len(b)), len(a) == len(b)
}

func difference(ours, billed int) string {
	return fmt.Sprintf("%d tokens by our count, %d billed (%+d)", ours, billed, billed-ours)
}
