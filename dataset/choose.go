package dataset

import (
	"bytes"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
)

// A row's lot is a digest of the seed and of the row's content. Rows are
// shuffled by sorting their lots, and the sample is the rows with the least.
// So neither depends on where a row stands or on when it is asked, and a larger
// sample holds every smaller one.

// draw is a row's lot.
func (s *Set) draw(content eyrie.Digest) eyrie.Digest {
	return lot("order", s.opts.Seed, content)
}

func lot(purpose string, seed int64, content eyrie.Digest) eyrie.Digest {
	h := sha256.New()
	io.WriteString(h, purpose)
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(seed)))
	h.Write(content[:])
	return eyrie.Digest(h.Sum(nil)[:16])
}

func compareLots(a, b eyrie.Digest) int { return bytes.Compare(a[:], b[:]) }

// divide gives a conversation its split.
func (s *Set) divide(p *eyrie.Prompt, content eyrie.Digest) {
	if s.opts.Validation <= 0 {
		return
	}
	l := lot("split", 0, content)
	p.Split = eyrie.Train
	if float64(binary.BigEndian.Uint64(l[:])>>11)/(1<<53) < s.opts.Validation {
		p.Split = eyrie.Validation
	}
}

// choice is which rows are wanted, and in which order.
type choice struct {
	highest *eyrie.Digest // the highest lot of the sample; nil where all are wanted
	order   *order        // nil where rows come as they stand
}

// choose chooses, the first time.
func (s *Set) choose() (*choice, error) {
	s.choosing.Lock()
	defer s.choosing.Unlock()
	if s.choice != nil {
		return s.choice, nil
	}
	c := &choice{}
	if s.opts.Sample > 0 {
		highest, err := s.sample()
		if err != nil {
			return nil, err
		}
		c.highest = highest
	}
	s.setHighest(c.highest)
	if s.opts.Shuffle {
		o, err := s.shuffle()
		if err != nil {
			return nil, err
		}
		c.order = o
	}
	s.choice = c
	return c, nil
}

func (s *Set) setHighest(d *eyrie.Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.highest = d
}

// chosen says of a row that it is not of the sample.
func (s *Set) chosen(content eyrie.Digest) *drop {
	s.mu.Lock()
	highest := s.highest
	s.mu.Unlock()
	if highest == nil || compareLots(s.draw(content), *highest) <= 0 {
		return nil
	}
	return dropf(NotSampled, "not among the %d of the sample", s.opts.Sample)
}

// sample reads the set once and returns the highest lot of its sample, or nil
// where the sample is all there is.
func (s *Set) sample() (*eyrie.Digest, error) {
	var least lots
	err := s.scanOnly(func(p *eyrie.Prompt) bool {
		l := s.draw(asks(p))
		switch {
		case len(least) < s.opts.Sample:
			heap.Push(&least, l)
		case compareLots(l, least[0]) < 0:
			least[0] = l
			heap.Fix(&least, 0)
		}
		return true
	})
	if err != nil || len(least) < s.opts.Sample {
		return nil, err
	}
	return &least[0], nil
}

// scanOnly is [Set.scan] that leaves no account: it is not the pass that gives
// the rows out.
func (s *Set) scanOnly(each func(*eyrie.Prompt) bool) error {
	before := s.Report()
	s.mu.Lock()
	digests := s.digests
	s.mu.Unlock()
	err := s.scan(each)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report, s.digests = before, digests
	return err
}

// lots is a heap with the highest lot on top.
type lots []eyrie.Digest

func (l lots) Len() int           { return len(l) }
func (l lots) Less(i, j int) bool { return compareLots(l[i], l[j]) > 0 }
func (l lots) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *lots) Push(x any)        { *l = append(*l, x.(eyrie.Digest)) }
func (l *lots) Pop() any {
	old := *l
	last := old[len(old)-1]
	*l = old[:len(old)-1]
	return last
}

// order holds prompts in a file of its own, from which they are read one by
// one in the order of their lots. In memory a row takes 32 bytes.
type order struct {
	file    *os.File
	removed bool // from its folder, already
	rows    []stored
}

// stored is where a prompt stands in the file.
type stored struct {
	lot    eyrie.Digest
	offset int64
	size   int32
}

// shuffle reads the set once into an order.
func (s *Set) shuffle() (*order, error) {
	f, err := os.CreateTemp("", "eyrie-shuffle-*")
	if err != nil {
		return nil, s.src.wrap(fmt.Errorf("shuffle: %w", err))
	}
	// Where an open file can be removed, nothing stays behind however the
	// process ends.
	o := &order{file: f, removed: os.Remove(f.Name()) == nil}
	w := &appender{file: f}
	err = s.scan(func(p *eyrie.Prompt) bool {
		at := w.at
		size := w.put(p)
		o.rows = append(o.rows, stored{s.draw(asks(p)), at, int32(size)})
		return w.err == nil
	})
	if errors.Is(err, errStopped) {
		err = s.src.wrap(fmt.Errorf("shuffle: %w", w.err))
	}
	if flushErr := w.flush(); err == nil && flushErr != nil {
		err = s.src.wrap(fmt.Errorf("shuffle: %w", flushErr))
	}
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	slices.SortFunc(o.rows, func(a, b stored) int { return compareLots(a.lot, b.lot) })
	return o, nil
}

// appender writes prompts one behind the other.
type appender struct {
	file *os.File
	buf  []byte
	at   int64
	err  error
}

// put appends a prompt and returns its size.
func (w *appender) put(p *eyrie.Prompt) int {
	raw, err := json.Marshal(p)
	if err != nil {
		w.err = err
		return 0
	}
	w.buf = append(w.buf, raw...)
	w.at += int64(len(raw))
	if len(w.buf) >= 1<<20 {
		w.err = w.flush()
	}
	return len(raw)
}

func (w *appender) flush() error {
	if w.err != nil {
		return w.err
	}
	_, err := w.file.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// prompts gives the prompts in their order.
func (o *order) prompts(each func(*eyrie.Prompt) bool) error {
	var buf []byte
	for n, r := range o.rows {
		buf = slices.Grow(buf[:0], int(r.size))[:r.size]
		if _, err := o.file.ReadAt(buf, r.offset); err != nil {
			return fmt.Errorf("shuffle: %w", err)
		}
		p := new(eyrie.Prompt)
		if err := json.Unmarshal(buf, p); err != nil {
			return fmt.Errorf("shuffle: %w", err)
		}
		p.Ordinal = n
		if len(p.Tools) == 0 {
			p.Tools = nil // as it was
		}
		if !each(p) {
			return errStopped
		}
	}
	return nil
}

func (o *order) close() error {
	err := o.file.Close()
	if !o.removed {
		err = errors.Join(err, os.Remove(o.file.Name()))
	}
	return err
}
