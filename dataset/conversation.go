package dataset

import (
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// draft is a row as a layout read it, before the rules.
type draft struct {
	id       string
	system   string // of a column of its own
	messages []eyrie.Message
	tools    []byte
}

// prompt puts the system column in front of the messages.
func (d *draft) prompt() (*eyrie.Prompt, *drop) {
	if len(d.messages) == 0 {
		return nil, dropf(NoMessages, "no messages")
	}
	messages := d.messages
	if strings.TrimSpace(d.system) != "" {
		switch first := messages[0]; {
		case first.Role != eyrie.System:
			messages = slices.Insert(messages, 0, eyrie.Message{Role: eyrie.System, Content: d.system})
		case first.Content != d.system:
			return nil, dropf(TwoSystems, "the system column and the first message differ")
		}
	}
	return &eyrie.Prompt{ID: d.id, Messages: messages, Tools: d.tools}, nil
}

// idColumns may hold the id of a row; the first that does counts.
var idColumns = []string{"id", "conversation_id", "prompt_id", "uuid"}

// conversation is the layout of rows with a list of messages. lists are the
// columns it may stand in, the likeliest first, and speaker is the key by which
// its messages are recognised. Either spelling of a message can be read.
func conversation(name Layout, speaker string, lists ...string) layout {
	return layout{
		name: name,
		fits: func(columns []column) bool {
			c, ok := list(columns, lists)
			return ok && c.has(speaker)
		},
		read: func(w *walker) (*draft, error) { return readConversation(w, lists) },
	}
}

func readConversation(w *walker, lists []string) (*draft, error) {
	d := &draft{}
	idRank, listRank := len(idColumns), len(lists)
	err := w.object(func(column string) error {
		if rank := slices.Index(idColumns, column); rank >= 0 && rank < idRank {
			id, err := w.id()
			if id != "" {
				d.id, idRank = id, rank
			}
			return err
		}
		if rank := slices.Index(lists, column); rank >= 0 && rank < listRank {
			messages, err := readMessages(w)
			if len(messages) > 0 {
				d.messages, listRank = messages, rank
			}
			return err
		}
		var err error
		switch column {
		case "tools":
			d.tools, err = readTools(w)
		case "system":
			d.system, err = w.textOrNull()
		default:
			err = w.skip()
		}
		return err
	})
	return d, err
}

// readMessages reads a list of messages; null is an empty one.
func readMessages(w *walker) ([]eyrie.Message, error) {
	if w.kind() == 'n' {
		return nil, w.skip()
	}
	var messages []eyrie.Message
	err := w.array(func() error {
		m, err := readMessage(w)
		messages = append(messages, m)
		return err
	})
	return messages, err
}
