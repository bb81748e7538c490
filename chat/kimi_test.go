package chat_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// kimi is the template that a folder of Kimi-K2.5 without one gets.
func kimi(t testing.TB) chat.Template {
	t.Helper()
	tmpl, err := chat.LoadFS(fstest.MapFS{"config.json": {Data: []byte(`{"model_type":"kimi_k25"}`)}}, "kimi")
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

const (
	think   = "<|im_assistant|>assistant<|im_middle|><think>"
	instant = think + "</think>"
)

func TestKimi(t *testing.T) {
	call := eyrie.ToolCall{ID: "functions.f:0", Name: "f", Arguments: `{"a":1,"b":"é"}`}
	question := eyrie.Message{Role: eyrie.User, Content: "Hi"}
	asks := eyrie.Message{Role: eyrie.Assistant, Reasoning: "R", Content: "T", ToolCalls: []eyrie.ToolCall{call, {ID: "x", Arguments: ""}}}
	result := eyrie.Message{Role: eyrie.ToolRole, ToolCallID: "functions.f:0", Content: "42"}
	answers := eyrie.Message{Role: eyrie.Assistant, Reasoning: "S", Content: "U"}

	const (
		hi       = "<|im_user|>user<|im_middle|>Hi<|im_end|>"
		head     = "<|im_assistant|>assistant<|im_middle|>"
		calls    = `T<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1, "b": "é"}<|tool_call_end|><|tool_call_begin|>x<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|><|im_end|>`
		result42 = "<|im_system|>tool<|im_middle|>## Return of functions.f:0\n42<|im_end|>"
	)
	written := strings.Replace(strings.Replace(calls, `{"a": 1, "b": "é"}`, `{"a":1,"b":"é"}`, 1), "{}", "", 1)

	for _, x := range []struct {
		name string
		c    chat.Conversation
		want string
	}{
		{"nothing", chat.Conversation{}, instant},
		{"thinking", chat.Conversation{Messages: []eyrie.Message{question}, Thinking: true}, hi + think},
		{"instant", chat.Conversation{Messages: []eyrie.Message{question}}, hi + instant},
		{"names and roles", chat.Conversation{Messages: []eyrie.Message{
			{Role: eyrie.System, Content: "S"}, {Role: "developer", Content: "D"}, {Role: eyrie.User, Name: "alice", Content: "A"},
			{Role: eyrie.ToolRole, Name: "f", Content: "R"}}},
			"<|im_system|>system<|im_middle|>S<|im_end|><|im_system|>developer<|im_middle|>D<|im_end|><|im_user|>alice<|im_middle|>A<|im_end|><|im_system|>f<|im_middle|>## Return of \nR<|im_end|>" + instant},
		{"an open tool loop keeps its reasoning", chat.Conversation{Messages: []eyrie.Message{question, asks, result}, Thinking: true},
			hi + head + "<think>R</think>" + calls + result42 + think},
		{"unless thinking is off", chat.Conversation{Messages: []eyrie.Message{question, asks, result}},
			hi + head + "<think></think>" + calls + result42 + instant},
		{"a plain answer settles all before it", chat.Conversation{Messages: []eyrie.Message{question, asks, result, answers, question}, Thinking: true},
			hi + head + "<think></think>" + calls + result42 + head + "<think></think>U<|im_end|>" + hi + think},
		{"the last of several plain answers counts", chat.Conversation{Messages: []eyrie.Message{question, answers, question, answers, question, asks}, Thinking: true},
			hi + head + "<think></think>U<|im_end|>" + hi + head + "<think></think>U<|im_end|>" + hi + head + "<think>R</think>" + calls + think},
		{"arguments as written", chat.Conversation{Messages: []eyrie.Message{asks}, Thinking: true, Arguments: chat.AsWritten},
			head + "<think>R</think>" + written + think},
		{"reasoning is kept only by who knows how", chat.Conversation{Messages: []eyrie.Message{answers}, Thinking: true, KeepReasoning: true},
			head + "<think></think>U<|im_end|>" + think},
	} {
		t.Run(x.name, func(t *testing.T) {
			got, err := kimi(t).Render([]byte("before "), x.c)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != "before "+x.want {
				t.Errorf("rendered\n%s\nwant\n%s", got, x.want)
			}
		})
	}
}

// TestArguments prints the arguments of an earlier call in the way of SGLang
// and vLLM.
func TestArguments(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{``, `{}`},
		{`{"a":1}`, `{"a": 1}`},
		{`{"a": 1.50}`, `{"a": 1.5}`},
		{`[1,2]`, `[1, 2]`},
		{`"text"`, `text`},
		{`{"cut`, `{"cut`},
		{`not JSON`, `not JSON`},
		{` {"a":"<b>"} `, `{"a": "<b>"}`},
	} {
		got, err := kimi(t).Render(nil, chat.Conversation{Messages: []eyrie.Message{
			{Role: eyrie.Assistant, ToolCalls: []eyrie.ToolCall{{ID: "i", Arguments: x.in}}}}})
		if err != nil {
			t.Fatal(err)
		}
		_, s, _ := strings.Cut(string(got), "<|tool_call_argument_begin|>")
		if s, _, _ = strings.Cut(s, "<|tool_call_end|>"); s != x.want {
			t.Errorf("%s printed as %s, want %s", x.in, s, x.want)
		}
	}
}

func TestRenderRefusesTools(t *testing.T) {
	for tools, want := range map[string]string{
		`{"type":"function"}`: "chat: tools: want a JSON array",
		`[{"type":]`:          "chat: tools: ",
		`[] []`:               "chat: tools: ",
	} {
		if _, err := kimi(t).Render(nil, chat.Conversation{Tools: []byte(tools)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", tools, err, want)
		}
	}
}

func TestKimiAnswer(t *testing.T) {
	f := kimi(t).(chat.Answerer).Answer()
	got := []string{f.ReasoningBegin, f.ReasoningEnd, f.SectionBegin, f.CallBegin, f.CallID("g", 12), f.ArgumentsBegin, f.CallEnd, f.SectionEnd, f.End}
	want := []string{"", "</think>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "functions.g:12", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>", "<|im_end|>"}
	if !slices.Equal(got, want) || f.AlwaysThinks {
		t.Errorf("%q, always thinks: %t; want %q", got, f.AlwaysThinks, want)
	}
}
