package emulator_test

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator"
)

// FuzzChat sends any body at all. Whatever it is, there is an answer of the
// right kind and one entry in the books.
func FuzzChat(f *testing.F) {
	f.Add(ask("hi", pinned))
	f.Add(ask("hi", weatherTool+`"stream":true,"max_tokens":3,"stop":["a"],`))
	f.Add(`{"model":"moonshotai/kimi-k2.5","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":1,"function":{"arguments":"{\"a\":1e999}"}}]},{"role":"tool","content":[{"type":"text"}]}]}`)
	f.Add(`{"model":"moonshotai/kimi-k2.5","messages":[{"role":"user"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"$ref":"#"}}}],"tool_choice":"required"}`)
	f.Add(`{"model":"moonshotai/kimi-k2.5","messages":[{"role":"user"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"x":{"type":"integer","minimum":9e99}},"required":["x"]}}}],"tool_choice":"required"}`)
	f.Add(ask("hi", `"metadata":{"a":"1","a":"2"},"stream":true,"debug":{"echo_upstream_body":true},`))
	f.Add(ask("\xff\\ud800", `"user":"\xfe","debug":{"echo_upstream_body":true},"stream":true,`))
	f.Add(`{"messages":{}}`)
	f.Add(`[`)
	scenario := emulator.DefaultScenario()
	scenario.Text.MedianTokens = 20
	path := filepath.Join(f.TempDir(), "books.jsonl")
	s, err := emulator.New(emulator.Config{Vocabulary: smallVocabulary(), Scenario: &scenario, BooksPath: path})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	f.Fuzz(func(t *testing.T, body string) {
		before := s.Totals().Requests
		r := httptest.NewRequest("POST", "/api/v1/chat/completions", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer k")
		r.Header.Set("User-Agent", "fuzz")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch w.Code {
		case 200, 400, 404:
		default:
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if after := s.Totals().Requests; after != before+1 {
			t.Errorf("%d entries in the books for one request", after-before)
		}
	})
}

// FuzzScenario parses any scenario. What is accepted is valid.
func FuzzScenario(f *testing.F) {
	f.Add("name: x\ntiming: {ttft: 2s}\nfaults: [{kind: eof, rate: 0.5, endpoints: [a]}]")
	f.Add(`{"text":{"sigma":1},"endpoints":{"*":{"rpm":5}}}`)
	f.Add("drift: [{at: 1s, endpoint: a, price_times: '1.5', extra: {a: [1]}}]")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := emulator.ParseScenario([]byte(text)); err == nil && s.Validate() != nil {
			t.Errorf("accepted, yet invalid: %v", s.Validate())
		}
	})
}
