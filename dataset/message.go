package dataset

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// functionCall is the role of a message whose text is a tool call.
const functionCall = "function_call"

// roles are the names of speakers, in lower case.
var roles = map[string]eyrie.Role{
	"system": eyrie.System, "developer": eyrie.System,
	"user": eyrie.User, "human": eyrie.User, "prompter": eyrie.User,
	"assistant": eyrie.Assistant, "gpt": eyrie.Assistant, "model": eyrie.Assistant, "ai": eyrie.Assistant,
	"chatgpt": eyrie.Assistant, "bing": eyrie.Assistant, "bard": eyrie.Assistant, "bot": eyrie.Assistant,
	functionCall: eyrie.Assistant, "tool_call": eyrie.Assistant,
	"tool": eyrie.ToolRole, "function": eyrie.ToolRole, "observation": eyrie.ToolRole, "tool_response": eyrie.ToolRole,
	"function_response": eyrie.ToolRole, "tool_result": eyrie.ToolRole,
}

// rules are what a set was told about its messages, and what was met on the
// way. Each pass has its own.
type rules struct {
	roles   map[string]eyrie.Role // told, in lower case; they come before [roles]
	images  Images
	skipped int // images of the row at hand
}

// newRules takes the options that concern messages.
func newRules(opts *Options) rules {
	told := maps.Collect(func(yield func(string, eyrie.Role) bool) {
		for name, role := range opts.Roles {
			if !yield(strings.ToLower(strings.TrimSpace(name)), role) {
				return
			}
		}
	})
	return rules{roles: told, images: cmp.Or(opts.Images, DropImages)}
}

// role finds who a speaker is. call says that what he says is a tool call.
func (r *rules) role(speaker string) (role eyrie.Role, call, known bool) {
	if role, known := r.roles[speaker]; known {
		return role, false, true
	}
	role, known = roles[speaker]
	return role, speaker == functionCall || speaker == "tool_call", known
}

// image meets n images. What comes of them is the caller's choice.
func (r *rules) image(n int, what string) error {
	switch r.images {
	case SkipImages:
		r.skipped += n
		return nil
	case RefuseImages:
		return &refusal{dropf(Image, "%s", what)}
	}
	return dropf(Image, "%s", what)
}

// refusal ends a file at a row that the caller wants none of.
type refusal struct{ *drop }

func (r *refusal) Unwrap() error { return r.drop }

// spoken is a message as it was read.
type spoken struct {
	eyrie.Message
	call bool // all it is is a tool call
}

// saying is the content of a message taken apart.
type saying struct {
	given     bool // it was there and not null
	text      string
	reasoning string
	calls     []eyrie.ToolCall
}

// readMessages reads a list of messages, or text that holds one; null is an
// empty list.
func readMessages(w *walker) ([]eyrie.Message, error) {
	switch w.kind() {
	case 'n':
		return nil, w.skip()
	case '"':
		text, err := w.text()
		if err != nil {
			return nil, err
		}
		in, ok := w.literal(text)
		if !ok {
			return nil, dropf(WrongType, "is text, not a list")
		}
		messages, err := readMessages(in)
		if err == nil {
			err = in.end()
		}
		return messages, err
	}
	var messages []eyrie.Message
	err := w.array(func() error {
		m, err := readMessage(w)
		if err == nil {
			messages = appendSpoken(messages, m)
		}
		return err
	})
	return messages, err
}

// appendSpoken adds a message. A call that follows what the assistant said, or
// another call, belongs to the same turn; results that came in one message are
// one message each.
func appendSpoken(messages []eyrie.Message, m spoken) []eyrie.Message {
	if n := len(messages); m.call && n > 0 && messages[n-1].Role == eyrie.Assistant {
		last := &messages[n-1]
		last.ToolCalls = append(last.ToolCalls, m.ToolCalls...)
		last.Reasoning += m.Reasoning
		return messages
	}
	if m.Role == eyrie.ToolRole {
		if results := taggedResults(m.Content); results != nil {
			for _, text := range results {
				one := m.Message
				one.Content = text
				messages = append(messages, one)
			}
			return messages
		}
	}
	return append(messages, m.Message)
}

// readMessage reads one message, spelled "role" and "content" or "from" and
// "value". Where it has both, the former count.
func readMessage(w *walker) (spoken, error) {
	var m eyrie.Message
	var role, from, systemPrompt string
	var content, value, text saying
	err := w.object(func(key string) (err error) {
		switch key {
		case "role":
			role, err = w.textOrNull()
		case "from":
			from, err = w.textOrNull()
		case "content":
			content, err = readContent(w)
		case "value":
			value, err = readContent(w)
		case "text":
			text, err = readContent(w)
		case "system_prompt":
			_, err = w.ifText(&systemPrompt)
		case "reasoning_content", "reasoning", "thinking":
			var s string
			_, err = w.ifText(&s)
			m.Reasoning = cmp.Or(m.Reasoning, s)
		case "tool_calls":
			var calls []eyrie.ToolCall
			calls, err = readCalls(w)
			m.ToolCalls = append(m.ToolCalls, calls...)
		case functionCall:
			m.ToolCalls, err = appendCall(w, m.ToolCalls)
		case "name":
			m.Name, err = w.textOrNull()
		case "tool_call_id":
			m.ToolCallID, err = w.textOrNull()
		case "tool_call_ids":
			m.ToolCallID, err = readCallIDs(w, m.ToolCallID)
		default:
			err = w.skip()
		}
		return err
	})
	if err != nil {
		return spoken{}, err
	}
	said := []saying{content, value, text, {given: systemPrompt != "", text: systemPrompt}}
	i := max(0, slices.IndexFunc(said, func(s saying) bool { return s.given }))
	return finishMessage(w, m, cmp.Or(role, from), said[i])
}

// readCallIDs reads a list of the calls that a message answers. One that
// answers several is linked to none.
func readCallIDs(w *walker, id string) (string, error) {
	if w.kind() == 'n' {
		return id, w.skip()
	}
	var ids []string
	err := w.array(func() error {
		s, err := w.textOrNull()
		ids = append(ids, s)
		return err
	})
	if len(ids) == 1 {
		id = cmp.Or(id, ids[0])
	}
	return id, err
}

// finishMessage gives a message its role and what follows from it.
func finishMessage(w *walker, m eyrie.Message, speaker string, said saying) (spoken, error) {
	speaker = strings.ToLower(strings.TrimSpace(speaker))
	role, call, known := w.rules.role(speaker)
	switch {
	case speaker == "":
		return spoken{}, dropf(UnknownRole, "a message without a role")
	case !known:
		return spoken{}, dropf(UnknownRole, "unknown role %q", clip(speaker))
	}
	m.Role, m.Content = role, said.text
	if call && len(m.ToolCalls) == 0 {
		calls, err := callsIn(w, said.text)
		if err != nil {
			return spoken{}, err
		}
		m.Content, m.ToolCalls = "", calls
	}
	if role != eyrie.Assistant {
		// Only the assistant reasons and calls; what else has such fields has
		// them empty or by mistake.
		m.Reasoning, m.ToolCalls = "", nil
		return spoken{Message: m}, nil
	}
	m.Reasoning = cmp.Or(m.Reasoning, said.reasoning)
	m.ToolCalls = append(m.ToolCalls, said.calls...)
	if len(m.ToolCalls) == 0 {
		m.Content, m.ToolCalls = taggedCalls(w, m.Content)
	}
	return spoken{m, call && m.Content == ""}, nil
}

// readContent reads what a message says: text, a list of parts, or null.
func readContent(w *walker) (saying, error) {
	switch w.kind() {
	case 'n':
		return saying{}, w.skip()
	case '"':
		text, err := w.text()
		return saying{given: true, text: text}, err
	case '[':
		return readParts(w)
	}
	return saying{}, w.wrong("text, a list of parts or null")
}

// readParts puts content in parts together.
func readParts(w *walker) (saying, error) {
	s := saying{given: true}
	var text, reasoning strings.Builder
	err := w.array(func() error {
		if w.kind() == '"' {
			part, err := w.text()
			text.WriteString(part)
			return err
		}
		typ, part, err := readPart(w)
		if err != nil {
			return err
		}
		switch typ {
		case "text", "input_text", "output_text":
			text.WriteString(part)
		case "reasoning", "thinking":
			reasoning.WriteString(part)
		case "tool_call":
			calls, err := callsIn(w, part)
			s.calls = append(s.calls, calls...)
			return err
		case "image", "image_url", "input_image", "video", "video_url", "audio", "audio_url", "input_audio":
			return w.rules.image(1, "a part of type \""+typ+"\"")
		default:
			return dropf(UnknownPart, "a part of type %q", clip(typ))
		}
		return nil
	})
	s.text, s.reasoning = text.String(), reasoning.String()
	return s, err
}

// readPart reads one part. Its text stands under "text", under "value", or
// under the name of its type. What is not text is passed over: the type says
// whether it matters.
func readPart(w *walker) (typ, text string, err error) {
	err = w.object(func(key string) (err error) {
		switch {
		case key == "type":
			typ, err = w.text()
		case (key == "text" || key == "value" || key == "reasoning" || key == "thinking") && w.kind() == '"':
			text, err = w.text()
		default:
			err = w.skip()
		}
		return err
	})
	return typ, text, err
}
