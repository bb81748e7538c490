package tokens

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// returned checks completion ids that the server returned against the text and
// the bill. Ids that agree with both are the completion; a stop token that the
// server's detokenizer took off is put back.
func (r *Rebuilder) returned(a *eyrie.Answer) finding {
	f := finding{ids: slices.Clone(a.CompletionIDs), known: eyrie.KnownEngine}
	text, err := r.tok.Decode(nil, f.ids)
	if err != nil {
		f.known, f.reason = eyrie.KnownMismatch, "the server's ids: "+err.Error()
		return f
	}
	if missing := missingText(text, a); missing != "" {
		f.known = eyrie.KnownMismatch
		f.reason = "the server's ids do not spell the answer's " + missing
		return f
	}
	ended := r.restoreEnd(&f, a)
	billed := a.Usage.CompletionTokens
	if !a.Usage.Given || billed == 0 || billed == len(f.ids) || ended && billed == len(f.ids)-1 {
		return f
	}
	f.known = eyrie.KnownMismatch
	f.reason = fmt.Sprintf("the server returned %d ids and billed %d", len(f.ids), billed)
	return f
}

// restoreEnd makes the last id the end token exactly where the model stopped
// by itself. It reports whether the ids end with it.
func (r *Rebuilder) restoreEnd(f *finding, a *eyrie.Answer) bool {
	if r.form == nil {
		return false
	}
	ended := f.ids[len(f.ids)-1] == r.form.end
	if !ended && stopped(a.FinishReason) && a.NativeFinish != eyrie.StopString {
		f.ids = append(f.ids, r.form.end)
		f.reason = "the server left the end token out of its ids"
		return true
	}
	return ended
}

// missingText names the part of the answer that does not stand in text. Servers
// replace what is no UTF-8, so that only the stretches between replacements
// can be looked for.
func missingText(text []byte, a *eyrie.Answer) string {
	has := func(s string) bool {
		for part := range strings.SplitSeq(s, replacement) {
			if !bytes.Contains(text, []byte(part)) {
				return false
			}
		}
		return true
	}
	switch {
	case !has(a.Reasoning):
		return "reasoning"
	case !has(a.Content):
		return "content"
	}
	for i := range a.ToolCalls {
		if !has(a.ToolCalls[i].Name) {
			return "tool call"
		}
	}
	return ""
}

// stopped reports whether the model ended its answer itself.
func stopped(f eyrie.FinishReason) bool {
	return f == eyrie.FinishStop || f == eyrie.FinishToolCalls
}
