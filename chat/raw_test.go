package chat_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/eyrie-ai/eyrie/chat"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// barePlace is [wholeFloat] outside of text that holds JSON.
var barePlace = regexp.MustCompile(`([^\\]":)2([,}])`)

// TestRawGoldenChats renders every golden conversation as it stands: parts and
// nulls, arguments of both kinds, and variables.
func TestRawGoldenChats(t *testing.T) {
	folders := map[string]string{"k25": "kimi-k2.5", "k26": "kimi-k2.6", "k2t": "kimi-k2-thinking", "k2i": "kimi-k2-instruct"}
	templates := map[string]*chat.Raw{}
	for model, folder := range folders {
		r, err := chat.LoadRaw(shared(t, "models", folder))
		if err != nil {
			t.Fatal(err)
		}
		templates[model] = r
	}
	f, err := os.Open(shared(t, "golden", "kimi-chat.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := bufio.NewReader(z); ; n++ {
		line, err := r.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		var g struct {
			ID                      int
			Model                   string
			Kwargs, Tools, Messages jsontext.Value
			Rendered                string
		}
		if err := json.Unmarshal(line, &g, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		got, err := templates[g.Model].Render(nil, chat.RawConversation{
			Messages: barePlace.ReplaceAll(g.Messages, []byte("${1}2.0$2")), Tools: g.Tools, Variables: g.Kwargs,
		})
		if err != nil || string(got) != g.Rendered {
			t.Errorf("%s %d: %v, rendered\n%q\nwant\n%q", g.Model, g.ID, err, got, g.Rendered)
		}
	}
	if n != 300 {
		t.Errorf("%d conversations", n)
	}
}

func TestRawVariables(t *testing.T) {
	const src = `{{ bos_token }}{{ add_generation_prompt }}{{ tools }}{{ strftime_now('%Y') }}{{ x }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}`
	tmpl, err := chat.LoadRawFS(fstest.MapFS{
		"chat_template.jinja":   {Data: []byte(src)},
		"tokenizer_config.json": {Data: []byte(`{"bos_token": "<s>", "eos_token": {"content": "</s>"}}`)},
	}, "model")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ variables, want string }{
		{``, "<s>TrueNone2026a</s>"},
		{`null`, "<s>TrueNone2026a</s>"},
		{`{"x": 1.0, "add_generation_prompt": false, "bos_token": "", "tools": [1]}`, "False[1]20261.0a</s>"},
	} {
		got, err := tmpl.Render([]byte(">"), chat.RawConversation{
			Messages: []byte(`[{"content": "a"}]`), Variables: []byte(row.variables), Date: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		})
		if err != nil || string(got) != ">"+row.want {
			t.Errorf("with %s: %q, %v; want %q", row.variables, got, err, row.want)
		}
	}
}

func TestRawErrors(t *testing.T) {
	folder := fstest.MapFS{"chat_template.jinja": {Data: []byte(`{{ messages[0].content }}`)}}
	tmpl, err := chat.LoadRawFS(folder, "model")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ messages, tools, variables, want string }{
		{``, ``, ``, "messages"},
		{`{}`, ``, ``, "messages: want a JSON array"},
		{`[]`, `{}`, ``, "tools: want a JSON array"},
		{`[]`, ``, `[]`, "variables: want a JSON object"},
		{`[]`, ``, `{"a": }`, "variables"},
		{`[]`, ``, ``, "UndefinedError"},
	} {
		_, err := tmpl.Render(nil, chat.RawConversation{Messages: []byte(row.messages), Tools: []byte(row.tools), Variables: []byte(row.variables)})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s %s %s: %v, want %q", row.messages, row.tools, row.variables, err, row.want)
		}
	}
	if _, err := chat.LoadRaw(t.TempDir()); !errors.Is(err, chat.ErrNoSource) {
		t.Errorf("an empty folder: %v", err)
	}
	folder["chat_template.jinja"].Data = []byte("{% if %}")
	if _, err := chat.LoadRawFS(folder, "model"); err == nil || !strings.Contains(err.Error(), "model: chat_template.jinja") {
		t.Errorf("a template that does not parse: %v", err)
	}
}
