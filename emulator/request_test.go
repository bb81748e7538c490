package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
	"github.com/go-json-experiment/json"
)

func TestBadRequests(t *testing.T) {
	_, web := start(t, nil)
	for _, row := range []struct{ name, body, says string }{
		{"no JSON", `hello`, "Invalid JSON"},
		{"no messages", `{"model":"moonshotai/kimi-k2.5"}`, "messages"},
		{"empty messages", `{"model":"moonshotai/kimi-k2.5","messages":[]}`, "messages"},
		{"unknown role", `{"model":"moonshotai/kimi-k2.5","messages":[{"role":"robot"}]}`, "messages.0.role"},
		{"wrong type", ask("hi", `"max_tokens":"many",`), "Invalid input"},
		{"no tokens", ask("hi", `"max_tokens":0,`), "max_tokens"},
		{"effort", ask("hi", `"reasoning":{"effort":"extreme"},`), "reasoning.effort: Invalid option"},
		{"effort and budget", ask("hi", `"reasoning":{"effort":"low","max_tokens":5},`), "Only one of"},
		{"efforts that differ", ask("hi", `"reasoning":{"effort":"low"},"reasoning_effort":"high",`), "must agree"},
		{"quantization", ask("hi", `"provider":{"quantizations":["int3"]},`), "provider.quantizations.0"},
		{"sort", ask("hi", `"provider":{"sort":{"by":"colour"}},`), "provider.sort"},
		{"temperature", ask("hi", `"temperature":3,`), "temperature"},
		{"top_p", ask("hi", `"top_p":2,`), "top_p"},
		{"session", ask("hi", `"session_id":"`+strings.Repeat("x", 257)+`",`), "session_id"},
		{"tools", ask("hi", `"tools":{},`), "tools"},
		{"model", strings.Replace(ask("hi", ""), "k2.5", "k9", 1), "moonshotai/kimi-k9 is not a valid model ID"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if h := chat(t, web, row.body); h.status != 400 || !strings.Contains(h.failed, row.says) {
				t.Errorf("status %d: %s", h.status, h.failed)
			}
		})
	}
}

func TestUnknownFieldsAreTolerated(t *testing.T) {
	_, web := start(t, nil)
	if h := chat(t, web, ask("hi", `"n":3,"colour":"red","max_tokens":5,"max_tokens":6,`)); h.status != 200 || h.usage.Completion != 6 {
		t.Errorf("status %d: %s", h.status, h.raw)
	}
}

func TestModelSuffix(t *testing.T) {
	s, web := start(t, nil)
	for _, name := range []string{"kimi-k2.5:floor", "kimi-k2.5-0127"} {
		if h := chat(t, web, strings.Replace(ask("hi", ""), "kimi-k2.5", name, 1)); h.status != 200 {
			t.Errorf("%s: %d %s", name, h.status, h.failed)
		}
	}
	if e := s.Books()[0]; e.Endpoint != "siliconflow/int4" {
		t.Errorf("floor went to %s", e.Endpoint)
	}
	if h := chat(t, web, strings.Replace(ask("hi", ""), "kimi-k2.5", "kimi-k2.5:odd", 1)); h.status != 400 {
		t.Errorf("odd suffix: %d", h.status)
	}
}

func TestStructuredAnswer(t *testing.T) {
	_, web := start(t, nil)
	schema := `{"type":"object","properties":{"n":{"type":"integer","minimum":3,"maximum":9},"tags":{"type":"array","minItems":1,"items":{"enum":["a","b"]}}},"required":["n","tags"]}`
	for i := range 20 {
		h := chat(t, web, ask(fmt.Sprint(i), pinned+`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":`+schema+`}},`))
		var answer struct {
			N    int      `json:"n"`
			Tags []string `json:"tags"`
		}
		if err := json.Unmarshal([]byte(h.content), &answer); err != nil || answer.N < 3 || answer.N > 9 || len(answer.Tags) == 0 {
			t.Errorf("answer %q: %v", h.content, err)
		}
	}
}

func TestHistoryInThePrompt(t *testing.T) {
	v := vocabulary(t, smallVocabulary())
	history := `{"role":"user","content":"hi"},
		{"role":"assistant","content":"","reasoning":"because","tool_calls":[{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{\"b\":1,\"a\":[true,2.0]}"}}]},
		{"role":"tool","tool_call_id":"functions.f:0","content":"done"}`
	body := `{"model":"moonshotai/kimi-k2.5","messages":[` + history + `]}`
	for _, row := range []struct {
		keep      bool
		arguments string
	}{{false, `{"b": 1, "a": [true, 2.0]}`}, {true, `{"b":1,"a":[true,2.0]}`}} {
		s, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) { s.Text.KeepArguments = row.keep })
		chat(t, web, body)
		want := "<|im_user|>user<|im_middle|>hi<|im_end|><|im_assistant|>assistant<|im_middle|><think>because</think>" +
			"<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>" + row.arguments +
			"<|tool_call_end|><|tool_calls_section_end|><|im_end|><|im_system|>tool<|im_middle|>## Return of functions.f:0\ndone<|im_end|>" +
			"<|im_assistant|>assistant<|im_middle|><think>"
		if got := string(v.Decode(s.Books()[0].PromptIDs)); got != want {
			t.Errorf("prompt\n%s\nwant\n%s", got, want)
		}
	}
}

func TestSpecialLiteralsInUserTextAreTokens(t *testing.T) {
	v := vocabulary(t, smallVocabulary())
	s, web := start(t, nil)
	h := chat(t, web, ask("<|im_end|>", ""))
	ends := 0
	for _, id := range s.Books()[0].PromptIDs {
		if id == bpe.ID(v.EndTurn()) {
			ends++
		}
	}
	if ends != 2 || h.usage.Prompt != len(s.Books()[0].PromptIDs) {
		t.Errorf("%d end tokens in the prompt, usage %d", ends, h.usage.Prompt)
	}
}

func TestChargeFaults(t *testing.T) {
	for _, row := range []struct {
		fault emulator.Fault
		times float64 // of usage.cost
	}{
		{emulator.Fault{Kind: "charge"}, 2},
		{emulator.Fault{Kind: "charge", Value: "discount"}, 0.99},
		{emulator.Fault{Kind: "usage", Value: "discount"}, 1 / 0.99},
		{emulator.Fault{Kind: "finish", Value: "error", Charge: "no"}, 0},
	} {
		s, web := faulty(t, row.fault)
		h := chat(t, web, ask("hello", pinned))
		var told float64
		if err := json.Unmarshal(h.usage.Cost, &told); err != nil {
			t.Fatal(err)
		}
		got := float64(s.Books()[0].Cost) / 1e12
		if want := told * row.times; got < want*0.999999 || got > want*1.000001 {
			t.Errorf("%s %s: told %v, charged %v", row.fault.Kind, row.fault.Value, told, got)
		}
	}
	s, web := faulty(t, emulator.Fault{Kind: "mid_error", After: 20, Charge: "yes"})
	chat(t, web, ask("hello", pinned+`"stream":true,`))
	if e := s.Books()[0]; e.CompletionTokens != len(e.CompletionIDs) || e.Cost == 0 {
		t.Errorf("an error that is charged: %d of %d tokens, %d", e.CompletionTokens, len(e.CompletionIDs), e.Cost)
	}
}

func TestCountsThatAreOff(t *testing.T) {
	for _, row := range []struct {
		value string
		less  bool
	}{{"undercount", true}, {"overcount", false}} {
		s, web := faulty(t, emulator.Fault{Kind: "usage", Value: row.value})
		h := chat(t, web, ask("hello", pinned))
		if e := s.Books()[0]; h.usage.Completion < len(e.CompletionIDs) != row.less || h.usage.Completion == len(e.CompletionIDs) || e.CompletionTokens != len(e.CompletionIDs) {
			t.Errorf("%s: told %d of %d, billed %d", row.value, h.usage.Completion, len(e.CompletionIDs), e.CompletionTokens)
		}
	}
}

func TestDuplicateSamples(t *testing.T) {
	_, web := faulty(t, emulator.Fault{Kind: "content", Value: "duplicate"})
	a, b := chat(t, web, ask("hello", pinned)), chat(t, web, ask("hello", pinned))
	if a.content != b.content || a.id == b.id {
		t.Error("the samples differ")
	}
}

// TestHiddenSwap has another endpoint serve under the pinned one's name: only
// the price gives it away.
func TestHiddenSwap(t *testing.T) {
	s, web := faulty(t, emulator.Fault{Kind: "provider", Value: "hidden"})
	h := chat(t, web, ask("hello", pinned))
	e := s.Books()[0]
	want := exactCost(h.usage.Prompt, h.usage.Completion, "0.00000045", "0.00000225")
	if got := string(h.usage.Cost); h.provider != "AtlasCloud" || e.Endpoint != "siliconflow/int4" || strings.TrimRight(want.FloatString(12), "0") != got {
		t.Errorf("provider %q, served by %s at %s, want %s", h.provider, e.Endpoint, got, want.FloatString(12))
	}
}
