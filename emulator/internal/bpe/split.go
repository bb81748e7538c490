package bpe

import (
	"unicode/utf8"
)

// pieceLen returns the length in bytes of the first piece of text, which must
// not be empty. It is the model's split pattern written out: eight
// alternatives, the first that matches wins.
//
//  1. [\p{Han}]+
//  2. [^\r\n\p{L}\p{N}]?[upper]*[lower]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//  3. [^\r\n\p{L}\p{N}]?[upper]+[lower]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//  4. \p{N}{1,3}
//  5. " "?[^\s\p{L}\p{N}]+[\r\n]*
//  6. \s*[\r\n]+
//  7. \s+(?!\S)
//  8. \s+
//
// upper is Lu Lt Lm Lo M, lower is Ll Lm Lo M, both without Han: modifiers,
// caseless letters and marks are in both.
func (v *Vocabulary) pieceLen(text string) int {
	if n := v.run(text, han, 0); n > 0 {
		return n
	}
	if n := v.word(text, v.lowerWord); n > 0 {
		return n
	}
	if n := v.word(text, v.upperWord); n > 0 {
		return n
	}
	if n := v.digits(text); n > 0 {
		return n
	}
	if n := v.symbols(text); n > 0 {
		return n
	}
	return v.spaces(text)
}

// run returns the length of the longest prefix of text whose code points are
// in some class of want and in none of not.
func (v *Vocabulary) run(text string, want, not class) int {
	n := 0
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if c := v.class[r]; c&want == 0 || c&not != 0 {
			break
		}
		n += size
	}
	return n
}

// word tries alternative 2 or 3: with the optional first character, then
// without it.
func (v *Vocabulary) word(text string, body func(string) int) int {
	r, size := utf8.DecodeRuneInString(text)
	if r != '\r' && r != '\n' && v.class[r]&(letter|number) == 0 {
		if n := body(text[size:]); n > 0 {
			n += size
			return n + contraction(text[n:])
		}
	}
	if n := body(text); n > 0 {
		return n + contraction(text[n:])
	}
	return 0
}

// lowerWord is [upper]*[lower]+: the greedy upper run gives characters back
// until a lower one fits behind it.
func (v *Vocabulary) lowerWord(text string) int {
	for n := v.run(text, upper, han); ; {
		if m := v.run(text[n:], lower, han); m > 0 {
			return n + m
		}
		if n == 0 {
			return 0
		}
		_, size := utf8.DecodeLastRuneInString(text[:n])
		n -= size
	}
}

// upperWord is [upper]+[lower]*.
func (v *Vocabulary) upperWord(text string) int {
	n := v.run(text, upper, han)
	if n == 0 {
		return 0
	}
	return n + v.run(text[n:], lower, han)
}

// contraction returns the length of an English contraction ending at the start
// of text. The pattern ignores case the Unicode way, so ſ counts as s.
func contraction(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	switch text[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(text) < 3 {
		return 0
	}
	if text[1:3] == "ſ" {
		return 3
	}
	switch string([]byte{text[1] | 0x20, text[2] | 0x20}) {
	case "re", "ve", "ll":
		return 3
	}
	return 0
}

func (v *Vocabulary) digits(text string) int {
	n := 0
	for range 3 {
		r, size := utf8.DecodeRuneInString(text[n:])
		if size == 0 || v.class[r]&number == 0 {
			break
		}
		n += size
	}
	return n
}

func (v *Vocabulary) symbols(text string) int {
	n := 0
	if text[0] == ' ' {
		n = 1
	}
	m := v.run(text[n:], ^class(0), space|letter|number)
	if m == 0 {
		return 0
	}
	n += m
	for n < len(text) && (text[n] == '\r' || text[n] == '\n') {
		n++
	}
	return n
}

// spaces covers alternatives 6 to 8. Nothing but white space gets here.
func (v *Vocabulary) spaces(text string) int {
	n := v.run(text, space, 0)
	for i := n - 1; i >= 0; i-- {
		if text[i] == '\r' || text[i] == '\n' {
			return i + 1
		}
	}
	if n == len(text) {
		return n
	}
	if _, size := utf8.DecodeLastRuneInString(text[:n]); size < n {
		return n - size
	}
	return n
}
