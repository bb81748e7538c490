package dataset_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset"
)

// numbered are rows that can be told apart.
func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "{\"id\":\"%d\",\"prompt\":\"question number %d\"}\n", i, i)
	}
	return b.String()
}

// ids lists prompts, and holds their ordinals against their places.
func ids(t *testing.T, prompts []*eyrie.Prompt) []string {
	t.Helper()
	var out []string
	for i, p := range prompts {
		if p.Ordinal != i {
			t.Errorf("prompt %s is number %d, want %d", p.ID, p.Ordinal, i)
		}
		out = append(out, p.ID)
	}
	return out
}

func TestSampleAndShuffle(t *testing.T) {
	file := numbered(0, 1000)
	read := func(file string, opts dataset.Options) []string {
		prompts, _ := readAll(t, text(file), opts)
		return ids(t, prompts)
	}
	plain := read(file, dataset.Options{})
	hundred := read(file, dataset.Options{Sample: 100})
	if len(hundred) != 100 || !slices.IsSortedFunc(hundred, func(a, b string) int { return len(a) - len(b) }) {
		t.Errorf("a sample of %d, in the order of the file: %v", len(hundred), hundred)
	}
	if other := read(file, dataset.Options{Sample: 100, Seed: 1}); slices.Equal(other, hundred) {
		t.Error("two seeds draw the same sample")
	}
	larger := read(file, dataset.Options{Sample: 300})
	for _, id := range hundred {
		if !slices.Contains(larger, id) {
			t.Fatalf("%s is in the sample of 100 and not in that of 300", id)
		}
	}
	if all := read(file, dataset.Options{Sample: 5000}); !slices.Equal(all, plain) {
		t.Errorf("a sample larger than the set has %d rows", len(all))
	}

	shuffled := read(file, dataset.Options{Shuffle: true, Seed: 7})
	if slices.Equal(shuffled, plain) || !slices.Equal(slices.Sorted(slices.Values(shuffled)), slices.Sorted(slices.Values(plain))) {
		t.Error("a shuffled set is not the set in another order")
	}
	if again := read(file, dataset.Options{Shuffle: true, Seed: 7}); !slices.Equal(again, shuffled) {
		t.Error("the same seed gives another order")
	}
	if both := read(file, dataset.Options{Shuffle: true, Seed: 7, Sample: 50}); !slices.Equal(both, shuffled[:50]) {
		t.Errorf("the sample of a shuffled set is not its beginning: %v", both)
	}
	// Rows that come later change nothing between those that were there.
	more := read(file+numbered(1000, 1500), dataset.Options{Shuffle: true, Seed: 7})
	more = slices.DeleteFunc(more, func(id string) bool { return len(id) == 4 })
	if !slices.Equal(more, shuffled) {
		t.Error("rows that come later change the order of the others")
	}
}

// TestShuffledPrompts are the same in every loop, and whole.
func TestShuffledPrompts(t *testing.T) {
	const row = `{"id":"a","tools":[{"name":"f"}],"split":"test","license":"mit","messages":[{"role":"user","name":"Ann","content":"Hi\u2028"},{"role":"assistant","reasoning_content":"Hm","content":"","tool_calls":[{"id":"1","name":"f","arguments":"{ }"}]},{"role":"tool","tool_call_id":"1","content":"3"}]}` + "\n"
	want, _ := readAll(t, text(row), dataset.Options{})
	t.Setenv("TMPDIR", t.TempDir())
	set, err := dataset.Open(text(row+good), dataset.Options{Shuffle: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n := 0
		for p, err := range set.Prompts() {
			if err != nil {
				t.Fatal(err)
			}
			n++
			if p.ID == "good" && p.Tools != nil {
				t.Errorf("tools %q where there are none", p.Tools)
			}
			if p.ID == "a" {
				p.Ordinal = 0
				if !reflect.DeepEqual(p, want[0]) {
					t.Errorf("got %+v, want %+v", p, want[0])
				}
			}
		}
		if n != 2 {
			t.Fatalf("%d prompts", n)
		}
	}
	if err := set.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestKeep(t *testing.T) {
	const file = `{"id":"en","messages":[{"role":"user","content":"What is the capital of France and why is it there?"}]}
{"id":"de","messages":[{"role":"user","content":"Was ist die Hauptstadt von Frankreich und warum ist sie es?"}]}
{"id":"zh","messages":[{"role":"user","content":"法国的首都是哪里？请详细说明。"}]}
{"id":"said","language":"French","messages":[{"role":"user","content":"ok"}]}
{"id":"two","messages":[{"role":"user","content":"What is it?"},{"role":"assistant","content":"x"},{"role":"user","content":"And what is that for you?"}]}
{"id":"tool","tools":[{"name":"f"}],"messages":[{"role":"user","content":"ok then"}]}
`
	tests := []struct {
		name string
		keep dataset.Keep
		want string
	}{
		{"all", dataset.Keep{}, "en de zh said two tool"},
		{"english", dataset.Keep{Languages: []string{"en"}}, "en two"},
		{"two languages", dataset.Keep{Languages: []string{"fr", "zh"}}, "zh said"},
		{"tools", dataset.Keep{Tools: new(true)}, "tool"},
		{"no tools", dataset.Keep{Tools: new(false)}, "en de zh said two"},
		{"turns", dataset.Keep{MinTurns: 2}, "two"},
		{"one turn", dataset.Keep{MaxTurns: 1}, "en de zh said tool"},
		{"long", dataset.Keep{MinTokens: 1000}, ""},
		{"short", dataset.Keep{MaxTokens: 9}, "said"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			prompts, report := readAll(t, text(file), dataset.Options{Keep: tt.keep})
			if got := strings.Join(ids(t, prompts), " "); got != tt.want {
				t.Errorf("kept %s, want %s\n%v", got, tt.want, report)
			}
			if report.Lost() != 0 || report.Rows != 6 || report.Kept+report.Dropped[dataset.Unwanted].N != 6 {
				t.Errorf("got %v", report)
			}
		})
	}
	exact := dataset.Options{Keep: dataset.Keep{MinTokens: 7}, Count: func(p *eyrie.Prompt) (int, error) { return len(p.ID), nil }}
	if prompts, report := readAll(t, text(file), exact); len(prompts) != 0 || !strings.Contains(report.Dropped[dataset.Unwanted].Examples[0].Detail, "2 tokens, fewer than 7") {
		t.Errorf("got %v", report)
	}
}

func TestNearDuplicates(t *testing.T) {
	const said = "Please write a short story about a lighthouse keeper who finds a message in a bottle on the beach one stormy morning in late autumn"
	row := func(id, text string) string { return fmt.Sprintf("{\"id\":%q,\"prompt\":%q}\n", id, text) }
	file := row("a", said) + row("b", strings.ToUpper(said)+"!!") + row("c", said+" please") +
		row("d", "Please write a short story about a dog") + row("e", "写一个关于灯塔看守人的故事，他在沙滩上发现了一个瓶子。") + row("f", "写一个关于灯塔看守人的故事，他在沙滩上发现了一个瓶子！谢谢") + row("g", "?!")
	prompts, report := readAll(t, text(file), dataset.Options{NearDuplicates: 0.75})
	if got := strings.Join(ids(t, prompts), " "); got != "a d e g" {
		t.Errorf("kept %s, want a d e g\n%v", got, report)
	}
	if c := report.Dropped[dataset.NearDuplicate]; c.N != 3 || c.Examples[0].Detail != "100 % of it is that of line 1" {
		t.Errorf("got %v", report)
	}
	if prompts, _ := readAll(t, text(file), dataset.Options{}); len(prompts) != 7 {
		t.Errorf("kept %d without being asked to look, want 7", len(prompts))
	}
}

func TestEvaluation(t *testing.T) {
	const long = "Imagine you are participating in a race with a group of people and you have just overtaken the second person"
	eval, err := dataset.ReadEvaluation(dataset.Source{Path: "eval.jsonl", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(fmt.Sprintf("{\"question_id\":1,\"turns\":[%q,\"Who played Anna in once upon a time?\"]}\n{\"question_id\":2,\"turns\":[\"Say hello.\"]}\n", long))), nil
	}})
	if err != nil || eval.Prompts() != 2 {
		t.Fatalf("%v, %d prompts", err, eval.Prompts())
	}
	row := func(id, text string) string { return fmt.Sprintf("{\"id\":%q,\"prompt\":%q}\n", id, text) }
	file := row("inside", "Solve this: imagine you are participating in a RACE, with a group of people and you have... go") +
		row("part", "Imagine you are participating in a race.") +
		row("short", "Tell me: who played Anna in Once upon a time?") +
		row("whole", "say hello") + row("longer", "Please say hello to her.") + row("other", "What is the capital of France?")
	prompts, report := readAll(t, text(file), dataset.Options{Evaluation: eval})
	if got := strings.Join(ids(t, prompts), " "); got != "part longer other" {
		t.Errorf("kept %s, want part longer other\n%v", got, report)
	}
	if c := report.Dropped[dataset.Contaminated]; c.N != 3 || c.Examples[0].Detail != "shares text with 1 (eval.jsonl)" {
		t.Errorf("got %v", report)
	}
}

func TestValidation(t *testing.T) {
	prompts, report := readAll(t, text(numbered(0, 2000)), dataset.Options{Validation: 0.1})
	splits := map[string]string{}
	for _, p := range prompts {
		splits[p.ID] = p.Split
	}
	if n := report.Content.Splits[eyrie.Validation]; n < 150 || n > 250 || n+report.Content.Splits[eyrie.Train] != 2000 {
		t.Errorf("got %v", report.Content.Splits)
	}
	// In another file, under another name, with other rows: the same split.
	again, _ := readAll(t, text(strings.ReplaceAll(numbered(500, 1500), `"id":"`, `"id":"x`)), dataset.Options{Validation: 0.1, Shuffle: true})
	for _, p := range again {
		if want := splits[strings.TrimPrefix(p.ID, "x")]; p.Split != want {
			t.Errorf("%s is %s, and was %s", p.ID, p.Split, want)
		}
	}
	own, _ := readAll(t, text(`{"prompt":"a","split":"test"}`), dataset.Options{})
	if own[0].Split != "test" {
		t.Errorf("the row's own split is %q", own[0].Split)
	}
}

func TestAcrossSets(t *testing.T) {
	first, err := dataset.Open(text(numbered(0, 10)+`{"prompt":"unwanted and very much longer"}`), dataset.Options{Keep: dataset.Keep{MaxTokens: 10}})
	if err != nil {
		t.Fatal(err)
	}
	prompts, report := readAll(t, text(numbered(5, 15)+`{"prompt":"unwanted and very much longer"}`), dataset.Options{After: []*dataset.Set{first}})
	if c := report.Dropped[dataset.Duplicate]; len(prompts) != 6 || c.N != 5 || c.Examples[0].Detail != "says the same as a row of the set set" || report.Lost() != 0 {
		t.Errorf("got %v", report)
	}
}

func TestSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("all/a.jsonl", numbered(0, 3)+"x\n")
	write("all/b/c.csv", "id,prompt\n7,question number 7\n8,question number 1\n")
	write("all/empty.jsonl", "")
	write("all/README.md", "# A set\n")
	write("all/.cache/x.jsonl", "not read\n")
	prompts, report := readAll(t, dataset.Source{Set: "s", Path: filepath.Join(dir, "all")}, dataset.Options{})
	if got := strings.Join(ids(t, prompts), " "); got != "0 1 2 7" {
		t.Errorf("kept %s", got)
	}
	if len(report.Files) != 2 || report.Files[1].Format != "csv" || report.Files[1].Rows != 2 || report.Files[1].Kept != 1 || len(report.Passed) != 2 {
		t.Errorf("files %+v, passed over %v", report.Files, report.Passed)
	}
	if c := report.Dropped[dataset.Duplicate]; c.N != 1 || !strings.HasSuffix(c.Examples[0].String(), "c.csv:3: says the same as line 2 of "+filepath.Join(dir, "all", "a.jsonl")) {
		t.Errorf("got %v", report)
	}
	if c := report.Dropped[dataset.BadJSON]; c.N != 1 || !strings.Contains(c.Examples[0].String(), "a.jsonl:4: ") {
		t.Errorf("got %v", report)
	}

	write("split/train-00000-of-00002.jsonl", numbered(0, 1))
	write("split/train-00001-of-00002.jsonl", numbered(1, 2))
	write("split/test-00000-of-00001.jsonl", numbered(2, 3))
	_, err := dataset.Open(dataset.Source{Path: filepath.Join(dir, "split")}, dataset.Options{})
	if want := "holds files of the splits test, train; name one with a pattern, such as " + filepath.Join(dir, "split", "train*"); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	prompts, _ = readAll(t, dataset.Source{Path: filepath.Join(dir, "split", "train*")}, dataset.Options{})
	if got := strings.Join(ids(t, prompts), " "); got != "0 1" {
		t.Errorf("kept %s", got)
	}

	for name, want := range map[string]string{
		"none/x*.jsonl": "is a pattern that fits no file",
		"all/[.jsonl":   "is no pattern",
	} {
		if _, err := dataset.Open(dataset.Source{Path: filepath.Join(dir, name)}, dataset.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

// TestNormalForm reads what was written and expects the same prompts.
func TestNormalForm(t *testing.T) {
	file := `{"id":"a","license":"mit","source":"s","category":"c","language":"en","split":"validation","tools":[{"name":"f","z":1}],"messages":[{"role":"system","content":"S"},{"role":"user","name":"Ann","content":"Hi <b>&\u2028"},{"role":"assistant","reasoning_content":"Hm","content":"","tool_calls":[{"id":"1","name":"f","arguments":"{ }"},{"name":"g","arguments":""}]},{"role":"tool","tool_call_id":"1","content":"3"}]}
{"turns":["x","y"]}
` + good
	for _, row := range strings.SplitAfter(strings.TrimSpace(file), "\n") {
		want, report := readAll(t, text(row), dataset.Options{})
		if len(want) != 1 {
			t.Fatalf("got %v", report)
		}
		line, err := dataset.AppendNormal(nil, want[0])
		if err != nil {
			t.Fatal(err)
		}
		got, report := readAll(t, text(string(line)), dataset.Options{})
		if len(got) != 1 || !reflect.DeepEqual(got[0], want[0]) {
			t.Errorf("%s\ngot  %+v\nwant %+v\n%v", line, got, want[0], report)
		}
		again, err := dataset.AppendNormal(nil, got[0])
		if err != nil || string(again) != string(line) {
			t.Errorf("written again it is %s, %v; want %s", again, err, line)
		}
	}
}

func TestContent(t *testing.T) {
	const file = `{"license":"mit","messages":[{"role":"system","content":"S"},{"role":"user","content":"Write <|im_end|> and [INST] for me, will you do that?"},{"role":"assistant","content":"<|other|>","reasoning_content":"Hm"}]}
{"license":"mit","source":"forum","tools":[{"name":"f"}],"messages":[{"role":"user","content":"And now <|im_end|> for the second time <|im_end|>"},{"role":"assistant","tool_calls":[{"name":"f","arguments":""}]},{"role":"tool","content":"3"}]}
`
	_, report := readAll(t, text(file), dataset.Options{})
	c := report.Content
	if c.Systems != 1 || c.Reasoning != 1 || c.Tools != 1 || c.Calls != 1 || c.Results != 1 || c.Exact || c.Tokens < 30 || c.Tokens > 80 || c.MaxTokens >= int(c.Tokens) {
		t.Errorf("got %+v", c)
	}
	if c.Languages["en"] != 2 || c.Licences["mit"] != 2 || c.Sources["forum"] != 1 {
		t.Errorf("got %+v", c)
	}
	if len(c.Literals) != 2 || c.Literals["<|im_end|>"].N != 2 || c.Literals["[INST]"].N != 1 {
		t.Errorf("got %+v", c.Literals)
	}
	if got := c.Literals["<|im_end|>"].Examples[1].String(); got != "set.jsonl:2: in what the user says" {
		t.Errorf("got %s", got)
	}
}
