package tokenizer

import "unicode/utf8"

// appendValid appends b to dst with U+FFFD for each maximal ill-formed part.
// That is the rule of the Unicode standard, chapter 3.9, and not what the
// standard library does: strings.ToValidUTF8 merges neighbours, and ranging
// over a string gives one for each byte.
func appendValid(dst, b []byte) []byte {
	for len(b) > 0 {
		r, w := utf8.DecodeRune(b)
		if r == utf8.RuneError && w == 1 {
			dst = utf8.AppendRune(dst, utf8.RuneError)
			b = b[max(prefixLen(b), 1):]
			continue
		}
		dst = append(dst, b[:w]...)
		b = b[w:]
	}
	return dst
}

// incomplete returns how many bytes at the end of b begin a character that
// more bytes could complete.
func incomplete(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) {
			if prefixLen(tail) == n && !utf8.FullRune(tail) {
				return n
			}
			break
		}
	}
	return 0
}

// prefixLen returns how many bytes of b, which is not empty, agree with some
// character of more than one byte.
func prefixLen(b []byte) int {
	low, high, size := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		size = 2
	case c >= 0xe0 && c <= 0xef:
		size = 3
	case c >= 0xf0 && c <= 0xf4:
		size = 4
	default:
		return 0
	}
	// Some second bytes would make overlong forms, surrogates or too much.
	switch b[0] {
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	n := 1
	for n < size && n < len(b) && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}
