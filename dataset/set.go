package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"

	"github.com/eyrie-ai/eyrie"
)

// Source is where a set comes from.
type Source struct {
	Set  string // the set's name, which every prompt carries
	Path string // the file, as messages name it
	// Open opens the file anew for each pass. Nil opens Path.
	Open func() (io.ReadCloser, error)
}

func (s Source) open() (io.ReadCloser, error) {
	if s.Open != nil {
		return s.Open()
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, errors.New("is a folder")
	}
	return f, nil
}

// wrap names the file in an error, once.
func (s Source) wrap(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("dataset: %s: %w", s.Path, err)
}

// Options say how a set is read. The zero value is ready to use.
type Options struct {
	Layout Layout // [Auto] or empty finds out
	// Turns says which turns of a conversation are asked for; empty means all.
	// A prompt holds what these need and no more.
	Turns eyrie.Turns
	// Special reports whether text spells a control token of the model, such
	// as "<|im_end|>". It is asked about every text that would be sent: not
	// about messages of the assistant that the model writes anew. Nil asks
	// nothing.
	Special func(string) bool
}

// Set is a prompt set that has been looked at and can be read. Its methods may
// be called from several goroutines.
type Set struct {
	src    Source
	opts   Options
	form   container
	layout layout

	mu     sync.Mutex
	report Report // of the last full pass; guarded by mu
}

// Open looks at the first rows of a file and finds out how to read it. It
// fails when the file cannot be read or holds nothing that looks like a prompt.
func Open(src Source, opts Options) (*Set, error) {
	s := &Set{src: src, opts: opts}
	if err := s.sniff(); err != nil {
		return nil, src.wrap(err)
	}
	return s, nil
}

// Layout returns the layout that the set is read in.
func (s *Set) Layout() Layout { return s.layout.name }

// Report returns the account of the last full pass over [Set.Prompts], and the
// zero Report before there was one.
func (s *Set) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report
}

// ErrChanged is the error of a pass that read other bytes than the pass before.
var ErrChanged = errors.New("the file has changed since it was last read")

// Prompts reads the file from its beginning on, once for each loop over the
// returned sequence, in the same order every time. The prompts belong to the
// caller. An error ends the sequence; it names the file.
func (s *Set) Prompts() iter.Seq2[*eyrie.Prompt, error] {
	return func(yield func(*eyrie.Prompt, error) bool) {
		report, err := s.pass(func(p *eyrie.Prompt) bool { return yield(p, nil) })
		if errors.Is(err, errStopped) {
			return
		}
		if err == nil {
			err = s.finish(report)
		}
		if err != nil {
			yield(nil, s.src.wrap(err))
		}
	}
}

// errStopped ends a pass whose caller wants no more.
var errStopped = errors.New("stopped")

// finish keeps the account of a full pass.
func (s *Set) finish(r Report) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.report.SHA256
	s.report = r
	if before != "" && before != r.SHA256 {
		return ErrChanged
	}
	return nil
}

// pass reads the whole file and gives every prompt to each, until that returns
// false.
func (s *Set) pass(each func(*eyrie.Prompt) bool) (Report, error) {
	f, err := s.src.open()
	if err != nil {
		return Report{}, err
	}
	defer f.Close()
	sum := digest{hash: sha256.New()}
	p := newPass(s)
	for row, err := range s.form.rows(io.TeeReader(f, &sum)) {
		if err != nil {
			return Report{}, err
		}
		if prompt := p.row(row); prompt != nil && !each(prompt) {
			return Report{}, errStopped
		}
	}
	p.report.Bytes, p.report.SHA256 = sum.n, hex.EncodeToString(sum.hash.Sum(nil))
	return p.report, nil
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
