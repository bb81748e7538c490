package emulator_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml"
)

// description is the vendor's OpenAPI description.
type description struct {
	root map[string]any
}

func loadDescription(t *testing.T) *description {
	t.Helper()
	data, err := os.ReadFile(reference(t, "openrouter", "openrouter-openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := yaml.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	return &description{root}
}

// schema returns the schema of a reply.
func (d *description) schema(path, method string, status int, contentType string) (any, error) {
	keys := []string{"paths", path, method, "responses", fmt.Sprint(status), "content", contentType, "schema"}
	var at any = d.root
	for _, k := range keys {
		m, ok := at.(map[string]any)
		if !ok || m[k] == nil {
			return nil, fmt.Errorf("%s %s: the description has no %s under status %d, %s", method, path, k, status, contentType)
		}
		at = m[k]
	}
	return at, nil
}

// validate checks a value against a schema and returns what is wrong. It knows
// the keywords that the description uses.
func (d *description) validate(schema any, v any, where string) []string {
	switch s := schema.(type) {
	case bool:
		if !s {
			return []string{where + ": not allowed"}
		}
		return nil
	case map[string]any:
		return d.validateObject(s, v, where)
	}
	return []string{fmt.Sprintf("%s: schema is %T", where, schema)}
}

func (d *description) validateObject(s map[string]any, v any, where string) (wrong []string) {
	fail := func(format string, args ...any) { wrong = append(wrong, where+": "+fmt.Sprintf(format, args...)) }
	if ref, ok := s["$ref"].(string); ok {
		var at any = d.root
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			at = at.(map[string]any)[part]
		}
		wrong = append(wrong, d.validate(at, v, where)...)
	}
	if typ, ok := s["type"]; ok && !hasType(typ, v) {
		if nullable, _ := s["nullable"].(bool); !nullable || v != nil {
			fail("%T is not %v", v, typ)
			return wrong
		}
	}
	if enum, ok := s["enum"].([]any); ok && !slices.ContainsFunc(enum, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) }) {
		fail("%v is not one of %v", v, enum)
	}
	if c, ok := s["const"]; ok && fmt.Sprint(c) != fmt.Sprint(v) {
		fail("%v is not %v", v, c)
	}
	for _, part := range list(s["allOf"]) {
		wrong = append(wrong, d.validate(part, v, where)...)
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		options := list(s[name])
		if len(options) == 0 {
			continue
		}
		var all []string
		fits := slices.ContainsFunc(options, func(o any) bool {
			w := d.validate(o, v, where)
			all = append(all, w...)
			return len(w) == 0
		})
		if !fits {
			fail("fits none of %s: %s", name, strings.Join(all, "; "))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		wrong = append(wrong, d.validateMembers(s, v, where)...)
	case []any:
		if items, ok := s["items"]; ok {
			for i, x := range v {
				wrong = append(wrong, d.validate(items, x, fmt.Sprintf("%s[%d]", where, i))...)
			}
		}
	case string:
		if p, ok := s["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
			fail("%q does not match %s", v, p)
		}
	}
	return wrong
}

func (d *description) validateMembers(s, v map[string]any, where string) (wrong []string) {
	for _, name := range list(s["required"]) {
		if _, ok := v[name.(string)]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s: %s is missing", where, name))
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for name, x := range v {
		if p, ok := properties[name]; ok {
			wrong = append(wrong, d.validate(p, x, where+"."+name)...)
		} else if rest, ok := s["additionalProperties"]; ok && rest != nil {
			wrong = append(wrong, d.validate(rest, x, where+"."+name)...)
		}
	}
	return wrong
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func hasType(typ, v any) bool {
	if l, ok := typ.([]any); ok {
		return slices.ContainsFunc(l, func(t any) bool { return hasType(t, v) })
	}
	switch v := v.(type) {
	case nil:
		return typ == "null"
	case bool:
		return typ == "boolean"
	case string:
		return typ == "string"
	case float64:
		return typ == "number" || typ == "integer" && v == math.Trunc(v)
	case []any:
		return typ == "array"
	case map[string]any:
		return typ == "object"
	}
	return false
}

// TestDescriptionRefuses makes sure that the check can fail.
func TestDescriptionRefuses(t *testing.T) {
	d := loadDescription(t)
	schema, err := d.schema("/chat/completions", "post", 200, "application/json")
	if err != nil {
		t.Fatal(err)
	}
	_, web := start(t, nil)
	good := chat(t, web, ask("hi", pinned)).raw
	for _, row := range []struct{ name, old, new, says string }{
		{"missing", `"object":"chat.completion",`, ``, "object is missing"},
		{"wrong type", `"index":0`, `"index":"0"`, "is not integer"},
		{"wrong word", `"object":"chat.completion"`, `"object":"chat"`, "chat is not"},
	} {
		bad := strings.Replace(good, row.old, row.new, 1)
		var v any
		if err := json.Unmarshal([]byte(bad), &v); err != nil || bad == good {
			t.Fatalf("%s: %v, changed %v", row.name, err, bad != good)
		}
		if wrong := strings.Join(d.validate(schema, v, "reply"), "; "); !strings.Contains(wrong, row.says) {
			t.Errorf("%s: %q", row.name, wrong)
		}
	}
}

// TestRepliesFitTheDescription sends requests of every kind and checks each
// reply, errors included, against the vendor's own description.
func TestRepliesFitTheDescription(t *testing.T) {
	d := loadDescription(t)
	for _, row := range []struct {
		name, method, path, template string
		body                         string
		key                          string
		status                       int
		fault                        emulator.Fault
	}{
		{name: "chat", body: ask("hi", pinned)},
		{name: "chat with tools", body: ask("hi", pinned+weatherTool+`"tool_choice":"required",`)},
		{name: "chat not thinking", body: ask("hi", `"reasoning":{"enabled":false},`)},
		{name: "chat cut", body: ask("hi", `"max_tokens":20,`)},
		{name: "stream", body: ask("hi", pinned+`"stream":true,`)},
		{name: "stream with tools", body: ask("hi", weatherTool+`"tool_choice":"required","stream":true,`)},
		{name: "stream cut", body: ask("hi", `"max_tokens":20,"stream":true,`)},
		{name: "stream echo", body: ask("hi", `"stream":true,"debug":{"echo_upstream_body":true},`)},
		{name: "chat with logprobs", body: ask("hi", novita+`"logprobs":true,"top_logprobs":1,`)},
		{name: "stream with logprobs", body: ask("hi", novita+`"logprobs":true,"stream":true,`)},
		{name: "bad top_logprobs", body: ask("hi", `"top_logprobs":21,`), status: 400},
		{name: "stream error", body: ask("hi", `"stream":true,`), fault: emulator.Fault{Kind: "mid_error", After: 30}},
		{name: "bad JSON", body: `{"model":`, status: 400},
		{name: "bad enum", body: ask("hi", `"reasoning":{"effort":"extreme"},`), status: 400},
		{name: "unknown model", body: strings.Replace(ask("hi", ""), "kimi-k2.5", "kimi-x", 1), status: 400},
		{name: "no key", body: ask("hi", ""), key: "-", status: 401},
		{name: "wrong key", body: ask("hi", ""), key: "sk-or-v1-other", status: 401},
		{name: "no credits", body: ask("hi", ""), status: 402, fault: emulator.Fault{Kind: "payment", Value: "credits"}},
		{name: "cannot afford", body: ask("hi", ""), status: 402, fault: emulator.Fault{Kind: "payment"}},
		{name: "key limit", body: ask("hi", ""), status: 403, fault: emulator.Fault{Kind: "forbidden"}},
		{name: "moderation", body: ask("hi", ""), status: 403, fault: emulator.Fault{Kind: "forbidden", Value: "moderation"}},
		{name: "no provider", body: ask("hi", `"provider":{"only":["nobody"]},`), status: 404},
		{name: "max price", body: ask("hi", `"provider":{"max_price":{"completion":"0.1"}},`), status: 404},
		{name: "timeout", body: ask("hi", pinned), status: 408, fault: emulator.Fault{Kind: "http", Status: 408}},
		{name: "429 upstream", body: ask("hi", pinned), status: 429, fault: emulator.Fault{Kind: "rate_limit"}},
		{name: "429 capacity", body: ask("hi", pinned), status: 429, fault: emulator.Fault{Kind: "rate_limit", Value: "capacity"}},
		{name: "429 quota", body: ask("hi", pinned), status: 429, fault: emulator.Fault{Kind: "quota"}},
		{name: "500", body: ask("hi", pinned), status: 500, fault: emulator.Fault{Kind: "http", Status: 500}},
		{name: "502", body: ask("hi", pinned), status: 502, fault: emulator.Fault{Kind: "http", Status: 502}},
		{name: "503", body: ask("hi", pinned), status: 503, fault: emulator.Fault{Kind: "http", Status: 503}},
		{name: "529", body: ask("hi", pinned), status: 529, fault: emulator.Fault{Kind: "http", Status: 529}},
		{name: "models", method: "get", path: "/models"},
		{name: "a page of models", method: "get", path: "/models?limit=1", template: "/models"},
		{name: "models count", method: "get", path: "/models/count"},
		{name: "model", method: "get", path: "/model/moonshotai/kimi-k2.5", template: "/model/{author}/{slug}"},
		{name: "endpoints", method: "get", path: "/models/moonshotai/kimi-k2.5/endpoints", template: "/models/{author}/{slug}/endpoints"},
		{name: "endpoints of an unknown model", method: "get", path: "/models/moonshotai/x/endpoints", template: "/models/{author}/{slug}/endpoints", status: 404},
		{name: "providers", method: "get", path: "/providers"},
		{name: "private endpoints", method: "get", path: "/endpoints/zdr"},
		{name: "key", method: "get", path: "/key"},
		{name: "key without key", method: "get", path: "/key", key: "-", status: 401},
		{name: "credits", method: "get", path: "/credits", key: "sk-or-v1-boss"},
		{name: "credits without right", method: "get", path: "/credits", status: 403},
		{name: "generation", method: "get", path: "/generation?id=GEN", template: "/generation"},
		{name: "generation unknown", method: "get", path: "/generation?id=gen-0-x", template: "/generation", status: 404},
		{name: "generation content", method: "get", path: "/generation/content?id=GEN", template: "/generation/content", status: 404},
		{name: "activity", method: "get", path: "/activity", key: "sk-or-v1-boss"},
		{name: "keys", method: "get", path: "/keys", key: "sk-or-v1-boss"},
		{name: "new key", method: "post", path: "/keys", key: "sk-or-v1-boss", body: `{"name":"run","limit":5}`, status: 201},
		{name: "one key", method: "get", path: "/keys/HASH", template: "/keys/{hash}", key: "sk-or-v1-boss"},
		{name: "key changed", method: "patch", path: "/keys/HASH", template: "/keys/{hash}", key: "sk-or-v1-boss", body: `{"limit":7}`},
		{name: "key deleted", method: "delete", path: "/keys/HASH", template: "/keys/{hash}", key: "sk-or-v1-boss"},
		{name: "unknown key", method: "get", path: "/keys/none", template: "/keys/{hash}", key: "sk-or-v1-boss", status: 404},
		{name: "keys without right", method: "get", path: "/keys", status: 401},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.method == "" {
				row.method, row.path = "post", "/chat/completions"
			}
			if row.template == "" {
				row.template = row.path
			}
			if row.status == 0 {
				row.status = 200
			}
			s, web := start(t, func(c *emulator.Config, s *emulator.Scenario) {
				c.Keys, c.ManagementKey, c.Balance, c.KeyLimit = []string{"sk-or-v1-test"}, "sk-or-v1-boss", "100", "50"
				if row.fault.Kind != "" {
					s.Faults = []emulator.Fault{row.fault}
				}
			})
			path := row.path
			if before, after, ok := strings.Cut(path, "GEN"); ok {
				chat(t, web, ask("hi", ""))
				path = before + s.Books()[0].ID + after
			}
			if before, after, ok := strings.Cut(path, "HASH"); ok {
				path = before + newKey(t, web.URL) + after
			}
			r, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(row.method), web.URL+"/api/v1"+path, strings.NewReader(row.body))
			if err != nil {
				t.Fatal(err)
			}
			if key := orElse(row.key, "sk-or-v1-test"); key != "-" {
				r.Header.Set("Authorization", "Bearer "+key)
			}
			r.Header.Set("X-OpenRouter-Metadata", "enabled")
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			data, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != row.status {
				t.Fatalf("status %d (%v), want %d: %s", res.StatusCode, err, row.status, data)
			}
			d.checkReply(t, row.template, row.method, res, data)
		})
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// newKey makes a key and returns its hash.
func newKey(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url+"/api/v1/keys", strings.NewReader(`{"name":"run","limit":5}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-or-v1-boss")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var made struct {
		Data struct {
			Hash string `json:"hash"`
		} `json:"data"`
	}
	if err := json.UnmarshalRead(res.Body, &made); err != nil || made.Data.Hash == "" {
		t.Fatalf("no key was made: %v", err)
	}
	return made.Data.Hash
}

func (d *description) checkReply(t *testing.T, template, method string, res *http.Response, data []byte) {
	t.Helper()
	contentType, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	schema, err := d.schema(template, method, res.StatusCode, contentType)
	if err != nil {
		t.Fatal(err)
	}
	check := func(payload []byte, wrap bool) {
		var v any
		if err := json.Unmarshal(payload, &v); err != nil {
			t.Errorf("%s: %v", payload, err)
			return
		}
		if wrap { // the description puts each event's payload under "data"
			v = map[string]any{"data": v}
		}
		for _, wrong := range d.validate(schema, v, "reply") {
			t.Errorf("%s\nin %.600s", wrong, payload)
		}
	}
	if contentType != "text/event-stream" {
		check(data, false)
		return
	}
	for event := range bytes.SplitSeq(data, []byte("\n\n")) {
		if payload, ok := bytes.CutPrefix(event, []byte("data: ")); ok && string(payload) != "[DONE]" {
			check(payload, true)
		}
	}
}
