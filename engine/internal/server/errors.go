package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// hiddenKey stands where the key was in a text that is not ours, and maxText
// bounds such a text.
const (
	hiddenKey = "[key]"
	maxText   = 600
)

// tidy makes an error fit to be shown and kept.
func (c *Client) tidy(err error) error {
	text := err.Error()
	clean := text
	if ue, ok := errors.AsType[*url.Error](err); ok {
		clean = ue.Err.Error() // the address is named beside it
	}
	if c.Key != "" {
		clean = strings.ReplaceAll(clean, c.Key, hiddenKey)
	}
	if len(clean) > maxText {
		clean = strings.ToValidUTF8(clean[:maxText], "") + "..."
	}
	if clean == text {
		return err
	}
	return errors.New(clean)
}

// backOff is how long a lane rests whose server did not take a request.
const backOff = time.Second

// unreachable explains a server that is not there.
func (c *Client) unreachable(path string, err error) *eyrie.Error {
	return &eyrie.Error{
		Op: c.Engine + ": " + path, Subject: c.BaseURL, Kind: eyrie.Again, Charged: eyrie.ChargedNo, LaneWide: true, RetryAfter: backOff,
		Class: "connection", Err: c.tidy(err), Hint: "is the server running, and is base_url right?",
	}
}

func (c *Client) failure(path string, err error) *eyrie.Error {
	return &eyrie.Error{
		Op: c.Engine + ": " + path, Subject: c.BaseURL, Kind: eyrie.StopRun, Charged: eyrie.ChargedNo, Class: "request", Err: c.tidy(err),
	}
}

// statusError explains a response whose status is not 200. Nothing that it
// refuses has been charged.
func (c *Client) statusError(resp *http.Response, body []byte) *eyrie.Error {
	code := resp.StatusCode
	e := &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: strconv.Itoa(code), RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
	words := errorText(body)
	if words == "" {
		words = http.StatusText(code)
	}
	e.Err = c.tidy(fmt.Errorf("%d: %s", code, words))
	c.judge(e, code, words)
	return e
}

// judge turns a status and its words into a decision.
func (c *Client) judge(e *eyrie.Error, code int, words string) {
	low := strings.ToLower(words)
	switch {
	case code == http.StatusTooManyRequests:
		e.LaneWide = true
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		e.Kind, e.LaneWide, e.RetryAfter = eyrie.Elsewhere, true, max(e.RetryAfter, 30*time.Second)
		e.Hint = "the server wants an API key: set key_file"
	case code == http.StatusNotFound:
		e.Kind, e.LaneWide = eyrie.Elsewhere, true
		e.Hint = "the server has no such model or address"
	case code >= 300 && code < 400:
		e.Kind, e.LaneWide, e.Hint = eyrie.Elsewhere, true, "a redirect is not followed: set base_url to where it leads"
	case code == http.StatusRequestTimeout, code >= 500:
		e.LaneWide, e.RetryAfter = true, max(e.RetryAfter, backOff)
	case strings.Contains(low, "context length"), strings.Contains(low, "maximum context"), strings.Contains(low, "context size"), strings.Contains(low, "too long"):
		// Another server may take it; where there is none it is given up.
		e.Kind = eyrie.Elsewhere
	case code >= 400:
		e.Kind = eyrie.GiveUp
	}
}

// errorText finds the words in the body of an error: an object under "error",
// an object that calls itself one, FastAPI's detail, or bare text.
func errorText(body []byte) string {
	var doc struct {
		Error   jsontext.Value `json:"error"`
		Message jsontext.Value `json:"message"`
		Detail  jsontext.Value `json:"detail"`
	}
	if json.Unmarshal(body, &doc, lenient) != nil {
		if strings.HasPrefix(strings.TrimSpace(string(body)), "<") {
			return "a web page"
		}
		return strings.TrimSpace(string(body))
	}
	if doc.Error.Kind() == '{' {
		return errorText(doc.Error)
	}
	for _, v := range []jsontext.Value{doc.Message, doc.Error, doc.Detail} {
		if s := textOf(v); s != "" {
			return s
		}
	}
	return string(body)
}

// textOf prints a JSON value as text: strings unquoted, null as nothing.
func textOf(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		b, _ := jsontext.AppendUnquote(nil, v) // what is no Unicode text it replaces
		return string(b)
	case 'n', 0:
		return ""
	}
	return string(v)
}

// maxWait bounds what a server may ask us to wait.
const maxWait = 10 * time.Minute

func retryAfter(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) {
		return 0
	}
	return time.Duration(min(f, maxWait.Seconds()) * float64(time.Second))
}
