package main

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	pqcompress "github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/export"
)

// writers are what is measured, ours first.
var writers = []struct {
	name  string
	write func(dir string, rows iter.Seq2[*export.Row, error]) error
}{
	{"nothing", drain},
	{"eyrie-parquet", with("parquet")},
	{"parquet-go", parquetGo},
	{"arrow-go", arrowGo},
	{"eyrie-jsonl", with("specforge")},
	{"eyrie-arrow", with("arrow")},
}

func writeWith(name, dir, ringFile string, rows int) error {
	ring, err := load(ringFile)
	if err != nil {
		return err
	}
	for _, w := range writers {
		if w.name == name {
			return w.write(dir, exportRows(ring, rows))
		}
	}
	return fmt.Errorf("no writer is called %s", name)
}

// exportRows yields rows as a harvest does.
func exportRows(ring []ringRow, rows int) iter.Seq2[*export.Row, error] {
	return func(yield func(*export.Row, error) bool) {
		for i := range rows {
			r := ring[i%len(ring)]
			row := &export.Row{ID: rowID(i), IDs: eyrie.Row{PromptIDs: r.ids[:r.prompt], CompletionIDs: r.ids[r.prompt:], Known: eyrie.KnownCounted}}
			row.Meta.Prompt, row.Meta.Model, row.Meta.Lane, row.Meta.Provider = row.ID, "m", "lane", "Provider"
			if !yield(row, nil) {
				return
			}
		}
	}
}

// drain takes the rows and does nothing with them: what the others have above
// it is theirs.
func drain(_ string, rows iter.Seq2[*export.Row, error]) error {
	for _, err := range rows {
		if err != nil {
			return err
		}
	}
	return nil
}

func with(format string) func(string, iter.Seq2[*export.Row, error]) error {
	return func(dir string, rows iter.Seq2[*export.Row, error]) error {
		f, err := export.Lookup(format)
		if err != nil {
			return err
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer root.Close()
		_, err = export.Write(root, "rows", "rows", rows, export.Options{Format: f, VocabSize: 163_840, DraftVocab: 32_000})
		return err
	}
}

// goRow is a row for parquet-go. Its writer of structs has no list of bytes, so
// that the mask is one of booleans; row groups have as many rows as arrow-go's.
type goRow struct {
	ID       string  `parquet:"id"`
	InputIDs []int32 `parquet:"input_ids,list"`
	LossMask []bool  `parquet:"loss_mask,list"`
}

const groupRows = 20_000

func parquetGo(dir string, rows iter.Seq2[*export.Row, error]) error {
	f, err := os.Create(filepath.Join(dir, "rows.parquet"))
	if err != nil {
		return err
	}
	w := parquet.NewGenericWriter[goRow](f, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.MaxRowsPerRowGroup(groupRows), parquet.DataPageStatistics(false))
	var batch []goRow
	flush := func() error {
		_, err := w.Write(batch)
		batch = batch[:0]
		return err
	}
	for r, err := range rows {
		if err != nil {
			return err
		}
		ids := append(append(make([]int32, 0, len(r.IDs.PromptIDs)+len(r.IDs.CompletionIDs)), r.IDs.PromptIDs...), r.IDs.CompletionIDs...)
		mask := make([]bool, len(ids))
		for i := len(r.IDs.PromptIDs); i < len(mask); i++ {
			mask[i] = true
		}
		if batch = append(batch, goRow{r.ID, ids, mask}); len(batch) == 256 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return sync(f)
}

func arrowGo(dir string, rows iter.Seq2[*export.Row, error]) error {
	f, err := os.Create(filepath.Join(dir, "rows.parquet"))
	if err != nil {
		return err
	}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.BinaryTypes.String},
		{Name: "input_ids", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)},
		{Name: "loss_mask", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint8)},
	}, nil)
	props := pq.NewWriterProperties(pq.WithCompression(pqcompress.Codecs.Zstd), pq.WithCompressionLevel(1), pq.WithDictionaryDefault(false),
		pq.WithStats(false), pq.WithMaxRowGroupLength(groupRows))
	w, err := pqarrow.NewFileWriter(schema, f, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	id := b.Field(0).(*array.StringBuilder)
	ids, mask := b.Field(1).(*array.ListBuilder), b.Field(2).(*array.ListBuilder)
	n := 0
	flush := func() error {
		rec := b.NewRecordBatch()
		defer rec.Release()
		n = 0
		return w.WriteBuffered(rec)
	}
	for r, err := range rows {
		if err != nil {
			return err
		}
		id.Append(r.ID)
		ids.Append(true)
		ids.ValueBuilder().(*array.Int32Builder).AppendValues(r.IDs.PromptIDs, nil)
		ids.ValueBuilder().(*array.Int32Builder).AppendValues(r.IDs.CompletionIDs, nil)
		mask.Append(true)
		ones := mask.ValueBuilder().(*array.Uint8Builder)
		for range r.IDs.PromptIDs {
			ones.Append(0)
		}
		for range r.IDs.CompletionIDs {
			ones.Append(1)
		}
		if n++; n == 1000 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return w.Close() // closes the file, which is not synced then
}

// sync makes the file durable, as an export is.
func sync(f *os.File) error {
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}
