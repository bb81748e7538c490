package tokenizer

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Tokenizer turns text into token ids and back. It is safe for concurrent use.
type Tokenizer struct {
	*model
	chunks ChunkMode
}

// WithChunks returns a tokenizer for the same vocabulary that cuts long texts
// as m says. The two share everything else.
func (t *Tokenizer) WithChunks(m ChunkMode) *Tokenizer { return &Tokenizer{t.model, m} }

// Family names the way text is split: "kimi", "o200k" (gpt-oss, Llama 4),
// "cl100k" (Llama 3), "qwen", "deepseek", "gpt2", or "bpe" for any other.
func (t *Tokenizer) Family() string { return t.recipe.family }

// VocabSize returns the number of ids: one more than the highest, of added
// tokens too. Some ids below may have no token.
func (t *Tokenizer) VocabSize() int { return len(t.tokens) }

// Digest identifies all that decides ids: vocabulary, merges, added tokens,
// normalizer, split patterns and chunk mode. It is a SHA-256 in hexadecimal.
// Two tokenizers with the same digest give the same ids for every text,
// whatever file formats they were loaded from.
func (t *Tokenizer) Digest() string {
	if !t.recipe.cuts {
		return hex.EncodeToString(t.digest[:])
	}
	sum := sha256.Sum256(append(t.digest[:], t.chunks.String()...))
	return hex.EncodeToString(sum[:])
}

// Token returns a copy of a token's bytes, which need not be UTF-8. It is
// false for an id without a token.
func (t *Tokenizer) Token(id int32) ([]byte, bool) {
	text := t.text(id)
	return []byte(text), text != ""
}

// Special returns the id of the added token with this literal.
func (t *Tokenizer) Special(literal string) (int32, bool) {
	id, ok := t.ids[literal]
	return id, ok
}

// IsSpecial reports whether id is an added token: one that [Tokenizer.Encode]
// never produces.
func (t *Tokenizer) IsSpecial(id int32) bool {
	_, ok := t.added[id]
	return ok
}

// Hidden reports whether id is an added token marked as special, which engines
// leave out of text when told to skip special tokens. Kimi's tool and thinking
// tokens are added, but not hidden.
func (t *Tokenizer) Hidden(id int32) bool { return t.added[id].Special }

// Template returns the ids that the vocabulary's post-processor puts around a
// text when asked to add special tokens, a beginning-of-text token for
// instance. No method here adds them.
func (t *Tokenizer) Template() (before, after []int32) {
	return slices.Clone(t.recipe.before), slices.Clone(t.recipe.after)
}
