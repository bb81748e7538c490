package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"iter"
	"sync"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset/internal/rowfile"
)

// Set is a prompt set that has been looked at and can be read. Its methods may
// be called from several goroutines.
type Set struct {
	src    Source
	opts   Options
	rules  rules // copied by each pass
	files  []*file
	passed []string

	choosing sync.Mutex // held while rows are chosen; see [Set.choose]
	choice   *choice    // guarded by choosing

	mu      sync.Mutex
	report  Report                // of the last full pass; guarded by mu
	digests map[eyrie.Digest]spot // of its rows; guarded by mu
	highest *eyrie.Digest         // the highest lot of the sample; guarded by mu
}

// file is one file of a set.
type file struct {
	path   string
	rows   *rowfile.File
	layout layout
	table  map[string]slot
}

// Open looks at the first rows of every file and finds out how to read it. It
// fails when one cannot be read or holds nothing that looks like a prompt, and
// when the options make no sense.
func Open(src Source, opts Options) (*Set, error) {
	s := &Set{src: src, opts: opts, rules: newRules(&opts)}
	if err := opts.check(); err != nil {
		return nil, src.wrap(err)
	}
	allowed, err := candidates(&opts)
	if err != nil {
		return nil, src.wrap(err)
	}
	inputs, passed, err := src.inputs()
	if err != nil {
		return nil, src.wrap(err)
	}
	s.passed = passed
	for _, in := range inputs {
		f, err := s.openFile(in, allowed)
		switch {
		case len(inputs) > 1 && (errors.Is(err, rowfile.ErrEmpty) || errors.Is(err, errNoRows)):
			s.passed = append(s.passed, in.path)
		case err != nil:
			return nil, wrap(in.path, err)
		default:
			s.files = append(s.files, f)
		}
	}
	if len(s.files) == 0 {
		return nil, src.wrap(errNoRows)
	}
	return s, nil
}

// openFile looks at one file.
func (s *Set) openFile(in input, allowed []layout) (*file, error) {
	rows, err := rowfile.Open(in.path, in.open, rowfile.Options{Format: rowfile.Format(s.opts.Format), MaxRow: s.opts.MaxRow})
	if err != nil {
		return nil, err
	}
	l, err := s.sniff(rows, allowed)
	if err != nil {
		return nil, err
	}
	return &file{in.path, rows, l, l.table(s.opts.Columns)}, nil
}

// wrap names the source in an error.
func (s Source) wrap(err error) error { return wrap(s.Path, err) }

// wrap names a file in an error, once.
func wrap(path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("dataset: %s: %w", path, err)
}

// Layout returns the layout that the set's first file is read in.
func (s *Set) Layout() Layout { return s.files[0].layout.name }

// Name returns the set's name.
func (s *Set) Name() string { return s.src.Set }

// Report returns the account of the last full pass over [Set.Prompts], and the
// zero Report before there was one.
func (s *Set) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report
}

// ErrChanged is the error of a pass that read other bytes than the pass before.
var ErrChanged = errors.New("the file has changed since it was last read")

// Prompts reads the set from its beginning on, once for each loop over the
// returned sequence, in the same order every time. The prompts belong to the
// caller. An error ends the sequence; it names the file.
func (s *Set) Prompts() iter.Seq2[*eyrie.Prompt, error] {
	return func(yield func(*eyrie.Prompt, error) bool) {
		err := s.prompts(func(p *eyrie.Prompt) bool { return yield(p, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped ends a pass whose caller wants no more.
var errStopped = errors.New("stopped")

// prompts gives every prompt to each, until that returns false.
func (s *Set) prompts(each func(*eyrie.Prompt) bool) error {
	for _, before := range s.opts.After {
		if err := before.read(); err != nil {
			return err
		}
	}
	c, err := s.choose()
	if err != nil {
		return err
	}
	if c.order != nil {
		return s.src.maybe(c.order.prompts(each))
	}
	return s.scan(each)
}

// maybe names the source in an error that is one.
func (s Source) maybe(err error) error {
	if err == nil || errors.Is(err, errStopped) {
		return err
	}
	return s.wrap(err)
}

// read makes sure that the set's rows are known.
func (s *Set) read() error {
	s.mu.Lock()
	known := s.digests != nil
	s.mu.Unlock()
	if known {
		return nil
	}
	return s.prompts(func(*eyrie.Prompt) bool { return true })
}

// has reports whether the last full pass had a row of this content.
func (s *Set) has(d eyrie.Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.digests[d].kept
}

// scan reads all files in their order and keeps the account.
func (s *Set) scan(each func(*eyrie.Prompt) bool) error {
	p := newPass(s)
	all := sha256.New()
	for _, f := range s.files {
		p.open(f)
		if err := p.scan(f, each); err != nil {
			if errors.Is(err, errStopped) {
				return err
			}
			return wrap(f.path, err)
		}
		r := &p.report.Files[p.number]
		p.report.Bytes += r.Bytes
		fmt.Fprintf(all, "%s\n", r.SHA256)
	}
	p.report.SHA256 = p.report.Files[0].SHA256
	if len(s.files) > 1 {
		p.report.SHA256 = hex.EncodeToString(all.Sum(nil))
	}
	return s.src.maybe(s.finish(p))
}

// scan reads one file.
func (p *pass) scan(f *file, each func(*eyrie.Prompt) bool) error {
	sum := digest{hash: sha256.New()}
	rows := 0
	for row, err := range f.rows.Rows(&sum) {
		if err != nil {
			if rows > 0 {
				err = fmt.Errorf("after row %d: %w", rows, err)
			}
			return err
		}
		rows++
		prompt, err := p.row(row)
		if err != nil {
			return placed(row.Place, err)
		}
		if prompt != nil && !each(prompt) {
			return errStopped
		}
	}
	r := &p.report.Files[p.number]
	r.Bytes, r.SHA256 = sum.n, hex.EncodeToString(sum.hash.Sum(nil))
	return nil
}

// placed says where in its file an error happened.
func placed(at rowfile.Place, err error) error {
	if at.Line > 0 {
		return fmt.Errorf("line %d: %w", at.Line, err)
	}
	return fmt.Errorf("row %d of group %d: %w", at.Index, at.Group, err)
}

// finish keeps the account of a full pass.
func (s *Set) finish(p *pass) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.report.SHA256
	s.report, s.digests = p.report, p.seen
	if before != "" && before != p.report.SHA256 {
		return ErrChanged
	}
	return nil
}

// Close gives back what the set holds on disk. It need not be called for a set
// without [Options.Shuffle].
func (s *Set) Close() error {
	s.choosing.Lock()
	defer s.choosing.Unlock()
	if s.choice == nil || s.choice.order == nil {
		return nil
	}
	err := s.choice.order.close()
	s.choice = nil
	return err
}

// digest hashes and counts what is written to it.
type digest struct {
	hash hash.Hash
	n    int64
}

func (d *digest) Write(b []byte) (int, error) {
	d.n += int64(len(b))
	return d.hash.Write(b)
}
