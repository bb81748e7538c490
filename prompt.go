package eyrie

// Role says who speaks in a [Message].
type Role string

// The roles of a normalised conversation.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one message of a conversation in its normal form.
type Message struct {
	Role       Role       `json:"role"`
	Name       string     `json:"name,omitzero"`
	Content    string     `json:"content"`
	Reasoning  string     `json:"reasoning_content,omitzero"`
	ToolCalls  []ToolCall `json:"tool_calls,omitzero"`
	ToolCallID string     `json:"tool_call_id,omitzero"`
}

// ToolCall is one call of a tool by the model. Arguments is the text as it
// was written, which is JSON when the model behaved.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Prompt is one conversation to be answered. Messages may hold assistant
// turns of the data set; each of them is a turn that the target model answers
// afresh (see [Prompt.Turns]), never text that is trained on.
//
// Tools is a JSON array of tool declarations with its key order kept, or nil.
type Prompt struct {
	Set      string    // the data set it came from
	ID       string    // unique in the set
	Ordinal  int       // its place among the set's kept rows, from 0
	Messages []Message // never empty; the last one of a turn's prefix is not an assistant's
	Tools    []byte
	// Given is set where the assistant messages are not turns but context, sent
	// as they stand. There is one turn then, after the last message.
	Given bool
	// Pairing says how the data set's tool results find the model's own calls.
	// It decides whether a conversation goes on, not how: whatever goes on under
	// both ways goes on alike.
	Pairing Pairing
	// Split is the part of the set that the conversation belongs to, such as
	// [Train]. It is empty when the set is not divided.
	Split  string
	Origin Origin
}

// The parts that a set is divided into by conversation, before anything is
// generated.
const (
	Train      = "train"
	Validation = "validation"
)

// Origin is what a row of a data set says of itself, as it says it. It
// determines nothing that is asked and is not part of a digest.
type Origin struct {
	Licence  string `json:"licence,omitzero"`
	Source   string `json:"source,omitzero"`
	Category string `json:"category,omitzero"`
	Language string `json:"language,omitzero"`
}

// Digest identifies what a prompt asks: its messages and tools, not its id, its
// set or its place. Of assistant messages it counts only that they are there,
// because they are answered afresh, unless they are given. Prompts with equal
// digests ask for the same thing.
func (p *Prompt) Digest() Digest {
	domain := "prompt/1"
	if p.Given {
		domain = "prompt/given/1"
	}
	h := newDigester(domain)
	h.int(len(p.Messages))
	for i := range p.Messages {
		m := &p.Messages[i]
		h.str(string(m.Role))
		if m.Role == Assistant {
			if p.Given {
				h.said(m)
			}
			continue
		}
		h.str(m.Name)
		h.str(m.Content)
		h.str(m.ToolCallID)
	}
	h.str(string(p.Tools))
	return h.sum()
}

// said hashes what an assistant message says.
func (d *digester) said(m *Message) {
	d.str(m.Name)
	d.str(m.Content)
	d.str(m.Reasoning)
	d.int(len(m.ToolCalls))
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		d.str(c.ID)
		d.str(c.Name)
		d.str(c.Arguments)
	}
}
