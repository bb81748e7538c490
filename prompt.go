package eyrie

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
)

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

// Turns counts the assistant answers the conversation asks for: one for every
// assistant message, and one more when it does not end in one.
func (p *Prompt) Turns() int {
	n := 0
	for i := range p.Messages {
		if p.Messages[i].Role == Assistant {
			n++
		}
	}
	if p.Messages[len(p.Messages)-1].Role != Assistant {
		n++
	}
	return n
}

// Turn returns the prompt's own messages that stand before the answer of the
// given turn and after the answer of the turn before.
func (p *Prompt) Turn(turn int) []Message {
	start, n := 0, 0
	for i := range p.Messages {
		if p.Messages[i].Role != Assistant {
			continue
		}
		if n == turn {
			return p.Messages[start:i]
		}
		n++
		start = i + 1
	}
	if n == turn {
		return p.Messages[start:]
	}
	return nil
}

// Ask returns the messages to send for a turn, given the model's answers of the
// turns before it. Reasoning of earlier turns is not sent back: it belongs to
// no later prompt of a conversation without tool results.
func (p *Prompt) Ask(turn int, answers []*Answer) []Message {
	var out []Message
	for i := range turn {
		out = append(out, p.Turn(i)...)
		out = append(out, Message{Role: Assistant, Content: answers[i].Content, ToolCalls: answers[i].ToolCalls})
	}
	return append(out, p.Turn(turn)...)
}

// Continues reports whether the conversation has a turn after the given one
// and its answer lets it go on: it is complete, calls no tools, and what
// follows in the data set is not a tool's result.
func (p *Prompt) Continues(turn int, a *Answer) bool {
	if turn+1 >= p.Turns() || a.FinishReason != FinishStop || len(a.ToolCalls) > 0 {
		return false
	}
	next := p.Turn(turn + 1)
	return len(next) > 0 && !slices.ContainsFunc(next, func(m Message) bool { return m.Role == ToolRole })
}

// Digest identifies what a prompt asks: its messages and tools, not its id, its
// set or its place. Of assistant messages it counts only that they are there:
// they are answered afresh. Prompts with equal digests ask for the same thing.
func (p *Prompt) Digest() Digest {
	h := newDigester("prompt/1")
	h.int(len(p.Messages))
	for i := range p.Messages {
		m := &p.Messages[i]
		h.str(string(m.Role))
		if m.Role == Assistant {
			continue
		}
		h.str(m.Name)
		h.str(m.Content)
		h.str(m.ToolCallID)
	}
	h.str(string(p.Tools))
	return h.sum()
}

// Digest is a 128-bit content digest.
type Digest [16]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes d as 32 hex digits.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [Digest.MarshalText] wrote.
func (d *Digest) UnmarshalText(b []byte) error {
	if len(b) != 2*len(d) {
		return fmt.Errorf("digest %q: want %d hex digits", b, 2*len(d))
	}
	if _, err := hex.Decode(d[:], b); err != nil {
		return fmt.Errorf("digest %q: %w", b, err)
	}
	return nil
}

// Key identifies one generation by what determines it: prompt content, turn,
// sample, model and sampling. Where it was bought, and for which data set, is
// not part of it.
type Key = Digest

// Thinking says whether the model reasons before it answers.
type Thinking bool

// Sampling is what is asked of the sampler. A nil field is not sent.
type Sampling struct {
	Temperature *float64 `json:"temperature,omitzero"`
	TopP        *float64 `json:"top_p,omitzero"`
	TopK        *int     `json:"top_k,omitzero"`
	MinP        *float64 `json:"min_p,omitzero"`
	Seed        *int64   `json:"seed,omitzero"`
	MaxTokens   int      `json:"max_tokens"`
	Thinking    Thinking `json:"thinking"`
	// Effort is how much the model is to reason, one of [Efforts]; empty leaves
	// it to the model. It means nothing where Thinking is off.
	Effort string `json:"effort,omitzero"`
	// Stop lists strings that end an answer where it would hold one, at most
	// [MaxStop] of them.
	Stop []string `json:"stop,omitzero"`
}

// Efforts are the words for [Sampling.Effort], least first.
var Efforts = []string{"minimal", "low", "medium", "high", "xhigh", "max"}

// MaxStop is how many stop strings a request may have.
const MaxStop = 4

// Of is the sampling of one of several samples of the same prompt. Its seed is
// the sampling's plus the sample's number: with the same one for all, a server
// that honours seeds would be paid for the same answer again and again.
func (s Sampling) Of(sample int) Sampling {
	if s.Seed != nil {
		s.Seed = new(*s.Seed + int64(sample))
	}
	return s
}

// Digest identifies the sampling.
func (s Sampling) Digest() Digest {
	h := newDigester("sampling/1")
	float := func(f *float64) {
		if f == nil {
			h.str("")
			return
		}
		h.str(fmt.Sprintf("%g", *f))
	}
	whole := func(ok bool, v int64) {
		if !ok {
			h.str("")
			return
		}
		h.str(fmt.Sprintf("%d", v))
	}
	float(s.Temperature)
	float(s.TopP)
	var topK, seed int64
	if s.TopK != nil {
		topK = int64(*s.TopK)
	}
	if s.Seed != nil {
		seed = *s.Seed
	}
	whole(s.TopK != nil, topK)
	float(s.MinP)
	whole(s.Seed != nil, seed)
	h.int(s.MaxTokens)
	h.str(fmt.Sprint(bool(s.Thinking)))
	// What came later is hashed only where it is set, under its name, so that
	// older digests stay what they were.
	if s.Effort != "" {
		h.str("effort")
		h.str(s.Effort)
	}
	if len(s.Stop) > 0 {
		h.str("stop")
		for _, stop := range s.Stop {
			h.str(stop)
		}
	}
	return h.sum()
}

// GenerationKey is the key of one generation.
func GenerationKey(prompt Digest, turn, sample int, model string, sampling Digest) Key {
	h := newDigester("generation/1")
	h.h.Write(prompt[:])
	h.int(turn)
	h.int(sample)
	h.str(model)
	h.h.Write(sampling[:])
	return h.sum()
}

// digester hashes a sequence of fields, each with its length before it, so
// that no two different sequences look alike.
type digester struct {
	h   hash.Hash
	num [8]byte
}

func newDigester(domain string) *digester {
	d := &digester{h: sha256.New()}
	d.str(domain)
	return d
}

func (d *digester) int(n int) {
	binary.LittleEndian.PutUint64(d.num[:], uint64(n))
	d.h.Write(d.num[:])
}

func (d *digester) str(s string) {
	d.int(len(s))
	io.WriteString(d.h, s)
}

func (d *digester) sum() (out Digest) {
	copy(out[:], d.h.Sum(nil))
	return out
}
