package export_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/export"
)

func format(t testing.TB, name string) *export.Format {
	t.Helper()
	f, err := export.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestASavedFolderIsWhole: what load_from_disk and speculators read beside the
// Arrow files.
func TestASavedFolderIsWhole(t *testing.T) {
	root, dir := openRoot(t)
	rs := randomRows(60, 500)
	m := mustExport(t, root, export.Options{Format: format(t, "arrow"), ShardRows: 25, VocabSize: 1000, DraftVocab: 300}, rs...)
	files := folder(t, filepath.Join(dir, "out", "code"))
	want := []string{
		"README.md", "d2t.npy", "data-00000-of-00003.arrow", "data-00001-of-00003.arrow", "data-00002-of-00003.arrow", "dataset_info.json",
		"manifest.json", "meta.jsonl", "refused.jsonl", "state.json", "t2d.npy", "token_freq.json",
	}
	if !slices.Equal(names(files), want) {
		t.Errorf("the folder is %q, want %q", names(files), want)
	}
	var state struct {
		Files []struct{ Filename string } `json:"_data_files"`
		Type  string                      `json:"_format_type"`
		Print string                      `json:"_fingerprint"`
		Split string                      `json:"_split"`
	}
	if err := json.Unmarshal([]byte(files["state.json"]), &state); err != nil {
		t.Fatal(err)
	}
	if len(state.Files) != 3 || state.Files[2].Filename != "data-00002-of-00003.arrow" || state.Type != "torch" || len(state.Print) != 16 || state.Split != "train" {
		t.Errorf("the state is %+v", state)
	}
	var info struct {
		Features map[string]struct {
			Type    string `json:"_type"`
			Dtype   string
			Feature struct{ Dtype string }
		}
	}
	if err := json.Unmarshal([]byte(files["dataset_info.json"]), &info); err != nil {
		t.Fatal(err)
	}
	f := info.Features
	if len(f) != 3 || f["input_ids"].Feature.Dtype != "int32" || f["loss_mask"].Feature.Dtype != "uint8" || f["seq_len"].Dtype != "int64" || f["input_ids"].Type != "Sequence" {
		t.Errorf("the features are %+v", f)
	}
	if m.Rows != 60 || m.Files[0].Rows != 25 || m.Files[2].Rows != 10 {
		t.Errorf("the shards are %+v", m.Files[:3])
	}
}

// npy reads an array of NumPy's.
func npy(t *testing.T, content, dtype string) []byte {
	t.Helper()
	if !strings.HasPrefix(content, "\x93NUMPY\x01\x00") {
		t.Fatalf("no array: %q", content[:min(20, len(content))])
	}
	n := int(binary.LittleEndian.Uint16([]byte(content[8:])))
	header := content[10 : 10+n]
	if (10+n)%64 != 0 || !strings.HasSuffix(header, "\n") || !strings.Contains(header, "'descr': '"+dtype+"'") || !strings.Contains(header, "'fortran_order': False") {
		t.Errorf("the header is %q", header)
	}
	size := map[string]int{"<i8": 8, "|b1": 1}[dtype]
	data := content[10+n:]
	if shape := fmt.Sprintf("'shape': (%d,)", len(data)/size); !strings.Contains(header, shape) {
		t.Errorf("the header is %q and there are %d values", header, len(data)/size)
	}
	return []byte(data)
}

// TestDraftVocabulary: the most frequent ids, the smaller of two that are as
// frequent, ascending, filled up with the smallest that are left.
func TestDraftVocabulary(t *testing.T) {
	r := row("a", eyrie.KnownEngine, 0, 0)
	r.IDs.PromptIDs = []int32{1, 1, 1, 1, 1, 1} // not supervised
	r.IDs.CompletionIDs = []int32{7, 7, 7, 5, 5, 9, 9, 3, 8}
	other := row("b", eyrie.KnownEngine, 0, 0)
	other.Meta.Split = eyrie.Validation // not counted
	other.IDs.CompletionIDs = []int32{2, 2, 2, 2}
	for _, tt := range []struct {
		size  int
		draft []int64
	}{
		{1, []int64{7}},
		{2, []int64{5, 7}},
		{4, []int64{3, 5, 7, 9}},
		{7, []int64{0, 1, 3, 5, 7, 8, 9}},
	} {
		root, dir := openRoot(t)
		m := mustExport(t, root, export.Options{VocabSize: 12, DraftVocab: tt.size}, r, other)
		files := folder(t, filepath.Join(dir, "out", "code"))
		var draft []int64
		for i, d := 0, npy(t, files["d2t.npy"], "<i8"); i < len(d); i += 8 {
			draft = append(draft, int64(binary.LittleEndian.Uint64(d[i:]))+int64(i/8))
		}
		if !slices.Equal(draft, tt.draft) {
			t.Errorf("a draft of %d is %v, want %v", tt.size, draft, tt.draft)
		}
		in := npy(t, files["t2d.npy"], "|b1")
		for id, is := range in {
			if (is == 1) != slices.Contains(tt.draft, int64(id)) {
				t.Errorf("a draft of %d: id %d is in it: %v", tt.size, id, is)
			}
		}
		if len(in) != 12 || m.Vocabulary.Files != tt.size || m.Vocabulary.Distinct != 5 {
			t.Errorf("a draft of %d: of %d ids, and the manifest says %+v", tt.size, len(in), m.Vocabulary)
		}
		if got := files["token_freq.json"]; got != `{"3":1,"5":2,"7":3,"8":1,"9":2}`+"\n" {
			t.Errorf("the frequencies are %s", got)
		}
	}
}

// TestCoverage: of 20,000 ids that come once and one that comes 20,000 times,
// the first 16,000 are 36/40 of all.
func TestCoverage(t *testing.T) {
	r := row("a", eyrie.KnownEngine, 0, 0)
	for i := range int32(20_000) {
		r.IDs.CompletionIDs = append(r.IDs.CompletionIDs, i+1, 0)
	}
	root, _ := openRoot(t)
	v := mustExport(t, root, export.Options{}, r).Vocabulary
	want := []export.Draft{{Size: 16_000, Coverage: 35_999.0 / 40_000}, {Size: 32_000, Coverage: 1}, {Size: 64_000, Coverage: 1}}
	if !slices.Equal(v.Drafts, want) {
		t.Errorf("the coverage is %+v, want %+v", v.Drafts, want)
	}
}

// TestSplits: rows of each split in its own files, with their own lines beside.
func TestSplits(t *testing.T) {
	var rs []*export.Row
	for i := range 9 {
		r := row(fmt.Sprintf("p-%d", i), eyrie.KnownEngine, 1, 2)
		r.Meta.Split = []string{"", eyrie.Train, eyrie.Validation}[i%3]
		rs = append(rs, r)
	}
	for name, want := range map[string][]string{
		"specforge": {"train.jsonl", "validation.jsonl"},
		"messages":  {"train.jsonl", "validation.jsonl"},
		"parquet":   {"data/train-00000-of-00001.parquet", "data/validation-00000-of-00001.parquet"},
		"arrow":     {"train/data-00000-of-00001.arrow", "validation/data-00000-of-00001.arrow"},
	} {
		root, dir := openRoot(t)
		m := mustExport(t, root, export.Options{Format: format(t, name)}, rs...)
		var got []string
		for _, f := range m.Files {
			if f.Split != "" {
				got = append(got, f.Name)
			}
		}
		if !slices.Equal(got, want) || m.Files[0].Rows != 6 || m.Files[1].Rows != 3 {
			t.Errorf("%s: the files are %+v, want %q", name, m.Files, want)
		}
		files := folder(t, filepath.Join(dir, "out", "code"))
		if n := strings.Count(files["meta.jsonl"], "\n"); n != 6 {
			t.Errorf("%s: meta.jsonl has %d lines, want 6", name, n)
		}
		if n := strings.Count(files["meta-validation.jsonl"], `"split":"validation"`); n != 3 {
			t.Errorf("%s: meta-validation.jsonl has %d lines, want 3", name, n)
		}
		if name == "arrow" && (files["dataset_dict.json"] == "" || files["validation/state.json"] == "" || files["train/dataset_info.json"] == "") {
			t.Errorf("arrow: the files are %q", names(files))
		}
	}
}

func TestASplitThatIsNoName(t *testing.T) {
	root, dir := openRoot(t)
	r := row("a", eyrie.KnownEngine, 1, 1)
	r.Meta.Split = "../x"
	if _, err := export.Write(root, "out/code", "code", rows(nil, r), export.Options{}); err == nil || !strings.Contains(err.Error(), `"../x"`) {
		t.Errorf("the error is %v", err)
	}
	if got := folder(t, dir); len(got) != 0 {
		t.Errorf("left behind: %q", names(got))
	}
}

// TestShards: no file is larger than asked unless one block is, none has more
// rows, and together they are the rows in order.
func TestShards(t *testing.T) {
	rs := randomRows(300, 1000)
	for _, name := range []string{"specforge", "parquet", "arrow", "messages"} {
		for _, o := range []export.Options{{ShardBytes: 20_000}, {ShardRows: 7}, {ShardBytes: 30_000, ShardRows: 40}} {
			root, dir := openRoot(t)
			o.Format = format(t, name)
			m := mustExport(t, root, o, rs...)
			total, shards := 0, 0
			for _, f := range m.Files {
				if f.Split == "" {
					continue
				}
				shards++
				total += f.Rows
				if o.ShardRows > 0 && f.Rows > o.ShardRows || o.ShardBytes > 0 && f.Rows > 1 && f.Bytes > o.ShardBytes+4096 {
					t.Errorf("%s, %d bytes, %d rows: %s has %d bytes and %d rows", name, o.ShardBytes, o.ShardRows, f.Name, f.Bytes, f.Rows)
				}
			}
			if total != 300 || shards < 2 {
				t.Errorf("%s: %d rows in %d shards", name, total, shards)
			}
			if name == "specforge" {
				lines := decodeLines[trained](t, concat(t, rowFiles(dir, m)))
				for i, l := range lines {
					if l.ID != rs[i].ID {
						t.Fatalf("line %d is of %s, want %s", i, l.ID, rs[i].ID)
					}
				}
			}
		}
	}
}

func concat(t *testing.T, files []string) string {
	t.Helper()
	var b strings.Builder
	for _, f := range files {
		c, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(c)
	}
	return b.String()
}

// TestProcessorsDoNotShow: the same bytes in every format, with one processor
// and with several.
func TestProcessorsDoNotShow(t *testing.T) {
	rs := randomRows(400, 5000)
	for i, r := range rs {
		r.Messages, r.Answer = []eyrie.Message{user("2+2?")}, eyrie.Message{Content: "4"}
		r.Meta.Split = []string{"train", "validation"}[i%5/4]
		r.Meta.Lane = fmt.Sprintf("lane-%d", i%9)
	}
	for _, f := range export.Formats() {
		var first map[string]string
		for _, n := range []int{1, 2, 5} {
			before := runtime.GOMAXPROCS(n)
			root, dir := openRoot(t)
			mustExport(t, root, export.Options{Format: f, ShardRows: 90, VocabSize: 9000, DraftVocab: 100}, rs...)
			runtime.GOMAXPROCS(before)
			files := folder(t, dir)
			if first == nil {
				first = files
			}
			if !maps.Equal(first, files) {
				t.Errorf("%s: with %d processors other bytes", f.Name, n)
			}
		}
	}
}

// TestWhatIsNotOursStays: a file that somebody put into the folder.
func TestWhatIsNotOursStays(t *testing.T) {
	root, dir := openRoot(t)
	mustExport(t, root, export.Options{}, row("a", eyrie.KnownEngine, 1, 1))
	mine := filepath.Join(dir, "out", "code", "cache", "mine.pt")
	if err := os.MkdirAll(filepath.Dir(mine), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := folder(t, dir)
	for _, force := range []bool{false, true} {
		_, err := export.Write(root, "out/code", "code", rows(nil, row("b", eyrie.KnownEngine, 1, 1)), export.Options{Force: force})
		if err == nil || !strings.Contains(err.Error(), "cache/mine.pt") || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("the error is %v, want the file and the way out", err)
		}
	}
	if after := folder(t, dir); !maps.Equal(before, after) {
		t.Errorf("the folder changed: %q", names(after))
	}
}

func TestAnotherFormatIsNotReplaced(t *testing.T) {
	root, dir := openRoot(t)
	mustExport(t, root, export.Options{}, row("a", eyrie.KnownEngine, 1, 1))
	o := export.Options{Format: format(t, "parquet")}
	_, err := export.Write(root, "out/code", "code", rows(nil, row("a", eyrie.KnownEngine, 1, 1)), o)
	if err == nil || !strings.Contains(err.Error(), "specforge") || !strings.Contains(err.Error(), "--out") {
		t.Errorf("the error is %v", err)
	}
	o.Force = true
	mustExport(t, root, o, row("a", eyrie.KnownEngine, 1, 1))
	if files := folder(t, dir); files["out/code/train.jsonl"] != "" || files["out/code/data/train-00000-of-00001.parquet"] == "" {
		t.Errorf("the folder is %q", names(files))
	}
}

// TestAfterAKill: the folders that a killed export may leave are put in order.
func TestAfterAKill(t *testing.T) {
	finished := func(t *testing.T) (*os.Root, string) {
		root, dir := openRoot(t)
		mustExport(t, root, export.Options{}, row("a", eyrie.KnownEngine, 1, 1), row("b", eyrie.KnownEngine, 1, 1))
		return root, filepath.Join(dir, "out")
	}
	for name, leave := range map[string]func(out string) error{
		"while it wrote": func(out string) error {
			return os.MkdirAll(filepath.Join(out, ".code.partial", "data"), 0o755)
		},
		"between the names": func(out string) error {
			if err := os.Rename(filepath.Join(out, "code"), filepath.Join(out, ".code.old")); err != nil {
				return err
			}
			return os.Mkdir(filepath.Join(out, ".code.partial"), 0o755)
		},
		"before it tidied up": func(out string) error {
			return os.Mkdir(filepath.Join(out, ".code.old"), 0o755)
		},
		"with its lock": func(out string) error {
			return os.WriteFile(filepath.Join(out, ".code.lock"), []byte("1"), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, out := finished(t)
			want := folder(t, out)
			if err := leave(out); err != nil {
				t.Fatal(err)
			}
			// An export of fewer rows is refused, as if nothing had happened.
			if _, err := export.Write(root, "out/code", "code", rows(nil, row("c", eyrie.KnownEngine, 1, 1)), export.Options{}); err == nil {
				t.Error("two rows were replaced by one")
			}
			if got := folder(t, out); !maps.Equal(got, want) {
				t.Errorf("the folder is %q, want %q", names(got), names(want))
			}
			ents, err := os.ReadDir(out)
			if err != nil || len(ents) != 1 {
				t.Errorf("beside it are %v, %v", ents, err)
			}
		})
	}
}

// TestTextWithoutIDs: formats of messages take answers whose ids nobody knows,
// where that is asked.
func TestTextWithoutIDs(t *testing.T) {
	r := talk("a/t0/s0", eyrie.Message{Content: "4"}, user("2+2?"))
	r.IDs, r.Err = eyrie.Row{}, fmt.Errorf("the written form is not known")
	root, _ := openRoot(t)
	o := export.Options{Format: format(t, "messages")}
	if m := mustExport(t, root, o, r); m.Rows != 0 || m.Refused != 1 {
		t.Errorf("without being asked: %d rows", m.Rows)
	}
	o.Text = true
	if m := mustExport(t, root, o, r); m.Rows != 1 || m.Known["text"] != 1 || m.Vocabulary != nil {
		t.Errorf("when asked: %+v", m)
	}
	o.Format = nil
	if _, err := export.Write(root, "out/other", "code", rows(nil, r), o); err == nil || !strings.Contains(err.Error(), "made of ids") {
		t.Errorf("in a format of ids: %v", err)
	}
}

func TestIDsThatNoModelHas(t *testing.T) {
	for _, id := range []int32{-1, 100} {
		root, dir := openRoot(t)
		r := row("a", eyrie.KnownEngine, 3, 3)
		r.IDs.PromptIDs[1] = id
		if m := mustExport(t, root, export.Options{VocabSize: 100}, r); m.Rows != 0 {
			t.Errorf("%d was exported", id)
		}
		if got := folder(t, dir)["out/code/refused.jsonl"]; !strings.Contains(got, fmt.Sprint(id)) {
			t.Errorf("the reason is in %s", got)
		}
	}
}

// TestCard looks at the card's front matter and at text that could break it.
func TestCard(t *testing.T) {
	root, dir := openRoot(t)
	r := row("a", eyrie.KnownEngine, 1, 1)
	r.Meta.Origin.Licence = "Apache-2.0"
	v := row("b", eyrie.KnownEngine, 1, 1)
	v.Meta.Origin.Licence, v.Meta.Split = "apache-2.0", eyrie.Validation
	m, err := export.Write(root, "out/code", "a \"set\"\n---\n| x", rows(nil, r, v), export.Options{Format: format(t, "parquet")})
	if err != nil || m.Rows != 2 {
		t.Fatal(m, err)
	}
	got := folder(t, dir)["out/code/README.md"]
	for _, want := range []string{
		"---\nlicense: other\npretty_name: \"a \\\"set\\\"\\n---\\n| x\"\n", "- split: validation\n    path: data/validation*.parquet\n---\n\n",
		"| Apache-2.0 | 1 |", "size_categories:\n- n<1K\n", "| Atlas | 2 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the card is\n%s\nwithout %q", got, want)
		}
	}
}
