package dataset_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset"
)

type message = eyrie.Message

func user(s string) message      { return message{Role: eyrie.User, Content: s} }
func assistant(s string) message { return message{Role: eyrie.Assistant, Content: s} }
func system(s string) message    { return message{Role: eyrie.System, Content: s} }
func result(s string) message    { return message{Role: eyrie.ToolRole, Content: s} }
func calls(content string, c ...eyrie.ToolCall) message {
	return message{Role: eyrie.Assistant, Content: content, ToolCalls: c}
}

// TestLayouts has a row of every layout that public sets have, alone in its
// file, so that the layout is what it is recognised as.
func TestLayouts(t *testing.T) {
	weather := eyrie.ToolCall{Name: "get_weather", Arguments: `{"city":"Köln"}`}
	tests := []struct {
		name   string // the set that looks like this
		row    string
		layout dataset.Layout
		want   []message
		tools  string
	}{
		{"UltraChat", `{"prompt":"Hi","prompt_id":"x","messages":[{"content":"Hi","role":"user"},{"content":"Hello","role":"assistant"}]}`,
			dataset.Messages, []message{user("Hi"), assistant("Hello")}, ""},
		{"Magpie", `{"uuid":"x","instruction":"Hi","response":"Hello","conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Hello"}],"language":"EN"}`,
			dataset.ShareGPT, []message{user("Hi"), assistant("Hello")}, ""},
		{"Daring-Anteater", `{"system":"Be short.","mask":"User","conversations":[{"from":"User","value":"Hi","label":null},{"from":"Assistant","value":"Hello","label":"x"}]}`,
			dataset.ShareGPT, []message{system("Be short."), user("Hi"), assistant("Hello")}, ""},
		{"SWE-smith, messages as text", `{"instance_id":"x","messages":"[{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"assistant\", \"content\": \"Hello\"}]"}`,
			dataset.Messages, []message{user("Hi"), assistant("Hello")}, ""},
		{"messages as Python prints them", `{"messages":"[{'role': 'user', 'content': \"It's\\u00e9 \\n\"}, {'role': 'assistant', 'content': None, 'n': (1, -2.5e3, True),}]"}`,
			dataset.Messages, []message{user("It'sé \n"), {Role: eyrie.Assistant}}, ""},
		{"Toucan", `{"uuid":"x","question":"?","tools":"[{\"name\":\"f\"}]","messages":"[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"tool_call\",\"content\":\"{'name': 'f', 'arguments': {}}\"},{\"role\":\"tool_response\",\"content\":\"3\"}]"}`,
			dataset.Messages, []message{user("Hi"), calls("", eyrie.ToolCall{Name: "f", Arguments: "{}"}), result("3")}, `[{"type":"function","function":{"name":"f"}}]`},
		{"Glaive of LLaMA-Factory, a call after words", `{"conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Let me see."},{"from":"function_call","value":"{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Köln\"}}"},{"from":"observation","value":"3"}],"tools":"[]"}`,
			dataset.ShareGPT, []message{user("Hi"), calls("Let me see.", weather), result("3")}, ""},
		{"Hermes", `{"id":"x","conversations":[{"from":"system","value":"Call tools in <tools> tags: <tools>[{\"type\": \"function\", \"function\": {\"name\": \"get_weather\"}}]</tools>"},{"from":"human","value":"Hi"},{"from":"gpt","value":"<tool_call>\n{'name': 'get_weather', 'arguments': {'city': 'Köln'}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>\n"},{"from":"tool","value":"<tool_response>\n{\"t\": 3}\n</tool_response>\n<tool_response>\n4\n</tool_response>\n"}]}`,
			dataset.ShareGPT, []message{system(`Call tools in <tools> tags: <tools>[{"type": "function", "function": {"name": "get_weather"}}]</tools>`), user("Hi"),
				calls("", weather, eyrie.ToolCall{Name: "g", Arguments: "{}"}), result(`{"t": 3}`), result("4")},
			`[{"type":"function","function":{"name":"get_weather"}}]`},
		{"a tag that is no call", `{"conversations":[{"from":"human","value":"Hi"},{"from":"gpt","value":"Write <tool_call> and </tool_call>."}]}`,
			dataset.ShareGPT, []message{user("Hi"), assistant("Write <tool_call> and </tool_call>.")}, ""},
		{"parts of LLaMA-Factory", `{"messages":[{"role":"user","content":[{"type":"text","value":"Hi"}]},{"role":"assistant","content":[{"type":"reasoning","value":"Hm"},{"type":"tool_call","value":"{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Köln\"}}"}]}]}`,
			dataset.Messages, []message{user("Hi"), {Role: eyrie.Assistant, Reasoning: "Hm", ToolCalls: []eyrie.ToolCall{weather}}}, ""},
		{"results without ids", `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":""}},{"id":"b","function":{"name":"f","arguments":""}}]},{"role":"tool","content":"1"},{"role":"tool","content":"2"}]}`,
			dataset.Messages, []message{user("Hi"), calls("", eyrie.ToolCall{ID: "a", Name: "f"}, eyrie.ToolCall{ID: "b", Name: "f"}),
				{Role: eyrie.ToolRole, Content: "1", ToolCallID: "a"}, {Role: eyrie.ToolRole, Content: "2", ToolCallID: "b"}}, ""},

		{"Nebius", `{"instance_id":"x","trajectory":[{"cutoff_date":"1","mask":false,"role":"system","system_prompt":"Be short.","text":null},{"role":"user","system_prompt":null,"text":"Hi"},{"role":"ai","text":"Hello"}]}`,
			dataset.Trajectory, []message{system("Be short."), user("Hi"), assistant("Hello")}, ""},
		{"SWE-agent", `{"trajectory":[{"action":"ls","observation":"x"}],"history":[{"role":"user","content":"Hi","agent":"main"},{"role":"assistant","content":"","thought":"t","action":"ls","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","content":"x","tool_call_ids":["c1"]}]}`,
			dataset.Trajectory, []message{user("Hi"), calls("", eyrie.ToolCall{ID: "c1", Name: "bash", Arguments: "{}"}), {Role: eyrie.ToolRole, Content: "x", ToolCallID: "c1"}}, ""},
		{"OpenHands", `{"trajectory_id":"x","trajectory":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
			dataset.Trajectory, []message{user("Hi"), assistant("Hello")}, `[{"type":"function","function":{"name":"f"}}]`},
		{"Llama-Nemotron", `{"input":[{"role":"user","content":"Hi"}],"output":"Hello","category":"chat","license":"cc-by-4.0","system_prompt":"Be short."}`,
			dataset.InputOutput, []message{system("Be short."), user("Hi"), assistant("Hello")}, ""},

		{"Glaive", `{"system":"SYSTEM: You have functions. Use them if required -\n{\n \"name\": \"get_weather\",\n \"description\": \"It's {weather}\"\n}\n\n{\"name\": \"g\"}\n","chat":"USER: Hi\n\n\nASSISTANT: <functioncall> {\"name\": \"get_weather\", \"arguments\": '{\"city\": \"Köln\"}'} <|endoftext|>\n\n\nFUNCTION RESPONSE: {\"t\": 3}\n\n\nASSISTANT: It's 3: cold. <|endoftext|>\n\n\nUSER: Thanks"}`,
			dataset.Transcript, []message{system("You have functions. Use them if required"), user("Hi"), calls("", eyrie.ToolCall{Name: "get_weather", Arguments: `{"city": "Köln"}`}), result(`{"t": 3}`), assistant("It's 3: cold."), user("Thanks")},
			`[{"type":"function","function":{"name":"get_weather","description":"It's {weather}"}},{"type":"function","function":{"name":"g"}}]`},
		{"Glaive with an apostrophe in the arguments", `{"system":"","chat":"USER: Hi\nASSISTANT: I'll look. <functioncall> {\"name\": \"f\", \"arguments\": '{\"q\": \"what's up\"}'}"}`,
			dataset.Transcript, []message{user("Hi"), calls("I'll look.", eyrie.ToolCall{Name: "f", Arguments: `{"q":"what's up"}`})}, ""},
		{"HH", `{"chosen":"\n\nHuman: Hi\n\nAssistant: Hello","rejected":"\n\nHuman: Hi\n\nAssistant: No"}`,
			dataset.Transcript, []message{user("Hi"), assistant("Hello")}, ""},

		{"Alpaca", `{"instruction":"Add.","input":"1 2","output":"3"}`, dataset.Instruction, []message{user("Add.\n1 2"), assistant("3")}, ""},
		{"Alpaca without an input", `{"instruction":"Hi","input":"","output":"Hello"}`, dataset.Instruction, []message{user("Hi"), assistant("Hello")}, ""},
		{"Alpaca with a history", `{"instruction":"And you?","input":null,"output":"Well","history":[["Hi","Hello"]],"system":"Be short."}`,
			dataset.Instruction, []message{system("Be short."), user("Hi"), assistant("Hello"), user("And you?"), assistant("Well")}, ""},
		{"Magicoder", `{"lang":"python","raw_index":1,"problem":"Hi","solution":"Hello"}`, dataset.Pair, []message{user("Hi"), assistant("Hello")}, ""},
		{"GSM8K", `{"question":"Hi","answer":"Hello"}`, dataset.Pair, []message{user("Hi"), assistant("Hello")}, ""},
		{"MathQA", `{"Problem":"1+1?","Rationale":"Two","options":"a ) 1 , b ) 2","correct":"b"}`, dataset.Pair, []message{user("1+1?\na ) 1 , b ) 2"), assistant("Two")}, ""},
		{"CAMEL", `{"role_1":"x","topic;":"y","message_1":"Hi","message_2":"Hello"}`, dataset.Pair, []message{user("Hi"), assistant("Hello")}, ""},
		{"OpenCodeInstruct", `{"id":"x","input":"Hi","output":"Hello","domain":"d"}`, dataset.Pair, []message{user("Hi"), assistant("Hello")}, ""},
		{"SciQ", `{"question":"Hi","distractor1":"x","correct_answer":"Hello","support":"y"}`, dataset.Pair, []message{user("Hi"), assistant("Hello")}, ""},
		{"kimi-reasoning-traces", `{"problem":"Hi","expected_answer":"x","thinking":"Hm","response":"Hello"}`,
			dataset.Pair, []message{user("Hi"), {Role: eyrie.Assistant, Content: "Hello", Reasoning: "Hm"}}, ""},
		{"xLAM", `{"id":3,"query":"Hi","answers":"[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Köln\"}}]","tools":"[{\"name\": \"get_weather\"}]"}`,
			dataset.Pair, []message{user("Hi"), calls("", weather)}, `[{"type":"function","function":{"name":"get_weather"}}]`},
		{"a prompt that is a list", `{"prompt":[{"role":"system","content":"Be short."},{"role":"user","content":"Hi"}],"response":"Hello"}`,
			dataset.Pair, []message{system("Be short."), user("Hi"), assistant("Hello")}, ""},

		{"MT-Bench", `{"question_id":81,"category":"writing","turns":["Hi","Again"],"reference":["x"]}`, dataset.Turns, []message{user("Hi"), {Role: eyrie.Assistant}, user("Again")}, ""},
		{"prompts", `{"prompt":"Hi"}`, dataset.Prompt, []message{user("Hi")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			prompts, report := readAll(t, text(tt.row+"\n"), dataset.Options{})
			if len(prompts) != 1 {
				t.Fatalf("left out: %v", report)
			}
			p := prompts[0]
			checkPrompt(t, p)
			if report.Layout != tt.layout || !reflect.DeepEqual(p.Messages, tt.want) || string(p.Tools) != tt.tools {
				t.Errorf("layout %s\ngot  %+v\n     %s\nwant %s\n     %+v\n     %s", report.Layout, p.Messages, p.Tools, tt.layout, tt.want, tt.tools)
			}
		})
	}
}

func TestTold(t *testing.T) {
	columns := func(pairs ...string) map[dataset.Field]string {
		m := map[dataset.Field]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[dataset.Field(pairs[i])] = pairs[i+1]
		}
		return m
	}
	tests := []struct {
		name   string
		row    string
		opts   dataset.Options
		layout dataset.Layout
		id     string
		want   []message
	}{
		{"a prompt", `{"q":"Hi","prompt":"no"}`, dataset.Options{Columns: columns("prompt", "q")}, dataset.Prompt, "", []message{user("Hi")}},
		{"a pair with an id", `{"key":7,"q":"Hi","a":"Hello","id":"no"}`, dataset.Options{Columns: columns("prompt", "q", "answer", "a", "id", "key")}, dataset.Pair, "7", []message{user("Hi"), assistant("Hello")}},
		{"messages", `{"talk":[{"role":"user","content":"Hi"}]}`, dataset.Options{Columns: columns("messages", "talk")}, dataset.Messages, "", []message{user("Hi")}},
		{"turns", `{"asks":["Hi"]}`, dataset.Options{Columns: columns("turns", "asks")}, dataset.Turns, "", []message{user("Hi")}},
		{"a transcript", `{"log":"User: Hi\nAssistant: Hello"}`, dataset.Options{Columns: columns("transcript", "log")}, dataset.Transcript, "", []message{user("Hi"), assistant("Hello")}},
		{"a system column of another name", `{"context":"Be short.","messages":[{"role":"user","content":"Hi"}]}`, dataset.Options{Columns: columns("system", "context")}, dataset.Messages, "", []message{system("Be short."), user("Hi")}},
		{"the layout", `{"messages":[{"role":"user","content":"Hi"}],"prompt":"Ho"}`, dataset.Options{Layout: dataset.Prompt}, dataset.Prompt, "", []message{user("Ho")}},
		{"roles", `{"messages":[{"role":"Customer ","content":"Hi"},{"role":"agent","content":"Hello"}]}`,
			dataset.Options{Roles: map[string]eyrie.Role{"customer": eyrie.User, "Agent": eyrie.Assistant}}, dataset.Messages, "", []message{user("Hi"), assistant("Hello")}},
		{"a role that is known, told otherwise", `{"messages":[{"role":"model","content":"Hi"}]}`,
			dataset.Options{Roles: map[string]eyrie.Role{"model": eyrie.User}}, dataset.Messages, "", []message{user("Hi")}},
		{"images that are skipped", `{"messages":[{"role":"user","content":[{"type":"image","image":"x"},{"type":"text","text":"Hi"}]}],"images":["a","b"]}`,
			dataset.Options{Images: dataset.SkipImages}, dataset.Messages, "", []message{user("Hi")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			prompts, report := readAll(t, text(tt.row+"\n"), tt.opts)
			if len(prompts) != 1 {
				t.Fatalf("left out: %v", report)
			}
			if p := prompts[0]; report.Layout != tt.layout || !reflect.DeepEqual(p.Messages, tt.want) || tt.id != "" && p.ID != tt.id {
				t.Errorf("layout %s, id %s, got %+v; want %s, %s, %+v", report.Layout, p.ID, p.Messages, tt.layout, tt.id, tt.want)
			}
			if want := strings.Count(tt.row, `"image":"x"`) * 3; report.Content.Images != want {
				t.Errorf("%d images counted, want %d", report.Content.Images, want)
			}
		})
	}
}

func TestImages(t *testing.T) {
	const row = `{"messages":[{"role":"user","content":"<image>Who?"}],"images":["a.jpg"]}` + "\n"
	_, report := readAll(t, text(good+row), dataset.Options{})
	if got := report.Dropped[dataset.Image]; got.N != 1 || got.Examples[0].Detail != "images: 1 images beside the text" {
		t.Errorf("got %v", report)
	}
	set, err := dataset.Open(text(good+row), dataset.Options{Images: dataset.RefuseImages})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range set.Prompts() {
		err = e
	}
	if want := "dataset: set.jsonl: line 2: images: 1 images beside the text"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBadOptions(t *testing.T) {
	tests := []struct {
		opts dataset.Options
		want string
	}{
		{dataset.Options{Images: "burn"}, `images "burn": want drop, skip or refuse`},
		{dataset.Options{Roles: map[string]eyrie.Role{"a": "b"}}, `roles: a is to be "b": want system, user, assistant or tool`},
		{dataset.Options{Columns: map[dataset.Field]string{"promt": "x"}}, `columns: field "promt" is not known; there are id, messages`},
		{dataset.Options{Format: "parquet"}, `format "parquet" cannot be told`},
		{dataset.Options{Keep: dataset.Keep{Languages: []string{"Klingon"}}}, `keep: languages: "Klingon" is no code of a language`},
		{dataset.Options{NearDuplicates: 1.5}, "near duplicates from a share of 1.5 on"},
		{dataset.Options{Validation: 1}, "a validation share of 1"},
		{dataset.Options{Sample: -1}, "a sample of -1 rows"},
		{dataset.Options{Columns: map[dataset.Field]string{dataset.FieldPrompt: "ask"}}, "is not of layout prompt but looks like messages; its first row has the columns id, messages"},
	}
	for _, tt := range tests {
		if _, err := dataset.Open(text(good), tt.opts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// TestMixedLayouts has a row of another layout than the file's first.
func TestMixedLayouts(t *testing.T) {
	_, report := readAll(t, text(good+`{"prompt":"Hi"}`+"\n"+`{"note":"Hi"}`), dataset.Options{})
	c := report.Dropped[dataset.NoMessages]
	if c.N != 2 || c.Examples[0].Detail != "no messages; the row looks like layout prompt and the file is read as messages" || c.Examples[1].Detail != "no messages" {
		t.Errorf("got %v", report)
	}
}

// FuzzLayouts reads rows of every layout, alone in their file.
func FuzzLayouts(f *testing.F) {
	for _, s := range []string{
		good, `{"messages":"[{'role': 'user', 'content': 'Hi', 'x': (1, None,)}]"}`, `{"chat":"USER: Hi\nASSISTANT: <functioncall> {\"name\": \"f\", \"arguments\": '{\"a\": \"b's\"}'}","system":"SYSTEM: x -\n{\"name\":\"g\"}"}`,
		`{"instruction":"a","input":"b","output":["c"],"history":[["d",null]]}`, `{"turns":["a","b"]}`, `{"query":"a","answers":"[{}]","tools":"[{'name': 'f'}]"}`,
		`{"history":[{"role":"user","content":"a"},{"role":"tool","tool_call_ids":["x","y"]}],"images":[null,{}]}`,
		`{"conversations":[{"from":"system","value":"<tools>{\"name\":\"f\"}</tools>"},{"from":"human","value":"a"},{"from":"gpt","value":"<tool_call>{'name':'f'}</tool_call>"},{"from":"tool","value":"<tool_response>1</tool_response>"}]}`,
		`{"input":[{"role":"user","content":"a"}],"output":"b","system_prompt":3}`, `{"text":"User: a\nAssistant: b","license":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		set, err := dataset.Open(text(string(row)), dataset.Options{NearDuplicates: 0.9, Validation: 0.5, Images: dataset.SkipImages})
		if err != nil {
			return
		}
		kept := 0
		for p, err := range set.Prompts() {
			if err != nil {
				return
			}
			checkPrompt(t, p)
			kept++
		}
		r := set.Report()
		for _, c := range r.Dropped {
			kept += c.N
		}
		if kept != r.Rows {
			t.Errorf("rows do not add up: %+v", r)
		}
	})
}
