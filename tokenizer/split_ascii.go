package tokenizer

import (
	"math/bits"
	"unicode/utf8"
)

// Most pieces of most texts are a word in ASCII. They are found here, eight bytes
// at a time and with few branches: a processor that guesses the way through a
// word letter by letter guesses wrong once in every word. Where the next piece
// begins is known only when this one's end is, so that what is done one after the
// other counts, and not how much is done beside it.

// Every byte of a word of eight.
const (
	ones = 0x0101010101010101
	tops = 0x80 * ones
)

// opening says what a byte may be at the beginning of a word.
type opening [256]uint8

const (
	// skip is set where the small letters begin one byte later at the earliest:
	// for a prefix or an upper-case letter.
	skip = 1 << iota
	// prefix is what may stand before the letters: any byte of ASCII but a
	// letter, a number or the end of a line.
	prefix
	// capital is an upper-case letter.
	capital
)

func newOpening(sc *scanner) *opening {
	var o opening
	for b, k := range sc.ascii {
		switch {
		case k&upper != 0:
			o[b] = skip | capital
		case k&(letter|number) == 0 && !isNewline(byte(b)):
			o[b] = skip | prefix
		}
	}
	return &o
}

// word returns the end of a word in ASCII at i: an optional prefix, an optional
// upper-case letter and as many lower-case letters as there are, but at least
// one. It is i where there is none, and may be so near the end of s.
func (o *opening) word(s string, i int) int {
	if len(s)-i < 8 || s[i] >= utf8.RuneSelf {
		return i
	}
	w := eight(s, i)
	first, second := o[byte(w)], o[byte(w>>8)]
	start := int(first&skip + first>>1&(second>>2)) // a capital may follow on a prefix
	others := notLower(w) >> (8 * start)
	switch {
	case others == 0:
		return lowers(s, i+8)
	case others&0x80 != 0:
		return i
	}
	return i + start + bits.TrailingZeros64(others)>>3
}

// anyCase is word for words of letters of any case.
func (o *opening) anyCase(s string, i int) int {
	if len(s)-i < 8 || s[i] >= utf8.RuneSelf {
		return i
	}
	w := eight(s, i)
	start := int(o[byte(w)] >> 1 & 1)
	others := notLower(w|0x20*ones) >> (8 * start)
	switch {
	case others == 0:
		return asciiLetters(s, i+8)
	case others&0x80 != 0:
		return i
	}
	return i + start + bits.TrailingZeros64(others)>>3
}

// lowers returns the end of the run [a-z]* from i.
func lowers(s string, i int) int {
	for len(s)-i >= 8 {
		if others := notLower(eight(s, i)); others != 0 {
			return i + bits.TrailingZeros64(others)>>3
		}
		i += 8
	}
	for i < len(s) && s[i]-'a' <= 'z'-'a' {
		i++
	}
	return i
}

// asciiLetters returns the end of the run [A-Za-z]* from i.
func asciiLetters(s string, i int) int {
	for len(s)-i >= 8 {
		if others := notLower(eight(s, i) | 0x20*ones); others != 0 {
			return i + bits.TrailingZeros64(others)>>3
		}
		i += 8
	}
	for i < len(s) && s[i]|0x20-'a' <= 'z'-'a' {
		i++
	}
	return i
}

// notLower sets the highest bit of each byte of w that is none of a to z.
func notLower(w uint64) uint64 {
	low := w &^ tops
	fromA, pastZ := low+(0x80-'a')*ones, low+(0x80-'z'-1)*ones
	return (^fromA | pastZ | w) & tops
}

// eight returns the eight bytes of s from i, the first lowest.
func eight(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// ascii reports whether no character beyond ASCII begins at i.
func ascii(s string, i int) bool { return i == len(s) || s[i] < utf8.RuneSelf }
