package bpe

import "math/bits"

// Encoder encodes pieces one after the other and remembers, within bounds, what
// they came to: text repeats its words. It is not safe for concurrent use.
type Encoder struct {
	model *Model
	memory
	verdicts [1 << verdictBits]verdict
}

const verdictBits = 13

// verdict is two ranks and, in the lowest bit, whether they keep the boundary
// between them. It is never 0, as the highest bit is set.
type verdict uint64

// NewEncoder returns an encoder with an empty memory, which takes a little more
// than a megabyte.
func (m *Model) NewEncoder() *Encoder { return &Encoder{model: m} }

// Append appends the ids of the piece s[i:end] to dst. The bytes of s behind
// end are looked at but do not matter.
func (e *Encoder) Append(dst []int32, s string, i, end int) []int32 {
	if (isWide(s[i]) || i+1 < end && isWide(s[i+1])) && e.model.direct {
		return e.parts(dst, s, i, i, end)
	}
	return e.piece(dst, s, i, end)
}

// parts is Append for a piece that may have seams, from byte at on.
func (e *Encoder) parts(dst []int32, s string, i, at, end int) []int32 {
	for at < end {
		before, n := e.model.seams.run(s, at, end)
		for ; before != 0; before &= before - 1 {
			seam := at + 3*bits.TrailingZeros64(before)
			dst = e.piece(dst, s, i, seam)
			i = seam
		}
		at += max(3*n, 1) // a seam between this run and the next is passed over
	}
	return e.piece(dst, s, i, end)
}

// piece is Append for a piece, or a part of one, that is looked up whole.
func (e *Encoder) piece(dst []int32, s string, i, end int) []int32 {
	switch n := end - i; {
	case n <= maxWord:
		key := load(s, i, n)
		if id, ok := e.words.find(key, n); ok {
			return append(dst, id)
		}
		return e.phrase(dst, s, i, n, key, 0)
	case n <= maxPhrase:
		return e.phrase(dst, s, i, n, load(s, i, 8), load(s, i+8, n-8))
	}
	return e.passage(dst, s, i, end)
}

// phrase is piece for n bytes of s from i, which are those of lo and hi.
func (e *Encoder) phrase(dst []int32, s string, i, n int, lo, hi uint64) []int32 {
	known := e.phrases.at(lo, hi, n)
	if known.is(lo, hi, n) {
		if known.count == 1 {
			return append(dst, known.ids[0])
		}
		return append(dst, known.ids[:known.count]...)
	}
	base := len(dst)
	if id, ok := e.model.whole.findUpTo16(lo, hi, uint32(n)); ok {
		dst = append(dst, id)
		if n <= maxWord && e.words.add(lo, n, id) {
			return dst
		}
	} else {
		dst = e.several(dst, s, i, i+n)
	}
	known.set(lo, hi, n, dst[base:])
	return dst
}

// passage is piece for more bytes than a phrase has.
func (e *Encoder) passage(dst []int32, s string, i, end int) []int32 {
	if id, ok := e.model.whole.find(s, i, end); ok {
		return append(dst, id)
	}
	return e.several(dst, s, i, end)
}

// several is piece for more than one token.
func (e *Encoder) several(dst []int32, s string, i, end int) []int32 {
	if end-i > maxPassage {
		return e.merge(dst, s, i, end)
	}
	known := e.passages.at(s, i, end)
	if known.is(s[i:end]) {
		return append(dst, known.ids[:known.count]...)
	}
	base := len(dst)
	dst = e.merge(dst, s, i, end)
	known.set(s[i:end], dst[base:])
	return dst
}

// merge is several for what is not remembered.
func (e *Encoder) merge(dst []int32, s string, i, end int) []int32 {
	if e.model.literal != nil && e.model.hasLate(s[i:end]) {
		return e.model.literal.append(dst, s[i:end])
	}
	if isWide(s[i]) && e.model.direct {
		if dst, ok := e.model.appendChars(dst, s[i:end]); ok {
			return dst
		}
	}
	if end-i <= mostUnits {
		return e.model.appendBytes(dst, s[i:end])
	}
	return e.search(dst, s[i:end])
}

// keeps reports whether the boundary before b, which a text begins with, is kept
// when it follows on last.
func (e *Encoder) keeps(last *match, b rank) bool {
	a := last.token
	key := 1<<63 | verdict(a)<<32 | verdict(b)<<1
	entry := &e.verdicts[pairHash(a, b)>>(64-verdictBits)]
	if *entry&^1 == key {
		return *entry&1 != 0
	}
	kept := e.model.keeps(a, b, last.longest)
	*entry = key
	if kept {
		*entry |= 1
	}
	return kept
}
