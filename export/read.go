package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/parquet-go/parquet-go"
)

// stored is a row as it stands in an export.
type stored struct {
	file string
	row  int // of the file, from 1
	id   string
	// ids and mask are of formats of ids, line is of JSON Lines.
	ids  []int32
	mask []byte
	line []byte
}

func (s *stored) String() string { return fmt.Sprintf("%s, row %d (%s)", s.file, s.row, s.id) }

// storedRows yields the rows of one split in order, named by their lines beside
// them.
func storedRows(root *os.Root, dir string, m *Manifest, f *Format, split string) iter.Seq2[*stored, error] {
	return func(yield func(*stored, error) bool) {
		meta, err := root.Open(path.Join(dir, metaName(split)))
		if err != nil {
			yield(nil, err)
			return
		}
		defer meta.Close()
		beside := bufio.NewReaderSize(meta, 1<<16)
		for _, file := range m.Files {
			if file.Split != split {
				continue
			}
			n := 0
			for s, err := range f.rows(root, path.Join(dir, file.Name)) {
				if err == nil {
					n++
					s.file, s.row = file.Name, n
					err = s.name(beside)
				}
				if err != nil {
					yield(nil, fmt.Errorf("%s, row %d: %w", file.Name, n, err))
					return
				}
				if !yield(s, nil) {
					return
				}
			}
			if n != file.Rows {
				yield(nil, fmt.Errorf("%s has %d rows, and the manifest says %d", file.Name, n, file.Rows))
				return
			}
		}
		if _, err := beside.ReadByte(); err == nil {
			yield(nil, fmt.Errorf("%s has more lines than there are rows", metaName(split)))
		}
	}
}

// name reads the line of meta.jsonl that goes with the row.
func (s *stored) name(beside *bufio.Reader) error {
	line, err := beside.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no line of meta.jsonl: %w", err)
	}
	var m struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return fmt.Errorf("its line of meta.jsonl: %w", err)
	}
	if s.id != "" && s.id != m.ID {
		return fmt.Errorf("it is %q, and its line of meta.jsonl is of %q", s.id, m.ID)
	}
	s.id = m.ID
	return nil
}

// rows yields the rows of a file. The file's own reader decides what is kept of
// them until the next one.
func (f *Format) rows(root *os.Root, name string) iter.Seq2[*stored, error] {
	return func(yield func(*stored, error) bool) {
		in, err := root.Open(name)
		if err != nil {
			yield(nil, err)
			return
		}
		defer in.Close()
		read := lineRows
		switch f.ext {
		case ".parquet":
			read = parquetRows
		case ".arrow":
			read = arrowRows
		}
		err = guarded(read, in, func(s *stored) bool { return yield(s, nil) })
		if err != nil && err != errBreak {
			yield(nil, err)
		}
	}
}

// guarded makes an error of a reader's panic, which is what the libraries have
// for some damage. A panic of use is passed on.
func guarded(read func(*os.File, func(*stored) bool) error, in *os.File, use func(*stored) bool) (err error) {
	using := false
	defer func() {
		if using {
			return
		}
		if p := recover(); p != nil {
			err = fmt.Errorf("it is damaged: %v", p)
		}
	}()
	return read(in, func(s *stored) bool {
		using = true
		more := use(s)
		using = false
		return more
	})
}

// errBreak ends the reading of a file whose reader wants no more rows.
var errBreak = errors.New("no more rows are wanted")

func lineRows(in *os.File, use func(*stored) bool) error {
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("its last line has no end: %w", err)
		}
		s := &stored{line: bytes.TrimSuffix(line, []byte("\n"))}
		var row struct {
			ID   string  `json:"id"`
			IDs  []int32 `json:"input_ids"`
			Mask []int32 `json:"loss_mask"`
		}
		if err := json.Unmarshal(s.line, &row, jsontext.AllowInvalidUTF8(true)); err != nil {
			return err
		}
		s.id, s.ids, s.mask = row.ID, row.IDs, make([]byte, len(row.Mask))
		for i, v := range row.Mask {
			s.mask[i] = byte(min(uint32(v), 255))
		}
		if !use(s) {
			return errBreak
		}
	}
}

func parquetRows(in *os.File, use func(*stored) bool) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	f, err := parquet.OpenFile(in, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	for _, g := range f.RowGroups() {
		if err := groupRows(g, use); err != nil {
			return err
		}
	}
	return nil
}

func groupRows(g parquet.RowGroup, use func(*stored) bool) error {
	rows := g.Rows()
	defer rows.Close()
	buf := make([]parquet.Row, 16)
	for {
		n, err := rows.ReadRows(buf)
		for _, row := range buf[:n] {
			s := new(stored)
			for _, v := range row {
				switch v.Column() {
				case 0:
					s.id = string(v.ByteArray())
				case 1:
					s.ids = append(s.ids, v.Int32())
				case 2:
					s.mask = append(s.mask, byte(v.Int32()))
				}
			}
			if !use(s) {
				return errBreak
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func arrowRows(in *os.File, use func(*stored) bool) error {
	r, err := ipc.NewReader(bufio.NewReaderSize(in, 1<<20))
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
		batch := r.RecordBatch()
		if batch.NumCols() != 3 {
			return fmt.Errorf("%d columns", batch.NumCols())
		}
		ids, ok := batch.Column(0).(*array.List)
		masks, ok2 := batch.Column(1).(*array.List)
		lens, ok3 := batch.Column(2).(*array.Int64)
		if !ok || !ok2 || !ok3 {
			return fmt.Errorf("columns of %v", batch.Schema())
		}
		values, ok := ids.ListValues().(*array.Int32)
		ones, ok2 := masks.ListValues().(*array.Uint8)
		if !ok || !ok2 {
			return fmt.Errorf("columns of %v", batch.Schema())
		}
		for i := range int(batch.NumRows()) {
			a, b := ids.ValueOffsets(i)
			c, d := masks.ValueOffsets(i)
			s := &stored{ids: values.Int32Values()[a:b], mask: ones.Uint8Values()[c:d]}
			if lens.Value(i) != b-a {
				return fmt.Errorf("seq_len is %d, and there are %d ids", lens.Value(i), b-a)
			}
			if !use(s) {
				return errBreak
			}
		}
	}
	return r.Err()
}
