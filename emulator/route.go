package emulator

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// candidates returns the endpoints that may serve the request, best first, or
// the refusal that tells which condition left none.
func (s *Server) candidates(m *model, q *chatRequest, promptTokens int, rng *rand.Rand) ([]*endpoint, *refusal) {
	pool := slices.Clone(m.endpoints)
	if len(pool) == 0 {
		return nil, unavailable(404, "no_endpoints", fmt.Sprintf("No endpoints found for %s.", q.Model), q.Model, nil)
	}
	var excludedBy []string
	for _, f := range s.filters() {
		var kept []*endpoint
		for _, e := range pool {
			if f.keep(e, q, promptTokens) {
				kept = append(kept, e)
			}
		}
		if len(kept) < len(pool) {
			excludedBy = append(excludedBy, f.excludedBy)
		}
		if len(kept) == 0 {
			code := "constraint_filtered"
			if strings.HasPrefix(f.excludedBy, "data_policy") {
				code = "privacy_restricted"
			}
			return nil, unavailable(404, code, f.message, q.Model, fields{"excluded_by": excludedBy})
		}
		pool = kept
	}
	return arrange(pool, q.Provider, rng), nil
}

// filter is one hard condition on endpoints.
type filter struct {
	excludedBy string
	message    string
	keep       func(e *endpoint, q *chatRequest, promptTokens int) bool
}

// filters are the conditions in the order in which the vendor applies them: the
// one that leaves nothing words the refusal, which names all that excluded
// something. Server.mu is held.
func (s *Server) filters() []filter { return slices.Concat(byRequest, s.privacy(), byPrice) }

// privacy are the conditions that depend on what endpoints do with prompts.
// Server.mu is held.
func (s *Server) privacy() []filter {
	const message = "No endpoints available matching your guardrail restrictions and data policy. Configure them in your account's privacy settings."
	return []filter{
		{"data_policy:zdr", message, func(e *endpoint, q *chatRequest, _ int) bool { return !q.Provider.ZDR || s.scenario.limits(e.tag).ZDR }},
		{"data_policy:training", message, func(e *endpoint, q *chatRequest, _ int) bool {
			return q.Provider.DataCollection != "deny" || !s.scenario.limits(e.tag).Trains
		}},
	}
}

// byRequest are the conditions on what is asked, and of whom.
var byRequest = []filter{
	{"context_length", "No endpoints found that can fit the prompt and max_tokens in their context.",
		func(e *endpoint, q *chatRequest, promptTokens int) bool {
			want, ok := q.limit()
			return promptTokens < e.context && (e.maxPrompt == 0 || promptTokens <= e.maxPrompt) && (!ok || want <= e.largest())
		}},
	{"allowed_providers", "No allowed providers are available for the selected model. Change provider.only, provider.order or provider.ignore, or allow fallbacks.",
		func(e *endpoint, q *chatRequest, _ int) bool {
			p := q.Provider
			switch {
			case len(p.Only) > 0 && !named(p.Only, e), named(p.Ignore, e):
				return false
			case len(p.Order) > 0 && !p.fallbacks():
				return named(p.Order, e)
			}
			return true
		}},
	{"quantization", "No endpoints found with the requested quantizations.",
		func(e *endpoint, q *chatRequest, _ int) bool {
			want := q.Provider.Quantizations
			return len(want) == 0 || slices.ContainsFunc(want, func(w string) bool { return admits(w, e.quantization) })
		}},
}

// byPrice are those on what it costs, and on what the endpoint takes.
var byPrice = []filter{
	{"max_price", "No endpoints match your max_price.",
		func(e *endpoint, q *chatRequest, _ int) bool { return affordable(e.price, q.Provider.MaxPrice) }},
	{"require_parameters", "No endpoints found that can handle the requested parameters.",
		func(e *endpoint, q *chatRequest, _ int) bool {
			if !q.Provider.RequireParameters {
				return true
			}
			return !slices.ContainsFunc(q.parameters(), func(name string) bool { return !e.supports(name) })
		}},
}

// named reports whether a list of slugs, tags and display names has e.
func named(list []string, e *endpoint) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		return entry == e.tag || entry == e.slug() || strings.EqualFold(entry, e.provider)
	})
}

// admits reports whether a wanted quantization covers an endpoint's.
func admits(want, have string) bool {
	switch want {
	case "fp4":
		return have == "fp4" || have == "mxfp4" || have == "nvfp4"
	case "fp8":
		return have == "fp8" || have == "mxfp8"
	}
	return want == have
}

// affordable checks prices against limits in dollars per million tokens.
func affordable(p price, limits map[string]jsontext.Value) bool {
	for name, unit := range map[string]decimal{
		"prompt": p.prompt.times(1e6), "completion": p.completion.times(1e6), "request": p.request,
	} {
		raw := limits[name]
		if len(raw) == 0 || raw.Kind() == 'n' {
			continue
		}
		limit, err := parseDecimal(strings.Trim(string(raw), `"`))
		if err == nil && unit.cmp(limit) > 0 {
			return false
		}
	}
	return true
}

// arrange sorts the pool by the client's order or sort key; without either it
// draws by weight 1/price², endpoints in trouble last.
func arrange(pool []*endpoint, p preferences, rng *rand.Rand) []*endpoint {
	total := func(e *endpoint) decimal { return e.price.prompt.plus(e.price.completion) }
	switch by := p.sortBy(); {
	case by != "":
		slices.SortStableFunc(pool, func(a, b *endpoint) int {
			return cmp.Or(a.ranking(by, b), total(a).cmp(total(b)))
		})
	case len(p.Order) == 0:
		lot := map[*endpoint]float64{}
		for _, e := range pool {
			w := total(e).float()
			lot[e] = rng.ExpFloat64() * w * w // the least of exponential draws is a weighted choice
			if e.status < 0 {
				lot[e]++ // far above any other, prices being what they are
			}
		}
		slices.SortStableFunc(pool, func(a, b *endpoint) int { return cmp.Compare(lot[a], lot[b]) })
	}
	if len(p.Order) > 0 {
		rank := func(e *endpoint) int {
			for i, entry := range p.Order {
				if named([]string{entry}, e) {
					return i
				}
			}
			return len(p.Order)
		}
		slices.SortStableFunc(pool, func(a, b *endpoint) int { return rank(a) - rank(b) })
	}
	if !p.fallbacks() && len(p.Order) == 0 {
		pool = pool[:1]
	}
	return pool
}

// ranking compares endpoints by a median of their last half hour. One that has
// none comes last; by anything else all are equal.
func (e *endpoint) ranking(by string, o *endpoint) int {
	switch by {
	case "throughput":
		return cmp.Compare(o.median("throughput_last_30m", 0), e.median("throughput_last_30m", 0))
	case "latency":
		return cmp.Compare(e.median("latency_last_30m", math.Inf(1)), o.median("latency_last_30m", math.Inf(1)))
	}
	return 0
}

// median is the p50 of a member of the catalogue.
func (e *endpoint) median(member string, otherwise float64) float64 {
	var p struct {
		P50 *float64 `json:"p50"`
	}
	if json.Unmarshal(e.raw[member], &p) != nil || p.P50 == nil {
		return otherwise
	}
	return *p.P50
}
