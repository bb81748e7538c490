package export

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// lineFunc appends the line of a row, without its end.
type lineFunc func(dst []byte, r *Row, o *Options) ([]byte, error)

// lines is the coder of JSON Lines.
func lines(line lineFunc) func(*Options) coder {
	return func(o *Options) coder { return &lineCoder{line, o} }
}

type lineCoder struct {
	line lineFunc
	opts *Options
}

func (c *lineCoder) encode(b *block) error {
	b.data = make([]byte, 0, b.tokens*9)
	for _, r := range b.rows {
		var err error
		if b.data, err = c.line(b.data, r, c.opts); err != nil {
			return fmt.Errorf("row %s: %w", r.ID, err)
		}
		b.data = append(b.data, '\n')
	}
	return nil
}

func (c *lineCoder) begin(*shard) []byte            { return nil }
func (c *lineCoder) place(*shard, *block)           {}
func (c *lineCoder) end(*shard) ([]byte, error)     { return nil, nil }
func (c *lineCoder) beside(*writer, []*split) error { return nil }

// tokenLine is the line that trainers of ids take.
func tokenLine(dst []byte, r *Row, _ *Options) ([]byte, error) {
	dst = quote(append(dst, `{"id":`...), r.ID)
	return append(appendIDs(dst, r), '}'), nil
}

// speculatorsLine has the conversation and the text beside the ids.
func speculatorsLine(dst []byte, r *Row, o *Options) ([]byte, error) {
	dst = quote(append(dst, `{"id":`...), r.ID)
	dst = quote(append(dst, `,"primary_id":`...), r.Meta.Prompt)
	dst = appendIDs(dst, r)
	if o.Decode != nil {
		text, err := o.Decode(nil, r.IDs.PromptIDs)
		if err == nil {
			text, err = o.Decode(text, r.IDs.CompletionIDs)
		}
		if err != nil {
			return dst, err
		}
		dst = quote(append(dst, `,"text":`...), string(text))
	}
	return append(dst, '}'), nil
}

// appendIDs appends input_ids and loss_mask, with a comma before them.
func appendIDs(dst []byte, r *Row) []byte {
	dst = append(dst, `,"input_ids":[`...)
	for _, part := range [][]int32{r.IDs.PromptIDs, r.IDs.CompletionIDs} {
		for _, id := range part {
			dst = append(strconv.AppendInt(dst, int64(id), 10), ',')
		}
	}
	dst = append(dst[:len(dst)-1], `],"loss_mask":[`...) // a row has a completion, and so a last comma
	dst = repeat(dst, zeros, len(r.IDs.PromptIDs))
	dst = repeat(dst, ones, len(r.IDs.CompletionIDs))
	return append(dst[:len(dst)-1], ']')
}

var zeros, ones = strings.Repeat("0,", 1024), strings.Repeat("1,", 1024)

// repeat appends n of the pairs that s is made of.
func repeat(dst []byte, s string, n int) []byte {
	for ; n > len(s)/2; n -= len(s) / 2 {
		dst = append(dst, s...)
	}
	return append(dst, s[:2*n]...)
}

// quote appends a JSON string. What is not UTF-8 becomes U+FFFD.
func quote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // its error is about UTF-8
	return dst
}

// specforgeLine has exactly three keys: SpecForge passes any other on to the
// chat template. tools is a string, which Arrow's reader leaves as it is.
func specforgeLine(dst []byte, r *Row, o *Options) ([]byte, error) {
	dst = quote(append(dst, `{"id":`...), r.ID)
	dst = appendMessages(append(dst, `,"conversations":`...), r, keyed(o))
	tools := "[]"
	if len(r.Tools) > 0 {
		tools = string(r.Tools)
	}
	return append(quote(append(dst, `,"tools":`...), tools), '}'), nil
}

func torchspecLine(dst []byte, r *Row, _ *Options) ([]byte, error) {
	dst = quote(append(dst, `{"id":`...), r.ID)
	return append(appendMessages(append(dst, `,"conversations":`...), r, inline), '}'), nil
}

func modeloptLine(dst []byte, r *Row, o *Options) ([]byte, error) {
	dst = quote(append(dst, `{"conversation_id":`...), fileName(r))
	return append(appendMessages(append(dst, `,"messages":`...), r, keyed(o)), '}'), nil
}

func automodelLine(dst []byte, r *Row, o *Options) ([]byte, error) {
	return append(appendMessages(append(dst, `{"messages":`...), r, keyed(o)), '}'), nil
}

// plainLine has messages of role and content and nothing else.
func plainLine(dst []byte, r *Row, _ *Options) ([]byte, error) {
	dst = quote(append(dst, `{"id":`...), r.ID)
	return append(appendMessages(append(dst, `,"conversations":`...), r, bare), '}'), nil
}

func messagesLine(dst []byte, r *Row, _ *Options) ([]byte, error) {
	dst = quote(append(dst, `{"id":`...), r.ID)
	dst = appendMessages(append(dst, `,"messages":`...), r, whole)
	if len(r.Tools) > 0 {
		dst = append(append(dst, `,"tools":`...), r.Tools...)
	}
	return append(dst, '}'), nil
}

func eagleLine(dst []byte, r *Row, _ *Options) ([]byte, error) {
	dst = quote(append(dst, `{"id":`...), r.ID)
	dst = append(dst, `,"conversations":[`...)
	for i := range r.Messages {
		from := "human"
		if r.Messages[i].Role == eyrie.Assistant {
			from = "gpt"
		}
		dst = quote(append(append(append(dst, `{"from":"`...), from...), `","value":`...), r.Messages[i].Content)
		dst = append(dst, "},"...)
	}
	dst = quote(append(dst, `{"from":"gpt","value":`...), said(&r.Answer))
	return append(dst, "}]}"...), nil
}

// The tags that reasoning stands in where it is part of the content.
const (
	thinkBegin = "<think>"
	thinkEnd   = "</think>"
)

// said is an answer with its reasoning as part of its content.
func said(m *eyrie.Message) string {
	if m.Reasoning == "" {
		return m.Content
	}
	return thinkBegin + m.Reasoning + thinkEnd + m.Content
}

// style says how messages are written.
type style struct {
	inline bool // reasoning of the answer inside its content
	always bool // reasoning_content of every assistant message, empty where there is none
	bare   bool // role and content only
}

var (
	whole  = style{}
	inline = style{inline: true}
	bare   = style{inline: true, bare: true}
)

// keyed is the style of loaders that read through Arrow: a key that one message
// has and another has not is null there, and templates print null as a word. So
// either every assistant message has reasoning_content, or none.
func keyed(o *Options) style { return style{always: o.Thinks} }

func appendMessages(dst []byte, r *Row, st style) []byte {
	dst = append(dst, '[')
	for i := range r.Messages {
		dst = append(appendMessage(dst, &r.Messages[i], st), ',')
	}
	answer := r.Answer
	answer.Role = eyrie.Assistant
	if st.inline {
		answer.Content, answer.Reasoning = said(&r.Answer), ""
	}
	return append(appendMessage(dst, &answer, st), ']')
}

func appendMessage(dst []byte, m *eyrie.Message, st style) []byte {
	dst = quote(append(dst, `{"role":`...), string(m.Role))
	if m.Name != "" && !st.bare {
		dst = quote(append(dst, `,"name":`...), m.Name)
	}
	dst = quote(append(dst, `,"content":`...), m.Content)
	if m.Reasoning != "" || st.always && m.Role == eyrie.Assistant {
		dst = quote(append(dst, `,"reasoning_content":`...), m.Reasoning)
	}
	if len(m.ToolCalls) > 0 {
		dst = append(dst, `,"tool_calls":[`...)
		for _, c := range m.ToolCalls {
			dst = quote(append(dst, `{"id":`...), c.ID)
			dst = quote(append(dst, `,"type":"function","function":{"name":`...), c.Name)
			dst = quote(append(dst, `,"arguments":`...), c.Arguments)
			dst = append(dst, "}},"...)
		}
		dst = append(dst[:len(dst)-1], ']')
	}
	if m.ToolCallID != "" {
		dst = quote(append(dst, `,"tool_call_id":`...), m.ToolCallID)
	}
	return append(dst, '}')
}

var unfile = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// fileName is a row's id for loaders that name files after it. An id that does
// not make a file name keeps a digest, so that it stays its own.
func fileName(r *Row) string {
	name := unfile.ReplaceAllString(r.Meta.Prompt, "_")
	if name != r.Meta.Prompt || name == "" {
		sum := sha256.Sum256([]byte(r.Meta.Prompt))
		name += "-" + hex.EncodeToString(sum[:6])
	}
	return fmt.Sprintf("%s_t%d_s%d", name, r.Meta.Turn, r.Meta.Sample)
}
