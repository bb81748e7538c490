package chat_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/tokenizer"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// shared returns the path of reference data, or skips the test.
func shared(t testing.TB, elem ...string) string {
	t.Helper()
	root := os.Getenv("EYRIE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no reference data: %v (set EYRIE_SHARED)", err)
	}
	return path
}

// goldenChat is a conversation rendered and tokenised by the reference
// implementations.
type goldenChat struct {
	ID     int
	Model  string
	Kwargs struct {
		Generation *bool `json:"add_generation_prompt"`
		Thinking   *bool `json:"thinking"`
		Preserve   bool  `json:"preserve_thinking"`
	}
	Tools    jsontext.Value
	Messages []goldenMessage
	ToolsTS  string `json:"tools_ts"`
	Rendered string
	IDs      []int32
}

type goldenMessage struct {
	Role      eyrie.Role
	Name      string
	Content   jsontext.Value
	Reasoning jsontext.Value `json:"reasoning_content"`
	ToolCalls []struct {
		ID       string
		Function struct {
			Name      string
			Arguments jsontext.Value
		}
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

func readGoldenChats(t testing.TB) []goldenChat {
	t.Helper()
	f, err := os.Open(shared(t, "golden", "kimi-chat.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var chats []goldenChat
	r := bufio.NewReader(z)
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var c goldenChat
			if err := json.Unmarshal(line, &c, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			chats = append(chats, c)
		}
		if err != nil {
			return chats
		}
	}
}

// conversation brings a golden chat into the normal form. What the normal form
// cannot say is put into it as the text that it renders to.
func (g *goldenChat) conversation(t testing.TB) chat.Conversation {
	t.Helper()
	c := chat.Conversation{
		Tools:         g.Tools,
		Thinking:      g.Kwargs.Thinking == nil || *g.Kwargs.Thinking,
		KeepReasoning: g.Kwargs.Preserve,
		Arguments:     chat.AsWritten,
	}
	for _, m := range g.Messages {
		out := eyrie.Message{Role: m.Role, Name: m.Name, Content: contentText(t, m.Content), ToolCallID: m.ToolCallID}
		switch {
		case string(m.Reasoning) == "null":
			out.Reasoning = "None"
		case len(m.Reasoning) > 0:
			decode(t, m.Reasoning, &out.Reasoning)
		}
		for _, call := range m.ToolCalls {
			args := call.Function.Arguments
			var s string
			if args.Kind() == '"' {
				decode(t, args, &s)
			} else {
				b, err := chat.AppendJSON(nil, wholeFloat.ReplaceAll(args, []byte("${1}2.0$2")), chat.Spaced)
				if err != nil {
					t.Fatal(err)
				}
				s = string(b)
			}
			out.ToolCalls = append(out.ToolCalls, eyrie.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: s})
		}
		c.Messages = append(c.Messages, out)
	}
	return c
}

// wholeFloat finds where the golden file's writer lost the fraction of the only
// float in its arguments: the reference was given, and printed, 2.0.
var wholeFloat = regexp.MustCompile(`(":)2([,}])`)

func contentText(t testing.TB, v jsontext.Value) string {
	t.Helper()
	switch v.Kind() {
	case '"':
		var s string
		decode(t, v, &s)
		return s
	case '[':
		var parts []struct{ Type, Text string }
		decode(t, v, &parts)
		var b strings.Builder
		for _, p := range parts {
			if p.Type == "image_url" {
				b.WriteString("<|media_begin|>image<|media_content|><|media_pad|><|media_end|>\n")
			}
			b.WriteString(p.Text)
		}
		return b.String()
	}
	return ""
}

func decode(t testing.TB, v jsontext.Value, to any) {
	t.Helper()
	if err := json.Unmarshal(v, to, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
}

// TestGoldenChats compares every conversation of the built-in templates with
// what the reference implementations made of it, byte for byte and id for id.
func TestGoldenChats(t *testing.T) {
	chats := readGoldenChats(t)
	tok, err := tokenizer.Load(shared(t, "models", "kimi-k2.5"))
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]string{"k25": "kimi-k2.5", "k26": "kimi-k2.6", "k2t": "kimi-k2-thinking"}
	want := map[string]int{"k25": 100, "k26": 100, "k2t": 50}
	seen := map[string]int{}
	for model, folder := range folders {
		tmpl, err := chat.Load(shared(t, "models", folder))
		if err != nil {
			t.Fatal(err)
		}
		for i := range chats {
			g := &chats[i]
			if g.Model != model {
				continue
			}
			seen[model]++
			t.Run(fmt.Sprintf("%s/%d", model, g.ID), func(t *testing.T) { g.check(t, tmpl, tok) })
		}
	}
	for model, n := range want {
		if seen[model] != n {
			t.Errorf("%s: %d conversations, want %d", model, seen[model], n)
		}
	}
}

func (g *goldenChat) check(t *testing.T, tmpl chat.Template, tok *tokenizer.Tokenizer) {
	c := g.conversation(t)
	got, err := tmpl.Render(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	want, ids := g.Rendered, g.IDs
	if gen := g.Kwargs.Generation; gen != nil && !*gen {
		// The generation prompt always follows: take it from an empty chat.
		empty, err := tmpl.Render(nil, chat.Conversation{Messages: []eyrie.Message{{Role: eyrie.System}}, Thinking: c.Thinking})
		if err != nil {
			t.Fatal(err)
		}
		tail := string(empty[bytes.LastIndex(empty, []byte("<|im_assistant|>")):])
		want += tail
		if ids != nil {
			ids = tok.EncodeSpecial(slices.Clone(ids), tail)
		}
	}
	if string(got) != want {
		t.Fatalf("rendered\n%q\nwant\n%q", got, want)
	}
	if ids == nil {
		return
	}
	if gotIDs := tok.EncodeSpecial(nil, string(got)); !slices.Equal(gotIDs, ids) {
		t.Errorf("ids %v\nwant %v", gotIDs, ids)
	}
}

// TestGoldenChatsByEngine renders the conversations of a template that is not
// built in. It prints arguments that are text otherwise than parsed ones, so
// that conversations with both are beyond the normal form.
func TestGoldenChatsByEngine(t *testing.T) {
	tmpl, err := chat.Load(shared(t, "models", "kimi-k2-instruct"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, g := range readGoldenChats(t) {
		if g.Model != "k2i" {
			continue
		}
		c := g.conversation(t)
		written, parsed := 0, 0
		for _, m := range g.Messages {
			for _, call := range m.ToolCalls {
				if call.Function.Arguments.Kind() == '"' {
					written++
				} else {
					parsed++
				}
			}
		}
		if written > 0 && parsed > 0 {
			continue
		}
		if parsed > 0 {
			c.Arguments = chat.Reprinted
		}
		compared++
		got, err := tmpl.Render(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		want := g.Rendered
		if gen := g.Kwargs.Generation; gen != nil && !*gen {
			want += "<|im_assistant|>assistant<|im_middle|>"
		}
		if string(got) != want {
			t.Errorf("%d: rendered\n%q\nwant\n%q", g.ID, got, want)
		}
	}
	t.Logf("%d conversations", compared)
	if compared < 30 {
		t.Errorf("only %d conversations could be compared", compared)
	}
}

// TestBuiltInEqualsEngine proves that the built-in templates print what the
// template engine makes of their sources.
func TestBuiltInEqualsEngine(t *testing.T) {
	chats := readGoldenChats(t)
	for _, folder := range []string{"kimi-k2.5", "kimi-k2.6", "kimi-k2-thinking"} {
		t.Run(folder, func(t *testing.T) {
			src, err := os.ReadFile(shared(t, "models", folder, "chat_template.jinja"))
			if err != nil {
				t.Fatal(err)
			}
			native, err := chat.Parse(string(src))
			if err != nil {
				t.Fatal(err)
			}
			engine, err := chat.ParseGeneral(string(src))
			if err != nil {
				t.Fatal(err)
			}
			if native == engine || native.Digest() != engine.Digest() {
				t.Fatalf("%T with digest %s and %T with %s", native, native.Digest(), engine, engine.Digest())
			}
			if got, want := form(engine), form(native); got != want {
				t.Errorf("answer form\n%+v\nwant\n%+v", got, want)
			}
			for i := range chats {
				c := chats[i].conversation(t)
				for _, c.Arguments = range []chat.Arguments{chat.Reprinted, chat.AsWritten} {
					for _, c.Thinking = range []bool{true, false} {
						for _, c.KeepReasoning = range []bool{true, false} {
							compareRenders(t, native, engine, c)
						}
					}
				}
			}
		})
	}
}

// form returns what of a template's answer form can be compared.
func form(t chat.Template) [8]string {
	f := t.(chat.Answerer).Answer()
	return [8]string{f.ReasoningBegin, f.ReasoningEnd, f.SectionBegin, f.CallBegin, f.ArgumentsBegin, f.CallEnd, f.SectionEnd, f.End}
}

func compareRenders(t *testing.T, a, b chat.Template, c chat.Conversation) {
	t.Helper()
	got, err := a.Render(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	want, err := b.Render(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("built in\n%q\nengine\n%q", got, want)
	}
}
