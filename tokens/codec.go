package tokens

import (
	"errors"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// Codec gives an engine what it needs of a [Rebuilder].
type Codec struct{ *Rebuilder }

var _ eyrie.Codec = Codec{}

// Prompt returns the ids of a generation's rendered prompt.
func (c Codec) Prompt(g *eyrie.Generation, s eyrie.Sampling) ([]int32, error) {
	return c.Rebuilder.Prompt(nil, chat.Conversation{Messages: g.Messages, Tools: g.Tools, Thinking: bool(s.Thinking)})
}

// Read is [Rebuilder.Parse].
func (c Codec) Read(_ *eyrie.Generation, s eyrie.Sampling, a *eyrie.Answer) error {
	return c.Parse(bool(s.Thinking), a)
}

// Check makes the answer's row, and says why it is none whose ids are known
// from the server. An answer whose prompt came without ids is held against
// their count alone.
func (c Codec) Check(g *eyrie.Generation, s eyrie.Sampling, a *eyrie.Answer) error {
	if len(a.CompletionIDs) == 0 {
		return nil
	}
	row, err := c.Row(g, bool(s.Thinking), a)
	switch {
	case err != nil:
		return err
	case row.Known == eyrie.KnownMismatch:
		return errors.New(row.Reason)
	case len(a.PromptIDs) == 0:
		return nil
	}
	ours, err := c.Prompt(g, s)
	if err != nil {
		return err
	}
	if _, same := firstDifference(ours, a.PromptIDs); !same {
		return errors.New(row.Reason)
	}
	return nil
}

// Encode returns the ids of a text, with control tokens where it spells them.
func (c Codec) Encode(text string) []int32 { return c.tok.EncodeSpecial(nil, text) }

// Stops are the ids that end an answer, where the template says which.
func (c Codec) Stops() []int32 {
	if c.form != nil {
		return []int32{c.form.end}
	}
	var ids []int32
	if c.markup != nil {
		for _, end := range c.markup.Ends {
			if id, ok := c.tok.Special(end); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
