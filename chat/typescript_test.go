package chat_test

import (
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// declare returns the text in which Kimi-K2.5's template declares tools.
func declare(t testing.TB, tools string) string {
	t.Helper()
	out, err := kimi(t).Render(nil, chat.Conversation{Tools: []byte(tools), Messages: []eyrie.Message{}})
	if err != nil {
		t.Fatal(err)
	}
	s, ok := strings.CutPrefix(string(out), "<|im_system|>tool_declare<|im_middle|>")
	if !ok {
		return ""
	}
	s, _, _ = strings.Cut(s, "<|im_end|>")
	return s
}

func function(parameters string) string {
	return `[{"type":"function","function":{"name":"f","parameters":` + parameters + `}}]`
}

// TestTypeScript declares one function after another. The expected texts are
// what the Python encoder that comes with the model prints.
func TestTypeScript(t *testing.T) {
	for _, x := range []struct{ name, parameters, want string }{
		{"none", `null`, "type f = (_: {}) => any;"},
		{"empty", `{}`, "type f = (_: {}) => any;"},
		{"the type of the parameters is not looked at", `{"type":"string"}`, "type f = (_: {}) => any;"},
		{"required first, then by name", `{"properties":{"b":{"type":"string"},"a":{"type":"integer"},"z":{"type":"number"},"y":{"type":"boolean"}},"required":["z","y"]}`,
			"type f = (_: {\n  y: boolean,\n  z: number,\n  a?: number,\n  b?: string\n}) => any;"},
		{"required as a string is its characters", `{"properties":{"a":{},"ab":{}},"required":"abc"}`,
			"type f = (_: {\n  a: any,\n  ab?: any\n}) => any;"},
		{"comments", `{"properties":{"s":{"type":"string","description":"one\n\ntwo","minLength":1,"maxLength":2,"pattern":"^a|b$","default":"é\"","minimum":3}}}`,
			"type f = (_: {\n  // one\n\n  // two\n  // maxLength: 2, minLength: 1, pattern: ^a|b$\n  // Default: \"é\\\"\"\n  s?: string\n}) => any;"},
		{"numbers print as in Python", `{"properties":{"n":{"type":"number","minimum":1e16,"maximum":1e22,"default":2.0},"i":{"type":"integer","minimum":-5,"default":true}}}`,
			"type f = (_: {\n  // minimum: -5\n  // Default: True\n  i?: number,\n  // maximum: 1e+22, minimum: 1e+16\n  // Default: 2.0\n  n?: number\n}) => any;"},
		{"defaults that are false or null", `{"properties":{"a":{"type":"string","default":null},"b":{"type":"string","default":""},"c":{"type":"array","default":[]},"d":{"type":"boolean","default":false}}}`,
			"type f = (_: {\n  a?: string,\n  // Default: \"\"\n  b?: string,\n  // Default: []\n  c?: Array<any>,\n  // Default: False\n  d?: boolean\n}) => any;"},
		{"a default in JSON, sorted", `{"properties":{"a":{"type":"object","default":{"b":[1,"x"],"a":null}}}}`,
			"type f = (_: {\n  // Default: {\"a\": null, \"b\": [1, \"x\"]}\n  a?: {}\n}) => any;"},
		{"enum", `{"properties":{"e":{"enum":["a","q\"q",1,2.5,true,null]}}}`,
			"type f = (_: {\n  e?: \"a\" | \"q\"q\" | 1 | 2.5 | True | None\n}) => any;"},
		{"enum of containers", `{"properties":{"e":{"enum":[["it's",null],{"k":"\n\u0007é"}]}}}`,
			"type f = (_: {\n  e?: [\"it's\", None] | {'k': '\\n\\x07é'}\n}) => any;"},
		{"enum that may be null", `{"properties":{"e":{"type":["string","null"],"enum":["a",null]}}}`,
			"type f = (_: {\n  e?: \"a\" | None\n}) => any;"},
		{"booleans are integers", `{"properties":{"e":{"type":"integer","enum":[1,true]}}}`,
			"type f = (_: {\n  e?: 1 | True\n}) => any;"},
		{"type list", `{"properties":{"u":{"type":["integer","null","object","array"],"description":"d"}}}`,
			"type f = (_: {\n  // d\n  u?: number | null | {} | Array<any>\n}) => any;"},
		{"anyOf before all but a reference", `{"properties":{"u":{"anyOf":[{"type":"string","description":"lost"},{"type":"object","properties":{"k":{}}}],"type":"string"}}}`,
			"type f = (_: {\n  u?: string | {\n    k?: any\n  }\n}) => any;"},
		{"arrays", `{"properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"array","items":{"type":"string","description":"d"},"minItems":1},"c":{"type":"array","items":false}}}`,
			"type f = (_: {\n  a?: Array<string>,\n  // minItems: 1\n  b?: Array<\n    // d\n    string\n  >,\n  c?: Array<any>\n}) => any;"},
		{"array of objects", `{"properties":{"a":{"type":"array","items":{"type":"object","description":"d","properties":{"k":{"type":"null"}}}}}}`,
			"type f = (_: {\n  a?: Array<\n    // d\n    {\n      k?: null\n    }\n  >\n}) => any;"},
		{"more properties", `{"properties":{"a":{"type":"object","additionalProperties":true},"b":{"type":"object","additionalProperties":{"type":"integer"}}},"additionalProperties":false}`,
			"type f = (_: {\n  a?: {\n    [k: string]: any\n  },\n  b?: {\n    [k: string]: number\n  },\n  [k: string]: never\n}) => any;"},
		{"booleans as schemas", `{"properties":{"a":true,"b":false}}`,
			"type f = (_: {\n  a?: any,\n  b?: null\n}) => any;"},
		{"a type that is not one", `{"properties":{"a":{"type":"weird"},"b":{"type":null},"c":{"type":"array","items":{"type":3}}}}`,
			"type f = (_: {\n  a?: weird,\n  b?: None,\n  c?: Array<3>\n}) => any;"},
		{"definitions", `{"$defs":{"N":{"type":"object","description":"a\nb","properties":{"n":{"$ref":"#/$defs/N"}}},"M":{"enum":["m"]}},"properties":{"x":{"$ref":"#/$defs/M","description":"r"}}}`,
			"interface M \"m\"\n// a\n// b\ninterface N {\n  n?: N\n}\ntype f = (_: {\n  // r\n  x?: M\n}) => any;"},
		{"self reference", `{"properties":{"z":{"$ref":"#"},"a":{"type":"string"},"r":{"type":"array","items":{"$ref":"#"}}},"required":["z"],"additionalProperties":false}`,
			"interface parameters {\n  a?: string,\n  r?: Array<parameters>,\n  z: parameters\n}\ntype f = (_: parameters) => any;"},
		{"self reference from a definition only", `{"$defs":{"N":{"type":"object","properties":{"p":{"$ref":"#"}}}},"properties":{"x":{"$ref":"#/$defs/N"}}}`,
			"interface N {\n  p?: parameters\n}\ntype f = (_: {\n  x?: N\n}) => any;"},
	} {
		t.Run(x.name, func(t *testing.T) {
			want := "# Tools\n\n## functions\nnamespace functions {\n" + x.want + "\n}\n"
			if got := declare(t, function(x.parameters)); got != want {
				t.Errorf("declared\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestTypeScriptTools(t *testing.T) {
	for _, x := range []struct{ name, tools, want string }{
		{"two functions", `[{"type":"function","function":{"name":"b","description":"does b\nwell"}},{"function":{"name":"a"},"type":"function"}]`,
			"# Tools\n\n## functions\nnamespace functions {\n// does b\n// well\ntype b = (_: {}) => any;\ntype a = (_: {}) => any;\n}\n"},
		{"no name", `[{"type":"function","function":{"description":"d"}}]`,
			"# Tools\n\n## functions\nnamespace functions {\n// d\ntype function = (_: {}) => any;\n}\n"},
		{"other tools are left out", `[{"type":"web"},{"type":"function","function":{"name":"a"}},{"type":"function"},{"type":"function","function":{}}]`,
			"# Tools\n\n## functions\nnamespace functions {\ntype a = (_: {}) => any;\n}\n"},
		{"JSON when nothing is left", `[{"type":"web","b":1,"a":{"d":2.0,"c":"é"}}]`, `[{"a":{"c":"é","d":2.0},"b":1,"type":"web"}]`},
		{"no tools", `[]`, ""},
		{"null", `null`, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := declare(t, x.tools); got != x.want {
				t.Errorf("declared\n%s\nwant\n%s", got, x.want)
			}
		})
	}
}

// TestTypeScriptFallsBack has schemas on which the Python encoder raises an
// exception: their tools are declared as compact JSON, sorted.
func TestTypeScriptFallsBack(t *testing.T) {
	for _, parameters := range []string{
		`"text"`, `[1]`, `7`,
		`{"properties":[]}`, `{"properties":{"a":{"description":"untyped"}}}`, `{"properties":{"a":1}}`, `{"properties":{"a":null}}`, `{"properties":{"a":"string"}}`,
		`{"properties":{"a":{}},"required":null}`, `{"properties":{"a":{}},"required":[[]]}`,
		`{"additionalProperties":1}`, `{"additionalProperties":{"x":1}}`, `{"$defs":[1]}`, `{"$defs":{"N":true}}`,
		`{"properties":{"a":{"$ref":"#/$defs/N"}}}`, `{"properties":{"a":{"$ref":"other"}}}`, `{"properties":{"a":{"$ref":1}}}`,
		`{"properties":{"a":{"anyOf":1}}}`, `{"properties":{"a":{"anyOf":"ab"}}}`, `{"properties":{"a":{"anyOf":[{"type":1}]}}}`,
		`{"properties":{"a":{"enum":1}}}`, `{"properties":{"a":{"enum":[1],"type":"string"}}}`, `{"properties":{"a":{"enum":["1"],"type":"integer"}}}`,
		`{"properties":{"a":{"enum":[1.5],"type":"integer"}}}`, `{"properties":{"a":{"enum":[1],"type":"boolean"}}}`, `{"properties":{"a":{"enum":["a"],"type":"number"}}}`,
		`{"properties":{"a":{"enum":["a"],"type":["string","integer"]}}}`, `{"properties":{"a":{"enum":["a"],"type":[]}}}`,
		`{"properties":{"a":{"type":["weird"]}}}`, `{"properties":{"a":{"type":[1]}}}`,
		`{"properties":{"a":{"type":"array","items":[1]}}}`, `{"properties":{"a":{"type":"array","items":{"type":3,"description":"d"}}}}`,
		`{"properties":{"a":{"type":"string","description":["d"]}}}`,
	} {
		compact, err := chat.AppendJSON(nil, []byte(parameters), chat.Compact)
		if err != nil {
			t.Fatal(err)
		}
		got := declare(t, function(parameters))
		if !strings.HasPrefix(got, `[{"function":{"name":"f","parameters":`) || len(got) != len(function(string(compact))) {
			t.Errorf("%s declared as %s", parameters, got)
		}
	}
}

// FuzzTypeScript declares whatever tools there are, as one text or the other.
func FuzzTypeScript(f *testing.F) {
	f.Add(`[{"type":"function","function":{"name":"f","parameters":{"$defs":{"N":{"type":"object"}},"properties":{"a":{"$ref":"#/$defs/N"},"b":{"anyOf":[{"enum":[1,null]},{"type":["string"]}]}}}}}]`)
	f.Fuzz(func(t *testing.T, tools string) {
		out, err := kimi(t).Render(nil, chat.Conversation{Tools: []byte(tools)})
		if err != nil {
			return // not a list
		}
		s := string(out)
		const generation = "<|im_assistant|>assistant<|im_middle|><think></think>"
		if s != generation && !strings.HasPrefix(s, "<|im_system|>tool_declare<|im_middle|># Tools") && !strings.HasPrefix(s, "<|im_system|>tool_declare<|im_middle|>[") {
			t.Fatalf("%s declared as %s", tools, s)
		}
	})
}
