package rowfile_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/eyrie-ai/eyrie/dataset/internal/rowfile"
)

type turn struct {
	Role    string  `parquet:"role"`
	Content *string `parquet:"content,optional"`
}

// record is a row with every kind of nesting.
type record struct {
	ID       string            `parquet:"id"`
	Messages []turn            `parquet:"messages,list"`
	Bare     []string          `parquet:"bare"`
	Nested   [][]int32         `parquet:"nested,list"`
	Meta     map[string]string `parquet:"meta"`
	Image    *struct {
		Bytes []byte `parquet:"bytes"`
	} `parquet:"image,optional"`
	Score float64 `parquet:"score"`
	Big   uint64  `parquet:"big"`
	OK    bool    `parquet:"ok"`
}

func parquetFile(t testing.TB, groups ...[]record) []byte {
	t.Helper()
	return parquetPacked(t, &parquet.Zstd, groups...)
}

func parquetPacked(t testing.TB, codec compress.Codec, groups ...[]record) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[record](&b, parquet.Compression(codec))
	for _, g := range groups {
		if _, err := w.Write(g); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func records() []record {
	hi := "Hi \"you\"\n\u2028"
	full := record{
		ID: "a", Messages: []turn{{"user", &hi}, {"assistant", nil}}, Bare: []string{"x", "y"}, Nested: [][]int32{{1, 2}, {}, {3}},
		Meta: map[string]string{"k": "v"}, Score: 1.5, Big: 1 << 63, OK: true,
	}
	full.Image = &struct {
		Bytes []byte `parquet:"bytes"`
	}{[]byte("\x89PNG\xff")}
	return []record{full, {ID: "b"}}
}

func TestParquet(t *testing.T) {
	rs := records()
	format, got, err := rows("x", parquetFile(t, rs, rs[1:]), rowfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const empty = `{"id":"b","messages":[],"bare":[],"nested":[],"meta":{},"image":null,"score":0,"big":0,"ok":false}`
	want := []string{
		`1/1: {"id":"a","messages":[{"role":"user","content":"Hi \"you\"\n` + "\u2028" + `"},{"role":"assistant","content":null}],"bare":["x","y"],` +
			`"nested":[[1,2],[],[3]],"meta":{"k":"v"},"image":{"bytes":null},"score":1.5,"big":9223372036854775808,"ok":true}`,
		"1/2: " + empty, "2/1: " + empty,
	}
	if format != "parquet" || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s, got\n%s\nwant\n%s", format, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestParquetLimit has a row that is too large between two that are not.
func TestParquetLimit(t *testing.T) {
	large := record{ID: strings.Repeat("x", 5000)}
	_, got, err := rows("x", parquetFile(t, []record{{ID: "a"}, large, {ID: "b"}}), rowfile.Options{MaxRow: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !strings.HasPrefix(got[1], "1/2: !a row of 5") || !strings.HasPrefix(got[2], `1/3: {"id":"b"`) {
		t.Errorf("got %.100q", got)
	}
}

// stride is how far apart the places are that a test damages.
func stride() int {
	if testing.Short() {
		return 37
	}
	return 5
}

// TestParquetDamage cuts and flips a file everywhere. It must end with an
// error or with rows, and never in a panic.
func TestParquetDamage(t *testing.T) {
	whole := parquetFile(t, records(), records())
	for n := 4; n < len(whole); n += stride() {
		if _, got, err := rows("x", whole[:n], rowfile.Options{}); err == nil {
			t.Fatalf("cut at %d of %d: %d rows and no error", n, len(whole), len(got))
		}
	}
	for n := 0; n < len(whole); n += stride() {
		damaged := bytes.Clone(whole)
		damaged[n] ^= 0x55
		rows("x", damaged, rowfile.Options{})
	}
}

// manyRows is a file whose rows can be told apart.
func manyRows(n int) []record {
	var rs []record
	for i := range n {
		said := fmt.Sprintf("message %d", i)
		rs = append(rs, record{ID: fmt.Sprint(i), Messages: make([]turn, i%5)})
		for j := range rs[i].Messages {
			rs[i].Messages[j] = turn{"user", &said}
		}
	}
	return rs
}

// TestParquetBatches reads more rows than are read at once, of pages smaller
// than a batch.
func TestParquetBatches(t *testing.T) {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[record](&b, parquet.PageBufferSize(256), parquet.MaxRowsPerRowGroup(150))
	if _, err := w.Write(manyRows(500)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, got, err := rows("x", b.Bytes(), rowfile.Options{})
	if err != nil || len(got) != 500 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	for i, r := range got {
		want := fmt.Sprintf(`%d/%d: {"id":"%d","messages":[`, i/150+1, i%150+1, i)
		for j := range i % 5 {
			if j > 0 {
				want += ","
			}
			want += fmt.Sprintf(`{"role":"user","content":"message %d"}`, i)
		}
		if !strings.HasPrefix(r, want+"]") {
			t.Fatalf("row %d is %s, want %s…", i, r, want)
		}
	}
}

// oldLists are lists as files of old write them: without a group around the
// elements.
func TestParquetOldLists(t *testing.T) {
	schema := parquet.NewSchema("old", parquet.Group{
		"tags": parquet.Repeated(parquet.String()),
		"turns": parquet.Repeated(parquet.Group{
			"role": parquet.String(),
			"tags": parquet.Repeated(parquet.Int(64)),
		}),
	})
	var b bytes.Buffer
	w := parquet.NewWriter(&b, schema)
	type oldTurn struct {
		Role string  `parquet:"role"`
		Tags []int64 `parquet:"tags"`
	}
	type old struct {
		Tags  []string  `parquet:"tags"`
		Turns []oldTurn `parquet:"turns"`
	}
	for _, r := range []old{{[]string{"x"}, []oldTurn{{"user", []int64{1, 2}}, {"gpt", nil}}}, {}} {
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, got, err := rows("x", b.Bytes(), rowfile.Options{})
	want := []string{`1/1: {"tags":["x"],"turns":[{"role":"user","tags":[1,2]},{"role":"gpt","tags":[]}]}`, `1/2: {"tags":[],"turns":[]}`}
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v, got\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestNotSeekable has Parquet from a stream.
func TestNotSeekable(t *testing.T) {
	b := parquetFile(t, records())
	f, err := rowfile.Open("x", func() (io.ReadCloser, error) { return io.NopCloser(io.MultiReader(bytes.NewReader(b))), nil }, rowfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range f.Rows(io.Discard) {
		break
	}
	if err == nil || err.Error() != "is Parquet, which is read from its end, and this source cannot be" {
		t.Errorf("got %v", err)
	}
}

// arrowSchema has every kind of column that sets use.
func arrowSchema() *arrow.Schema {
	message := arrow.StructOf(
		arrow.Field{Name: "role", Type: arrow.BinaryTypes.String},
		arrow.Field{Name: "content", Type: arrow.BinaryTypes.LargeString, Nullable: true},
	)
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "messages", Type: arrow.ListOf(message), Nullable: true},
		{Name: "meta", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32)},
		{Name: "image", Type: arrow.BinaryTypes.Binary},
		{Name: "ok", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "score", Type: arrow.PrimitiveTypes.Float32},
		{Name: "kind", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32},
	}, nil)
}

func arrowBatch(t testing.TB) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrowSchema())
	rows := `{"id":1,"messages":[{"role":"user","content":"Hi \"you\""},{"role":"gpt","content":null}],"meta":[{"key":"k","value":2}],"image":"/9g=","ok":true,"score":0.5,"kind":"chat","day":"2026-01-02"}
{"id":2,"messages":null,"meta":[],"image":"","ok":false,"score":0,"kind":"code","day":"1970-01-01"}`
	for line := range strings.Lines(rows) {
		if err := b.UnmarshalJSON([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewRecordBatch()
}

const arrowWant = `1/1: {"id":1,"messages":[{"role":"user","content":"Hi \"you\""},{"role":"gpt","content":null}],"meta":{"k":2},"image":null,"ok":true,"score":0.5,"kind":"chat","day":"2026-01-02"}
1/2: {"id":2,"messages":null,"meta":{},"image":"","ok":false,"score":0,"kind":"code","day":"1970-01-01"}
2/1: {"id":2,"messages":null,"meta":{},"image":"","ok":false,"score":0,"kind":"code","day":"1970-01-01"}`

// arrowFile writes a batch and a part of it, as a stream or as a file.
func arrowFile(t testing.TB, stream bool, opts ...ipc.Option) []byte {
	t.Helper()
	batch := arrowBatch(t)
	var b bytes.Buffer
	opts = append(opts, ipc.WithSchema(batch.Schema()))
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	w = ipc.NewWriter(&b, opts...)
	if !stream {
		var err error
		if w, err = ipc.NewFileWriter(&b, opts...); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []arrow.RecordBatch{batch, batch.NewSlice(1, 2)} {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArrow(t *testing.T) {
	for name, b := range map[string][]byte{
		"stream":            arrowFile(t, true),
		"file":              arrowFile(t, false),
		"compressed stream": arrowFile(t, true, ipc.WithZstd()),
		"compressed file":   arrowFile(t, false, ipc.WithLZ4()),
		"stream in gzip":    []byte(gzipped(string(arrowFile(t, true)))),
	} {
		_, got, err := rows("x", b, rowfile.Options{})
		if err != nil || strings.Join(got, "\n") != arrowWant {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, strings.Join(got, "\n"), arrowWant)
		}
	}
}

// TestArrowDamage cuts and flips a stream everywhere.
func TestArrowDamage(t *testing.T) {
	whole := arrowFile(t, true)
	_, all, err := rows("x", whole, rowfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := 4; n < len(whole)-8; n += stride() {
		_, got, err := rows("x", whole[:n], rowfile.Options{})
		if err == nil && len(got) == len(all) && n < len(whole)-16 {
			t.Fatalf("cut at %d of %d: %d rows and no error", n, len(whole), len(got))
		}
	}
	for n := 4; n < len(whole); n += stride() {
		for _, flip := range []byte{0x55, 0xff, 0x80} {
			damaged := bytes.Clone(whole)
			damaged[n] ^= flip
			rows("x", damaged, rowfile.Options{})
		}
	}
}

func FuzzParquet(f *testing.F) {
	f.Add(parquetFile(f, records()))
	f.Fuzz(func(t *testing.T, b []byte) { rows("x", b, rowfile.Options{}) })
}

func FuzzArrow(f *testing.F) {
	f.Add(arrowFile(f, true))
	f.Add(arrowFile(f, false))
	f.Fuzz(func(t *testing.T, b []byte) { rows("x", b, rowfile.Options{}) })
}
