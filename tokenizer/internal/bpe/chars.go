package bpe

// chars is for merging a part of a piece character by character instead of byte
// by byte. Nothing differs where every character is a token, and becomes one
// before its bytes can merge with what is next to it. A character's neighbours
// prevent that only with a token that has a part of it and ranks lower.
type chars struct {
	ranks []rank // of characters, less firstChar; or none
	// odd is a filter of the neighbours that can prevent one another.
	odd [1 << oddBits / 64]uint64
}

const oddBits = 18

// chars returns the characters of a vocabulary all of whose tokens have ranks.
// The places in tokens where one of two characters is not all there are halved.
func (b *builder) chars(halved []meeting) *chars {
	c := &chars{ranks: make([]rank, pastChar-firstChar)}
	for i := range c.ranks {
		c.ranks[i] = none
	}
	for r, tok := range b.model.tokens {
		if tok.len == 3 && tok.made() {
			if char, ok := wideAt(b.vocab[b.model.ids[r]], 0, 3); ok {
				c.ranks[char-firstChar] = rank(r)
			}
		}
	}
	for _, m := range halved {
		c.note(m.left, m.right, b.rankOf[m.id])
	}
	return c
}

// note enters the neighbours that a token of rank r has parts of.
func (c *chars) note(left, right string, r rank) {
	late := func(char uint32, part string) bool {
		made := c.ranks[char-firstChar]
		return made != none && (len(part) == 3 || made > r)
	}
	for a := range endingIn(left) {
		if !late(a, left) {
			continue
		}
		for b := range beginningWith(right) {
			if late(b, right) {
				h := seamHash(a, b) >> (seamBits - oddBits)
				c.odd[h>>6] |= 1 << (h & 63)
			}
		}
	}
}

// isOdd reports whether the two characters may prevent one another.
func (c *chars) isOdd(a, b uint32) bool {
	h := seamHash(a, b) >> (seamBits - oddBits)
	return c.odd[h>>6]>>(h&63)&1 != 0
}

// appendChars appends the ids of s to dst. It is false, and has appended nothing,
// where s is not for this.
func (m *Model) appendChars(dst []int32, s string) ([]int32, bool) {
	n := len(s) / 3
	if n > mostUnits || 3*n != len(s) {
		return dst, false
	}
	var units [mostUnits]rank
	last := uint32(0)
	for i := range n {
		char, ok := wideAt(s, 3*i, len(s))
		if !ok || i > 0 && m.chars.isOdd(last, char) {
			return dst, false
		}
		last = char
		if units[i] = m.chars.ranks[char-firstChar]; units[i] == none {
			return dst, false
		}
	}
	return m.appendMerged(dst, &units, n), true
}
