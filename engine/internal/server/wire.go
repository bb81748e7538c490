package server

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// lenient reads servers' JSON: bad UTF-8 and doubled names do not stop us.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// Decode reads a frame of a server leniently.
func Decode(frame []byte, into any) error { return json.Unmarshal(frame, into, lenient) }

// Sampling is the part of a request that OpenAI's two APIs share, with the
// fields that servers have added to them.
type Sampling struct {
	MaxTokens   int      `json:"max_tokens"`
	Temperature *float64 `json:"temperature,omitzero"`
	TopP        *float64 `json:"top_p,omitzero"`
	TopK        *int     `json:"top_k,omitzero"`
	MinP        *float64 `json:"min_p,omitzero"`
	Seed        *int64   `json:"seed,omitzero"`
	Stop        []string `json:"stop,omitzero"`
}

func newSampling(s eyrie.Sampling) Sampling {
	return Sampling{s.MaxTokens, s.Temperature, s.TopP, s.TopK, s.MinP, s.Seed, s.Stop}
}

// Streaming asks for events, and for the usage at their end.
type Streaming struct {
	Stream  bool           `json:"stream"`
	Options *streamOptions `json:"stream_options,omitzero"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

func streaming(on bool) Streaming {
	if !on {
		return Streaming{}
	}
	return Streaming{true, &streamOptions{IncludeUsage: true}}
}

// ChatBody is a request of the chat API. Fields that a server does not know it
// passes over, so an engine sets only those that its server has.
type ChatBody struct {
	Model    string         `json:"model"`
	Messages []chatMessage  `json:"messages"`
	Tools    jsontext.Value `json:"tools,omitzero"`
	Sampling
	Streaming
	TemplateKwargs *templateKwargs `json:"chat_template_kwargs,omitzero"`
	Effort         string          `json:"reasoning_effort,omitzero"`

	ReturnTokenIDs       bool `json:"return_token_ids,omitzero"`
	ReturnPromptTokenIDs bool `json:"return_prompt_token_ids,omitzero"`
	ReturnMetaInfo       bool `json:"return_meta_info,omitzero"`
	Logprobs             bool `json:"logprobs,omitzero"`
}

// templateKwargs are the names under which templates know whether the model is
// to reason.
type templateKwargs struct {
	Thinking       bool `json:"thinking"`
	EnableThinking bool `json:"enable_thinking"`
}

// chatMessage carries reasoning under both of its names: templates know the
// one or the other, and servers hand on the one or the other.
type chatMessage struct {
	Role             eyrie.Role     `json:"role"`
	Name             string         `json:"name,omitzero"`
	Content          *string        `json:"content"`
	Reasoning        string         `json:"reasoning,omitzero"`
	ReasoningContent string         `json:"reasoning_content,omitzero"`
	ToolCalls        []chatToolCall `json:"tool_calls,omitzero"`
	ToolCallID       string         `json:"tool_call_id,omitzero"`
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

// ChatBody builds a request of the chat API.
func (c *Client) ChatBody(r *eyrie.Request, events bool) *ChatBody {
	g := r.Generation
	think := bool(r.Sampling.Thinking)
	b := &ChatBody{
		Model: c.name(), Messages: make([]chatMessage, len(g.Messages)), Tools: jsontext.Value(g.Tools),
		Sampling: newSampling(r.Sampling), Streaming: streaming(events),
		TemplateKwargs: &templateKwargs{think, think}, Effort: r.Sampling.Effort,
	}
	for i := range g.Messages {
		m := &g.Messages[i]
		out := chatMessage{
			Role: m.Role, Name: m.Name, Content: &m.Content, Reasoning: m.Reasoning, ReasoningContent: m.Reasoning, ToolCallID: m.ToolCallID,
		}
		for _, t := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, chatToolCall{t.ID, "function", chatFunction{t.Name, t.Arguments}})
		}
		b.Messages[i] = out
	}
	return b
}

// CompletionBody is a request of the completions API with the prompt as ids.
type CompletionBody struct {
	Model  string  `json:"model"`
	Prompt []int32 `json:"prompt"`
	Sampling
	Streaming
	ReturnTokenIDs    bool    `json:"return_token_ids,omitzero"`
	StopTokenIDs      []int32 `json:"stop_token_ids,omitzero"`
	SkipSpecialTokens bool    `json:"skip_special_tokens"`
	Spaces            bool    `json:"spaces_between_special_tokens"`
}

// CompletionBody builds a request with our own rendered prompt.
func (c *Client) CompletionBody(r *eyrie.Request, prompt []int32, events bool) *CompletionBody {
	return &CompletionBody{
		Model: c.name(), Prompt: prompt, Sampling: newSampling(r.Sampling), Streaming: streaming(events), StopTokenIDs: c.stops(),
	}
}

// Prompt renders a request's prompt as ids. An effort would have to be a word
// of the template, and no template's is known.
func (c *Client) Prompt(r *eyrie.Request) ([]int32, error) {
	if e := r.Sampling.Effort; e != "" {
		return nil, fmt.Errorf("effort %s cannot be asked for where the prompt goes as ids; use via: chat", e)
	}
	return c.Codec.Prompt(r.Generation, r.Sampling)
}

func (c *Client) stops() []int32 {
	if c.Codec == nil {
		return nil
	}
	return c.Codec.Stops()
}

// openAI is a frame of either API, whole or a chunk, with every field in which
// a server has been seen to return ids.
type openAI struct {
	ID             string         `json:"id"`
	Model          string         `json:"model"`
	Object         string         `json:"object"`
	Message        jsontext.Value `json:"message"` // of an error in old form
	Code           jsontext.Value `json:"code"`
	Choices        []choice       `json:"choices"`
	Usage          *usage         `json:"usage"`
	Error          jsontext.Value `json:"error"`
	PromptTokenIDs []int32        `json:"prompt_token_ids"`
	Ext            struct {
		InputIDs  []int32   `json:"input_ids"`
		OutputIDs [][]int32 `json:"output_ids"`
	} `json:"sglext"`
}

type choice struct {
	Index            int            `json:"index"`
	Delta            *message       `json:"delta"`
	Message          *message       `json:"message"`
	Text             string         `json:"text"`
	FinishReason     *string        `json:"finish_reason"`
	StopReason       jsontext.Value `json:"stop_reason"`
	MatchedStop      jsontext.Value `json:"matched_stop"`
	TokenIDs         []int32        `json:"token_ids"`
	ResponseTokenIDs []int32        `json:"response_token_ids"`
	PromptTokenIDs   []int32        `json:"prompt_token_ids"`
	MetaInfo         *struct {
		OutputTokenLogprobs []Logprob `json:"output_token_logprobs"`
	} `json:"meta_info"`
}

type message struct {
	Content          *string    `json:"content"`
	Reasoning        *string    `json:"reasoning"`
	ReasoningContent *string    `json:"reasoning_content"`
	ToolCalls        []callPart `json:"tool_calls"`
}

type callPart struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	PromptTokens     int  `json:"prompt_tokens"`
	CompletionTokens int  `json:"completion_tokens"`
	ReasoningTokens  *int `json:"reasoning_tokens"`
	PromptDetails    *struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails *struct {
		Reasoning *int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *usage) usage() eyrie.Usage {
	out := eyrie.Usage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, ReasoningTokens: -1}
	if u.PromptDetails != nil {
		out.CachedTokens = u.PromptDetails.Cached
	}
	switch {
	case u.CompletionDetails != nil && u.CompletionDetails.Reasoning != nil:
		out.ReasoningTokens = *u.CompletionDetails.Reasoning
	case u.ReasoningTokens != nil && *u.ReasoningTokens > 0: // a zero is its default, not a count
		out.ReasoningTokens = *u.ReasoningTokens
	}
	return out
}

// Logprob is one of SGLang's triples: the logprob, the id, the text or null.
type Logprob struct{ ID int32 }

// UnmarshalJSON reads a triple.
func (l *Logprob) UnmarshalJSON(b []byte) error {
	var parts []jsontext.Value
	if err := Decode(b, &parts); err != nil || len(parts) < 2 {
		return cmp.Or(err, errNotATriple)
	}
	return Decode(parts[1], &l.ID)
}

// OpenAI reads a frame of the chat API or of the completions API.
func OpenAI(d *Draft, frame []byte) error {
	if d.again(frame) {
		return nil
	}
	d.latest.Forget()
	var f openAI
	if err := Decode(frame, &f); err != nil {
		return err
	}
	if f.Error.Kind() != 0 && f.Error.Kind() != 'n' || f.Object == "error" {
		d.Fail(errorCode(frame), errorText(frame), frame)
		return nil
	}
	a := d.Answer
	a.ID, a.Model = cmp.Or(a.ID, f.ID), cmp.Or(a.Model, f.Model)
	d.promptIDs(f.PromptTokenIDs)
	d.promptIDs(f.Ext.InputIDs)
	for i := range f.Choices {
		d.choice(&f.Choices[i], frame)
	}
	if len(f.Ext.OutputIDs) > 0 && len(f.Ext.OutputIDs[0]) > 0 {
		d.SetIDs(f.Ext.OutputIDs[0])
	}
	if f.Usage != nil {
		d.Count(f.Usage.usage(), frame)
	}
	d.learn(&f, frame)
	return nil
}

// errorCode finds the code in the body of an error.
func errorCode(frame []byte) int {
	var doc struct {
		Error jsontext.Value `json:"error"`
		Code  jsontext.Value `json:"code"`
	}
	if Decode(frame, &doc) != nil {
		return 0
	}
	if doc.Error.Kind() == '{' {
		return errorCode(doc.Error)
	}
	var code int
	if doc.Code.Kind() != '0' || Decode(doc.Code, &code) != nil {
		return 0
	}
	return code
}

func (d *Draft) promptIDs(ids []int32) {
	if len(ids) > 0 && len(d.Answer.PromptIDs) == 0 {
		d.Answer.PromptIDs = ids
	}
}

func (d *Draft) choice(c *choice, frame []byte) {
	if c.Index != 0 {
		d.several = true
		return
	}
	d.promptIDs(c.PromptTokenIDs)
	for _, m := range []*message{c.Delta, c.Message} {
		if m != nil {
			d.message(m)
		}
	}
	d.Say(c.Text)
	switch {
	case len(c.TokenIDs) > 0:
		d.AddIDs(c.TokenIDs)
	case len(c.ResponseTokenIDs) > 0:
		d.AddIDs(c.ResponseTokenIDs)
	case c.MetaInfo != nil && len(c.MetaInfo.OutputTokenLogprobs) > 0:
		for _, l := range c.MetaInfo.OutputTokenLogprobs {
			d.AddIDs([]int32{l.ID})
		}
	}
	d.MatchedAt(c.StopReason)
	d.MatchedAt(c.MatchedStop)
	if c.FinishReason != nil && *c.FinishReason != "" {
		d.Finish(*c.FinishReason, frame)
	}
}

func (d *Draft) message(m *message) {
	if m.Content != nil {
		d.Say(*m.Content)
	}
	switch { // the same text may come under both names
	case m.ReasoningContent != nil && *m.ReasoningContent != "":
		d.reasoning = append(d.reasoning, *m.ReasoningContent...)
	case m.Reasoning != nil:
		d.reasoning = append(d.reasoning, *m.Reasoning...)
	}
	for i := range m.ToolCalls {
		d.call(&m.ToolCalls[i])
	}
}

// call adds a piece of a tool call to the call of its index, or to a new one.
func (d *Draft) call(p *callPart) {
	index := len(d.calls)
	if p.Index != nil {
		index = *p.Index
	} else if p.ID == "" && p.Function.Name == "" {
		index--
	}
	i := slices.IndexFunc(d.calls, func(c callDraft) bool { return c.index == index })
	if i < 0 {
		d.calls = append(d.calls, callDraft{index: index})
		i = len(d.calls) - 1
	}
	c := &d.calls[i]
	c.id, c.name = cmp.Or(p.ID, c.id), cmp.Or(p.Function.Name, c.name)
	c.args = append(c.args, textOf(p.Function.Arguments)...)
}
