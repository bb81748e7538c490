package dataset_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset"
)

// ask is a row whose user says the given word.
func ask(word string) string {
	return fmt.Sprintf(`{"messages":[{"role":"user","content":%q}]}`, word)
}

// asked lists what the users of the prompts say.
func asked(prompts []*eyrie.Prompt) string {
	var words []string
	for _, p := range prompts {
		words = append(words, p.Messages[len(p.Messages)-1].Content)
	}
	return strings.Join(words, " ")
}

func TestLines(t *testing.T) {
	long := strings.Repeat("long ", 200_000) // a line of a megabyte
	tests := []struct {
		name string
		text string
		want string
		rows int
	}{
		{"plain", ask("a") + "\n" + ask("b") + "\n", "a b", 2},
		{"no newline at the end", ask("a") + "\n" + ask("b"), "a b", 2},
		{"carriage returns", ask("a") + "\r\n" + ask("b") + "\r\n", "a b", 2},
		{"byte order mark", "\ufeff" + ask("a") + "\n", "a", 1},
		{"blank lines", "\n\n \t\r\n" + ask("a") + "\n\n" + ask("b") + "\n\n", "a b", 2},
		{"space around a row", "  " + ask("a") + "\t \n", "a", 1},
		{"carriage return alone", ask("a") + "\r" + ask("b") + "\n" + ask("c") + "\n", "c", 2},
		{"long line", ask("a") + "\n" + ask(long) + "\n" + ask("b") + "\n", "a " + long + " b", 3},
		{"long line at the end", ask("a") + "\n" + ask(long), "a " + long, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			prompts, report := readAll(t, text(tt.text), dataset.Options{})
			if got := asked(prompts); got != tt.want {
				t.Errorf("got %.100q, want %.100q", got, tt.want)
			}
			if report.Rows != tt.rows {
				t.Errorf("%d rows, want %d", report.Rows, tt.rows)
			}
		})
	}
}

// TestTornAnywhere cuts a file at every byte: the rows before the cut come out
// whole, and the row of the cut is left out or, without its newline, whole.
func TestTornAnywhere(t *testing.T) {
	first, second := ask("first"), ask("sécond 🦅")
	whole := first + "\n" + second + "\n"
	for cut := len(first) + 2; cut <= len(whole); cut++ {
		prompts, report := readAll(t, text(whole[:cut]), dataset.Options{})
		wantKept, wantTorn := 1, 1
		if cut >= len(whole)-1 {
			wantKept, wantTorn = 2, 0
		}
		if len(prompts) != wantKept || report.Dropped[dataset.Torn].N != wantTorn || report.Rows != 2 {
			t.Errorf("cut at %d of %d: %v", cut, len(whole), report)
		}
		if wantTorn == 1 {
			const want = "set.jsonl:2: the file ends inside this line"
			if got := report.Dropped[dataset.Torn].Examples[0].String(); got != want {
				t.Errorf("cut at %d: got %s, want %s", cut, got, want)
			}
		}
	}
}

// TestZeroTail reads a file whose last block was never written.
func TestZeroTail(t *testing.T) {
	_, report := readAll(t, text(ask("a")+"\n"+ask("b")[:20]+strings.Repeat("\x00", 100)), dataset.Options{})
	if report.Kept != 1 || report.Dropped[dataset.Torn].N != 1 {
		t.Errorf("got %v", report)
	}
}

func TestIDs(t *testing.T) {
	row := func(id, word string) string {
		return fmt.Sprintf(`{"id":%s,"messages":[{"role":"user","content":%q}]}`, id, word)
	}
	rows := []struct{ row, want string }{
		{row(`"x"`, "1"), "x"},
		{row(`"x"`, "2"), "x-2"},
		{row(`"x-3"`, "3"), "x-3"},
		{row(`"x"`, "4"), "x-4"}, // x-3 is taken
		{row(`"x-2"`, "5"), "x-2-2"},
		{row(`7`, "6"), "7"},
		{row(`"7"`, "7"), "7-2"},
		{row(`1e3`, "8"), "1e3"},
		{row(`null`, "9"), "row-"},
		{row(`""`, "10"), "row-"},
		{ask("11"), "row-"},
		{`{"conversation_id":"c","messages":[{"role":"user","content":"12"}]}`, "c"},
		{`{"uuid":"u","id":"i","messages":[{"role":"user","content":"13"}]}`, "i"},
		{`{"uuid":"u","id":null,"messages":[{"role":"user","content":"14"}]}`, "u"},
	}
	var file strings.Builder
	for _, r := range rows {
		file.WriteString(r.row + "\n")
	}
	prompts, report := readAll(t, text(file.String()), dataset.Options{})
	if len(prompts) != len(rows) {
		t.Fatalf("got %v", report)
	}
	seen := map[string]bool{}
	for i, p := range prompts {
		want := rows[i].want
		if want == "row-" {
			want += p.Digest().String()[:12]
		}
		if p.ID != want {
			t.Errorf("row %d is called %q, want %q", i+1, p.ID, want)
		}
		if seen[p.ID] {
			t.Errorf("two rows are called %q", p.ID)
		}
		seen[p.ID] = true
		if p.Ordinal != i || p.Set != "set" {
			t.Errorf("row %d is number %d of %q", i+1, p.Ordinal, p.Set)
		}
	}
	if report.Renamed != 4 {
		t.Errorf("%d renamed, want 4", report.Renamed)
	}
}

// TestMissingIDsAreStable keeps the names of rows when a row before them goes.
func TestMissingIDsAreStable(t *testing.T) {
	before, _ := readAll(t, text(ask("a")+"\n"+ask("b")+"\n"), dataset.Options{})
	after, _ := readAll(t, text(ask("b")+"\n"), dataset.Options{})
	if before[1].ID != after[0].ID {
		t.Errorf("%q became %q", before[1].ID, after[0].ID)
	}
}

func TestReport(t *testing.T) {
	file := strings.Join([]string{
		`{"id":"a","messages":[{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"user","content":"3"}]}`,
		``,
		`{"id":"a","messages":[{"role":"user","content":"4"}]}`,
		`{"messages":[{"role":"narrator","content":"5"}]}`,
		`{"messages":[{"role":"narrator","content":"6"}]}`,
		`{"messages":[{"role":"narrator","content":"7"}]}`,
		`{"messages":[{"role":"narrator","content":"8"}]}`,
		`{"messages":[{"role":"narrator","content":"9"}]}`,
		`{"messages":[{"role":"narrator","content":"10"}]}`,
		`{"messages":`,
		``,
	}, "\n")
	_, got := readAll(t, text(file), dataset.Options{})
	if want := []dataset.FileReport{{Path: "set.jsonl", Format: "lines", Layout: dataset.Messages, Rows: 9, Kept: 2, Bytes: got.Bytes, SHA256: got.SHA256}}; !reflect.DeepEqual(got.Files, want) {
		t.Errorf("files %+v, want %+v", got.Files, want)
	}
	got.Files, got.Content = nil, dataset.Content{} // has a test of its own
	example := func(line int, detail string) dataset.Example {
		return dataset.Example{Path: "set.jsonl", Line: line, Detail: detail}
	}
	const role = `messages[0]: unknown role "narrator"`
	sum := sha256.Sum256([]byte(file))
	want := dataset.Report{
		Set: "set", Path: "set.jsonl", Layout: dataset.Messages,
		Rows: 9, Kept: 2, Turns: 3, Renamed: 1,
		Dropped: map[dataset.Reason]dataset.Count{
			dataset.UnknownRole: {N: 6, Examples: []dataset.Example{example(4, role), example(5, role), example(6, role), example(7, role), example(8, role)}},
			dataset.BadJSON:     {N: 1, Examples: []dataset.Example{example(10, "not JSON from byte 13 on")}},
		},
		Bytes: int64(len(file)), SHA256: hex.EncodeToString(sum[:]),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	const printed = `set: 2 of 9 rows kept, 3 turns, layout messages
  1 renamed, their id was taken
  6 left out: role
    set.jsonl:4: messages[0]: unknown role "narrator"
    set.jsonl:5: messages[0]: unknown role "narrator"
    set.jsonl:6: messages[0]: unknown role "narrator"
    set.jsonl:7: messages[0]: unknown role "narrator"
    set.jsonl:8: messages[0]: unknown role "narrator"
  1 left out: json
    set.jsonl:10: not JSON from byte 13 on
`
	if got.String() != printed {
		t.Errorf("got\n%s\nwant\n%s", got, printed)
	}
}

// TestExamplesStayShort keeps what a file says out of the report, but for a
// few characters of names.
func TestExamplesStayShort(t *testing.T) {
	role := strings.Repeat("r\\n", 1000)
	_, report := readRow(t, `{"messages":[{"role":"`+role+`","content":"x"}]}`, dataset.Options{})
	got := report.Dropped[dataset.UnknownRole].Examples
	if len(got) != 1 || len(got[0].Detail) > 200 || strings.Contains(got[0].Detail, "\n") {
		t.Errorf("got %q", got)
	}
}

func TestPassesAreAlike(t *testing.T) {
	set, err := dataset.Open(text(good+ask("a")+"\n"+ask("a")+"\n"+`{"id":"good","messages":[{"role":"user","content":"b"}]}`), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Report(); !reflect.DeepEqual(got, dataset.Report{}) {
		t.Errorf("a report before a pass: %+v", got)
	}
	// One that stops early leaves no report.
	for range set.Prompts() {
		break
	}
	if got := set.Report(); !reflect.DeepEqual(got, dataset.Report{}) {
		t.Errorf("a report after a part of a pass: %+v", got)
	}
	var passes [3][]*eyrie.Prompt
	var wg sync.WaitGroup
	for i := range passes {
		wg.Go(func() {
			for p, err := range set.Prompts() {
				if err != nil {
					t.Error(err)
				}
				passes[i] = append(passes[i], p)
			}
		})
	}
	wg.Wait()
	for i := range passes {
		if !reflect.DeepEqual(passes[i], passes[0]) || len(passes[i]) != 3 {
			t.Errorf("pass %d brought %v, the first %v", i, passes[i], passes[0])
		}
	}
	if got := set.Report(); got.Kept != 3 || got.Dropped[dataset.Duplicate].N != 1 || got.Renamed != 1 {
		t.Errorf("got %v", got)
	}
}

func TestLayout(t *testing.T) {
	tests := []struct {
		name string
		text string
		opts dataset.Options
		want dataset.Layout
		err  string
	}{
		{"messages", good, dataset.Options{}, dataset.Messages, ""},
		{"sharegpt", `{"conversations":[{"from":"human","value":"Hi"}]}`, dataset.Options{Layout: dataset.Auto}, dataset.ShareGPT, ""},
		{"conversations of role", `{"conversations":[{"role":"user","content":"Hi"}]}`, dataset.Options{}, dataset.Messages, ""},
		{"messages of from", `{"messages":[{"from":"human","value":"Hi"}]}`, dataset.Options{}, dataset.ShareGPT, ""},
		{"by the first that fits", "{}\n[]\nx\n" + `{"messages":[]}` + "\n" + good, dataset.Options{}, dataset.Messages, ""},
		{"given", `{"conversations":[{"from":"human","value":"Hi"}]}`, dataset.Options{Layout: dataset.ShareGPT}, dataset.ShareGPT, ""},
		{"given and wrong", `{"conversations":[{"from":"human","value":"Hi"}]}`, dataset.Options{Layout: dataset.Messages}, "",
			"dataset: set.jsonl: is not of layout messages but looks like sharegpt; its first row has the columns conversations"},
		{"none fits", `{"say":"Hi","reply":"Ho"}`, dataset.Options{}, "",
			"dataset: set.jsonl: is of no layout that is known; its first row has the columns say, reply; tell which holds what, such as columns: {prompt: say}"},
		{"none is known", good, dataset.Options{Layout: "alpaca"}, "",
			`dataset: set.jsonl: layout "alpaca" is not known; there are auto, messages, sharegpt, trajectory, input-output, transcript, instruction, pair, turns, prompt`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, err := dataset.Open(text(tt.text), tt.opts)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if set.Layout() != tt.want {
				t.Errorf("got %s, want %s", set.Layout(), tt.want)
			}
		})
	}
}

func TestWhatIsNoSet(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "holds no rows"},
		{"blank", "\ufeff \n\n\t\n", "holds no rows"},
		{"very blank", strings.Repeat("\n", 10_000), "holds no rows"},
		{"array of nothing", "\n [{}]", "is of no layout that is known; its first row has no columns; tell which holds what, such as columns: {prompt: text}"},
		{"array of numbers", "[1, 2]", "is no list of JSON objects; none of its first 2 values is one"},
		{"array that ends early", "[1, 2,", "the JSON array is cut off: it is not closed at line 1, where the file ends; download it again"},
		{"empty array", "[ ]", "holds no rows"},
		{"token ids", `{"input_ids":[1],"loss_mask":[1]}`, "holds token ids and no conversations; its first row has the columns input_ids, loss_mask"},
		{"printed over lines", "{\n  \"messages\": [\n  ]\n}\n", "is of no layout that is known; its first row has the columns messages; tell which holds what, such as columns: {prompt: messages}"},
		{"prose", strings.Repeat("Dear reader,\n", 200), "is not JSON Lines; none of its first 100 lines is a JSON object"},
		{"gzip", "\x1f\x8b\x08\x00", "the gzip is cut off; download it again"},
		{"zstd", "\x28\xb5\x2f\xfd\x00", "the zstd is cut off; download it again"},
		{"parquet", "PAR1\x15\x04", "is Parquet, which is read from its end, and this source cannot be"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "is UTF-16; convert it with iconv -f UTF-16 -t UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := dataset.Open(text(tt.text), dataset.Options{})
			if want := "dataset: set.jsonl: " + tt.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := dataset.Open(dataset.Source{Path: "none.jsonl"}, dataset.Options{})
	if want := "dataset: none.jsonl: no such file or directory"; err == nil || err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = dataset.Open(dataset.Source{Path: "folder"}, dataset.Options{})
	if want := "dataset: folder: is a folder without a file of rows: none ends in .jsonl, .json, .parquet, .arrow, .csv, .txt or these with .gz or .zst"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	path := filepath.Join("folder", "set.jsonl")
	if err := os.WriteFile(path, []byte(good), 0o644); err != nil {
		t.Fatal(err)
	}
	prompts, _ := readAll(t, dataset.Source{Set: "s", Path: path}, dataset.Options{})
	if len(prompts) != 1 || prompts[0].Set != "s" {
		t.Errorf("got %v", prompts)
	}
}

// counter counts what is read through it.
type counter struct {
	io.Reader
	n *int
}

func (c counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	*c.n += n
	return n, err
}

// TestReadsAsItGoes takes one prompt from a large file: the rest of it must
// still be unread.
func TestReadsAsItGoes(t *testing.T) {
	large := strings.Repeat(good, 200_000)
	read := 0
	src := dataset.Source{Path: "set.jsonl", Open: func() (io.ReadCloser, error) {
		return io.NopCloser(counter{strings.NewReader(large), &read}), nil
	}}
	set, err := dataset.Open(src, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range set.Prompts() {
		break
	}
	if most := len(large) / 10; read > most {
		t.Errorf("read %d bytes of %d for one prompt, want %d at most", read, len(large), most)
	}
}

// file counts how often it is closed.
type file struct {
	io.Reader
	closed *int
}

func (f file) Close() error { *f.closed++; return nil }

func TestFilesAreClosed(t *testing.T) {
	opened, closed := 0, 0
	src := dataset.Source{Path: "set.jsonl", Open: func() (io.ReadCloser, error) {
		opened++
		return file{strings.NewReader(good + ask("a")), &closed}, nil
	}}
	set, err := dataset.Open(src, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range set.Prompts() {
	}
	for range set.Prompts() {
		break
	}
	if opened != 4 || closed != 4 { // twice to look at it
		t.Errorf("%d opened, %d closed, want 4 of each", opened, closed)
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("the disk is gone")
	closed, passes := 0, 0
	src := dataset.Source{Path: "set.jsonl", Open: func() (io.ReadCloser, error) {
		if passes++; passes <= 2 { // to look at it
			return file{strings.NewReader(good), &closed}, nil
		}
		return file{io.MultiReader(strings.NewReader(good), failing{broken}), &closed}, nil
	}}
	set, err := dataset.Open(src, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for p, got := range set.Prompts() {
		if p != nil {
			kept++
			continue
		}
		err = got
	}
	if want := "dataset: set.jsonl: after row 1: the disk is gone"; err == nil || err.Error() != want || !errors.Is(err, broken) {
		t.Errorf("got %v, want %s", err, want)
	}
	if kept != 1 || closed != 3 {
		t.Errorf("%d kept, %d closed, want 1 and 3", kept, closed)
	}
	if got := set.Report(); got.Rows != 0 {
		t.Errorf("a report of a pass that failed: %v", got)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestChangedFile(t *testing.T) {
	passes := 0
	src := dataset.Source{Path: "set.jsonl", Open: func() (io.ReadCloser, error) {
		passes++
		return io.NopCloser(strings.NewReader(good + strings.Repeat(ask("more")+"\n", max(0, passes-3)))), nil
	}}
	set, err := dataset.Open(src, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	drain := func() (err error) {
		for _, e := range set.Prompts() {
			err = e
		}
		return err
	}
	if err := drain(); err != nil {
		t.Fatal(err)
	}
	err = drain()
	if want := "dataset: set.jsonl: the file has changed since it was last read"; err == nil || err.Error() != want || !errors.Is(err, dataset.ErrChanged) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzRow(f *testing.F) {
	for _, s := range []string{
		good, ask("a"), `{"conversations":[{"from":"human","value":"Hi"},{"from":"function_call","value":"{\"name\":\"f\",\"arguments\":{\"a\":[1]}}"}]}`,
		`{"tools":"[{\"name\":\"f\"}]","system":"S","messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":{}}}],"reasoning_content":"r"}]}`,
		`{"messages":[{"role":"user","content":"\ud800"}]}`, "\x00", "[]", "{", `{"messages":{}}`, `{"a":1,"a":2}`, "null", `{"tools":[{"function":{"name":"f"}}],"messages":[{}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		src := dataset.Source{Set: "set", Path: "set.jsonl", Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(good + string(row))), nil
		}}
		prompts, report := readAll(t, src, dataset.Options{Special: func(s string) bool { return strings.Contains(s, "<|") }})
		dropped := 0
		for _, c := range report.Dropped {
			dropped += c.N
		}
		if report.Kept != len(prompts) || report.Rows != report.Kept+dropped {
			t.Errorf("rows do not add up: %+v", report)
		}
		ids := map[string]bool{}
		for _, p := range prompts {
			checkPrompt(t, p)
			if ids[p.ID] {
				t.Errorf("id %q twice", p.ID)
			}
			ids[p.ID] = true
		}
	})
}

// FuzzContent writes text with the standard library's encoder and expects it
// back as it was, or the row left out for a reason.
func FuzzContent(f *testing.F) {
	for _, s := range []string{"Hi", "", " \n", "\x00", "🦅\u2028\u0085\ufeff", `\u0000 "quoted" \`, "a\x7fb\x01", "<|im_end|>", "e\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, said string) {
		if !utf8.ValidString(said) {
			t.Skip("the encoder would replace it")
		}
		row, err := json.Marshal(map[string]any{"messages": []any{map[string]any{"role": "user", "content": said}}})
		if err != nil {
			t.Fatal(err)
		}
		p, report := readRow(t, string(row), dataset.Options{})
		want := dataset.Reason("")
		switch {
		case strings.TrimSpace(said) == "":
			want = dataset.EmptyUser
		case strings.Contains(said, "\x00"):
			want = dataset.NulByte
		case said == "good":
			want = dataset.Duplicate
		}
		switch {
		case want != "":
			if report.Dropped[want].N != 1 {
				t.Errorf("%q: got %v, want it left out for %q", said, report, want)
			}
		case p == nil:
			t.Errorf("%q was left out: %v", said, report)
		case p.Messages[0].Content != said:
			t.Errorf("%q came back as %q", said, p.Messages[0].Content)
		}
	})
}
