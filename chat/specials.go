package chat

import "github.com/eyrie-ai/eyrie"

// Vocabulary is the part of a tokenizer that [SpecialLiterals] needs.
type Vocabulary interface {
	// EncodeSpecial appends the ids of text, special literals as the control
	// tokens they spell.
	EncodeSpecial(dst []int32, text string) []int32
	IsSpecial(id int32) bool
	Token(id int32) ([]byte, bool)
}

// Literal is the spelling of a control token inside a conversation's text.
type Literal struct {
	Message int    // index of the message, or -1 for the tools
	Field   string // "content", "reasoning_content", "name", "tool_calls", "tool_call_id" or "tools"
	Text    string // the literal
	ID      int32  // the control token that a server makes of it
}

// SpecialLiterals finds every place where the messages or the tools spell a
// control token of the vocabulary. A server takes such text for the token
// itself, so that a prompt with any of them does not say what its author
// meant.
func SpecialLiterals(v Vocabulary, messages []eyrie.Message, tools []byte) ([]Literal, error) {
	f := literalFinder{v: v}
	for i := range messages {
		m := &messages[i]
		f.find(i, "content", m.Content)
		f.find(i, "reasoning_content", m.Reasoning)
		f.find(i, "name", m.Name)
		f.find(i, "tool_call_id", m.ToolCallID)
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			f.find(i, "tool_calls", c.ID)
			f.find(i, "tool_calls", c.Name)
			// Printed anew, the arguments spell what escapes hid.
			f.find(i, "tool_calls", string(Reprinted.append(nil, c.Arguments)))
		}
	}
	declared, err := parseTools(tools)
	if err != nil {
		return f.found, err
	}
	f.findIn(&declared)
	return f.found, nil
}

type literalFinder struct {
	v     Vocabulary
	ids   []int32
	found []Literal
}

func (f *literalFinder) find(message int, field, s string) {
	if s == "" {
		return
	}
	f.ids = f.v.EncodeSpecial(f.ids[:0], s)
	for _, id := range f.ids {
		if !f.v.IsSpecial(id) {
			continue
		}
		b, _ := f.v.Token(id)
		f.found = append(f.found, Literal{message, field, string(b), id})
	}
}

// findIn looks at every string of a JSON value, keys included.
func (f *literalFinder) findIn(v *value) {
	if v.kind == text {
		f.find(-1, "tools", v.text)
	}
	for _, k := range v.keys {
		f.find(-1, "tools", k)
	}
	for i := range v.items {
		f.findIn(&v.items[i])
	}
}
