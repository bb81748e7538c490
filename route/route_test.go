package route_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/route"
)

func price(t testing.TB, s string) eyrie.Price {
	t.Helper()
	p, err := eyrie.ParsePrice(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func lane(t testing.TB, tag, provider, quantization string) *eyrie.Lane {
	t.Helper()
	return &eyrie.Lane{
		Tag: tag, Provider: provider, Quantization: quantization,
		PromptPrice: price(t, "0.0000006"), OutputPrice: price(t, "0.00000225"),
	}
}

func TestPick(t *testing.T) {
	cheap, dear, third := &eyrie.Lane{Tag: "cheap"}, &eyrie.Lane{Tag: "dear"}, &eyrie.Lane{Tag: "third"}
	avoidCheap := func(l *eyrie.Lane) bool { return l == cheap }
	for _, tt := range []struct {
		name  string
		cands []route.Candidate
		free  eyrie.Money
		avoid func(*eyrie.Lane) bool
		want  int
		why   route.Reason
	}{
		{"none", nil, 100, nil, -1, route.NoLanes},
		{"first in order", []route.Candidate{{cheap, 1, 10}, {dear, 9, 5}}, 100, nil, 0, route.Picked},
		{"first with room", []route.Candidate{{cheap, 0, 10}, {dear, 9, 20}}, 100, nil, 1, route.Picked},
		{"room is not negative", []route.Candidate{{cheap, -1, 10}}, 100, nil, -1, route.Full},
		{"none has room", []route.Candidate{{cheap, 0, 10}, {dear, 0, 20}}, 100, nil, -1, route.Full},
		{"exactly what is free", []route.Candidate{{cheap, 1, 100}}, 100, nil, 0, route.Picked},
		{"a smaller hold fits", []route.Candidate{{cheap, 1, 101}, {dear, 1, 100}}, 100, nil, 1, route.Picked},
		{"no hold fits", []route.Candidate{{cheap, 1, 101}, {dear, 1, 102}}, 100, nil, -1, route.NoMoney},
		{"one full, the other too dear", []route.Candidate{{cheap, 0, 10}, {dear, 1, 101}}, 100, nil, -1, route.NoMoney},
		{"one too dear, the other full", []route.Candidate{{dear, 1, 101}, {cheap, 0, 10}}, 100, nil, -1, route.NoMoney},
		{"avoided", []route.Candidate{{cheap, 1, 10}, {dear, 1, 20}}, 100, avoidCheap, 1, route.Picked},
		{"avoided, and no other will do", []route.Candidate{{cheap, 1, 10}, {dear, 0, 20}}, 100, avoidCheap, 0, route.Picked},
		{"avoided, and the other is too dear", []route.Candidate{{cheap, 1, 10}, {dear, 1, 101}}, 100, avoidCheap, 0, route.Picked},
		{"all avoided", []route.Candidate{{dear, 0, 10}, {cheap, 1, 10}, {third, 1, 10}}, 100, func(*eyrie.Lane) bool { return true }, 1, route.Picked},
		{"avoided and full", []route.Candidate{{cheap, 0, 10}}, 100, avoidCheap, -1, route.Full},
		{"nothing to pay and nothing free", []route.Candidate{{cheap, 1, 0}}, 0, nil, 0, route.Picked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, why := route.Pick(tt.cands, route.Money{Free: tt.free, Share: tt.free}, tt.avoid)
			if got != tt.want || why != tt.why {
				t.Errorf("Pick = %d, %d; want %d, %d", got, why, tt.want, tt.why)
			}
		})
	}
}

// TestPickTakesTheBestThatFits compares with the plain reading of the rule: of
// what has room and fits, what is not avoided comes first, then what keeps to
// its share, then what holds least over it, then what stands first.
func TestPickTakesTheBestThatFits(t *testing.T) {
	candidate := rapid.Custom(func(t *rapid.T) route.Candidate {
		return route.Candidate{
			Lane: &eyrie.Lane{Overruns: rapid.Bool().Draw(t, "avoided")},
			Room: rapid.IntRange(-1, 2).Draw(t, "room"),
			Hold: eyrie.Money(rapid.IntRange(0, 6).Draw(t, "hold")),
		}
	})
	avoided := func(l *eyrie.Lane) bool { return l.Overruns }
	rapid.Check(t, func(t *rapid.T) {
		cands := rapid.SliceOfN(candidate, 0, 6).Draw(t, "candidates")
		m := route.Money{Free: eyrie.Money(rapid.IntRange(0, 6).Draw(t, "free"))}
		m.Share = eyrie.Money(rapid.IntRange(0, int(m.Free)).Draw(t, "share"))
		over := func(c route.Candidate) eyrie.Money {
			if c.Hold <= m.Share {
				return 0
			}
			return c.Hold
		}
		var fit []int
		for i, c := range cands {
			if c.Room > 0 && c.Hold <= m.Free {
				fit = append(fit, i)
			}
		}
		slices.SortStableFunc(fit, func(i, j int) int {
			a, b := cands[i], cands[j]
			if avoided(a.Lane) != avoided(b.Lane) {
				if avoided(b.Lane) {
					return -1
				}
				return 1
			}
			return cmp.Compare(over(a), over(b))
		})
		want := -1
		if len(fit) > 0 {
			want = fit[0]
		}
		if got, why := route.Pick(cands, m, avoided); got != want || (why == route.Picked) != (want >= 0) {
			t.Fatalf("Pick = %d, %d; want %d", got, why, want)
		}
	})
}

func TestByPrice(t *testing.T) {
	priced := func(tag, prompt, output string) *eyrie.Lane {
		return &eyrie.Lane{Tag: tag, PromptPrice: price(t, prompt), OutputPrice: price(t, output)}
	}
	lanes := []*eyrie.Lane{
		priced("output counts most", "0.0000001", "0.000003"),
		priced("b", "0.0000006", "0.0000022"),
		priced("a", "0.0000006", "0.0000022"),
		priced("prompt counts a quarter", "0.0000008", "0.0000022"),
		priced("cheaper", "0.0000010", "0.0000020"),
		priced("free", "0", "0"),
	}
	route.ByPrice(lanes)
	var got []string
	for _, l := range lanes {
		got = append(got, l.Tag)
	}
	want := []string{"free", "cheaper", "a", "b", "prompt counts a quarter", "output counts most"}
	if !slices.Equal(got, want) {
		t.Errorf("sorted as %q, want %q", got, want)
	}
}

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
		{name: "answers long enough", policy: route.Policy{MaxTokens: 4096}, change: func(l *eyrie.Lane) { l.MaxOutput = 4096 }},
		{name: "answers too short", policy: route.Policy{MaxTokens: 4097}, change: func(l *eyrie.Lane) { l.MaxOutput = 4096 },
			want: "it answers with at most 4096 tokens and max_tokens is 4097"},
		{name: "takes every parameter", policy: route.Policy{Parameters: []string{"top_p", "seed"}}, change: func(l *eyrie.Lane) { l.Parameters = []string{"seed", "top_p", "tools"} }},
		{name: "misses a parameter", policy: route.Policy{Parameters: []string{"top_p", "seed"}}, change: func(l *eyrie.Lane) { l.Parameters = []string{"top_p"} },
			want: "it does not take seed"},
		{name: "takes none", policy: route.Policy{Parameters: []string{"seed"}}, change: func(l *eyrie.Lane) { l.Parameters = []string{} }, want: "it does not take seed"},
		{name: "does not say what it takes", policy: route.Policy{Parameters: []string{"seed"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := lane(t, "atlas-cloud/int4", "AtlasCloud", "int4")
			if tt.change != nil {
				tt.change(l)
			}
			got := tt.policy.Judge([]*eyrie.Lane{l})
			want := []route.Verdict{{Lane: l, Allowed: tt.want == "", Reason: tt.want}}
			if !slices.Equal(got, want) {
				t.Errorf("verdict %+v, want %+v", got[0], want[0])
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

func TestNative(t *testing.T) {
	for _, tt := range []struct {
		model string
		want  []string
	}{
		{"moonshotai/kimi-k2.5", []string{"int4"}},
		{"moonshotai/kimi-k2-thinking", []string{"int4"}},
		{"moonshotai/kimi-k2.5:free", []string{"int4"}},
		{"moonshotai/kimi-k2", []string{"fp8"}},
		{"moonshotai/kimi-k2-0905", []string{"fp8"}},
		{"openai/gpt-oss-120b", []string{"mxfp4"}},
		{"deepseek/deepseek-v3.2", []string{"fp8"}},
		{"openai/gpt-5", nil},
		{"kimi-k2.5", nil},
		{"", nil},
	} {
		got, known := route.Native(tt.model)
		if !slices.Equal(got, tt.want) || known != (tt.want != nil) {
			t.Errorf("Native(%q) = %v, %v; want %v", tt.model, got, known, tt.want)
		}
	}
}

// TestPickKeepsMoneyForOthers: a lane that holds far more than its share waits
// until the lanes that hold less are full.
func TestPickKeepsMoneyForOthers(t *testing.T) {
	hungry, modest := &eyrie.Lane{Tag: "hungry"}, &eyrie.Lane{Tag: "modest"}
	m := route.Money{Free: 1000, Share: 10}
	tests := []struct {
		name  string
		cands []route.Candidate
		want  int
	}{
		{"the modest lane first, though it comes second", []route.Candidate{{hungry, 5, 500}, {modest, 5, 8}}, 1},
		{"the hungry one when the other is full", []route.Candidate{{hungry, 5, 500}, {modest, 0, 8}}, 0},
		{"the less hungry of two", []route.Candidate{{hungry, 5, 500}, {modest, 5, 100}}, 1},
		{"in order where both have their share", []route.Candidate{{hungry, 5, 10}, {modest, 5, 8}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, why := route.Pick(tt.cands, m, nil); got != tt.want || why != route.Picked {
				t.Errorf("Pick = %d, %v; want %d", got, why, tt.want)
			}
		})
	}
}
