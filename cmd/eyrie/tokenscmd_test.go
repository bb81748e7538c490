package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/export"
	"github.com/eyrie-ai/eyrie/internal/testvocab"
)

// program runs the program with no terminal around it, and wants its exit code.
func program(t *testing.T, code int, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	getenv := func(name string) string {
		return map[string]string{"OPENROUTER_API_KEY": "sk-good", "HOME": t.TempDir()}[name]
	}
	got := run(t.Context(), args, getenv, strings.NewReader(stdin), &out, &errOut)
	if got != code {
		t.Fatalf("eyrie %v: exit code %d, want %d\n%s%s", args, got, code, out.String(), errOut.String())
	}
	return out.String(), errOut.String()
}

// sharedPath returns the path of reference data, or skips the test.
func sharedPath(t *testing.T, elem ...string) string {
	t.Helper()
	root := cmp.Or(os.Getenv("EYRIE_SHARED"), filepath.Join("..", "..", "..", "shared"))
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no reference data: %v (set EYRIE_SHARED)", err)
	}
	return path
}

func TestTokensLines(t *testing.T) {
	model := testvocab.Folder(t)
	for _, row := range []struct {
		name string
		args []string
		in   string
		want string
	}{
		{"encode", []string{"encode"}, `{"id":1,"text":"The cat","more":{}}

  {"id":{"a":[1.50]},"text":"<|im_end|>"}` + "\r\n" + `{"text":""}
nonsense
{"id":2}
{"id":"x","text":[]}
{"id":3,"text":"\ud800"}
{"id":4,"text":"."}`, `{"id":1,"ids":[1008,10975]}
{"id":{"a":[1.50]},"ids":[163586]}
{"id":null,"ids":[]}
{"id":null,"error":"line 5: byte 1: invalid character 'o' in literal null (expecting 'u')"}
{"id":2,"error":"line 6: text: missing"}
{"id":"x","error":"line 7: text: a JSON array does not fit here"}
{"id":3,"error":"line 8: byte 16: invalid surrogate pair ` + "`\\\\ud800\\\"}`" + ` in string"}
{"id":4,"ids":[13]}
`},
		{"control tokens as text", []string{"encode", "--special=false"}, `{"id":1,"text":"<|im_end|>"}`, `{"id":1,"ids":[27,91,348,11129,91,29]}` + "\n"},
		{"an array", []string{"encode"}, " \n[{\"id\":1,\"text\":\".\"},\n{\"id\":2,\"text\":1}]\n", `{"id":1,"ids":[13]}
{"id":2,"error":"element 2: text: a JSON number does not fit here"}
`},
		{"nothing", []string{"encode"}, "\n", ""},
		{"decode", []string{"decode"}, `{"id":1,"ids":[1008,10975]}
{"id":2,"ids":[166]}
{"id":3,"ids":[0,200000]}
{"id":4,"ids":[1.5]}
{"id":5}`, `{"id":1,"text":"The cat","bytes":"VGhlIGNhdA=="}
{"id":2,"text":"` + "\uFFFD" + `","bytes":"6g=="}
{"id":3,"error":"line 3: ids: tokenizer: index 1: id 200000 has no token in this vocabulary of 163840 ids"}
{"id":4,"error":"line 4: ids.0: a JSON number does not fit here: invalid syntax"}
{"id":5,"error":"line 5: ids: missing"}
`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, _ := program(t, exitDone, row.in, slices.Concat([]string{"tokens"}, row.args, []string{"--model", model})...)
			if got != row.want {
				t.Errorf("got\n%s\nwant\n%s", got, row.want)
			}
		})
	}
	_, errOut := program(t, exitFailed, `[{"id":1,"text":"."} ; ]`, "tokens", "encode", "--model", model)
	if !strings.Contains(errOut, "stdin: ") {
		t.Errorf("an array that is none: %s", errOut)
	}
}

// TestTokensAnswerAtOnce holds a conversation with the program over pipes: each
// line is answered before the next one is written.
func TestTokensAnswerAtOnce(t *testing.T) {
	model := testvocab.Folder(t)
	in, toProgram := io.Pipe()
	fromProgram, out := io.Pipe()
	done := make(chan int)
	go func() {
		code := run(t.Context(), []string{"tokens", "encode", "--model", model},
			func(string) string { return "" }, in, out, io.Discard)
		out.Close()
		done <- code
	}()
	answers := bufio.NewReader(fromProgram)
	for i := range 3 {
		fmt.Fprintf(toProgram, "{\"id\":%d,\"text\":\".\"}\n", i)
		if got, err := answers.ReadString('\n'); err != nil || got != fmt.Sprintf("{\"id\":%d,\"ids\":[13]}\n", i) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	toProgram.Close()
	if code := <-done; code != exitDone {
		t.Errorf("exit code %d", code)
	}
}

func TestTokensForPeople(t *testing.T) {
	model := testvocab.Folder(t)
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"encode", "The\xf0<|im_end|>"}, "   1008  \"The\"\n    172  \"\\xf0\"\n 163586  \"<|im_end|>\"\n3 tokens\n"},
		{[]string{"encode", "--color=always", ".<|im_end|>"}, "     13  \".\"\n 163586  \x1b[35m\"<|im_end|>\"\x1b[0m\n2 tokens\n"},
		{[]string{"decode", "[1008, 10975]"}, "   1008  \"The\"\n  10975  \" cat\"\n2 tokens\nThe cat\n"},
	} {
		if got, _ := program(t, exitDone, "", append([]string{"tokens", "--model", model}, row.args...)...); got != row.want {
			t.Errorf("%q: got\n%s\nwant\n%s", row.args, got, row.want)
		}
	}
}

func TestTokensMistakes(t *testing.T) {
	model := testvocab.Folder(t)
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"encode", "text"}, "--model is missing"},
		{[]string{"encode", "--model", "nowhere", "text"}, "nowhere"},
		{[]string{"encode", "--model", model, "two", "words"}, "quote text that has spaces"},
		{[]string{"encode", "--model", model, "--color", "blue", "text"}, "--color blue: want auto, always or never"},
		{[]string{"decode", "--model", model, "1;2"}, `"1;2" is no token id`},
		{[]string{"render", "--model", model, "nowhere.json"}, "nowhere.json"},
		{[]string{"render", "--model", model, "--now", "noon"}, "--now noon"},
		{[]string{"render", "--model", model, "--template", "nowhere.jinja"}, "nowhere.jinja"},
		{[]string{"template", "nowhere.jinja"}, "nowhere.jinja"},
		{[]string{"template"}, "eyrie tokens template wants FILE"},
		{[]string{"explain", "run"}, "eyrie tokens explain wants RUN ID"},
		{[]string{"explain", "run", "x/t0/s0", "--confident", "2"}, "--confident 2: want a number above 0 and up to 1"},
		{[]string{"encode", "--modle", model}, "did you mean --model"},
	} {
		if _, got := program(t, exitConfig, "", append([]string{"tokens"}, row.args...)...); !strings.Contains(got, row.want) {
			t.Errorf("%q: %s\nwant %s", row.args, got, row.want)
		}
	}
}

// lostFraction finds where the golden file's writer lost the fraction of a float
// in arguments that are no text: the reference was given, and printed, 2.0.
var lostFraction = regexp.MustCompile(`([a-z][0-9]":)2([,}])`)

// TestRenderGoldenChats renders what the reference implementations rendered.
func TestRenderGoldenChats(t *testing.T) {
	f, err := os.Open(sharedPath(t, "golden", "kimi-chat.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	type golden struct {
		ID       int     `json:"id"`
		Model    string  `json:"model"`
		Error    string  `json:"error"`
		Rendered string  `json:"rendered"`
		IDs      []int32 `json:"ids"`
	}
	read := func(text string) (rows []golden) {
		for line := range strings.Lines(text) {
			var g golden
			if err := json.Unmarshal([]byte(line), &g); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, g)
		}
		return rows
	}
	vocabulary := sharedPath(t, "models", "kimi-k2.5")
	for _, model := range []struct {
		name, folder string
		rows         int
	}{{"k25", "kimi-k2.5", 100}, {"k26", "kimi-k2.6", 100}, {"k2t", "kimi-k2-thinking", 50}} {
		var chats strings.Builder
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, `"model":"`+model.name+`"`) {
				chats.WriteString(lostFraction.ReplaceAllString(line, "${1}2.0$2"))
			}
		}
		args := []string{"tokens", "render", "--model", vocabulary}
		if model.folder != "kimi-k2.5" {
			args = append(args, "--template", sharedPath(t, "models", model.folder, "chat_template.jinja"))
		}
		out, _ := program(t, exitDone, chats.String(), args...)
		want, got := read(chats.String()), read(out)
		if len(want) != model.rows || len(got) != len(want) {
			t.Fatalf("%s: %d chats, %d answers, want %d", model.name, len(want), len(got), model.rows)
		}
		for i, w := range want {
			g := got[i]
			if g.Error != "" || g.ID != w.ID || g.Rendered != w.Rendered {
				at := sameFor(g.Rendered, w.Rendered)
				t.Errorf("%s %d: %s, rendered from byte %d on\n%.80q\nwant\n%.80q", model.name, w.ID, g.Error, at, g.Rendered[at:], w.Rendered[at:])
			} else if w.IDs != nil && !slices.Equal(g.IDs, w.IDs) {
				t.Errorf("%s %d: ids\n%v\nwant\n%v", model.name, w.ID, g.IDs, w.IDs)
			}
		}
	}
}

// sameFor is how many bytes two texts have in common at their beginning.
func sameFor(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// TestRenderBuiltIn renders with a folder that holds just a vocabulary.
func TestRenderBuiltIn(t *testing.T) {
	const user = `<|im_user|>user<|im_middle|>Hi<|im_end|>`
	const ask = `<|im_assistant|>assistant<|im_middle|>`
	rows := []struct{ in, rendered, err string }{
		{in: `"messages":[{"role":"user","content":"Hi"}]`, rendered: user + ask + "<think>"},
		{in: `"messages":[{"role":"user","content":[{"type":"text","text":"H"},{"type":"text","text":"i"}]}],"tools":null,"kwargs":{"thinking":false,"add_generation_prompt":true}`, rendered: user + ask + "<think></think>"},
		{in: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":null,"reasoning_content":"R","tool_calls":[{"id":"f:0","function":{"name":"f","arguments":{"a":[1,2.50]}}},{"id":"f:1","function":{"name":"f","arguments":"{\"a\":1}"}}]}]`,
			rendered: user + ask + `<think>R</think><|tool_calls_section_begin|><|tool_call_begin|>f:0<|tool_call_argument_begin|>{"a": [1, 2.5]}<|tool_call_end|><|tool_call_begin|>f:1<|tool_call_argument_begin|>{"a":1}<|tool_call_end|><|tool_calls_section_end|><|im_end|>` + ask + "<think>"},
		{in: `"messages":[{"role":"user","content":[{"type":"image_url"}]}]`, err: `messages[0]: content: part 0 is of type "image_url"; the built-in template cannot say it`},
		{in: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"","reasoning_content":null}]`, err: "messages[1]: reasoning_content: null is no text"},
		{in: `"messages":[],"kwargs":{"add_generation_prompt":false}`, err: "kwargs.add_generation_prompt is false"},
		{in: `"messages":[],"kwargs":{"tools_ts_str":"x"}`, err: `kwargs.tools_ts_str is "x"`},
		{in: `"messages":"Hi"`, err: "messages: "},
		{in: `"tools":[]`, err: "messages: missing"},
		{in: `"messages":[],"tools":{}`, err: "want a JSON array"},
	}
	var in strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&in, "{\"id\":%d,%s}\n", i, row.in)
	}
	out, _ := program(t, exitDone, in.String(), "tokens", "render", "--model", testvocab.Folder(t))
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(rows) {
		t.Fatalf("%d answers to %d lines:\n%s", len(lines), len(rows), out)
	}
	for i, row := range rows {
		var got struct {
			ID       int     `json:"id"`
			Rendered string  `json:"rendered"`
			Error    string  `json:"error"`
			IDs      []int32 `json:"ids"`
		}
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if got.ID != i || got.Rendered != row.rendered || !strings.Contains(got.Error, row.err) || (got.Error == "") != (row.err == "") || (len(got.IDs) == 0) != (row.rendered == "") {
			t.Errorf("%s\ngot %s\nwant %q %q", row.in, lines[i], row.rendered, row.err)
		}
	}
}

// TestRenderForPeople shows a conversation with its loss mask.
func TestRenderForPeople(t *testing.T) {
	model, file := testvocab.Folder(t), filepath.Join(t.TempDir(), "chat.json")
	for _, row := range []struct{ in, want string }{
		{`[{"role":"user","content":"Hi"}]`, `0   163587  "<|im_user|>"
0     2482  "user"
0   163601  "<|im_middle|>"
0    18699  "Hi"
0   163586  "<|im_end|>"
0   163588  "<|im_assistant|>"
0    69702  "assistant"
0   163601  "<|im_middle|>"
0   163606  "<think>"
9 tokens, 0 with loss
`},
		{`{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","reasoning_content":"The","content":"Hi"}]}`, `0   163587  "<|im_user|>"
0     2482  "user"
0   163601  "<|im_middle|>"
0    18699  "Hi"
0   163586  "<|im_end|>"
0   163588  "<|im_assistant|>"
0    69702  "assistant"
0   163601  "<|im_middle|>"
0   163606  "<think>"
1     1008  "The"
1   163607  "</think>"
1    18699  "Hi"
1   163586  "<|im_end|>"
13 tokens, 4 with loss
`},
	} {
		if err := os.WriteFile(file, []byte(row.in), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, _ := program(t, exitDone, "", "tokens", "render", "--model", model, file); got != row.want {
			t.Errorf("%s\ngot\n%s\nwant\n%s", row.in, got, row.want)
		}
	}
	if err := os.WriteFile(file, []byte(`{"messages":[{"role":"user","content":[{"type":"audio"}]}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, got := program(t, exitFailed, "", "tokens", "render", "--model", model, file); !strings.Contains(got, file+": messages[0]: content: part 0") {
		t.Errorf("the error is %s", got)
	}
}

func TestTemplateCases(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jinja")
	const src = `{% for m in messages %}é{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}{{ strftime_now('%H:%M') }}
{{ x.y.z }}`
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	got, _ := program(t, exitDone, `[{"name":"a","context":{"messages":[{"content":"né"}],"x":{"y":{"z":1.0}}}},
{"id":"b","context":{}}, {"name":"c"}, {"name":"d","context":[]}]`, "tokens", "template", file, "--now", "2026-11-30T12:34:56")
	want := `{"id":"a","text":"éné12:34\n1.0","generation":[[1,3]]}
{"id":"b","error":"UndefinedError: 'x' is undefined","line":2}
{"id":"c","error":"element 3: context: missing"}
{"id":"d","error":"element 4: context: want a JSON object"}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := os.WriteFile(file, []byte("\n{% if %}"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, _ = program(t, exitDone, `{"id":1,"context":{}}`, "tokens", "template", file)
	if want := `{"id":1,"error":"TemplateSyntaxError: `; !strings.HasPrefix(got, want) || !strings.Contains(got, `"line":2}`) {
		t.Errorf("got %s, want %s… of line 2", got, want)
	}
}

// TestTemplateSnippets compares with what Python made of probes of the language.
func TestTemplateSnippets(t *testing.T) {
	type outcome struct {
		Text    *string `json:"text"`
		Error   string  `json:"error"`
		Compile string  `json:"compile_error"`
	}
	readFile := func(elem ...string) []byte {
		b, err := os.ReadFile(sharedPath(t, elem...))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var want map[string]map[string]outcome
	if err := json.Unmarshal(readFile("golden", "jinja", "expected-snippets.json"), &want); err != nil {
		t.Fatal(err)
	}
	cases := readFile("golden", "jinja", "snip-cases.json")
	for name, rows := range want {
		out, _ := program(t, exitDone, string(cases), "tokens", "template", sharedPath(t, "golden", "jinja", "snippets", name), "--now", "2026-11-30T12:34:56")
		for line := range strings.Lines(out) {
			var got struct {
				ID    string  `json:"id"`
				Text  *string `json:"text"`
				Error string  `json:"error"`
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatal(err)
			}
			w := rows[got.ID]
			if (got.Text == nil) != (w.Text == nil) || got.Text != nil && *got.Text != *w.Text || got.Error != w.Error+w.Compile {
				t.Errorf("%s: %s\nwant %+v", name, line, w)
			}
		}
	}
}

// emulatedRun makes a run against an emulated vendor and returns its folder and
// the vendor's books.
func emulatedRun(t *testing.T, change func(*emulator.Scenario)) (runDir, books string) {
	t.Helper()
	dir := t.TempDir()
	model := testvocab.Folder(t)
	books = filepath.Join(dir, "books.jsonl")
	sc := emulator.DefaultScenario()
	change(&sc)
	srv, err := emulator.New(emulator.Config{VocabularyPath: filepath.Join(model, "tiktoken.model"), Seed: 1, Scenario: &sc, BooksPath: books})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	web := httptest.NewServer(srv)
	defer web.Close()
	job := fmt.Sprintf(`model: moonshotai/kimi-k2.5
tokenizer: %q
budget: 1
output: %q
concurrency: 20
sampling: {temperature: 1.0, max_tokens: 512}
datasets:
  - {name: set, path: %q, tokens: 40k, samples: 200}
engines:
  - openrouter: {base_url: %q, quantization: [int4]}
`, model, filepath.Join(dir, "run"), filepath.Join(dir, "prompts.jsonl"), web.URL+"/api/v1")
	for name, text := range map[string]string{
		"job.yaml": job, "prompts.jsonl": `{"id":"code/1","messages":[{"role":"user","content":"What is a kestrel?"}]}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program(t, exitDone, "", "run", filepath.Join(dir, "job.yaml"), "--progress", "none")
	return filepath.Join(dir, "run"), books
}

// TestExplain explains rows of every class that a run has.
func TestExplain(t *testing.T) {
	runDir, books := emulatedRun(t, func(s *emulator.Scenario) { s.Text.NonCanonical = 0.3 })
	out := filepath.Join(t.TempDir(), "rows")
	program(t, exitDone, "", "export", runDir, "--out", out)
	meta := readRows[export.Meta](t, filepath.Join(out, "set", "meta.jsonl"))
	refused := readRows[export.Meta](t, filepath.Join(out, "set", "refused.jsonl"))
	if len(meta) == 0 || len(refused) == 0 {
		t.Fatalf("%d rows, %d refused: nothing to explain", len(meta), len(refused))
	}
	want := func(got string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !regexp.MustCompile(`(?m)` + p).MatchString(got) {
				t.Errorf("no %q in\n%s", p, got)
			}
		}
	}
	good := meta[0]
	got, _ := program(t, exitDone, "", "tokens", "explain", runDir, good.ID, "--tokenizer", testvocab.Folder(t))
	want(got, `^row +`+regexp.QuoteMeta(good.ID)+` of set set$`, `^key +`+good.Key.String(), `^class +counted$`, `^reason +the counts are those of the bill`,
		fmt.Sprintf(`^prompt +%d +%d *$`, good.PromptTokens, good.PromptTokens), `answers surveyed: `, `^[0-9]+ readings tried, [0-9]+ fit the bill$`, `^[01]\.[0-9]+ .* nothing: the answer as it came$`)
	if strings.Contains(got, "\x1b") {
		t.Error("colours where there is no terminal")
	}
	byKey, _ := program(t, exitDone, "", "tokens", "explain", runDir, good.Key.String())
	if byKey != got {
		t.Errorf("by its key\n%s", byKey)
	}
	explained := func(id string, args ...string) (line map[string]any) {
		t.Helper()
		got, _ := program(t, exitDone, "", append([]string{"tokens", "explain", runDir, id, "--json"}, args...)...)
		if strings.Count(got, "\n") != 1 {
			t.Errorf("%q is not one line", got)
		}
		if err := json.Unmarshal([]byte(got), &line); err != nil {
			t.Fatal(err)
		}
		return line
	}
	line := explained(good.ID)
	prompt := line["tokens"].(map[string]any)["prompt"].(map[string]any)
	plain := line["readings"].([]any)[0].(map[string]any)
	if line["id"] != good.ID || line["key"] != good.Key.String() || line["class"] != "counted" ||
		prompt["ours"] != float64(good.PromptTokens) || prompt["billed"] != prompt["ours"] ||
		plain["fits"] != true || len(plain["assumes"].([]any)) != 0 {
		t.Errorf("%v", line)
	}
	differs := false
	for _, bad := range refused[:min(20, len(refused))] {
		got, _ = program(t, exitDone, "", "tokens", "explain", runDir, bad.ID, "--ids", books)
		want(got, `^class +(mismatch|retokenised)$`, `^reason +completion: `, `^prompt: all [0-9]+ ids are those of .*books.jsonl$`)
		if differs = strings.Contains(got, "differs from"); differs {
			want(got, `^completion: differs from .*books.jsonl at token [0-9]+ \([0-9]+ ids ours, [0-9]+ theirs\)$`, `^> [0-9]+ +[0-9]+ +"`)
			parts := explained(bad.ID, "--ids", books)["compared"].([]any)
			part := parts[len(parts)-1].(map[string]any)
			if part["part"] != "completion" || part["differs_at"] == nil || part["our_token"] == nil {
				t.Errorf("%v", part)
			}
			break
		}
	}
	if !differs {
		t.Error("no refused row differs from the truth")
	}
	got, _ = program(t, exitDone, "", "tokens", "explain", runDir, good.ID, "--ids", filepath.Join(out, "set", "train.jsonl"))
	want(got, `^prompt: all `, `^completion: all `)

	_, errOut := program(t, exitConfig, "", "tokens", "explain", runDir, "code/2/t0/s0")
	want(errOut, `no accepted answer with the id code/2/t0/s0`)
	_, errOut = program(t, exitFailed, "", "tokens", "explain", runDir, refused[0].ID, "--ids", filepath.Join(out, "set", "train.jsonl"))
	want(errOut, `train.jsonl: no line with the id `)
}

// TestExportStatesHabits exports from lanes that trim: the manifest says so, and
// less confidence certifies more rows.
func TestExportStatesHabits(t *testing.T) {
	runDir, _ := emulatedRun(t, func(s *emulator.Scenario) {
		s.Text.TrailingSpace, s.Text.TrimReasoning, s.Text.NonCanonical = 0.3, true, 0.02
	})
	manifests := map[string]*export.Manifest{}
	for _, p := range []string{"0.98", "0.5"} {
		out := t.TempDir()
		program(t, exitDone, "", "export", runDir, "--out", out, "--confident", p)
		m := readRows[export.Manifest](t, filepath.Join(out, "set", "manifest.json"))[0]
		if fmt.Sprint(m.Run.Confidence) != p || len(m.Surveys) == 0 {
			t.Errorf("--confident %s: the manifest says %v of %d lanes", p, m.Run.Confidence, len(m.Surveys))
		}
		for lane, s := range m.Surveys {
			if s.Answers > 50 && s.Habits["line_after_reasoning"] < 0.05 {
				t.Errorf("%s is said to do %+v", lane, s)
			}
		}
		manifests[p] = &m
	}
	if a, b := manifests["0.98"], manifests["0.5"]; a.Rows > b.Rows || a.Rows+a.Refused != b.Rows+b.Refused {
		t.Errorf("%d of %d rows at 0.98, %d of %d at 0.5", a.Rows, a.Rows+a.Refused, b.Rows, b.Rows+b.Refused)
	}
}

// readRows reads JSON values one after the other.
func readRows[T any](t *testing.T, file string) (rows []T) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := jsontext.NewDecoder(f)
	for {
		var v T
		switch err := json.UnmarshalDecode(d, &v); err {
		case nil:
			rows = append(rows, v)
		case io.EOF:
			return rows
		default:
			t.Fatalf("%s: %v", file, err)
		}
	}
}
