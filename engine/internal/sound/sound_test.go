package sound_test

import (
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/sound"
)

const tools = `[{"type":"function","function":{"name":"look","parameters":{}}},{"type":"function","function":{"name":"find"}}]`

func call(name, arguments string) []eyrie.ToolCall {
	return []eyrie.ToolCall{{ID: "c", Name: name, Arguments: arguments}}
}

func TestText(t *testing.T) {
	for _, row := range []struct {
		name        string
		a           eyrie.Answer
		thinking    eyrie.Thinking
		class, says string
	}{
		{"an answer", eyrie.Answer{Content: "x", FinishReason: eyrie.FinishStop}, false, "", ""},
		{"an answer with its reasoning", eyrie.Answer{Reasoning: "r", Content: "x", FinishReason: eyrie.FinishStop}, true, "", ""},
		{"a call", eyrie.Answer{ToolCalls: call("look", "{}"), FinishReason: eyrie.FinishToolCalls}, false, "", ""},
		{"nothing", eyrie.Answer{FinishReason: eyrie.FinishStop}, false, eyrie.ClassEmpty, `finish_reason "stop" without content (0 bytes of reasoning)`},
		{"reasoning alone", eyrie.Answer{Reasoning: "rr", FinishReason: eyrie.FinishStop}, true, eyrie.ClassSilent, `finish_reason "stop" without content (2 bytes of reasoning)`},
		{"cut off in the reasoning", eyrie.Answer{Reasoning: "r", FinishReason: eyrie.FinishLength}, true, "", ""},
		{"cut off in the reasoning that was off", eyrie.Answer{Reasoning: "r", FinishReason: eyrie.FinishLength}, false, sound.ClassReasoning, "thinking is off and reasoning came"},
		{"cut off before any text", eyrie.Answer{FinishReason: eyrie.FinishLength}, true, eyrie.ClassEmpty, "max_tokens 9 was used up before any text"},
		{"reasoning that was off", eyrie.Answer{Reasoning: "r", Content: "x", FinishReason: eyrie.FinishStop}, false, sound.ClassReasoning, "thinking is off and reasoning came"},
		{"no reasoning", eyrie.Answer{Content: "x", FinishReason: eyrie.FinishStop}, true, sound.ClassReasoning, "thinking is on and no reasoning came"},
	} {
		class, err := sound.Text(&row.a, eyrie.Sampling{MaxTokens: 9, Thinking: row.thinking})
		if class != row.class || (err == nil) != (row.says == "") || err != nil && err.Error() != row.says {
			t.Errorf("%s: %q, %v; want %q, %s", row.name, class, err, row.class, row.says)
		}
	}
}

func TestCalls(t *testing.T) {
	for _, row := range []struct {
		name   string
		finish eyrie.FinishReason
		calls  []eyrie.ToolCall
		tools  string
		says   string
	}{
		{"none", eyrie.FinishStop, nil, tools, ""},
		{"one", eyrie.FinishToolCalls, call("look", `{"a":1}`), tools, ""},
		{"two", eyrie.FinishToolCalls, append(call("look", `{}`), call("find", `{"a":1,"a":2}`)...), tools, ""},
		{"without arguments", eyrie.FinishToolCalls, call("look", ""), tools, ""},
		{"with blank arguments", eyrie.FinishToolCalls, call("look", " \n"), tools, ""},
		{"under another reason", eyrie.FinishStop, call("look", `{}`), tools, ""},
		{"announced", eyrie.FinishToolCalls, nil, tools, `finish_reason "tool_calls" without a call`},
		{"of something else", eyrie.FinishToolCalls, append(call("look", `{}`), call("fly", `{}`)...), tools, `a call of "fly", which was not offered`},
		{"where nothing is offered", eyrie.FinishToolCalls, call("look", `{}`), "", `a call of "look", which was not offered`},
		{"where what is offered cannot be read", eyrie.FinishToolCalls, call("look", `{}`), `{"look":1}`, `a call of "look", which was not offered`},
		{"with half of the arguments", eyrie.FinishToolCalls, call("look", `{"a":`), tools, "the arguments of look are no JSON object"},
		{"with arguments of another kind", eyrie.FinishToolCalls, call("look", `[1]`), tools, "the arguments of look are no JSON object"},
		{"that was cut off", eyrie.FinishLength, call("look", `{"a":`), tools, ""},
	} {
		err := sound.Calls(&eyrie.Answer{FinishReason: row.finish, ToolCalls: row.calls}, []byte(row.tools))
		if (err == nil) != (row.says == "") || err != nil && err.Error() != row.says {
			t.Errorf("%s: %v, want %s", row.name, err, row.says)
		}
	}
}
