package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
)

// bom is the byte order mark that some editors put before UTF-8.
var bom = []byte("\ufeff")

// lineBuffer holds a line without copying it, up to this length.
const lineBuffer = 256 << 10

// lines is the container of JSON Lines: the lines that are not blank.
func lines(r io.Reader) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		br := bufio.NewReaderSize(r, lineBuffer)
		var long []byte
		for n := 1; ; n++ {
			line, err := readLine(br, &long)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(row{}, err)
				return
			}
			if n == 1 {
				line = bytes.TrimPrefix(line, bom)
			}
			text := bytes.Trim(line, " \t\r\n")
			if len(text) > 0 && !yield(row{raw: text, line: n, torn: err != nil}, nil) || err != nil {
				return
			}
		}
	}
}

// readLine returns the next line with its '\n', valid until the next call. A
// last line without one comes with io.EOF. Lines that do not fit br's buffer
// are gathered in long.
func readLine(br *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	*long = (*long)[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		*long = append(*long, line...)
		line, err = br.ReadSlice('\n')
	}
	*long = append(*long, line...)
	return *long, err
}
