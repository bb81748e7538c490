package rowfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// csvRows are the records under a header, as objects whose values are text.
// Records end at line ends outside of quotes; a quote in quotes is doubled.
// What stands in quotes is kept byte for byte, line ends too. comma parts the
// fields; 0 finds out by the header.
func csvRows(r io.Reader, comma byte, limit int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		c := &csvReader{br: bufio.NewReaderSize(r, readAhead), comma: comma, max: limit, line: 1}
		header, err := c.header()
		if err != nil {
			yield(Row{}, err)
			return
		}
		var buf []byte
		for {
			row, err := c.record()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Row{}, err)
				return
			}
			if row.Fault == nil && len(c.ends) != len(header) {
				row.Fault = &Fault{Detail: fmt.Sprintf("%d fields under a header of %d", len(c.ends), len(header))}
			}
			if row.Fault == nil {
				buf = c.object(buf[:0], header)
				row.JSON = buf
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// csvReader cuts records out of a stream.
type csvReader struct {
	br    *bufio.Reader
	comma byte
	max   int
	line  int
	text  []byte // the fields of the latest record, one after the other
	ends  []int  // where each ends in text
	size  int    // of the latest record, all of it
}

// header reads the names of the columns.
func (c *csvReader) header() ([]string, error) {
	if head, _ := c.br.Peek(len(bom)); bytes.Equal(head, bom) {
		c.br.Discard(len(bom)) // is buffered
	}
	if c.comma == 0 {
		head, _ := c.br.Peek(4096)
		c.comma = parting(head)
	}
	row, err := c.record()
	if errors.Is(err, io.EOF) {
		return nil, ErrEmpty
	}
	if err != nil {
		return nil, err
	}
	if row.Fault != nil {
		return nil, fmt.Errorf("line %d: the header: %s", row.Line, row.Fault.Detail)
	}
	var names []string
	for i := range c.ends {
		name := string(c.field(i))
		if slices.Contains(names, name) {
			return nil, fmt.Errorf("line %d: the header names the column %q twice", row.Line, name)
		}
		names = append(names, name)
	}
	return names, nil
}

// parting is the byte that parts the fields of a header.
func parting(head []byte) byte {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	best, most := byte(','), bytes.Count(line, []byte(","))
	for _, b := range []byte(";\t|") {
		if n := bytes.Count(line, []byte{b}); n > most {
			best, most = b, n
		}
	}
	return best
}

func (c *csvReader) field(i int) []byte {
	start := 0
	if i > 0 {
		start = c.ends[i-1]
	}
	return c.text[start:c.ends[i]]
}

// object appends the latest record as an object.
func (c *csvReader) object(dst []byte, header []string) []byte {
	dst = append(dst, '{')
	for i, name := range header {
		dst = appendText(appendKey(dst, name), c.field(i))
	}
	return append(dst, '}')
}

// The places in a record.
const (
	csvStart  = iota // before a field
	csvBare          // in a field without quotes
	csvQuoted        // in quotes
	csvQuote         // after a quote in quotes
)

// record reads the next record that is not blank, or io.EOF.
func (c *csvReader) record() (Row, error) {
	for {
		row, err := c.one()
		if err != nil || row.Fault != nil || len(c.ends) > 1 || len(c.text) > 0 {
			return row, err
		}
	}
}

// one reads the next record, blank or not.
func (c *csvReader) one() (Row, error) {
	c.text, c.ends, c.size = c.text[:0], c.ends[:0], 0
	row := Row{Place: Place{Line: c.line}}
	state := csvStart
	for {
		b, err := c.br.ReadByte()
		if errors.Is(err, io.EOF) {
			switch {
			case state == csvQuoted:
				return Row{}, fmt.Errorf("line %d: a quote of the record that begins here is never closed", row.Line)
			case c.size == 0:
				return Row{}, io.EOF
			}
			c.endRecord(&row, state)
			return row, nil
		}
		if err != nil {
			return Row{}, err
		}
		c.size++
		if b == '\n' {
			c.line++
		}
		switch {
		case state == csvQuoted:
			if b == '"' {
				state = csvQuote
				continue
			}
			c.keep(b)
		case b == '\n':
			c.endRecord(&row, state)
			return row, nil
		case b == c.comma:
			c.ends = append(c.ends, len(c.text))
			state = csvStart
		case b == '"' && state == csvStart:
			state = csvQuoted
		case b == '"' && state == csvQuote:
			c.keep(b)
			state = csvQuoted
		case state == csvQuote:
			if b != '\r' && row.Fault == nil {
				row.Fault = &Fault{Detail: "text after the closing quote of a field; a quote in quotes is written twice"}
			}
		default:
			c.keep(b)
			state = csvBare
		}
	}
}

// keep adds a byte to the field, as long as the record is within the limit.
func (c *csvReader) keep(b byte) {
	if c.size <= c.max {
		c.text = append(c.text, b)
	}
}

// endRecord closes the last field. A carriage return before the end of the
// line is none of a bare field's.
func (c *csvReader) endRecord(row *Row, state int) {
	if n := len(c.text); state == csvBare && n > 0 && c.text[n-1] == '\r' {
		c.text = c.text[:n-1]
	}
	c.ends = append(c.ends, len(c.text))
	if c.size > c.max {
		row.Fault = tooLong(c.size, c.max)
	}
}
