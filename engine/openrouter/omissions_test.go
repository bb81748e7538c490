package openrouter_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// TestOmissions reads in what the vendor got that reported problems which come
// from leaving something out of a request cannot happen.
func TestOmissions(t *testing.T) {
	for _, row := range []struct {
		name  string
		tweak func(*eyrie.Request)
		check func(t *testing.T, sent map[string]any)
	}{
		{"P28 a connection without bytes dies: the answer is streamed", nil, func(t *testing.T, sent map[string]any) {
			if sent["stream"] != true {
				t.Errorf("stream is %v", sent["stream"])
			}
		}},
		{"P44 a library's own max_tokens: ours is always there", maxTokens(16384), func(t *testing.T, sent map[string]any) {
			if sent["max_tokens"] != 16384.0 {
				t.Errorf("max_tokens is %v", sent["max_tokens"])
			}
		}},
		{"P55 reasoning lost between tool turns: it goes back", toolTurn, func(t *testing.T, sent map[string]any) {
			turn := sent["messages"].([]any)[1].(map[string]any)
			if turn["reasoning"] != "hm" || turn["tool_calls"] == nil {
				t.Errorf("the turn went back as %v", turn)
			}
		}},
		{"P85 parameters dropped in silence: they are required", nil, func(t *testing.T, sent map[string]any) {
			p := sent["provider"].(map[string]any)
			if p["require_parameters"] != true || p["allow_fallbacks"] != false {
				t.Errorf("provider is %v", p)
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				r := request(w.lanes[atlas])
				if row.tweak != nil {
					row.tweak(r)
				}
				if h := ask(t, t.Context(), w.client, r); h.err != nil {
					t.Fatal(h.err)
				}
				var sent map[string]any
				if err := json.Unmarshal(w.Books()[0].Body, &sent); err != nil {
					t.Fatal(err)
				}
				row.check(t, sent)
			})
		})
	}
}

// toolTurn makes the request one that comes after a call of a tool.
func toolTurn(r *eyrie.Request) {
	weather(r)
	r.Generation.Messages = append(r.Generation.Messages,
		eyrie.Message{Role: eyrie.Assistant, Reasoning: "hm", ToolCalls: []eyrie.ToolCall{{ID: "functions.get_weather:0", Name: "get_weather", Arguments: `{"city":"Paris"}`}}},
		eyrie.Message{Role: eyrie.ToolRole, ToolCallID: "functions.get_weather:0", Content: "rain"})
}

// TestP65LittleMoney has a balance that pays for an answer but not for the
// longest that the endpoint could give: it is the request's max_tokens that is
// held against it.
func TestP65LittleMoney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(*emulator.Scenario, *openrouter.Config) {})
		if err := w.SetMoney("0.02", ""); err != nil {
			t.Fatal(err)
		}
		r := request(w.lanes[atlas])
		r.Sampling.MaxTokens = 2000
		if h := ask(t, t.Context(), w.client, r); h.err != nil {
			t.Errorf("with max_tokens: %v", h.err)
		}
		r.Sampling.MaxTokens = w.lanes[atlas].MaxOutput // what leaving it out means
		if h := ask(t, t.Context(), w.client, r); h.class() != "402" || !strings.Contains(h.err.Error(), "can only afford") {
			t.Errorf("with the largest: %v", h.err)
		}
	})
}
