package dataset_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"

	"github.com/eyrie-ai/eyrie/dataset"
)

// chatSchema is what Hugging Face writes for a list of messages.
func chatSchema() *arrow.Schema {
	message := arrow.StructOf(arrow.Field{Name: "role", Type: arrow.BinaryTypes.String}, arrow.Field{Name: "content", Type: arrow.BinaryTypes.String, Nullable: true})
	return arrow.NewSchema([]arrow.Field{
		{Name: "messages", Type: arrow.ListOf(message), Nullable: true},
		{Name: "license", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
}

// chatStream is a stream of batches of one row each.
func chatStream(t *testing.T, rows ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(chatSchema()))
	for _, row := range rows {
		builder := array.NewRecordBuilder(memory.NewGoAllocator(), chatSchema())
		if err := builder.UnmarshalJSON([]byte(row)); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(builder.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func put(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSaveToDisk(t *testing.T) {
	dir := t.TempDir()
	row := func(said string) string {
		return fmt.Sprintf(`{"messages":[{"role":"user","content":%q},{"role":"assistant","content":null}],"license":"mit"}`, said)
	}
	train := filepath.Join(dir, "train")
	// The order is that of the list, and what it does not name is not read.
	put(t, filepath.Join(train, "data-00001-of-00002.arrow"), chatStream(t, row("b"), `{"messages":[],"license":null}`))
	put(t, filepath.Join(train, "data-00000-of-00002.arrow"), chatStream(t, row("a")))
	put(t, filepath.Join(train, "cache-1234.arrow"), chatStream(t, row("c")))
	put(t, filepath.Join(train, "dataset_info.json"), []byte(`{"license":"mit"}`))
	put(t, filepath.Join(train, "state.json"), []byte(`{"_data_files":[{"filename":"data-00001-of-00002.arrow"},{"filename":"data-00000-of-00002.arrow"}],"_fingerprint":"x"}`))
	put(t, filepath.Join(dir, "dataset_dict.json"), []byte(`{"splits":["train","test"]}`))

	prompts, report := readAll(t, dataset.Source{Set: "s", Path: train}, dataset.Options{})
	if len(prompts) != 2 || prompts[0].Messages[0].Content != "b" || prompts[1].Messages[0].Content != "a" || prompts[0].Origin.Licence != "mit" {
		t.Errorf("got %v\n%v", prompts, report)
	}
	if c := report.Dropped[dataset.NoMessages]; c.N != 1 || !strings.HasSuffix(c.Examples[0].String(), "data-00001-of-00002.arrow:2/1: no messages") {
		t.Errorf("got %v", report)
	}

	tests := []struct{ path, want string }{
		{dir, "holds the splits train, test; name one, such as " + train},
		{filepath.Join(dir, "escape"), `holds a state.json that names "../train/x.arrow", which is not in the folder`},
		{filepath.Join(dir, "torn"), "holds a state.json that cannot be read"},
		{filepath.Join(dir, "missing"), filepath.Join("missing", "data.arrow") + ": no such file or directory"},
	}
	put(t, filepath.Join(dir, "escape", "state.json"), []byte(`{"_data_files":[{"filename":"../train/x.arrow"}]}`))
	put(t, filepath.Join(dir, "torn", "state.json"), []byte(`{"_data_files":[`))
	put(t, filepath.Join(dir, "missing", "state.json"), []byte(`{"_data_files":[{"filename":"data.arrow"}]}`))
	for _, tt := range tests {
		if _, err := dataset.Open(dataset.Source{Path: tt.path}, dataset.Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.path, err, tt.want)
		}
	}
}

func TestParquetSet(t *testing.T) {
	type said struct {
		Role    string  `parquet:"role"`
		Content *string `parquet:"content,optional"`
	}
	type row struct {
		ID       int64  `parquet:"id"`
		Messages []said `parquet:"messages,list"`
		Tools    string `parquet:"tools"`
	}
	hi, bad := "Hi", "a\xffb"
	path := filepath.Join(t.TempDir(), "train-00000-of-00001.parquet")
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.MaxRowsPerRowGroup(2))
	if _, err := w.Write([]row{
		{1, []said{{"user", &hi}, {"assistant", nil}}, `[{"name":"f"}]`},
		{2, []said{{"narrator", &hi}}, ""},
		{3, []said{{"user", &bad}}, ""},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, path, b.Bytes())
	prompts, report := readAll(t, dataset.Source{Set: "s", Path: path}, dataset.Options{})
	if len(prompts) != 1 || prompts[0].ID != "1" || string(prompts[0].Tools) != `[{"type":"function","function":{"name":"f"}}]` || report.Bytes != int64(b.Len()) {
		t.Errorf("got %v\n%v", prompts, report)
	}
	for reason, want := range map[dataset.Reason]string{
		dataset.UnknownRole: path + `:1/2: messages[0]: unknown role "narrator"`,
		dataset.BadUTF8:     path + ":2/1: bytes that are not UTF-8",
	} {
		if c := report.Dropped[reason]; c.N != 1 || c.Examples[0].String() != want {
			t.Errorf("got %v, want %s", c, want)
		}
	}
	put(t, path, b.Bytes()[:b.Len()-20])
	_, err := dataset.Open(dataset.Source{Path: path}, dataset.Options{})
	if want := "dataset: " + path + ": the Parquet file is cut off: its directory, which stands at the end, is not there; download it again"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
