package emulator_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/go-json-experiment/json"
)

// refused sends a chat request that is to be refused and returns the error.
func refused(t *testing.T, web string, key, body string) (status int, e map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", web+"/api/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Error map[string]any `json:"error"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return res.StatusCode, doc.Error
}

// TestPrivacy: who retains nothing is listed, and answers those who ask for
// that; who trains answers nobody who denies it.
func TestPrivacy(t *testing.T) {
	s, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) {
		s.Endpoints = map[string]emulator.Limits{"novita": {ZDR: true}, "atlas-cloud/int4": {Trains: true}}
	})
	res, err := http.Get(web.URL + "/api/v1/endpoints/zdr")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var list struct {
		Data []struct {
			Tag string `json:"tag"`
		} `json:"data"`
	}
	if err := json.UnmarshalRead(res.Body, &list); err != nil || len(list.Data) != 1 || list.Data[0].Tag != "novita" {
		t.Errorf("%+v, %v", list, err)
	}
	for range 6 {
		chat(t, web, ask("hi", `"provider":{"zdr":true},"max_tokens":5,`))
		chat(t, web, ask("hi", `"provider":{"data_collection":"deny"},"max_tokens":5,`))
	}
	for i, e := range s.Books() {
		if i%2 == 0 && e.Endpoint != "novita" || i%2 == 1 && e.Endpoint == "atlas-cloud/int4" {
			t.Errorf("request %d went to %s", i, e.Endpoint)
		}
	}
	for policy, body := range map[string]string{
		"zdr":      `"provider":{"only":["venice"],"zdr":true},`,
		"training": `"provider":{"only":["atlas-cloud"],"data_collection":"deny"},`,
	} {
		status, e := refused(t, web.URL, "sk-or-v1-test", ask("hi", body))
		availability, _ := e["availability"].(map[string]any)
		by, _ := availability["excluded_by"].([]any)
		if status != 404 || availability["code"] != "privacy_restricted" || !slices.Contains(by, any("data_policy:"+policy)) {
			t.Errorf("%s: %d %v", policy, status, e)
		}
	}
}

// TestPreviousErrors: a refusal for money names what the other endpoints said.
func TestPreviousErrors(t *testing.T) {
	_, web := start(t, func(c *emulator.Config, _ *emulator.Scenario) { c.Balance = "0.001" })
	status, e := refused(t, web.URL, "sk-or-v1-test", ask("hi", `"max_tokens":60000,`))
	metadata, _ := e["metadata"].(map[string]any)
	before, _ := metadata["previous_errors"].([]any)
	if status != 402 || len(before) < 2 {
		t.Fatalf("%d %v", status, e)
	}
	amounts := map[any]bool{e["message"]: true}
	for _, b := range before {
		amounts[b.(map[string]any)["message"]] = true
	}
	if len(amounts) < 2 {
		t.Errorf("all can afford the same: %v", amounts)
	}
	status, e = refused(t, web.URL, "sk-or-v1-test", ask("hi", pinned+`"max_tokens":60000,`))
	metadata, _ = e["metadata"].(map[string]any)
	if status != 402 || metadata["previous_errors"] != nil {
		t.Errorf("pinned: %d %v", status, e)
	}
}

// TestCheckLate: which of two refusals comes depends on the order of checks.
func TestCheckLate(t *testing.T) {
	for late, want := range map[bool]int{false: 402, true: 404} {
		_, web := start(t, func(c *emulator.Config, s *emulator.Scenario) { c.Balance, s.Account.CheckLate = "0", late })
		if status, e := refused(t, web.URL, "sk-or-v1-test", ask("hi", `"provider":{"only":["nobody"]},`)); status != want {
			t.Errorf("late %v: %d %v", late, status, e)
		}
		if status, e := refused(t, web.URL, "sk-or-v1-test", ask("hi", "")); status != 402 {
			t.Errorf("late %v: %d %v", late, status, e)
		}
	}
}

// TestSortByHealth goes by the medians of the catalogue.
func TestSortByHealth(t *testing.T) {
	stat := func(p50 int) map[string]any {
		return map[string]any{"throughput_last_30m": map[string]any{"p50": p50}, "latency_last_30m": map[string]any{"p50": p50}}
	}
	s, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) {
		s.Drift = []emulator.Change{{Endpoint: "venice", Extra: stat(90)}, {Endpoint: "novita", Extra: stat(20)}}
	})
	for _, by := range []string{"throughput", "latency", "price"} {
		chat(t, web, ask("hi", `"provider":{"sort":"`+by+`"},"max_tokens":5,`))
	}
	for i, want := range []string{"venice", "novita", "siliconflow/int4"} {
		if got := s.Books()[i].Endpoint; got != want {
			t.Errorf("request %d went to %s, want %s", i, got, want)
		}
	}
}

// TestOpenReasoningHoldsNoText: a call made out of the middle of the reasoning
// has no text before it, which would belong to the reasoning.
func TestOpenReasoningHoldsNoText(t *testing.T) {
	v := vocabulary(t, smallVocabulary())
	s, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) { s.Text.SkipThinkEnd, s.Text.ToolCall = 1, 1 })
	for range 12 {
		h := chat(t, web, ask("hi", pinned+weatherTool))
		if h.content != "" {
			t.Errorf("content %q", h.content)
		}
	}
	for _, e := range s.Books() {
		if slices.Contains(e.CompletionIDs, v.EndThink()) {
			t.Error("the reasoning was ended")
		}
	}
}
