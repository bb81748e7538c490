package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/durable"
)

// Damage is what is wrong with one segment.
type Damage struct {
	Segment   string
	Missing   bool // there is no file of it
	Stretches []Stretch
	Records   int    // that are whole
	Kept      string // where the file is kept as it was found
}

// Stretch is a part of a segment's text that is lost.
type Stretch struct {
	From, To int64
	Reason   error
	// Before and After are the places of the whole records around it; zero
	// where there is none.
	Before, After Ref
	// Named are the outlines of the records in it, where the index has them.
	Named []Entry
}

// Repaired is what a repair found and did.
type Repaired struct {
	Damage   []Damage
	Salvaged []eyrie.Record // from tails that were cut earlier
	Torn     *Torn          // a tail that was cut now
}

// Repair makes a damaged journal one that opens, and destroys nothing: a
// damaged file is kept beside, and what takes its place has every whole line
// where it was. Of an answer whose text is lost but whose charge the index
// knows, the charge is kept: it is bought again, and the money is not
// forgotten. Whole answers in tails that were cut after crashes are added,
// where the journal knows their start and not their end.
//
// With dry set, Repair only tells what it would do, and changes nothing. It can
// be broken off and run again at any moment.
func Repair(run *os.Root, dry bool) (*Repaired, error) { return RepairIn(durable.Root(run), dry) }

// RepairIn is [Repair] on any file system.
func RepairIn(fsys FS, dry bool) (*Repaired, error) {
	segs, err := listed(fsys)
	if err == nil && len(segs) == 0 {
		err = fmt.Errorf("journal: %s: %w", fsys.Name(), ErrNoJournal)
	}
	if err != nil {
		return nil, err
	}
	r := &repairer{fs: fsys, dry: dry, known: known{started: map[int64]eyrie.Key{}, ended: map[int64]bool{}, prompts: map[eyrie.Digest]bool{}}}
	if !dry {
		unlock, err := fsys.Lock(path.Join(dirName, "lock"))
		if err != nil {
			return nil, fmt.Errorf("journal: %s: %w", fsys.Name(), err)
		}
		err = r.segments(segs)
		if err := errors.Join(err, unlock()); err != nil {
			return nil, err
		}
		return &r.out, r.reopen()
	}
	if err := r.segments(segs); err != nil {
		return nil, err
	}
	r.out.Salvaged, err = r.salvage()
	return &r.out, err
}

type repairer struct {
	fs    FS
	dry   bool
	known known
	out   Repaired
}

// known is what the whole records of the journal tell about attempts.
type known struct {
	started map[int64]eyrie.Key
	ended   map[int64]bool
	prompts map[eyrie.Digest]bool
}

func (k *known) add(r eyrie.Record) {
	switch r := r.(type) {
	case *eyrie.PromptRecord:
		k.prompts[r.Prompt] = true
	case *eyrie.StartedRecord:
		k.started[r.Attempt] = r.Key
	case *eyrie.EndedRecord:
		k.ended[r.Attempt] = true
	}
}

// segments examines every segment and replaces the damaged ones.
func (r *repairer) segments(segs []segment) error {
	for i, s := range segs {
		last := i == len(segs)-1
		e := examination{number: s.number, last: last && s.plain}
		if !last {
			e.limit = endOf(r.fs, s.number)
		}
		if err := e.load(r.fs, s); err != nil {
			return err
		}
		if err := e.walk(); err != nil {
			return err
		}
		for _, x := range e.found {
			r.known.add(x.Record)
		}
		if len(e.stretches) == 0 {
			continue
		}
		d := Damage{Segment: fmt.Sprintf("%06d", s.number), Missing: !s.plain && !s.packed, Stretches: e.stretches, Records: len(e.found)}
		if !r.dry {
			if err := r.replace(s, &e, &d); err != nil {
				return fmt.Errorf("journal: repairing segment %s: %w", d.Segment, durable.Explain(err))
			}
		}
		r.out.Damage = append(r.out.Damage, d)
	}
	return nil
}

// replace keeps a damaged file beside and puts the mended text in its place.
func (r *repairer) replace(s segment, e *examination, d *Damage) error {
	if !d.Missing {
		name := plainPath(s.number)
		if !s.plain {
			name = packedPath(s.number)
		}
		b, err := readFile(r.fs, name)
		if err != nil {
			return err
		}
		if d.Kept, err = r.free("damaged-" + path.Base(name)); err != nil {
			return err
		}
		if err := writeFile(r.fs, d.Kept, b); err != nil {
			return err
		}
	}
	text, err := e.mended()
	if err != nil {
		return err
	}
	return writeFile(r.fs, plainPath(s.number), text)
}

// free finds a name in the journal's folder that is not taken.
func (r *repairer) free(name string) (string, error) {
	for n := 1; ; n++ {
		try := path.Join(dirName, name)
		if n > 1 {
			try = path.Join(dirName, fmt.Sprintf("%d-%s", n, name))
		}
		f, err := r.fs.OpenFile(try, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return try, nil
		}
		if err != nil {
			return "", err
		}
		f.Close()
	}
}

func writeFile(fsys FS, name string, b []byte) error {
	return durable.WriteFileIn(fsys, name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// reopen opens the mended journal, which cuts a torn tail, and appends what can
// be salvaged.
func (r *repairer) reopen() error {
	j, torn, err := OpenIn(r.fs, Options{}, nil)
	if err != nil {
		return err
	}
	r.out.Torn = torn
	r.out.Salvaged, err = r.salvage()
	if err == nil {
		_, err = j.Append(r.out.Salvaged...)
	}
	return errors.Join(err, j.Close())
}

// examination reads one segment as far as anything of it can be read.
type examination struct {
	number    int
	last      bool
	limit     int64  // where the segment ends, if the next one says so
	text      []byte // with zeros where nothing could be read
	whole     error  // why the text ends early
	index     *index
	found     []Entry // outlines of the whole records
	stretches []Stretch
}

// load gets the segment's text.
func (e *examination) load(fsys FS, s segment) error {
	if s.index && !s.plain {
		if b, err := readFile(fsys, indexPath(s.number)); err == nil {
			e.index, _ = parseIndex(b, s.number) // without one, less is known
		}
	}
	switch {
	case s.plain:
		b, err := readFile(fsys, plainPath(s.number))
		if err != nil {
			return fmt.Errorf("journal: %w", durable.Explain(err))
		}
		e.text = b
	case s.packed:
		f, err := fsys.OpenFile(packedPath(s.number), os.O_RDONLY, 0)
		if err != nil {
			return fmt.Errorf("journal: %w", durable.Explain(err))
		}
		defer f.Close()
		if err := e.unpack(f); err != nil {
			return fmt.Errorf("journal: %w", durable.Explain(err))
		}
	default:
		e.whole = errors.New("its file is missing")
	}
	if e.limit == 0 && e.index != nil {
		e.limit = int64(e.index.size)
	}
	if e.limit > 0 && e.limit < int64(len(e.text)) {
		e.text = e.text[:e.limit]
	}
	return nil
}

// unpack gets what it can of a packed segment, frame by frame.
func (e *examination) unpack(f File) error {
	table, err := readTable(f)
	if err != nil {
		r, done, err2 := unpack(io.NewSectionReader(f, 0, 1<<62))
		if err2 != nil {
			return err2
		}
		defer done()
		e.text, e.whole = readSome(r)
		if e.whole == nil {
			e.whole = err // the text may be all there; the table is not
		}
		return nil
	}
	dec, err := newUnpacker()
	if err != nil {
		return err
	}
	defer dec.Close()
	for _, fr := range table {
		text, err := readFrame(f, dec, fr, nil)
		if err != nil {
			text = make([]byte, fr.length)
			text[fr.length-1] = '\n' // frames end with their lines
		}
		e.text = append(e.text, text...)
	}
	return nil
}

// readSome reads until the end or the first error.
func readSome(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

// walk finds the whole records, and the stretches between them. It refuses a
// segment that is not damaged but another one, or of another format.
func (e *examination) walk() error {
	vouched := int64(len(e.text))
	if e.last {
		vouched = e.vouched()
	}
	var bad *Stretch
	for l := range lines(bytes.NewReader(e.text)) {
		if l.err == nil && l.at == 0 {
			if _, err := checkHeader(l, e.number); err != nil {
				return fmt.Errorf("journal: segment %06d: %w; this is nothing that a repair can mend", e.number, err)
			}
		}
		var rec eyrie.Record
		var x Entry
		if l.err == nil {
			rec, x.Time, l.err = decodeOutline(l.text[:len(l.text)-1], l.kind)
		}
		good := l.err == nil
		end := l.at + int64(len(l.text))
		switch {
		case good && rec == nil:
			bad = nil
		case good:
			x.Ref, x.Record = Ref{uint32(e.number), uint32(len(l.text)), l.at}, rec
			e.found = append(e.found, x)
			if n := len(e.stretches); n > 0 && e.stretches[n-1].After == (Ref{}) {
				e.stretches[n-1].After = x.Ref
			}
			bad = nil
		case l.at >= vouched: // a torn tail, which Open cuts
			return nil
		case bad != nil:
			bad.To = end
		default:
			e.stretches = append(e.stretches, Stretch{From: l.at, To: end, Reason: l.err, Before: e.before()})
			bad = &e.stretches[len(e.stretches)-1]
		}
	}
	e.ending()
	e.name()
	return nil
}

func (e *examination) before() Ref {
	if len(e.found) == 0 {
		return Ref{}
	}
	return e.found[len(e.found)-1].Ref
}

// vouched is what of the text the sync lines say was durable.
func (e *examination) vouched() (at int64) {
	for l := range lines(bytes.NewReader(e.text)) {
		if l.err == nil && l.kind == "sync" {
			at = max(at, syncedTo(l))
		}
	}
	return at
}

// ending notes what is missing at the end.
func (e *examination) ending() {
	size := int64(len(e.text))
	if e.limit > size && !e.endsLost() || e.whole != nil {
		reason := e.whole
		if reason == nil {
			reason = errors.New("the file ends too early")
		}
		if n := len(e.stretches); n > 0 && e.stretches[n-1].To == size {
			e.stretches[n-1].To = max(size, e.limit)
			return
		}
		e.stretches = append(e.stretches, Stretch{From: size, To: max(size, e.limit), Reason: reason, Before: e.before()})
	}
}

// endsLost reports whether an earlier repair has accounted for the end.
func (e *examination) endsLost() (lost bool) {
	for l := range lines(bytes.NewReader(e.text)) {
		lost = l.err == nil && l.kind == "lost" && lostTo(l) >= e.limit
	}
	return lost
}

// name finds the outlines of what is lost.
func (e *examination) name() {
	if e.index == nil || len(e.stretches) == 0 {
		return
	}
	e.index.each(func(x Entry) bool { // an error ends what is known
		for i := range e.stretches {
			if s := &e.stretches[i]; x.Ref.Offset >= s.From && x.Ref.Offset+int64(x.Ref.Length) <= s.To {
				s.Named = append(s.Named, x)
			}
		}
		return true
	})
}

// mended returns the text with the lost stretches made good: each as a lost
// line of the same length, or as the outlines that the index has of it.
func (e *examination) mended() ([]byte, error) {
	text := bytes.Clone(e.text)
	size := int64(len(text))
	for _, s := range e.stretches {
		if s.From < s.To && s.To <= size {
			if err := e.fill(text[s.From:s.To], s); err != nil {
				return nil, err
			}
		}
	}
	last := e.stretches[len(e.stretches)-1]
	if last.To <= size {
		return text, nil
	}
	text = text[:last.From]
	if len(text) == 0 {
		text = e.header(text, 0)
	}
	return lostLineOf(text, 0, last.To), nil
}

// header appends a header of at least so many bytes. It does not say where the
// segment before ends, which nobody knows any more.
func (e *examination) header(dst []byte, length int) []byte {
	return sealLine(dst, fmt.Appendf(nil, `"k":"segment","t":0,"v":%d,"n":%d`, version, e.number), length)
}

// fill overwrites a stretch.
func (e *examination) fill(b []byte, s Stretch) error {
	var out []byte
	if s.From == 0 {
		out = e.header(out, 0)
		if rest := len(b) - len(out); rest > 0 && rest < minLost(s.To) {
			out = e.header(out[:0], len(b)) // no room for another line
		}
	}
	for _, x := range s.Named {
		line := chargeLine(x)
		gap := int(x.Ref.Offset-s.From) - len(out)
		if line == nil || gap < 0 || gap > 0 && gap < minLost(x.Ref.Offset) {
			continue
		}
		if gap > 0 {
			out = lostLineOf(out, gap, x.Ref.Offset)
		}
		out = append(out, line...)
	}
	rest := len(b) - len(out)
	if rest < 0 || rest > 0 && rest < minLost(s.To) {
		return fmt.Errorf("the %d bytes at %d are too few for what must take their place", len(b), s.From)
	}
	if rest > 0 {
		out = lostLineOf(out, rest, s.To)
	}
	copy(b, out)
	return nil
}

// minLost is the length of a lost line without padding.
func minLost(to int64) int { return len(lostLineOf(nil, 0, to)) }

// lostLineOf appends a lost line of so many bytes, or as short as it can be.
func lostLineOf(dst []byte, length int, to int64) []byte {
	return sealLine(dst, fmt.Appendf(nil, `"k":"lost","t":0,"to":%d`, to), length)
}

// chargeLine is the line of a lost record that keeps what it did to the money,
// exactly as long as the record was; nil where that cannot be.
func chargeLine(x Entry) []byte {
	rec := x.Record
	switch r := rec.(type) {
	case *eyrie.PromptRecord:
		return nil // without its text it is worth nothing
	case *eyrie.EndedRecord:
		if r.OK {
			failed := *r
			failed.OK, failed.Class = false, "text lost"
			rec = &failed
		}
	}
	line, err := appendLine(nil, kindOf(rec), x.Time, rec)
	if err != nil || len(line) > int(x.Ref.Length) {
		return nil
	}
	rest := line[prefixLen : len(line)-len("}\n")]
	return sealLine(nil, rest, int(x.Ref.Length))
}

// sealLine appends the line that has the given members, padded with spaces to
// a length.
func sealLine(dst, members []byte, length int) []byte {
	start := len(dst)
	dst = append(dst, `{"c":"00000000",`...)
	dst = append(dst, members...)
	for len(dst)-start+len("}\n") < length {
		dst = append(dst, ' ')
	}
	dst = append(dst, "}\n"...)
	sign(dst[start:])
	return dst
}
