package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/durable"
)

// What a reader keeps: segments that are open, and unpacked frames. Answers lie
// in about the order of their prompts, so the next one is mostly at hand.
const (
	keptSegments = 64
	keptFrames   = 32
)

// Reader reads records again by their places, keeping segments open between
// reads, and some megabytes of their text. It is not safe for concurrent use.
type Reader struct {
	fs       FS
	segments map[uint32]*kept
	frames   []*keptFrame
	dec      *zstd.Decoder
	clock    int
}

// kept is an open segment.
type kept struct {
	content
	used int
}

// keptFrame is an unpacked frame.
type keptFrame struct {
	segment uint32
	index   int
	text    []byte
	used    int
}

// NewReader returns a reader of the run directory's records.
func NewReader(run *os.Root) *Reader { return NewReaderIn(durable.Root(run)) }

// NewReaderIn is [NewReader] on any file system.
func NewReaderIn(fsys FS) *Reader { return &Reader{fs: fsys, segments: map[uint32]*kept{}} }

// ReadAt reads one record again.
func ReadAt(run *os.Root, ref Ref) (eyrie.Record, error) {
	r := NewReader(run)
	defer r.Close()
	return r.At(ref)
}

// At reads the record at ref.
func (r *Reader) At(ref Ref) (eyrie.Record, error) {
	damage := func(err error) error {
		return scan{number: int(ref.Segment)}.unreadable(ref.Offset, err)
	}
	s, err := r.open(ref.Segment)
	if err != nil {
		return nil, err
	}
	text, err := r.text(s, ref)
	if err != nil {
		return nil, damage(err)
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	kind, err := checkLine(text)
	if err != nil {
		return nil, damage(err)
	}
	rec, _, err := decodeLine(text, kind)
	if err != nil {
		return nil, damage(err)
	}
	return rec, nil
}

// text returns the line at ref; it is valid until the next call.
func (r *Reader) text(s *kept, ref Ref) ([]byte, error) {
	if !s.packed {
		b := make([]byte, ref.Length)
		_, err := s.file.ReadAt(b, ref.Offset)
		return b, err
	}
	i := s.table.find(ref.Offset)
	if i < 0 {
		return nil, errors.New("the segment has no such place")
	}
	text, err := r.frame(s, ref.Segment, i)
	if err != nil {
		return nil, err
	}
	from := ref.Offset - s.table[i].from
	if from+int64(ref.Length) > int64(len(text)) {
		return nil, errors.New("the record does not end in its frame")
	}
	return text[from : from+int64(ref.Length)], nil
}

// frame returns an unpacked frame, from those that are kept if it is there.
func (r *Reader) frame(s *kept, segment uint32, i int) ([]byte, error) {
	r.clock++
	var oldest *keptFrame
	for _, f := range r.frames {
		if f.segment == segment && f.index == i {
			f.used = r.clock
			return f.text, nil
		}
		if oldest == nil || f.used < oldest.used {
			oldest = f
		}
	}
	if r.dec == nil {
		var err error
		if r.dec, err = newUnpacker(); err != nil {
			return nil, err
		}
	}
	if len(r.frames) < keptFrames {
		oldest = new(keptFrame)
		r.frames = append(r.frames, oldest)
	}
	oldest.segment = 0 // nothing, until it is whole
	text, err := readFrame(s.file, r.dec, s.table[i], oldest.text)
	if err != nil {
		return nil, err
	}
	*oldest = keptFrame{segment, i, text, r.clock}
	return text, nil
}

// open opens a segment, and closes another one when there are many.
func (r *Reader) open(n uint32) (*kept, error) {
	r.clock++
	if s := r.segments[n]; s != nil {
		s.used = r.clock
		return s, nil
	}
	if len(r.segments) >= keptSegments {
		r.closeOldest()
	}
	c, err := openSegment(r.fs, int(n))
	if err != nil {
		return nil, err
	}
	s := &kept{c, r.clock}
	r.segments[n] = s
	return s, nil
}

func (r *Reader) closeOldest() {
	var oldest uint32
	for n, s := range r.segments {
		if oldest == 0 || s.used < r.segments[oldest].used {
			oldest = n
		}
	}
	r.segments[oldest].file.Close()
	delete(r.segments, oldest)
}

// Close closes the segments that the reader opened.
func (r *Reader) Close() error {
	var errs []error
	for n, s := range r.segments {
		if err := s.file.Close(); err != nil {
			errs = append(errs, fmt.Errorf("journal: segment %06d: %w", n, err))
		}
	}
	clear(r.segments)
	r.frames = nil
	if r.dec != nil {
		r.dec.Close()
		r.dec = nil
	}
	return errors.Join(errs...)
}
