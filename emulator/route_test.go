package emulator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie/emulator"
)

func TestPinning(t *testing.T) {
	for _, row := range []struct {
		name, provider string
		more           string
		want           []string // tags that may serve; empty: a 404
		says           string
	}{
		{"tag", `"only":["atlas-cloud/int4"]`, "", []string{"atlas-cloud/int4"}, ""},
		{"slug", `"only":["amazon-bedrock"]`, "", []string{"amazon-bedrock/us-east-2"}, ""},
		{"display name", `"only":["amazon bedrock"]`, "", []string{"amazon-bedrock/us-east-2"}, ""},
		{"unknown tag", `"only":["atlas-cloud/fp8"]`, "", nil, "allowed_providers"},
		{"ignore", `"only":["venice","novita"],"ignore":["venice"]`, "", []string{"novita"}, ""},
		{"everything ignored", `"only":["venice"],"ignore":["venice"]`, "", nil, "allowed_providers"},
		{"order without fallbacks", `"order":["novita","venice"],"allow_fallbacks":false`, "", []string{"novita"}, ""},
		{"order of unknowns without fallbacks", `"order":["nobody"],"allow_fallbacks":false`, "", nil, "allowed_providers"},
		{"int4", `"quantizations":["int4"]`, "", []string{"siliconflow/int4", "atlas-cloud/int4"}, ""},
		{"unpublished quantization drops out", `"only":["novita"],"quantizations":["int4"]`, "", nil, "quantization"},
		{"fp4 family", `"quantizations":["fp4"]`, "", []string{"deepinfra/fp4"}, ""},
		{"sort by price", `"sort":"price"`, "", []string{"siliconflow/int4"}, ""},
		{"max price", `"max_price":{"prompt":0.48}`, "", []string{"siliconflow/int4", "deepinfra/fp4"}, ""},
		{"max price as text", `"max_price":{"completion":"2.4"},"only":["novita"]`, "", nil, "max_price"},
		{"seed required", `"require_parameters":true,"only":["siliconflow","atlas-cloud"]`, `"seed":1,`, []string{"atlas-cloud/int4"}, ""},
		{"nobody does parallel_tool_calls", `"require_parameters":true`, `"parallel_tool_calls":true,`, nil, "require_parameters"},
		{"too much output", `"only":["venice"]`, `"max_tokens":65537,`, nil, "context_length"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, web := start(t, nil)
			for i := range 8 {
				h := chat(t, web, ask(fmt.Sprint("hello ", i), row.more+`"provider":{`+row.provider+`},`))
				e := s.Books()[i]
				if len(row.want) == 0 {
					if h.status != 404 || !strings.Contains(h.failed, `"constraint_filtered"`) || !strings.Contains(h.failed, `"`+row.says+`"`) {
						t.Errorf("status %d: %s", h.status, h.failed)
					}
				} else if h.status != 200 || !slices.Contains(row.want, e.Endpoint) {
					t.Errorf("status %d from %s, want one of %v", h.status, e.Endpoint, row.want)
				}
			}
		})
	}
}

// TestPromptsThatAreTooLong: an endpoint that bounds its prompts takes none that
// is longer.
func TestPromptsThatAreTooLong(t *testing.T) {
	for bound, status := range map[int]int{0: 200, 4: 404, 4000: 200} {
		s, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) {
			s.Drift = []emulator.Change{{Endpoint: "venice", Extra: map[string]any{"max_prompt_tokens": bound}}}
		})
		h := chat(t, web, ask("hello", `"provider":{"only":["venice"]},`))
		if h.status != status || status == 404 && !strings.Contains(h.failed, `"context_length"`) {
			t.Errorf("at most %d: status %d, %s, of %d tokens", bound, h.status, h.failed, s.Books()[0].PromptTokens)
		}
	}
}

func TestDefaultRoutingFavoursTheCheap(t *testing.T) {
	s, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) { s.Text.MedianTokens = 8 })
	count := map[string]int{}
	for i := range 150 {
		chat(t, web, ask(fmt.Sprint("hello ", i), `"max_tokens":1,`))
	}
	for _, e := range s.Books() {
		count[e.Endpoint]++
	}
	if len(count) < 5 || count["siliconflow/int4"] <= count["amazon-bedrock/us-east-2"] {
		t.Errorf("endpoints served %v", count)
	}
}

func TestFallback(t *testing.T) {
	for _, row := range []struct {
		fallbacks string
		status    int
		endpoint  string
	}{{"true", 200, "venice"}, {"false", 429, "novita"}} {
		s, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) {
			s.Faults = []emulator.Fault{{Kind: "rate_limit", Endpoints: []string{"novita"}}}
		})
		h := chat(t, web, ask("hello", `"provider":{"order":["novita"],"only":["novita","venice"],"allow_fallbacks":`+row.fallbacks+`},`))
		if e := s.Books()[0]; h.status != row.status || e.Endpoint != row.endpoint {
			t.Errorf("fallbacks %s: status %d from %s", row.fallbacks, h.status, e.Endpoint)
		}
	}
}

func TestDroppedParametersAreRecorded(t *testing.T) {
	s, web := start(t, nil)
	h := chat(t, web, ask("hello", `"provider":{"only":["siliconflow"]},"seed":1,"stop":"x","temperature":1,"stream":true,"debug":{"echo_upstream_body":true},`))
	if got := s.Books()[0].Dropped; !slices.Equal(got, []string{"seed", "stop"}) {
		t.Errorf("dropped %v", got)
	}
	if !strings.Contains(h.raw, `"echo_upstream_body":{"messages"`) || strings.Contains(h.raw, `"seed"`) {
		t.Error("the echoed body is not what went upstream")
	}
}

func TestConditionsOfFaults(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault emulator.Fault
		want  []int // statuses of six requests for three prompts, in turn
	}{
		{"always", emulator.Fault{Kind: "http"}, []int{502, 502, 502, 502, 502, 502}},
		{"requests", emulator.Fault{Kind: "http", Requests: []int{2, 5}}, []int{200, 502, 200, 200, 502, 200}},
		{"attempts", emulator.Fault{Kind: "http", Attempts: 1}, []int{502, 502, 502, 200, 200, 200}},
		{"match", emulator.Fault{Kind: "http", Match: "prompt 1"}, []int{200, 502, 200, 200, 502, 200}},
		{"limit", emulator.Fault{Kind: "http", Limit: 2}, []int{502, 502, 200, 200, 200, 200}},
		{"other endpoint", emulator.Fault{Kind: "http", Endpoints: []string{"venice"}}, []int{200, 200, 200, 200, 200, 200}},
		{"later", emulator.Fault{Kind: "http", From: time.Hour}, []int{200, 200, 200, 200, 200, 200}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, web := faulty(t, row.fault)
			var got []int
			for i := range 6 {
				got = append(got, chat(t, web, ask(fmt.Sprint("prompt ", i%3), pinned)).status)
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("statuses %v, want %v", got, row.want)
			}
		})
	}
}

func TestRateOfFaults(t *testing.T) {
	s, web := faulty(t, emulator.Fault{Kind: "rate_limit", Rate: 0.3})
	for i := range 200 {
		chat(t, web, ask(fmt.Sprint("hello ", i), pinned+`"max_tokens":1,`))
	}
	if n := s.Totals().Faults["rate_limit"]; n < 40 || n > 80 {
		t.Errorf("%d of 200 struck, want about 60", n)
	}
}

func TestDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := bubble(t, func(_ *emulator.Config, s *emulator.Scenario) {
			s.Drift = []emulator.Change{
				{At: time.Minute, Endpoint: "novita", PriceTimes: "1.33"},
				{At: 2 * time.Minute, Endpoint: "atlas-cloud/int4", Remove: true},
				{At: 3 * time.Minute, Endpoint: "venice", Rename: "venice/int4", Quantization: "int3", Status: new(-5), Extra: map[string]any{"surprise": 1}},
				{At: 4 * time.Minute, Model: "moonshotai/kimi-k2.5", Expires: "2026-12-31"},
			}
		})
		status := func(tag string) int {
			return send(t, client, ask("hello", `"max_tokens":5,"provider":{"only":["`+tag+`"]},`)).status
		}
		cost := func() float64 {
			status("novita")
			books := s.Books()
			e := books[len(books)-1]
			return float64(e.Cost)
		}
		before := cost()
		if status("atlas-cloud/int4") != 200 {
			t.Error("AtlasCloud is not there at the start")
		}
		time.Sleep(time.Minute)
		if after := cost(); after < 1.32*before || after > 1.34*before {
			t.Errorf("cost went from %v to %v, want a third more", before, after)
		}
		time.Sleep(time.Minute)
		if got := status("atlas-cloud/int4"); got != 404 {
			t.Errorf("a removed endpoint answers %d", got)
		}
		time.Sleep(time.Minute)
		list := fetch(t, client, "/models/moonshotai/kimi-k2.5/endpoints")
		for _, want := range []string{`"tag":"venice/int4"`, `"quantization":"int3"`, `"surprise":1`, `"status":-5`, `"0.0000007581"`} {
			if !strings.Contains(list, want) {
				t.Errorf("endpoints lack %s", want)
			}
		}
		if strings.Contains(fetch(t, client, "/models"), "2026-12-31") {
			t.Error("the model expires before its time")
		}
		time.Sleep(time.Minute)
		if !strings.Contains(fetch(t, client, "/models"), `"expiration_date":"2026-12-31"`) {
			t.Error("the model does not expire")
		}
	})
}
