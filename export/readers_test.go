package export_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/export"
)

// readAs is what a reader of another language says of files.
type readAs struct {
	Columns  map[string]string
	Metadata [][2]string
	Groups   int
	Rows     []struct {
		ID       string  `json:"id"`
		InputIDs []int32 `json:"input_ids"`
		LossMask []int   `json:"loss_mask"`
		SeqLen   int     `json:"seq_len"`
	}
}

// readers runs one of the scripts in readers, which are not there without npm.
func readers(t *testing.T, script string, files []string) *readAs {
	t.Helper()
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join("readers", "node_modules"))
	}
	if err != nil {
		t.Skip("npm install in export/readers fetches the readers that this test asks")
	}
	cmd := exec.CommandContext(t.Context(), node, append([]string{filepath.Join("readers", script)}, files...)...)
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	out := new(readAs)
	if err := json.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// randomRows have ids from a vocabulary of that size, and lengths that are
// mostly small, with some large ones.
func randomRows(n, vocab int) []*export.Row {
	rng := rand.New(rand.NewPCG(7, uint64(vocab)))
	var out []*export.Row
	for i := range n {
		r := row(fmt.Sprintf("p-%d/t0/s0", i), eyrie.KnownEngine, rng.IntN(40), 1+rng.IntN(60))
		if i%37 == 5 {
			r = row(fmt.Sprintf("lang-%d/漢/t0/s0", i), eyrie.KnownEngine, rng.IntN(9000), 1+rng.IntN(9000))
		}
		for _, ids := range [][]int32{r.IDs.PromptIDs, r.IDs.CompletionIDs} {
			for j := range ids {
				ids[j] = int32(rng.IntN(vocab))
				if rng.IntN(3) == 0 {
					ids[j] = int32(rng.IntN(min(vocab, 300)))
				}
			}
		}
		out = append(out, r)
	}
	return out
}

// rowFiles lists the files of rows of an export, in order.
func rowFiles(dir string, m *export.Manifest) []string {
	var out []string
	for _, f := range m.Files {
		if f.Split != "" {
			out = append(out, filepath.Join(dir, "out", "code", filepath.FromSlash(f.Name)))
		}
	}
	return out
}

// sameRows compares what was read with what was exported.
func sameRows(t *testing.T, got *readAs, want []*export.Row) {
	t.Helper()
	if len(got.Rows) != len(want) {
		t.Fatalf("%d rows were read, want %d", len(got.Rows), len(want))
	}
	for i, r := range got.Rows {
		w := want[i]
		ids := slices.Concat(w.IDs.PromptIDs, w.IDs.CompletionIDs)
		if !slices.Equal(r.InputIDs, ids) {
			t.Fatalf("row %d (%s) has other ids", i, w.ID)
		}
		mask := append(make([]int, len(w.IDs.PromptIDs)), slices.Repeat([]int{1}, len(w.IDs.CompletionIDs))...)
		if !slices.Equal(r.LossMask, mask) {
			t.Fatalf("row %d (%s) has the mask %v", i, w.ID, r.LossMask)
		}
	}
}

// TestDuckDBReadsParquet: the types, the metadata and every value, with few ids
// and with more than two bytes can number, in one file and in several.
func TestDuckDBReadsParquet(t *testing.T) {
	for _, tt := range []struct {
		name        string
		rows, vocab int
		options     export.Options
		files       int
	}{
		{"one row", 1, 10, export.Options{}, 1},
		{"few ids", 500, 1000, export.Options{}, 1},
		{"ids of three bytes", 900, 160_000, export.Options{}, 1},
		{"shards of rows", 100, 1000, export.Options{ShardRows: 30}, 4},
		{"ids beyond any vocabulary", 50, 1<<31 - 1, export.Options{}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, dir := openRoot(t)
			tt.options.Format, _ = export.Lookup("parquet")
			want := randomRows(tt.rows, tt.vocab)
			m := mustExport(t, root, tt.options, want...)
			files := rowFiles(dir, m)
			if len(files) != tt.files {
				t.Errorf("the files are %q, want %d", files, tt.files)
			}
			got := readers(t, "parquet.mjs", files)
			if types := fmt.Sprint(got.Columns); types != "map[id:VARCHAR input_ids:INTEGER[] loss_mask:UTINYINT[]]" {
				t.Errorf("the columns are %s", types)
			}
			features := `{"info":{"features":{"id":{"dtype":"string","_type":"Value"},` +
				`"input_ids":{"feature":{"dtype":"int32","_type":"Value"},"_type":"Sequence"},` +
				`"loss_mask":{"feature":{"dtype":"uint8","_type":"Value"},"_type":"Sequence"}}}}`
			if !slices.Equal(got.Metadata, [][2]string{{"huggingface", features}}) {
				t.Errorf("the metadata is %q", got.Metadata)
			}
			sameRows(t, got, want)
			for i := range want {
				if got.Rows[i].ID != want[i].ID {
					t.Fatalf("row %d is %q, want %q", i, got.Rows[i].ID, want[i].ID)
				}
			}
		})
	}
}

func TestArrowJSReadsArrow(t *testing.T) {
	root, dir := openRoot(t)
	o := export.Options{ShardRows: 200}
	o.Format, _ = export.Lookup("arrow")
	want := randomRows(500, 160_000)
	m := mustExport(t, root, o, want...)
	files := rowFiles(dir, m)
	if len(files) != 3 {
		t.Errorf("the files are %q, want 3", files)
	}
	got := readers(t, "arrow.mjs", files)
	if types := fmt.Sprint(got.Columns); types != "map[input_ids:List<Int32> loss_mask:List<Uint8> seq_len:Int64]" {
		t.Errorf("the columns are %s", types)
	}
	if len(got.Metadata) != 1 || got.Metadata[0][0] != "huggingface" || !strings.Contains(got.Metadata[0][1], `"loss_mask":{"feature":{"dtype":"uint8"`) {
		t.Errorf("the metadata is %q", got.Metadata)
	}
	sameRows(t, got, want)
	for i, r := range got.Rows {
		if r.SeqLen != len(r.InputIDs) {
			t.Errorf("row %d has the length %d, and %d ids", i, r.SeqLen, len(r.InputIDs))
		}
	}
}
