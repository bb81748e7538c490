package rowfile

import (
	"encoding/binary"
	"errors"
	"io"
)

// The Arrow decoder makes room for as many fields and buffers as the metadata
// of a message says there are. A damaged file may say billions, and no program
// survives to tell of it. So the metadata, which is a FlatBuffer, is looked
// over first: every list in it must fit into it.

// errMetadata is the error of metadata that cannot be.
var errMetadata = errors.New("the Arrow metadata is damaged")

// maxMetadata is the most metadata of a message.
const maxMetadata = 64 << 20

// guardedArrow passes a stream of messages on, each after its metadata was
// looked over.
type guardedArrow struct {
	in      io.Reader
	pending []byte // of a message that was looked over
	body    int64  // bytes of its body that are still to pass
	ended   bool   // the stream's end was seen: what follows is not looked at
}

func (g *guardedArrow) Read(p []byte) (int, error) {
	if len(g.pending) == 0 && g.body == 0 && !g.ended {
		if err := g.next(); err != nil {
			return 0, err
		}
	}
	switch {
	case len(g.pending) > 0:
		n := copy(p, g.pending)
		g.pending = g.pending[n:]
		return n, nil
	case g.body > 0:
		n, err := g.in.Read(p[:min(int64(len(p)), g.body)])
		g.body -= int64(n)
		return n, err
	}
	return g.in.Read(p)
}

// next reads what stands before the body of a message. Where the stream breaks
// off in it, what there is is passed on: the decoder says so.
func (g *guardedArrow) next() error {
	head := make([]byte, 4, 8)
	if n, err := io.ReadFull(g.in, head); err != nil {
		return g.broken(head[:n], err)
	}
	size := binary.LittleEndian.Uint32(head)
	if size == 0xffffffff { // streams of old have no such mark
		head = head[:8]
		if n, err := io.ReadFull(g.in, head[4:]); err != nil {
			return g.broken(head[:4+n], err)
		}
		size = binary.LittleEndian.Uint32(head[4:])
	}
	switch {
	case size == 0:
		g.pending, g.ended = head, true
		return nil
	case size > maxMetadata:
		return errMetadata
	}
	message := make([]byte, len(head)+int(size))
	copy(message, head)
	if n, err := io.ReadFull(g.in, message[len(head):]); err != nil {
		return g.broken(message[:len(head)+n], err)
	}
	body, ok := checkMessage(message[len(head):])
	if !ok {
		return errMetadata
	}
	g.pending, g.body = message, body
	return nil
}

func (g *guardedArrow) broken(have []byte, err error) error {
	if len(have) > 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		g.pending, g.ended = have, true
		return nil
	}
	return err
}

// The kinds of messages, and the numbers of the fields that are looked at.
const (
	schemaMessage, dictionaryMessage, batchMessage = 1, 2, 3

	messageKind, messageHeader, messageBody, messageNotes = 1, 2, 3, 4
	schemaFields, schemaNotes                             = 1, 2
	fieldChildren, fieldNotes                             = 5, 6
	batchNodes, batchBuffers, batchVariadic               = 1, 2, 4
	dictionaryBatch                                       = 1
)

// flat reads a FlatBuffer and never past its end. Offsets in it are relative
// to where they stand.
type flat []byte

// table is where a table of a FlatBuffer stands.
type table struct {
	flat
	at int
}

func (b flat) u16(at int) (int, bool) {
	if at < 0 || at+2 > len(b) {
		return 0, false
	}
	return int(binary.LittleEndian.Uint16(b[at:])), true
}

func (b flat) u32(at int) (int, bool) {
	if at < 0 || at+4 > len(b) {
		return 0, false
	}
	return int(binary.LittleEndian.Uint32(b[at:])), true
}

// follow returns where the offset at a place leads.
func (b flat) follow(at int) (int, bool) {
	n, ok := b.u32(at)
	return at + n, ok && n > 0 && at+n < len(b)
}

// field finds the value of a field; 0 is none.
func (t table) field(n int) (at int, ok bool) {
	back, ok := t.u32(t.at)
	if !ok {
		return 0, false
	}
	directory := t.at - int(int32(uint32(back)))
	size, ok := t.u16(directory)
	if !ok {
		return 0, false
	}
	if 4+2*n >= size { // an odd size counts as the decoder counts it
		return 0, true
	}
	offset, ok := t.u16(directory + 4 + 2*n)
	if !ok || t.at+offset >= len(t.flat) {
		return 0, false
	}
	if offset == 0 {
		return 0, true
	}
	return t.at + offset, true
}

// below finds the table in a field.
func (t table) below(n int) (table, bool) {
	at, ok := t.field(n)
	if !ok || at == 0 {
		return table{}, false
	}
	at, ok = t.follow(at)
	return table{t.flat, at}, ok
}

// list finds the list in a field, and makes sure that it fits.
func (t table) list(n, elementSize int) (start, count int, ok bool) {
	at, ok := t.field(n)
	if !ok || at == 0 {
		return 0, 0, ok
	}
	if at, ok = t.follow(at); !ok {
		return 0, 0, false
	}
	count, ok = t.u32(at)
	return at + 4, count, ok && count <= (len(t.flat)-at-4)/elementSize
}

// checkMessage looks a message's metadata over and returns how long its body
// is.
func checkMessage(b flat) (body int64, ok bool) {
	at, ok := b.follow(0)
	if !ok {
		return 0, false
	}
	m := table{b, at}
	if at, ok := m.field(messageBody); !ok || at+8 > len(b) {
		return 0, false
	} else if at > 0 {
		body = int64(binary.LittleEndian.Uint64(b[at:]))
	}
	kind, ok := m.field(messageKind)
	if !ok || kind == 0 || body < 0 || body > maxArrowBatch {
		return 0, false
	}
	header, ok := m.below(messageHeader)
	if !ok {
		return 0, false
	}
	if _, _, ok := m.list(messageNotes, 4); !ok {
		return 0, false
	}
	switch b[kind] {
	case schemaMessage:
		_, _, notes := header.list(schemaNotes, 4)
		return body, notes && checkFields(header, schemaFields, 0)
	case dictionaryMessage:
		batch, ok := header.below(dictionaryBatch)
		return body, ok && checkBatch(batch)
	case batchMessage:
		return body, checkBatch(header)
	}
	return body, true
}

// maxFieldDepth bounds how deep fields nest.
const maxFieldDepth = 64

// checkFields looks over a list of fields and those below them.
func checkFields(t table, list, depth int) bool {
	start, count, ok := t.list(list, 4)
	if !ok || depth > maxFieldDepth {
		return false
	}
	for i := range count {
		at, ok := t.follow(start + 4*i)
		if !ok {
			return false
		}
		field := table{t.flat, at}
		if _, _, notes := field.list(fieldNotes, 4); !notes || !checkFields(field, fieldChildren, depth+1) {
			return false
		}
	}
	return true
}

func checkBatch(t table) bool {
	_, _, nodes := t.list(batchNodes, 16)
	_, _, buffers := t.list(batchBuffers, 16)
	_, _, variadic := t.list(batchVariadic, 8)
	return nodes && buffers && variadic
}
