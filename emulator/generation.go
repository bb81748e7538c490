package emulator

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// generation is the vendor's record of a request, found under its id once it
// has been written.
type generation struct {
	visible time.Time
	body    []byte
	asked   int // lookups so far
}

// remember files the exchange's record, to be found after the scenario's delay.
func (x *exchange) remember() {
	delay := x.scenario.Generation.Delay
	if x.Cancelled {
		delay = max(delay, x.scenario.Generation.CancelledDelay)
	}
	finish := x.finishReason()
	took := x.Ended.Sub(x.Began).Milliseconds()
	cost := jsontext.Value(x.chargedText())
	data := fields{
		"id": x.ID, "upstream_id": "up-" + x.ID, "total_cost": cost, "usage": cost, "created_at": x.Began.UTC().Format(time.RFC3339Nano),
		"model": orElse(x.offer.canonical, x.offer.id), "provider_name": x.endpoint.provider,
		"provider_responses": []any{fields{
			"provider_name": x.endpoint.provider, "endpoint_id": endpointID(x.endpoint), "status": 200, "latency": took, "id": "up-" + x.ID,
			"model_permaslug": orElse(x.offer.canonical, x.offer.id), "is_byok": false,
		}},
		"native_tokens_prompt": x.bill.prompt, "native_tokens_completion": x.bill.completion, "native_tokens_reasoning": x.bill.reasoning,
		"native_tokens_cached": x.bill.cached, "native_tokens_completion_images": nil,
		"tokens_prompt": x.bill.prompt, "tokens_completion": x.bill.completion, "num_media_prompt": nil, "num_media_completion": nil,
		"num_input_audio_prompt": nil, "num_search_results": nil, "num_fetches": nil, "web_search_engine": nil,
		"finish_reason": finish, "native_finish_reason": finish, "latency": took, "generation_time": took, "moderation_latency": nil,
		"streamed": x.Stream, "cancelled": x.Cancelled, "cache_discount": nil, "upstream_inference_cost": 0, "is_byok": false,
		"api_type": "completions", "request_id": nil, "session_id": nil, "external_user": orNil(x.q.User), "app_id": nil, "origin": "",
		"user_agent": nil, "http_referer": nil, "router": nil, "service_tier": nil, "response_cache_source_id": nil,
		"data_region": "global", "workspace_id": nil, "preset_id": nil,
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.generations[x.ID] = &generation{visible: x.Ended.Add(delay), body: mustJSON(fields{"data": data})}
}

// chargedText is the charge in dollars, 0 when there was none.
func (x *exchange) chargedText() string {
	if !x.Billed {
		return "0"
	}
	return x.charged().String()
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// endpointID is a stable name for an endpoint, in the vendor's UUID form.
func endpointID(e *endpoint) string {
	h := mustHash(e.tag)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:32]
}

// lookup is GET /api/v1/generation.
func (s *Server) lookup(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	if id == "" {
		invalid("id: Required").write(w)
		return
	}
	now := time.Now()
	s.mu.Lock()
	g := s.generations[id]
	o := occasion{since: now.Sub(s.start), body: []byte(id)}
	if g != nil {
		o.attempt = g.asked
		g.asked++
	}
	asked := uint64(o.attempt)
	o.draw = func(i int) float64 {
		return float64(s.mix(drawFault, uint64(i), hashOf(id), asked)>>11) / (1 << 53)
	}
	hit := s.strikes(lookup, o)
	s.mu.Unlock()
	missing := own(http.StatusNotFound, "generation", "Generation "+id+" not found", nil)
	body := []byte(nil)
	if g != nil && !now.Before(g.visible) {
		body = g.body
	}
	for _, f := range hit {
		switch f.variant() {
		case "never":
			body = nil
		case "status":
			own(orElse(f.Status, 500), "generation", "Internal Server Error", nil).retryAfter(f.RetryAfter).write(w)
			return
		case "cost":
			body = costChanged(body, orElse(f.Factor, 1.1))
		}
	}
	if body == nil {
		missing.write(w)
		return
	}
	writeJSON(w, body)
}

// costChanged multiplies the cost in a record, for a vendor whose two figures
// disagree.
func costChanged(body []byte, factor float64) []byte {
	if body == nil {
		return nil
	}
	var record struct {
		Data object `json:"data"`
	}
	mustUnmarshal(body, &record)
	cost, err := parseDecimal(string(record.Data["total_cost"]))
	if err != nil {
		panic("emulator: own record: " + err.Error())
	}
	cost = cost.times(int(factor * 1000))
	cost.scale += 3
	record.Data["total_cost"] = jsontext.Value(cost.String())
	record.Data["usage"] = record.Data["total_cost"]
	return mustJSON(record)
}
