package dataset_test

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset"
)

// text is a source in memory.
func text(s string) dataset.Source {
	return dataset.Source{Set: "set", Path: "set.jsonl", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(s)), nil
	}}
}

// readAll opens a source and reads it to its end.
func readAll(t testing.TB, src dataset.Source, opts dataset.Options) ([]*eyrie.Prompt, dataset.Report) {
	t.Helper()
	set, err := dataset.Open(src, opts)
	if err != nil {
		t.Fatal(err)
	}
	var prompts []*eyrie.Prompt
	for p, err := range set.Prompts() {
		if err != nil {
			t.Fatal(err)
		}
		prompts = append(prompts, p)
	}
	return prompts, set.Report()
}

// good is a row that makes Open content, whatever comes after it.
const good = `{"id":"good","messages":[{"role":"user","content":"good"}]}` + "\n"

// readRow reads one row after a good one.
func readRow(t testing.TB, row string, opts dataset.Options) (*eyrie.Prompt, dataset.Report) {
	t.Helper()
	prompts, report := readAll(t, text(good+row+"\n"), opts)
	if len(prompts) > 1 {
		return prompts[1], report
	}
	return nil, report
}

func TestRows(t *testing.T) {
	type m = eyrie.Message
	user, answer := m{Role: eyrie.User, Content: "Hi"}, m{Role: eyrie.Assistant, Content: "Hello"}
	tests := []struct {
		name  string
		row   string
		want  []m
		tools string
	}{
		{"messages", `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}`, []m{user, answer}, ""},
		{"sharegpt", `{"conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Hello"}]}`, []m{user, answer}, ""},
		{"conversations of role and content", `{"conversations":[{"role":"user","content":"Hi"}]}`, []m{user}, ""},
		{"conversation", `{"conversation":[{"role":"user","content":"Hi"}]}`, []m{user}, ""},
		{"both spellings in one row", `{"messages":[{"role":"user","content":"Hi"},{"from":"bard","value":"Hello"}]}`, []m{user, answer}, ""},
		{"value before from", `{"conversations":[{"value":"Hi","from":"human"}]}`, []m{user}, ""},
		{"messages win over conversations", `{"conversations":[{"from":"human","value":"No"}],"messages":[{"role":"user","content":"Hi"}]}`, []m{user}, ""},
		{"an empty list gives way", `{"messages":[],"conversations":[{"from":"human","value":"Hi"}]}`, []m{user}, ""},
		{"other columns", `{"prompt":"Hi","score":1e400,"meta":{"messages":3},"messages":[{"role":"user","content":"Hi","weight":0}]}`, []m{user}, ""},
		{"keys in escapes", `{"\u006dessages":[{"r\u006fle":"user","content":"H\u0069"}]}`, []m{user}, ""},
		{"roles of capital letters", `{"messages":[{"role":"User","content":"Hi"},{"role":" ASSISTANT","content":"Hello"}]}`, []m{user, answer}, ""},
		{"model", `{"messages":[{"role":"human","content":"Hi"},{"role":"model","content":"Hello"}]}`, []m{user, answer}, ""},
		{"chatgpt", `{"messages":[{"role":"user","content":"Hi"},{"role":"chatgpt","content":"Hello"}]}`, []m{user, answer}, ""},
		{"bing", `{"messages":[{"role":"user","content":"Hi"},{"role":"bing","content":"Hello"}]}`, []m{user, answer}, ""},
		{"developer", `{"messages":[{"role":"developer","content":"Be short."},{"role":"user","content":"Hi"}]}`,
			[]m{{Role: eyrie.System, Content: "Be short."}, user}, ""},
		{"system column", `{"system":"Be short.","conversations":[{"from":"human","value":"Hi"}]}`,
			[]m{{Role: eyrie.System, Content: "Be short."}, user}, ""},
		{"system column that the messages repeat", `{"system":"Be short.","conversations":[{"from":"system","value":"Be short."},{"from":"human","value":"Hi"}]}`,
			[]m{{Role: eyrie.System, Content: "Be short."}, user}, ""},
		{"blank system column", `{"system":" ","conversations":[{"from":"human","value":"Hi"}]}`, []m{user}, ""},
		{"parts", `{"messages":[{"role":"user","content":[{"type":"text","text":"H"},"i"]},{"role":"assistant","content":[{"type":"reasoning","value":"Hm"},{"type":"text","value":"Hello"}]}]}`,
			[]m{user, {Role: eyrie.Assistant, Content: "Hello", Reasoning: "Hm"}}, ""},
		{"reasoning", `{"messages":[{"role":"user","content":"Hi","reasoning_content":"x"},{"role":"assistant","content":"Hello","reasoning_content":"Hm"}]}`,
			[]m{user, {Role: eyrie.Assistant, Content: "Hello", Reasoning: "Hm"}}, ""},
		{"reasoning by another name", `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello","reasoning_content":null,"reasoning":"Hm"}]}`,
			[]m{user, {Role: eyrie.Assistant, Content: "Hello", Reasoning: "Hm"}}, ""},
		{"U+2028 is no line end", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\u2028b\u0085c\"}]}", []m{{Role: eyrie.User, Content: "a\u2028b\u0085c"}}, ""},
		{"surrogate pair", `{"messages":[{"role":"user","content":"\ud83e\udd85"}]}`, []m{{Role: eyrie.User, Content: "🦅"}}, ""},
		{"white space is kept", `{"messages":[{"role":"user","content":"  Hi\r\n\t"}]}`, []m{{Role: eyrie.User, Content: "  Hi\r\n\t"}}, ""},
		{"names", `{"messages":[{"role":"user","name":"Ann","content":"Hi"}]}`, []m{{Role: eyrie.User, Name: "Ann", Content: "Hi"}}, ""},
		{"system in the middle", `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},{"role":"system","content":"Now in German."}]}`,
			[]m{user, answer, {Role: eyrie.System, Content: "Now in German."}}, ""},
		{"users in a row", `{"messages":[{"role":"user","content":"Hi"},{"role":"user","content":"Hi"}]}`, []m{user, user}, ""},

		{"tool calls", `{"messages":[{"role":"user","content":"Hi"},` +
			`{"role":"assistant","content":null,"tool_calls":[{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{\"b\": 1,  \"a\":2.0}"}},` +
			`{"id":"x","function":{"name":"g","arguments":{"b": 1e2, "a": [ ]}}}]},` +
			`{"role":"tool","tool_call_id":"functions.f:0","name":"f","content":"3"}]}`,
			[]m{user,
				{Role: eyrie.Assistant, ToolCalls: []eyrie.ToolCall{
					{ID: "functions.f:0", Name: "f", Arguments: `{"b": 1,  "a":2.0}`},
					{ID: "x", Name: "g", Arguments: `{"b":1e2,"a":[]}`},
				}},
				{Role: eyrie.ToolRole, ToolCallID: "functions.f:0", Name: "f", Content: "3"},
			}, ""},
		{"function_call of sharegpt", `{"conversations":[{"from":"human","value":"Hi"},{"from":"function_call","value":"{\"name\": \"f\", \"arguments\": {\"a\": \"ü\"}}"},{"from":"observation","value":"3"},{"from":"gpt","value":"Hello"}]}`,
			[]m{user,
				{Role: eyrie.Assistant, ToolCalls: []eyrie.ToolCall{{Name: "f", Arguments: `{"a":"ü"}`}}},
				{Role: eyrie.ToolRole, Content: "3"}, answer}, ""},
		{"several calls as text", `{"conversations":[{"from":"human","value":"Hi"},{"from":"function_call","value":"[{\"name\":\"f\",\"arguments\":\"\"},{\"function\":{\"name\":\"g\"}}]"}]}`,
			[]m{user, {Role: eyrie.Assistant, ToolCalls: []eyrie.ToolCall{{Name: "f"}, {Name: "g"}}}}, ""},
		{"function_call of old", `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"","function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"3"}]}`,
			[]m{user, {Role: eyrie.Assistant, ToolCalls: []eyrie.ToolCall{{Name: "f", Arguments: "{}"}}}, {Role: eyrie.ToolRole, Name: "f", Content: "3"}}, ""},
		{"a call as a part", `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_call","value":"{\"name\":\"f\",\"arguments\":{}}"}]}]}`,
			[]m{user, {Role: eyrie.Assistant, ToolCalls: []eyrie.ToolCall{{Name: "f", Arguments: "{}"}}}}, ""},
		{"arguments of null", `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"name":"f","arguments":null},null]}]}`,
			[]m{user, {Role: eyrie.Assistant, ToolCalls: []eyrie.ToolCall{{Name: "f"}}}}, ""},
		{"empty fields of calls", `{"messages":[{"role":"user","content":"Hi","tool_calls":null,"function_call":null,"tool_call_id":null,"name":null}]}`, []m{user}, ""},

		{"tools", `{"tools": [ {"type": "function", "function": {"name": "f", "parameters": {"b": 1.0, "a": "\u00fc"}}} ],"messages":[{"role":"user","content":"Hi"}]}`,
			[]m{user}, `[{"type":"function","function":{"name":"f","parameters":{"b":1.0,"a":"\u00fc"}}}]`},
		{"tools after the messages, bare", `{"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","z":1,"a":2},{"name":"g"}]}`,
			[]m{user}, `[{"type":"function","function":{"name":"f","z":1,"a":2}},{"type":"function","function":{"name":"g"}}]`},
		{"tools as text", `{"tools":"[{\"name\": \"f\"}]","messages":[{"role":"user","content":"Hi"}]}`,
			[]m{user}, `[{"type":"function","function":{"name":"f"}}]`},
		{"tool without a type", `{"tools":[{"function":{"name":"f"}}],"messages":[{"role":"user","content":"Hi"}]}`,
			[]m{user}, `[{"type":"function","function":{"name":"f"}}]`},
		{"no tools", `{"tools":null,"messages":[{"role":"user","content":"Hi"}]}`, []m{user}, ""},
		{"empty tools", `{"tools":[],"messages":[{"role":"user","content":"Hi"}]}`, []m{user}, ""},
		{"empty tools as text", `{"tools":"","messages":[{"role":"user","content":"Hi"}]}`, []m{user}, ""},
		{"null tools as text", `{"tools":"null","messages":[{"role":"user","content":"Hi"}]}`, []m{user}, ""},
		{"an escaped backslash before u0000", `{"messages":[{"role":"user","content":"\\u0000"}]}`, []m{{Role: eyrie.User, Content: `\u0000`}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, report := readRow(t, tt.row, dataset.Options{})
			if p == nil {
				t.Fatalf("left out: %v", report)
			}
			if !reflect.DeepEqual(p.Messages, tt.want) {
				t.Errorf("messages\ngot  %+v\nwant %+v", p.Messages, tt.want)
			}
			if !bytes.Equal(p.Tools, []byte(tt.tools)) || (p.Tools == nil) != (tt.tools == "") {
				t.Errorf("tools\ngot  %s\nwant %s", p.Tools, tt.tools)
			}
		})
	}
}

func TestDrops(t *testing.T) {
	const hi = `{"role":"user","content":"Hi"}`
	row := func(messages string) string { return `{"messages":[` + messages + `]}` }
	special := func(s string) bool { return strings.Contains(s, "<|im_end|>") }
	tests := []struct {
		name   string
		row    string
		reason dataset.Reason
		want   string
	}{
		{"NUL byte", row(`{"role":"user","content":"a` + "\x00" + `"}`), dataset.NulByte, "a NUL byte"},
		{"escaped NUL", row(`{"role":"user","content":"a\u0000"}`), dataset.NulByte, "an escaped NUL"},
		{"escaped NUL of the assistant", row(hi + `,{"role":"assistant","content":"\u0000"}`), dataset.NulByte, "an escaped NUL"},
		{"escaped NUL in an argument", row(hi + `,{"role":"assistant","tool_calls":[{"name":"f","arguments":"\u0000"}]}`), dataset.NulByte, "an escaped NUL"},
		{"escaped NUL in a tool", `{"tools":[{"name":"f","description":"\u0000"}],"messages":[` + hi + `]}`, dataset.NulByte, "an escaped NUL"},
		{"escaped NUL in tools as text", `{"tools":"[{\"name\":\"\\u0000\"}]","messages":[` + hi + `]}`, dataset.NulByte, "an escaped NUL"},
		{"not UTF-8", row("{\"role\":\"user\",\"content\":\"\xff\"}"), dataset.BadUTF8, "bytes that are not UTF-8"},
		{"Latin-1", row("{\"role\":\"user\",\"content\":\"M\xfcller\"}"), dataset.BadUTF8, "bytes that are not UTF-8"},
		{"surrogate in UTF-8", row("{\"role\":\"user\",\"content\":\"\xed\xa0\x80\"}"), dataset.BadUTF8, "bytes that are not UTF-8"},
		{"first half of a pair", row(`{"role":"user","content":"\ud83e"}`), dataset.LoneHalf, "half of a surrogate pair"},
		{"second half of a pair", row(`{"role":"user","content":"\udd85"}`), dataset.LoneHalf, "half of a surrogate pair"},
		{"half of a pair in a column nobody reads", `{"note":"\ud83e","messages":[` + hi + `]}`, dataset.LoneHalf, "half of a surrogate pair"},
		{"not JSON", `{"messages":[` + hi + `,]}`, dataset.BadJSON, "not JSON from byte 44 on"},
		{"no JSON at all", `hello`, dataset.BadJSON, "not JSON from byte 1 on"},
		{"not JSON behind another fault", `{"messages":[{"role":"narrator","content":""}],}`, dataset.BadJSON, "not JSON"},
		{"two values", row(hi) + " 1", dataset.BadJSON, "not JSON"},
		{"not an object", `[1]`, dataset.BadJSON, "a JSON value that is not an object"},
		{"Python's NaN", `{"x":NaN,"messages":[` + hi + `]}`, dataset.BadJSON, "not JSON from byte 6 on"},
		{"key twice", `{"messages":[{"role":"user","content":"Hi","content":"Ho"}]}`, dataset.DuplicateKey, "an object with the same key twice"},
		{"key twice, once in escapes", `{"messages":[{"role":"user","content":"Hi","c\u006fntent":"Ho"}]}`, dataset.DuplicateKey, "an object with the same key twice"},

		{"no list", `{"note":"Hi"}`, dataset.NoMessages, "no messages"},
		{"empty list", row(""), dataset.NoMessages, "no messages"},
		{"null for a list", `{"messages":null}`, dataset.NoMessages, "no messages"},
		{"text for a list", `{"messages":"Hi"}`, dataset.WrongType, "messages: is text, not a list"},
		{"text for a message", row(hi + `,"Hello"`), dataset.WrongType, "messages[1]: is text, not an object"},
		{"number for content", row(`{"role":"user","content":5}`), dataset.WrongType, "messages[0].content: is a number, not text, a list of parts or null"},
		{"object for content", row(`{"role":"user","content":{"text":"Hi"}}`), dataset.WrongType, "messages[0].content: is an object, not text, a list of parts or null"},
		{"number for a role", row(`{"role":1,"content":"Hi"}`), dataset.WrongType, "messages[0].role: is a number, not text"},
		{"object for an id", `{"id":{},"messages":[` + hi + `]}`, dataset.WrongType, "id: is an object, not text"},
		{"number for tool calls", row(hi + `,{"role":"assistant","tool_calls":1}`), dataset.WrongType, "messages[1].tool_calls: is a number, not a list"},
		{"list for arguments", row(hi + `,{"role":"assistant","tool_calls":[{"name":"f","arguments":[1]}]}`), dataset.WrongType, "messages[1].tool_calls[0].arguments: is a list, not text or an object"},
		{"truth for tools", `{"tools":true,"messages":[` + hi + `]}`, dataset.WrongType, "tools: is true, not a list or text"},
		{"text for a tool", `{"tools":["f"],"messages":[` + hi + `]}`, dataset.WrongType, "tools[0]: is text, not an object"},
		{"unknown role", row(`{"role":"Narrator","content":"Hi"}`), dataset.UnknownRole, `messages[0]: unknown role "narrator"`},
		{"no role", row(`{"content":"Hi"}`), dataset.UnknownRole, "messages[0]: a message without a role"},
		{"image", row(`{"role":"user","content":[{"type":"text","text":"See"},{"type":"image_url","image_url":{"url":"x"}}]}`), dataset.Image, `messages[0].content[1]: a part of type "image_url"`},
		{"unknown part", row(`{"role":"user","content":[{"type":"file"}]}`), dataset.UnknownPart, `messages[0].content[0]: a part of type "file"`},
		{"call without a name", row(hi + `,{"role":"assistant","tool_calls":[{"id":"x"}]}`), dataset.BadCall, "messages[1].tool_calls[0]: a tool call without a name"},
		{"call that is prose", `{"conversations":[{"from":"human","value":"Hi"},{"from":"function_call","value":"I call f."}]}`, dataset.BadCall, "conversations[1]: text that should be a tool call is none"},
		{"call with more behind it", `{"conversations":[{"from":"human","value":"Hi"},{"from":"function_call","value":"{\"name\":\"f\"} now"}]}`, dataset.BadCall, "conversations[1]: text that should be a tool call is none"},
		{"tool without a name", `{"tools":[{"type":"function","function":{}}],"messages":[` + hi + `]}`, dataset.BadTools, "tools[0]: a tool without a name"},
		{"bare tool without a name", `{"tools":[{}],"messages":[` + hi + `]}`, dataset.BadTools, "tools[0]: a tool without a name"},
		{"tool of another type", `{"tools":[{"type":"web_search"}],"messages":[` + hi + `]}`, dataset.BadTools, `tools[0]: a tool of type "web_search"`},
		{"tools that are prose", `{"tools":"none","messages":[` + hi + `]}`, dataset.BadTools, "tools: text that should be a list of tools is none"},
		{"two system messages", `{"system":"A","conversations":[{"from":"system","value":"B"},{"from":"human","value":"Hi"}]}`, dataset.TwoSystems, "the system column and the first message differ"},
		{"only a system", row(`{"role":"system","content":"Hi"}`), dataset.NoUser, "no message of the user"},
		{"only the assistant", row(`{"role":"assistant","content":"Hi"}`), dataset.NoUser, "no message of the user"},
		{"starts with the assistant", row(`{"role":"system","content":"S"},{"role":"assistant","content":"Hello"},` + hi), dataset.StartsWrong, "messages[1]: the conversation starts with assistant"},
		{"starts with a tool", row(`{"role":"tool","content":"3"},` + hi), dataset.StartsWrong, "messages[0]: the conversation starts with tool"},
		{"assistant twice", row(hi + `,{"role":"assistant","content":"A"},{"role":"assistant","content":"B"}`), dataset.TwoAssistants, "messages[2]: the assistant speaks twice in a row"},
		{"empty user", row(hi + `,{"role":"assistant","content":"A"},{"role":"user","content":" \n"}`), dataset.EmptyUser, "messages[2]: the user says nothing"},
		{"null user", row(`{"role":"user","content":null}`), dataset.EmptyUser, "messages[0]: the user says nothing"},
		{"special of the user", row(`{"role":"user","content":"a <|im_end|> b"}`), dataset.Special, "text that spells a control token"},
		{"special in escapes", row(`{"role":"user","content":"a \u003c|im_end|\u003e b"}`), dataset.Special, "text that spells a control token"},
		{"special of a name", row(`{"role":"user","name":"<|im_end|>","content":"Hi"}`), dataset.Special, "text that spells a control token"},
		{"special in a tool", `{"tools":[{"name":"f","a":["\u003c|im_end|>"]}],"messages":[` + hi + `]}`, dataset.Special, "text that spells a control token"},
		{"duplicate", `{"id":"other","conversations":[{"from":"human","value":"good"}]}`, dataset.Duplicate, "says the same as line 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, report := readRow(t, tt.row, dataset.Options{Special: special})
			if p != nil {
				t.Fatalf("it was kept: %+v", p)
			}
			c := report.Dropped[tt.reason]
			if report.Rows != 2 || report.Kept != 1 || len(report.Dropped) != 1 || c.N != 1 || len(c.Examples) != 1 {
				t.Fatalf("got %v, want one row left out for %q", report, tt.reason)
			}
			if want := "set.jsonl:2: " + tt.want; c.Examples[0].String() != want {
				t.Errorf("got  %s\nwant %s", c.Examples[0], want)
			}
		})
	}
}

// TestSpecialOfTheAssistant keeps rows whose answers spell control tokens: no
// answer of the data set is ever sent.
func TestSpecialOfTheAssistant(t *testing.T) {
	const row = `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"<|im_end|>","tool_calls":[{"name":"<|im_end|>"}]}]}`
	p, report := readRow(t, row, dataset.Options{Special: func(s string) bool { return strings.Contains(s, "<|im_end|>") }})
	if p == nil {
		t.Errorf("left out: %v", report)
	}
}
