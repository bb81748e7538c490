package emulator_test

import (
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator"
)

// TestFaults shows each fault to a plain client: what a stream or a whole reply
// looks like, how the books call it and whether it was charged.
func TestFaults(t *testing.T) {
	text := func(h *heard) bool { return h.reasoning+h.content != "" }
	for _, row := range []struct {
		fault   emulator.Fault
		more    string // request members
		status  int
		outcome string
		charged bool
		check   func(h *heard) bool
	}{
		{emulator.Fault{Kind: "edge_block"}, "", 403, "refused", false, func(h *heard) bool { return strings.Contains(h.raw, "<html>") }},
		{emulator.Fault{Kind: "html", Status: 522}, "", 522, "refused", false, func(h *heard) bool { return strings.Contains(h.header.Get("Content-Type"), "text/html") }},
		{emulator.Fault{Kind: "unauthorized"}, "", 401, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "User not found.") }},
		{emulator.Fault{Kind: "reset_early"}, "", 0, "broken", false, func(h *heard) bool { return h.err != nil }},

		{emulator.Fault{Kind: "payment"}, "", 402, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "can only afford 4000") }},
		{emulator.Fault{Kind: "payment", Value: "credits"}, "", 402, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, `"limit_source":"openrouter_credits"`) }},
		{emulator.Fault{Kind: "payment", Value: "never"}, "", 402, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "never purchased") }},
		{emulator.Fault{Kind: "payment", Value: "prompt_limit"}, "", 402, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "Prompt tokens limit exceeded") }},
		{emulator.Fault{Kind: "forbidden"}, "", 403, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "Key limit exceeded (total limit)") }},
		{emulator.Fault{Kind: "forbidden", Value: "moderation"}, "", 403, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "flagged_input") }},
		{emulator.Fault{Kind: "forbidden", Value: "guardrail"}, "", 403, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "patterns") }},
		{emulator.Fault{Kind: "forbidden", Value: "region"}, "", 403, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "region_restricted") }},
		{emulator.Fault{Kind: "not_found"}, "", 404, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "No endpoints found for") }},
		{emulator.Fault{Kind: "not_found", Value: "guardrail"}, "", 404, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "data policy") }},
		{emulator.Fault{Kind: "not_found", Value: "tools"}, "", 404, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "support tool use") }},
		{emulator.Fault{Kind: "quota"}, "", 429, "refused", false, func(h *heard) bool {
			return h.header.Get("X-RateLimit-Reset") != "" && h.header.Get("Retry-After") == ""
		}},

		{emulator.Fault{Kind: "rate_limit"}, "", 429, "refused", false, func(h *heard) bool {
			return strings.Contains(h.failed, "temporarily rate-limited upstream") && h.header.Get("Retry-After") == ""
		}},
		{emulator.Fault{Kind: "rate_limit", RetryAfter: "7"}, "", 429, "refused", false, func(h *heard) bool { return h.header.Get("Retry-After") == "7" }},
		{emulator.Fault{Kind: "rate_limit", RetryAfter: "date:7"}, "", 429, "refused", false, func(h *heard) bool { return strings.HasSuffix(h.header.Get("Retry-After"), " GMT") }},
		{emulator.Fault{Kind: "rate_limit", Value: "capacity"}, "", 429, "refused", false, func(h *heard) bool {
			return strings.Contains(h.failed, `"retryable":true`) && h.header.Get("Retry-After") == "5"
		}},
		{emulator.Fault{Kind: "rate_limit", Value: "html"}, "", 429, "refused", false, func(h *heard) bool { return strings.Contains(h.raw, "<html>") }},
		{emulator.Fault{Kind: "http", Status: 400, Message: "prompt is too long: 9 tokens > 8 maximum"}, "", 400, "refused", false, func(h *heard) bool {
			return strings.Contains(h.failed, "Provider returned error") && strings.Contains(h.failed, "prompt is too long")
		}},
		{emulator.Fault{Kind: "http", Status: 500}, "", 500, "refused", false, func(h *heard) bool { return !strings.Contains(h.failed, "metadata") }},
		{emulator.Fault{Kind: "http", Status: 503, RetryAfter: "2"}, "", 503, "refused", false, func(h *heard) bool { return h.header.Get("Retry-After") == "2" }},
		{emulator.Fault{Kind: "http", Value: "nested"}, "", 502, "refused", false, func(h *heard) bool { return strings.HasPrefix(h.failed, `{"error":`) }},
		{emulator.Fault{Kind: "http", Value: "raw_html"}, "", 502, "refused", false, func(h *heard) bool { return strings.Contains(h.failed, "<html>") }},
		{emulator.Fault{Kind: "http", Status: 524, Charge: "yes"}, "", 524, "refused", true, func(h *heard) bool { return h.failed != "" }},

		{emulator.Fault{Kind: "error_body", Status: 524}, "", 200, "broken", false, func(h *heard) bool {
			return strings.Contains(h.failed, `"code":524`) && !strings.Contains(h.raw, "choices")
		}},
		{emulator.Fault{Kind: "error_body", Value: "null_choices"}, "", 200, "broken", false, func(h *heard) bool { return strings.Contains(h.raw, `"choices":null`) }},
		{emulator.Fault{Kind: "error_body", Value: "in_choice"}, "", 200, "broken", false, func(h *heard) bool { return h.failed != "" && h.finish == "error" }},
		{emulator.Fault{Kind: "choices"}, "", 200, "broken", true, func(h *heard) bool { return strings.Contains(h.raw, `"choices":null`) && h.usage != nil }},
		{emulator.Fault{Kind: "choices", Value: "empty"}, "", 200, "broken", true, func(h *heard) bool { return strings.Contains(h.raw, `"choices":[]`) }},
		{emulator.Fault{Kind: "choices", Value: "missing"}, "", 200, "broken", true, func(h *heard) bool { return !strings.Contains(h.raw, `"choices"`) }},
		{emulator.Fault{Kind: "blank"}, "", 200, "broken", true, func(h *heard) bool { return h.raw != "" && strings.TrimSpace(h.raw) == "" }},
		{emulator.Fault{Kind: "blank", Value: "dot"}, "", 200, "broken", true, func(h *heard) bool { return strings.TrimSpace(h.raw) == "." }},
		{emulator.Fault{Kind: "blank", Value: "empty"}, "", 200, "broken", true, func(h *heard) bool { return h.raw == "" }},
		{emulator.Fault{Kind: "blank", Value: "html"}, "", 200, "broken", true, func(h *heard) bool { return strings.Contains(h.raw, "<html>") }},
		{emulator.Fault{Kind: "blank", Value: "cut_json"}, "", 200, "broken", true, func(h *heard) bool { return strings.HasPrefix(h.raw, "{") && h.id == "" }},
		{emulator.Fault{Kind: "blank", Value: "sse"}, "", 200, "broken", true, func(h *heard) bool { return h.done && text(h) }},
		{emulator.Fault{Kind: "drip", After: 500}, "", 200, "completed", true, func(h *heard) bool {
			return strings.HasPrefix(h.raw, "\n") && len(h.raw)-len(strings.TrimLeft(h.raw, " \n")) >= 500 && text(h)
		}},

		{emulator.Fault{Kind: "mid_error", After: 40}, `"stream":true,`, 200, "broken", false, func(h *heard) bool {
			return text(h) && h.finish == "error" && strings.Contains(h.failed, "Provider disconnected") && !h.done
		}},
		{emulator.Fault{Kind: "mid_error", Value: "empty_choices"}, `"stream":true,`, 200, "broken", false, func(h *heard) bool { return h.failed != "" && h.finish == "" }},
		{emulator.Fault{Kind: "mid_error", Value: "bare"}, `"stream":true,`, 200, "broken", false, func(h *heard) bool { return strings.Contains(h.raw, "data: {\"error\"") }},
		{emulator.Fault{Kind: "mid_error", Value: "string_code"}, `"stream":true,`, 200, "broken", false, func(h *heard) bool { return strings.Contains(h.failed, `"server_error"`) }},
		{emulator.Fault{Kind: "mid_error", Value: "nested"}, `"stream":true,`, 200, "broken", false, func(h *heard) bool { return strings.HasPrefix(h.failed, `{"error"`) }},
		{emulator.Fault{Kind: "mid_error", Value: "event"}, `"stream":true,`, 200, "broken", false, func(h *heard) bool { return strings.Contains(h.raw, "event: error\ndata: ") }},
		{emulator.Fault{Kind: "mid_error", After: 40}, ``, 200, "broken", false, func(h *heard) bool { return text(h) && h.finish == "error" && h.failed != "" }},
		{emulator.Fault{Kind: "eof", After: 40}, `"stream":true,`, 200, "broken", true, func(h *heard) bool { return text(h) && h.finish == "" && h.usage == nil && !h.done && h.err == nil }},
		{emulator.Fault{Kind: "eof", Value: "in_event"}, `"stream":true,`, 200, "broken", true, func(h *heard) bool {
			return strings.HasSuffix(h.raw, `"native_finish_reas`) || !strings.HasSuffix(h.raw, "\n\n")
		}},
		{emulator.Fault{Kind: "eof"}, ``, 200, "broken", true, func(h *heard) bool { return h.raw != "" && h.id == "" }},
		{emulator.Fault{Kind: "reset"}, ``, 0, "broken", true, func(h *heard) bool { return h.err != nil }},
		{emulator.Fault{Kind: "stall", For: 1}, ``, 0, "broken", true, func(h *heard) bool { return h.err != nil }},
		{emulator.Fault{Kind: "reset", After: 40}, `"stream":true,`, 200, "broken", true, func(h *heard) bool { return text(h) && h.err != nil }},
		{emulator.Fault{Kind: "stall", After: 40, For: 1}, `"stream":true,`, 200, "broken", true, func(h *heard) bool { return text(h) && h.finish == "" }},
		{emulator.Fault{Kind: "done"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return !h.done && h.finish == "stop" && h.usage != nil }},
		{emulator.Fault{Kind: "done", Value: "open", For: 1}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return h.done }},
		{emulator.Fault{Kind: "done", Value: "more"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return h.done && strings.HasSuffix(h.content, "late") }},
		{emulator.Fault{Kind: "frame"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return strings.Contains(h.raw, "}\r\n\r\n") && h.done }},
		{emulator.Fault{Kind: "frame", Value: "no_space"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return strings.Contains(h.raw, "data:{") && h.done }},
		{emulator.Fault{Kind: "frame", Value: "fields"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return strings.Contains(h.raw, "retry: 3000") && h.done }},
		{emulator.Fault{Kind: "frame", Value: "multi_line"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return strings.Contains(h.raw, "\ndata: \"choices\"") && h.done && text(h) }},
		{emulator.Fault{Kind: "frame", Value: "huge", After: 70_000}, `"stream":true,"max_tokens":8,`, 200, "completed", true, func(h *heard) bool { return len(h.raw) > 140_000 && h.done && text(h) }},

		{emulator.Fault{Kind: "frame", Value: "split"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return h.done && text(h) }},
		{emulator.Fault{Kind: "frame", Value: "gzip"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return h.done && text(h) }},
		{emulator.Fault{Kind: "frame", Value: "gzip"}, ``, 200, "completed", true, func(h *heard) bool { return text(h) }},
		{emulator.Fault{Kind: "goaway"}, ``, 200, "completed", true, func(h *heard) bool { return h.closed }},
		{emulator.Fault{Kind: "finish", Value: "early_blank"}, `"stream":true,`, 200, "broken", true, func(h *heard) bool { return h.finish == "stop" && strings.Contains(h.raw, `"finish_reason":""`) }},

		{emulator.Fault{Kind: "usage"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return strings.Count(h.raw, `"finish_reason":"stop"`) == 2 && h.usage != nil }},
		{emulator.Fault{Kind: "usage", Value: "in_finish"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return !strings.Contains(h.raw, `"choices":[]`) && h.usage != nil }},
		{emulator.Fault{Kind: "usage", Value: "missing"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return h.usage == nil && h.done }},
		{emulator.Fault{Kind: "usage", Value: "missing"}, ``, 200, "completed", true, func(h *heard) bool { return h.usage == nil && text(h) }},
		{emulator.Fault{Kind: "usage", Value: "twice"}, `"stream":true,`, 200, "completed", true, func(h *heard) bool { return strings.Count(h.raw, `"usage":{`) == 2 }},
		{emulator.Fault{Kind: "usage", Value: "null_cost"}, ``, 200, "completed", true, func(h *heard) bool { return string(h.usage.Cost) == "null" }},
		{emulator.Fault{Kind: "usage", Value: "zero_cost"}, ``, 200, "completed", true, func(h *heard) bool { return string(h.usage.Cost) == "0" }},
		{emulator.Fault{Kind: "finish"}, `"stream":true,`, 200, "broken", true, func(h *heard) bool { return h.finish == "" && h.done && strings.Contains(h.raw, `"finish_reason":""`) }},
		{emulator.Fault{Kind: "finish", Value: "null"}, `"stream":true,`, 200, "broken", true, func(h *heard) bool { return h.finish == "" && h.done }},
		{emulator.Fault{Kind: "finish", Value: "length"}, ``, 200, "broken", true, func(h *heard) bool { return h.finish == "length" }},
		{emulator.Fault{Kind: "finish", Value: "content_filter"}, ``, 200, "broken", true, func(h *heard) bool { return h.finish == "content_filter" }},
		{emulator.Fault{Kind: "finish", Value: "error"}, ``, 200, "broken", true, func(h *heard) bool { return h.finish == "error" }},
		{emulator.Fault{Kind: "finish", Value: "word"}, ``, 200, "broken", true, func(h *heard) bool { return h.finish == "eos_token_found" }},

		{emulator.Fault{Kind: "content"}, ``, 200, "broken", true, func(h *heard) bool { return h.reasoning != "" && h.content == "" && h.finish == "stop" }},
		{emulator.Fault{Kind: "content", Value: "empty"}, ``, 200, "broken", true, func(h *heard) bool { return !text(h) && h.finish == "stop" }},
		{emulator.Fault{Kind: "content", Value: "no_reasoning"}, ``, 200, "broken", true, func(h *heard) bool { return h.reasoning == "" && h.content != "" }},
		{emulator.Fault{Kind: "content", Value: "reasoning_content"}, ``, 200, "broken", true, func(h *heard) bool { return h.reasoning == "" && strings.Contains(h.raw, `"reasoning_content":"`) }},
		{emulator.Fault{Kind: "content", Value: "details_only"}, `"stream":true,`, 200, "broken", true, func(h *heard) bool { return h.reasoning == "" && strings.Contains(h.raw, `"reasoning.text"`) }},
		{emulator.Fault{Kind: "content", Value: "leak"}, ``, 200, "broken", true, func(h *heard) bool { return strings.Contains(h.content, "<|tool_call_begin|>") }},
		{emulator.Fault{Kind: "content", Value: "refusal"}, ``, 200, "broken", true, func(h *heard) bool { return strings.Contains(h.content, "can't help") }},
		{emulator.Fault{Kind: "content", Value: "drift"}, ``, 200, "broken", true, func(h *heard) bool { return strings.Contains(h.content, "。") }},
		{emulator.Fault{Kind: "content", Value: "loop"}, `"max_tokens":900,`, 200, "broken", true, func(h *heard) bool { return h.finish == "length" && h.usage.Completion == 900 }},
		{emulator.Fault{Kind: "content", Value: "ignore_disabled"}, `"reasoning":{"enabled":false},`, 200, "broken", true, func(h *heard) bool { return h.reasoning != "" }},

		{emulator.Fault{Kind: "tool"}, weatherTool, 200, "broken", true, func(h *heard) bool { return strings.HasSuffix(h.calls[0].arguments, `,"`) }},
		{emulator.Fault{Kind: "tool", Value: "leak"}, weatherTool, 200, "broken", true, func(h *heard) bool { return strings.Contains(h.calls[0].arguments, "<|tool_call_end|>") }},
		{emulator.Fault{Kind: "tool", Value: "empty_id"}, weatherTool, 200, "broken", true, func(h *heard) bool { return h.calls[0].id == "" && h.calls[0].name == "get_weather" }},
		{emulator.Fault{Kind: "tool", Value: "native_id"}, weatherTool, 200, "broken", true, func(h *heard) bool { return strings.HasPrefix(h.calls[0].id, "call_") }},
		{emulator.Fault{Kind: "tool", Value: "no_index"}, weatherTool + `"stream":true,`, 200, "broken", true, func(h *heard) bool { return !strings.Contains(h.raw, `"tool_calls":[{"index"`) && h.calls != nil }},
		{emulator.Fault{Kind: "tool", Value: "plain_text"}, weatherTool, 200, "broken", true, func(h *heard) bool {
			return h.calls == nil && h.finish == "stop" && strings.Contains(h.content, "<|tool_calls_section_begin|>")
		}},
		{emulator.Fault{Kind: "tool", Value: "finish_stop"}, weatherTool, 200, "broken", true, func(h *heard) bool { return h.calls != nil && h.finish == "stop" }},

		{emulator.Fault{Kind: "overrun", Factor: 25}, `"max_tokens":100,`, 200, "completed", true, func(h *heard) bool { return h.usage.Completion > 1500 }},
		{emulator.Fault{Kind: "provider"}, ``, 200, "broken", true, func(h *heard) bool { return h.provider != "" && h.provider != "AtlasCloud" }},
		{emulator.Fault{Kind: "provider", Value: "missing"}, ``, 200, "broken", true, func(h *heard) bool { return h.provider == "" }},
		{emulator.Fault{Kind: "provider", Value: "slug"}, ``, 200, "broken", true, func(h *heard) bool { return h.provider == "atlas-cloud" }},
		{emulator.Fault{Kind: "provider", Value: "case"}, ``, 200, "broken", true, func(h *heard) bool { return h.provider == "ATLASCLOUD" }},
		{emulator.Fault{Kind: "provider", Value: "swapped"}, ``, 200, "broken", true, func(h *heard) bool { return h.provider == "SiliconFlow" }},
		{emulator.Fault{Kind: "content", Value: "ignore_stop"}, `"stop":"e",`, 200, "broken", true, func(h *heard) bool { return strings.Contains(h.content, "e") }},
		{emulator.Fault{Kind: "content", Value: "ignore_schema"}, `"response_format":{"type":"json_object"},`, 200, "broken", true, func(h *heard) bool { return !strings.HasPrefix(h.content, "{") }},
		{emulator.Fault{Kind: "tool", Value: "ignore_choice"}, weatherTool + `"tool_choice":"required",`, 200, "broken", true, func(h *heard) bool { return h.calls == nil && h.content != "" }},
		{emulator.Fault{Kind: "model"}, ``, 200, "broken", true, func(h *heard) bool { return h.model == "moonshotai/kimi-k2.5" }},
		{emulator.Fault{Kind: "model", Value: "wrong"}, ``, 200, "broken", true, func(h *heard) bool { return h.model == "moonshotai/kimi-k2-0905" }},
		{emulator.Fault{Kind: "pipeline"}, ``, 200, "broken", true, func(h *heard) bool { return strings.Contains(h.raw, "response-healing") }},
	} {
		t.Run(row.fault.Kind+" "+row.fault.Value+" "+row.more, func(t *testing.T) {
			s, web := faulty(t, row.fault)
			h := chat(t, web, ask("hello", pinned+row.more), "X-OpenRouter-Metadata", "enabled")
			if h.status != row.status || !row.check(h) {
				t.Errorf("status %d, want %d; finish %q, error %s, reading: %v, body\n%.1500s", h.status, row.status, h.finish, h.failed, h.err, h.raw)
			}
			e := s.Books()[0]
			if e.Outcome != row.outcome || (e.Cost > 0) != row.charged || e.Billed != row.charged {
				t.Errorf("books say %s, cost %d, billed %v; want %s, charged %v", e.Outcome, e.Cost, e.Billed, row.outcome, row.charged)
			}
			if len(e.Faults) != 1 || e.Faults[0] != row.fault.Kind {
				t.Errorf("books name the faults %v", e.Faults)
			}
			if s.Totals().InFlight["atlas-cloud/int4"] != 0 {
				t.Error("the endpoint's place was not given back")
			}
		})
	}
}
