package openrouter

import (
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie"
)

// statusError explains a response whose status is not 200.
func (c *Client) statusError(resp *http.Response, body []byte) *eyrie.Error {
	now := time.Now()
	wait := retryAfter(resp.Header.Get("Retry-After"), now)
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); isPage(kind, body) || isBlock(body) {
		return pageError(resp.StatusCode, wait)
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e := redirectError(resp)
		e.Err = c.tidy(e.Err)
		return e
	}
	e := parseErrorDocument(body)
	switch {
	case wait > 0:
		e.wait = wait
	case e.wait == 0:
		e.wait = untilReset(resp.Header.Get("X-RateLimit-Reset"), now)
	}
	return c.explain(e, resp.StatusCode)
}

// explain turns a vendor's error into a decision, and hides the key.
func (c *Client) explain(e *vendorError, status int) *eyrie.Error {
	out := e.classify(status)
	out.Err = c.tidy(out.Err)
	return out
}

// redirectError explains a redirect, which is never followed: the key would go
// with it.
func redirectError(resp *http.Response) *eyrie.Error {
	to := "another place"
	if u, err := resp.Location(); err == nil {
		to = u.Scheme + "://" + u.Host
	}
	return &eyrie.Error{
		Kind: eyrie.StopRun, Charged: eyrie.ChargedNo, Class: strconv.Itoa(resp.StatusCode),
		Err: fmt.Errorf("%d: a redirect to %s", resp.StatusCode, to), Hint: "check base_url",
	}
}

// edgeBlock is how long at least the edge is left alone once it has blocked us.
const edgeBlock = time.Minute

// pageError explains an HTML page: it comes from the edge, not from the API. A
// block is a refusal of everything that comes from here; behind a gateway's
// error a provider may have worked.
func pageError(status int, wait time.Duration) *eyrie.Error {
	e := &eyrie.Error{
		Kind: eyrie.Again, Charged: eyrie.ChargedUnknown, LaneWide: true, RetryAfter: max(wait, 5*time.Second),
		Class: strconv.Itoa(status) + " page", Err: fmt.Errorf("status %d with a page instead of an answer", status),
	}
	if status == http.StatusForbidden || status == http.StatusTooManyRequests {
		e.Kind, e.Charged, e.RetryAfter = eyrie.Pause, eyrie.ChargedNo, max(wait, edgeBlock)
		e.Hint = "the network's edge blocks this machine"
	}
	return e
}

// classify turns a vendor's error into a decision. Status is that of the
// response; an inner code overrules a 200. It says what holds when nothing was
// answered yet.
func (e *vendorError) classify(status int) *eyrie.Error {
	code := status
	if code == http.StatusOK {
		code = e.innerStatus()
	}
	out := &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: strconv.Itoa(code), RetryAfter: e.wait, Err: e.err(code)}
	switch {
	case code == http.StatusTooManyRequests:
		e.tooMany(out)
	case e.relayed() && (code == http.StatusUnauthorized || code == http.StatusPaymentRequired):
		out.Kind, out.LaneWide = eyrie.Elsewhere, true // the vendor's account with the provider, not ours with the vendor
	case code == http.StatusUnauthorized:
		// A good key is sometimes unknown to the vendor for minutes, while one of
		// its databases is.
		out.Kind, out.LaneWide, out.Hint = eyrie.Pause, true, "check the API key"
	case code == http.StatusPaymentRequired:
		out.Kind, out.Hint = eyrie.StopRun, "add credits or raise the key's limit, then run again: it goes on where it was"
	case code == http.StatusForbidden:
		e.forbidden(out)
	case code == http.StatusNotFound:
		e.notFound(out)
	case code == http.StatusBadRequest, code == http.StatusPreconditionFailed,
		code == http.StatusRequestEntityTooLarge, code == http.StatusUnprocessableEntity:
		e.badRequest(out)
	case code == http.StatusRequestTimeout, code >= 500:
		out.LaneWide = true
		if !e.unreached {
			out.Charged = eyrie.ChargedUnknown
			out.PromptOnly = status == code && insured(code)
		}
	default:
		out.Kind, out.Charged = eyrie.Elsewhere, eyrie.ChargedUnknown
	}
	if e.retryable != nil && *e.retryable && out.Kind == eyrie.GiveUp {
		out.Kind = eyrie.Again
	}
	return out
}

// insured reports the statuses with which the vendor answers instead of a
// completion. What ended in an error is not billed, by its own rules, but for
// the prompt perhaps. Behind a time-out anything may have happened.
func insured(code int) bool {
	switch code {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, 529:
		return true
	}
	return false
}

// relayed reports whether a provider made the error, and not the vendor.
func (e *vendorError) relayed() bool {
	return e.provider != "" && (e.raw != "" || strings.EqualFold(e.message, "Provider returned error"))
}

// words is the error's text, to be searched.
func (e *vendorError) words() string { return strings.ToLower(e.message + " " + e.raw) }

func (e *vendorError) tooMany(out *eyrie.Error) {
	out.LaneWide = true
	if e.provider == "" && strings.Contains(e.words(), "per-day") {
		out.Kind, out.Hint = eyrie.StopRun, "a daily quota is used up; run again tomorrow"
	}
}

// forbidden tells a prompt that was refused from a key that was. What it does
// not know stops the run: every further prompt would meet the same.
func (e *vendorError) forbidden(out *eyrie.Error) {
	words := e.words()
	switch {
	case e.moderated, e.errorType == "content_policy_violation", strings.Contains(words, "moderation"), strings.Contains(words, "guardrail"):
		out.Kind = eyrie.GiveUp
	case e.availCode == "region_restricted":
		out.Kind = eyrie.Elsewhere
	case strings.Contains(words, "limit exceeded"), strings.Contains(words, "budget"):
		out.Kind, out.Hint = eyrie.StopRun, "raise the key's limit, then run again: it goes on where it was"
	case e.provider != "":
		out.Kind = eyrie.Elsewhere // the provider's own quarrel with the vendor
	default:
		out.Kind, out.Hint = eyrie.StopRun, "the key may not do this; see the account's settings"
	}
}

func (e *vendorError) notFound(out *eyrie.Error) {
	out.Kind, out.LaneWide = eyrie.Elsewhere, true
	out.Hint = "the endpoint is gone, or a filter or a setting of the account excludes it"
	e.unknownModel(out)
}

// badRequest tells a prompt that nobody will take from one that this provider
// does not.
func (e *vendorError) badRequest(out *eyrie.Error) {
	out.Kind = eyrie.GiveUp
	if e.provider != "" && !e.blamesPrompt() || strings.Contains(e.words(), "reasoning is mandatory") {
		out.Kind = eyrie.Elsewhere
	}
	e.unknownModel(out)
}

func (e *vendorError) unknownModel(out *eyrie.Error) {
	switch e.availCode {
	case "model_not_found", "wrong_endpoint", "model_deprecated", "free_variant_ended":
	default:
		if !strings.Contains(e.words(), "is not a valid model id") {
			return
		}
	}
	out.Kind, out.Hint = eyrie.StopRun, "check the model's name in the list of models"
}

// blamesPrompt reports whether a refusal is about the prompt itself, so that
// it would be refused again.
func (e *vendorError) blamesPrompt() bool {
	switch e.errorType {
	case "context_length_exceeded", "max_tokens_exceeded", "token_limit_exceeded", "string_too_long",
		"invalid_prompt", "content_policy_violation", "refusal":
		return true
	}
	words := e.words()
	for _, sign := range []string{"too long", "context length", "maximum context", "reasoning_content is missing"} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}

// innerStatus is the status an error inside a 200 stands for.
func (e *vendorError) innerStatus() int {
	if e.code >= 400 && e.code < 600 {
		return e.code
	}
	switch e.errorType {
	case "rate_limit_exceeded":
		return http.StatusTooManyRequests
	case "payment_required":
		return http.StatusPaymentRequired
	case "authentication":
		return http.StatusUnauthorized
	case "permission_denied":
		return http.StatusForbidden
	case "provider_overloaded":
		return http.StatusServiceUnavailable
	case "timeout":
		return http.StatusGatewayTimeout
	case "not_found":
		return http.StatusNotFound
	case "invalid_request":
		return http.StatusBadRequest
	case "unprocessable":
		return http.StatusUnprocessableEntity
	}
	if e.errorType != "" && e.blamesPrompt() {
		return http.StatusBadRequest
	}
	return http.StatusBadGateway
}
