package emulator

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// refusal is an answer other than a completion.
type refusal struct {
	status int
	kind   string // one word for the books
	html   bool
	body   []byte
	header http.Header
}

func (r *refusal) write(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	contentType := "application/json"
	if r.html {
		contentType = "text/html; charset=UTF-8"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(r.status)
	w.Write(r.body)
}

// with sets a header.
func (r *refusal) with(name, value string) *refusal {
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set(name, value)
	return r
}

// retryAfter sets Retry-After as a scenario words it: seconds, or
// "date:SECONDS" for a date that far away. An empty hint sets nothing.
func (r *refusal) retryAfter(hint string) *refusal {
	if hint == "" {
		return r
	}
	if seconds, ok := strings.CutPrefix(hint, "date:"); ok {
		n, _ := strconv.Atoi(seconds)
		hint = time.Now().Add(time.Duration(n) * time.Second).UTC().Format(http.TimeFormat)
	}
	return r.with("Retry-After", hint)
}

type fields = map[string]any

// short is what an error after it says of a refusal by an endpoint.
func (r *refusal) short(e *endpoint) fields {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	f := fields{"provider": e.provider, "code": r.status, "status": r.status}
	if json.Unmarshal(r.body, &body) == nil && body.Error.Message != "" {
		f["message"] = body.Error.Message
	}
	return f
}

// after is the refusal with what other endpoints said before it.
func (r *refusal) after(before []fields) *refusal {
	var body fields
	if len(before) == 0 || json.Unmarshal(r.body, &body) != nil {
		return r
	}
	if e, ok := body["error"].(map[string]any); ok {
		metadata, ok := e["metadata"].(map[string]any)
		if !ok {
			metadata = fields{}
		}
		metadata["previous_errors"] = before
		e["metadata"] = metadata
		r.body = mustJSON(body)
	}
	return r
}

// own is a refusal that the vendor itself makes.
func own(status int, kind, message string, metadata fields) *refusal {
	e := fields{"code": status, "message": message}
	if metadata != nil {
		e["metadata"] = metadata
	}
	return &refusal{status: status, kind: kind, body: mustJSON(fields{"error": e})}
}

// unavailable is a refusal with the availability block that tells why no
// endpoint may answer.
func unavailable(status int, code, message, model string, more fields) *refusal {
	availability := fields{
		"code": code, "retryable": status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable,
		"requested_models": []string{model},
	}
	for k, v := range more {
		availability[k] = v
	}
	return &refusal{status: status, kind: code, body: mustJSON(fields{"error": fields{
		"code": status, "message": message, "error_type": errorType(status), "http_status": status,
		"availability": availability,
	}})}
}

// relayed is an upstream's error, wrapped.
func relayed(status int, provider, raw string, metadata fields) *refusal {
	m := fields{"error_type": errorType(status), "raw": raw, "provider_name": provider, "is_byok": false}
	for k, v := range metadata {
		m[k] = v
	}
	return &refusal{status: status, kind: "upstream_" + strconv.Itoa(status), body: mustJSON(fields{
		"error":   fields{"code": status, "message": "Provider returned error", "metadata": m},
		"user_id": userID,
	})}
}

// page is an HTML error page of the network in front of the vendor.
func page(status int) *refusal {
	title := fmt.Sprintf("%d %s", status, http.StatusText(status))
	return &refusal{status: status, kind: "edge_" + strconv.Itoa(status), html: true, body: fmt.Appendf(nil,
		"<!DOCTYPE html>\n<html><head><title>%s</title></head>\n<body><h1>%s</h1><p>Error code %d</p></body></html>\n", title, title, status)}
}

const userID = "user_emulated"

// errorType is the vendor's word for a status.
func errorType(status int) string {
	switch status {
	case 400:
		return "invalid_request"
	case 401:
		return "authentication"
	case 402:
		return "payment_required"
	case 403:
		return "permission_denied"
	case 404:
		return "not_found"
	case 408, 504, 524:
		return "timeout"
	case 412:
		return "precondition_failed"
	case 413:
		return "payload_too_large"
	case 422:
		return "unprocessable"
	case 429:
		return "rate_limit_exceeded"
	case 502:
		return "provider_unavailable"
	case 503, 529:
		return "provider_overloaded"
	}
	return "server"
}
