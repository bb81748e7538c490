package emulator

import (
	"fmt"
	"net/http"
	"time"
)

// draw finds the faults of a phase that strike, and notes them for the books.
// Server.mu is held.
func (x *exchange) draw(p phase, tag string) []Fault {
	key := uint64(x.Number)
	if x.prompt != nil {
		key = x.prompt.key()
	}
	o := occasion{since: time.Since(x.start), number: x.Number, attempt: x.attempt, tag: tag}
	if x.q != nil {
		o.body = x.q.body
	}
	o.draw = func(i int) float64 {
		return float64(x.mix(drawFault, uint64(i), key, uint64(x.attempt), hashOf(tag))>>11) / (1 << 53)
	}
	hit := x.strikes(p, o)
	for _, f := range hit {
		x.Faults = append(x.Faults, f.Kind)
	}
	return hit
}

// atEdge is what stands before the vendor: faults of the network, and the
// check that a client says who it is.
func (x *exchange) atEdge(r *http.Request) *refusal {
	x.mu.Lock()
	hit := x.draw(edge, "")
	x.mu.Unlock()
	if len(hit) > 0 {
		return x.edgeRefusal(hit[0])
	}
	if r.UserAgent() == "" {
		return page(http.StatusForbidden)
	}
	return nil
}

func (x *exchange) edgeRefusal(f Fault) *refusal {
	switch f.Kind {
	case "unauthorized":
		return unauthorized(orElse(f.Message, "User not found."))
	case "html":
		return page(orElse(f.Status, 524)).retryAfter(f.RetryAfter)
	case "reset_early":
		x.Outcome = Broken
		panic(http.ErrAbortHandler)
	}
	return page(http.StatusForbidden).retryAfter(f.RetryAfter)
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// gateFault is a refusal that the vendor makes by itself. Server.mu is held.
func (x *exchange) gateFault() *refusal {
	hit := x.draw(gate, "")
	if len(hit) == 0 {
		return nil
	}
	return gateRefusal(hit[0], x.q.Model)
}

func gateRefusal(f Fault, model string) *refusal {
	switch f.Kind + "/" + f.variant() {
	case "payment/afford":
		return cannotAfford(65536, 4000, false)
	case "payment/credits":
		return noCredits()
	case "payment/never":
		return own(402, "no_credits", "Insufficient credits. This account never purchased credits. Make sure your key is on the correct account or org, and if so, purchase more.", nil)
	case "payment/prompt_limit":
		return own(402, "prompt_limit", "Prompt tokens limit exceeded: 1200 > 800. To increase, add credits and upgrade to a paid account", nil)
	case "forbidden/key_limit":
		return keyLimit("")
	case "forbidden/moderation":
		return own(403, "moderation", "Your chosen model requires moderation and your input was flagged",
			fields{"reasons": []string{"violence"}, "flagged_input": "...", "provider_name": "OpenAI", "model_slug": model})
	case "forbidden/guardrail":
		return own(403, "guardrail", "Request blocked by a guardrail", fields{"patterns": []string{"secret"}})
	case "forbidden/region":
		return unavailable(403, "region_restricted", "This model is not available in your region.", model, fields{"excluded_by": []string{"geo"}})
	case "not_found/endpoints":
		return unavailable(404, "no_endpoints", "No endpoints found for "+model+".", model, nil)
	case "not_found/guardrail":
		return unavailable(404, "privacy_restricted", "No endpoints available matching your guardrail restrictions and data policy.", model, fields{"excluded_by": []string{"data_policy:training"}})
	case "not_found/tools":
		return unavailable(404, "constraint_filtered", "No endpoints found that support tool use.", model, fields{"excluded_by": []string{"require_parameters"}})
	}
	return quota(f)
}

// quota is the refusal of free models, with its limits in headers.
func quota(f Fault) *refusal {
	window := "free-models-per-min"
	if f.variant() == "free_per_day" {
		window = "free-models-per-day"
	}
	limits := [][2]string{
		{"X-RateLimit-Limit", "20"}, {"X-RateLimit-Remaining", "0"},
		{"X-RateLimit-Reset", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli())},
	}
	headers := fields{}
	for _, l := range limits {
		headers[l[0]] = l[1]
	}
	r := own(429, "quota", "Rate limit exceeded: "+window, fields{"headers": headers}).retryAfter(f.RetryAfter)
	for _, l := range limits {
		r.with(l[0], l[1])
	}
	return r
}

// upstreamFault is an endpoint's error. Server.mu is held.
func (x *exchange) upstreamFault(e *endpoint) *refusal {
	hit := x.draw(upstream, e.tag)
	if len(hit) == 0 {
		return nil
	}
	if hit[0].Charge == "yes" {
		x.chargeUnseen(e)
	}
	return upstreamRefusal(hit[0], e, x.q.Model)
}

func upstreamRefusal(f Fault, e *endpoint, model string) *refusal {
	switch f.Kind + "/" + f.variant() {
	case "rate_limit/upstream":
		return upstreamBusy(e).retryAfter(f.RetryAfter)
	case "rate_limit/capacity":
		return unavailable(429, "capacity_exhausted", "All endpoints are at capacity.", model,
			fields{"retry_after": orElse(f.RetryAfter, "5")}).retryAfter(orElse(f.RetryAfter, "5"))
	case "rate_limit/html":
		return page(429).retryAfter(f.RetryAfter)
	}
	status := orElse(f.Status, 502)
	message := orElse(f.Message, "The upstream service answered with an error")
	switch {
	case status == 500: // masked: the vendor says nothing about it
		return own(500, "upstream_500", "Internal Server Error", nil)
	case f.variant() == "raw_html":
		return relayed(status, e.provider, "<html><body>"+message+"</body></html>", nil).retryAfter(f.RetryAfter)
	case f.variant() == "nested":
		inner := fields{"error": fields{"code": status, "message": message}}
		return &refusal{status: status, kind: fmt.Sprintf("upstream_%d", status), body: mustJSON(fields{"error": inner})}
	}
	raw := string(mustJSON(fields{"message": message, "code": status}))
	return relayed(status, e.provider, raw, nil).retryAfter(f.RetryAfter)
}

// chargeUnseen bills a completion that the client never gets: the request
// failed, and yet the upstream had run it. Server.mu is held.
func (x *exchange) chargeUnseen(e *endpoint) {
	limit, ok := x.q.limit()
	if most := e.largest(); !ok || limit > most {
		limit = most
	}
	tokens := min(limit, x.scenario.Text.MedianTokens)
	x.Billed = true
	b := newBill(e.priceFor(len(x.prompt.ids), time.Now()), bill{prompt: len(x.prompt.ids), completion: tokens}, false)
	x.PromptTokens, x.CompletionTokens = b.prompt, b.completion
	x.Cost = b.cost.pico().Int64()
	x.spend(x.key, x.Cost, time.Now())
}
