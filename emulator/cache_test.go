package emulator_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/go-json-experiment/json"
)

func TestPromptCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := bubble(t, func(_ *emulator.Config, s *emulator.Scenario) { s.Cache.Block = 64 })
		body := ask(strings.Repeat("hello ", 100), pinned+`"max_tokens":5,`)
		var cached []int
		var costs []int64
		for range 2 {
			cached = append(cached, send(t, client, body).usage.PromptDetails.Cached)
		}
		time.Sleep(10 * time.Minute)
		cached = append(cached, send(t, client, body).usage.PromptDetails.Cached)
		for _, e := range s.Books() {
			costs = append(costs, e.Cost)
		}
		prompt := len(s.Books()[0].PromptIDs)
		if want := (prompt - 1) / 64 * 64; cached[0] != 0 || cached[1] != want || cached[2] != 0 {
			t.Errorf("cached %v of %d tokens, want 0, %d, 0", cached, prompt, want)
		}
		saved := int64(cached[1]) * (490_000 - 200_000) // picodollars a token
		if costs[1] != costs[0]-saved || s.Books()[1].CachedTokens != cached[1] {
			t.Errorf("costs %v, want %d less for the second", costs, saved)
		}
	})
}

// TestPricesThatDepend bills by the length of the prompt, the time of day and
// what is written to the cache.
func TestPricesThatDepend(t *testing.T) {
	const long, short = 200, 10 // words
	for _, row := range []struct {
		name, pricing     string
		hour, words       int
		block             int
		onTop             bool
		prompt, out, once int64 // picodollars a token, and once for the blocks that are written
	}{
		{"as listed", `{}`, 0, short, 0, false, 490_000, 2_500_000, 0},
		{"a short prompt", `{"overrides":[{"min_prompt_tokens":100,"prompt":"0.000001"}]}`, 0, short, 0, false, 490_000, 2_500_000, 0},
		{"a long prompt", `{"overrides":[{"min_prompt_tokens":100,"prompt":"0.000001"}]}`, 0, long, 0, false, 1_000_000, 2_500_000, 0},
		{"the later one wins", `{"overrides":[{"min_prompt_tokens":100,"prompt":"0.000001"},{"min_prompt_tokens":150,"prompt":"0.000002"}]}`, 0, long, 0, false, 2_000_000, 2_500_000, 0},
		{"within hours", `{"overrides":[{"utc_start":900,"utc_end":1730,"completion":"0.000005"}]}`, 9, short, 0, false, 490_000, 5_000_000, 0},
		{"outside of hours", `{"overrides":[{"utc_start":900,"utc_end":1730,"completion":"0.000005"}]}`, 18, short, 0, false, 490_000, 2_500_000, 0},
		{"within hours past midnight", `{"overrides":[{"utc_start":2200,"utc_end":200,"completion":"0.000005"}]}`, 23, short, 0, false, 490_000, 5_000_000, 0},
		{"until the end of the day", `{"overrides":[{"utc_start":1400,"utc_end":0,"completion":"0.000005"}]}`, 13, short, 0, false, 490_000, 2_500_000, 0},
		{"written in its place", `{"input_cache_write":"0.000001"}`, 0, long, 64, false, 490_000, 2_500_000, 1_000_000 - 490_000},
		{"written on top", `{"input_cache_write":"0.000001"}`, 0, long, 64, true, 490_000, 2_500_000, 1_000_000},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, client := bubble(t, func(_ *emulator.Config, s *emulator.Scenario) {
					s.Cache.Block, s.Cache.WriteOnTop = row.block, row.onTop
					var pricing map[string]any
					if err := json.Unmarshal([]byte(row.pricing), &pricing); err != nil {
						t.Fatal(err)
					}
					s.Drift = []emulator.Change{{Endpoint: "atlas-cloud/int4", Pricing: pricing}}
				})
				time.Sleep(time.Duration(row.hour) * time.Hour)
				got := send(t, client, ask(strings.Repeat("x ", row.words), pinned+`"max_tokens":5,`))
				e := s.Books()[0]
				written := 0
				if row.block > 0 {
					written = (len(e.PromptIDs) - 1) / row.block * row.block
				}
				want := int64(len(e.PromptIDs))*row.prompt + 5*row.out + int64(written)*row.once
				if e.Cost != want || e.WrittenTokens != written || got.usage.PromptDetails.Written != written {
					t.Errorf("cost %d with %d tokens written (%d by the usage), want %d with %d", e.Cost, e.WrittenTokens, got.usage.PromptDetails.Written, want, written)
				}
			})
		})
	}
}

func TestStickiness(t *testing.T) {
	s, web := start(t, nil)
	for i := range 12 {
		chat(t, web, ask(strings.Repeat("x", i), `"session_id":"s1","max_tokens":5,`))
	}
	for _, e := range s.Books() {
		if e.Endpoint != s.Books()[0].Endpoint {
			t.Fatalf("the session moved from %s to %s", s.Books()[0].Endpoint, e.Endpoint)
		}
	}
}

func TestResponseCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := bubble(t, func(*emulator.Config, *emulator.Scenario) {})
		body := ask("hello", pinned)
		on := []string{"X-OpenRouter-Cache", "true", "X-OpenRouter-Cache-TTL", "60"}
		first := send(t, client, body, on...)
		time.Sleep(5 * time.Second)
		second := send(t, client, body, on...)
		if got := first.header.Get("X-OpenRouter-Cache-Status"); got != "MISS" {
			t.Errorf("first: %q", got)
		}
		if second.header.Get("X-OpenRouter-Cache-Status") != "HIT" || second.header.Get("X-OpenRouter-Cache-Age") != "5" ||
			second.header.Get("X-OpenRouter-Cache-Source-Id") != first.id {
			t.Errorf("second: %v", second.header)
		}
		if second.content != first.content || second.id == first.id || second.usage.Completion != 0 || s.Books()[1].Cost != 0 {
			t.Errorf("second: content the same %v, usage %+v, cost %d", second.content == first.content, second.usage, s.Books()[1].Cost)
		}
		time.Sleep(time.Minute)
		if third := send(t, client, body, on...); third.header.Get("X-OpenRouter-Cache-Status") != "MISS" || third.content == first.content {
			t.Error("the answer outlived its time")
		}
		if plain := send(t, client, body); plain.header.Get("X-OpenRouter-Cache-Status") != "" {
			t.Error("the cache works unasked")
		}
	})
}

func TestGenerationLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := bubble(t, func(_ *emulator.Config, s *emulator.Scenario) { s.Generation.Delay = 30 * time.Second })
		h := send(t, client, ask("hello", pinned))
		early := fetch(t, client, "/generation?id="+h.id)
		time.Sleep(30 * time.Second)
		late := fetch(t, client, "/generation?id="+h.id)
		if !strings.Contains(early, `"code":404`) {
			t.Errorf("at once: %s", early)
		}
		if !strings.Contains(late, `"total_cost":`+string(h.usage.Cost)+`,`) || !strings.Contains(late, `"provider_name":"AtlasCloud"`) {
			t.Errorf("cost %s, record %s", h.usage.Cost, late)
		}
	})
}

func TestGenerationFaults(t *testing.T) {
	for _, row := range []struct {
		fault emulator.Fault
		says  string
	}{
		{emulator.Fault{Kind: "generation"}, `"code":404`},
		{emulator.Fault{Kind: "generation", Value: "status", Status: 429}, `"code":429`},
		{emulator.Fault{Kind: "generation", Value: "cost", Factor: 2}, `"total_cost":`},
	} {
		_, web := faulty(t, row.fault)
		h := chat(t, web, ask("hello", pinned))
		got := get(t, web.URL+"/api/v1/generation?id="+h.id)
		if !strings.Contains(got, row.says) || strings.Contains(got, `"total_cost":`+string(h.usage.Cost)+`,`) {
			t.Errorf("%s: %s", row.fault.Value, got)
		}
	}
}
