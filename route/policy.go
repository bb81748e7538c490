package route

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// Policy says which endpoints may answer. The zero Policy allows every
// endpoint whose price is known.
type Policy struct {
	// Quantizations lists the labels that are allowed; nil allows any. Native
	// is the model's own precision where the list was made from it: it is named
	// in reasons. [Resolve] makes both.
	Quantizations []string
	Native        string
	// Claims are what the user knows better than the labels of the catalogue.
	Claims []Claim
	// Only, Ignore and Prefer hold slugs ("atlas-cloud"), tags
	// ("atlas-cloud/int4") or display names ("AtlasCloud").
	Only, Ignore, Prefer []string
	// MaxPrompt and MaxOutput bound prices per million tokens; zero is no bound.
	// An endpoint's price at its dearest hour counts, and not that of long
	// prompts: who sends one must look at the lane's rates for it.
	MaxPrompt, MaxOutput eyrie.Money
	// MaxRequest bounds what a request costs by itself, where one of these three
	// is not zero.
	MaxRequest eyrie.Money
	// MinStatus and MinUptime are what an endpoint's health must reach. One
	// whose health is not given does reach it. Nil and zero ask for nothing: a
	// lane in trouble is slowed down by what comes back from it, and that is
	// known better and sooner.
	MinStatus *int
	MinUptime float64
	// Retained is asked for every endpoint where it is not nil: whether the
	// endpoint keeps prompts, so that it must not answer.
	Retained func(*eyrie.Lane) bool
	// Parameters are the request parameters the job sends.
	Parameters []string
	// MaxTokens is the longest answer the job asks for.
	MaxTokens int
}

// Claim is what a user knows of the precision of an endpoint: that the one
// named in Name, by slug, tag or display name, is served in Label. Note says
// how the user knows.
type Claim struct {
	Name, Label, Note string
}

// Rule names the part of a policy that keeps an endpoint out, by the words of
// the job file.
type Rule string

// The rules.
const (
	RuleUsable       Rule = "catalogue" // it cannot be used by anybody: no price, no tag
	RuleOnly         Rule = "only"
	RuleIgnore       Rule = "ignore"
	RuleQuantization Rule = "quantization"
	RuleMaxPrice     Rule = "max_price"
	RuleZDR          Rule = "zdr"
	RuleStatus       Rule = "min_status"
	RuleUptime       Rule = "min_uptime"
	RuleMaxTokens    Rule = "max_tokens"
	RuleParameters   Rule = "sampling"
)

// Verdict is what the policy says of one endpoint.
type Verdict struct {
	Lane    *eyrie.Lane
	Allowed bool
	Rule    Rule   // which rule keeps it out; the first that does
	Reason  string // why not, in a sentence without its subject
	// Lacks lists the parameters of the job that the endpoint does not take.
	Lacks []string
	// Claim is what the user says of its precision; nil where the label counts.
	Claim *Claim
	// Preferred is the endpoint's place in Prefer, from 1; 0 when it has none.
	Preferred int
}

// Precision is the label that the policy went by.
func (v *Verdict) Precision() string {
	if v.Claim != nil {
		return v.Claim.Label
	}
	return v.Lane.Quantization
}

// Judge gives every endpoint its verdict, in order.
func (p *Policy) Judge(lanes []*eyrie.Lane) []Verdict {
	out := make([]Verdict, len(lanes))
	for i, l := range lanes {
		v := Verdict{
			Lane: l, Lacks: p.lacks(l), Claim: p.claim(l),
			Preferred: 1 + slices.IndexFunc(p.Prefer, func(n string) bool { return names(n, l) }),
		}
		v.Rule, v.Reason = p.objection(&v)
		v.Allowed = v.Reason == ""
		out[i] = v
	}
	return out
}

// Order returns the lanes that are allowed: those that are preferred first, in
// the order of the preference, and the others by price as [ByPrice] has it.
func Order(verdicts []Verdict) []*eyrie.Lane {
	place := map[*eyrie.Lane]int{}
	var lanes []*eyrie.Lane
	for _, v := range verdicts {
		if !v.Allowed {
			continue
		}
		lanes = append(lanes, v.Lane)
		place[v.Lane] = math.MaxInt
		if v.Preferred > 0 {
			place[v.Lane] = v.Preferred
		}
	}
	ByPrice(lanes)
	slices.SortStableFunc(lanes, func(a, b *eyrie.Lane) int { return cmp.Compare(place[a], place[b]) })
	return lanes
}

// objection returns the first rule against an endpoint, and why.
func (p *Policy) objection(v *Verdict) (Rule, string) {
	l := v.Lane
	named := func(list []string) bool { return slices.ContainsFunc(list, func(n string) bool { return names(n, l) }) }
	switch {
	case l.Closed != "":
		return RuleUsable, l.Closed
	case !l.PromptPrice.Known() || !l.OutputPrice.Known():
		return RuleUsable, "its price is unknown"
	case len(p.Only) > 0 && !named(p.Only):
		return RuleOnly, "not in only"
	case named(p.Ignore):
		return RuleIgnore, "in ignore"
	}
	for _, check := range []func(*Verdict) (Rule, string){p.precision, p.prices, p.health, p.request} {
		if rule, why := check(v); why != "" {
			return rule, why
		}
	}
	return "", ""
}

func (p *Policy) prices(v *Verdict) (Rule, string) {
	dearest := v.Lane.Dearest(0)
	bounded, fee := max(p.MaxPrompt, p.MaxOutput, p.MaxRequest) > 0, dearest.RequestPrice.Times(1)
	prompt, output := dearest.PromptPrice.PerMillion(), dearest.CompletionPrice().PerMillion()
	switch {
	case p.MaxPrompt > 0 && prompt > p.MaxPrompt:
		return RuleMaxPrice, fmt.Sprintf("prompt price %s/M is over max_price %s", prompt, p.MaxPrompt)
	case p.MaxOutput > 0 && output > p.MaxOutput:
		return RuleMaxPrice, fmt.Sprintf("completion price %s/M is over max_price %s", output, p.MaxOutput)
	case bounded && fee > p.MaxRequest:
		return RuleMaxPrice, fmt.Sprintf("a request costs %s by itself, and max_price allows %s for one", fee, p.MaxRequest)
	}
	return "", ""
}

func (p *Policy) health(v *Verdict) (Rule, string) {
	h := v.Lane.Health
	switch {
	case p.Retained != nil && p.Retained(v.Lane):
		return RuleZDR, "it is not listed among those that retain nothing"
	case p.MinStatus != nil && h.Status != nil && *h.Status < *p.MinStatus:
		return RuleStatus, fmt.Sprintf("its status is %d, below %d", *h.Status, *p.MinStatus)
	case p.MinUptime > 0 && h.Uptime != nil && *h.Uptime < p.MinUptime:
		return RuleUptime, fmt.Sprintf("it was up %.1f%% of the last half hour, less than %v%%", *h.Uptime, p.MinUptime)
	}
	return "", ""
}

// request checks that the endpoint can do what the job asks.
func (p *Policy) request(v *Verdict) (Rule, string) {
	if most := v.Lane.MaxOutput; most > 0 && p.MaxTokens > most {
		return RuleMaxTokens, fmt.Sprintf("it answers with at most %d tokens and max_tokens is %d", most, p.MaxTokens)
	}
	if len(v.Lacks) > 0 {
		return RuleParameters, "it does not take " + strings.Join(v.Lacks, ", ")
	}
	return "", ""
}

func (p *Policy) lacks(l *eyrie.Lane) []string {
	if l.Parameters == nil {
		return nil
	}
	var out []string
	for _, param := range p.Parameters {
		if !slices.Contains(l.Parameters, param) {
			out = append(out, param)
		}
	}
	return out
}
