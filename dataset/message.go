package dataset

import (
	"cmp"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// functionCall is the role of a ShareGPT message whose text is a tool call.
const functionCall = "function_call"

// roles are the names of speakers, in lower case.
var roles = map[string]eyrie.Role{
	"system": eyrie.System, "developer": eyrie.System,
	"user": eyrie.User, "human": eyrie.User,
	"assistant": eyrie.Assistant, "gpt": eyrie.Assistant, "model": eyrie.Assistant,
	"chatgpt": eyrie.Assistant, "bing": eyrie.Assistant, "bard": eyrie.Assistant,
	functionCall: eyrie.Assistant,
	"tool":       eyrie.ToolRole, "function": eyrie.ToolRole, "observation": eyrie.ToolRole,
}

// saying is the content of a message taken apart.
type saying struct {
	given     bool // it was there and not null
	text      string
	reasoning string
	calls     []eyrie.ToolCall
}

// readMessage reads one message, spelled "role" and "content" or "from" and
// "value". Where it has both, the former count.
func readMessage(w *walker) (eyrie.Message, error) {
	var m eyrie.Message
	var role, from string
	var content, value saying
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
		case "reasoning_content", "reasoning", "thinking":
			var s string
			s, err = w.textOrNull()
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
		default:
			err = w.skip()
		}
		return err
	})
	if err != nil {
		return m, err
	}
	if !content.given {
		content = value
	}
	return finishMessage(w, m, cmp.Or(role, from), content)
}

// finishMessage gives a message its role and what follows from it.
func finishMessage(w *walker, m eyrie.Message, speaker string, said saying) (eyrie.Message, error) {
	speaker = strings.ToLower(strings.TrimSpace(speaker))
	role, known := roles[speaker]
	switch {
	case speaker == "":
		return m, dropf(UnknownRole, "a message without a role")
	case !known:
		return m, dropf(UnknownRole, "unknown role %q", clip(speaker))
	}
	m.Role, m.Content = role, said.text
	if speaker == functionCall {
		calls, err := parseCalls(w.nested([]byte(said.text)))
		if err != nil {
			return m, err
		}
		m.Content, m.ToolCalls = "", append(m.ToolCalls, calls...)
	}
	if role != eyrie.Assistant {
		// Only the assistant reasons and calls; what else has such fields has
		// them empty or by mistake.
		m.Reasoning, m.ToolCalls = "", nil
		return m, nil
	}
	m.Reasoning = cmp.Or(m.Reasoning, said.reasoning)
	m.ToolCalls = append(m.ToolCalls, said.calls...)
	return m, nil
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
			calls, err := parseCalls(w.nested([]byte(part)))
			s.calls = append(s.calls, calls...)
			return err
		case "image", "image_url", "input_image", "video", "video_url", "audio", "audio_url", "input_audio":
			return dropf(Image, "a part of type %q", typ)
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
