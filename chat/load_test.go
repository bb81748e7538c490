package chat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

func files(kv ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for i := 0; i < len(kv); i += 2 {
		fs[kv[i]] = &fstest.MapFile{Data: []byte(kv[i+1])}
	}
	return fs
}

const small = `{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}{% for c in m.tool_calls or [] %} {{ c.id }}({{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}){% endfor %}{{ "\n" }}{% endfor %}[assistant{% if enable_thinking and thinking %}, thinking{% endif %}]{% if tools %} {{ tools | tojson }}{% endif %}`

func TestLoad(t *testing.T) {
	hello := chat.Conversation{Messages: []eyrie.Message{{Role: eyrie.User, Content: "Hi"}}, Thinking: true}
	const kimiHello = "<|im_user|>user<|im_middle|>Hi<|im_end|>" + think
	for _, x := range []struct {
		name string
		fs   fstest.MapFS
		want string
	}{
		{"template file", files("chat_template.jinja", small), "[user] Hi\n[assistant, thinking]"},
		{"template file first", files("chat_template.jinja", small, "tokenizer_config.json", `{"chat_template":"other"}`, "config.json", `{"model_type":"kimi_k25"}`), "[user] Hi\n[assistant, thinking]"},
		{"template in the tokenizer's settings", files("tokenizer_config.json", `{"chat_template":"{{ eos_token }}, {{ bos_token }}","bos_token":"<s>","eos_token":{"content":"</s>","lstrip":false}}`), "</s>, <s>"},
		{"named templates", files("tokenizer_config.json", `{"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"d"}]}`), "d"},
		{"Kimi by its model type", files("config.json", `{"model_type":"kimi_k25"}`, "tokenizer_config.json", `{"chat_template":null}`), kimiHello},
		{"Kimi by its vocabulary", files("tiktoken.model", ""), kimiHello},
	} {
		t.Run(x.name, func(t *testing.T) {
			tmpl, err := chat.LoadFS(x.fs, "model")
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Render(nil, hello)
			if err != nil || string(got) != x.want {
				t.Errorf("%q, %v; want %q", got, err, x.want)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, x := range []struct {
		name string
		fs   fstest.MapFS
		want string
	}{
		{"nothing there", files(), "chat: model: no chat template: neither chat_template.jinja nor tokenizer_config.json has one"},
		{"another model", files("config.json", `{"model_type":"llama"}`, "tiktoken.model", ""), `model of type "llama": put its chat_template.jinja into the folder`},
		{"a bad template", files("chat_template.jinja", "a\n{% if %}"), "chat: model: chat_template.jinja: "},
		{"bad settings", files("tokenizer_config.json", `{"chat_template":`), "chat: model: tokenizer_config.json: "},
		{"no default among the templates", files("tokenizer_config.json", `{"chat_template":[{"name":"rag","template":"t"}]}`), `a list without one named "default"`},
		{"a template that is none", files("tokenizer_config.json", `{"chat_template":7}`), "neither a string nor a list"},
		{"bad model settings", files("config.json", "{"), "chat: model: config.json: "},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := chat.LoadFS(x.fs, "model")
			if err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("error %v, want %s", err, x.want)
			}
		})
	}
}

func TestLoadFromDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "chat_template.jinja"), []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := chat.Load(dir); err != nil {
		t.Error(err)
	}
}

func TestDigest(t *testing.T) {
	digest := func(fs fstest.MapFS) string {
		tmpl, err := chat.LoadFS(fs, "model")
		if err != nil {
			t.Fatal(err)
		}
		return tmpl.Digest()
	}
	base := digest(files("chat_template.jinja", "{{ bos_token }}"))
	if d := digest(files("tokenizer_config.json", `{"chat_template":"{{ bos_token }}"}`)); d != base {
		t.Error("the same template in another file has another digest")
	}
	if d := digest(files("chat_template.jinja", "{{ bos_token }}", "tokenizer_config.json", `{"bos_token":"<s>"}`)); d == base {
		t.Error("another control token has the same digest")
	}
	if d := digest(files("chat_template.jinja", "{{ bos_token }}", "tokenizer_config.json", `{"eos_token":"</s>"}`)); d != base {
		t.Error("a control token that the template does not use changes the digest")
	}
	if d := digest(files("chat_template.jinja", "{{ bos_token }} ")); d == base {
		t.Error("another template has the same digest")
	}
}

// TestGeneral renders through the template engine.
func TestGeneral(t *testing.T) {
	tmpl, err := chat.Parse(small)
	if err != nil {
		t.Fatal(err)
	}
	c := chat.Conversation{
		Messages: []eyrie.Message{
			{Role: eyrie.User, Content: "Hi"},
			{Role: eyrie.Assistant, ToolCalls: []eyrie.ToolCall{{ID: "c1", Name: "f", Arguments: `{"b":2.0,"a":"é"}`}, {ID: "c2", Name: "f"}, {ID: "c3", Name: "f", Arguments: "cut {"}}},
		},
		Tools: []byte(`[{"type":"function","function":{"name":"f","parameters":{"b":1,"a":2.50}}}]`),
	}
	const tools = ` [{"type": "function", "function": {"name": "f", "parameters": {"b": 1, "a": 2.5}}}]`
	for form, calls := range map[chat.Arguments]string{
		chat.Reprinted: ` c1({"b": 2.0, "a": "é"}) c2({}) c3(cut {)`,
		chat.AsWritten: ` c1({"b":2.0,"a":"é"}) c2() c3(cut {)`,
	} {
		c.Arguments = form
		got, err := tmpl.Render(nil, c)
		if want := "[user] Hi\n[assistant] " + calls + "\n[assistant]" + tools; err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

// TestGeneralDate renders templates that print the date only when told it.
func TestGeneralDate(t *testing.T) {
	tmpl, err := chat.Parse(`{{ strftime_now("%d %b %Y") }}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tmpl.Render(nil, chat.Conversation{}); err == nil {
		t.Errorf("%q without a date", got)
	}
	got, err := tmpl.Render(nil, chat.Conversation{Date: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil || string(got) != "01 Mar 2026" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestGeneralKimi finds out how the model of an unknown template of the Kimi
// family answers, and gives the template its tools as its tokenizer would.
func TestGeneralKimi(t *testing.T) {
	const markers = "{# <|im_middle|> <|tool_calls_section_begin|> #}"
	for _, x := range []struct {
		name, src  string
		begin, end string
	}{
		{"opens the reasoning", markers + "{{ tools_ts_str }}<think>", "", "</think>"},
		{"leaves it to the model", markers + "{{ tools_ts_str }}{# <think> #}", "<think>", "</think>"},
		{"does not reason", markers + "{{ tools_ts_str }}", "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			tmpl, err := chat.Parse(x.src)
			if err != nil {
				t.Fatal(err)
			}
			a, ok := tmpl.(chat.Answerer)
			if !ok {
				t.Fatal("does not say how its model answers")
			}
			if f := a.Answer(); f.ReasoningBegin != x.begin || f.ReasoningEnd != x.end || f.AlwaysThinks != (x.begin != "") {
				t.Errorf("%+v", f)
			}
			got, err := tmpl.Render(nil, chat.Conversation{Tools: []byte(`[{"type":"function","function":{"name":"f"}}]`)})
			if want := "# Tools\n\n## functions\nnamespace functions {\ntype f = (_: {}) => any;\n}\n"; err != nil || !strings.HasPrefix(string(got), want) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	if tmpl, err := chat.Parse(small); err != nil {
		t.Error(err)
	} else if _, ok := tmpl.(chat.Answerer); ok {
		t.Error("a template of an unknown family says how its model answers")
	}
}
