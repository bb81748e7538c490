package sglang

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/server"
)

type generateBody struct {
	InputIDs []int32        `json:"input_ids"`
	Sampling samplingParams `json:"sampling_params"`
	Stream   bool           `json:"stream"`
}

type samplingParams struct {
	MaxNewTokens      int      `json:"max_new_tokens"`
	Temperature       *float64 `json:"temperature,omitzero"`
	TopP              *float64 `json:"top_p,omitzero"`
	TopK              *int     `json:"top_k,omitzero"`
	MinP              *float64 `json:"min_p,omitzero"`
	Seed              *int64   `json:"sampling_seed,omitzero"`
	Stop              []string `json:"stop,omitzero"`
	StopTokenIDs      []int32  `json:"stop_token_ids,omitzero"`
	NoStopTrim        bool     `json:"no_stop_trim"`
	SkipSpecialTokens bool     `json:"skip_special_tokens"`
	Spaces            bool     `json:"spaces_between_special_tokens"`
}

// generate asks in ids.
func (c *Client) generate(r *eyrie.Request) (*server.Ask, error) {
	prompt, err := c.server.Prompt(r)
	if err != nil {
		return nil, err
	}
	s := r.Sampling
	if s.TopK != nil && *s.TopK == 0 {
		s.TopK = new(-1) // which is how it spells no bound here
	}
	body := &generateBody{InputIDs: prompt, Sampling: samplingParams{
		MaxNewTokens: s.MaxTokens, Temperature: s.Temperature, TopP: s.TopP, TopK: s.TopK, MinP: s.MinP, Seed: s.Seed, Stop: s.Stop,
		StopTokenIDs: c.server.Codec.Stops(), NoStopTrim: true,
	}}
	frame := func(d *server.Draft, doc []byte) error {
		d.Answer.PromptIDs = prompt // which it counts, but does not return
		return generated(d, doc)
	}
	return &server.Ask{Path: "/generate", Body: body, IDs: true, Parse: true, Frame: frame}, nil
}

// generated reads an answer of /generate.
func generated(d *server.Draft, doc []byte) error {
	var f struct {
		Text      string         `json:"text"`
		OutputIDs []int32        `json:"output_ids"`
		Error     jsontext.Value `json:"error"`
		Meta      struct {
			ID           string        `json:"id"`
			FinishReason *finishReason `json:"finish_reason"`
			Prompt       int           `json:"prompt_tokens"`
			Completion   int           `json:"completion_tokens"`
			Cached       int           `json:"cached_tokens"`
		} `json:"meta_info"`
	}
	if err := server.Decode(doc, &f); err != nil {
		return err
	}
	if f.Error.Kind() != 0 && f.Error.Kind() != 'n' {
		return server.OpenAI(d, doc) // errors look alike everywhere
	}
	m := &f.Meta
	if m.FinishReason == nil {
		return errors.New("an answer in one piece without a finish reason")
	}
	d.Answer.ID = m.ID
	d.SetText(f.Text)
	d.SetIDs(f.OutputIDs)
	d.Count(eyrie.Usage{PromptTokens: m.Prompt, CompletionTokens: m.Completion, ReasoningTokens: -1, CachedTokens: m.Cached}, doc)
	d.MatchedAt(m.FinishReason.Matched)
	if m.FinishReason.Type == "abort" && m.FinishReason.StatusCode >= 400 {
		d.Fail(m.FinishReason.StatusCode, m.FinishReason.Message, doc)
		return nil
	}
	d.Finish(m.FinishReason.Type, doc)
	return nil
}

// finishReason says how an answer ended: "stop" with what it stopped at, an id
// or a string, "length", or "abort" with the reason.
type finishReason struct {
	Type       string         `json:"type"`
	Matched    jsontext.Value `json:"matched"`
	Message    string         `json:"message"`
	StatusCode int            `json:"status_code"`
}
