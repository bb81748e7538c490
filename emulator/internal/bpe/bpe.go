// Package bpe turns text into Kimi K2 token ids and back, exactly and plainly.
//
// A vocabulary is a list of byte strings; a token's id is its place in the
// list, and its place is also its merge priority. Encoding happens in four
// steps, each in its own file: text is cut where the model's own tokenizer
// cuts very long inputs (cut.go), special literals become control tokens
// (special.go), the rest is split into pieces by the model's pattern
// (split.go), and each piece is merged from single bytes, lowest id first
// (merge.go).
//
// The package prefers being obviously right over being fast. What makes it
// quick enough for a server is a cache from piece to ids, because real text
// repeats its words.
package bpe

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// ID is a token id.
type ID = uint32

// Vocabulary holds the ordinary tokens and the special tokens behind them.
// It is safe for concurrent use.
type Vocabulary struct {
	tokens  [][]byte      // by id, specials included
	ranks   map[string]ID // ordinary tokens only
	special map[string]ID // literal to id
	first   ID            // first special id
	class   []class       // by code point

	mu    sync.RWMutex
	cache map[string][]ID // piece to ids; guarded by mu, values never change
}

// cacheLimit bounds the number of cached pieces; a full cache is emptied.
const cacheLimit = 1 << 16

// Read reads a vocabulary: one token a line, base64 bytes, a space, the id.
// Ids must count up from zero and all 256 single bytes must be present, which
// is what makes every byte string encodable. The 256 special ids follow the
// last ordinary one.
func Read(r io.Reader) (*Vocabulary, error) {
	v := &Vocabulary{ranks: map[string]ID{}, cache: map[string][]ID{}, class: classes()}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := v.add(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("vocabulary: line %d: %w", len(v.tokens)+1, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("vocabulary: line %d: %w", len(v.tokens)+1, err)
	}
	for b := range 256 {
		if _, ok := v.ranks[string([]byte{byte(b)})]; !ok {
			return nil, fmt.Errorf("vocabulary: byte %#02x is not a token", b)
		}
	}
	v.addSpecials()
	return v, nil
}

func (v *Vocabulary) add(line []byte) error {
	text, rank, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return fmt.Errorf("no space between token and id in %q", line)
	}
	token, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(rank)))
	if err != nil {
		return err
	}
	if n != len(v.tokens) {
		return fmt.Errorf("id %d where %d was due", n, len(v.tokens))
	}
	if _, twice := v.ranks[string(token)]; twice {
		return fmt.Errorf("token %q appears twice", token)
	}
	v.tokens = append(v.tokens, token)
	v.ranks[string(token)] = ID(n)
	return nil
}

// Token returns the bytes of an id, the literal for a special one. Callers
// must not change them.
func (v *Vocabulary) Token(id ID) []byte { return v.tokens[id] }

// Lookup returns the ordinary token with exactly these bytes.
func (v *Vocabulary) Lookup(token []byte) (ID, bool) {
	id, ok := v.ranks[string(token)]
	return id, ok
}

// Decode returns the bytes of ids, one after another.
func (v *Vocabulary) Decode(ids []ID) []byte {
	var out []byte
	for _, id := range ids {
		out = append(out, v.tokens[id]...)
	}
	return out
}

// Encode appends the ids of text to dst. Special literals in text are plain
// text here.
func (v *Vocabulary) Encode(dst []ID, text string) []ID {
	for part := range cuts(text) {
		for part != "" {
			n := v.pieceLen(part)
			dst = append(dst, v.piece(part[:n])...)
			part = part[n:]
		}
	}
	return dst
}

// EncodePrompt appends the ids of a rendered prompt to dst, turning special
// literals into control tokens wherever they stand, as the inference engines
// do: also when a user typed one.
func (v *Vocabulary) EncodePrompt(dst []ID, text string) []ID {
	for text != "" {
		at, n, id := v.nextSpecial(text)
		dst = v.Encode(dst, text[:at])
		if n > 0 {
			dst = append(dst, id)
		}
		text = text[at+n:]
	}
	return dst
}

func (v *Vocabulary) piece(piece string) []ID {
	v.mu.RLock()
	ids, ok := v.cache[piece]
	v.mu.RUnlock()
	if ok {
		return ids
	}
	ids = v.merge(piece)
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.cache) >= cacheLimit {
		clear(v.cache)
	}
	v.cache[string([]byte(piece))] = ids // a copy, so that the cache does not keep whole texts alive
	return ids
}
