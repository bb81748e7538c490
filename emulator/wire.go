package emulator

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// quote appends text as a JSON string. Texts are valid UTF-8 by construction.
func quote(dst []byte, text string) []byte {
	dst, err := jsontext.AppendQuote(dst, text)
	if err != nil {
		panic(fmt.Sprintf("emulator: quote %q: %v", text, err))
	}
	return dst
}

// chunkHead appends what every chunk of a stream begins with.
func (x *exchange) chunkHead(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = quote(dst, x.ID)
	dst = append(dst, `,"object":"chat.completion.chunk","created":`...)
	dst = strconv.AppendInt(dst, x.Began.Unix(), 10)
	dst = append(dst, `,"model":`...)
	dst = quote(dst, x.modelName())
	if name := x.providerName(); name != "" {
		dst = append(dst, `,"provider":`...)
		dst = quote(dst, name)
	}
	return dst
}

const (
	choiceHead = `,"choices":[{"index":0,"delta":`
	choiceTail = `,"finish_reason":null,"native_finish_reason":null,"logprobs":`
)

// appendDelta appends the chunk for one delta.
func (x *exchange) appendDelta(dst, head []byte, d delta) []byte {
	dst = append(dst, head...)
	dst = append(dst, choiceHead...)
	switch d.part {
	case reasoning:
		dst = x.appendReasoning(append(dst, `{"role":"assistant","content":"",`...), d.text)
	case content:
		dst = quote(append(dst, `{"role":"assistant","content":`...), d.text)
	case callID:
		dst = append(dst, `{"role":"assistant","content":null,"tool_calls":[{`...)
		dst = x.appendIndex(dst, d.call)
		dst = quote(append(dst, `"id":`...), d.text)
		dst = quote(append(dst, `,"type":"function","function":{"name":`...), x.c.calls[d.call].function)
		dst = append(dst, `,"arguments":""}}]`...)
	case arguments:
		dst = append(dst, `{"role":"assistant","content":null,"tool_calls":[{`...)
		dst = x.appendIndex(dst, d.call)
		dst = quote(append(dst, `"type":"function","function":{"arguments":`...), d.text)
		dst = append(dst, `}}]`...)
	}
	dst = append(dst, '}')
	if x.variant("finish") == "early_blank" {
		dst = append(dst, `,"finish_reason":"","native_finish_reason":"","logprobs":`...)
	} else {
		dst = append(dst, choiceTail...)
	}
	return append(x.appendLogprobs(dst, d.tokens), "}]}"...)
}

func (x *exchange) appendIndex(dst []byte, call int) []byte {
	if x.variant("tool") == "no_index" {
		return dst
	}
	dst = strconv.AppendInt(append(dst, `"index":`...), int64(call), 10)
	return append(dst, ',')
}

// appendReasoning appends the members that carry reasoning, without braces.
func (x *exchange) appendReasoning(dst []byte, text string) []byte {
	variant := x.variant("content")
	if variant == "reasoning_content" {
		return quote(append(dst, `"reasoning_content":`...), text)
	}
	if variant != "details_only" {
		dst = append(quote(append(dst, `"reasoning":`...), text), ',')
	}
	dst = quote(append(dst, `"reasoning_details":[{"type":"reasoning.text","text":`...), text)
	return append(dst, `,"format":"unknown","index":0}]`...)
}

// appendFinish appends the chunk that ends the choice. usage may be nil.
func (x *exchange) appendFinish(dst, head []byte, finish *string, usage []byte) []byte {
	dst = append(dst, head...)
	dst = append(dst, choiceHead+`{"role":"assistant","content":""},"finish_reason":`...)
	dst = appendNullable(dst, finish)
	dst = append(dst, `,"native_finish_reason":`...)
	dst = appendNullable(dst, finish)
	dst = x.appendLogprobs(append(dst, `,"logprobs":`...), len(x.c.ids))
	dst = append(dst, "}]"...)
	if usage != nil {
		dst = append(append(dst, `,"usage":`...), usage...)
	}
	return append(dst, '}')
}

func appendNullable(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	return quote(dst, *s)
}

// appendUsage appends the chunk with nothing but usage and, where the client
// asked for it, the router's account of itself.
func (x *exchange) appendUsage(dst, head, usage []byte) []byte {
	dst = append(append(append(dst, head...), `,"choices":[],"usage":`...), usage...)
	if x.wantsMetadata() {
		dst = append(append(dst, `,"openrouter_metadata":`...), mustJSON(x.metadata())...)
	}
	return append(dst, '}')
}

// usageJSON is the usage object, its cost with all digits.
func (x *exchange) usageJSON() []byte {
	b := x.reportedBill()
	cost := b.cost.String()
	switch x.variant("usage") {
	case "null_cost":
		cost = "null"
	case "zero_cost":
		cost = "0"
	case "discount":
		c := b.cost.times(99)
		c.scale += 2
		cost = c.String()
	}
	return fmt.Appendf(nil, `{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"cost":%s,"is_byok":false,`+
		`"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d,"audio_tokens":0,"video_tokens":0},`+
		`"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":%s,"upstream_inference_completions_cost":%s},`+
		`"completion_tokens_details":{"reasoning_tokens":%d,"image_tokens":0,"audio_tokens":0}}`,
		b.prompt, b.completion, b.prompt+b.completion, cost, b.cached, b.written, b.promptCost, b.completionCost, b.reasoning)
}

// reportedBill is the bill as the client is told it.
func (x *exchange) reportedBill() bill {
	switch x.variant("usage") {
	case "undercount":
		return x.billFor(len(x.c.ids) * 9 / 10)
	case "overcount":
		return x.billFor(len(x.c.ids)*11/10 + 1)
	}
	if x.free {
		return bill{}
	}
	return x.billFor(len(x.c.ids))
}

// finishReason is the reason that the client is told; nil is null.
func (x *exchange) finishReason() *string {
	finish := x.c.finish()
	switch v := x.variant("finish"); v {
	case "", "early_blank":
	case "blank":
		finish = ""
	case "null":
		return nil
	case "word":
		finish = "eos_token_found"
	default:
		finish = v
	}
	if v := x.variant("tool"); finish == "tool_calls" && (v == "finish_stop" || v == "plain_text") {
		finish = "stop"
	}
	return &finish
}

func (x *exchange) modelName() string {
	switch x.variant("model") {
	case "id":
		return x.offer.id
	case "wrong":
		return "moonshotai/kimi-k2-0905"
	}
	return orElse(x.offer.canonical, x.offer.id)
}

// providerName is the name that the client is told; "" leaves it out.
func (x *exchange) providerName() string {
	name := x.endpoint.provider
	switch x.variant("provider") {
	case "missing":
		return ""
	case "slug":
		return x.endpoint.slug()
	case "case":
		return strings.ToUpper(name)
	case "other":
		if e := x.elsewhere(); e != nil {
			return e.provider
		}
		return "Elsewhere"
	case "hidden":
		return x.asked.provider
	}
	return name
}

// wantsMetadata reports whether the client switched openrouter_metadata on.
func (x *exchange) wantsMetadata() bool {
	asked := orElse(x.header("X-Openrouter-Metadata"), x.header("X-Openrouter-Experimental-Metadata"))
	return strings.EqualFold(asked, "enabled") && !x.free
}

// metadata is the router's account of how the request was served.
func (x *exchange) metadata() fields {
	row := fields{"provider": x.endpoint.provider, "model": orElse(x.offer.canonical, x.offer.id)}
	pipeline := []any{}
	if x.fault("pipeline") != nil {
		pipeline = append(pipeline, fields{"type": "plugin", "name": "response-healing"})
	}
	available := fields{"selected": true}
	attempt := fields{"status": 200}
	for k, v := range row {
		available[k], attempt[k] = v, v
	}
	return fields{
		"requested": x.q.Model, "strategy": "direct", "region": "fra", "attempt": 1, "is_byok": false,
		"summary":   "available=1, selected=" + x.endpoint.provider,
		"endpoints": fields{"total": 1, "available": []any{available}},
		"attempts":  []any{attempt},
		"pipeline":  pipeline,
	}
}
