package rowfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/parquet-go/parquet-go"
)

// parquetBatch is how many rows are read at once.
const parquetBatch = 32

// seekable is what a Parquet file is read from: its directory is at its end.
type seekable interface {
	io.ReaderAt
	io.ReadSeeker
}

// parquetRows are the rows of all row groups. The columns of a row keep the
// order that they have in the schema.
func (f *File) parquetRows(r io.Reader, sum io.Writer) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		file, schema, err := openParquet(r)
		if err != nil {
			yield(Row{}, err)
			return
		}
		for i, group := range file.RowGroups() {
			if err := checkPages(r.(seekable), file.Size(), &file.Metadata().RowGroups[i]); err != nil {
				yield(Row{}, fmt.Errorf("row group %d: %w", i+1, err))
				return
			}
			for row, err := range groupRows(group, schema, f.max) {
				row.Group = i + 1
				if err != nil {
					err = fmt.Errorf("row group %d: %w", i+1, err)
				}
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
		if err := wholeFile(r.(seekable), sum); err != nil {
			yield(Row{}, err)
		}
	}
}

// openParquet reads a file's directory and schema.
func openParquet(r io.Reader) (file *parquet.File, root *parquetNode, err error) {
	in, ok := r.(seekable)
	if !ok {
		return nil, nil, errors.New("is Parquet, which is read from its end, and this source cannot be")
	}
	size, err := in.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, nil, err
	}
	defer recovered("directory", &err)
	if err := footer(in, size); err != nil {
		return nil, nil, err
	}
	file, err = parquet.OpenFile(in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, nil, fmt.Errorf("the directory of the Parquet file is damaged: %w", err)
	}
	root = newParquetNode(file.Root())
	return file, root, nil
}

// footer looks for the end of every whole Parquet file: the directory's length,
// and a mark.
func footer(r io.ReaderAt, size int64) error {
	const mark = "PAR1"
	tail := make([]byte, 4+len(mark))
	if size < int64(len(mark)+len(tail)) {
		return errors.New("the Parquet file is cut off after a few bytes; download it again")
	}
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil {
		return err
	}
	if string(tail[4:]) != mark {
		return errors.New("the Parquet file is cut off: its directory, which stands at the end, is not there; download it again")
	}
	if n := int64(binary.LittleEndian.Uint32(tail)); n > size-int64(len(mark)+len(tail)) {
		return fmt.Errorf("the Parquet file is damaged: its directory is to have %d bytes, and the file has %d", n, size)
	}
	return nil
}

// recovered turns the panic of a decoder over a damaged file into an error.
// Decoders of formats this rich check less than they trust.
func recovered(what string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the %s is damaged: %v", what, p)
	}
}

// wholeFile reads the file from its beginning to its end into sum.
func wholeFile(r seekable, sum io.Writer) error {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(sum, r)
	return err
}

// groupRows are the rows of one row group.
func groupRows(group parquet.RowGroup, schema *parquetNode, limit int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		rows, err := openRows(group)
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer rows.Close()
		batch := make([]parquet.Row, parquetBatch)
		a := &assembler{columns: make([][]parquet.Value, schema.leaves())}
		for n := 1; ; {
			got, err := readRows(rows, batch)
			for _, values := range batch[:got] {
				row := Row{Place: Place{Index: n}}
				if size := rowSize(values); size > limit {
					row.Fault = tooLong(size, limit)
				} else if row.JSON, err = a.row(schema, values); err != nil {
					yield(row, fmt.Errorf("row %d: %w", n, err))
					return
				}
				if !yield(row, nil) {
					return
				}
				n++
			}
			switch {
			case errors.Is(err, io.EOF) && int64(n-1) < group.NumRows():
				yield(Row{}, fmt.Errorf("ends after row %d of %d", n-1, group.NumRows()))
				return
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Row{}, fmt.Errorf("after row %d: %w", n-1, err))
				return
			}
		}
	}
}

func openRows(group parquet.RowGroup) (rows parquet.Rows, err error) {
	defer recovered("row group", &err)
	return group.Rows(), nil
}

func readRows(rows parquet.Rows, batch []parquet.Row) (n int, err error) {
	defer recovered("row group", &err)
	return rows.ReadRows(batch)
}

// rowSize counts the bytes of text in a row, and a few for each other value.
func rowSize(values parquet.Row) int {
	n := 0
	for i := range values {
		n += 8
		if k := values[i].Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
			n += len(values[i].ByteArray())
		}
	}
	return n
}
