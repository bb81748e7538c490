// Package sound says what is wrong with an answer by itself, whoever gave it:
// that there is none, that it reasons where it should not, or that it calls
// tools in a way that nobody could follow.
package sound

import (
	"fmt"

	"github.com/eyrie-ai/eyrie"
)

// The classes of what is wrong, beside those that package eyrie names.
const (
	ClassReasoning = "reasoning" // it came where it was off, or did not where it was on
	ClassCall      = "tool call" // one that nobody could follow, or none where there should be one
)

// Text reports what is wrong with an answer's text, by its class; nil when
// nothing is. An answer that max_tokens cut off while it still reasoned is one.
func Text(a *eyrie.Answer, s eyrie.Sampling) (class string, err error) {
	silent, cut := a.Content == "" && len(a.ToolCalls) == 0, Cut(a)
	switch {
	case cut && silent && a.Reasoning == "":
		return eyrie.ClassEmpty, fmt.Errorf("max_tokens %d was used up before any text", s.MaxTokens)
	case silent && !cut && a.Reasoning == "":
		return eyrie.ClassEmpty, fmt.Errorf("finish_reason %q without content (0 bytes of reasoning)", a.FinishReason)
	case silent && !cut:
		return eyrie.ClassSilent, fmt.Errorf("finish_reason %q without content (%d bytes of reasoning)", a.FinishReason, len(a.Reasoning))
	case !bool(s.Thinking) && a.Reasoning != "":
		return ClassReasoning, fmt.Errorf("thinking is off and reasoning came")
	case bool(s.Thinking) && a.Reasoning == "":
		return ClassReasoning, fmt.Errorf("thinking is on and no reasoning came")
	}
	return "", nil
}

// Cut reports whether max_tokens cut an answer off.
func Cut(a *eyrie.Answer) bool { return a.FinishReason == eyrie.FinishLength }

// Calls reports what is wrong with an answer's calls: they must be of tools that
// were offered, with arguments that parse. In an answer that max_tokens cut off
// the last ones need not.
func Calls(a *eyrie.Answer, tools []byte) error {
	if a.FinishReason == eyrie.FinishToolCalls && len(a.ToolCalls) == 0 {
		return fmt.Errorf("finish_reason %q without a call", a.FinishReason)
	}
	if len(a.ToolCalls) == 0 || Cut(a) {
		return nil
	}
	offered := toolNames(tools)
	for _, c := range a.ToolCalls {
		switch {
		case !offered[c.Name]:
			return fmt.Errorf("a call of %q, which was not offered", c.Name)
		case !isObject(c.Arguments):
			return fmt.Errorf("the arguments of %s are no JSON object", c.Name)
		}
	}
	return nil
}
