package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// The functions here say why a loader could not take a row, or would make
// something else of it than the model saw; "" where it can.

// anyOf asks one after the other.
func anyOf(unfit ...func(*Row) string) func(*Row) string {
	return func(r *Row) string {
		for _, f := range unfit {
			if why := f(r); why != "" {
				return why
			}
		}
		return ""
	}
}

// cutShort refuses answers that ran into a limit: a loader that renders the
// conversation puts an end behind them and trains on it.
func cutShort(r *Row) string {
	if r.Meta.FinishReason == eyrie.FinishLength {
		return "the answer was cut by its length limit, and the loader would train on an end that the model did not write"
	}
	if r.Answer.Content == "" && r.Answer.Reasoning == "" && len(r.Answer.ToolCalls) == 0 {
		return "the answer is empty: its mask would be all zero"
	}
	return ""
}

func declaresTools(r *Row) string {
	if len(r.Tools) > 0 {
		return "the prompt declares tools, and the loader does not render declarations"
	}
	return ""
}

// alternates refuses conversations other than an optional system message and
// then user and assistant in turn. Messages of the roles that are also allowed
// may follow an answer or one another.
func alternates(also ...eyrie.Role) func(*Row) string {
	return func(r *Row) string {
		ms := r.Messages
		if len(ms) > 0 && ms[0].Role == eyrie.System {
			ms = ms[1:]
		}
		before := eyrie.Role("nothing")
		for i, role := range append(roles(ms), eyrie.Assistant) {
			var ok bool
			switch {
			case role == eyrie.User:
				ok = i == 0 || before == eyrie.Assistant
			case role == eyrie.Assistant:
				ok = before == eyrie.User || slices.Contains(also, before)
			case slices.Contains(also, role):
				ok = before == eyrie.Assistant || before == role
			}
			if !ok {
				return fmt.Sprintf("a message of %s after %s, and the loader wants user and assistant in turn", role, before)
			}
			before = role
		}
		if !slices.Contains(also, eyrie.ToolRole) && len(r.Answer.ToolCalls) > 0 {
			return "the answer calls tools, and the loader knows no calls"
		}
		return ""
	}
}

func roles(ms []eyrie.Message) []eyrie.Role {
	out := make([]eyrie.Role, len(ms), len(ms)+1)
	for i := range ms {
		out[i] = ms[i].Role
	}
	return out
}

// ownSystem refuses a system prompt, for a loader that has one built in.
func ownSystem(r *Row) string {
	if len(r.Messages) > 0 && r.Messages[0].Role == eyrie.System {
		return "the prompt has a system message, and the loader puts its own"
	}
	return ""
}

// reasonedBefore refuses prompts that show reasoning of earlier turns, for
// loaders that show only the last.
func reasonedBefore(r *Row) string {
	if slices.ContainsFunc(r.Messages, func(m eyrie.Message) bool { return m.Reasoning != "" }) {
		return "the prompt shows the reasoning of an earlier turn, and the loader drops it"
	}
	return ""
}

// thinkTags refuses text that spells the tags that the reasoning is put in.
func thinkTags(r *Row) string {
	spells := func(s string) bool { return strings.Contains(s, thinkBegin) || strings.Contains(s, thinkEnd) }
	said := slices.ContainsFunc(r.Messages, func(m eyrie.Message) bool { return m.Role == eyrie.Assistant && spells(m.Content) })
	if said || spells(r.Answer.Content) || spells(r.Answer.Reasoning) {
		return "the text spells " + thinkBegin + " or " + thinkEnd + ", and the loader would take it for the tag"
	}
	return ""
}

// empty refuses messages that say nothing, for loaders that refuse them.
func empty(r *Row) string {
	for i := range r.Messages {
		if strings.TrimSpace(r.Messages[i].Content) == "" {
			return fmt.Sprintf("message %d is empty, and the loader refuses it", i)
		}
	}
	if strings.TrimSpace(said(&r.Answer)) == "" {
		return "the answer is nothing but white space, and the loader refuses it"
	}
	return ""
}
