package route_test

import (
	"slices"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/route"
)

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy route.Policy
		change func(*eyrie.Lane)
		want   string // why not; empty where it is allowed
	}{
		{name: "anything goes"},
		{name: "unknown prompt price", change: func(l *eyrie.Lane) { l.PromptPrice = eyrie.Price{} }, want: "its price is unknown"},
		{name: "unknown output price", change: func(l *eyrie.Lane) { l.OutputPrice = eyrie.Price{} }, want: "its price is unknown"},
		{name: "known price of nothing", change: func(l *eyrie.Lane) { l.PromptPrice, l.OutputPrice = eyrie.Free, eyrie.Free }},
		{name: "only, by slug", policy: route.Policy{Only: []string{"other", "atlas-cloud"}}},
		{name: "only, by tag", policy: route.Policy{Only: []string{"atlas-cloud/int4"}}},
		{name: "only, by name", policy: route.Policy{Only: []string{"Atlas Cloud"}}},
		{name: "only another endpoint of it", policy: route.Policy{Only: []string{"atlas-cloud/fp8"}}, want: "not in only"},
		{name: "only another", policy: route.Policy{Only: []string{"atlas"}}, want: "not in only"},
		{name: "ignored by slug", policy: route.Policy{Ignore: []string{"atlas-cloud"}}, want: "in ignore"},
		{name: "ignored by name", policy: route.Policy{Ignore: []string{"atlascloud"}}, want: "in ignore"},
		{name: "ignored though in only", policy: route.Policy{Only: []string{"atlas-cloud"}, Ignore: []string{"atlas-cloud/int4"}}, want: "in ignore"},
		{name: "another endpoint of it ignored", policy: route.Policy{Ignore: []string{"atlas-cloud/fp8"}}},
		{name: "quantization allowed", policy: route.Policy{Quantizations: []string{"fp8", "int4"}}},
		{name: "quantization not allowed", policy: route.Policy{Quantizations: []string{"bf16", "fp8"}}, want: "quantization int4 is not among bf16, fp8"},
		{name: "unstated quantization", policy: route.Policy{Quantizations: []string{"int4"}}, change: func(l *eyrie.Lane) { l.Quantization = "unknown" },
			want: "quantization unknown is not among int4"},
		{name: "prices at the bounds", policy: route.Policy{MaxPrompt: 600_000_000_000, MaxOutput: 2_250_000_000_000}},
		{name: "prompt too dear", policy: route.Policy{MaxPrompt: 599_999_999_999}, want: "prompt price $0.60/M is over max_price $0.599999999999"},
		{name: "output too dear", policy: route.Policy{MaxOutput: 2 * eyrie.Dollar}, want: "completion price $2.25/M is over max_price $2.00"},
		{name: "reasoning too dear", policy: route.Policy{MaxOutput: 3 * eyrie.Dollar}, change: func(l *eyrie.Lane) { l.ReasoningPrice = price(t, "0.000004") },
			want: "completion price $4.00/M is over max_price $3.00"},
		{name: "a fee and no bounds", change: func(l *eyrie.Lane) { l.RequestPrice = price(t, "0.01") }},
		{name: "a fee at the bound", policy: route.Policy{MaxRequest: eyrie.Dollar / 100}, change: func(l *eyrie.Lane) { l.RequestPrice = price(t, "0.01") }},
		{name: "a fee over the bound", policy: route.Policy{MaxRequest: eyrie.Dollar / 200}, change: func(l *eyrie.Lane) { l.RequestPrice = price(t, "0.01") },
			want: "a request costs $0.01 by itself, and max_price allows $0.005 for one"},
		{name: "a fee beside other bounds", policy: route.Policy{MaxOutput: 3 * eyrie.Dollar}, change: func(l *eyrie.Lane) { l.RequestPrice = price(t, "0.01") },
			want: "a request costs $0.01 by itself, and max_price allows $0.00 for one"},
		{name: "answers long enough", policy: route.Policy{MaxTokens: 4096}, change: func(l *eyrie.Lane) { l.MaxOutput = 4096 }},
		{name: "answers too short", policy: route.Policy{MaxTokens: 4097}, change: func(l *eyrie.Lane) { l.MaxOutput = 4096 },
			want: "it answers with at most 4096 tokens and max_tokens is 4097"},
		{name: "takes every parameter", policy: route.Policy{Parameters: []string{"top_p", "seed"}}, change: func(l *eyrie.Lane) { l.Parameters = []string{"seed", "top_p", "tools"} }},
		{name: "misses a parameter", policy: route.Policy{Parameters: []string{"top_p", "seed"}}, change: func(l *eyrie.Lane) { l.Parameters = []string{"top_p"} },
			want: "it does not take seed"},
		{name: "takes none", policy: route.Policy{Parameters: []string{"seed"}}, change: func(l *eyrie.Lane) { l.Parameters = []string{} }, want: "it does not take seed"},
		{name: "misses two parameters", policy: route.Policy{Parameters: []string{"min_p", "seed", "top_p"}}, change: func(l *eyrie.Lane) { l.Parameters = []string{"top_p"} },
			want: "it does not take min_p, seed"},
		{name: "status at the floor", policy: route.Policy{MinStatus: new(-2)}, change: func(l *eyrie.Lane) { l.Health.Status = new(-2) }},
		{name: "status below the floor", policy: route.Policy{MinStatus: new(-2)}, change: func(l *eyrie.Lane) { l.Health.Status = new(-5) },
			want: "its status is -5, below -2"},
		{name: "status not given", policy: route.Policy{MinStatus: new(0)}},
		{name: "uptime at the floor", policy: route.Policy{MinUptime: 95}, change: func(l *eyrie.Lane) { l.Health.Uptime = new(95.0) }},
		{name: "uptime below the floor", policy: route.Policy{MinUptime: 95}, change: func(l *eyrie.Lane) { l.Health.Uptime = new(0.0) },
			want: "it was up 0.0% of the last half hour, less than 95%"},
		{name: "uptime not given", policy: route.Policy{MinUptime: 95}},
		{name: "retains prompts", policy: route.Policy{Retained: func(*eyrie.Lane) bool { return true }}, want: "it is not listed among those that retain nothing"},
		{name: "retains nothing", policy: route.Policy{Retained: func(*eyrie.Lane) bool { return false }}},
		{name: "does not say what it takes", policy: route.Policy{Parameters: []string{"seed"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := lane(t, "atlas-cloud/int4", "AtlasCloud", "int4")
			if tt.change != nil {
				tt.change(l)
			}
			got := tt.policy.Judge([]*eyrie.Lane{l})
			if v := got[0]; len(got) != 1 || v.Lane != l || v.Allowed != (tt.want == "") || v.Reason != tt.want || (v.Rule == "") != v.Allowed {
				t.Errorf("verdict %+v, want %q", got, tt.want)
			}
		})
	}
}

func TestJudgeKeepsTheOrder(t *testing.T) {
	lanes := []*eyrie.Lane{lane(t, "b/int4", "B", "int4"), lane(t, "a/fp4", "A", "fp4"), lane(t, "c/int4", "C", "int4")}
	p := route.Policy{Quantizations: []string{"int4"}}
	got := p.Judge(lanes)
	for i, allowed := range []bool{true, false, true} {
		if got[i].Lane != lanes[i] || got[i].Allowed != allowed {
			t.Errorf("verdict %d is of %s, allowed %v; want %s, %v", i, got[i].Lane.Tag, got[i].Allowed, lanes[i].Tag, allowed)
		}
	}
}

func TestSameProvider(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"AtlasCloud", "atlas-cloud", true},
		{"Atlas Cloud", "atlas_cloud", true},
		{"Z.AI", "z-ai", true},
		{"Moonshot AI", "Moonshot AI", true},
		{"Moonshot", "Moonshot AI", false},
		{"DeepInfra", "DeepSeek", false},
		{"", "", true},
		{"", "A", false},
	} {
		if got := route.SameProvider(tt.a, tt.b); got != tt.want {
			t.Errorf("SameProvider(%q, %q) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
		if got := route.SameProvider(tt.b, tt.a); got != tt.want {
			t.Errorf("SameProvider(%q, %q) = %v, want %v", tt.b, tt.a, got, tt.want)
		}
	}
}

func TestOrder(t *testing.T) {
	dear, cheap, cheaper := lane(t, "a/int4", "A", "int4"), lane(t, "b/int4", "B", "int4"), lane(t, "c/int4", "C", "int4")
	cheap.OutputPrice, cheaper.OutputPrice = price(t, "0.000002"), price(t, "0.000001")
	lanes := []*eyrie.Lane{dear, cheap, lane(t, "out/fp4", "Out", "fp4"), cheaper}
	for _, tt := range []struct {
		name   string
		prefer []string
		want   []*eyrie.Lane
	}{
		{"by price", nil, []*eyrie.Lane{cheaper, cheap, dear}},
		{"preferred before price", []string{"A"}, []*eyrie.Lane{dear, cheaper, cheap}},
		{"in the order of the preference", []string{"a", "b/int4"}, []*eyrie.Lane{dear, cheap, cheaper}},
		{"a preference lets nobody in", []string{"out"}, []*eyrie.Lane{cheaper, cheap, dear}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := route.Policy{Quantizations: []string{"int4"}, Prefer: tt.prefer}
			if got := route.Order(p.Judge(lanes)); !slices.Equal(got, tt.want) {
				t.Errorf("order %v, want %v", tags(got), tags(tt.want))
			}
		})
	}
}

func tags(lanes []*eyrie.Lane) (out []string) {
	for _, l := range lanes {
		out = append(out, l.Tag)
	}
	return out
}
