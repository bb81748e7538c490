package openrouter

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

type chatRequest struct {
	Model       string         `json:"model"`
	Messages    []chatMessage  `json:"messages"`
	Tools       jsontext.Value `json:"tools,omitzero"`
	Stream      bool           `json:"stream"`
	MaxTokens   int            `json:"max_tokens"`
	Temperature *float64       `json:"temperature,omitzero"`
	TopP        *float64       `json:"top_p,omitzero"`
	TopK        *int           `json:"top_k,omitzero"`
	MinP        *float64       `json:"min_p,omitzero"`
	Seed        *int64         `json:"seed,omitzero"`
	Stop        []string       `json:"stop,omitzero"`
	Logprobs    bool           `json:"logprobs,omitzero"`
	TopLogprobs *int           `json:"top_logprobs,omitzero"`
	Reasoning   chatReasoning  `json:"reasoning"`
	Provider    chatProvider   `json:"provider"`
	Metadata    chatMetadata   `json:"metadata"`
}

type chatMessage struct {
	Role       eyrie.Role     `json:"role"`
	Name       string         `json:"name,omitzero"`
	Content    *string        `json:"content"`
	Reasoning  *string        `json:"reasoning,omitzero"`
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
	Enabled bool   `json:"enabled"`
	Effort  string `json:"effort,omitzero"`
}

type chatProvider struct {
	Only              []string      `json:"only"`
	AllowFallbacks    bool          `json:"allow_fallbacks"`
	Quantizations     []string      `json:"quantizations,omitzero"`
	RequireParameters bool          `json:"require_parameters"`
	DataCollection    string        `json:"data_collection,omitzero"`
	ZDR               bool          `json:"zdr,omitzero"`
	Distillable       bool          `json:"enforce_distillable_text,omitzero"`
	MaxPrice          *chatMaxPrice `json:"max_price,omitzero"`
}

type chatMaxPrice struct {
	Prompt     jsontext.Value `json:"prompt"`
	Completion jsontext.Value `json:"completion"`
	Request    jsontext.Value `json:"request,omitzero"` // of one, where the lane has a price of it
}

// chatMetadata names the attempt to the vendor, for its records.
type chatMetadata struct {
	Run        string    `json:"run"`
	Generation eyrie.Key `json:"generation"`
	Attempt    string    `json:"attempt"`
}

// chatBody builds the request of one attempt, pinned to its lane.
func (c *Client) chatBody(r *eyrie.Request) ([]byte, error) {
	s, dearest := r.Sampling, r.Lane.Dearest(r.Generation.PromptTokens)
	req := chatRequest{
		Model: r.Model, Messages: make([]chatMessage, len(r.Generation.Messages)), Tools: jsontext.Value(r.Generation.Tools),
		Stream: true, MaxTokens: s.MaxTokens,
		Temperature: s.Temperature, TopP: s.TopP, TopK: s.TopK, MinP: s.MinP, Seed: s.Seed, Stop: s.Stop,
		Reasoning: chatReasoning{Enabled: bool(s.Thinking)},
		Provider: chatProvider{
			Only: []string{r.Lane.Tag}, RequireParameters: true, DataCollection: c.cfg.DataCollection,
			ZDR: c.cfg.ZDR, Distillable: c.cfg.Distillable,
			MaxPrice: &chatMaxPrice{Prompt: perMillion(dearest.PromptPrice, c.cfg.MaxPrompt), Completion: perMillion(dearest.OutputPrice, c.cfg.MaxOutput)},
		},
		Metadata: chatMetadata{r.Run, r.Generation.Key, strconv.Itoa(r.Attempt)},
	}
	if s.Thinking {
		req.Reasoning.Effort = s.Effort // with thinking off it would be a contradiction
	}
	if q := r.Lane.Quantization; q != "" {
		req.Provider.Quantizations = []string{q}
	}
	if fee := dearest.RequestPrice.Times(1); fee > 0 {
		if bound := c.cfg.MaxRequest; bound > 0 {
			fee = min(fee, bound)
		}
		req.Provider.MaxPrice.Request = jsontext.Value(fee.Decimal())
	}
	if c.AsksLogprobs(r.Lane) {
		req.Logprobs = true
		if slices.Contains(r.Lane.Parameters, "top_logprobs") {
			req.TopLogprobs = new(0) // no alternatives
		}
	}
	for i := range r.Generation.Messages {
		m := &r.Generation.Messages[i]
		out := chatMessage{Role: m.Role, Name: m.Name, Content: &m.Content, ToolCallID: m.ToolCallID}
		if m.Reasoning != "" || bool(s.Thinking) && len(m.ToolCalls) > 0 {
			// Endpoints that think refuse a call of a tool without the reasoning
			// before it. Where a conversation has none, or a template would leave
			// it out, an empty one says the same to the template as its absence.
			out.Reasoning = &m.Reasoning
		}
		for _, t := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, chatToolCall{t.ID, "function", chatFunction{t.Name, t.Arguments}})
		}
		req.Messages[i] = out
	}
	return json.Marshal(&req)
}

// AsksLogprobs reports whether requests to a lane ask for the bytes of each
// token: the client does, and the lane lists the parameter. One that does not
// would refuse the request. One that lists none at all is asked where there must
// be logprobs.
func (c *Client) AsksLogprobs(l *eyrie.Lane) bool {
	if l.Parameters == nil {
		return c.cfg.NeedLogprobs
	}
	return (c.cfg.Logprobs || c.cfg.NeedLogprobs) && slices.Contains(l.Parameters, "logprobs")
}

// perMillion prints a price in dollars per million tokens as a JSON number, or
// the bound where that is lower; zero is no bound.
func perMillion(p eyrie.Price, bound eyrie.Money) jsontext.Value {
	m := p.PerMillion()
	if bound > 0 {
		m = min(m, bound)
	}
	return jsontext.Value(m.Decimal())
}

// tooDear says which price of a lane is over the bounds for a prompt of so many
// tokens now; nil when none is.
func (c *Client) tooDear(r *eyrie.Request, now time.Time) error {
	rates := r.Lane.RatesAt(r.Generation.PromptTokens, now)
	for _, x := range []struct {
		what  string
		price eyrie.Price
		bound eyrie.Money
	}{{"prompt", rates.PromptPrice, c.cfg.MaxPrompt}, {"completion", rates.CompletionPrice(), c.cfg.MaxOutput}} {
		if m := x.price.PerMillion(); x.bound > 0 && m > x.bound {
			return fmt.Errorf("a million %s tokens cost %s for a prompt of %d tokens at this hour, over max_price %s", x.what, m, r.Generation.PromptTokens, x.bound)
		}
	}
	if fee := rates.RequestPrice.Times(1); c.cfg.MaxRequest > 0 && fee > c.cfg.MaxRequest {
		return fmt.Errorf("a request costs %s by itself for a prompt of %d tokens at this hour, over max_price %s", fee, r.Generation.PromptTokens, c.cfg.MaxRequest)
	}
	return nil
}
