package bpe

import "math/bits"

// follow tells of most boundaries at once that they survive merging. It is the
// beginnings of everything that could merge with a token, or with an end of it
// that is itself a token, as bits of a word. Text whose beginning has none of the
// bits merges with none of them, so that whatever tokens it is cut into, the
// boundary before it stays.
type follow struct {
	all uint64
	// ends leaves out what merges with the token itself. It is enough for the
	// longest token that a text begins with: were there anything to merge with,
	// there would be a longer one.
	ends uint64
}

// anyBeginning is the bits of a text too short to tell.
const anyBeginning = ^uint64(0)

// beginning is the bit of how a text begins: of its first byte, or its first
// two or three where that is how long characters are that begin so.
func beginning(s string) uint64 {
	switch {
	case len(s) == 0:
		return anyBeginning
	case s[0] < 0xc0:
		return 1 << (s[0] & 63)
	case s[0] < 0xe0:
		if len(s) < 2 {
			return anyBeginning
		}
		return 1 << ((uint32(s[0])<<8 | uint32(s[1])) * 0x9e3779b1 >> 26)
	case len(s) < 3:
		return anyBeginning
	}
	return 1 << ((uint32(s[0])<<16 | uint32(s[1])<<8 | uint32(s[2])) * 0x9e3779b1 >> 26)
}

// pair enters that two tokens merge into the token t.
func (b *builder) pair(left, right, t rank) {
	b.model.pairs.add(left, right, t)
	b.model.follow[left].all |= b.begins[right].bits()
}

// begins is a beginning in a byte: the number of the bit that is set, or
// anyBegins. There is one for each token while pairs are entered, which saves
// going to the token's text.
type begins uint8

const anyBegins begins = 64

func beginsOf(text string) begins {
	if bit := beginning(text); bit != anyBeginning {
		return begins(bits.TrailingZeros64(bit))
	}
	return anyBegins
}

func (b begins) bits() uint64 {
	if b == anyBegins {
		return anyBeginning
	}
	return 1 << b
}

// follow completes what may follow on each token, once all are made: its ends
// are those of its right part, which has a lower rank.
func (b *builder) follow() {
	m := b.model
	for r := range m.tokens {
		if t := &m.tokens[r]; t.made() {
			m.follow[r].ends = m.follow[t.right].all
			m.follow[r].all |= m.follow[r].ends
		}
	}
}

// made reports whether merging two others makes the token.
func (t *token) made() bool { return t.len > 1 && t.left != none }
