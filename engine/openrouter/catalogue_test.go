package openrouter_test

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/route"
)

// reference opens a file of the reference data, or skips the test.
func reference(t testing.TB, elem ...string) *os.File {
	t.Helper()
	path := filepath.Join(append([]string{cmp.Or(os.Getenv("EYRIE_SHARED"), filepath.Join("..", "..", "..", "shared"))}, elem...)...)
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("reference data absent (set EYRIE_SHARED to its folder): %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// endpoints makes a document of endpoints from the members that differ.
func endpoints(rows ...string) []byte {
	for i, r := range rows {
		rows[i] = `{"name":"AtlasCloud | moonshotai/kimi-k2.5-0127","provider_name":"AtlasCloud",` + r + `}`
	}
	return []byte(`{"data":{"id":"moonshotai/kimi-k2.5","endpoints":[` + strings.Join(rows, ",") + `]}}`)
}

const plainPrices = `"pricing":{"prompt":"0.00000049","completion":"0.0000025"}`

// TestParsePrices reads the ways prices are written, and closes a lane whose
// price it cannot compute, saying why.
func TestParsePrices(t *testing.T) {
	for _, row := range []struct{ name, pricing, prompt, output, cached, closed string }{
		{"strings", `{"prompt":"0.00000049","completion":"0.0000025","input_cache_read":"0.0000002","discount":0}`, "0.00000049", "0.0000025", "0.0000002", ""},
		{"numbers", `{"prompt":4.9e-7,"completion":0.0000025}`, "0.00000049", "0.0000025", "?", ""},
		{"free", `{"prompt":"0","completion":"0"}`, "0", "0", "?", ""},
		{"zero fees", `{"prompt":"1","completion":"2","request":"0","input_cache_write":"0","internal_reasoning":0}`, "1", "2", "?", ""},
		{"null fees", `{"prompt":"1","completion":"2","request":null,"input_cache_read":null,"overrides":null}`, "1", "2", "?", ""},
		{"fees that no text request meets", `{"prompt":"1","completion":"2","image":"0.1","web_search":"0.01","audio":"3"}`, "1", "2", "?", ""},
		{"a fee nobody knows", `{"prompt":"1","completion":"2","moon_tax":"0"}`, "1", "2", "?", ""},
		{"reasoning at the price of a completion", `{"prompt":"1","completion":"2","internal_reasoning":"2.0"}`, "1", "2", "?", ""},
		{"reasoning at another", `{"prompt":"1","completion":"2","internal_reasoning":"3"}`, "1", "2", "?", ""},
		{"reasoning at a word", `{"prompt":"1","completion":"2","internal_reasoning":"dear"}`, "?", "?", "?", "internal_reasoning"},
		{"a fee per request", `{"prompt":"1","completion":"2","request":"0.01"}`, "1", "2", "?", ""},
		{"a broken fee", `{"prompt":"1","completion":"2","request":"-0.01"}`, "?", "?", "?", "request"},
		{"a broken fee in a tier", `{"prompt":"1","completion":"2","overrides":[{"min_prompt_tokens":1,"request":"x"}]}`, "?", "?", "?", "request"},
		{"a price of cache writes", `{"prompt":"1","completion":"2","input_cache_write":"0.01","input_cache_write_1h":"0.02"}`, "1", "2", "?", ""},
		{"a broken price of cache writes", `{"prompt":"1","completion":"2","input_cache_write_1h":"x"}`, "?", "?", "?", "input_cache_write_1h"},
		{"below zero", `{"prompt":"-1","completion":"-1"}`, "?", "?", "?", "negative"},
		{"a word", `{"prompt":"cheap","completion":"2"}`, "?", "?", "?", "cheap"},
		{"empty", `{"prompt":"","completion":"2"}`, "?", "?", "?", "price"},
		{"null", `{"prompt":null,"completion":null}`, "?", "?", "?", "names no price"},
		{"an object", `{"prompt":{"usd":1},"completion":"2"}`, "?", "?", "?", "prompt"},
		{"no completion", `{"prompt":"1"}`, "?", "?", "?", "names no price"},
		{"a broken cache price", `{"prompt":"1","completion":"2","input_cache_read":"-"}`, "?", "?", "?", "input_cache_read"},
		{"no list", `"soon"`, "?", "?", "?", "names no price"},
		{"tiers", `{"prompt":"1","completion":"2","overrides":[{"min_prompt_tokens":1000,"prompt":"3"}]}`, "1", "2", "?", ""},
		{"no tiers", `{"prompt":"1","completion":"2","overrides":[]}`, "1", "2", "?", ""},
		{"tiers by the clock", `{"prompt":"1","completion":"2","overrides":[{"utc_start":0,"utc_end":830,"prompt":"0.5"}]}`, "1", "2", "?", ""},
		{"tiers by another clock", `{"prompt":"1","completion":"2","overrides":[{"utc_start":"00:00","utc_end":"08:00","prompt":"0.5"}]}`, "?", "?", "?", "no times of day"},
		{"tiers at no time", `{"prompt":"1","completion":"2","overrides":[{"utc_start":875,"utc_end":900,"prompt":"0.5"}]}`, "?", "?", "?", "no times of day"},
		{"tiers without an end", `{"prompt":"1","completion":"2","overrides":[{"utc_start":800,"prompt":"0.5"}]}`, "?", "?", "?", "no times of day"},
		{"tiers by the weekday", `{"prompt":"1","completion":"2","overrides":[{"weekday":1,"prompt":"0.5"}]}`, "?", "?", "?", "depends on weekday"},
		{"tiers from a word on", `{"prompt":"1","completion":"2","overrides":[{"min_prompt_tokens":"many","prompt":"0.5"}]}`, "?", "?", "?", "begins at"},
		{"tiers without a condition", `{"prompt":"1","completion":"2","overrides":[{"prompt":"3"}]}`, "?", "?", "?", "neither a length of prompt nor hours"},
		{"tiers with a broken price", `{"prompt":"1","completion":"2","overrides":[{"min_prompt_tokens":1,"completion":"x"}]}`, "?", "?", "?", "completion"},
		{"tiers that are no list", `{"prompt":"1","completion":"2","overrides":{"a":1}}`, "?", "?", "?", "overrides"},
	} {
		t.Run(row.name, func(t *testing.T) {
			cat, err := openrouter.ParseEndpoints(endpoints(`"tag":"atlas-cloud/int4","quantization":"int4","pricing":` + row.pricing))
			if err != nil {
				t.Fatal(err)
			}
			l := cat.Lanes[0]
			if l.PromptPrice.String() != row.prompt || l.OutputPrice.String() != row.output || l.CachedPrice.String() != row.cached {
				t.Errorf("prices %s, %s, %s; want %s, %s, %s", l.PromptPrice, l.OutputPrice, l.CachedPrice, row.prompt, row.output, row.cached)
			}
			if (l.Closed == "") != (row.closed == "") || !strings.Contains(l.Closed, row.closed) {
				t.Errorf("closed because %q, want %q", l.Closed, row.closed)
			}
			if v := new(route.Policy).Judge(cat.Lanes)[0]; v.Allowed != (row.closed == "") {
				t.Errorf("allowed is %v: %s", v.Allowed, v.Reason)
			}
		})
	}
}

// TestTiers prices requests by the length of their prompt.
func TestTiers(t *testing.T) {
	cat, err := openrouter.ParseEndpoints(endpoints(`"tag":"a/int4","max_completion_tokens":100,"pricing":{"prompt":"1","completion":"2","input_cache_read":"0.5",
		"overrides":[{"min_prompt_tokens":1000,"prompt":"3","completion":"4"},{"min_prompt_tokens":2000,"prompt":"2","audio":"9"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	l := cat.Lanes[0]
	for _, row := range []struct {
		prompt, cached, out int
		cost, worst         eyrie.Money // in dollars
	}{
		{999, 0, 10, 999 + 20, 999 + 20},
		{999, 99, 10, 900 + 50 + 20, 999 + 20}, // the cost rounds 49.5 up
		{1000, 0, 10, 3000 + 40, 3000 + 40},
		{1999, 0, 10, 3*1999 + 40, 3*1999 + 40},
		{2000, 0, 10, 2*2000 + 40, 3*2000 + 40}, // a prompt a little shorter than it was taken to be costs more
	} {
		cost := l.Cost(eyrie.Usage{PromptTokens: row.prompt, CachedTokens: row.cached, CompletionTokens: row.out})
		if up := (cost + eyrie.Dollar - 1) / eyrie.Dollar; up != row.cost {
			t.Errorf("%d tokens, %d cached, and %d: %s, want $%d", row.prompt, row.cached, row.out, cost, row.cost)
		}
		if worst := l.WorstCase(row.prompt, row.out); worst != row.worst*eyrie.Dollar {
			t.Errorf("at worst %d tokens and %d: %s, want $%d", row.prompt, row.out, worst, row.worst)
		}
	}
}

// TestFeesAndReasoning prices requests that cost something by themselves, and
// completions of which a part is reasoning at a price of its own.
func TestFeesAndReasoning(t *testing.T) {
	for _, row := range []struct {
		name, pricing              string
		prompt, out, reasoning     int
		least, most, cost, atWorst eyrie.Money // in dollars
	}{
		{"a fee", `"prompt":"1","completion":"2","request":"7"`, 10, 5, 3, 27, 27, 27, 27},
		{"reasoning is dearer", `"prompt":"1","completion":"2","internal_reasoning":"3"`, 10, 5, 3, 23, 23, 23, 25},
		{"reasoning is cheaper", `"prompt":"1","completion":"2","internal_reasoning":"1"`, 10, 5, 3, 17, 17, 17, 20},
		{"reasoning is not counted", `"prompt":"1","completion":"2","internal_reasoning":"3"`, 10, 5, -1, 20, 25, 20, 25},
		{"more reasoning than there is", `"prompt":"1","completion":"2","internal_reasoning":"3"`, 10, 5, 9, 25, 25, 25, 25},
		{"reasoning that is listed at the completion's price goes with it", `"prompt":"1","completion":"2","internal_reasoning":"2","overrides":[{"min_prompt_tokens":10,"completion":"4"}]`, 10, 5, 3, 30, 30, 30, 30},
		{"reasoning that is listed as nothing, too", `"prompt":"1","completion":"2","internal_reasoning":"0","overrides":[{"min_prompt_tokens":10,"completion":"4"}]`, 10, 5, 3, 30, 30, 30, 30},
		{"reasoning of its own price keeps it", `"prompt":"1","completion":"2","internal_reasoning":"3","overrides":[{"min_prompt_tokens":10,"completion":"4"}]`, 10, 5, 3, 27, 27, 27, 30},
		{"a tier with both", `"prompt":"1","completion":"2","overrides":[{"min_prompt_tokens":10,"internal_reasoning":"6","request":"8"}]`, 10, 5, 3, 40, 40, 40, 48},
		{"a tier that ends the price of reasoning", `"prompt":"1","completion":"2","internal_reasoning":"3","overrides":[{"min_prompt_tokens":10,"internal_reasoning":"2"}]`, 10, 5, 3, 20, 20, 20, 25},
	} {
		cat, err := openrouter.ParseEndpoints(endpoints(`"tag":"a/int4","pricing":{` + row.pricing + `}`))
		if err != nil {
			t.Fatal(err)
		}
		l, u := cat.Lanes[0], eyrie.Usage{Given: true, PromptTokens: row.prompt, CompletionTokens: row.out, ReasoningTokens: row.reasoning}
		least, most := l.Bounds(u, 0, time.Now(), time.Now())
		if cost, worst := l.Cost(u), l.WorstCase(row.prompt, row.out); least != row.least*eyrie.Dollar || most != row.most*eyrie.Dollar ||
			cost != row.cost*eyrie.Dollar || worst != row.atWorst*eyrie.Dollar || l.Free() {
			t.Errorf("%s: %s to %s, %s, at worst %s; free %v", row.name, least, most, cost, worst, l.Free())
		}
	}
}

// TestLongestPrompt is bounded by the endpoint's context and by its own bound.
func TestLongestPrompt(t *testing.T) {
	for row, want := range map[string]int{
		`"context_length":1000`:                            999,
		`"context_length":1000,"max_prompt_tokens":null`:   999,
		`"context_length":1000,"max_prompt_tokens":600`:    600,
		`"context_length":1000,"max_prompt_tokens":"600"`:  600,
		`"context_length":1000,"max_prompt_tokens":2000`:   999,
		`"context_length":1000,"max_prompt_tokens":-5`:     999,
		`"context_length":1000,"max_prompt_tokens":"many"`: 999,
		`"max_prompt_tokens":600`:                          600,
		`"context_length":null`:                            math.MaxInt,
	} {
		cat, err := openrouter.ParseEndpoints(endpoints(`"tag":"a/int4",` + row + "," + plainPrices))
		if err != nil || cat.Lanes[0].LongestPrompt(400) != want {
			t.Errorf("%s: %d, %v; want %d", row, cat.Lanes[0].LongestPrompt(400), err, want)
		}
	}
	own := &eyrie.Lane{Context: 1000, Reserves: true}
	if got := own.LongestPrompt(400); got != 600 {
		t.Errorf("where room is kept for the answer: %d", got)
	}
}

// TestFreeLanes are those that never charge anything.
func TestFreeLanes(t *testing.T) {
	for pricing, want := range map[string]bool{
		`"prompt":"0","completion":"0"`: true,
		`"prompt":"0","completion":"0","request":"0","overrides":[{"min_prompt_tokens":9,"prompt":"0"}]`: true,
		`"prompt":"0","completion":"0","request":"0.01"`:                                                 false,
		`"prompt":"0","completion":"0","internal_reasoning":"0.01"`:                                      false,
		`"prompt":"0","completion":"0","input_cache_write":"0.01"`:                                       false,
		`"prompt":"0","completion":"0","input_cache_read":"0.01"`:                                        false,
		`"prompt":"0","completion":"0","overrides":[{"min_prompt_tokens":90000,"prompt":"0.01"}]`:        false,
		`"prompt":"0","completion":"x"`:                                                                  false,
	} {
		cat, err := openrouter.ParseEndpoints(endpoints(`"tag":"a/int4","pricing":{` + pricing + `}`))
		if err != nil || cat.Lanes[0].Free() != want {
			t.Errorf("%s: free is %v, %v", pricing, cat.Lanes[0].Free(), err)
		}
	}
}

// TestP80P82P86ParseEndpoints reads what may stand beside the prices: labels
// that the tag says nothing of, words and members that nobody knows.
func TestP80P82P86ParseEndpoints(t *testing.T) {
	cat, err := openrouter.ParseEndpoints(endpoints(
		`"tag":"new/thing","quantization":"nvfp2","status":"sleepy","context_length":262144.0,"max_completion_tokens":null,"supported_parameters":null,"novelty":[{}],`+plainPrices,
		`"tag":"a","quantization":null,"status":-5,"context_length":"4096","max_completion_tokens":1024,"supported_parameters":["seed"],`+plainPrices,
		`"tag":"fireworks","quantization":"fp8",`+plainPrices,
		`"tag":"fireworks/us","quantization":"fp8","pricing":{"prompt":"0.0000004","completion":"0.0000025"}`,
		`"tag":"vertex","quantization":"fp8",`+plainPrices,
		`"tag":"vertex/east","quantization":"fp8",`+plainPrices,
		`"tag":"vertex/flex","quantization":"fp8","pricing":{"prompt":"0.0000001","completion":"0.000001"}`,
		`"tag":"vertex/fast","quantization":"fp8","pricing":{"prompt":"0.000001","completion":"0.000005"}`,
		`"tag":"deepinfra","quantization":"bf16",`+plainPrices,
		`"tag":"deepinfra/fp4","quantization":"fp4",`+plainPrices,
		`"tag":"twin/x",`+plainPrices,
		`"tag":"twin/x",`+plainPrices,
		plainPrices,
		`"tag":"siliconflow/int4","context_length":-1,"max_completion_tokens":"many","supported_parameters":"all",`+plainPrices,
	))
	if err != nil {
		t.Fatal(err)
	}
	if cat.Model != model || cat.Canonical != "moonshotai/kimi-k2.5-0127" || len(cat.Lanes) != 14 {
		t.Fatalf("model %q, canonical %q, %d lanes", cat.Model, cat.Canonical, len(cat.Lanes))
	}
	for i, want := range []struct {
		tag, quantization   string
		context, maxOutput  int
		parameters, closing string
		overruns            bool
	}{
		{"new/thing", "nvfp2", 262144, 0, "[]", "", false},
		{"a", "unknown", 4096, 1024, "[seed]", "", false},
		{"fireworks", "fp8", 0, 0, "[]", "also admits fireworks/us", false},
		{"fireworks/us", "fp8", 0, 0, "[]", "", false},
		{"vertex", "fp8", 0, 0, "[]", "", false},
		{"vertex/east", "fp8", 0, 0, "[]", "", false},
		{"vertex/flex", "fp8", 0, 0, "[]", "", false},
		{"vertex/fast", "fp8", 0, 0, "[]", "", false},
		{"deepinfra", "bf16", 0, 0, "[]", "", false},
		{"deepinfra/fp4", "fp4", 0, 0, "[]", "", false},
		{"twin/x", "unknown", 0, 0, "[]", "also admits twin/x", false},
		{"twin/x", "unknown", 0, 0, "[]", "also admits twin/x", false},
		{"", "unknown", 0, 0, "[]", "no tag", false},
		{"siliconflow/int4", "unknown", 0, 0, "[]", "", true},
	} {
		l := cat.Lanes[i]
		if l.Tag != want.tag || l.Quantization != want.quantization || l.Context != want.context || l.MaxOutput != want.maxOutput ||
			fmt.Sprint(l.Parameters) != want.parameters || l.Overruns != want.overruns {
			t.Errorf("lane %d is %+v, want %+v", i, l, want)
		}
		if (l.Closed == "") != (want.closing == "") || !strings.Contains(l.Closed, want.closing) {
			t.Errorf("lane %s is closed because %q, want %q", l.Tag, l.Closed, want.closing)
		}
	}
	for _, bad := range []string{"", "[]", "{}", `{"data":{}}`, `{"data":{"id":"a/b","endpoints":[7]}}`, `{"data":{"id":"a/b"`} {
		if _, err := openrouter.ParseEndpoints([]byte(bad)); err == nil {
			t.Errorf("%q passed for a list of endpoints", bad)
		}
	}
}

// TestRealCatalogues reads every list of endpoints of the reference data.
func TestRealCatalogues(t *testing.T) {
	z, err := gzip.NewReader(reference(t, "openrouter", "data", "openrouter-snapshot-2026-08-22T230119Z.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	var dump struct {
		Endpoints map[string]jsontext.Value `json:"endpoints"`
	}
	if err := json.UnmarshalRead(z, &dump); err != nil {
		t.Fatal(err)
	}
	lanes, tiered := 0, 0
	closed := map[string]int{}
	for id, doc := range dump.Endpoints {
		cat, err := openrouter.ParseEndpoints(doc)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		for _, l := range cat.Lanes {
			lanes++
			if l.Tiers != nil {
				tiered++
			}
			if l.Closed == "" != (l.PromptPrice.Known() && l.OutputPrice.Known()) {
				t.Errorf("%s %s: closed because %q with prices %s, %s", id, l.Tag, l.Closed, l.PromptPrice, l.OutputPrice)
			}
			if l.Closed != "" {
				why, _, _ := strings.Cut(l.Closed, " (")
				why, _, _ = strings.Cut(why, " admits")
				closed[why]++
			}
		}
	}
	t.Logf("%d lanes, %d with tiers, closed: %v", lanes, tiered, closed)
	if lanes != 1204 {
		t.Errorf("%d lanes, want 1204", lanes)
	}
}

// TestEndpoints reads the list over the wire, and its failures.
func TestEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		if l := w.lanes[atlas]; l == nil || l.Provider != "AtlasCloud" || l.PromptPrice.String() != "0.00000049" || l.Closed != "" {
			t.Errorf("the lane is %+v", l)
		}
		if l := w.lanes["siliconflow/int4"]; l == nil || !l.Overruns {
			t.Errorf("the lane that overruns is %+v", l)
		}
		if _, err := w.client.Endpoints(t.Context(), "kimi"); err == nil || !strings.Contains(err.Error(), "author/slug") {
			t.Errorf("a model without an author: %v", err)
		}
		if _, err := w.client.Endpoints(t.Context(), "nobody/knows"); err == nil {
			t.Error("a model that is not there was found")
		}
	})
}

// TestDrift holds that a price that rose is refused, by the ceiling that a
// request carries, before it costs anything, and that a lower one is noticed.
func TestDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		dear := *w.lanes[atlas]
		dear.OutputPrice, _ = eyrie.ParsePrice("0.0000024") // as it was before
		if h := ask(t, t.Context(), w.client, request(&dear)); h.class() != "404" || h.charged() != no || !strings.Contains(h.err.Error(), "max_price") {
			t.Errorf("%v, charged %v", h.err, h.charged())
		}
	})
}
