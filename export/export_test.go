package export_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/export"
)

func openRoot(t testing.TB) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

// row is a row of a class, with a prompt of 1, 2, … and a completion of
// 101, 102, … ids.
func row(id string, known eyrie.Known, prompt, completion int) *export.Row {
	r := &export.Row{ID: id, IDs: eyrie.Row{Known: known}, Meta: export.Meta{
		Set: "code", Prompt: "p", Key: eyrie.Key{0xab}, FinishReason: eyrie.FinishStop, Model: "m/k", Provider: "Atlas", Lane: "atlas/int4",
		Cost: 1_500_000_000, Charged: eyrie.ChargedYes, Sampling: eyrie.Sampling{MaxTokens: 16},
		Usage: eyrie.Usage{Given: true, PromptTokens: prompt, CompletionTokens: completion, ReasoningTokens: -1},
	}}
	for i := range prompt {
		r.IDs.PromptIDs = append(r.IDs.PromptIDs, int32(i+1))
	}
	for i := range completion {
		r.IDs.CompletionIDs = append(r.IDs.CompletionIDs, int32(i+101))
	}
	return r
}

// rows yields rows, and then err unless it is nil.
func rows(err error, rs ...*export.Row) iter.Seq2[*export.Row, error] {
	return func(yield func(*export.Row, error) bool) {
		for _, r := range rs {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func mustExport(t *testing.T, root *os.Root, o export.Options, rs ...*export.Row) *export.Manifest {
	t.Helper()
	m, err := export.Write(root, "out/code", "code", rows(nil, rs...), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// folder reads every file below dir.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func names(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }

var whole = []string{
	"out/code/README.md", "out/code/manifest.json", "out/code/meta.jsonl", "out/code/refused.jsonl", "out/code/token_freq.json", "out/code/train.jsonl",
}

func TestFilesByteForByte(t *testing.T) {
	root, dir := openRoot(t)
	second := row("p-2/t0/s0", eyrie.KnownCounted, 0, 1)
	second.Meta.Lane, second.Meta.Provider = "novita/int4", "Novita"
	second.Meta.GenerationID, second.Meta.TTFTMS, second.Meta.ElapsedMS = "gen-2", 20, 900
	refused := row("p-3/t0/s0", eyrie.KnownMismatch, 2, 2)
	refused.IDs.Reason = "12 tokens were billed and these are 11"
	mustExport(t, root, export.Options{Run: export.RunInfo{Program: "eyrie v1", Model: "m/k", TokenizerDigest: "tok", TemplateDigest: "tpl", Template: "kimi"}},
		row(`p-"1"/<é>/t0/s0`, eyrie.KnownEngine, 2, 3), second, refused)

	got := folder(t, dir)
	if !slices.Equal(names(got), whole) {
		t.Fatalf("the export is %q, want %q", names(got), whole)
	}
	const key = `"ab000000000000000000000000000000"`
	want := map[string]string{
		"train.jsonl": `{"id":"p-\"1\"/<é>/t0/s0","input_ids":[1,2,101,102,103],"loss_mask":[0,0,1,1,1]}` + "\n" +
			`{"id":"p-2/t0/s0","input_ids":[101],"loss_mask":[1]}` + "\n",
		"meta.jsonl": `{"id":"p-\"1\"/<é>/t0/s0","set":"code","prompt":"p","turn":0,"sample":0,"key":` + key + `,"known":"engine",` +
			`"prompt_tokens":2,"completion_tokens":3,"finish_reason":"stop","model":"m/k","provider":"Atlas","lane":"atlas/int4",` +
			`"cost":"0.0015","charged":"yes","usage":{"given":true,"prompt_tokens":2,"completion_tokens":3,"reasoning_tokens":-1},` +
			`"sampling":{"max_tokens":16,"thinking":false}}` + "\n" +
			`{"id":"p-2/t0/s0","set":"code","prompt":"p","turn":0,"sample":0,"key":` + key + `,"known":"counted",` +
			`"prompt_tokens":0,"completion_tokens":1,"finish_reason":"stop","model":"m/k","provider":"Novita","lane":"novita/int4","generation_id":"gen-2",` +
			`"cost":"0.0015","charged":"yes","usage":{"given":true,"prompt_tokens":0,"completion_tokens":1,"reasoning_tokens":-1},` +
			`"sampling":{"max_tokens":16,"thinking":false},"ttft_ms":20,"elapsed_ms":900}` + "\n",
		"refused.jsonl": `{"id":"p-3/t0/s0","key":` + key + `,"known":"mismatch","reason":"12 tokens were billed and these are 11","lane":"atlas/int4","cost":"0.0015"}` + "\n",
	}
	for name, content := range want {
		if got["out/code/"+name] != content {
			t.Errorf("%s is\n%s, want\n%s", name, got["out/code/"+name], content)
		}
	}
}

// trained is what a trainer reads of a line.
type trained struct {
	ID   string  `json:"id"`
	IDs  []int32 `json:"input_ids"`
	Mask []int8  `json:"loss_mask"`
}

// TestATrainerReadsWhatWasExported reads the files back with another reader
// than the one they were written with.
func TestATrainerReadsWhatWasExported(t *testing.T) {
	root, dir := openRoot(t)
	var all []*export.Row
	for i := range 50 {
		r := row(strings.Repeat("x", i)+"/漢 🦉\u2028", eyrie.KnownEngine, i%7, 1+i*i)
		r.Meta.Turn = i
		all = append(all, r)
	}
	all[49].IDs.CompletionIDs[0] = 1<<31 - 1
	mustExport(t, root, export.Options{}, all...)
	files := folder(t, dir)
	train, meta := decodeLines[trained](t, files["out/code/train.jsonl"]), decodeLines[map[string]any](t, files["out/code/meta.jsonl"])
	if len(train) != len(all) || len(meta) != len(all) {
		t.Fatalf("%d rows gave %d lines, and %d beside them", len(all), len(train), len(meta))
	}
	for i, r := range all {
		got := train[i]
		if got.ID != r.ID || !slices.Equal(got.IDs, slices.Concat(r.IDs.PromptIDs, r.IDs.CompletionIDs)) {
			t.Fatalf("line %d is %q with %v", i, got.ID, got.IDs)
		}
		n := len(r.IDs.PromptIDs)
		if len(got.Mask) != len(got.IDs) || slices.Max(append(got.Mask[:n:n], 0)) != 0 || slices.Min(got.Mask[n:]) != 1 || slices.Max(got.Mask[n:]) != 1 {
			t.Fatalf("line %d has the mask %v for %d ids of a prompt", i, got.Mask, n)
		}
		if m := meta[i]; m["id"] != r.ID || m["turn"] != float64(i) || m["completion_tokens"] != float64(len(r.IDs.CompletionIDs)) {
			t.Fatalf("beside line %d stands %v", i, m)
		}
	}
}

func decodeLines[T any](t *testing.T, text string) (out []T) {
	t.Helper()
	s := bufio.NewScanner(strings.NewReader(text))
	s.Buffer(nil, len(text)+1)
	for s.Scan() {
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		var v T
		if err := d.Decode(&v); err != nil || d.More() {
			t.Fatalf("%s: %v", s.Text(), err)
		}
		out = append(out, v)
	}
	return out
}

func TestManifest(t *testing.T) {
	root, dir := openRoot(t)
	other := row("b", eyrie.KnownCounted, 4, 5)
	other.Meta.Lane, other.Meta.Provider, other.Meta.Cost = "novita/int4", "Novita", 7
	broken := row("d", 0, 0, 0)
	broken.Err = errors.New("the template cannot say this")
	run := export.RunInfo{Program: "eyrie v1", Model: "m/k", TokenizerDigest: "tok", TemplateDigest: "tpl", Template: "kimi"}
	got := mustExport(t, root, export.Options{Run: run},
		row("a", eyrie.KnownEngine, 2, 3), other, row("c", eyrie.KnownEngine, 1, 1), row("e", eyrie.KnownRetokenised, 1, 1), broken)

	files := folder(t, dir)
	want := &export.Manifest{
		Version: 1, Set: "code", Format: "specforge", Run: run, Rows: 3, Tokens: 16, SupervisedTokens: 9, OnPolicy: 1,
		Splits: []export.Part{{Name: "train", Rows: 3}},
		Known:  map[string]int{"engine": 2, "counted": 1},
		Lanes: map[string]export.Lane{
			"atlas/int4":  {Provider: "Atlas", Rows: 2, SupervisedTokens: 4, Cost: 3_000_000_000},
			"novita/int4": {Provider: "Novita", Rows: 1, SupervisedTokens: 5, Cost: 7},
		},
		Providers: map[string]int{"Atlas": 2, "Novita": 1}, Licences: map[string]int{"not stated": 3}, Finish: map[string]int{"stop": 3},
		Lengths: &export.Lengths{
			Rows:        export.Length{Mean: 16.0 / 3, P50: 5, P90: 9, P99: 9, Max: 9, Buckets: []export.Bucket{{UpTo: 16, Rows: 3}}},
			Completions: export.Length{Mean: 3, P50: 3, P90: 5, P99: 5, Max: 5, Buckets: []export.Bucket{{UpTo: 16, Rows: 3}}},
		},
		Vocabulary: &export.Vocabulary{Distinct: 5, Drafts: []export.Draft{{Size: 16_000, Coverage: 1}, {Size: 32_000, Coverage: 1}, {Size: 64_000, Coverage: 1}}},
		Refused:    2, RefusedKnown: map[string]int{"retokenised": 1, "no ids": 1},
	}
	for _, name := range []string{"train.jsonl", "meta.jsonl", "refused.jsonl", "token_freq.json", "README.md"} {
		content := files["out/code/"+name]
		sum := sha256.Sum256([]byte(content))
		f := export.File{Name: name, Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
		if name == "train.jsonl" {
			f.Split, f.Rows, f.Tokens = "train", 3, 16
		}
		want.Files = append(want.Files, f)
	}
	same := func(name string, got *export.Manifest) {
		t.Helper()
		a, _ := json.MarshalIndent(got, "", " ")
		b, _ := json.MarshalIndent(want, "", " ")
		if !bytes.Equal(a, b) {
			t.Errorf("%s is\n%s, want\n%s", name, a, b)
		}
	}
	same("the manifest", got)
	onDisk := new(export.Manifest)
	if err := json.Unmarshal([]byte(files["out/code/manifest.json"]), onDisk); err != nil {
		t.Fatal(err)
	}
	same("the manifest on disk", onDisk)
}

func TestWhatIsLeftOut(t *testing.T) {
	const reason = "no count to compare with"
	broken := row("a", 0, 0, 0)
	broken.Err = errors.New("the template cannot say this")
	withReason := row("a", eyrie.KnownRetokenised, 1, 1)
	withReason.IDs.Reason = reason
	for _, tt := range []struct {
		name    string
		row     *export.Row
		include []eyrie.Known
		want    string // a part of the reason; empty where it is exported
	}{
		{name: "engine", row: row("a", eyrie.KnownEngine, 1, 1)},
		{name: "logprobs", row: row("a", eyrie.KnownLogprobs, 1, 1)},
		{name: "counted", row: row("a", eyrie.KnownCounted, 1, 1)},
		{name: "retokenised", row: withReason, want: reason},
		{name: "retokenised, without a word", row: row("a", eyrie.KnownRetokenised, 1, 1), want: "retokenised"},
		{name: "mismatch, without a word", row: row("a", eyrie.KnownMismatch, 1, 1), want: "mismatch"},
		{name: "retokenised, asked for", row: withReason, include: []eyrie.Known{eyrie.KnownEngine, eyrie.KnownRetokenised}},
		{name: "counted, not asked for", row: row("a", eyrie.KnownCounted, 1, 1), include: []eyrie.Known{eyrie.KnownEngine}, want: "counted"},
		{name: "nothing is asked for", row: row("a", eyrie.KnownEngine, 1, 1), include: []eyrie.Known{}, want: "engine"},
		{name: "no ids", row: broken, include: eyrie.AllKnown, want: "the template cannot say this"},
		{name: "no completion", row: row("a", eyrie.KnownEngine, 3, 0), include: eyrie.AllKnown, want: "mask would be all zero"},
		{name: "no class", row: row("a", 0, 1, 1), include: eyrie.AllKnown, want: "Known(0)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, dir := openRoot(t)
			m := mustExport(t, root, export.Options{Include: tt.include}, tt.row)
			files := folder(t, dir)
			if tt.want == "" {
				if m.Rows != 1 || m.Refused != 0 || files["out/code/refused.jsonl"] != "" {
					t.Errorf("it was refused: %s", files["out/code/refused.jsonl"])
				}
				return
			}
			if m.Rows != 0 || m.Refused != 1 || files["out/code/train.jsonl"] != "" || files["out/code/meta.jsonl"] != "" {
				t.Errorf("it was exported: %s", files["out/code/train.jsonl"])
			}
			if got := files["out/code/refused.jsonl"]; !strings.Contains(got, tt.want) {
				t.Errorf("the reason is in %s, want %q", got, tt.want)
			}
		})
	}
}

func TestSameRowsSameBytes(t *testing.T) {
	root, dir := openRoot(t)
	var rs []*export.Row
	for i := range 40 { // enough lanes and classes to come in another order by chance
		r := row(strconv.Itoa(i), eyrie.AllKnown[i%len(eyrie.AllKnown)], 2, 3)
		r.Meta.Lane = "lane-" + strconv.Itoa(i)
		rs = append(rs, r)
	}
	mustExport(t, root, export.Options{}, rs...)
	first := folder(t, dir)
	mustExport(t, root, export.Options{}, rs...)
	if second := folder(t, dir); !maps.Equal(first, second) {
		t.Errorf("the second export differs:\n%v, and first\n%v", second, first)
	}
}

func TestAnExportIsNotReplacedByASmallerOne(t *testing.T) {
	root, dir := openRoot(t)
	a, b, c := row("a", eyrie.KnownEngine, 1, 1), row("b", eyrie.KnownEngine, 1, 1), row("c", eyrie.KnownEngine, 1, 1)
	mustExport(t, root, export.Options{}, a, b)
	before := folder(t, dir)

	_, err := export.Write(root, "out/code", "code", rows(nil, c), export.Options{})
	if !errors.Is(err, export.ErrFewer) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("the error is %v, want ErrFewer and the way out", err)
	}
	if after := folder(t, dir); !maps.Equal(before, after) {
		t.Errorf("the export that was there changed: %q", names(after))
	}

	if m := mustExport(t, root, export.Options{}, b, c); m.Rows != 2 { // as many
		t.Errorf("%d rows, want 2", m.Rows)
	}
	if m := mustExport(t, root, export.Options{Force: true}, c); m.Rows != 1 {
		t.Errorf("%d rows, want 1", m.Rows)
	}
	if got := folder(t, dir)["out/code/train.jsonl"]; !strings.HasPrefix(got, `{"id":"c",`) || strings.Count(got, "\n") != 1 {
		t.Errorf("train.jsonl is %s", got)
	}
}

func TestAManifestThatCannotBeReadIsInTheWay(t *testing.T) {
	for name, manifest := range map[string]string{"torn": `{"version":1,"ro`, "of another version": `{"version":99}`} {
		t.Run(name, func(t *testing.T) {
			root, dir := openRoot(t)
			if err := os.MkdirAll(filepath.Join(dir, "out", "code"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "out", "code", "manifest.json"), []byte(manifest), 0o644); err != nil {
				t.Fatal(err)
			}
			before := folder(t, dir)
			_, err := export.Write(root, "out/code", "code", rows(nil, row("a", eyrie.KnownEngine, 1, 1)), export.Options{})
			if err == nil || !strings.Contains(err.Error(), "manifest.json") || !strings.Contains(err.Error(), "--force") {
				t.Errorf("the error is %v; want the file and the way out", err)
			}
			if after := folder(t, dir); !maps.Equal(before, after) {
				t.Errorf("the folder changed: %q", names(after))
			}
			mustExport(t, root, export.Options{Force: true}, row("a", eyrie.KnownEngine, 1, 1))
		})
	}
}

func TestAnErrorLeavesNothingBehind(t *testing.T) {
	cause := errors.New("journal: segment 000003 at 77: bad checksum")
	root, dir := openRoot(t)
	_, err := export.Write(root, "out/code", "code", rows(cause, row("a", eyrie.KnownEngine, 1, 1)), export.Options{})
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "code") {
		t.Errorf("the error is %v, want the set and its cause", err)
	}
	if got := folder(t, dir); len(got) != 0 {
		t.Errorf("left behind: %q", names(got))
	}

	mustExport(t, root, export.Options{}, row("a", eyrie.KnownEngine, 1, 1))
	before := folder(t, dir)
	_, err = export.Write(root, "out/code", "code", rows(cause, row("b", eyrie.KnownEngine, 1, 1), row("c", eyrie.KnownEngine, 1, 1)), export.Options{Force: true})
	if !errors.Is(err, cause) {
		t.Errorf("the error is %v", err)
	}
	if after := folder(t, dir); !maps.Equal(before, after) {
		t.Errorf("the export that was there changed: %q", names(after))
	}
}

func TestLeftoversOfAKilledExportAreReplaced(t *testing.T) {
	root, dir := openRoot(t)
	mustExport(t, root, export.Options{}, row("a", eyrie.KnownEngine, 1, 1))
	before := folder(t, dir)
	for _, name := range []string{"train.jsonl", "meta.jsonl", "refused.jsonl", "manifest.json"} {
		if err := os.WriteFile(filepath.Join(dir, "out", "code", name+".partial"), bytes.Repeat([]byte("old\n"), 1000), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mustExport(t, root, export.Options{}, row("a", eyrie.KnownEngine, 1, 1))
	if after := folder(t, dir); !maps.Equal(before, after) {
		t.Errorf("the export is %q, want %q", names(after), names(before))
	}
}

func TestAnExportStaysInItsFolder(t *testing.T) {
	root, dir := openRoot(t)
	if _, err := export.Write(root, "../outside", "code", rows(nil, row("a", eyrie.KnownEngine, 1, 1)), export.Options{}); err == nil {
		t.Error("an export left its folder")
	}
	if got := folder(t, filepath.Dir(dir)); len(got) != 0 {
		t.Errorf("written outside: %q", names(got))
	}
}

func TestNoRows(t *testing.T) {
	root, dir := openRoot(t)
	m := mustExport(t, root, export.Options{})
	if m.Rows != 0 || m.Tokens != 0 {
		t.Errorf("no rows are %+v", m)
	}
	files := folder(t, dir)
	if !slices.Equal(names(files), whole) || files["out/code/train.jsonl"] != "" {
		t.Errorf("the export is %q", names(files))
	}
}
