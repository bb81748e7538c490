package rowfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// arrowMagic begins an Arrow file: a stream between two marks, with a directory
// behind it that reading from the front does not need.
const arrowMagic = "ARROW1"

// arrowContinuation begins every message of a stream.
var arrowContinuation = []byte("\xff\xff\xff\xff")

// maxArrowBatch bounds what one record batch may take in memory.
const maxArrowBatch = 2 << 30

// maxArrowRows bounds the rows of a batch, whose number a damaged file may
// give as anything.
const maxArrowRows = 1 << 28

// arrowRows are the rows of all record batches.
func arrowRows(r io.Reader, limit int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		in := bufio.NewReaderSize(r, readAhead)
		if head, _ := in.Peek(len(arrowMagic)); string(head) == arrowMagic {
			in.Discard(len(arrowMagic) + 2) // the mark is padded to eight bytes
		}
		stream, err := openArrow(in)
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer stream.Release()
		var buf []byte
		for group := 1; ; group++ {
			batch, err := nextBatch(stream)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Row{}, fmt.Errorf("record batch %d: %w", group, err))
				return
			}
			for i := range int(batch.NumRows()) {
				row := Row{Place: Place{Group: group, Index: i + 1}}
				if buf, err = batchRow(buf[:0], batch, i); err != nil {
					yield(row, fmt.Errorf("record batch %d, row %d: %w", group, i+1, err))
					return
				}
				row.JSON = buf
				if len(buf) > limit {
					row.JSON, row.Fault = nil, tooLong(len(buf), limit)
				}
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// openArrow reads the schema of a stream.
func openArrow(in io.Reader) (stream *ipc.Reader, err error) {
	defer recovered("Arrow schema", &err)
	mem := ipc.WithAllocator(boundedMemory{memory.NewGoAllocator()})
	messages := ipc.NewMessageReader(&guardedArrow{in: in}, mem, ipc.WithBodySizeLimit(maxArrowBatch))
	stream, err = ipc.NewReaderFromMessageReader(messages, mem)
	return stream, cutArrow(err)
}

// nextBatch reads the next record batch, or io.EOF.
func nextBatch(stream *ipc.Reader) (batch arrow.RecordBatch, err error) {
	defer recovered("Arrow data", &err)
	if stream.Next() {
		batch = stream.RecordBatch()
		if batch.NumCols() == 0 || batch.NumRows() > maxArrowRows {
			return nil, fmt.Errorf("%d rows of %d columns: the Arrow data is damaged", batch.NumRows(), batch.NumCols())
		}
		return batch, nil
	}
	if err := stream.Err(); err != nil {
		return nil, cutArrow(err)
	}
	return nil, io.EOF
}

// cutArrow says what an end in the middle of a message means.
func cutArrow(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the Arrow stream is cut off; download it again")
	}
	return err
}

// boundedMemory refuses what no record batch needs: the sizes come from the
// file, and a damaged one may ask for anything.
type boundedMemory struct{ memory.Allocator }

func (m boundedMemory) Allocate(size int) []byte {
	checkSize(size)
	return m.Allocator.Allocate(size)
}

func (m boundedMemory) Reallocate(size int, b []byte) []byte {
	checkSize(size)
	return m.Allocator.Reallocate(size, b)
}

func checkSize(size int) {
	if size < 0 || size > maxArrowBatch {
		panic(fmt.Sprintf("a buffer of %d bytes", size))
	}
}

// batchRow appends a row as an object.
func batchRow(dst []byte, batch arrow.RecordBatch, i int) (raw []byte, err error) {
	defer recovered("row", &err)
	dst = append(dst, '{')
	for c, field := range batch.Schema().Fields() {
		dst = appendArrow(appendKey(dst, field.Name), batch.Column(c), i)
	}
	return append(dst, '}'), nil
}

// appendArrow appends one value of an array. Bytes that are not text, and what
// JSON has no number for, become null.
func appendArrow(dst []byte, a arrow.Array, i int) []byte {
	if a.IsNull(i) {
		return append(dst, "null"...)
	}
	switch a := a.(type) {
	case *array.String:
		return appendText(dst, a.Value(i))
	case *array.LargeString:
		return appendText(dst, a.Value(i))
	case *array.StringView:
		return appendText(dst, a.Value(i))
	case *array.Binary:
		return appendBytes(dst, a.Value(i), false)
	case *array.LargeBinary:
		return appendBytes(dst, a.Value(i), false)
	case *array.Boolean:
		return strconv.AppendBool(dst, a.Value(i))
	case *array.Int64:
		return strconv.AppendInt(dst, a.Value(i), 10)
	case *array.Int32:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10)
	case *array.Int16:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10)
	case *array.Int8:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10)
	case *array.Uint64:
		return strconv.AppendUint(dst, a.Value(i), 10)
	case *array.Uint32:
		return strconv.AppendUint(dst, uint64(a.Value(i)), 10)
	case *array.Uint16:
		return strconv.AppendUint(dst, uint64(a.Value(i)), 10)
	case *array.Uint8:
		return strconv.AppendUint(dst, uint64(a.Value(i)), 10)
	case *array.Float64:
		return appendFloat(dst, a.Value(i), 64)
	case *array.Float32:
		return appendFloat(dst, float64(a.Value(i)), 32)
	case *array.Struct:
		return appendStruct(dst, a, i)
	case *array.Map:
		return appendMap(dst, a, i)
	case array.ListLike:
		return appendList(dst, a, i)
	case *array.Dictionary:
		return appendArrow(dst, a.Dictionary(), a.GetValueIndex(i))
	case array.ExtensionArray:
		return appendArrow(dst, a.Storage(), i)
	}
	return appendText(dst, a.ValueStr(i)) // dates, times, decimals
}

func appendStruct(dst []byte, a *array.Struct, i int) []byte {
	dst = append(dst, '{')
	for f, field := range a.DataType().(*arrow.StructType).Fields() {
		dst = appendArrow(appendKey(dst, field.Name), a.Field(f), i)
	}
	return append(dst, '}')
}

func appendMap(dst []byte, a *array.Map, i int) []byte {
	start, end := a.ValueOffsets(i)
	dst = append(dst, '{')
	for j := start; j < end; j++ {
		if j > start {
			dst = append(dst, ',')
		}
		at := len(dst)
		dst = appendArrow(dst, a.Keys(), int(j))
		if dst[at] != '"' { // a number, say
			dst = appendText(dst[:at], string(dst[at:]))
		}
		dst = appendArrow(append(dst, ':'), a.Items(), int(j))
	}
	return append(dst, '}')
}

func appendList(dst []byte, a array.ListLike, i int) []byte {
	start, end := a.ValueOffsets(i)
	dst = append(dst, '[')
	for j := start; j < end; j++ {
		if j > start {
			dst = append(dst, ',')
		}
		dst = appendArrow(dst, a.ListValues(), int(j))
	}
	return append(dst, ']')
}
