package kimi_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
	"github.com/eyrie-ai/eyrie/emulator/internal/kimi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func shared(t *testing.T, elem ...string) *os.File {
	t.Helper()
	root := cmp.Or(os.Getenv("EYRIE_SHARED"), filepath.Join("..", "..", "..", "..", "shared"))
	f, err := os.Open(filepath.Join(append([]string{root}, elem...)...))
	if err != nil {
		t.Skipf("reference data absent (set EYRIE_SHARED to its folder): %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func value(t *testing.T, data string) kimi.Value {
	t.Helper()
	v, err := kimi.Parse([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// dotted finds numbers that the reference data prints as floats though its
// JSON holds integers: its writer dropped the dot.
var dotted = regexp.MustCompile(`\b\d+\.0\b`)

func TestRenderMatchesReference(t *testing.T) {
	z, err := gzip.NewReader(shared(t, "golden", "kimi-chat.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	vocabulary, err := bpe.Read(shared(t, "models", "kimi-k2.5", "tiktoken.model"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	checked, lossy, declared := 0, 0, 0
	for lines.Scan() {
		var row struct {
			ID       int             `json:"id"`
			Model    string          `json:"model"`
			Kwargs   map[string]bool `json:"kwargs"`
			Tools    jsontext.Value  `json:"tools"`
			Messages jsontext.Value  `json:"messages"`
			TS       string          `json:"tools_ts"`
			Rendered string          `json:"rendered"`
			IDs      []bpe.ID        `json:"ids"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		tools := value(t, string(row.Tools))
		if row.TS != "" {
			declared++
			if ts, err := kimi.TypeScript(tools); err != nil || ts != row.TS {
				t.Errorf("row %d: declared (%v)\n%s\nwant\n%s", row.ID, err, ts, row.TS)
			}
		}
		if row.Model != "k25" {
			continue
		}
		checked++
		thinking, set := row.Kwargs["thinking"]
		got := kimi.Render(value(t, string(row.Messages)), tools, kimi.Options{
			NoThinking: set && !thinking,
			NoPrompt:   !row.Kwargs["add_generation_prompt"],
		})
		switch {
		case got == row.Rendered:
			if ids := vocabulary.EncodePrompt(nil, got); !slices.Equal(ids, row.IDs) {
				t.Errorf("row %d: %d ids, want %d", row.ID, len(ids), len(row.IDs))
			}
		case dotted.MatchString(row.Rendered) && undot(got) == undot(row.Rendered):
			lossy++
		default:
			t.Errorf("row %d: rendered\n%s\nwant\n%s", row.ID, got, row.Rendered)
		}
	}
	t.Logf("%d chats, %d of them alike but for dropped dots, %d declarations", checked, lossy, declared)
	if checked < 100 || lossy > checked/4 || declared < 50 {
		t.Errorf("too little was checked: %d chats, %d lossy, %d declarations", checked, lossy, declared)
	}
}

func undot(s string) string {
	return dotted.ReplaceAllStringFunc(s, func(n string) string { return strings.TrimSuffix(n, ".0") })
}

func TestRender(t *testing.T) {
	for _, row := range []struct {
		name, messages, tools, want string
		opt                         kimi.Options
	}{
		{
			name: "plain", messages: `[{"role":"user","content":"hi"}]`,
			want: "<|im_user|>user<|im_middle|>hi<|im_end|><|im_assistant|>assistant<|im_middle|><think>",
		},
		{
			name: "thinking off", messages: `[{"role":"user","content":"hi"}]`, opt: kimi.Options{NoThinking: true},
			want: "<|im_user|>user<|im_middle|>hi<|im_end|><|im_assistant|>assistant<|im_middle|><think></think>",
		},
		{
			name:     "reasoning of finished turns is dropped",
			messages: `[{"role":"assistant","content":"a","reasoning_content":"gone"},{"role":"assistant","content":null,"reasoning_content":"kept","tool_calls":[{"id":"functions.f:0","function":{"name":"f","arguments":"{}"}}]}]`,
			opt:      kimi.Options{NoPrompt: true},
			want:     "<|im_assistant|>assistant<|im_middle|><think></think>a<|im_end|><|im_assistant|>assistant<|im_middle|><think>kept</think><|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|><|im_end|>",
		},
		{
			name: "undeclarable tools are JSON", messages: `[]`, tools: `[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"x":{"title":"T"}}}}}]`,
			opt:  kimi.Options{NoPrompt: true},
			want: `<|im_system|>tool_declare<|im_middle|>[{"function":{"name":"f","parameters":{"properties":{"x":{"title":"T"}},"type":"object"}},"type":"function"}]<|im_end|>`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := kimi.Render(value(t, row.messages), value(t, cmp.Or(row.tools, "null")), row.opt)
			if got != row.want {
				t.Errorf("rendered\n%s\nwant\n%s", got, row.want)
			}
		})
	}
}

func TestDumpAsPython(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{`{"b":1,"a":[true,null,"é\n\u0001"]}`, `{"b": 1, "a": [true, null, "é\n\u0001"]}`},
		{`[1e2,1.50,-0,0.00001,1e16,12345678901234567890]`, `[100.0, 1.5, 0, 1e-05, 1e+16, 12345678901234567890]`},
		{`{"a":1,"b":2,"a":3}`, `{"a": 3, "b": 2}`},
	} {
		if got := value(t, row.in).Dump(", ", ": "); got != row.want {
			t.Errorf("%s: %s, want %s", row.in, got, row.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"a":[1,2.5,"x",null,true,{}]}`)
	f.Add(`[{"type":"function","function":{"name":"f","parameters":{"anyOf":[{}]}}}]`)
	f.Fuzz(func(t *testing.T, s string) {
		v, err := kimi.Parse([]byte(s))
		if err != nil {
			return
		}
		again, err := kimi.Parse([]byte(v.Dump(",", ":")))
		if err != nil && !strings.Contains(v.Dump(",", ":"), "Infinity") {
			t.Fatalf("%q: dumped value does not parse: %v", s, err)
		}
		if err == nil && again.Dump(",", ":") != v.Dump(",", ":") {
			t.Errorf("%q: second dump differs", s)
		}
		kimi.Render(v, v, kimi.Options{})
	})
}
