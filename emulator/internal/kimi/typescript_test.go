package kimi_test

import (
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator/internal/kimi"
)

// declare wraps a parameter schema in a tool and returns what stands between
// the namespace's braces.
func declare(t *testing.T, schema string) (string, error) {
	t.Helper()
	text, err := kimi.TypeScript(value(t, `[{"type":"function","function":{"name":"f","parameters":`+schema+`}}]`))
	text = strings.TrimPrefix(text, "# Tools\n\n## functions\nnamespace functions {\n")
	return strings.TrimSuffix(text, "\n}\n"), err
}

func TestTypeScript(t *testing.T) {
	for _, row := range []struct{ name, schema, want string }{
		{"nothing", `null`, `type f = (_: {}) => any;`},
		{"required first, sorted", `{"properties":{"b":{"type":"string"},"a":{"type":"integer"},"c":{}},"required":["b"]}`,
			"type f = (_: {\n  b: string,\n  a?: number,\n  c?: any\n}) => any;"},
		{"booleans for schemas", `{"properties":{"a":true,"b":false}}`, "type f = (_: {\n  a?: any,\n  b?: null\n}) => any;"},
		{"rest", `{"properties":{},"additionalProperties":false}`, "type f = (_: {\n  [k: string]: never\n}) => any;"},
		{"any rest", `{"additionalProperties":true}`, "type f = (_: {\n  [k: string]: any\n}) => any;"},
		{"enum of all sorts", `{"properties":{"a":{"enum":["x",1,2.5,true,null]}}}`, "type f = (_: {\n  a?: \"x\" | 1 | 2.5 | True | None\n}) => any;"},
		{"enum of nullable type", `{"properties":{"a":{"type":["string","null"],"enum":["x",null]}}}`, "type f = (_: {\n  a?: \"x\" | None\n}) => any;"},
		{"union", `{"properties":{"a":{"type":["object","array","integer"]}}}`, "type f = (_: {\n  a?: {} | Array<any> | number\n}) => any;"},
		{"array", `{"properties":{"a":{"type":"array","minItems":1,"items":{"type":"string","pattern":"^x"}}}}`,
			"type f = (_: {\n  // minItems: 1\n  a?: Array<\n    // pattern: ^x\n    string\n  >\n}) => any;"},
		{"defaults", `{"properties":{"a":{"type":"string","default":"é\"\n"},"b":{"type":"array","default":[1,"x"]},"c":{"type":"number","default":1e20},"d":{"type":"boolean","default":false}}}`,
			"type f = (_: {\n  // Default: \"é\\\"\\n\"\n  a?: string,\n  // Default: [1, \"x\"]\n  b?: Array<any>,\n  // Default: 1e+20\n  c?: number,\n  // Default: False\n  d?: boolean\n}) => any;"},
		{"self", `{"properties":{"next":{"$ref":"#"},"v":{"type":"string"}}}`,
			"interface parameters {\n  next?: parameters,\n  v?: string\n}\ntype f = (_: parameters) => any;"},
		{"definition", `{"$defs":{"N":{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}}}},"properties":{"r":{"$ref":"#/$defs/N","description":"two\n\nlines"}}}`,
			"interface N {\n  n?: N\n}\ntype f = (_: {\n  // two\n\n  // lines\n  r?: N\n}) => any;"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, err := declare(t, row.schema); err != nil || got != row.want {
				t.Errorf("declared (%v)\n%s\nwant\n%s", err, got, row.want)
			}
		})
	}
}

func TestTypeScriptRefuses(t *testing.T) {
	for _, row := range []struct{ name, schema, want string }{
		{"no type", `{"properties":{"a":{"title":"A"}}}`, "without type"},
		{"foreign reference", `{"properties":{"a":{"$ref":"#/definitions/A"}}}`, "unsupported reference"},
		{"unknown definition", `{"properties":{"a":{"$ref":"#/$defs/A"}}}`, "not found"},
		{"wrong enum", `{"properties":{"a":{"type":"string","enum":[1]}}}`, "enum value 1 is no string"},
		{"float in integers", `{"properties":{"a":{"type":"integer","enum":[1.0]}}}`, "is no integer"},
		{"enum of many types", `{"properties":{"a":{"type":["string","integer"],"enum":[1]}}}`, "enum of several types"},
		{"unknown type in a union", `{"properties":{"a":{"type":["text"]}}}`, `unknown type "text"`},
		{"number for a schema", `{"properties":{"a":5}}`, "neither object nor boolean"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := declare(t, row.schema); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
	if text, err := kimi.TypeScript(value(t, `[{"type":"web"},{"type":"function","function":{}}]`)); text != "" || err != nil {
		t.Errorf("no functions: %q, %v", text, err)
	}
}
