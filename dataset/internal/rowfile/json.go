package rowfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// nesting follows the brackets of JSON without judging it.
type nesting struct {
	depth  int
	quoted bool
	escape bool
}

// step takes the next byte.
func (n *nesting) step(c byte) {
	switch {
	case n.escape:
		n.escape = false
	case n.quoted:
		n.escape = c == '\\'
		n.quoted = c != '"'
	case c == '"':
		n.quoted = true
	case c == '{' || c == '[':
		n.depth++
	case c == '}' || c == ']':
		n.depth--
	}
}

// jsonRows are the elements of one array, or values one after the other. They
// are cut at their brackets, so that one with another fault spoils no other.
func jsonRows(r io.Reader, array bool, limit int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		c := &cutter{br: bufio.NewReaderSize(r, readAhead), max: limit, line: 1, array: array}
		if err := c.begin(); err != nil {
			yield(Row{}, err)
			return
		}
		for {
			row, err := c.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// cutter cuts JSON values out of a stream.
type cutter struct {
	br    *bufio.Reader
	max   int
	line  int // where the reader stands
	array bool
	buf   []byte
}

// begin passes over what stands before the first value.
func (c *cutter) begin() error {
	if head, _ := c.br.Peek(len(bom)); bytes.Equal(head, bom) {
		c.br.Discard(len(bom)) // is buffered
	}
	if !c.array {
		return nil
	}
	if _, err := c.glue(" \t\r\n"); err != nil {
		return err
	}
	_, err := c.br.ReadByte() // the bracket that the format was chosen by
	return err
}

// glue passes over the given bytes and returns the one after them, unread.
func (c *cutter) glue(set string) (byte, error) {
	for {
		b, err := c.br.ReadByte()
		if err != nil {
			return 0, err
		}
		if bytes.IndexByte([]byte(set), b) < 0 {
			return b, c.br.UnreadByte()
		}
		if b == '\n' {
			c.line++
		}
	}
}

// next returns the next value, or io.EOF after the last.
func (c *cutter) next() (Row, error) {
	between := " \t\r\n"
	if c.array {
		between = " \t\r\n,"
	}
	b, err := c.glue(between)
	switch {
	case c.array && errors.Is(err, io.EOF):
		return Row{}, fmt.Errorf("the JSON array is cut off: it is not closed at line %d, where the file ends; download it again", c.line)
	case err != nil:
		return Row{}, err
	case c.array && b == ']':
		return Row{}, c.finish()
	}
	return c.value(b == '{' || b == '[')
}

// finish makes sure that nothing follows the array.
func (c *cutter) finish() error {
	c.br.ReadByte() // the bracket, which was seen
	if _, err := c.glue(" \t\r\n"); err != nil {
		return err
	}
	return fmt.Errorf("line %d: more text after the end of the JSON array; make it one array or JSON Lines", c.line)
}

// value cuts out one value: up to the bracket that closes it, or for one
// without brackets up to what may follow a value.
func (c *cutter) value(brackets bool) (Row, error) {
	row := Row{Place: Place{Line: c.line}}
	c.buf = c.buf[:0]
	var nest nesting
	size, done := 0, false
	for !done {
		if _, err := c.br.Peek(1); err != nil {
			if errors.Is(err, io.EOF) && !brackets && !c.array {
				break
			}
			return Row{}, c.tornAt(row.Line, err)
		}
		chunk, _ := c.br.Peek(c.br.Buffered())
		n := 0
		for n < len(chunk) && !done {
			b := chunk[n]
			if !brackets && !nest.quoted && bytes.IndexByte([]byte(",]}\n"), b) >= 0 {
				done = true
				break
			}
			nest.step(b)
			if b == '\n' {
				c.line++
			}
			n++
			done = brackets && nest.depth == 0
		}
		if size += n; size <= c.max {
			c.buf = append(c.buf, chunk[:n]...)
		}
		c.br.Discard(n) // is buffered
		if n == 0 && done {
			break
		}
	}
	if size == 0 { // a bracket that closes nothing
		b, err := c.br.ReadByte()
		if err != nil {
			return Row{}, err
		}
		c.buf = append(c.buf, b)
	}
	row.JSON = c.buf
	if size > c.max {
		row.JSON, row.Fault = nil, tooLong(size, c.max)
	}
	return row, nil
}

// tornAt is the error of a value that the file ends in.
func (c *cutter) tornAt(line int, err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("line %d: what begins here is never closed: a bracket or a quote is missing in it, or the file is cut off", line)
}
