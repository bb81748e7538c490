package chat_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// Templates small enough to read, each with the sign of its family.
var families = map[string]string{
	"Qwen":     `{% for m in messages %}<|im_start|>{{ m.role }}{% endfor %}<|im_start|>assistant{# <tool_call> #}{{ "<tool_call>" if false }}`,
	"thinker":  `{{ messages[0].content }}{{ "<tool_call>" if false }}<|im_start|>assistant` + "\n<think>\n",
	"DeepSeek": `{{ messages[0].content }}{{ "<｜tool▁calls▁begin｜>" if false }}<｜Assistant｜>`,
	"GLM":      `{{ messages[0].content }}{{ "<arg_key><tool_call>" if false }}<|assistant|>`,
	"Llama":    `{{ messages[0].content }}<|start_header_id|>assistant<|end_header_id|>`,
}

func TestMarkup(t *testing.T) {
	calls := func(list ...string) (out []eyrie.ToolCall) {
		for i := 0; i < len(list); i += 2 {
			out = append(out, eyrie.ToolCall{ID: "call_" + string(rune('0'+i/2)), Name: list[i], Arguments: list[i+1]})
		}
		return out
	}
	for _, row := range []struct {
		name, family, text string
		instant, cut       bool
		want               chat.Said
		err                string
	}{
		{name: "thinking", family: "Qwen", text: "<think>\nhm\n</think>\n\nyes<|im_end|>", want: chat.Said{Reasoning: "hm", Content: "yes"}},
		{name: "no thinking", family: "Qwen", text: "yes<|im_end|>", instant: true, want: chat.Said{Content: "yes"}},
		{name: "the prompt opened the reasoning", family: "thinker", text: "hm\n</think>\n\nyes<|im_end|>", want: chat.Said{Reasoning: "hm", Content: "yes"}},
		{name: "cut in it", family: "thinker", text: "hm, so", cut: true, want: chat.Said{Reasoning: "hm, so"}},
		{name: "it has no end", family: "thinker", text: "hm<|im_end|>", err: "no end"},
		{
			name: "calls", family: "Qwen", text: "ok\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":1}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call><|im_end|>",
			want: chat.Said{Content: "ok", Calls: calls("f", `{"a": 1}`, "g", "{}")},
		},
		{name: "a call that is no JSON", family: "Qwen", text: "<tool_call>\n{\"name\": \n</tool_call><|im_end|>", err: "Qwen's tool calls"},
		{name: "a call without a name", family: "Qwen", text: "<tool_call>{}</tool_call>", err: "a name and arguments"},
		{name: "a call without an end", family: "Qwen", text: "<tool_call>{\"name\"", err: "without </tool_call>"},
		{name: "a call that was cut", family: "Qwen", text: "ok<tool_call>{\"name\"", cut: true, want: chat.Said{Content: "ok"}},
		{name: "text after calls", family: "Qwen", text: "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>so", err: "after the calls"},
		{name: "a control token", family: "Qwen", text: "a<|im_start|>b<|im_end|>", err: `"<|im_start|>"`},

		{
			name: "V3", family: "DeepSeek", text: "hm</think>ok<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\":1}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
			want: chat.Said{Reasoning: "hm", Content: "ok", Calls: calls("f", `{"a":1}`, "g", "{}")},
		},
		{
			name: "V3.1", family: "DeepSeek", text: "ok<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\":1}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", instant: true,
			want: chat.Said{Content: "ok", Calls: calls("f", `{"a":1}`)},
		},
		{name: "an open section", family: "DeepSeek", text: "ok<｜tool▁calls▁begin｜>", err: "does not end"},
		{name: "a call without a separator", family: "DeepSeek", text: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁call▁end｜><｜tool▁calls▁end｜>", err: "cannot be read"},

		{
			name: "arguments", family: "GLM", text: "\n<think>hm</think>\nok\n<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>b</arg_key>\n<arg_value>two \"words\"</arg_value>\n</tool_call><|observation|>",
			want: chat.Said{Reasoning: "hm", Content: "ok", Calls: calls("f", `{"a": 1, "b": "two \"words\""}`)},
		},
		{name: "no arguments", family: "GLM", text: "<tool_call>f\n</tool_call><|observation|>", want: chat.Said{Calls: calls("f", "{}")}},
		{name: "half an argument", family: "GLM", text: "<tool_call>f<arg_key>a</tool_call>", err: "cannot be read"},

		{name: "an object", family: "Llama", text: "{\"name\": \"f\", \"parameters\": {\"a\": 1}}<|eot_id|>", want: chat.Said{Calls: calls("f", `{"a": 1}`)}},
		{name: "what only looks like one", family: "Llama", text: "{\"answer\": 4}<|eot_id|>", want: chat.Said{Content: "{\"answer\": 4}"}},
	} {
		t.Run(row.family+" "+row.name, func(t *testing.T) {
			tmpl, err := chat.Parse(families[row.family])
			if err != nil {
				t.Fatal(err)
			}
			m, ok := tmpl.(chat.Marked).Markup()
			if !ok {
				t.Fatal("the markup is not known")
			}
			got, err := m.Read(row.text, !row.instant, row.cut)
			switch {
			case row.err != "":
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Errorf("got %+v, %v, want %q", got, err, row.err)
				}
			case err != nil || !reflect.DeepEqual(got, row.want):
				t.Errorf("got %+v, %v, want %+v", got, err, row.want)
			}
		})
	}
}

func TestMarkupIsNotKnown(t *testing.T) {
	tmpl, err := chat.Parse(`{{ messages[0].content }}`)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := tmpl.(chat.Marked).Markup(); ok || m != nil {
		t.Error("a template without any sign has a markup")
	}
}

// Whatever a model writes, reading it neither panics nor invents text.
func FuzzMarkup(f *testing.F) {
	var all []*chat.Markup
	for _, src := range families {
		tmpl, err := chat.Parse(src)
		if err != nil {
			f.Fatal(err)
		}
		m, _ := tmpl.(chat.Marked).Markup()
		all = append(all, m)
	}
	f.Add("<think>a</think>b<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>", true)
	f.Add("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", false)
	f.Add("<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", false)
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		for _, m := range all {
			said, err := m.Read(text, true, cut)
			if err == nil && (!strings.Contains(text, said.Reasoning) || !strings.Contains(text, said.Content)) {
				t.Errorf("%q is read as %+v", text, said)
			}
		}
	})
}
