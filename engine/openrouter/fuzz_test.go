package openrouter_test

import (
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// response is what the vendor of a fuzz target answers next.
type response struct {
	status      int
	contentType string
	body        []byte
}

// fuzzed starts a vendor that answers whatever it is told to. The network makes
// coverage differ from run to run, so fuzz with -fuzzminimizetime 10x, or most
// of the time goes into looking for smaller inputs.
func fuzzed(f *testing.F) (*openrouter.Client, *atomic.Pointer[response]) {
	next := new(atomic.Pointer[response])
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r := next.Load()
		w.Header().Set("Content-Type", r.contentType)
		w.WriteHeader(r.status)
		w.Write(r.body)
	}))
	c, err := openrouter.New(openrouter.Config{BaseURL: web.URL, Key: testKey, Logprobs: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		c.Close()
		web.Close()
	})
	return c, next
}

var contentTypes = []string{"text/event-stream", "application/json", "text/html", ""}

// maxErrorText is how long an error may print, with its place and its hint.
const maxErrorText = 1000

// FuzzStream answers with status 200 and any body. What is accepted must be
// what a slow and simple reading of the body finds, and free of errors.
func FuzzStream(f *testing.F) {
	good := delta(thinks) + delta(says) + finish("stop", "") + billed() + done
	for _, seed := range []string{
		good, ": OPENROUTER PROCESSING\n\n" + strings.ReplaceAll(good, "\n", "\r\n"),
		delta(thinks) + frame(`"error":{"code":502,"message":"gone"},"choices":[]`),
		delta(`"reasoning_content":"a"`) + delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]`) + finish("tool_calls", `,`+usage),
		delta(thinks+`},"logprobs":{"content":[{"token":"a","bytes":[97,0],"logprob":-1e-3}]},"x":{"a":1`) + finish("stop", ""),
		`{"error":{"error":{"code":"x","message":7}}}`, "\n\n .", "<html>", `{"choices":[{"finish_reason":"stop","message":{"content":"x"}}]}`,
	} {
		for i := range contentTypes {
			f.Add(uint8(i), []byte(seed))
		}
	}
	c, next := fuzzed(f)
	f.Fuzz(func(t *testing.T, contentType uint8, body []byte) {
		next.Store(&response{200, contentTypes[int(contentType)%len(contentTypes)], body})
		lane := recordedLane()
		lane.Parameters = []string{"logprobs"}
		h := ask(t, t.Context(), c, request(lane))
		if _, err := json.Marshal(h.Logprobs); err != nil {
			t.Errorf("tokens that cannot be journaled: %v", err)
		}
		if h.err != nil {
			if len(h.err.Error()) > maxErrorText {
				t.Errorf("an error of %d bytes", len(h.err.Error()))
			}
			if h.err.Charged == no && (h.Reasoning+h.Content != "" || h.Usage.Given || h.FinishReason != "" && h.FinishReason != "error") {
				t.Errorf("charged no, and something came: %+v", h.Answer)
			}
			return
		}
		content, failed := slowly(body)
		if failed || h.Content != content {
			t.Errorf("accepted %q; a slow reading finds %q, failed %v", h.Content, content, failed)
		}
		if h.FinishReason != "stop" && h.FinishReason != "length" && h.FinishReason != "tool_calls" {
			t.Errorf("accepted under finish reason %q", h.FinishReason)
		}
		if h.Provider == "" || h.Model != model {
			t.Errorf("accepted from %q, %q", h.Provider, h.Model)
		}
	})
}

// slowly finds the content of a body, and whether there is an error in it.
func slowly(body []byte) (content string, failed bool) {
	for _, doc := range documents(string(body)) {
		dec := jsontext.NewDecoder(strings.NewReader(doc), loose)
		for {
			v, err := dec.ReadValue()
			if err != nil {
				break
			}
			for name, v := range members(v) {
				switch name {
				case "error":
					failed = failed || v.Kind() != 'n'
				case "choices":
					c, f := choices(v)
					content, failed = content+c, failed || f
				}
			}
		}
	}
	return content, failed
}

// documents cuts a body into its JSON documents.
func documents(body string) (docs []string) {
	body = strings.TrimLeft(body, "\ufeff \t\r\n")
	if strings.HasPrefix(body, "{") {
		return []string{body}
	}
	var event []string
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body), "\n") {
		if data, ok := strings.CutPrefix(line, "data"); ok && (data == "" || data[0] == ':') {
			event = append(event, strings.TrimPrefix(strings.TrimPrefix(data, ":"), " "))
		}
		if line != "" || event == nil {
			continue
		}
		doc, last := strings.CutSuffix(strings.TrimSpace(strings.Join(event, "\n")), "[DONE]")
		docs, event = append(docs, doc), nil
		if last {
			break
		}
	}
	return docs
}

// choices finds the same in a list of choices.
func choices(v jsontext.Value) (content string, failed bool) {
	var list []jsontext.Value
	if json.Unmarshal(v, &list, loose) != nil {
		return "", false
	}
	for _, c := range list {
		for name, v := range members(c) {
			switch name {
			case "error":
				failed = failed || v.Kind() != 'n'
			case "delta", "message":
				for name, v := range members(v) {
					var s string
					if name == "content" && json.Unmarshal(v, &s, loose) == nil {
						content += s
					}
				}
			}
		}
	}
	return content, failed
}

var loose = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// members yields the members of an object, doubled names as often as they come.
func members(v jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		if v.Kind() != '{' {
			return
		}
		dec := jsontext.NewDecoder(strings.NewReader(string(v)), loose)
		dec.ReadToken()
		for dec.PeekKind() == '"' {
			name, _ := dec.ReadToken()
			n := name.String()
			value, err := dec.ReadValue()
			if err != nil || !yield(n, value.Clone()) {
				return
			}
		}
	}
}

// FuzzRefusal answers with any other status and any body. Whatever it says, it
// must become a decision, and a 5xx is free only by the router's own word.
func FuzzRefusal(f *testing.F) {
	for _, seed := range []string{
		`{"error":{"code":429,"message":"Provider returned error","metadata":{"raw":"{}","provider_name":"AtlasCloud","headers":{"X-RateLimit-Reset":"1741305600000"}}},"user_id":"u"}`,
		`{"error":{"message":"x","availability":{"code":"capacity_exhausted","retryable":true,"retry_after":5,"excluded_by":["a"]}}}`,
		`{"error":{"error":{"error":{"code":"502"}}},"openrouter_metadata":{"attempt":0}}`, `{"error":"x"}`, `{"message":"x"}`, "<html>", "", "null", "[1]",
	} {
		for _, status := range []uint16{301, 400, 401, 402, 403, 404, 408, 429, 500, 503, 524} {
			f.Add(status, uint8(1), []byte(seed))
		}
	}
	c, next := fuzzed(f)
	f.Fuzz(func(t *testing.T, status uint16, contentType uint8, body []byte) {
		status = 201 + status%399
		if status == 204 || status == 304 {
			return // these have no body
		}
		next.Store(&response{int(status), contentTypes[int(contentType)%len(contentTypes)], body})
		h := ask(t, t.Context(), c, request(recordedLane()))
		if h.err == nil {
			t.Fatalf("status %d was accepted", status)
		}
		if len(h.err.Error()) > maxErrorText || h.err.RetryAfter < 0 {
			t.Errorf("an error of %d bytes, a wait of %v", len(h.err.Error()), h.err.RetryAfter)
		}
		word := strings.Contains(string(body), "availability") || strings.Contains(string(body), "attempt") || strings.Contains(string(body), `\u`)
		if h.err.Charged == eyrie.ChargedNo && status >= 500 && !word {
			t.Errorf("status %d is taken to be free: %v", status, h.err)
		}
		if h.err.Charged == eyrie.ChargedYes {
			t.Error("a refusal was charged")
		}
	})
}
