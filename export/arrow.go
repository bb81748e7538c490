package export

import (
	"bytes"
	"fmt"
	"path"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// arrowCoder writes Arrow streams, and what makes a folder of them one that
// datasets' save_to_disk could have written. A stream is a message with the
// schema, one for every record batch, and an end; messages do not know where
// they stand, so that they can be made apart from each other.
type arrowCoder struct {
	schema *arrow.Schema
	head   []byte
}

// endOfStream is a message that is not there, of length 0.
var endOfStream = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

func newArrow(*Options) coder {
	meta := arrow.NewMetadata([]string{huggingFace}, []string{arrowFeatures.metadata()})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "input_ids", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		{Name: "loss_mask", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint8), Nullable: true},
		{Name: "seq_len", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, &meta)
	var buf bytes.Buffer
	p := ipc.GetSchemaPayload(schema, memory.DefaultAllocator)
	defer p.Release()
	if _, err := p.WritePayload(&buf); err != nil {
		panic(err) // memory does not fail
	}
	return &arrowCoder{schema, buf.Bytes()}
}

func (c *arrowCoder) begin(*shard) []byte        { return c.head }
func (c *arrowCoder) place(*shard, *block)       {}
func (c *arrowCoder) end(*shard) ([]byte, error) { return endOfStream, nil }

func (c *arrowCoder) encode(b *block) error {
	n := len(b.rows)
	offsets, lens := make([]int32, 1, n+1), make([]int64, 0, n)
	ids, mask := make([]int32, 0, b.tokens), make([]byte, b.tokens)
	for _, r := range b.rows {
		ids = append(append(ids, r.IDs.PromptIDs...), r.IDs.CompletionIDs...)
		for i := len(ids) - len(r.IDs.CompletionIDs); i < len(ids); i++ {
			mask[i] = 1
		}
		offsets = append(offsets, int32(len(ids)))
		lens = append(lens, int64(len(ids))-int64(offsets[len(offsets)-2]))
	}
	at := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))
	listOf := func(of arrow.DataType, values []byte) arrow.Array {
		child := array.NewData(of, len(ids), []*memory.Buffer{nil, memory.NewBufferBytes(values)}, nil, 0, 0)
		return array.NewListData(array.NewData(arrow.ListOf(of), n, []*memory.Buffer{nil, at}, []arrow.ArrayData{child}, 0, 0))
	}
	batch := array.NewRecordBatch(c.schema, []arrow.Array{
		listOf(arrow.PrimitiveTypes.Int32, arrow.Int32Traits.CastToBytes(ids)),
		listOf(arrow.PrimitiveTypes.Uint8, mask),
		array.NewInt64Data(array.NewData(arrow.PrimitiveTypes.Int64, n, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(lens))}, nil, 0, 0)),
	}, int64(n))
	p, err := ipc.GetRecordBatchPayload(batch)
	if err != nil {
		return err
	}
	defer p.Release()
	buf := bytes.NewBuffer(make([]byte, 0, 5*b.tokens+int64(16*n)+4096))
	if _, err := p.WritePayload(buf); err != nil {
		return err
	}
	b.data = buf.Bytes()
	return nil
}

// beside writes dataset_info.json and state.json, for each split in its own
// folder where there are several. The state says that columns are wanted as
// tensors, which speculators relies on.
func (c *arrowCoder) beside(w *writer, splits []*split) error {
	if len(splits) > 1 {
		var names []string
		for _, s := range splits {
			names = append(names, s.name)
		}
		if err := w.addJSON("dataset_dict.json", map[string]any{"splits": names}); err != nil {
			return err
		}
	}
	for _, s := range splits {
		dir := ""
		if len(splits) > 1 {
			dir = s.name
		}
		if err := c.besideSplit(w, s, dir); err != nil {
			return err
		}
	}
	return nil
}

type dataFile struct {
	Filename string `json:"filename"`
}

func (c *arrowCoder) besideSplit(w *writer, s *split, dir string) error {
	info := map[string]any{"citation": "", "description": "", "features": arrowFeatures, "homepage": "", "license": ""}
	if err := w.addJSON(path.Join(dir, "dataset_info.json"), info); err != nil {
		return err
	}
	var files []dataFile
	var sums string
	for _, sh := range s.shards {
		files = append(files, dataFile{path.Base(sh.entry.Name)})
		sums += sh.entry.SHA256
	}
	return w.addJSON(path.Join(dir, "state.json"), map[string]any{
		"_data_files": files, "_fingerprint": fingerprint(sums), "_format_columns": nil, "_format_kwargs": map[string]any{},
		"_format_type": "torch", "_output_all_columns": false, "_split": s.name,
	})
}

func (w *writer) addJSON(name string, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), json.FormatNilSliceAsNull(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return w.add(name, append(b, '\n'))
}
