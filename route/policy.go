package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// Policy says which endpoints may answer. The zero Policy allows every
// endpoint whose price is known.
type Policy struct {
	// Quantizations lists what is allowed; nil allows any.
	Quantizations []string
	// Only and Ignore hold slugs ("atlas-cloud"), tags ("atlas-cloud/int4") or
	// display names ("AtlasCloud").
	Only, Ignore []string
	// MaxPrompt and MaxOutput bound prices per million tokens; zero is no bound.
	MaxPrompt, MaxOutput eyrie.Money
	// Parameters are the request parameters the job sends.
	Parameters []string
	// MaxTokens is the longest answer the job asks for.
	MaxTokens int
}

// Verdict is what the policy says of one endpoint.
type Verdict struct {
	Lane    *eyrie.Lane
	Allowed bool
	Reason  string // why not
}

// Judge gives every endpoint its verdict, in order.
func (p *Policy) Judge(lanes []*eyrie.Lane) []Verdict {
	out := make([]Verdict, len(lanes))
	for i, l := range lanes {
		reason := p.objection(l)
		out[i] = Verdict{l, reason == "", reason}
	}
	return out
}

// objection returns the first reason against a lane, or "".
func (p *Policy) objection(l *eyrie.Lane) string {
	switch {
	case l.Closed != "":
		return l.Closed
	case !l.PromptPrice.Known() || !l.OutputPrice.Known():
		return "its price is unknown"
	case len(p.Only) > 0 && !slices.ContainsFunc(p.Only, func(n string) bool { return names(n, l) }):
		return "not in only"
	case slices.ContainsFunc(p.Ignore, func(n string) bool { return names(n, l) }):
		return "in ignore"
	case p.Quantizations != nil && !slices.Contains(p.Quantizations, l.Quantization):
		return fmt.Sprintf("quantization %s is not among %s", l.Quantization, strings.Join(p.Quantizations, ", "))
	case p.MaxPrompt > 0 && l.PromptPrice.PerMillion() > p.MaxPrompt:
		return fmt.Sprintf("prompt price %s/M is over max_price %s", l.PromptPrice.PerMillion(), p.MaxPrompt)
	case p.MaxOutput > 0 && l.OutputPrice.PerMillion() > p.MaxOutput:
		return fmt.Sprintf("completion price %s/M is over max_price %s", l.OutputPrice.PerMillion(), p.MaxOutput)
	case l.MaxOutput > 0 && p.MaxTokens > l.MaxOutput:
		return fmt.Sprintf("it answers with at most %d tokens and max_tokens is %d", l.MaxOutput, p.MaxTokens)
	}
	if l.Parameters != nil {
		for _, param := range p.Parameters {
			if !slices.Contains(l.Parameters, param) {
				return "it does not take " + param
			}
		}
	}
	return ""
}

// names reports whether a name in a job file means the lane: its tag, the slug
// before the tag's slash, or the provider's display name.
func names(n string, l *eyrie.Lane) bool {
	slug, _, _ := strings.Cut(l.Tag, "/")
	return n == l.Tag || n == slug || SameProvider(n, l.Provider)
}

// SameProvider compares providers' display names as vendors vary them: without
// regard to case, spaces, hyphens and underscores.
func SameProvider(a, b string) bool { return foldName(a) == foldName(b) }

func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '-', '_', '.':
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// nativePrecisions is the precision models were trained to be served in. Keys
// are prefixes of model slugs, the longest match wins.
var nativePrecisions = []struct {
	prefix string
	labels []string
}{
	{"moonshotai/kimi-k3", []string{"mxfp4"}},
	{"moonshotai/kimi-k2-thinking", []string{"int4"}},
	{"moonshotai/kimi-k2.5", []string{"int4"}},
	{"moonshotai/kimi-k2.6", []string{"int4"}},
	{"moonshotai/kimi-k2.7", []string{"int4"}},
	{"moonshotai/kimi-k2", []string{"fp8"}},
	{"openai/gpt-oss", []string{"mxfp4"}},
	{"deepseek/deepseek", []string{"fp8"}},
	{"qwen/qwen3", []string{"bf16"}},
}

// Native returns the quantization labels that are a model's native precision.
// For a model it does not know it reports false.
func Native(model string) ([]string, bool) {
	best, labels := "", []string(nil)
	for _, n := range nativePrecisions {
		if strings.HasPrefix(model, n.prefix) && len(n.prefix) > len(best) {
			best, labels = n.prefix, n.labels
		}
	}
	return labels, best != ""
}
