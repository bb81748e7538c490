package openrouter

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// vendorError is an error as the vendor's bodies and frames carry it.
type vendorError struct {
	code      int    // the inner code, 0 when it has none
	word      string // the inner code when it is a word
	message   string
	errorType string
	provider  string // set when it was relayed from a provider
	raw       string // the provider's own body
	availCode string
	retryable *bool
	wait      time.Duration
}

type errorBody struct {
	Error     jsontext.Value `json:"error"`
	Code      jsontext.Value `json:"code"`
	Message   jsontext.Value `json:"message"`
	ErrorType string         `json:"error_type"`
	Metadata  struct {
		ErrorType    string         `json:"error_type"`
		ProviderName string         `json:"provider_name"`
		Raw          jsontext.Value `json:"raw"`
		Headers      struct {
			Reset jsontext.Value `json:"X-RateLimit-Reset"`
		} `json:"headers"`
	} `json:"metadata"`
	Availability struct {
		Code       string         `json:"code"`
		Retryable  *bool          `json:"retryable"`
		RetryAfter jsontext.Value `json:"retry_after"`
	} `json:"availability"`
}

// parseVendorError reads the value of an "error" member: an object, an object
// inside an object, or a bare string.
func parseVendorError(v jsontext.Value) vendorError {
	for range 3 {
		var b errorBody
		if v.Kind() != '{' || json.Unmarshal(v, &b, lenient) != nil && b.Message == nil {
			return vendorError{message: text(v)}
		}
		if b.Message == nil && b.Error.Kind() == '{' {
			v = b.Error
			continue
		}
		e := vendorError{
			message: text(b.Message), errorType: b.ErrorType, provider: b.Metadata.ProviderName,
			raw: text(b.Metadata.Raw), availCode: b.Availability.Code, retryable: b.Availability.Retryable,
			wait: seconds(text(b.Availability.RetryAfter)),
		}
		if e.errorType == "" {
			e.errorType = b.Metadata.ErrorType
		}
		code := text(b.Code)
		if n, err := strconv.Atoi(code); err == nil {
			e.code = n
		} else {
			e.word = code
		}
		return e
	}
	return vendorError{message: "an error inside an error"}
}

// text prints a JSON value as text: strings unquoted, null as nothing.
func text(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		if b, err := unquote(nil, v); err == nil {
			return string(b)
		}
	case 'n', 0:
		return ""
	}
	return string(v)
}

// statusError explains a response whose status is not 200.
func (c *Client) statusError(resp *http.Response, body []byte) *eyrie.Error {
	wait := retryAfter(resp.Header.Get("Retry-After"), time.Now())
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	trimmed := bytes.TrimSpace(body)
	if kind == "text/html" || bytes.HasPrefix(trimmed, []byte("<")) {
		return c.pageError(resp.StatusCode, wait)
	}
	var outer struct {
		Error jsontext.Value `json:"error"`
	}
	e := vendorError{message: fmt.Sprintf("%.200s", trimmed)}
	if json.Unmarshal(trimmed, &outer, lenient) == nil && outer.Error != nil {
		e = parseVendorError(outer.Error)
	}
	if wait > 0 {
		e.wait = wait
	}
	return e.classify(c, resp.StatusCode)
}

// pageError explains an HTML page: it comes from the edge, not from the API.
func (c *Client) pageError(status int, wait time.Duration) *eyrie.Error {
	e := &eyrie.Error{
		Kind: eyrie.Again, Charged: eyrie.ChargedUnknown, LaneWide: true, RetryAfter: max(wait, 5*time.Second),
		Class: strconv.Itoa(status) + " page", Err: fmt.Errorf("status %d with a page instead of an answer", status),
	}
	if status == http.StatusForbidden || status == http.StatusTooManyRequests {
		e.Charged, e.RetryAfter = eyrie.ChargedNo, max(wait, time.Minute)
	}
	return e
}

// classify turns a vendor's error into a decision. Status is that of the
// response; an inner code overrules a 200.
func (e *vendorError) classify(c *Client, status int) *eyrie.Error {
	code := status
	if code == http.StatusOK || code == 0 {
		code = e.innerStatus()
	}
	out := &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: strconv.Itoa(code), RetryAfter: e.wait, Err: e.err(c, code)}
	msg := strings.ToLower(e.message + " " + e.raw)
	switch code {
	case http.StatusTooManyRequests:
		out.LaneWide = true
		if strings.Contains(msg, "per-day") {
			out.Kind, out.Hint = eyrie.StopRun, "a daily quota is used up; run again tomorrow"
		}
	case http.StatusUnauthorized:
		out.Kind, out.LaneWide, out.Hint = eyrie.StopRun, true, "check the API key"
	case http.StatusPaymentRequired:
		out.Kind, out.Hint = eyrie.StopRun, "add credits or raise the key's limit, then run again: it goes on where it was"
	case http.StatusForbidden:
		e.forbidden(out, msg)
	case http.StatusNotFound:
		out.Kind, out.LaneWide = eyrie.Elsewhere, true
		if e.availCode == "" && e.provider == "" && strings.Contains(msg, "no endpoints found for") {
			out.Hint = "the endpoint is gone or a filter excludes it; see the list of providers"
		}
	case http.StatusBadRequest:
		out.Kind = eyrie.GiveUp
		if e.provider != "" && !knownRefusal(e.errorType) {
			out.Kind = eyrie.Elsewhere // relayed and odd: another provider may take it
		}
	case http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		out.Kind = eyrie.GiveUp
	case http.StatusRequestTimeout, http.StatusGatewayTimeout, 520, 522, 524:
		// The provider may have worked, and billed, behind the time-out.
		out.Charged, out.LaneWide = eyrie.ChargedUnknown, true
	default:
		if code >= 500 {
			out.LaneWide = true
		}
	}
	if e.retryable != nil && *e.retryable && out.Kind == eyrie.GiveUp {
		out.Kind = eyrie.Again
	}
	return out
}

func (e *vendorError) forbidden(out *eyrie.Error, msg string) {
	switch {
	case strings.Contains(msg, "key limit exceeded"), strings.Contains(msg, "budget"):
		out.Kind, out.Hint = eyrie.StopRun, "raise the key's limit, then run again: it goes on where it was"
	case strings.Contains(msg, "region"):
		out.Kind = eyrie.Elsewhere
	default:
		out.Kind = eyrie.GiveUp // moderation, a guardrail
	}
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
	case "provider_overloaded":
		return http.StatusServiceUnavailable
	case "timeout":
		return http.StatusGatewayTimeout
	case "not_found":
		return http.StatusNotFound
	case "content_policy_violation", "refusal":
		return http.StatusBadRequest
	}
	if knownRefusal(e.errorType) {
		return http.StatusBadRequest
	}
	return http.StatusBadGateway
}

// knownRefusal reports error types that will refuse the same prompt again.
func knownRefusal(errorType string) bool {
	switch errorType {
	case "context_length_exceeded", "max_tokens_exceeded", "token_limit_exceeded", "string_too_long",
		"invalid_request", "invalid_prompt", "content_policy_violation", "refusal":
		return true
	}
	return false
}

func (e *vendorError) err(c *Client, code int) error {
	msg := e.message
	if msg == "" {
		msg = http.StatusText(code)
	}
	if e.raw != "" {
		msg += ": " + e.raw
	}
	if e.provider != "" {
		msg = e.provider + ": " + msg
	}
	return c.scrub(errors.New(fmt.Sprintf("%.400s", msg)))
}

// retryAfter reads the header: seconds or a date. Nonsense is no advice.
func retryAfter(s string, now time.Time) time.Duration {
	if s == "" {
		return 0
	}
	if d := seconds(s); d > 0 {
		return d
	}
	if t, err := http.ParseTime(s); err == nil && t.After(now) {
		return min(t.Sub(now), maxWait)
	}
	return 0
}

// maxWait bounds what a server may ask us to wait.
const maxWait = 10 * time.Minute

func seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f <= 0 {
		return 0
	}
	return time.Duration(min(f, maxWait.Seconds()) * float64(time.Second))
}
