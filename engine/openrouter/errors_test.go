package openrouter_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// TestRefusals reads recorded bodies of refusals: statuses other than 200.
func TestRefusals(t *testing.T) {
	own := func(code int, message, more string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q%s},"user_id":"user_2abc"}`, code, message, more)
	}
	relayed := func(code int, errorType, raw string) string {
		return own(code, "Provider returned error", fmt.Sprintf(`,"metadata":{"error_type":%q,"raw":%q,"provider_name":"AtlasCloud","is_byok":false}`, errorType, raw))
	}
	unavailable := func(code string, retryable bool, more string) string {
		return fmt.Sprintf(`{"error":{"message":"not now","availability":{"code":%q,"retryable":%v,"docs_url":"x"%s}}}`, code, retryable, more)
	}
	const unreached = `,"openrouter_metadata":{"attempt":0,"endpoints":{"available":[]}}}`
	for _, row := range []struct {
		name    string
		status  int
		body    string
		kind    eyrie.ErrorKind
		charged eyrie.Charged
		text    string // is part of the error
	}{
		{"400 by validation", 400, own(400, "reasoning.effort: Invalid option: expected one of high", ""), giveUp, no, "Invalid option"},
		{"400 not a model", 400, own(400, "kimi is not a valid model ID", ""), stopRun, no, "check the model's name"},
		{"400 not a model, by availability", 400, unavailable("model_not_found", false, ""), stopRun, no, "not now"},
		{"400 relayed, context too long", 400, relayed(400, "context_length_exceeded", "no"), giveUp, no, "AtlasCloud"},
		{"400 relayed, prompt too long by its words", 400, relayed(400, "invalid_request", `{"message":"prompt is too long: 9 tokens > 8 maximum"}`), giveUp, no, "too long"},
		{"400 relayed, a refusal", 400, relayed(400, "refusal", ""), giveUp, no, ""},
		{"400 relayed, odd", 400, relayed(400, "invalid_request", "bad thing"), elsewhere, no, "bad thing"},
		{"401", 401, own(401, "No auth credentials found", ""), pause, no, "check the API key"},
		{"401 relayed", 401, relayed(401, "authentication", "bad key"), elsewhere, no, "AtlasCloud"},
		{"402 relayed", 402, relayed(402, "payment_required", "no balance"), elsewhere, no, "AtlasCloud"},
		{"402 with previous errors", 402, own(402, "This request requires more credits, or fewer max_tokens. You requested up to 16384 tokens, but can only afford 400.", `,"metadata":{"provider_name":null,"previous_errors":[{"code":402}]}`), stopRun, no, "goes on where it was"},
		{"403 key limit", 403, own(403, "Key limit exceeded (monthly limit). Manage it using the keys page", ""), stopRun, no, "raise the key's limit"},
		{"403 workspace budget", 403, own(403, "Workspace budget is used up", ""), stopRun, no, ""},
		{"403 moderation", 403, own(403, "flagged", `,"metadata":{"reasons":["violence"],"flagged_input":"..."}`), giveUp, no, ""},
		{"403 guardrail", 403, own(403, "Request blocked", `,"metadata":{"patterns":["secret"]}`), giveUp, no, ""},
		{"403 region", 403, unavailable("region_restricted", false, ""), elsewhere, no, ""},
		{"403 nobody knows why", 403, own(403, "Forbidden", ""), stopRun, no, "account's settings"},
		{"403 relayed", 403, relayed(403, "permission_denied", "no"), elsewhere, no, ""},
		{"404 with the filters", 404, unavailable("constraint_filtered", false, `,"excluded_by":["max_price","quantization"]`), elsewhere, no, "max_price, quantization"},
		{"404 deprecated", 404, unavailable("model_deprecated", false, ""), stopRun, no, ""},
		{"408", 408, own(408, "Request timed out", ""), again, unknown, ""},
		{"408 that reached nobody", 408, strings.TrimSuffix(own(408, "Request timed out", ""), "}") + unreached, again, no, ""},
		{"412", 412, own(412, "no", ""), giveUp, no, ""},
		{"413", 413, own(413, "too large", ""), giveUp, no, ""},
		{"422 relayed", 422, relayed(422, "unprocessable", "max_tokens"), elsewhere, no, ""},
		{"a retryable 422", 422, unavailable("new_thing", true, ""), again, no, ""},
		{"418", 418, own(418, "teapot", ""), elsewhere, unknown, ""},
		{"429 relayed", 429, relayed(429, "rate_limit_exceeded", "per-day pool"), again, no, ""},
		{"429 per day", 429, own(429, "Rate limit exceeded: free-models-per-day", ""), stopRun, no, "tomorrow"},
		{"500 masked", 500, own(500, "Internal Server Error", ""), again, unknown, ""},
		{"500 that is a string", 500, `{"error":"boom"}`, again, unknown, "boom"},
		{"500 without an error member", 500, `{"message":"oops"}`, again, unknown, "oops"},
		{"500 with nothing", 500, "", again, unknown, "Internal Server Error"},
		{"502 relayed", 502, relayed(502, "provider_unavailable", "<html>"), again, unknown, ""},
		{"503 relayed", 503, relayed(503, "provider_overloaded", ""), again, unknown, ""},
		{"503 that reached nobody", 503, unavailable("temporarily_unavailable", true, ""), again, no, ""},
		{"504", 504, own(504, "timeout", ""), again, unknown, ""},
		{"529", 529, own(529, "overloaded", ""), again, unknown, ""},
		{"nested three deep", 502, `{"error":{"error":{"error":{"error":{"message":"deep"}}}}}`, again, unknown, "inside an error"},
		{"members of odd kinds", 502, `{"error":{"code":[1],"message":{"a":1},"metadata":"none","availability":7}}`, again, unknown, `{"a":1}`},
		{"JSON that is cut", 502, `{"error":{"code":502,"mess`, again, unknown, "mess"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := play(t, row.status, asJSON, row.body)
			if h.kind() != row.kind || h.charged() != row.charged || h.class() != fmt.Sprint(row.status) || !strings.Contains(h.err.Error(), row.text) {
				t.Errorf("%v, charged %v, class %q, %v; want %v, %v and %q in it", h.kind(), h.charged(), h.class(), h.err, row.kind, row.charged, row.text)
			}
			if string(h.FinalFrame) != row.body {
				t.Errorf("kept %q", h.FinalFrame)
			}
			for _, ev := range h.events {
				if ev.Kind == eyrie.Opened {
					t.Error("a refused request was opened")
				}
			}
		})
	}
}

// TestWords reads errors inside 200 that carry a word instead of a code.
func TestWords(t *testing.T) {
	for _, row := range []struct {
		word    string
		class   string
		kind    eyrie.ErrorKind
		charged eyrie.Charged
	}{
		{"rate_limit_exceeded", "in-band 429", again, no},
		{"payment_required", "in-band 402", stopRun, no},
		{"authentication", "in-band 401", pause, no},
		{"permission_denied", "in-band 403", stopRun, no},
		{"provider_overloaded", "in-band 503", again, unknown},
		{"provider_unavailable", "in-band 502", again, unknown},
		{"timeout", "in-band 504", again, unknown},
		{"not_found", "in-band 404", elsewhere, no},
		{"invalid_request", "in-band 400", giveUp, no},
		{"unprocessable", "in-band 422", giveUp, no},
		{"content_policy_violation", "in-band 400", giveUp, no},
		{"context_length_exceeded", "in-band 400", giveUp, no},
		{"something_new", "in-band 502", again, unknown},
	} {
		for name, body := range map[string]string{
			"at the top":  `{"error":{"message":"x","error_type":"` + row.word + `"}}`,
			"in metadata": `data: {"error":{"message":"x","code":"` + row.word + `","metadata":{"error_type":"` + row.word + `"}},"choices":[]}` + "\n\n",
		} {
			h := play(t, 200, asStream, body)
			if h.class() != row.class || h.kind() != row.kind || h.charged() != row.charged {
				t.Errorf("%s %s: %q, %v, charged %v; want %q, %v, %v", row.word, name, h.class(), h.kind(), h.charged(), row.class, row.kind, row.charged)
			}
			// After text nothing is sure.
			if h := play(t, 200, asStream, delta(thinks)+"data: "+strings.TrimPrefix(body, "data: ")+"\n\n"); h.class() != row.class || h.charged() != unknown {
				t.Errorf("%s %s, after text: %q, charged %v", row.word, name, h.class(), h.charged())
			}
		}
	}
}

// TestWait reads how long the server asks to wait (P58, P64).
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reset := fmt.Sprint(time.Now().Add(45 * time.Second).UnixMilli())
		for _, row := range []struct {
			name   string
			status int
			header http.Header
			body   string
			want   time.Duration
		}{
			{"seconds", 429, http.Header{"Retry-After": {"7"}}, "{}", 7 * time.Second},
			{"a fraction", 503, http.Header{"Retry-After": {"0.5"}}, "{}", 500 * time.Millisecond},
			{"a date", 429, http.Header{"Retry-After": {time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)}}, "{}", 30 * time.Second},
			{"a date that is past", 429, http.Header{"Retry-After": {"Fri, 02 Jan 1998 15:04:05 GMT"}}, "{}", 0},
			{"nothing", 429, nil, "{}", 0},
			{"zero", 429, http.Header{"Retry-After": {"0"}}, "{}", 0},
			{"nonsense", 429, http.Header{"Retry-After": {"NaN"}}, "{}", 0},
			{"a year", 429, http.Header{"Retry-After": {"31536000"}}, "{}", 10 * time.Minute},
			{"for ever", 429, http.Header{"Retry-After": {"1e300"}}, "{}", 10 * time.Minute},
			{"reset in the header, in milliseconds", 429, http.Header{"X-Ratelimit-Reset": {reset}}, "{}", 45 * time.Second},
			{"reset in the header, in seconds", 429, http.Header{"X-Ratelimit-Reset": {fmt.Sprint(time.Now().Add(45 * time.Second).Unix())}}, "{}", 45 * time.Second},
			{"reset in the body", 429, nil, `{"error":{"message":"x","metadata":{"headers":{"X-RateLimit-Reset":"` + reset + `"}}}}`, 45 * time.Second},
			{"availability", 429, nil, `{"error":{"message":"x","availability":{"code":"capacity_exhausted","retryable":true,"retry_after":5}}}`, 5 * time.Second},
			{"a page of the edge", 429, http.Header{"Content-Type": {"text/html"}}, "<html>", time.Minute},
			{"a block of the edge", 403, http.Header{"Content-Type": {"text/html"}}, "<html>", time.Minute},
			{"a time-out page", 522, http.Header{"Content-Type": {"text/html"}}, "<html>", 5 * time.Second},
		} {
			c, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for name, values := range row.header {
					w.Header()[name] = values
				}
				w.WriteHeader(row.status)
				io.WriteString(w, row.body)
			}), nil)
			if h := ask(t, t.Context(), c, request(recordedLane())); h.err == nil || h.err.RetryAfter != row.want || !h.err.LaneWide {
				t.Errorf("%s: %+v, want a wait of %v", row.name, h.err, row.want)
			}
		}
	})
}

// TestEdgeBlocks has the edge turn everything away, in its three ways: the run
// must pause for a minute at least.
func TestEdgeBlocks(t *testing.T) {
	for _, row := range []struct {
		name        string
		status      int
		contentType string
		body, after string
		kind        eyrie.ErrorKind
		wait        time.Duration
	}{
		{"a page with 403", 403, "text/html", "<html>Attention Required!</html>", "", pause, time.Minute},
		{"a page with 429", 429, "text/html", "<html>You are being rate limited</html>", "", pause, time.Minute},
		{"a page with 429 that asks for more", 429, "text/html", "<html></html>", "300", pause, 5 * time.Minute},
		{"a page with 429 that asks for less", 429, "text/html", "<html></html>", "2", pause, time.Minute},
		{"error 1015 in a line", 429, "text/plain; charset=UTF-8", "error code: 1015", "", pause, time.Minute},
		{"error 1020 in a line", 403, "text/plain; charset=UTF-8", "error code: 1020\n", "", pause, time.Minute},
		{"a gateway's page", 502, "text/html", "<html>Bad gateway</html>", "", again, 5 * time.Second},
		{"a gateway's line", 502, "text/plain", "error code: 502", "", again, 5 * time.Second},
		{"a refusal of the API", 429, "application/json", `{"error":{"code":429,"message":"slow down"}}`, "", again, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", row.contentType)
					if row.after != "" {
						w.Header().Set("Retry-After", row.after)
					}
					w.WriteHeader(row.status)
					io.WriteString(w, row.body)
				}), nil)
				h := ask(t, t.Context(), c, request(recordedLane()))
				if h.kind() != row.kind || h.err.RetryAfter != row.wait {
					t.Errorf("%v after %v: %v; want %v after %v", h.kind(), h.err.RetryAfter, h.err, row.kind, row.wait)
				}
				if e, ok := eyrie.AsError(c.Probe(t.Context())); !ok || e.Kind != row.kind {
					t.Errorf("the probe says %v", e)
				}
			})
		})
	}
}

// TestKeyStaysHidden has the vendor repeat the key wherever it can, so that it
// would be cut in the middle by every bound on the length of a text.
func TestKeyStaysHidden(t *testing.T) {
	hides := func(t *testing.T, h *heard) {
		t.Helper()
		if h.err == nil {
			t.Fatal("no error")
		}
		for _, text := range []string{h.err.Error(), fmt.Sprintf("%+v", h.err), string(h.FinalFrame)} {
			if strings.Contains(text, testKey[:12]) {
				t.Errorf("the key shows in %q", text)
			}
		}
	}
	for _, n := range []int{16<<10 - 20, 16<<10 - 60} { // bounds on what is kept
		hides(t, play(t, 502, asJSON, strings.Repeat("x", n)+testKey))
		hides(t, play(t, 200, asStream, `data: {"error":"`+strings.Repeat("x", n)+testKey+`"}`+"\n\n"))
	}
	for n := range 60 {
		pad := strings.Repeat("x", 100+8*n)
		hides(t, play(t, 401, asJSON, `{"error":{"code":401,"message":"`+pad+testKey+` is unknown"}}`))
		hides(t, play(t, 502, asJSON, pad+testKey))
		hides(t, play(t, 200, asStream, `data: {"a":"`+pad+testKey+"\n\n"))
		hides(t, play(t, 200, asStream, `data: {"error":{"code":502,"message":"`+pad+testKey+`"}}`+"\n\n"))
		hides(t, play(t, 200, asStream, delta(thinks)+finish("stop", `,"openrouter_metadata":{"pipeline":["`+pad+testKey+`"]}`)+done))
		hides(t, play(t, 200, asStream, strings.ReplaceAll(delta(thinks)+delta(says)+finish("stop", "")+done, "AtlasCloud", pad+testKey)))
	}
}

// TestCancel leaves attempts from this side, before and after the request is
// out.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, emulator.Fault{Kind: "stall", Value: "comments", After: 40})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		h := ask(t, ctx, w.client, request(w.lanes[atlas]))
		if h.class() != "cancelled" || h.kind() != again || h.charged() != unknown || h.Reasoning == "" || h.took != 10*time.Second {
			t.Errorf("mid-stream: %v after %v with %d bytes", h.err, h.took, len(h.Reasoning))
		}
		synctest.Wait()
		if e := w.Books()[0]; !e.Cancelled || e.Cost == 0 {
			t.Errorf("the vendor's books: cancelled %v, cost %d", e.Cancelled, e.Cost)
		}
		if h := ask(t, ctx, w.client, request(w.lanes[atlas])); h.class() != "cancelled" || h.charged() != no || len(w.Books()) != 1 {
			t.Errorf("before the request: %v, charged %v", h.err, h.charged())
		}
	})
}

// TestBreak leaves the loop, at each kind of event.
func TestBreak(t *testing.T) {
	for _, at := range []eyrie.EventKind{eyrie.Opened, eyrie.Progress, eyrie.Ended} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, func(s *emulator.Scenario, _ *openrouter.Config) { s.Timing.TokenRate = 50 })
			last := eyrie.EventKind(0)
			for ev := range w.client.Stream(t.Context(), request(w.lanes[atlas])) {
				if last = ev.Kind; last == at {
					break
				}
			}
			synctest.Wait() // the request is gone before the loop's next line
			if left := w.Totals().InFlight[atlas]; last != at || left != 0 {
				t.Errorf("left at %v, want %v; %d requests are still in flight", last, at, left)
			}
			if cancelled := w.Books()[0].Cancelled; cancelled != (at != eyrie.Ended) {
				t.Errorf("left at %v: cancelled is %v", at, cancelled)
			}
		})
	}
}
