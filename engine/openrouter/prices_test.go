package openrouter_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// TestPricesThatDepend buys on a lane whose prices depend on the prompt, the
// hour and what is written to a cache, and that charges for the request itself
// and for reasoning in its own way. What comes is explained by the list, and never
// more than the worst case.
func TestPricesThatDepend(t *testing.T) {
	for _, onTop := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, func(s *emulator.Scenario, _ *openrouter.Config) {
				s.Cache = emulator.Cache{Block: 32, Window: time.Hour, WriteOnTop: onTop}
				s.Timing.TokenRate = 1 // so that some answers begin in one hour and end in the next
				s.Drift = []emulator.Change{{Endpoint: atlas, Pricing: map[string]any{
					"input_cache_write": "0.0000006", "request": "0.0001", "internal_reasoning": "0.0000035",
					"overrides": []any{
						map[string]any{"utc_start": 100, "utc_end": 200, "prompt": "0.000001", "completion": "0.000005"},
						map[string]any{"min_prompt_tokens": 500, "prompt": "0.000002", "input_cache_write": "0.000003", "request": "0.0003"},
					},
				}}}
			})
			lane := w.lanes[atlas]
			if lane.Closed != "" {
				t.Fatal(lane.Closed)
			}
			costs := map[eyrie.Money]bool{}
			for n := range 24 {
				r := request(lane)
				r.Sampling.MaxTokens, r.Sampling.Thinking = 400, n%2 == 0
				r.Generation.Messages[0].Content = strings.Repeat("why ", []int{5, 50, 400}[n%3])
				h := ask(t, t.Context(), w.client, r)
				if h.err != nil {
					t.Fatalf("request %d: %v", n, h.err)
				}
				e := w.Books()[n]
				if truth := eyrie.Money(e.Cost); h.Cost != truth || truth > lane.WorstCase(len(e.PromptIDs), 400) {
					t.Errorf("request %d cost %s, the books say %s, at worst %s", n, h.Cost, truth, lane.WorstCase(len(e.PromptIDs), 400))
				}
				costs[h.Cost*1000/eyrie.Money(len(e.CompletionIDs))] = true
				time.Sleep(2 * time.Minute)
			}
			if len(costs) < 10 {
				t.Errorf("only %d different costs", len(costs))
			}
		})
	}
}

// TestMaxPriceOfLongPrompts: what the list makes too dear for a prompt, or at an
// hour, is not asked for.
func TestMaxPriceOfLongPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := emulator.DefaultScenario()
		s.Drift = []emulator.Change{{Endpoint: atlas, Pricing: map[string]any{"overrides": []any{
			map[string]any{"utc_start": 100, "utc_end": 200, "completion": "0.000005"},
			map[string]any{"min_prompt_tokens": 500, "prompt": "0.000002"},
			map[string]any{"min_prompt_tokens": 400, "request": "0.011"},
			map[string]any{"min_prompt_tokens": 300, "utc_start": 100, "utc_end": 200, "request": "0.01"},
		}}}}
		vendor, err := emulator.New(emulator.Config{Vocabulary: vocabulary(), Scenario: &s})
		if err != nil {
			t.Fatal(err)
		}
		c, _ := serve(t, vendor, func(c *openrouter.Config) {
			c.MaxPrompt, c.MaxOutput, c.MaxRequest = eyrie.Dollar/2, 3*eyrie.Dollar, eyrie.Dollar/100
		})
		cat, err := c.Endpoints(t.Context(), model)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct {
			prompt int
			after  time.Duration
			says   string
		}{
			{399, 0, ""},
			{400, 0, "a request costs $0.011 by itself for a prompt of 400 tokens"},
			{500, 0, "a million prompt tokens cost $2.00"},
			{399, time.Hour, "a million completion tokens cost $5.00"},
			{399, time.Hour, ""},
		} {
			time.Sleep(row.after)
			for _, l := range cat.Lanes {
				if l.Tag != atlas {
					continue
				}
				r := request(l)
				r.Generation.PromptTokens = row.prompt
				before := len(vendor.Books())
				h := ask(t, t.Context(), c, r)
				if row.says == "" {
					if h.err != nil {
						t.Errorf("%+v: %v", row, h.err)
					}
					continue
				}
				if h.class() != "max_price" || h.kind() != elsewhere || h.charged() != no || !strings.Contains(h.err.Error(), row.says) || len(vendor.Books()) != before {
					t.Errorf("%+v: %v, charged %v", row, h.err, h.charged())
				}
			}
		}
	})
}
