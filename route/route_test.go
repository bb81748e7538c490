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
		{"one full, the other too dear", []route.Candidate{{cheap, 0, 10}, {dear, 1, 101}}, 100, nil, -1, route.Full},
		{"one too dear, the other full", []route.Candidate{{dear, 1, 101}, {cheap, 0, 10}}, 100, nil, -1, route.Full},
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
		{Tag: "a fee", PromptPrice: price(t, "0"), OutputPrice: price(t, "0"), RequestPrice: price(t, "0.01")},
		{Tag: "reasoning counts as the answer", PromptPrice: price(t, "0.0000006"), OutputPrice: price(t, "0.000001"), ReasoningPrice: price(t, "0.0000021")},
	}
	route.ByPrice(lanes)
	var got []string
	for _, l := range lanes {
		got = append(got, l.Tag)
	}
	want := []string{"free", "cheaper", "reasoning counts as the answer", "a", "b", "prompt counts a quarter", "output counts most", "a fee"}
	if !slices.Equal(got, want) {
		t.Errorf("sorted as %q, want %q", got, want)
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
