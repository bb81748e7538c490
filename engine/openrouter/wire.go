package openrouter

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// lenient reads vendors' JSON: bad UTF-8 and doubled names do not stop us.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

type chatRequest struct {
	Model       string            `json:"model"`
	Messages    []chatMessage     `json:"messages"`
	Tools       jsontext.Value    `json:"tools,omitzero"`
	Stream      bool              `json:"stream"`
	MaxTokens   int               `json:"max_tokens"`
	Temperature *float64          `json:"temperature,omitzero"`
	TopP        *float64          `json:"top_p,omitzero"`
	TopK        *int              `json:"top_k,omitzero"`
	MinP        *float64          `json:"min_p,omitzero"`
	Seed        *int64            `json:"seed,omitzero"`
	Reasoning   chatReasoning     `json:"reasoning"`
	Provider    chatProvider      `json:"provider"`
	Metadata    map[string]string `json:"metadata,omitzero"`
}

type chatMessage struct {
	Role       eyrie.Role     `json:"role"`
	Name       string         `json:"name,omitzero"`
	Content    *string        `json:"content"`
	Reasoning  string         `json:"reasoning,omitzero"`
	ToolCalls  []chatToolCall `json:"tool_calls,omitzero"`
	ToolCallID string         `json:"tool_call_id,omitzero"`
}

type chatToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatReasoning struct {
	Enabled bool `json:"enabled"`
}

type chatProvider struct {
	Only              []string      `json:"only"`
	AllowFallbacks    bool          `json:"allow_fallbacks"`
	Quantizations     []string      `json:"quantizations,omitzero"`
	RequireParameters bool          `json:"require_parameters"`
	DataCollection    string        `json:"data_collection,omitzero"`
	MaxPrice          *chatMaxPrice `json:"max_price,omitzero"`
}

type chatMaxPrice struct {
	Prompt     jsontext.Value `json:"prompt"`
	Completion jsontext.Value `json:"completion"`
}

// chatBody builds the request of one attempt, pinned to its lane.
func (c *Client) chatBody(r *eyrie.Request) ([]byte, error) {
	s := r.Sampling
	req := chatRequest{
		Model: r.Model, Messages: make([]chatMessage, len(r.Generation.Messages)), Tools: jsontext.Value(r.Generation.Tools),
		Stream: true, MaxTokens: s.MaxTokens,
		Temperature: s.Temperature, TopP: s.TopP, TopK: s.TopK, MinP: s.MinP, Seed: s.Seed,
		Reasoning: chatReasoning{Enabled: bool(s.Thinking)},
		Provider: chatProvider{
			Only: []string{r.Lane.Tag}, RequireParameters: true, DataCollection: c.cfg.DataCollection,
			MaxPrice: &chatMaxPrice{perMillion(r.Lane.PromptPrice), perMillion(r.Lane.OutputPrice)},
		},
		Metadata: map[string]string{"run": r.Run, "generation": r.Generation.Key.String(), "attempt": strconv.Itoa(r.Attempt)},
	}
	if q := r.Lane.Quantization; q != "" {
		req.Provider.Quantizations = []string{q}
	}
	for i := range r.Generation.Messages {
		m := &r.Generation.Messages[i]
		out := chatMessage{Role: m.Role, Name: m.Name, Content: &m.Content, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID}
		for _, t := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, chatToolCall{t.ID, "function", chatFunction{t.Name, t.Arguments}})
		}
		req.Messages[i] = out
	}
	return json.Marshal(&req)
}

// perMillion prints a price in dollars per million tokens as a JSON number.
func perMillion(p eyrie.Price) jsontext.Value {
	return jsontext.Value(p.PerMillion().Decimal())
}

// chunkDecoder collects the frames of a stream into an answer. It reads only
// the fields it needs and passes over all others.
type chunkDecoder struct {
	dec       jsontext.Decoder
	src       bytes.Reader
	reasoning []byte
	content   []byte
	calls     []callBuffer
	failed    *vendorError // an error anywhere in a frame
	pipeline  string       // what the vendor did to the answer on its way
	keep      bool         // the frame at hand belongs to the final ones

	// Of the delta at hand: where reasoning may stand.
	deltaReasoning, deltaDetails, deltaContent []byte
}

type callBuffer struct {
	index int
	id    string
	name  string
	args  []byte
}

// textBytes counts the text so far: reasoning, content and tool calls.
func (d *chunkDecoder) textBytes() int {
	n := len(d.reasoning) + len(d.content)
	for i := range d.calls {
		n += len(d.calls[i].name) + len(d.calls[i].args)
	}
	return n
}

// decode reads one frame: a chunk of a stream, or a whole answer.
func (d *chunkDecoder) decode(frame []byte, a *eyrie.Answer) error {
	d.src.Reset(frame)
	d.dec.Reset(&d.src, lenient)
	d.keep = false
	err := d.object(func(name string) error {
		switch name {
		case "id":
			return d.str(&a.ID)
		case "model":
			return d.str(&a.Model)
		case "provider":
			return d.str(&a.Provider)
		case "choices":
			return d.array(func() error { return d.choice(a) })
		case "usage":
			return d.usage(a)
		case "error":
			return d.vendorError()
		case "openrouter_metadata":
			return d.metadata()
		}
		return d.dec.SkipValue()
	})
	if err != nil {
		return fmt.Errorf("frame %.200q: %w", frame, err)
	}
	a.Chunks++
	if d.keep {
		a.FinalFrame = appendFinal(a.FinalFrame, frame)
	}
	return nil
}

// finish moves the text into the answer.
func (d *chunkDecoder) finish(a *eyrie.Answer) {
	a.Reasoning, a.Content = string(d.reasoning), string(d.content)
	a.ToolCalls = nil
	for _, c := range d.calls {
		a.ToolCalls = append(a.ToolCalls, eyrie.ToolCall{ID: c.id, Name: c.name, Arguments: string(c.args)})
	}
}

func (d *chunkDecoder) choice(a *eyrie.Answer) error {
	return d.object(func(name string) error {
		switch name {
		case "delta", "message":
			return d.delta()
		case "finish_reason":
			var s string
			if err := d.str(&s); err != nil {
				return err
			}
			if s != "" {
				a.FinishReason = eyrie.FinishReason(s)
				d.keep = true
			}
			return nil
		case "native_finish_reason":
			return d.str(&a.NativeFinish)
		case "error":
			return d.vendorError()
		}
		return d.dec.SkipValue()
	})
}

func (d *chunkDecoder) delta() error {
	d.deltaReasoning, d.deltaDetails, d.deltaContent = d.deltaReasoning[:0], d.deltaDetails[:0], d.deltaContent[:0]
	err := d.object(func(name string) (err error) {
		switch name {
		case "content":
			d.content, err = d.text(d.content)
		case "reasoning":
			d.deltaReasoning, err = d.text(d.deltaReasoning)
		case "reasoning_content":
			d.deltaContent, err = d.text(d.deltaContent)
		case "reasoning_details":
			err = d.array(d.reasoningDetail)
		case "tool_calls":
			i := -1
			err = d.array(func() error { i++; return d.toolCall(i) })
		default:
			err = d.dec.SkipValue()
		}
		return err
	})
	// A delta may say the same in up to three places.
	for _, r := range [][]byte{d.deltaReasoning, d.deltaDetails, d.deltaContent} {
		if len(r) > 0 {
			d.reasoning = append(d.reasoning, r...)
			break
		}
	}
	return err
}

func (d *chunkDecoder) reasoningDetail() error {
	return d.object(func(name string) (err error) {
		if name == "text" || name == "summary" {
			d.deltaDetails, err = d.text(d.deltaDetails)
			return err
		}
		return d.dec.SkipValue()
	})
}

// toolCall reads a piece of a tool call. Pieces belong together by their
// index; at is the place in the array, for those that carry none.
func (d *chunkDecoder) toolCall(at int) error {
	index, id, name := at, "", ""
	var args []byte
	err := d.object(func(field string) (err error) {
		switch field {
		case "index":
			var n int
			if n, err = d.number(); err == nil {
				index = n
			}
			return err
		case "id":
			return d.str(&id)
		case "function":
			return d.object(func(field string) (err error) {
				switch field {
				case "name":
					return d.str(&name)
				case "arguments":
					args, err = d.text(args)
					return err
				}
				return d.dec.SkipValue()
			})
		}
		return d.dec.SkipValue()
	})
	if err != nil {
		return err
	}
	c := d.call(index)
	if id != "" {
		c.id = id
	}
	if name != "" {
		c.name = name
	}
	c.args = append(c.args, args...)
	return nil
}

func (d *chunkDecoder) call(index int) *callBuffer {
	for i := range d.calls {
		if d.calls[i].index == index {
			return &d.calls[i]
		}
	}
	d.calls = append(d.calls, callBuffer{index: index})
	return &d.calls[len(d.calls)-1]
}

func (d *chunkDecoder) usage(a *eyrie.Answer) error {
	if d.dec.PeekKind() != '{' {
		return d.dec.SkipValue()
	}
	u := eyrie.Usage{Given: true, ReasoningTokens: -1}
	d.keep = true
	err := d.object(func(name string) (err error) {
		switch name {
		case "prompt_tokens":
			u.PromptTokens, err = d.number()
		case "completion_tokens":
			u.CompletionTokens, err = d.number()
		case "cost":
			return d.cost(a)
		case "prompt_tokens_details":
			return d.object(func(name string) (err error) {
				if name == "cached_tokens" {
					u.CachedTokens, err = d.number()
					return err
				}
				return d.dec.SkipValue()
			})
		case "completion_tokens_details":
			return d.object(func(name string) (err error) {
				if name == "reasoning_tokens" && d.dec.PeekKind() != 'n' {
					u.ReasoningTokens, err = d.number()
					return err
				}
				return d.dec.SkipValue()
			})
		default:
			return d.dec.SkipValue()
		}
		return err
	})
	a.Usage = u
	return err
}

// cost reads the charge as decimal text, never through a float. A null or an
// unreadable cost is no cost.
func (d *chunkDecoder) cost(a *eyrie.Answer) error {
	v, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	if m, ok := readMoney(v); ok {
		a.Cost, a.CostGiven = m, true
	}
	return nil
}

// readMoney reads a JSON number or string of dollars.
func readMoney(v jsontext.Value) (eyrie.Money, bool) {
	text := string(v)
	if v.Kind() == '"' {
		b, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return 0, false
		}
		text = string(b)
	}
	m, err := eyrie.ParseMoney(text)
	return m, err == nil
}

// metadata looks at what the router says it did.
func (d *chunkDecoder) metadata() error {
	return d.object(func(name string) error {
		if name != "pipeline" {
			return d.dec.SkipValue()
		}
		return d.array(func() error {
			v, err := d.dec.ReadValue()
			if err == nil && d.pipeline == "" {
				d.pipeline = fmt.Sprintf("%.200s", v)
			}
			return err
		})
	})
}

func (d *chunkDecoder) vendorError() error {
	v, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() == 'n' {
		return nil
	}
	d.keep = true
	e := parseVendorError(v)
	d.failed = &e
	return nil
}

// object calls field for every member of the object that comes next, which
// must read the member's value. Anything but an object is passed over.
func (d *chunkDecoder) object(field func(name string) error) error {
	if d.dec.PeekKind() != '{' {
		return d.dec.SkipValue()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for d.dec.PeekKind() != '}' {
		tok, err := d.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := field(tok.String()); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// array calls elem for every element of the array that comes next, which must
// read it. Anything but an array is passed over.
func (d *chunkDecoder) array(elem func() error) error {
	if d.dec.PeekKind() != '[' {
		return d.dec.SkipValue()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for d.dec.PeekKind() != ']' {
		if err := elem(); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// str reads a string into dst; anything else leaves dst alone.
func (d *chunkDecoder) str(dst *string) error {
	v, err := d.dec.ReadValue()
	if err != nil || v.Kind() != '"' {
		return err
	}
	if len(v) == len(*dst)+2 && string(v[1:len(v)-1]) == *dst {
		return nil // as in the frame before
	}
	b, err := unquote(nil, v)
	if err != nil {
		return err
	}
	*dst = string(b)
	return nil
}

// text appends a string to dst; null and other values append nothing.
func (d *chunkDecoder) text(dst []byte) ([]byte, error) {
	v, err := d.dec.ReadValue()
	if err != nil || v.Kind() != '"' {
		return dst, err
	}
	return unquote(dst, v)
}

// unquote tolerates what AppendUnquote reports beside a usable result: text
// that is not valid UTF-8, which it replaces.
func unquote(dst []byte, v jsontext.Value) ([]byte, error) {
	out, err := jsontext.AppendUnquote(dst, v)
	if err != nil && len(out) <= len(dst) {
		return dst, err
	}
	return out, nil
}

// number reads a count, which may be a float or a string; null is 0.
func (d *chunkDecoder) number() (int, error) {
	v, err := d.dec.ReadValue()
	if err != nil {
		return 0, err
	}
	text := string(bytes.Trim(v, `"`))
	if n, err := strconv.Atoi(text); err == nil {
		return n, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 && f < 1<<40 {
		return int(f), nil
	}
	return 0, nil
}
