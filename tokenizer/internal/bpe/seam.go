package bpe

import "iter"

// seams knows where two characters meet that no token has side by side. Merging
// never crosses such a place, so that what is before it and what is behind it can
// be looked up or searched apart. In Chinese and Japanese, where a piece is all
// that stands between two punctuation marks, there is a seam every other
// character, and most of what lies between two is a single token.
//
// It is kept for characters from U+2000 to U+FFFF, which are three bytes long.
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
	firstWide = 0xe2 // the first byte of U+2000
	lastWide  = 0xef // and of U+FFFF

	firstChar = 0x2000
	pastChar  = 0x10000

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

// between is 1 if there is a seam between two characters, and else 0.
func (m *seams) between(a, b uint32) uint64 {
	h := seamHash(a, b)
	return (m.joined[h>>6]>>(h&63)|uint64(m.ragged[a&63]>>(b>>12)))&1 ^ 1
}

// run reads up to 64 characters that seams knows from s[i:end]. It returns how
// many there are, and a bit for each of them that has a seam before it.
//
// A processor cannot guess where seams are, and it costs much where it tries. So
// this is without a branch for it.
func (m *seams) run(s string, i, end int) (before uint64, n int) {
	last, ok := wideAt(s, i, end)
	if !ok {
		return 0, 0
	}
	for n = 1; n < 64; n++ {
		char, ok := wideAt(s, i+3*n, end)
		if !ok {
			break
		}
		before |= m.between(last, char) << n
		last = char
	}
	return before, n
}

// newSeams returns the seams of a vocabulary, and the places in its tokens where
// one of two characters is not all there.
func newSeams(tokens []string) (seams, []meeting) {
	m := seams{joined: make([]uint64, 1<<seamBits/64)}
	var halved []meeting
	for id, tok := range tokens {
		for i := 1; i < len(tok); i++ {
			if !isWide(tok[i]) {
				continue
			}
			left, right := tok[max(i-3, 0):i], tok[i:min(i+3, len(tok))]
			switch {
			case len(left)+len(right) == 6:
				a, okLeft := wideAt(left, 0, 3)
				b, okRight := wideAt(right, 0, 3)
				if okLeft && okRight {
					m.join(a, b)
				}
			case canEnd(left) && canBegin(right):
				m.add(left, right)
				halved = append(halved, meeting{left, right, int32(id)})
			}
		}
	}
	return m, halved
}

// meeting is where two characters meet in the token id: what is before and what
// is behind, of up to three bytes. It is less at the token's own ends, where it
// stands for all characters that end or begin so.
type meeting struct {
	left, right string
	id          int32
}

// add notes what a token has side by side.
func (m *seams) add(left, right string) {
	const most = 1 << 10 // pairs to note one by one
	if lefts, rights := 1<<max(16-6*len(left), 0), 1<<(18-6*len(right)); lefts*rights > most {
		m.ragged[left[len(left)-1]&63] |= 1 << (right[0] & 15)
		return
	}
	for a := range endingIn(left) {
		for b := range beginningWith(right) {
			m.join(a, b)
		}
	}
}

// canEnd reports whether characters that seams knows end in s.
func canEnd(s string) bool {
	_, ok := wideAt(padding[:3-len(s)]+s, 0, 3)
	return ok
}

// canBegin reports whether characters that seams knows begin with s.
func canBegin(s string) bool {
	_, ok := wideAt(s+padding[len(s):], 0, 3)
	return ok
}

// padding is U+2000. Its bytes are the lowest that a character can have at their
// places.
const padding = "\xe2\x80\x80"

// endingIn yields the characters whose last bytes are those of s.
func endingIn(s string) iter.Seq[uint32] {
	first, _ := wideAt(padding[:3-len(s)]+s, 0, 3)
	step := uint32(1) << (6 * len(s))
	return func(yield func(uint32) bool) {
		for char := first; char < pastChar && yield(char); char += step {
		}
	}
}

// beginningWith yields the characters whose first bytes are those of s.
func beginningWith(s string) iter.Seq[uint32] {
	first, _ := wideAt(s+padding[len(s):], 0, 3)
	n := uint32(1) << (18 - 6*len(s))
	return func(yield func(uint32) bool) {
		for char := first; char < first+n && yield(char); char++ {
		}
	}
}
