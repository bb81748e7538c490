package tokenizer

import (
	"math/bits"
	"unicode/utf8"
)

// Most pieces of most texts are a word in ASCII. They are found here, eight bytes
// at a time and with few branches; a processor that guesses the way through a
// word letter by letter guesses wrong once in every word.

// Every byte of a word of eight.
const (
	ones = 0x0101010101010101
	tops = 0x80 * ones
)

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

// opening says what a byte of ASCII may be at the beginning of a word: 1 for
// the optional prefix, which is anything but a letter, a number or the end of a
// line, and 2 for an upper-case letter.
type opening [256]uint8

const (
	isPrefix = 1 << iota
	isUpper
)

func newOpening(sc *scanner) *opening {
	var o opening
	for b, k := range sc.ascii {
		switch {
		case k&upper != 0:
			o[b] = isUpper
		case k&(letter|number) == 0 && !isNewline(byte(b)):
			o[b] = isPrefix
		}
	}
	return &o
}

// prefix returns where a word that begins at i has its first letter.
func (o *opening) prefix(s string, i int) int { return i + int(o[s[i]]&isPrefix) }

// capital returns the place behind an upper-case letter at i, or i.
func (o *opening) capital(s string, i int) int {
	if i < len(s) {
		i += int(o[s[i]] >> 1)
	}
	return i
}

// ascii reports whether no character beyond ASCII begins at i.
func ascii(s string, i int) bool { return i == len(s) || s[i] < utf8.RuneSelf }
