package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
)

// dirName is the journal's folder in a run directory.
const dirName = "journal"

// Ref is where a record lies. The zero Ref is no record.
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
	return fmt.Sprintf("journal: segment %s at %d: %v (the file was changed or the disk lost data; restore it from a copy)", e.Segment, e.Offset, e.Err)
}

// Unwrap returns what is wrong with the line.
func (e *DamageError) Unwrap() error { return e.Err }

// ErrNoJournal is returned where a folder holds no journal.
var ErrNoJournal = errors.New("no journal there")

// Read yields the records of the run directory's journal in order, without
// taking its lock: it works while a run goes on, and then ends with the last
// whole record. A torn tail is passed over; damage is an error and the end.
func Read(run *os.Root) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		segs, err := segments(run)
		if err == nil && len(segs) == 0 {
			err = fmt.Errorf("journal: %s: %w", run.Name(), ErrNoJournal)
		}
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for i, n := range segs {
			_, err := scanSegment(run, n, i == len(segs)-1, func(e Entry) bool { return yield(e, nil) })
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

// ReadAt reads one record again.
func ReadAt(run *os.Root, ref Ref) (eyrie.Record, error) {
	f, err := run.Open(segmentPath(int(ref.Segment)))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	return readAt(f, ref)
}

func readAt(f io.ReaderAt, ref Ref) (eyrie.Record, error) {
	line := make([]byte, ref.Length)
	if _, err := f.ReadAt(line, ref.Offset); err != nil {
		return nil, fmt.Errorf("journal: segment %06d at %d: %w", ref.Segment, ref.Offset, err)
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	kind, err := checkLine(line)
	if err != nil {
		return nil, &DamageError{fmt.Sprintf("%06d", ref.Segment), ref.Offset, err}
	}
	r, _, err := decodeLine(line, kind)
	if err != nil {
		return nil, &DamageError{fmt.Sprintf("%06d", ref.Segment), ref.Offset, err}
	}
	return r, nil
}

// Reader reads records again by their places, keeping segments open between
// reads. It is not safe for concurrent use.
type Reader struct {
	run   *os.Root
	files map[uint32]*os.File
}

// NewReader returns a reader of the run directory's records.
func NewReader(run *os.Root) *Reader {
	return &Reader{run: run, files: map[uint32]*os.File{}}
}

// At reads the record at ref.
func (r *Reader) At(ref Ref) (eyrie.Record, error) {
	f := r.files[ref.Segment]
	if f == nil {
		var err error
		if f, err = r.run.Open(segmentPath(int(ref.Segment))); err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		r.files[ref.Segment] = f
	}
	return readAt(f, ref)
}

// Close closes the segments that the reader opened.
func (r *Reader) Close() error {
	var errs []error
	for _, f := range r.files {
		errs = append(errs, f.Close())
	}
	clear(r.files)
	return errors.Join(errs...)
}

func segmentPath(n int) string { return path.Join(dirName, fmt.Sprintf("%06d.jsonl", n)) }

// segments lists the segment numbers, which must be 1, 2, 3 … without a gap.
func segments(run *os.Root) ([]int, error) {
	ents, err := fs.ReadDir(run.FS(), dirName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var segs []int
	for _, e := range ents {
		name, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if !ok || len(name) != 6 {
			continue
		}
		if n, err := strconv.Atoi(name); err == nil && n > 0 {
			segs = append(segs, n)
		}
	}
	slices.Sort(segs)
	for i, n := range segs {
		if n != i+1 {
			return nil, fmt.Errorf("journal: segment %06d is missing (restore it from a copy)", i+1)
		}
	}
	return segs, nil
}

var errStopped = errors.New("stopped")

// tail says where the good part of a segment ends and what follows it.
type tail struct {
	good int64 // offset after the last good line
	size int64 // bytes read in all
	err  error // what is wrong with the first bad line
}

// scanSegment reads a segment's lines and calls emit with its records. In the
// last segment a bad line ends the scan unless a later sync line vouches for
// it; anywhere else a bad line is damage.
func scanSegment(run *os.Root, number int, last bool, emit func(Entry) bool) (tail, error) {
	name := fmt.Sprintf("%06d", number)
	f, err := run.Open(segmentPath(number))
	if err != nil {
		return tail{}, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	var t tail
	r := bufio.NewReaderSize(f, 1<<20)
	var line []byte
	for {
		line, err = readLine(r, line[:0])
		if err == io.EOF && len(line) == 0 {
			return t, nil
		}
		if err != nil && err != io.EOF {
			return t, fmt.Errorf("journal: segment %s at %d: %w", name, t.size, err)
		}
		at := t.size
		t.size += int64(len(line))
		var kind string
		if err == io.EOF {
			err = errors.New("the last line is torn")
		} else {
			kind, err = checkLine(line[:len(line)-1])
		}
		if err == nil && at == 0 {
			err = checkHeader(line, kind, number)
			if err != nil {
				return t, &DamageError{name, 0, err}
			}
		}
		if err != nil && t.err == nil {
			t.err = err
		}
		if t.err != nil {
			// Nothing after a bad line is used, but a sync line there shows
			// that the bad one was durable once.
			if !last || (err == nil && kind == "sync" && vouches(line, t.good)) {
				return t, &DamageError{name, t.good, t.err}
			}
			continue
		}
		t.good = t.size
		rec, when, err := decodeLine(line[:len(line)-1], kind)
		if err != nil {
			return t, &DamageError{name, at, err}
		}
		if rec != nil && !emit(Entry{Ref{uint32(number), uint32(len(line)), at}, when, rec}) {
			return t, errStopped
		}
	}
}

// readLine reads up to and including the next '\n', of any length.
func readLine(r *bufio.Reader, dst []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		dst = append(dst, part...)
		if err != bufio.ErrBufferFull {
			return dst, err
		}
	}
}

func checkHeader(line []byte, kind string, number int) error {
	if kind != "segment" {
		return errors.New("the segment has no header")
	}
	var h segmentLine
	if err := json.Unmarshal(line, &h); err != nil {
		return err
	}
	if h.Version != version {
		return fmt.Errorf("format %d, and this program reads format %d (use a newer eyrie)", h.Version, version)
	}
	if h.Number != number {
		return fmt.Errorf("it says it is segment %06d", h.Number)
	}
	return nil
}

// vouches reports whether a sync line covers the byte at offset.
func vouches(line []byte, offset int64) bool {
	var s syncLine
	return json.Unmarshal(line, &s) == nil && s.At > offset
}
