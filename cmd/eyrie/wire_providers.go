package main

import (
	"io"

	"github.com/eyrie-ai/eyrie"
)

// endpointJSON is a line of eyrie providers --json. The fields keep their
// meaning; new ones may appear. Prices are dollars per million tokens as
// decimal text, and absent where unknown.
type endpointJSON struct {
	Engine        string   `json:"engine"`
	Model         string   `json:"model"`
	Provider      string   `json:"provider"`
	Tag           string   `json:"tag"`
	Quantization  string   `json:"quantization"` // as it is listed
	Precision     string   `json:"precision"`    // what the policy went by
	PrecisionNote string   `json:"precision_note,omitzero"`
	Claimed       bool     `json:"precision_claimed,omitzero"` // by the job file
	Prompt        string   `json:"prompt_per_million,omitzero"`
	Completion    string   `json:"completion_per_million,omitzero"`
	Cached        string   `json:"cached_per_million,omitzero"`
	Reasoning     string   `json:"reasoning_per_million,omitzero"` // where it is not that of a completion
	Fee           string   `json:"per_request,omitzero"`           // dollars for a request by itself
	Tiered        bool     `json:"tiered,omitzero"`                // long prompts cost otherwise
	Context       int      `json:"context,omitzero"`
	MaxOutput     int      `json:"max_output,omitzero"`
	Overruns      bool     `json:"overruns,omitzero"`
	Status        *int     `json:"status,omitzero"`
	Uptime        *float64 `json:"uptime_percent,omitzero"`
	Throughput    float64  `json:"tokens_per_second,omitzero"`
	Latency       float64  `json:"first_token_seconds,omitzero"`
	Lacks         []string `json:"lacks,omitzero"`
	Allowed       bool     `json:"allowed"`
	Preferred     int      `json:"preferred,omitzero"`
	Rule          string   `json:"rule,omitzero"`
	Reason        string   `json:"reason,omitzero"`
}

// printVerdictLines prints the endpoints as JSON, one a line.
func printVerdictLines(w io.Writer, s *session) error {
	for _, v := range s.ordered() {
		l := v.Lane
		line := endpointJSON{
			Engine: l.Engine, Model: s.job.Model, Provider: l.Provider, Tag: l.Tag,
			Quantization: l.Quantization, Precision: v.Precision(),
			Prompt: priceText(l.PromptPrice), Completion: priceText(l.OutputPrice), Cached: priceText(l.CachedPrice), Reasoning: priceText(l.ReasoningPrice), Tiered: l.Tiers != nil,
			Context: l.Context, MaxOutput: l.MaxOutput, Overruns: l.Overruns,
			Status: l.Health.Status, Uptime: l.Health.Uptime, Throughput: l.Health.Throughput, Latency: l.Health.Latency.Seconds(),
			Lacks: v.Lacks, Allowed: v.Allowed, Preferred: v.Preferred, Rule: string(v.Rule), Reason: v.Reason,
		}
		if !l.RequestPrice.IsZero() {
			line.Fee = l.RequestPrice.Times(1).Decimal()
		}
		if v.Claim != nil {
			line.Claimed, line.PrecisionNote = true, v.Claim.Note
		}
		if err := printJSON(w, line); err != nil {
			return err
		}
	}
	return nil
}

func priceText(p eyrie.Price) string {
	if !p.Known() {
		return ""
	}
	return p.PerMillion().Decimal()
}
