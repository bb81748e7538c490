package export

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"

	"github.com/eyrie-ai/eyrie"
)

// writer makes the files of one export in a stage. Rows are gathered to blocks
// by the caller's goroutine, blocks are encoded by as many goroutines as there
// are processors, and one goroutine writes them in order.
type writer struct {
	stage    *stage
	opts     Options
	manifest *Manifest
	coder    coder
	counts   []counts // of each encoding goroutine
	own      int64    // supervised tokens of answers of which is known who gave them

	refused *file
	splits  map[string]*split // owned by the goroutine that writes
}

// batch is the rows of one block before they are encoded.
type batch struct {
	split  string
	rows   []*Row
	weight int
	last   bool // of its shard, as shards are counted in rows
}

// block is encoded rows.
type block struct {
	batch
	data   []byte // for the file of rows
	meta   []byte // lines of meta.jsonl
	tokens int64
	group  any // what the coder wants to know of it when it is placed
}

// coder makes files of rows. encode is called by several goroutines at once,
// the others for one file after the other.
type coder interface {
	// encode makes the data of a block.
	encode(b *block) error
	// begin returns what a file starts with.
	begin(s *shard) []byte
	// place tells of a block that is about to be written at the shard's end.
	place(s *shard, b *block)
	// end returns what a file ends with.
	end(s *shard) ([]byte, error)
	// beside writes the files that belong to files of rows that have their names.
	beside(w *writer, splits []*split) error
}

func (w *writer) write(rows iter.Seq2[*Row, error]) (err error) {
	if w.refused, err = w.stage.create(refusedFile); err != nil {
		return err
	}
	if _, err := w.split(eyrie.Train); err != nil { // is there even without rows
		return err
	}
	produce := func(submit func(*batch) error) error { return w.gather(rows, submit) }
	return pipeline(len(w.counts), produce, w.encode, w.put)
}

// gather makes batches of rows.
func (w *writer) gather(rows iter.Seq2[*Row, error], submit func(*batch) error) error {
	open := map[string]*batch{}
	inShard := map[string]int{}
	limit := w.opts.blockWeight()
	for r, err := range rows {
		if err != nil {
			return err
		}
		if why := w.opts.refuse(r); why != "" {
			if err := w.refuse(r, why); err != nil {
				return err
			}
			continue
		}
		w.manifest.add(r)
		if r.Meta.Model != "" { // no answer of another model is ever accepted
			w.own += int64(len(r.IDs.CompletionIDs))
		}
		name, err := splitName(r)
		if err != nil {
			return err
		}
		b := open[name]
		if b != nil && b.weight+weight(r) > limit {
			if err := submit(b); err != nil {
				return err
			}
			b = nil
		}
		if b == nil {
			b = &batch{split: name}
			open[name] = b
		}
		b.rows = append(b.rows, r)
		b.weight += weight(r)
		if inShard[name]++; inShard[name] == w.opts.ShardRows {
			b.last = true
			delete(open, name)
			inShard[name] = 0
			if err := submit(b); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		if err := submit(open[name]); err != nil {
			return err
		}
	}
	return nil
}

// blockWeight is when a block is full; a row that is larger is a block alone.
// Shards end between blocks, so a small shard needs small blocks.
func (o *Options) blockWeight() int {
	if o.ShardBytes > 0 {
		return int(max(1, min(int64(o.Format.blockTokens), o.ShardBytes/16)))
	}
	return o.Format.blockTokens
}

// weight is about how much memory a row takes, in ids.
func weight(r *Row) int {
	n := len(r.IDs.PromptIDs) + len(r.IDs.CompletionIDs)
	if r.Err != nil {
		n = len(r.Answer.Content) + len(r.Answer.Reasoning)
	}
	return n + 16
}

var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// splitName is the split of a row's conversation, train where the set is not
// divided.
func splitName(r *Row) (string, error) {
	if r.Meta.Split == "" {
		return eyrie.Train, nil
	}
	if !plainName.MatchString(r.Meta.Split) {
		return "", fmt.Errorf("row %s: the split %q cannot be the name of a file: want small letters and digits", r.ID, r.Meta.Split)
	}
	return r.Meta.Split, nil
}

func (w *writer) refuse(r *Row, why string) (err error) {
	w.manifest.refuse(r)
	line, err := appendRefused(w.refused.line[:0], r, why)
	if err != nil {
		return err
	}
	w.refused.line = append(line, '\n')
	_, err = w.refused.Write(w.refused.line)
	return err
}

// encode makes a block, on one of the encoding goroutines.
func (w *writer) encode(worker int, in *batch) (*block, error) {
	b := &block{batch: *in}
	c := &w.counts[worker]
	for _, r := range b.rows {
		c.add(r)
		b.tokens += int64(len(r.IDs.PromptIDs) + len(r.IDs.CompletionIDs))
		var err error
		if b.meta, err = appendMeta(b.meta, r); err != nil {
			return nil, fmt.Errorf("row %s: %w", r.ID, err)
		}
		b.meta = append(b.meta, '\n')
	}
	return b, w.coder.encode(b)
}

// put writes a block.
func (w *writer) put(b *block) error {
	s, err := w.split(b.split)
	if err != nil {
		return err
	}
	if _, err := s.meta.Write(b.meta); err != nil {
		return err
	}
	sh, err := s.room(w, len(b.data))
	if err != nil {
		return err
	}
	w.coder.place(sh, b)
	if _, err := sh.file.Write(b.data); err != nil {
		return err
	}
	sh.rows += len(b.rows)
	sh.tokens += b.tokens
	sh.full = b.last
	return nil
}

// finish ends all files, names them, and writes what tells of them.
func (w *writer) finish() error {
	total := &counts{}
	for i := range w.counts {
		total.merge(&w.counts[i])
	}
	var splits []*split
	for _, name := range w.order() {
		s := w.splits[name]
		if err := s.end(w); err != nil {
			return err
		}
		splits = append(splits, s)
	}
	if err := w.name(splits); err != nil {
		return err
	}
	if err := w.coder.beside(w, splits); err != nil {
		return err
	}
	for _, s := range splits {
		if err := w.close(s.meta); err != nil {
			return err
		}
	}
	if err := w.close(w.refused); err != nil {
		return err
	}
	if err := w.vocabulary(total); err != nil {
		return err
	}
	if w.manifest.SupervisedTokens > 0 {
		w.manifest.OnPolicy = float64(w.own) / float64(w.manifest.SupervisedTokens)
	}
	w.manifest.Lengths = &Lengths{Rows: total.rows.lengths(), Completions: total.completions.lengths()}
	if err := w.add(cardFile, card(w.manifest, w.opts.Format)); err != nil {
		return err
	}
	b, err := w.manifest.marshal()
	if err != nil {
		return err
	}
	return w.stage.write(manifestFile, b)
}

// order lists the splits, train first.
func (w *writer) order() []string {
	names := slices.Sorted(maps.Keys(w.splits))
	i := slices.Index(names, eyrie.Train)
	return append([]string{eyrie.Train}, slices.Delete(names, i, i+1)...)
}

// close ends a file and notes it in the manifest.
func (w *writer) close(f *file) error {
	entry, err := f.close()
	w.manifest.Files = append(w.manifest.Files, entry)
	return err
}

// add writes a small file and notes it in the manifest.
func (w *writer) add(name string, content []byte) error {
	f, err := w.stage.create(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return w.close(f)
}
