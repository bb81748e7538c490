package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Python counts, slices and iterates strings by code point, and its strings may
// hold lone surrogates. Strings here are UTF-8, extended by the three-byte form
// that UTF-8 would give a surrogate if it allowed one.

const (
	surrogateMin = 0xD800
	surrogateMax = 0xDFFF
)

// decodeRune is utf8.DecodeRuneInString with lone surrogates accepted.
func decodeRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 && len(s) >= 3 && s[0] == 0xED && s[1]&0xE0 == 0xA0 && s[2]&0xC0 == 0x80 {
		return surrogateMin | rune(s[1]&0x1F)<<6 | rune(s[2]&0x3F), 3
	}
	return r, n
}

// appendRune is utf8.AppendRune with lone surrogates accepted.
func appendRune(b []byte, r rune) []byte {
	if surrogateMin <= r && r <= surrogateMax {
		return append(b, 0xED, byte(0x80|r>>6&0x3F), byte(0x80|r&0x3F))
	}
	return utf8.AppendRune(b, r)
}

func runesOf(s string) []rune {
	rs := make([]rune, 0, len(s))
	for len(s) > 0 {
		r, n := decodeRune(s)
		rs = append(rs, r)
		s = s[n:]
	}
	return rs
}

func stringOf(rs []rune) string {
	b := make([]byte, 0, len(rs))
	for _, r := range rs {
		b = appendRune(b, r)
	}
	return string(b)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// runeCount is Python's len of a string.
func runeCount(s string) int {
	if isASCII(s) {
		return len(s)
	}
	n := 0
	for len(s) > 0 {
		_, size := decodeRune(s)
		s = s[size:]
		n++
	}
	return n
}

// byteOffset returns where code point i of s begins; i may be the length.
func byteOffset(s string, i int) int {
	off := 0
	for ; i > 0 && off < len(s); i-- {
		_, n := decodeRune(s[off:])
		off += n
	}
	return off
}

// isSpace is Python's str.isspace for one character, and \s of its re module.
// Go's unicode.IsSpace lacks the four separators U+001C to U+001F.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1C <= r && r <= 0x1F }

// isLineEnd tells the characters at which str.splitlines breaks.
func isLineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

func isDigit(r rune) bool { return unicode.Is(unicode.Nd, r) || unicode.Is(otherDigits, r) }

func isNumeric(r rune) bool { return unicode.IsNumber(r) || unicode.Is(numberLetters, r) }

func isAlnum(r rune) bool { return unicode.IsLetter(r) || isNumeric(r) }

// isWord is \w of Python's re module.
func isWord(r rune) bool { return r == '_' || isAlnum(r) }

// isIdentifier is str.isidentifier, up to the few characters that Unicode lists
// as exceptions.
func isIdentifier(s string) bool {
	for i, r := range s {
		start := r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
		if !start && (i == 0 || !unicode.In(r, unicode.Nd, unicode.Mn, unicode.Mc, unicode.Pc)) {
			return false
		}
	}
	return s != ""
}

// isCased tells letters that have case.
func isCased(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) ||
		unicode.In(r, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

func isLowerRune(r rune) bool { return unicode.IsLower(r) || unicode.Is(unicode.Other_Lowercase, r) }

func isUpperRune(r rune) bool { return unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r) }

func appendUpper(b []byte, r rune) []byte {
	if s, ok := upperSpecial[r]; ok {
		return append(b, s...)
	}
	return appendRune(b, unicode.ToUpper(r))
}

func appendTitle(b []byte, r rune) []byte {
	if s, ok := titleSpecial[r]; ok {
		return append(b, s...)
	}
	return appendRune(b, unicode.ToTitle(r))
}

// appendLower lowers character i of rs. A capital sigma that ends a word becomes
// the final form of the letter.
func appendLower(b []byte, rs []rune, i int) []byte {
	switch rs[i] {
	case 'İ':
		return append(b, "i\u0307"...)
	case 'Σ':
		if isFinalSigma(rs, i) {
			return append(b, "ς"...)
		}
	}
	return appendRune(b, unicode.ToLower(rs[i]))
}

func isFinalSigma(rs []rune, i int) bool {
	ignorable := func(r rune) bool {
		return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:·’", r)
	}
	j := i - 1
	for j >= 0 && ignorable(rs[j]) {
		j--
	}
	if j < 0 || !isCased(rs[j]) {
		return false
	}
	for j = i + 1; j < len(rs) && ignorable(rs[j]); j++ {
	}
	return j == len(rs) || !isCased(rs[j])
}

func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	var b []byte
	for _, r := range runesOf(s) {
		b = appendUpper(b, r)
	}
	return string(b)
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b []byte
	rs := runesOf(s)
	for i := range rs {
		b = appendLower(b, rs, i)
	}
	return string(b)
}

// capitalize is str.capitalize: the first character in title case, the rest in
// lower case.
func capitalize(s string) string {
	var b []byte
	rs := runesOf(s)
	for i, r := range rs {
		if i == 0 {
			b = appendTitle(b, r)
		} else {
			b = appendLower(b, rs, i)
		}
	}
	return string(b)
}

// titleCase is str.title: a letter after a letter that has case is lowered, any
// other is put in title case.
func titleCase(s string) string {
	var b []byte
	rs := runesOf(s)
	inWord := false
	for i, r := range rs {
		if inWord {
			b = appendLower(b, rs, i)
		} else {
			b = appendTitle(b, r)
		}
		inWord = isCased(r)
	}
	return string(b)
}

func swapCase(s string) string {
	var b []byte
	rs := runesOf(s)
	for i, r := range rs {
		switch {
		case isUpperRune(r):
			b = appendLower(b, rs, i)
		case isLowerRune(r):
			b = appendUpper(b, r)
		default:
			b = appendRune(b, r)
		}
	}
	return string(b)
}

// splitLines is str.splitlines.
func splitLines(s string, keepEnds bool) []string {
	var lines []string
	start := 0
	for i := 0; i < len(s); {
		r, n := decodeRune(s[i:])
		end := i
		i += n
		if !isLineEnd(r) {
			continue
		}
		if r == '\r' && i < len(s) && s[i] == '\n' {
			i++
		}
		if keepEnds {
			end = i
		}
		lines = append(lines, s[start:end])
		start = i
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}

// escapeHTML is markupsafe.escape for plain text.
func escapeHTML(s string) string { return htmlEscaper.Replace(s) }

var htmlEscaper = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")

// decodeLastRune is utf8.DecodeLastRuneInString with lone surrogates accepted.
func decodeLastRune(s string) (rune, int) {
	if n := len(s); n >= 3 && s[n-3] == 0xED {
		if r, size := decodeRune(s[n-3:]); size == 3 {
			return r, 3
		}
	}
	return utf8.DecodeLastRuneInString(s)
}
