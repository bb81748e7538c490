package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// draft is a row as a layout read it, before the rules.
type draft struct {
	id         string
	system     string // of a column of its own
	messages   []eyrie.Message
	tools      []byte
	prompt     string
	input      string
	options    string
	answer     eyrie.Message
	turns      []string
	transcript string
	history    []eyrie.Message
	split      string
	origin     eyrie.Origin
}

// reader reads the rows of one file.
type reader struct {
	walker walker
	table  map[string]slot
}

// row reads the object of a row.
func (r *reader) row(raw []byte) (*draft, error) {
	return r.walker.row(raw, func(w *walker) (*draft, error) {
		d := &draft{}
		ranks := map[Field]int{}
		err := w.object(func(column string) error {
			s, known := r.table[column]
			if !known {
				return w.skip()
			}
			if rank, taken := ranks[s.field]; taken && rank <= s.rank {
				return w.skip()
			}
			filled, err := d.read(w, s.field)
			if filled {
				ranks[s.field] = s.rank
			}
			return err
		})
		return d, err
	})
}

// read reads the value of a field, and reports whether anything is in it.
func (d *draft) read(w *walker, f Field) (filled bool, err error) {
	switch f {
	case FieldID:
		var id string
		if id, err = w.id(); id != "" {
			d.id = id
		}
		return id != "", err
	case FieldMessages:
		return d.readMessages(w)
	case FieldTools:
		var tools []byte
		if tools, err = readTools(w); tools != nil {
			d.tools = tools
		}
		return tools != nil, err
	case FieldPrompt:
		if w.kind() == '[' {
			return d.readMessages(w)
		}
		return w.into(&d.prompt)
	case FieldCalls:
		return d.readCalls(w)
	case FieldAnswer:
		return w.loosely(&d.answer.Content)
	case FieldReasoning:
		return w.loosely(&d.answer.Reasoning)
	case FieldOptions:
		return w.loosely(&d.options)
	case FieldTurns:
		d.turns, err = readTurns(w)
		return len(d.turns) > 0, err
	case FieldHistory:
		d.history, err = readHistory(w)
		return len(d.history) > 0, err
	case FieldImages:
		return false, readImages(w)
	case FieldSystem:
		return w.into(&d.system)
	case FieldInput:
		return w.into(&d.input)
	case FieldTranscript:
		return w.into(&d.transcript)
	case FieldSplit:
		return w.ifText(&d.split)
	case FieldLicence:
		return w.ifText(&d.origin.Licence)
	case FieldSource:
		return w.ifText(&d.origin.Source)
	case FieldCategory:
		return w.ifText(&d.origin.Category)
	case FieldLanguage:
		return w.ifText(&d.origin.Language)
	}
	return false, w.skip()
}

func (d *draft) readMessages(w *walker) (bool, error) {
	messages, err := readMessages(w)
	if len(messages) > 0 {
		d.messages = messages
	}
	return len(messages) > 0, err
}

// readCalls reads an answer that is tool calls, or else text.
func (d *draft) readCalls(w *walker) (bool, error) {
	filled, err := w.loosely(&d.answer.Content)
	if err != nil {
		return filled, err
	}
	if calls, err := callsIn(w, d.answer.Content); err == nil {
		d.answer.Content, d.answer.ToolCalls = "", calls
	}
	return filled, nil
}

// conversation puts the parts of a draft together.
func (d *draft) conversation() (*eyrie.Prompt, *drop) {
	messages, err := d.said()
	if err != nil {
		return nil, err
	}
	if len(messages) == 0 {
		return nil, dropf(NoMessages, "no messages")
	}
	if strings.TrimSpace(d.system) != "" {
		switch first := messages[0]; {
		case first.Role != eyrie.System:
			messages = slices.Insert(messages, 0, eyrie.Message{Role: eyrie.System, Content: d.system})
		case first.Content != d.system:
			return nil, dropf(TwoSystems, "the system column and the first message differ")
		}
	}
	link(messages)
	return &eyrie.Prompt{ID: d.id, Messages: messages, Tools: d.declared(messages), Split: d.split, Origin: d.origin}, nil
}

// said is the conversation without the system column, wherever the row has it.
func (d *draft) said() ([]eyrie.Message, *drop) {
	messages := d.messages
	switch {
	case len(messages) > 0:
	case d.transcript != "":
		return d.spoken()
	case len(d.turns) > 0:
		for i, text := range d.turns {
			if i > 0 {
				messages = append(messages, eyrie.Message{Role: eyrie.Assistant})
			}
			messages = append(messages, eyrie.Message{Role: eyrie.User, Content: text})
		}
		return messages, nil
	case d.prompt != "" || d.input != "":
		messages = append(d.history, eyrie.Message{Role: eyrie.User, Content: d.asked()})
	default:
		return nil, nil
	}
	if last := messages[len(messages)-1]; last.Role != eyrie.Assistant && answered(d.answer) {
		d.answer.Role = eyrie.Assistant
		messages = append(messages, d.answer)
	}
	return messages, nil
}

// asked is the prompt with what belongs below it.
func (d *draft) asked() string {
	text := d.prompt
	for _, below := range []string{d.input, d.options} {
		switch {
		case strings.TrimSpace(below) == "":
		case text == "":
			text = below
		default:
			text += "\n" + below
		}
	}
	return text
}

func answered(m eyrie.Message) bool {
	return m.Content != "" || m.Reasoning != "" || len(m.ToolCalls) > 0
}

// declared are the tools of the row: those of its column, or those that the
// system prompt holds between <tools> and </tools>.
func (d *draft) declared(messages []eyrie.Message) []byte {
	if d.tools != nil || messages[0].Role != eyrie.System {
		return d.tools
	}
	return taggedTools(messages[0].Content)
}

// link gives the results of tools the ids of the calls they answer, where the
// calls have ids and the results do not say: in their order.
func link(messages []eyrie.Message) {
	var calls []eyrie.ToolCall
	for i := range messages {
		switch m := &messages[i]; m.Role {
		case eyrie.Assistant:
			calls = m.ToolCalls
		case eyrie.ToolRole:
			if len(calls) == 0 {
				continue
			}
			answers := calls[0]
			if m.ToolCallID != "" {
				calls = slices.DeleteFunc(slices.Clone(calls), func(c eyrie.ToolCall) bool { return c.ID == m.ToolCallID })
				continue
			}
			m.ToolCallID, calls = answers.ID, calls[1:]
		}
	}
}

// readTurns reads a list of what the user says. An element may also be a
// message, of which the text counts.
func readTurns(w *walker) ([]string, error) {
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
			return []string{text}, nil
		}
		turns, err := readTurns(in)
		return turns, err
	}
	var turns []string
	err := w.array(func() error {
		text, err := w.text()
		turns = append(turns, text)
		return err
	})
	return turns, err
}

// readHistory reads earlier pairs of what was asked and answered.
func readHistory(w *walker) ([]eyrie.Message, error) {
	if w.kind() != '[' {
		return nil, w.skip()
	}
	var messages []eyrie.Message
	err := w.array(func() error {
		role := eyrie.User
		return w.array(func() error {
			text, err := w.textOrNull()
			messages = append(messages, eyrie.Message{Role: role, Content: text})
			role = eyrie.Assistant
			return err
		})
	})
	return messages, err
}

// readImages looks whether a column of images holds any. Text is none: it may
// name anything.
func readImages(w *walker) error {
	switch w.kind() {
	case '{':
		if err := w.skip(); err != nil {
			return err
		}
		return w.rules.image(1, "an image beside the text")
	case '[':
		n := 0
		err := w.array(func() error {
			if w.kind() != 'n' {
				n++
			}
			return w.skip()
		})
		if err != nil || n == 0 {
			return err
		}
		return w.rules.image(n, fmt.Sprintf("%d images beside the text", n))
	}
	return w.skip()
}
