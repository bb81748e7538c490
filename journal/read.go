package journal

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/durable"
)

// FS is the file system that a run directory lies on.
type FS = durable.FS

// File is an open file of an [FS].
type File = durable.File

// Ref is where a record lies: its segment, and its line in the segment's text.
// It stays valid when the segment is sealed. The zero Ref is no record.
type Ref struct {
	Segment uint32
	Length  uint32
	Offset  int64
}

// Entry is one record with its place and time of writing.
type Entry struct {
	Ref    Ref
	Time   time.Time
	Record eyrie.Record
}

// DamageError says that a journal is damaged where no crash can have done it.
type DamageError struct {
	Segment string
	Offset  int64
	Err     error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("journal: segment %s at %d: %v (the file was changed or the disk lost data; restore it from a copy, or see what eyrie repair --dry-run finds)",
		e.Segment, e.Offset, e.Err)
}

// Unwrap returns what is wrong with the line.
func (e *DamageError) Unwrap() error { return e.Err }

// ErrNoJournal is returned where a folder holds no journal.
var ErrNoJournal = errors.New("no journal there")

// Read yields the records of the run directory's journal in order, without
// taking its lock: it works while a run goes on, and then ends with the last
// whole record. A torn tail is passed over; damage is an error and the end.
//
// It reads and unpacks every byte there is; who needs no text reads [Outline].
func Read(run *os.Root) iter.Seq2[Entry, error] { return ReadIn(durable.Root(run)) }

// ReadIn is [Read] on any file system.
func ReadIn(fsys FS) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		segs, err := existing(fsys)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for i, s := range segs {
			err := readWhole(fsys, s, i == len(segs)-1, decodeLine, func(e Entry) bool { return yield(e, nil) })
			if errors.Is(err, errStopped) {
				return
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
		}
	}
}

// Outline is [Read] without the text: prompts come without messages and tools,
// answers without reasoning, content, tool calls, ids and final frame. It reads
// the indexes of sealed segments and is a hundred times faster. A record is
// read whole by its [Ref].
func Outline(run *os.Root) iter.Seq2[Entry, error] { return OutlineIn(durable.Root(run)) }

// OutlineIn is [Outline] on any file system.
func OutlineIn(fsys FS) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		segs, err := existing(fsys)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for o := range ahead(fsys, segs, true) {
			for _, e := range o.entries {
				if !yield(e, nil) {
					return
				}
			}
			if o.err != nil {
				yield(Entry{}, o.err)
				return
			}
		}
	}
}

// existing lists the segments of a journal that there must be.
func existing(fsys FS) ([]segment, error) {
	segs, err := segments(fsys)
	if err == nil && len(segs) == 0 {
		err = fmt.Errorf("journal: %s: %w", fsys.Name(), ErrNoJournal)
	}
	return segs, err
}

type decoder = func(line []byte, kind string) (eyrie.Record, time.Time, error)

// readWhole reads a segment's lines, plain or packed.
func readWhole(fsys FS, s segment, last bool, decode decoder, emit func(Entry) bool) error {
	c, err := openSegment(fsys, s.number)
	if err != nil {
		return err
	}
	defer c.file.Close()
	r, done, err := c.reader()
	if err != nil {
		return err
	}
	defer done()
	how := scan{number: s.number, last: last && !c.packed, decode: decode}
	if !last {
		how.limit = endOf(fsys, s.number)
	}
	_, err = how.read(r, emit)
	return err
}

// readOutline reads a segment's outlines from its index, or from its lines
// where it has none that can be used; indexed tells which.
func readOutline(fsys FS, s segment, last bool, emit func(Entry) bool) (indexed bool, err error) {
	if !s.plain && s.index {
		if x, err := loadIndex(fsys, s.number); err == nil {
			return true, x.each(emit)
		}
	}
	return false, readWhole(fsys, s, last, decodeOutline, emit)
}
