package emulator_test

import (
	"context"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/go-json-experiment/json"
)

// exactCost is the cost by rational arithmetic, as the vendor's page gives it.
func exactCost(prompt, completion int, promptPrice, completionPrice string) *big.Rat {
	sum := new(big.Rat)
	for _, part := range []struct {
		n     int
		price string
	}{{prompt, promptPrice}, {completion, completionPrice}} {
		p, _ := new(big.Rat).SetString(part.price)
		sum.Add(sum, p.Mul(p, new(big.Rat).SetInt64(int64(part.n))))
	}
	return sum
}

func TestCostIsExact(t *testing.T) {
	for _, row := range []struct{ tag, prompt, completion string }{
		{"atlas-cloud/int4", "0.00000049", "0.0000025"},
		{"venice", "0.000000532", "0.000003325"},
		{"amazon-bedrock/us-east-2", "0.0000006", "0.000003"},
	} {
		t.Run(row.tag, func(t *testing.T) {
			s, web := start(t, nil)
			h := chat(t, web, ask("hello", `"provider":{"only":["`+row.tag+`"]},`))
			e := s.Books()[0]
			want := exactCost(len(e.PromptIDs), len(e.CompletionIDs), row.prompt, row.completion)
			got, ok := new(big.Rat).SetString(string(h.usage.Cost))
			if !ok || got.Cmp(want) != 0 {
				t.Errorf("usage.cost %s, want %s", h.usage.Cost, want.FloatString(15))
			}
			pico := new(big.Rat).Mul(want, big.NewRat(1e12, 1))
			up := new(big.Int).Add(pico.Num(), new(big.Int).Sub(pico.Denom(), big.NewInt(1)))
			if up.Quo(up, pico.Denom()); e.Cost != up.Int64() || s.Totals().Spend != e.Cost {
				t.Errorf("books %d, totals %d, want %s", e.Cost, s.Totals().Spend, up)
			}
			if e.ReasoningTokens != h.usage.Details.Reasoning || e.ReasoningTokens == 0 {
				t.Errorf("reasoning tokens: books %d, usage %d", e.ReasoningTokens, h.usage.Details.Reasoning)
			}
		})
	}
}

func TestCostRoundsUp(t *testing.T) {
	catalogue := strings.NewReplacer(`"prompt": "0.00000049"`, `"prompt": "0.0000000000001"`, `"0.0000025"`, `"0.0000000000000000000001"`).Replace(builtIn(t))
	s, web := start(t, func(c *emulator.Config, _ *emulator.Scenario) { c.Catalogue = []byte(catalogue) })
	h := chat(t, web, ask("hello", pinned))
	e := s.Books()[0]
	want := int64(len(e.PromptIDs)+10) / 10 // tenths of a picodollar, and a trifle
	if e.Cost != want {
		t.Errorf("cost %d picodollars for %s dollars, want %d", e.Cost, h.usage.Cost, want)
	}
}

// builtIn returns the built-in catalogue as the server serves it.
func builtIn(t *testing.T) string {
	t.Helper()
	_, web := start(t, nil)
	return strings.ReplaceAll(get(t, web.URL+"/api/v1/models/moonshotai/kimi-k2.5/endpoints"), `":"`, `": "`)
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-or-v1-not-a-real-key-0")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMoneyRunsOut(t *testing.T) {
	for _, row := range []struct {
		name           string
		balance, limit string
		more           string
		status         int
		says           string
	}{
		{"enough", "10", "10", `"max_tokens":100,`, 200, ""},
		{"account empty", "0", "", ``, 402, "Insufficient credits"},
		{"key used up", "10", "0", ``, 403, "Key limit exceeded"},
		{"too large for the account", "0.001", "", `"max_tokens":1000,`, 402, "settings/credits"},
		{"too large for the key", "10", "0.001", `"max_tokens":1000,`, 402, "settings/keys"},
		{"no max_tokens means the endpoint's own", "0.1", "", ``, 402, "up to 262144 tokens"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, web := start(t, func(c *emulator.Config, _ *emulator.Scenario) { c.Balance, c.KeyLimit = row.balance, row.limit })
			h := chat(t, web, ask("hello", pinned+row.more))
			if h.status != row.status || !strings.Contains(h.failed, row.says) {
				t.Errorf("status %d, want %d: %s", h.status, row.status, h.failed)
			}
			if spent := s.Totals().Spend; (spent > 0) != (row.status == 200) {
				t.Errorf("spent %d", spent)
			}
		})
	}
}

func TestBalanceLag(t *testing.T) {
	// Admission that looks at old figures lets requests through after the limit.
	_, web := start(t, func(c *emulator.Config, s *emulator.Scenario) {
		c.KeyLimit = "0.0005"
		s.Account.BalanceLag = time.Hour
	})
	for i := range 5 {
		if h := chat(t, web, ask("hello", pinned+`"max_tokens":150,`)); h.status != 200 {
			t.Errorf("request %d: status %d", i, h.status)
		}
	}
}

func TestKeyShowsUse(t *testing.T) {
	s, web := start(t, func(c *emulator.Config, _ *emulator.Scenario) { c.KeyLimit = "2"; c.ManagementKey = "sk-or-v1-mgmt" })
	chat(t, web, ask("hello", pinned), "Authorization", "Bearer sk-or-v1-not-a-real-key-0")
	var key struct {
		Data struct {
			Label     string  `json:"label"`
			Limit     float64 `json:"limit"`
			Remaining float64 `json:"limit_remaining"`
			Usage     float64 `json:"usage"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(get(t, web.URL+"/api/v1/key")), &key); err != nil {
		t.Fatal(err)
	}
	spent := float64(s.Totals().Spend) / 1e12
	if key.Data.Limit != 2 || key.Data.Usage != spent || key.Data.Remaining != 2-spent || strings.Contains(key.Data.Label, "456789") {
		t.Errorf("%+v after spending %v", key.Data, spent)
	}
	if answer := get(t, web.URL+"/api/v1/credits"); !strings.Contains(answer, `"code":403`) {
		t.Errorf("credits with an inference key: %s", answer)
	}
}

// TestAbort leaves paced streams half-way. Novita stops and charges what was
// written; AtlasCloud goes on and charges everything.
func TestAbort(t *testing.T) {
	for _, row := range []struct {
		tag  string
		full bool
	}{{"novita", false}, {"atlas-cloud/int4", true}} {
		t.Run(row.tag, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, client := bubble(t, func(_ *emulator.Config, s *emulator.Scenario) {
					s.Text.MedianTokens, s.Text.Sigma = 500, 0
					s.Timing.TTFT, s.Timing.TokenRate = time.Second, 50
				})
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
				defer cancel()
				r, err := http.NewRequestWithContext(ctx, "POST", "http://vendor/api/v1/chat/completions",
					strings.NewReader(ask("hello", `"stream":true,"provider":{"only":["`+row.tag+`"]},`)))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer sk-or-v1-test")
				res, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if data, err := io.ReadAll(res.Body); err == nil || len(data) < 1000 {
					t.Fatalf("stream of %d bytes ended with %v", len(data), err)
				}
				synctest.Wait()
				e := s.Books()[0]
				if e.Outcome != emulator.Cancelled || !e.Cancelled || e.SentTokens < 100 || e.SentTokens > 200 {
					t.Errorf("outcome %s after %d tokens, want cancelled after about 150", e.Outcome, e.SentTokens)
				}
				if want := map[bool]int{true: len(e.CompletionIDs), false: e.SentTokens}[row.full]; e.CompletionTokens != want {
					t.Errorf("billed %d tokens of %d, sent %d", e.CompletionTokens, len(e.CompletionIDs), e.SentTokens)
				}
			})
		})
	}
}

func TestCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := bubble(t, func(_ *emulator.Config, s *emulator.Scenario) {
			s.Timing.TTFT = time.Second
			s.Endpoints = map[string]emulator.Limits{"atlas-cloud/int4": {MaxInFlight: 3, RetryAfter: "4"}, "*": {RPM: 2}}
		})
		status := func(tag string) int {
			r, err := http.NewRequestWithContext(t.Context(), "POST", "http://vendor/api/v1/chat/completions",
				strings.NewReader(ask("hello", `"provider":{"only":["`+tag+`"],"allow_fallbacks":false},`)))
			if err != nil {
				t.Error(err)
				return 0
			}
			r.Header.Set("Authorization", "Bearer sk-or-v1-test")
			res, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return 0
			}
			defer res.Body.Close()
			if _, err := io.ReadAll(res.Body); err != nil {
				t.Error(err)
			}
			if hint := res.Header.Get("Retry-After"); res.StatusCode == 429 && (hint == "4") != (tag == "atlas-cloud/int4") {
				t.Errorf("%s: Retry-After %q", tag, hint)
			}
			return res.StatusCode
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		count := map[int]int{}
		for range 10 {
			wg.Go(func() {
				code := status("atlas-cloud/int4")
				mu.Lock()
				count[code]++
				mu.Unlock()
			})
		}
		wg.Wait()
		if count[200] != 3 || count[429] != 7 || s.Totals().MaxInFlight["atlas-cloud/int4"] != 3 {
			t.Errorf("answers %v, at most %d in flight; want 3 of 10 served", count, s.Totals().MaxInFlight["atlas-cloud/int4"])
		}
		for i, want := range []int{200, 200, 429} {
			if got := status("novita"); got != want {
				t.Errorf("request %d of the minute: %d, want %d", i+1, got, want)
			}
		}
		time.Sleep(time.Minute)
		if got := status("novita"); got != 200 {
			t.Errorf("a minute later: %d", got)
		}
	})
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := bubble(t, func(_ *emulator.Config, s *emulator.Scenario) {
			s.Timing.TTFT = 10 * time.Second
			s.Endpoints = map[string]emulator.Limits{"*": {MaxInFlight: 1, Queue: 15 * time.Second}}
		})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { send(t, client, ask("hello", pinned)) })
		}
		wg.Wait()
		// One is served at once, one after ten seconds; the third leaves the queue after fifteen.
		var served, refused []time.Duration
		for _, e := range s.Books() {
			took := e.Ended.Sub(e.Began)
			if e.Status == 200 {
				served = append(served, took)
			} else {
				refused = append(refused, took)
			}
		}
		if len(served) != 2 || served[0] != 10*time.Second || served[1] != 20*time.Second || len(refused) != 1 || refused[0] != 15*time.Second {
			t.Errorf("served after %v, refused after %v", served, refused)
		}
		if n := s.Totals().MaxInFlight["atlas-cloud/int4"]; n != 1 {
			t.Errorf("%d in flight at once", n)
		}
	})
}

func TestTokensPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := bubble(t, func(_ *emulator.Config, s *emulator.Scenario) {
			s.Endpoints = map[string]emulator.Limits{"*": {TPM: 1000}}
		})
		for range 30 {
			send(t, client, ask("hello", pinned+`"max_tokens":100,`))
			time.Sleep(time.Second)
		}
		var tokens, busy int
		for _, e := range s.Books() {
			tokens += e.PromptTokens + e.CompletionTokens
			if e.Status == 429 {
				busy++
			}
		}
		if tokens < 1000 || tokens > 1300 || busy == 0 {
			t.Errorf("%d tokens in half a minute, %d refusals", tokens, busy)
		}
		time.Sleep(time.Minute)
		if got := send(t, client, ask("hello", pinned)).status; got != 200 {
			t.Errorf("a minute later: %d", got)
		}
	})
}

func TestOtherCustomers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := bubble(t, func(_ *emulator.Config, s *emulator.Scenario) {
			s.Endpoints = map[string]emulator.Limits{"*": {MaxInFlight: 2, Others: 3}}
		})
		count := map[int]int{}
		for range 200 {
			count[send(t, client, ask("hello", pinned+`"max_tokens":1,`)).status]++
			time.Sleep(10 * time.Second)
		}
		if count[200] < 40 || count[429] < 40 {
			t.Errorf("answers %v: others should come and go", count)
		}
	})
}
