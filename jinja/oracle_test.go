package jinja_test

import (
	"bufio"
	"compress/gzip"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie/jinja"
)

// The tests in this file compare with real Jinja2. They need the reference data of
// the project, found through EYRIE_SHARED or beside the module, and most of them
// a Python that has Jinja2.

// sharedDir returns the directory of reference data, or skips the test.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("EYRIE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "golden", "jinja", "oracle.py")); err != nil {
		t.Skip("no reference data: set EYRIE_SHARED to compare with real Jinja2")
	}
	return dir
}

// pythonWithJinja returns a Python interpreter that can import jinja2, or skips.
func pythonWithJinja(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import jinja2").Run() == nil {
			return python
		}
	}
	t.Skip("no Python with jinja2 (Debian: python3-jinja2)")
	return ""
}

// oracleRow is what the oracle says about one template and one conversation.
type oracleRow struct {
	Text         *string  `json:"text"`
	Error        string   `json:"error"`
	CompileError string   `json:"compile_error"`
	Generation   [][2]int `json:"generation"` // in code points
}

type oracleCase struct {
	Name    string         `json:"name"`
	Context jsontext.Value `json:"context"`
}

func runOracle(t *testing.T, script, templates, cases string) map[string]map[string]oracleRow {
	t.Helper()
	python := pythonWithJinja(t)
	out := filepath.Join(t.TempDir(), "oracle.json")
	cmd := exec.CommandContext(t.Context(), python, script, templates, cases, out)
	if log, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("oracle: %v\n%s", err, log)
	}
	var rows map[string]map[string]oracleRow
	readJSON(t, out, &rows)
	return rows
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// oracleTime is the moment at which the oracle's clock stands.
var oracleTime = time.Date(2026, 11, 30, 12, 34, 56, 0, time.UTC)

// sameAsOracle compares one render with a row, and reports whether both raised.
func sameAsOracle(t *testing.T, src string, context []byte, want oracleRow) (raised bool) {
	t.Helper()
	var res jinja.Result
	tmpl, err := jinja.Parse("", src)
	if err == nil {
		res, err = tmpl.Render(vars(t, string(context)), jinja.Options{Now: oracleTime})
	}
	if want.Text == nil {
		checkRefusal(t, err, want.Error+want.CompileError)
		return true
	}
	if err != nil {
		t.Errorf("%v\nPython renders %.200q", err, *want.Text)
		return false
	}
	if res.Text != *want.Text {
		i := commonPrefix(res.Text, *want.Text)
		t.Errorf("differs at byte %d:\n got ...%.120q\nwant ...%.120q", i, res.Text[i:], (*want.Text)[i:])
	}
	var spans [][2]int
	for _, s := range res.Generation {
		spans = append(spans, [2]int{utf8.RuneCountInString(res.Text[:s[0]]), utf8.RuneCountInString(res.Text[:s[1]])})
	}
	if len(spans) != len(want.Generation) {
		t.Errorf("generation spans %v, want %v", spans, want.Generation)
		return false
	}
	for i, s := range spans {
		if s != want.Generation[i] {
			t.Errorf("generation span %d is %v, want %v", i, s, want.Generation[i])
		}
	}
	return false
}

// checkRefusal wants an error of the class, and with the message, that Python gave.
func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	e, ok := errors.AsType[*jinja.Error](err)
	if !ok {
		t.Errorf("got %v, Python raises %s", err, want)
		return
	}
	class, msg, _ := strings.Cut(want, ": ")
	if string(e.Kind) != class {
		t.Errorf("got %v, Python raises %s", e, want)
	} else if e.Msg != msg {
		t.Errorf("message %q, Python says %q", e.Msg, msg)
	}
}

func commonPrefix(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

func compareWithOracle(t *testing.T, templates, casesFile string) {
	shared := sharedDir(t)
	templates, casesFile = filepath.Join(shared, templates), filepath.Join(shared, casesFile)
	rows := runOracle(t, filepath.Join(shared, "golden", "jinja", "oracle.py"), templates, casesFile)
	var cases []oracleCase
	readJSON(t, casesFile, &cases)
	rendered, refused := 0, 0
	for name, byCase := range rows {
		src, err := os.ReadFile(filepath.Join(templates, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				if sameAsOracle(t, string(src), c.Context, byCase[c.Name]) {
					refused++
				} else {
					rendered++
				}
			})
		}
	}
	t.Logf("%d templates: %d renders compared, %d refusals compared", len(rows), rendered, refused)
}

func TestRealTemplatesAsPython(t *testing.T) {
	compareWithOracle(t, "models/templates", "golden/jinja/cases.json")
}

func TestSnippetsAsPython(t *testing.T) {
	compareWithOracle(t, "golden/jinja/snippets", "golden/jinja/snip-cases.json")
}

// TestKimiConversations renders the recorded Kimi conversations, whose text came
// from real Jinja2. It needs no Python.
func TestKimiConversations(t *testing.T) {
	shared := sharedDir(t)
	dirs := map[string]string{"k2i": "kimi-k2-instruct", "k2t": "kimi-k2-thinking", "k25": "kimi-k2.5", "k26": "kimi-k2.6"}
	templates := map[string]*jinja.Template{}
	for model, dir := range dirs {
		src, err := os.ReadFile(filepath.Join(shared, "models", dir, "chat_template.jinja"))
		if err != nil {
			t.Fatal(err)
		}
		if templates[model], err = jinja.Parse(dir, string(src)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for line := range gzipLines(t, filepath.Join(shared, "golden", "kimi-chat.jsonl.gz")) {
		row := vars(t, string(line))
		input := jinja.NewDict()
		for from, to := range map[string]string{"messages": "messages", "tools": "tools", "tools_ts": "tools_ts_str"} {
			if v, ok := row.Get(from); ok && v != jinja.None {
				input.Set(to, asRecorded(from, v))
			}
		}
		kwargs, _ := row.Get("kwargs")
		for k, v := range kwargs.(*jinja.Dict).All() {
			input.Set(string(k.(jinja.String)), v)
		}
		model, _ := row.Get("model")
		want, _ := row.Get("rendered")
		res, err := templates[string(model.(jinja.String))].Render(input, jinja.Options{})
		if err != nil {
			t.Fatalf("conversation %d: %v", n, err)
		}
		if res.Text != string(want.(jinja.String)) {
			i := commonPrefix(res.Text, string(want.(jinja.String)))
			t.Errorf("conversation %d (%s) differs at byte %d:\n got %.80q\nwant %.80q", n, model, i, res.Text[max(0, i-10):], string(want.(jinja.String))[max(0, i-10):])
		}
		n++
	}
	if n != 300 {
		t.Errorf("compared %d conversations, want 300", n)
	}
}

// asRecorded undoes what the recording lost about its inputs: tools were sorted by
// key before they were rendered, and call arguments went through JavaScript, which
// writes the float 2.0 as 2.
func asRecorded(part string, v jinja.Value) jinja.Value {
	switch part {
	case "tools":
		return rewrite(v, true, nil)
	case "messages":
		return rewrite(v, false, func(v jinja.Value) jinja.Value {
			if v == jinja.Int(2) {
				return jinja.Float(2)
			}
			return v
		})
	}
	return v
}

// rewrite copies v with its keys sorted, or its scalars replaced.
func rewrite(v jinja.Value, sortKeys bool, scalar func(jinja.Value) jinja.Value) jinja.Value {
	switch v := v.(type) {
	case *jinja.List:
		var items []jinja.Value
		for i := range v.Len() {
			items = append(items, rewrite(v.At(i), sortKeys, scalar))
		}
		return jinja.NewList(items...)
	case *jinja.Dict:
		var keys []string
		for k := range v.All() {
			keys = append(keys, string(k.(jinja.String)))
		}
		if sortKeys {
			slices.Sort(keys)
		}
		d := jinja.NewDict()
		for _, k := range keys {
			item, _ := v.Get(k)
			d.Set(k, rewrite(item, sortKeys, scalar))
		}
		return d
	}
	if scalar != nil {
		return scalar(v)
	}
	return v
}

// gzipLines yields the lines of a compressed file.
func gzipLines(t *testing.T, path string) func(func([]byte) bool) {
	t.Helper()
	return func(yield func([]byte) bool) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(z)
		sc.Buffer(nil, 16<<20)
		for sc.Scan() {
			if !yield(sc.Bytes()) {
				return
			}
		}
		if err := sc.Err(); err != nil {
			t.Fatal(err)
		}
	}
}
