package rowfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// lineReader reads lines of any length and keeps no more than max bytes of one.
type lineReader struct {
	br   *bufio.Reader
	max  int
	long []byte
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{br: bufio.NewReaderSize(r, readAhead), max: limit}
}

// next returns the next line with its '\n' and its size, valid until the next
// call. A last line without one comes with io.EOF. A line above the limit is
// cut short; size still counts all of it.
func (l *lineReader) next() (line []byte, size int, err error) {
	line, err = l.br.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, len(line), err
	}
	l.long = l.long[:0]
	for {
		size += len(line)
		if size <= l.max {
			l.long = append(l.long, line...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.long, size, err
		}
		line, err = l.br.ReadSlice('\n')
	}
}

// lineRows are the lines that are not blank.
func lineRows(r io.Reader, limit int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		in := newLineReader(r, limit)
		for n := 1; ; n++ {
			line, size, err := in.next()
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Row{}, err)
				return
			}
			if n == 1 {
				line = bytes.TrimPrefix(line, bom)
			}
			row := Row{JSON: bytes.Trim(line, " \t\r\n"), Torn: err != nil, Place: Place{Line: n}}
			if size > limit {
				row.JSON, row.Fault = nil, tooLong(size, limit)
			}
			if (len(row.JSON) > 0 || row.Fault != nil) && !yield(row, nil) || err != nil {
				return
			}
		}
	}
}

// textRows are plain lines, each the prompt of a row.
func textRows(r io.Reader, limit int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var buf []byte
		for row, err := range lineRows(r, limit) {
			if err != nil {
				yield(row, err)
				return
			}
			if row.Fault == nil {
				buf = append(appendText(append(buf[:0], `{"prompt":`...), row.JSON), '}')
				row.JSON, row.Torn = buf, false
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}
