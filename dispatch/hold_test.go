package dispatch_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
)

// natural are lengths as answers have them: a few are ten times as long as most.
func natural(median float64) func(rng *rand.Rand, limit int) int {
	return func(rng *rand.Rand, limit int) int {
		return min(limit, 1+int(median*math.Exp(0.6*rng.NormFloat64())))
	}
}

// tight is a run whose work is worth some four times its budget, of which one
// worst case is half a per cent.
func tight(seed uint64, stops bool) *schedule {
	f := tariff{Tag: "one", Prompt: 500_000, Output: 2_500_000, Cached: -1, Stops: stops}
	return &schedule{
		Seed: seed, Tariffs: []tariff{f}, Prompts: 9000, PromptLen: 100, MaxTokens: 4000, Concurrency: 200,
		Patience: 2 * time.Minute, Lives: []life{{Budget: 2 * eyrie.Dollar}},
	}
}

// TestNearTheEndTheMoneyIsUsed: of a budget that is smaller than the work
// hardly anything is left, and no stream is cut on purpose.
func TestNearTheEndTheMoneyIsUsed(t *testing.T) {
	took, seeds := map[dispatch.Hold]time.Duration{}, uint64(3)
	if testing.Short() || raced {
		seeds = 1
	}
	for _, tt := range []struct {
		hold  dispatch.Hold
		least float64
	}{{dispatch.Strict, 0.97}, {dispatch.Expected, 0.99}} {
		for seed := range seeds {
			synctest.Test(t, func(t *testing.T) {
				p := &play{schedule: tight(seed, seed%2 == 0), hold: tt.hold, length: natural(300), ended: map[dispatch.Stop]int{}}
				if err := p.run(t); err != nil {
					t.Fatalf("hold %d, seed %d: %v", tt.hold, seed, err)
				}
				took[tt.hold] += time.Since(p.bank.began)
				used := float64(p.bank.total()) / float64(p.Lives[0].Budget)
				if p.ended[dispatch.BudgetReached] != 1 || used < tt.least {
					t.Errorf("hold %d, seed %d: ended %v with %.4f of the budget used", tt.hold, seed, p.ended, used)
				}
				if p.bank.events["cut"] > 0 {
					t.Errorf("hold %d, seed %d: %d streams were cut on purpose", tt.hold, seed, p.bank.events["cut"])
				}
				t.Logf("hold %d, seed %d: %.4f used in %v, %d whole", tt.hold, seed, used, time.Since(p.bank.began), p.bank.events["whole"])
			})
		}
	}
	if took[dispatch.Expected]*2 > took[dispatch.Strict] {
		t.Errorf("holds of what is expected took %v, of the worst case %v", took[dispatch.Expected], took[dispatch.Strict])
	}
}

// TestAnswersThatGetLongerAreCut: where all lanes stop billing at a cut, the
// limit holds although nothing that was learned is true any more.
func TestAnswersThatGetLongerAreCut(t *testing.T) {
	cut, held := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSchedule(rt)
		for i := range s.Tariffs {
			s.Tariffs[i].Stops = true
		}
		s.Prompts += 100
		turns := rapid.IntRange(0, 400).Draw(rt, "answers get longer after")
		short := rapid.IntRange(1, s.MaxTokens).Draw(rt, "length before")
		n := 0
		p := &play{schedule: s, hold: dispatch.Expected, ended: map[dispatch.Stop]int{}, length: func(rng *rand.Rand, limit int) int {
			if n++; n < turns {
				return 1 + rng.IntN(short)
			}
			return limit - rng.IntN(limit/2)
		}}
		var err error
		synctest.Test(t, func(t *testing.T) { err = p.run(t) })
		if err != nil {
			rt.Fatal(err)
		}
		for _, r := range p.disk {
			switch r := r.(type) {
			case *eyrie.EndedRecord:
				if r.Class == "cut for the budget" {
					cut++
				}
			case *eyrie.StartedRecord:
				held++
			}
		}
	})
	t.Logf("%d of %d streams were cut", cut, held)
}

// TestACutCostsTheCheapest: where something must be cut, it is what has cost
// least, and the others come whole.
func TestACutCostsTheCheapest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &play{schedule: tight(1, true), hold: dispatch.Expected, ended: map[dispatch.Stop]int{}}
		n := 0
		p.length = func(rng *rand.Rand, limit int) int {
			if n++; n < 1000 {
				return 100
			}
			return limit
		}
		if err := p.run(t); err != nil {
			t.Fatal(err)
		}
		var cut, whole []eyrie.Money
		for _, r := range p.disk {
			if e, ok := r.(*eyrie.EndedRecord); ok && e.Class == "cut for the budget" {
				cut = append(cut, e.Hold)
			} else if ok && e.OK && e.Usage.CompletionTokens > 100 {
				whole = append(whole, e.Cost)
			}
		}
		if len(cut) == 0 || len(whole) == 0 || slices.Max(cut) > slices.Min(whole) {
			t.Fatalf("cut at %v; whole for %v", cut, whole)
		}
		t.Logf("%d cut at %v to %v, %d whole", len(cut), slices.Min(cut), slices.Max(cut), len(whole))
	})
}
