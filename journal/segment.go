package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/durable"
)

// dirName is the journal's folder in a run directory.
const dirName = "journal"

// The endings of a segment's files.
const (
	plainExt  = ".jsonl"
	packedExt = ".jsonl.zst"
	indexExt  = ".idx"
)

func plainPath(n int) string  { return path.Join(dirName, fmt.Sprintf("%06d", n)+plainExt) }
func packedPath(n int) string { return path.Join(dirName, fmt.Sprintf("%06d", n)+packedExt) }
func indexPath(n int) string  { return path.Join(dirName, fmt.Sprintf("%06d", n)+indexExt) }

// segment is a segment with the files that it has. The plain one is the truth
// while it is there: it goes only when the other two are whole.
type segment struct {
	number               int
	plain, packed, index bool
}

// segments lists the segments, which must be 1, 2, 3 … without a gap.
func segments(fsys FS) ([]segment, error) {
	for tries := 0; ; tries++ {
		segs, err := listed(fsys)
		if err != nil {
			return nil, err
		}
		gap := slices.IndexFunc(segs, func(s segment) bool { return !s.plain && !s.packed })
		if gap < 0 {
			return segs, nil
		}
		// A listing can miss a segment that is being sealed meanwhile.
		if tries == 3 {
			return nil, &DamageError{fmt.Sprintf("%06d", gap+1), 0, errors.New("it is missing")}
		}
	}
}

// listed lists the segments from 1 to the last one; of those between that are
// missing it says that they have no file.
func listed(fsys FS) ([]segment, error) {
	names, err := fsys.ReadDir(dirName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var segs []segment
	at := func(n int) *segment {
		for len(segs) < n {
			segs = append(segs, segment{number: len(segs) + 1})
		}
		return &segs[n-1]
	}
	for _, name := range names {
		n, ext := splitName(name)
		switch ext {
		case plainExt:
			at(n).plain = true
		case packedExt:
			at(n).packed = true
		case indexExt:
			at(n).index = true
		}
	}
	for len(segs) > 0 && !segs[len(segs)-1].plain && !segs[len(segs)-1].packed {
		segs = segs[:len(segs)-1] // an index alone makes no segment
	}
	return segs, nil
}

// splitName takes the name of a segment's file apart; others have no ext.
func splitName(name string) (n int, ext string) {
	if len(name) < 6 {
		return 0, ""
	}
	n, err := strconv.Atoi(name[:6])
	if err != nil || n <= 0 {
		return 0, ""
	}
	return n, name[6:]
}

// line is one line of a segment.
type line struct {
	at   int64
	text []byte // with its '\n'; valid until the next line is read
	kind string
	err  error // what is wrong with it
}

// readSize is how much is read at once.
const readSize = 64 << 10

// lines reads a segment line by line. An error of r ends it.
func lines(r io.Reader) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		in := bufio.NewReaderSize(r, readSize)
		var l line
		var at int64
		for {
			text, err := readLine(in, l.text[:0])
			if err == io.EOF && len(text) == 0 {
				return
			}
			if err != nil && err != io.EOF {
				yield(line{at: at}, err)
				return
			}
			l = line{at: at, text: text}
			if err == io.EOF {
				l.err = errTorn
			} else {
				l.kind, l.err = checkLine(text[:len(text)-1])
			}
			at += int64(len(text))
			if !yield(l, nil) {
				return
			}
		}
	}
}

var errTorn = errors.New("the last line is torn")

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

// scan is how a segment is to be read.
type scan struct {
	number int
	// last is set where no segment follows and the end may be torn.
	last bool
	// limit is how much of the segment is good, as the one after it says; 0
	// where it does not.
	limit  int64
	decode func(line []byte, kind string) (eyrie.Record, time.Time, error)
}

// tail says where the good part of a segment ends and what follows it.
type tail struct {
	good    int64 // offset after the last good line
	vouched int64 // of that, what the last sync line says was durable
	size    int64 // bytes read in all
	err     error // what is wrong with the first bad line
}

var errStopped = errors.New("stopped")

// read reads the segment's lines and calls emit with its records. In the last
// segment a bad line ends the scan unless a later sync line vouches for it;
// anywhere else a bad line is damage.
func (s scan) read(r io.Reader, emit func(Entry) bool) (tail, error) {
	if s.limit > 0 {
		r = io.LimitReader(r, s.limit)
	}
	var t tail
	var lost int64
	for l, err := range lines(r) {
		if err != nil {
			return t, s.unreadable(l.at, err)
		}
		t.size = l.at + int64(len(l.text))
		if l.err == nil && l.at == 0 {
			if _, err := checkHeader(l, s.number); err != nil {
				return t, s.damage(0, err)
			}
		}
		if l.err != nil && t.err == nil {
			t.err = l.err
		}
		if t.err != nil {
			// Nothing after a bad line is used, but a sync line there shows
			// that the bad one was durable once.
			if !s.last || l.err == nil && l.kind == "sync" && syncedTo(l) > t.good {
				return t, s.damage(t.good, t.err)
			}
			continue
		}
		t.good, lost = t.size, 0
		switch l.kind {
		case "sync":
			t.vouched = min(syncedTo(l), t.good)
		case "lost":
			lost = lostTo(l)
		}
		rec, when, err := s.decode(l.text[:len(l.text)-1], l.kind)
		if err != nil {
			return t, s.damage(l.at, err)
		}
		if rec != nil && !emit(Entry{Ref{uint32(s.number), uint32(len(l.text)), l.at}, when, rec}) {
			return t, errStopped
		}
	}
	if t.good < s.limit && lost < s.limit {
		return t, s.damage(t.good, fmt.Errorf("it ends here and should go on to %d", s.limit))
	}
	return t, nil
}

func (s scan) damage(at int64, err error) error {
	return &DamageError{fmt.Sprintf("%06d", s.number), at, err}
}

// unreadable tells a packed file that does not unpack from a disk that does
// not answer.
func (s scan) unreadable(at int64, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("journal: segment %06d at %d: %w", s.number, at, durable.Explain(err))
	}
	return s.damage(at, err)
}

func checkHeader(l line, number int) (segmentLine, error) {
	var h segmentLine
	if l.kind != "segment" {
		return h, errors.New("the segment has no header")
	}
	if err := json.Unmarshal(l.text, &h); err != nil {
		return h, err
	}
	if h.Version < oldest || h.Version > version {
		return h, fmt.Errorf("format %d, and this program reads formats %d to %d (use a newer eyrie)", h.Version, oldest, version)
	}
	if h.Number != number {
		return h, fmt.Errorf("it says it is segment %06d", h.Number)
	}
	return h, nil
}

// syncedTo is the offset that a sync line vouches for.
func syncedTo(l line) int64 {
	var s syncLine
	if json.Unmarshal(l.text, &s) != nil {
		return 0
	}
	return s.At
}

// lostTo is where the stretch ends that a lost line stands for.
func lostTo(l line) int64 {
	var s lostLine
	if json.Unmarshal(l.text, &s) != nil {
		return 0
	}
	return s.To
}

// content is an open segment.
type content struct {
	file   File
	packed bool
	table  frameTable // of a packed one
}

// openSegment opens a segment's plain file, or its packed one.
func openSegment(fsys FS, n int) (content, error) {
	f, err := fsys.OpenFile(plainPath(n), os.O_RDONLY, 0)
	if err == nil {
		return content{file: f}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return content{}, fmt.Errorf("journal: %w", err)
	}
	if f, err = fsys.OpenFile(packedPath(n), os.O_RDONLY, 0); err != nil {
		return content{}, fmt.Errorf("journal: %w", err)
	}
	table, err := readTable(f)
	if err != nil {
		f.Close()
		return content{}, scan{number: n}.unreadable(0, err)
	}
	return content{f, true, table}, nil
}

// reader reads the segment from its beginning; done gives back what it needs.
func (c content) reader() (r io.Reader, done func(), err error) {
	in := io.NewSectionReader(c.file, 0, 1<<62)
	if !c.packed {
		return in, func() {}, nil
	}
	return unpack(in)
}

// header reads the first line of a segment, as far as it is good.
func header(fsys FS, n int) (segmentLine, error) {
	c, err := openSegment(fsys, n)
	if err != nil {
		return segmentLine{}, err
	}
	defer c.file.Close()
	r, done, err := c.reader()
	if err != nil {
		return segmentLine{}, err
	}
	defer done()
	first, err := readLine(bufio.NewReaderSize(r, 512), nil)
	if err != nil {
		return segmentLine{}, err
	}
	l := line{text: first}
	if l.kind, err = checkLine(first[:len(first)-1]); err != nil {
		return segmentLine{}, err
	}
	return checkHeader(l, n)
}

// endOf is where a segment that is not the last one ends, as the next one
// says; 0 where that does not say so.
func endOf(fsys FS, n int) int64 {
	h, err := header(fsys, n+1)
	if err != nil {
		return 0 // what is wrong with it comes out when it is read itself
	}
	return h.After
}
