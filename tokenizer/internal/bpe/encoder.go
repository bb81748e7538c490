package bpe

// Encoder encodes pieces one after the other and remembers, within bounds,
// what was hard about them: text repeats its rare words, and the same tokens
// meet again and again. It is not safe for concurrent use.
type Encoder struct {
	model    *Model
	pieces   [1 << pieceBits]rememberedPiece
	verdicts [1 << verdictBits]verdict
}

// searchWide is from how many bytes on a piece of wide characters is searched at
// once: it is seldom a token, or a piece that was there before.
const searchWide = 10

const (
	pieceBits   = 12
	verdictBits = 15
)

// rememberedPiece is a piece of several tokens and its ids. Both are short
// enough to lie in the entry, which fills one line of the cache.
type rememberedPiece struct {
	len, count uint8
	text       [30]byte
	ids        [8]int32
}

// verdict is two ranks and, in the lowest bit, whether they keep the boundary
// between them. It is never 0, as the highest bit is set.
type verdict uint64

// NewEncoder returns an encoder with an empty memory, which takes half a
// megabyte.
func (m *Model) NewEncoder() *Encoder { return &Encoder{model: m} }

// Append appends the ids of the piece s[i:end] to dst. The bytes of s behind
// end are looked at but do not matter.
func (e *Encoder) Append(dst []int32, s string, i, end int) []int32 {
	if end-i >= searchWide && e.model.direct && isWide(s[i]) {
		return e.search(dst, s[i:end])
	}
	if id, ok := e.model.whole.find(s, i, end); ok {
		return append(dst, id)
	}
	return e.several(dst, s, i, end)
}

// several is Append for a piece that is no token.
func (e *Encoder) several(dst []int32, s string, i, end int) []int32 {
	n := end - i
	var entry *rememberedPiece
	if n <= len(entry.text) {
		entry = &e.pieces[pieceHash(s, i, n)>>(64-pieceBits)]
		if string(entry.text[:entry.len]) == s[i:end] {
			return append(dst, entry.ids[:entry.count]...)
		}
	}
	base := len(dst)
	if e.model.literal != nil && e.model.hasLate(s[i:end]) {
		dst = e.model.literal.append(dst, s[i:end])
	} else {
		dst = e.search(dst, s[i:end])
	}
	if ids := dst[base:]; entry != nil && len(ids) <= len(entry.ids) {
		entry.len, entry.count = uint8(n), uint8(len(ids))
		copy(entry.text[:], s[i:end])
		copy(entry.ids[:], ids)
	}
	return dst
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

// pieceHash hashes n bytes of s from i by their beginning, end and number.
func pieceHash(s string, i, n int) uint64 {
	if n <= 8 {
		return shortHash(load(s, i, n), uint32(n))
	}
	return midHash(load(s, i, 8), load(s, i+n-8, 8)^load(s, i+n/2-4, 8)*31, uint32(n))
}
