package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
)

// An index holds the outlines of a sealed segment's records, so that a replay
// need not unpack the text. Its format is in the package's documentation.

const (
	indexMagic   = "EYRIEIDX"
	indexVersion = 2
	indexHead    = len(indexMagic) + 4 + 4
)

// The kinds of record, as an index numbers them.
var indexKinds = []string{"budget", "session", "prompt", "started", "seen", "ended", "settled", "gave-up"}

// coder writes or reads the fields of index entries. One method describes a
// record for both directions, so they cannot differ.
type coder struct {
	writing bool
	b       []byte // written so far, or to be read
	pos     int    // of b, read so far
	err     error  // the first thing that could not be read
	// names are strings that come again and again, written once and then by
	// their numbers: data sets, lanes, models, samplings.
	names     []string
	numbers   map[string]uint64
	samplings map[uint64]eyrie.Sampling
}

var errShort = errors.New("the index ends too early")

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.pos = len(c.b)
}

func (c *coder) uvarint(v *uint64) {
	if c.writing {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	if c.pos < len(c.b) && c.b[c.pos] < 0x80 { // most are
		*v = uint64(c.b[c.pos])
		c.pos++
		return
	}
	n := 0
	if *v, n = binary.Uvarint(c.b[c.pos:]); n <= 0 {
		*v = 0
		c.fail(errShort)
		return
	}
	c.pos += n
}

// number codes a signed number, small where it is near zero.
func number[T ~int | ~int64 | ~uint8](c *coder, v *T) {
	u := uint64(int64(*v)<<1) ^ uint64(int64(*v)>>63)
	c.uvarint(&u)
	*v = T(int64(u>>1) ^ -int64(u&1))
}

// bytes returns the next n bytes.
func (c *coder) bytes(n uint64) []byte {
	if n > uint64(len(c.b)-c.pos) {
		c.fail(errShort)
		return nil
	}
	b := c.b[c.pos : c.pos+int(n)]
	c.pos += int(n)
	return b
}

func (c *coder) digest(d *eyrie.Digest) {
	if c.writing {
		c.b = append(c.b, d[:]...)
		return
	}
	copy(d[:], c.bytes(uint64(len(d))))
}

func (c *coder) flag(v *bool) {
	var n uint8
	if *v {
		n = 1
	}
	number(c, &n)
	*v = n != 0
}

// text codes a string where it stands.
func (c *coder) text(s *string) {
	n := uint64(len(*s))
	c.uvarint(&n)
	if c.writing {
		c.b = append(c.b, *s...)
		return
	}
	*s = string(c.bytes(n))
}

// name codes a string by its number.
func (c *coder) name(s *string) uint64 {
	var n uint64
	if c.writing {
		var ok bool
		if n, ok = c.numbers[*s]; !ok {
			n = uint64(len(c.names))
			c.numbers[*s] = n
			c.names = append(c.names, *s)
		}
		c.uvarint(&n)
		return n
	}
	c.uvarint(&n)
	if n >= uint64(len(c.names)) {
		c.fail(errors.New("the index names what it does not hold"))
		return 0
	}
	*s = c.names[n]
	return n
}

func (c *coder) sampling(s *eyrie.Sampling) {
	var text string
	if c.writing {
		b, err := json.Marshal(s)
		if err != nil {
			c.fail(err)
		}
		text = string(b)
		c.name(&text)
		return
	}
	n := c.name(&text)
	if c.err != nil {
		return
	}
	known, ok := c.samplings[n]
	if !ok {
		if err := json.Unmarshal([]byte(text), &known); err != nil {
			c.fail(err)
			return
		}
		c.samplings[n] = known
	}
	*s = known
}

func (c *coder) prompt(r *eyrie.PromptRecord) {
	c.digest(&r.Prompt)
	c.name(&r.Set)
	c.text(&r.ID)
	number(c, &r.Ordinal)
	c.flag(&r.Given)
	c.name(&r.Split)
	c.name(&r.Origin.Licence)
	c.name(&r.Origin.Source)
	c.name(&r.Origin.Category)
	c.name(&r.Origin.Language)
}

func (c *coder) started(r *eyrie.StartedRecord) {
	number(c, &r.Attempt)
	c.digest(&r.Key)
	c.digest(&r.Prompt)
	c.name(&r.Set)
	number(c, &r.Turn)
	number(c, &r.Sample)
	number(c, &r.Try)
	c.name(&r.Lane)
	number(c, &r.Hold)
	number(c, &r.PromptTokens)
	c.sampling(&r.Sampling)
}

func (c *coder) seen(r *eyrie.SeenRecord) {
	number(c, &r.Attempt)
	c.text(&r.ID)
}

func (c *coder) ended(r *eyrie.EndedRecord) {
	number(c, &r.Attempt)
	c.digest(&r.Key)
	c.digest(&r.Prompt)
	c.name(&r.Set)
	number(c, &r.Turn)
	number(c, &r.Sample)
	c.name(&r.Lane)
	c.flag(&r.OK)
	c.name(&r.Class)
	c.text(&r.Detail)
	c.name((*string)(&r.Break))
	c.name(&r.Drop)
	number(c, &r.Charged)
	number(c, &r.Cost)
	number(c, &r.Hold)
	c.text(&r.ID)
	c.name(&r.Provider)
	c.name(&r.Model)
	c.name((*string)(&r.FinishReason))
	c.name(&r.NativeFinish)
	c.flag(&r.Usage.Given)
	number(c, &r.Usage.PromptTokens)
	number(c, &r.Usage.CompletionTokens)
	number(c, &r.Usage.ReasoningTokens)
	number(c, &r.Usage.CachedTokens)
	number(c, &r.FirstContentMS)
	number(c, &r.ElapsedMS)
}

// record codes a record of one of the kinds above; it reports false for the
// others, which an index holds as their lines.
func (c *coder) record(r eyrie.Record) bool {
	switch r := r.(type) {
	case *eyrie.PromptRecord:
		c.prompt(r)
	case *eyrie.StartedRecord:
		c.started(r)
	case *eyrie.SeenRecord:
		c.seen(r)
	case *eyrie.EndedRecord:
		c.ended(r)
	default:
		return false
	}
	return true
}

// indexWriter gathers a segment's index.
type indexWriter struct {
	coder
	entries uint64
	end     int64 // of the entry before
	ms      int64 // its time
}

func newIndexWriter() *indexWriter {
	return &indexWriter{coder: coder{writing: true, numbers: map[string]uint64{}}}
}

// add adds the record of a line.
func (w *indexWriter) add(l line, r eyrie.Record, when time.Time) {
	kind := uint64(slices.Index(indexKinds, l.kind))
	if kind >= uint64(len(indexKinds)) {
		panic("journal: an index has no number for the kind " + l.kind)
	}
	length, gap := uint64(len(l.text)), uint64(l.at-w.end)
	later := when.UnixMilli() - w.ms
	w.uvarint(&kind)
	w.uvarint(&gap)
	w.uvarint(&length)
	number(&w.coder, &later)
	if !w.record(r) {
		w.b = append(w.b, l.text...)
	}
	w.entries++
	w.end, w.ms = l.at+int64(len(l.text)), when.UnixMilli()
}

// file returns the index of a segment with so many bytes of text.
func (w *indexWriter) file(segment int, size int64) ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	b := append([]byte(indexMagic), 0, 0, 0, 0, 0, 0, 0, 0)
	b = binary.AppendUvarint(b, uint64(segment))
	b = binary.AppendUvarint(b, uint64(size))
	b = binary.AppendUvarint(b, uint64(len(w.names)))
	for _, s := range w.names {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, w.entries)
	b = append(b, w.b...)
	binary.LittleEndian.PutUint32(b[len(indexMagic):], indexVersion)
	binary.LittleEndian.PutUint32(b[len(indexMagic)+4:], crc32.Checksum(b[indexHead:], castagnoli))
	return b, nil
}

// index is a segment's index that has been read and verified.
type index struct {
	coder
	segment int
	size    uint64 // bytes of the segment's text
	entries uint64
}

// parseIndex verifies an index and reads its head.
func parseIndex(b []byte, segment int) (*index, error) {
	switch {
	case len(b) < indexHead || string(b[:len(indexMagic)]) != indexMagic:
		return nil, errors.New("not an index")
	case binary.LittleEndian.Uint32(b[len(indexMagic):]) != indexVersion:
		return nil, errors.New("an index of another version")
	case binary.LittleEndian.Uint32(b[len(indexMagic)+4:]) != crc32.Checksum(b[indexHead:], castagnoli):
		return nil, errChecksum
	}
	x := &index{coder: coder{b: b[indexHead:], samplings: map[uint64]eyrie.Sampling{}}, segment: segment}
	var n, names uint64
	x.uvarint(&n)
	x.uvarint(&x.size)
	x.uvarint(&names)
	for range names {
		if x.err != nil {
			break
		}
		var s string
		x.text(&s)
		x.names = append(x.names, s)
	}
	x.uvarint(&x.entries)
	if x.err == nil && n != uint64(segment) {
		x.err = fmt.Errorf("the index says it is of segment %06d", n)
	}
	return x, x.err
}

// each calls emit with the outlines in order, until it returns false.
func (x *index) each(emit func(Entry) bool) error {
	var end, ms int64
	for range x.entries {
		var kind, gap, length uint64
		var later int64
		x.uvarint(&kind)
		x.uvarint(&gap)
		x.uvarint(&length)
		number(&x.coder, &later)
		if kind >= uint64(len(indexKinds)) {
			x.fail(errors.New("the index holds a kind of record that there is not"))
		}
		if x.err != nil {
			return x.err
		}
		at := end + int64(gap)
		end, ms = at+int64(length), ms+later
		r := newRecord(indexKinds[kind])
		if !x.record(r) {
			text := x.bytes(length)
			if length == 0 {
				x.fail(errShort)
			}
			if x.err == nil {
				_, _, x.err = decodeInto(text[:len(text)-1], indexKinds[kind], r, r)
			}
		}
		if x.err != nil {
			return x.err
		}
		if !emit(Entry{Ref{uint32(x.segment), uint32(length), at}, time.UnixMilli(ms), r}) {
			return errStopped
		}
	}
	return nil
}

// loadIndex reads the index of a sealed segment, which must fit its text.
func loadIndex(fsys FS, n int) (*index, error) {
	b, err := readFile(fsys, indexPath(n))
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(b, n)
	if err != nil {
		return nil, err
	}
	c, err := openSegment(fsys, n)
	if err != nil {
		return nil, err
	}
	defer c.file.Close()
	if c.packed && uint64(c.table.textSize()) != x.size {
		return nil, fmt.Errorf("the index is of %d bytes, and the segment has %d", x.size, c.table.textSize())
	}
	return x, nil
}

// readFile reads a whole file.
func readFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fs.ErrInvalid
	}
	b := make([]byte, info.Size())
	n, err := f.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}
