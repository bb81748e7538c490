package openrouter

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// vendorError is an error as the vendor's bodies and frames carry it.
type vendorError struct {
	code      int // the inner code, 0 when it has none or one that is a word
	message   string
	errorType string
	provider  string // set when it was relayed from a provider
	raw       string // the provider's own body
	availCode string
	excluded  []string // the filters that left no endpoint
	retryable *bool
	moderated bool // the prompt was looked at and refused
	unreached bool // no provider was asked
	wait      time.Duration
}

// errorBody is the shape of an error. Every member is raw, so that one of an
// unexpected kind spoils nothing but itself.
type errorBody struct {
	Error        jsontext.Value `json:"error"`
	Code         jsontext.Value `json:"code"`
	Message      jsontext.Value `json:"message"`
	ErrorType    jsontext.Value `json:"error_type"`
	Metadata     jsontext.Value `json:"metadata"`
	Availability jsontext.Value `json:"availability"`
}

type errorMetadata struct {
	ErrorType    jsontext.Value `json:"error_type"`
	ProviderName jsontext.Value `json:"provider_name"`
	Raw          jsontext.Value `json:"raw"`
	Headers      jsontext.Value `json:"headers"`
	Reasons      jsontext.Value `json:"reasons"`
	FlaggedInput jsontext.Value `json:"flagged_input"`
	Patterns     jsontext.Value `json:"patterns"`
}

type errorAvailability struct {
	Code       jsontext.Value `json:"code"`
	Retryable  jsontext.Value `json:"retryable"`
	RetryAfter jsontext.Value `json:"retry_after"`
	ExcludedBy jsontext.Value `json:"excluded_by"`
}

// parseVendorError reads the value of an "error" member: an object, an object
// inside an object, or a bare string.
func parseVendorError(v jsontext.Value) *vendorError {
	for range 3 {
		var b errorBody
		if v.Kind() != '{' || json.Unmarshal(v, &b, lenient) != nil {
			return &vendorError{message: textOf(v)}
		}
		if b.Message == nil && b.Error.Kind() == '{' {
			v = b.Error
			continue
		}
		e := &vendorError{message: textOf(b.Message), errorType: textOf(b.ErrorType)}
		e.code, _ = countOf(b.Code)
		e.readMetadata(b.Metadata)
		e.readAvailability(b.Availability)
		return e
	}
	return &vendorError{message: "an error inside an error"}
}

func (e *vendorError) readMetadata(v jsontext.Value) {
	var m errorMetadata
	if v.Kind() != '{' || json.Unmarshal(v, &m, lenient) != nil {
		return
	}
	e.provider, e.raw = textOf(m.ProviderName), textOf(m.Raw)
	if e.errorType == "" {
		e.errorType = textOf(m.ErrorType)
	}
	e.moderated = m.Reasons.Kind() == '[' || m.FlaggedInput.Kind() == '"' || m.Patterns.Kind() == '['
	var h struct {
		Reset jsontext.Value `json:"X-RateLimit-Reset"`
	}
	if m.Headers.Kind() == '{' && json.Unmarshal(m.Headers, &h, lenient) == nil {
		e.wait = untilReset(textOf(h.Reset), time.Now())
	}
}

func (e *vendorError) readAvailability(v jsontext.Value) {
	var a errorAvailability
	if v.Kind() != '{' || json.Unmarshal(v, &a, lenient) != nil {
		return
	}
	e.availCode, e.unreached = textOf(a.Code), true
	if k := a.Retryable.Kind(); k == 't' || k == 'f' {
		e.retryable = new(k == 't')
	}
	if w := seconds(textOf(a.RetryAfter)); w > 0 {
		e.wait = w
	}
	var by []jsontext.Value
	if a.ExcludedBy.Kind() == '[' && json.Unmarshal(a.ExcludedBy, &by, lenient) == nil {
		for _, v := range by {
			e.excluded = append(e.excluded, textOf(v))
		}
	}
}

// parseErrorDocument reads the body of a response that is an error.
func parseErrorDocument(body []byte) *vendorError {
	var doc struct {
		Error    jsontext.Value `json:"error"`
		Message  jsontext.Value `json:"message"`
		Metadata jsontext.Value `json:"openrouter_metadata"`
	}
	if json.Unmarshal(body, &doc, lenient) != nil {
		return &vendorError{message: string(body)}
	}
	var e *vendorError
	switch {
	case doc.Error != nil && doc.Error.Kind() != 'n':
		e = parseVendorError(doc.Error)
	case doc.Message != nil:
		e = parseVendorError(jsontext.Value(body))
	default:
		e = &vendorError{message: string(body)}
	}
	var router struct {
		Attempt jsontext.Value `json:"attempt"`
	}
	if doc.Metadata.Kind() == '{' && json.Unmarshal(doc.Metadata, &router, lenient) == nil {
		if n, ok := countOf(router.Attempt); ok && n == 0 {
			e.unreached = true
		}
	}
	return e
}

// err prints the error in full.
func (e *vendorError) err(code int) error {
	msg := strings.TrimSpace(e.message)
	if msg == "" {
		msg = http.StatusText(code)
	}
	if e.raw != "" {
		msg += ": " + e.raw
	}
	if e.provider != "" {
		msg = e.provider + ": " + msg
	}
	if len(e.excluded) > 0 {
		return fmt.Errorf("%d, excluded by %s: %s", code, strings.Join(e.excluded, ", "), msg)
	}
	return fmt.Errorf("%d: %s", code, msg)
}

// retryAfter reads the header: seconds or a date. Nonsense is no advice.
func retryAfter(s string, now time.Time) time.Duration {
	if d := seconds(s); d > 0 {
		return d
	}
	if t, err := http.ParseTime(s); err == nil && t.After(now) {
		return min(t.Sub(now), maxWait)
	}
	return 0
}

// untilReset reads X-RateLimit-Reset: a time in milliseconds, or in seconds,
// since 1970.
func untilReset(s string, now time.Time) time.Duration {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0
	}
	if n < 100_000_000_000 {
		n *= 1000
	}
	return max(0, min(time.UnixMilli(n).Sub(now), maxWait))
}

// maxWait bounds what a server may ask us to wait.
const maxWait = 10 * time.Minute

// isBlock reports whether a body is what the edge writes, instead of a page, to
// clients that are no browsers.
func isBlock(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("error code: ")) }

// isPage reports whether a body is a web page.
func isPage(contentType string, body []byte) bool {
	return contentType == "text/html" || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}
