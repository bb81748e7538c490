package bpe

// seams knows where two characters meet that no token has side by side. Merging
// never crosses such a place, so that what is before it and what is behind it can
// be looked up or searched apart. In Chinese and Japanese, where a piece is all
// that stands between two punctuation marks, there is a seam every other
// character, and most of what lies between two is a single token.
//
// It is kept for characters from U+3000 to U+FFFF, which are three bytes long.
// The pairs that tokens have are bits of a filter, so that some seams are
// missed, which costs time and changes nothing.
type seams struct {
	joined []uint64
	// ragged has, for the last byte of a character, bits of the first bytes of
	// the next. It is for tokens that have so little of both that they stand
	// for too many pairs.
	ragged [64]uint16
}

const (
	firstWide = 0xe3 // the first byte of U+3000
	lastWide  = 0xef // and of U+FFFF

	lastWideChar = 0xffff

	seamBits = 20
)

// isWide reports whether characters that seams knows begin so.
func isWide(b byte) bool { return b-firstWide <= lastWide-firstWide }

// wideAt returns the low 16 bits of the character at s[i], which is one of those
// that seams knows.
func wideAt(s string, i, end int) (char uint32, ok bool) {
	if i+3 > end || i+3 > len(s) {
		return 0, false
	}
	a, b, c := s[i], s[i+1], s[i+2]
	return uint32(a)<<12&0xf000 | uint32(b)<<6&0xfc0 | uint32(c)&0x3f, isWide(a) && b&0xc0 == 0x80 && c&0xc0 == 0x80
}

// seamHash returns the bit of two neighbours.
func seamHash(a, b uint32) uint32 {
	return (a<<16 | b) * 0x9e3779b1 >> (32 - seamBits)
}

// join notes that a token has the two characters side by side.
func (m *seams) join(a, b uint32) {
	h := seamHash(a, b)
	m.joined[h>>6] |= 1 << (h & 63)
}

// between reports whether there is a seam between two characters.
func (m *seams) between(a, b uint32) bool {
	h := seamHash(a, b)
	return m.joined[h>>6]>>(h&63)&1|uint64(m.ragged[a&63]>>(b>>12)&1) == 0
}

// next returns the first seam of s behind i, or end.
func (m *seams) next(s string, i, end int) int {
	last, ok := wideAt(s, i, end)
	for {
		if !ok {
			i++
		} else {
			i += 3
		}
		if i >= end {
			return end
		}
		char, wide := wideAt(s, i, end)
		if ok && wide && m.between(last, char) {
			return i
		}
		last, ok = char, wide
	}
}

// newSeams returns the seams of a vocabulary.
func newSeams(tokens []string) seams {
	m := seams{joined: make([]uint64, 1<<seamBits/64)}
	for _, tok := range tokens {
		for i := 1; i < len(tok); i++ {
			if isWide(tok[i]) {
				m.add(tok[max(i-3, 0):i], tok[i:min(i+3, len(tok))])
			}
		}
	}
	return m
}

// add notes that a token has the two parts of text side by side. They are up to
// three bytes each, shorter at the token's own ends, where they stand for all
// characters that end or begin so.
func (m *seams) add(left, right string) {
	const most = 1 << 10 // pairs to note one by one
	a, okA := wideAt("\xe3\x80"[:3-len(left)]+left, 0, 3)
	b, okB := wideAt(right+"\x80\x80"[:3-len(right)], 0, 3)
	if !okA || !okB {
		return
	}
	lefts, rights := uint32(1)<<16>>(6*len(left)), uint32(1)<<(6*(3-len(right)))
	if lefts*rights > most {
		m.ragged[a&63] |= 1 << (b >> 12)
		return
	}
	for x := a; x <= lastWideChar; x += 1 << (6 * len(left)) {
		for y := b; y < b+rights; y++ {
			m.join(x, y)
		}
	}
}
