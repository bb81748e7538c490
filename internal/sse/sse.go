// Package sse reads event streams as servers really send them: lines of any
// length up to a limit the caller chose, ended by LF, CRLF or CR, a byte order
// mark before them, comments between them, fields with or without a space
// after the colon, and runes split across reads.
//
// An event is what stands before a blank line. One that a stream breaks off in
// is never delivered, and one without data, such as a comment, is none.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrTooLong is returned for an event longer than the reader's limit.
var ErrTooLong = errors.New("event is longer than the limit")

// Reader reads events from a stream. It is not safe for concurrent use.
type Reader struct {
	// Comments counts the comment lines seen so far.
	Comments int

	src        io.Reader
	pauser     Pauser // src, if it is one
	max        int
	buf        []byte
	start, end int               // the unread part of buf
	lent       *[lentBuffer]byte // buf is this, if it was not too small
	full       bool              // the last read left no room in it
	parked     bool              // buf is what was unread when src began to pause, and no longer
	park       func()            // giveBack
	data       []byte            // joins the data lines of an event
	skipLF     bool              // the line before ended with CR, so an LF belongs to it
	begun      bool              // past the byte order mark
	err        error             // of src
}

// Event is one event. Data is valid until the next call of Next.
type Event struct {
	Name string // the event field; empty when there was none
	Data []byte
}

// Pauser is a source that lets some time pass between two reads.
type Pauser interface {
	io.Reader
	// Wait comes before each Read. If it is going to take time it first calls
	// idle.
	Wait(idle func()) error
}

// NewReader returns a reader of src that refuses events of more than max bytes.
// While src pauses, if it is a [Pauser], the reader has no buffer, and behind a
// pause a large one.
func NewReader(src io.Reader, max int) *Reader {
	r := &Reader{src: src, max: max}
	if p, ok := src.(Pauser); ok {
		r.pauser, r.park = p, r.giveBack
	} else {
		r.buf = make([]byte, 4*ownBuffer)
	}
	return r
}

// Next returns the next event that carries data. A stream that ends inside an
// event ends in io.ErrUnexpectedEOF, one that ends between two in io.EOF.
func (r *Reader) Next() (Event, error) {
	var ev Event
	r.data = r.data[:0]
	lines := 0
	for {
		line, err := r.line()
		if err != nil {
			if err == io.EOF && lines > 0 {
				err = io.ErrUnexpectedEOF
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if lines > 0 {
				ev.Data = r.data
				return ev, nil
			}
			ev.Name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "":
			r.Comments++
		case "data":
			if lines > 0 {
				r.data = append(r.data, '\n')
			}
			if len(r.data)+len(value) > r.max {
				return Event{}, fmt.Errorf("sse: %w of %d bytes", ErrTooLong, r.max)
			}
			if lines == 0 && r.blankLine() {
				ev.Data = value // as nearly always: it need not be moved
				return ev, nil
			}
			r.data = append(r.data, value...)
			lines++
		case "event":
			ev.Name = string(value)
		}
	}
}

// blankLine takes a blank line if one comes next and is in the buffer.
func (r *Reader) blankLine() bool {
	if r.skipLF || r.start == r.end || r.buf[r.start] != '\n' {
		return false
	}
	r.start++
	return true
}

// line returns the next line without its end. It is valid until the next call.
func (r *Reader) line() ([]byte, error) {
	scanned := 0
	for {
		if r.trimStart() {
			scanned = 0
		}
		if i := lineEnd(r.buf[r.start+scanned : r.end]); i >= 0 {
			line := r.buf[r.start : r.start+scanned+i]
			r.skipLF = r.buf[r.start+len(line)] == '\r'
			r.start += len(line) + 1
			return line, nil
		}
		scanned = r.end - r.start
		if scanned > r.max+len("data: ") {
			return nil, fmt.Errorf("sse: %w of %d bytes", ErrTooLong, r.max)
		}
		if r.err != nil {
			if r.err == io.EOF && scanned > 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, r.err
		}
		r.fill()
	}
}

// lineEnd returns the place of the first LF or CR, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// mark is the byte order mark that may stand before a stream.
const mark = "\ufeff"

// trimStart passes over what is no part of a line at its start: the second half
// of a CRLF, and the byte order mark before the first one. It reports whether
// there was something.
func (r *Reader) trimStart() bool {
	start := r.start
	if r.skipLF && r.start < r.end {
		r.skipLF = false
		if r.buf[r.start] == '\n' {
			r.start++
		}
	}
	if r.begun {
		return r.start > start
	}
	head := r.buf[r.start:r.end]
	if len(head) < len(mark) && bytes.HasPrefix([]byte(mark), head) && r.err == nil {
		return false // it may be one
	}
	r.begun = true
	if bytes.HasPrefix(head, []byte(mark)) {
		r.start += len(mark)
	}
	return r.start > start
}

// fill reads more behind the unread part, making room for it first.
func (r *Reader) fill() {
	if r.pauser != nil {
		if r.err = r.pauser.Wait(r.park); r.err != nil {
			return
		}
	}
	r.makeRoom()
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			r.full = r.end == len(r.buf)
			return
		}
	}
	r.err = io.ErrNoProgress
}

// Sizes of buffers: the one that is kept while the source does not pause, and
// those that are lent to whoever reads.
const (
	ownBuffer  = 512
	lentBuffer = 8 << 10
)

var buffers = sync.Pool{New: func() any { return new([lentBuffer]byte) }}

// makeRoom makes room behind the unread part of the buffer.
func (r *Reader) makeRoom() {
	switch {
	case r.parked && r.end < lentBuffer:
		r.lent = buffers.Get().(*[lentBuffer]byte)
		r.end = copy(r.lent[:], r.buf[r.start:r.end])
		r.buf, r.start = r.lent[:], 0
	case r.buf == nil:
		r.buf = make([]byte, ownBuffer)
	case r.start > 0:
		old := r.buf[r.start:r.end]
		if r.full && len(r.buf) < lentBuffer { // much comes at a time
			r.buf = make([]byte, 2*len(r.buf))
		}
		r.start, r.end = 0, copy(r.buf, old)
	}
	r.parked = false
	if r.end == len(r.buf) {
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
}

// giveBack gives the buffer back, and keeps what is unread.
func (r *Reader) giveBack() {
	r.buf = bytes.Clone(r.buf[r.start:r.end])
	r.start, r.end, r.parked = 0, len(r.buf), true
	if r.lent != nil {
		buffers.Put(r.lent)
		r.lent = nil
	}
}

// Release gives the reader's buffer back before its time. The latest event is
// not valid any more.
func (r *Reader) Release() { r.giveBack() }
