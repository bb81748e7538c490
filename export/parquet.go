package export

import (
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// parquetCoder writes Parquet with three columns and one row group a block. The
// pages are made here, because these columns allow what no general writer can
// know; their headers and the footer are parquet-go's.
//
// input_ids are numbered by how frequent they are in the row group, and the
// numbers are stored in two bytes each, or three where two are too few, instead
// of as many bits as they need. So zstd sees bytes that begin where tokens
// begin, at half the size that plain ids have. A mask is two runs.
type parquetCoder struct {
	zstd *zstd.Encoder
}

// pageTokens is how many ids a page holds, rounded up to whole rows.
const pageTokens = 1 << 18

const parquetMagic = "PAR1"

func newParquet(*Options) coder {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // these options are in order
	}
	return &parquetCoder{enc}
}

func (c *parquetCoder) begin(*shard) []byte            { return []byte(parquetMagic) }
func (c *parquetCoder) beside(*writer, []*split) error { return nil }

// rowGroup is the row group of a block, with offsets from its own start.
type rowGroup struct {
	at int64 // where it starts in its file, once it is placed
	format.RowGroup
}

func (c *parquetCoder) place(s *shard, b *block) {
	g := b.group.(*rowGroup)
	g.at = s.file.size
	s.groups = append(s.groups, g)
}

func (c *parquetCoder) end(s *shard) ([]byte, error) {
	meta := format.FileMetaData{
		Version: 2, Schema: parquetSchema(), NumRows: int64(s.rows), CreatedBy: "eyrie",
		KeyValueMetadata: []format.KeyValue{{Key: huggingFace, Value: parquetFeatures.metadata()}},
	}
	for i, g := range s.groups {
		g := g.(*rowGroup)
		for j := range g.Columns {
			m := &g.Columns[j].MetaData
			m.DataPageOffset += g.at
			if m.DictionaryPageOffset != none {
				m.DictionaryPageOffset += g.at
			} else {
				m.DictionaryPageOffset = 0
			}
		}
		g.FileOffset, g.Ordinal = g.at, int16(min(i, 1<<15-1))
		meta.RowGroups = append(meta.RowGroups, g.RowGroup)
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
	if err != nil {
		return nil, err
	}
	footer = binary.LittleEndian.AppendUint32(footer, uint32(len(footer)))
	return append(footer, parquetMagic...), nil
}

// none is an offset in a row group that is not there.
const none = -1

func parquetSchema() []format.SchemaElement {
	optional, repeated := format.Optional, format.Repeated
	list := func(name string) []format.SchemaElement {
		return []format.SchemaElement{
			{Name: name, RepetitionType: thrift.New(optional), NumChildren: thrift.New[int32](1),
				ConvertedType: thrift.New(deprecated.List), LogicalType: format.LogicalType{Value: new(format.ListType)}},
			{Name: "list", RepetitionType: thrift.New(repeated), NumChildren: thrift.New[int32](1)},
		}
	}
	schema := []format.SchemaElement{
		{Name: "schema", NumChildren: thrift.New[int32](3)},
		{Name: "id", Type: thrift.New(format.ByteArray), RepetitionType: thrift.New(optional),
			ConvertedType: thrift.New(deprecated.UTF8), LogicalType: format.LogicalType{Value: new(format.StringType)}},
	}
	schema = append(schema, list("input_ids")...)
	schema = append(schema, format.SchemaElement{Name: "element", Type: thrift.New(format.Int32), RepetitionType: thrift.New(optional)})
	schema = append(schema, list("loss_mask")...)
	return append(schema, format.SchemaElement{Name: "element", Type: thrift.New(format.Int32), RepetitionType: thrift.New(optional),
		ConvertedType: thrift.New(deprecated.Uint8), LogicalType: format.LogicalType{Value: &format.IntType{BitWidth: 8, IsSigned: false}}})
}

func (c *parquetCoder) encode(b *block) error {
	g := &groupBuilder{zstd: c.zstd, out: make([]byte, 0, b.tokens*3/2+4096)}
	g.NumRows = int64(len(b.rows))
	g.ids(b.rows)
	g.inputIDs(b)
	g.lossMask(b)
	if g.err != nil {
		return g.err
	}
	g.TotalCompressedSize = int64(len(g.out))
	b.data, b.group = g.out, &rowGroup{RowGroup: g.RowGroup}
	return nil
}

// groupBuilder makes one row group.
type groupBuilder struct {
	format.RowGroup
	zstd *zstd.Encoder
	out  []byte
	page []byte // the page being made, before it is compressed
	err  error
}

// column starts a column and returns what its pages are noted in.
func (g *groupBuilder) column(kind format.Type, values int64, encodings []format.Encoding, path ...string) *format.ColumnMetaData {
	g.Columns = append(g.Columns, format.ColumnChunk{MetaData: format.ColumnMetaData{
		Type: kind, Encoding: encodings, PathInSchema: path, Codec: format.Zstd, NumValues: values,
		DataPageOffset: none, DictionaryPageOffset: none,
	}})
	return &g.Columns[len(g.Columns)-1].MetaData
}

// flush compresses the page and appends it.
func (g *groupBuilder) flush(m *format.ColumnMetaData, header format.PageHeader) {
	body := g.zstd.EncodeAll(g.page, nil)
	header.UncompressedPageSize, header.CompressedPageSize = int32(len(g.page)), int32(len(body))
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &header)
	if err != nil {
		g.err = err
		return
	}
	switch at := int64(len(g.out)); {
	case header.Type == format.DictionaryPage:
		m.DictionaryPageOffset = at
	case m.DataPageOffset == none:
		m.DataPageOffset = at
	}
	m.TotalUncompressedSize += int64(len(head) + len(g.page))
	m.TotalCompressedSize += int64(len(head) + len(body))
	g.TotalByteSize += int64(len(head) + len(g.page))
	g.out = append(append(g.out, head...), body...)
	g.page = g.page[:0]
}

func (g *groupBuilder) flushData(m *format.ColumnMetaData, values int, enc format.Encoding) {
	g.flush(m, format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(format.DataPageHeader{
		NumValues: int32(values), Encoding: enc, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})})
}

func (g *groupBuilder) flushDictionary(m *format.ColumnMetaData, values int) {
	g.flush(m, format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{
		NumValues: int32(values), Encoding: format.Plain,
	})})
}

// ids writes the column of the rows' names.
func (g *groupBuilder) ids(rows []*Row) {
	m := g.column(format.ByteArray, int64(len(rows)), []format.Encoding{format.Plain, format.RLE}, "id")
	g.page = appendLevels(g.page, appendRun(nil, len(rows), 1, 1))
	for _, r := range rows {
		g.page = binary.LittleEndian.AppendUint32(g.page, uint32(len(r.ID)))
		g.page = append(g.page, r.ID...)
	}
	g.flushData(m, len(rows), format.Plain)
}

// pages cuts rows into pages.
func pages(rows []*Row, page func(rows []*Row, tokens int)) {
	start, tokens := 0, 0
	for i, r := range rows {
		tokens += len(r.IDs.PromptIDs) + len(r.IDs.CompletionIDs)
		if tokens >= pageTokens || i == len(rows)-1 {
			page(rows[start:i+1], tokens)
			start, tokens = i+1, 0
		}
	}
}

// beginPage writes the levels of a page of a list column: a row begins where
// the repetition level is 0, and everything is there.
func (g *groupBuilder) beginPage(rows []*Row, tokens int) {
	var levels []byte
	for _, r := range rows {
		n := len(r.IDs.PromptIDs) + len(r.IDs.CompletionIDs)
		levels = appendRun(appendRun(levels, 1, 0, 1), n-1, 1, 1)
	}
	g.page = appendLevels(g.page, levels)
	const defined = 3 // the list, its entry, and the entry's value
	g.page = appendLevels(g.page, appendRun(nil, tokens, defined, 1))
}

// appendLevels appends levels with their size before them.
func appendLevels(dst, levels []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(levels))), levels...)
}

// appendRun appends a run of n equal values of so many bytes.
func appendRun(dst []byte, n int, value uint32, width int) []byte {
	if n == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	for range width {
		dst = append(dst, byte(value))
		value >>= 8
	}
	return dst
}

// inputIDs writes the column of ids.
func (g *groupBuilder) inputIDs(b *block) {
	m := g.column(format.Int32, b.tokens, []format.Encoding{format.Plain, format.RLE, format.RLEDictionary}, "input_ids", "list", "element")
	d := newDictionary(b.rows)
	for _, id := range d.ids {
		g.page = binary.LittleEndian.AppendUint32(g.page, uint32(id))
	}
	g.flushDictionary(m, len(d.ids))
	pages(b.rows, func(rows []*Row, tokens int) {
		g.beginPage(rows, tokens)
		// One run of groups of eight numbers, the last one filled up.
		groups := (tokens + 7) / 8
		g.page = append(g.page, byte(8*d.width))
		g.page = binary.AppendUvarint(g.page, uint64(groups)<<1|1)
		for _, r := range rows {
			g.page = d.append(g.page, r.IDs.PromptIDs)
			g.page = d.append(g.page, r.IDs.CompletionIDs)
		}
		for range (8*groups - tokens) * d.width {
			g.page = append(g.page, 0)
		}
		g.flushData(m, tokens, format.RLEDictionary)
	})
}

// dictionary numbers the ids of a row group.
type dictionary struct {
	ids   []int32          // by number
	dense []uint32         // number by id
	rare  map[int32]uint32 // and of ids too large for a table
	width int              // bytes of a number
}

func newDictionary(rows []*Row) *dictionary {
	var f frequencies
	for _, r := range rows {
		f.count(r.IDs.PromptIDs)
		f.count(r.IDs.CompletionIDs)
	}
	d := &dictionary{ids: f.ranked(), dense: make([]uint32, len(f.dense)), rare: map[int32]uint32{}, width: 2}
	for n, id := range d.ids {
		if int(id) < len(d.dense) {
			d.dense[id] = uint32(n)
		} else {
			d.rare[id] = uint32(n)
		}
	}
	if len(d.ids) > 1<<16 {
		d.width = 3
	}
	return d
}

func (d *dictionary) number(id int32) uint32 {
	if int(id) < len(d.dense) {
		return d.dense[id]
	}
	return d.rare[id]
}

// append appends the numbers of ids.
func (d *dictionary) append(dst []byte, ids []int32) []byte {
	if d.width == 2 {
		for _, id := range ids {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(d.number(id)))
		}
		return dst
	}
	for _, id := range ids {
		n := d.number(id)
		dst = append(dst, byte(n), byte(n>>8), byte(n>>16))
	}
	return dst
}

// lossMask writes the column of masks.
func (g *groupBuilder) lossMask(b *block) {
	m := g.column(format.Int32, b.tokens, []format.Encoding{format.Plain, format.RLE, format.RLEDictionary}, "loss_mask", "list", "element")
	g.page = append(g.page, 0, 0, 0, 0, 1, 0, 0, 0)
	g.flushDictionary(m, 2)
	pages(b.rows, func(rows []*Row, tokens int) {
		g.beginPage(rows, tokens)
		g.page = append(g.page, 1) // bit a number
		for _, r := range rows {
			g.page = appendRun(g.page, len(r.IDs.PromptIDs), 0, 1)
			g.page = appendRun(g.page, len(r.IDs.CompletionIDs), 1, 1)
		}
		g.flushData(m, tokens, format.RLEDictionary)
	})
}
