package tokenizer

import (
	"sync"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/ucd"
)

// A splitter cuts text into the pieces that are merged separately. It returns
// the end of the piece that starts at byte i of s; i < end <= len(s). Pieces
// follow each other without gaps.
type splitter func(s string, i int) int

// The kinds of character that split patterns tell apart, one bit each so that
// a class of a pattern is a mask.
const (
	upper    = 1 << iota // Lu, Lt
	lower                // Ll
	caseless             // Lm, Lo
	mark                 // M
	number               // N
	graphic              // P, S
	space                // White_Space
	han                  // Script=Han, besides one of the others

	letter  = upper | lower | caseless
	anyKind = 0xff
)

// kinds is the table behind every hand-written splitter.
var kinds = sync.OnceValue(func() *ucd.Table { return ucd.NewTable(kindOf) })

func kindOf(c ucd.Class) uint8 {
	k := uint8(0)
	switch cat := c.Category(); {
	case cat == ucd.Lu || cat == ucd.Lt:
		k = upper
	case cat == ucd.Ll:
		k = lower
	case cat == ucd.Lm || cat == ucd.Lo:
		k = caseless
	case cat >= ucd.Mn && cat <= ucd.Me:
		k = mark
	case cat >= ucd.Nd && cat <= ucd.No:
		k = number
	case cat >= ucd.Pc && cat <= ucd.So:
		k = graphic
	}
	if c.Space() {
		k |= space
	}
	if c.Han() {
		k |= han
	}
	return k
}

// scanner classifies the characters of a text.
type scanner struct {
	ascii [128]uint8
	table *ucd.Table
}

func newScanner() *scanner { return &scanner{*kinds().ASCII(), kinds()} }

// kind returns the kind of the character at s[i] and its width in bytes.
func (sc *scanner) kind(s string, i int) (kind uint8, width int) {
	if b := s[i]; b < utf8.RuneSelf {
		return sc.ascii[b], 1
	}
	return sc.wide(s[i:])
}

// wide is kind for the character that s starts with, which is beyond ASCII. A
// byte that is no part of a well-formed character counts as U+FFFD would, a
// symbol, one byte wide.
func (sc *scanner) wide(s string) (kind uint8, width int) {
	if len(s) >= 3 && s[0]&0xf0 == 0xe0 && s[1]&0xc0 == 0x80 && s[2]&0xc0 == 0x80 {
		r := rune(s[0]&0x0f)<<12 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
		if r >= 0x800 && r&^0x7ff != 0xd800 { // neither overlong nor a surrogate
			return sc.table.At(r), 3
		}
	}
	r, w := utf8.DecodeRuneInString(s)
	return sc.table.At(r), w
}

// run returns the end of the longest run from i of characters that have a bit
// of mask.
func (sc *scanner) run(s string, i int, mask uint8) int {
	for i < len(s) {
		if b := s[i]; b < utf8.RuneSelf {
			if sc.ascii[b]&mask == 0 {
				break
			}
			i++
			continue
		}
		if next := sc.wideRun(s, i, mask); next > i {
			i = next
			continue
		}
		k, w := sc.wide(s[i:])
		if k&mask == 0 {
			break
		}
		i += w
	}
	return i
}

// wideRun returns the end of the longest run from i of characters of three bytes
// that have a bit of mask. It may stop short of characters below U+1000.
func (sc *scanner) wideRun(s string, i int, mask uint8) int {
	for i+3 <= len(s) {
		a, b, c := s[i], s[i+1], s[i+2]
		if a <= 0xe0 || a >= 0xf0 || b&0xc0 != 0x80 || c&0xc0 != 0x80 {
			break
		}
		if sc.table.Three(a, b, c)&mask == 0 { // surrogates are of no kind
			break
		}
		i += 3
	}
	return i
}

// runNot returns the end of the longest run from i of characters that have no
// bit of mask.
func (sc *scanner) runNot(s string, i int, mask uint8) int {
	for i < len(s) {
		if b := s[i]; b < utf8.RuneSelf {
			if sc.ascii[b]&mask != 0 {
				break
			}
			i++
			continue
		}
		k, w := sc.wide(s[i:])
		if k&mask != 0 {
			break
		}
		i += w
	}
	return i
}

// upTo returns the end of a run of at most n characters of mask.
func (sc *scanner) upTo(s string, i, n int, mask uint8) int {
	for ; n > 0 && i < len(s); n-- {
		k, w := sc.kind(s, i)
		if k&mask == 0 {
			break
		}
		i += w
	}
	return i
}

// newlines returns the end of the run [\r\n]* from i.
func newlines(s string, i int) int {
	for i < len(s) && isNewline(s[i]) {
		i++
	}
	return i
}

func isNewline(b byte) bool { return b == '\n' || b == '\r' }

// blank matches the three alternatives most patterns end with, at a white
// space character:
//
//	\s*[\r\n]+ | \s+(?!\S) | \s+
//
// The first takes the run up to its last newline. Without one, the second
// takes all but the last character of the run, or all of it at the end of the
// text; the third takes a run of one.
func (sc *scanner) blank(s string, i int) int {
	newline, last, j := -1, i, i
	for j < len(s) {
		k, w := sc.kind(s, j)
		if k&space == 0 {
			break
		}
		if isNewline(s[j]) {
			newline = j
		}
		last = j
		j += w
	}
	switch {
	case newline >= 0:
		return newline + 1
	case j == len(s) || last == i:
		return j
	default:
		return last
	}
}

// contraction matches (?i:'s|'t|'re|'ve|'m|'ll|'d)? at i and returns its end,
// or i. Case folding is Unicode's, so the long s, U+017F, is an s.
func contraction(s string, i int) int {
	if len(s)-i < 2 || s[i] != '\'' {
		return i
	}
	switch s[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		if len(s)-i >= 3 && s[i+2]|0x20 == 'e' {
			return i + 3
		}
	case 'l':
		if len(s)-i >= 3 && s[i+2]|0x20 == 'l' {
			return i + 3
		}
	case 0xc5 | 0x20:
		if len(s)-i >= 3 && s[i+1] == 0xc5 && s[i+2] == 0xbf {
			return i + 3
		}
	}
	return i
}
