package chat

import (
	"time"

	"github.com/eyrie-ai/eyrie"
)

// Conversation is what a server is asked to answer. The text rendered from it
// always ends with the template's generation prompt.
type Conversation struct {
	Messages []eyrie.Message
	// Tools is a JSON array of tool declarations with its key order as it was
	// written; nil, null and [] mean that there are none.
	Tools []byte
	// Thinking asks the model to reason before it answers.
	Thinking bool
	// KeepReasoning asks templates that know preserve_thinking to print the
	// reasoning of every earlier turn. Others ignore it.
	KeepReasoning bool
	// Arguments says how the arguments of earlier tool calls are printed.
	Arguments Arguments
	// Date is when the server rendered the prompt, in its own location. Only
	// templates that print the date read it; they fail where it is zero.
	Date time.Time
}

// Arguments says in which form the arguments of earlier tool calls reach the
// template.
type Arguments uint8

const (
	// Reprinted is what SGLang and vLLM do: the text is parsed and printed
	// again as Python's json.dumps prints it, empty text as {}. Text that is
	// not JSON stays as it is.
	Reprinted Arguments = iota
	// AsWritten hands the text on untouched.
	AsWritten
)

// Template prints conversations. It is immutable and safe for concurrent use.
type Template interface {
	// Render appends the exact text of c, generation prompt included, to dst.
	Render(dst []byte, c Conversation) ([]byte, error)
	// Family names the template for people, such as "kimi-k2.5".
	Family() string
	// Digest is the sha256, in hexadecimal, of the template's source and of
	// the names of control tokens that it uses. Templates with equal digests
	// print equal texts; a run that is resumed must find the digest it began
	// with.
	Digest() string
}

// Answerer is a [Template] that also knows how its model writes an answer.
type Answerer interface {
	Template
	Answer() AnswerForm
}

// AnswerForm names the control tokens that a model puts between the parts of
// its answer:
//
//	[ReasoningBegin] R ReasoningEnd TEXT
//	[SectionBegin { CallBegin ID ArgumentsBegin ARGS CallEnd } SectionEnd] End
//
// Nothing stands between a part and a token. The reasoning with its tokens is
// absent where the prompt has closed it already.
type AnswerForm struct {
	// ReasoningBegin is empty where the prompt ends with it, so that the model
	// does not write it itself.
	ReasoningBegin string
	ReasoningEnd   string // empty where the model does not reason
	SectionBegin   string
	CallBegin      string
	ArgumentsBegin string
	CallEnd        string
	SectionEnd     string
	End            string
	// AlwaysThinks is set where the model reasons whether asked to or not.
	AlwaysThinks bool
	// CallID is the id under which the model writes its nth call of the
	// conversation, counted from 0.
	CallID func(name string, n int) string
}
