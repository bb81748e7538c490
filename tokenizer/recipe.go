package tokenizer

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"sync"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/bpe"
	"github.com/eyrie-ai/eyrie/tokenizer/internal/nfc"
	"github.com/eyrie-ai/eyrie/tokenizer/internal/pattern"
)

// recipe is what a vocabulary file says, whatever its format: everything that
// decides ids.
type recipe struct {
	family     string
	file       string         // for error messages
	merging    bpe.Vocabulary // ordinary tokens
	added      []addedToken   // in the order of their ids
	named      []addedToken   // those at which ChunkKimiHF cuts
	nfc        bool           // normalize to Form C first
	dialect    pattern.Dialect
	patterns   []string // split with each in turn
	cuts       bool     // chunk modes apply
	before     []int32  // the template
	after      []int32
	otherBytes map[int32]string // tokens merging has nothing to do with, besides added ones
}

// model is what all chunk modes of a loaded vocabulary share. It does not
// change once made.
type model struct {
	recipe     *recipe
	tokens     []string // the bytes of each token by id; empty where there is none
	added      map[int32]addedToken
	ids        map[string]int32 // of added tokens, by literal
	encoders   sync.Pool        // of *bpe.Encoder
	splits     []splitter
	normalize  func(string) string
	literals   *literals // added tokens to look for in the text as it came
	normalized *literals // and those to look for after the normalizer
	named      *literals
	digest     [sha256.Size]byte // of the recipe
	byBytes    func() lookup     // made at first use
}

// build makes the model of a recipe.
func (r *recipe) build() (*model, error) {
	m := &model{
		recipe:    r,
		added:     make(map[int32]addedToken, len(r.added)),
		ids:       make(map[string]int32, len(r.added)),
		normalize: func(s string) string { return s },
		named:     newLiterals(r.named),
	}
	if r.nfc {
		m.normalize = nfc.Normalize
	}
	for _, expr := range r.patterns {
		next, err := newSplitter(expr, r.dialect)
		if err != nil {
			return nil, fmt.Errorf("tokenizer: %s: %w", r.file, err)
		}
		m.splits = append(m.splits, next)
	}
	if err := m.place(); err != nil {
		return nil, err
	}
	var hashed sync.WaitGroup
	hashed.Go(func() { m.digest = r.sum() })
	defer hashed.Wait()
	merger, err := bpe.New(r.merging)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %s: %w", r.file, err)
	}
	m.byBytes = sync.OnceValue(func() lookup { return newLookup(m.tokens) })
	m.encoders.New = func() any { return merger.NewEncoder() }
	return m, nil
}

// maxID bounds ids, so that a damaged one cannot ask for all memory.
const maxID = 1 << 24

// place lays out all tokens by id and indexes the added ones.
func (m *model) place() error {
	r := m.recipe
	m.tokens = append(m.tokens, r.merging.Tokens...)
	put := func(id int32, text string) {
		for int(id) >= len(m.tokens) {
			m.tokens = append(m.tokens, "")
		}
		m.tokens[id] = text
	}
	for id, text := range r.otherBytes {
		put(id, text)
	}
	var early, late []addedToken
	for _, tok := range r.added {
		if err := m.checkAdded(tok); err != nil {
			return err
		}
		if tok.Normalized {
			tok.Content = m.normalize(tok.Content)
			late = append(late, tok)
		} else {
			early = append(early, tok)
		}
		if m.recipe.merging.Merges != nil {
			put(tok.ID, addedBytes(tok.Content))
		} else {
			put(tok.ID, tok.Content)
		}
		m.added[tok.ID] = tok
		m.ids[tok.Content] = tok.ID
	}
	m.literals, m.normalized = newLiterals(early), newLiterals(late)
	return nil
}

func (m *model) checkAdded(tok addedToken) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("tokenizer: %s: added token %d %q: %s", m.recipe.file, tok.ID, tok.Content, fmt.Sprintf(format, args...))
	}
	switch {
	case tok.ID < 0 || tok.ID > maxID:
		return bad("id is not between 0 and %d", maxID)
	case tok.Content == "":
		return bad("no content")
	case tok.SingleWord:
		return bad("single_word is not supported")
	}
	if other, ok := m.added[tok.ID]; ok {
		return bad("the id is also that of %q", other.Content)
	}
	if id, ok := m.ids[tok.Content]; ok {
		return bad("the content is also that of id %d", id)
	}
	return nil
}

// sum hashes the recipe. Every part is preceded by its length or count, so
// that different recipes are different byte strings.
func (r *recipe) sum() (out [sha256.Size]byte) {
	w := digestWriter{h: sha256.New()}
	w.text("eyrie tokenizer 1")
	w.number(len(r.merging.Tokens))
	for _, text := range r.merging.Tokens {
		w.text(text)
	}
	w.number(len(r.merging.Merges))
	for _, m := range r.merging.Merges {
		w.number(int(m.Left))
		w.number(int(m.Right))
		w.number(int(m.Token))
	}
	w.flag(r.merging.Merges == nil)
	w.flag(r.merging.WholeFirst)
	w.number(len(r.added))
	for _, tok := range r.added {
		w.number(int(tok.ID))
		w.text(tok.Content)
		w.flag(tok.LStrip)
		w.flag(tok.RStrip)
		w.flag(tok.Normalized)
	}
	w.number(len(r.named))
	for _, tok := range r.named {
		w.number(int(tok.ID))
	}
	w.flag(r.nfc)
	w.number(int(r.dialect))
	w.number(len(r.patterns))
	for _, expr := range r.patterns {
		w.text(expr)
	}
	w.flag(r.cuts)
	w.flush()
	w.h.Sum(out[:0])
	return out
}

// digestWriter collects small parts for a hash.
type digestWriter struct {
	h   hash.Hash
	buf []byte
}

func (w *digestWriter) number(n int) { w.buf = binary.AppendUvarint(w.buf, uint64(n)) }

func (w *digestWriter) flag(b bool) {
	n := 0
	if b {
		n = 1
	}
	w.number(n)
}

func (w *digestWriter) text(s string) {
	w.number(len(s))
	w.buf = append(w.buf, s...)
	if len(w.buf) > 32<<10 {
		w.flush()
	}
}

func (w *digestWriter) flush() {
	w.h.Write(w.buf)
	w.buf = w.buf[:0]
}
