package tokenizer

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// literals finds the literals of added tokens in a text.
type literals struct {
	first [256]bool        // bytes that begin a literal
	sizes map[uint16][]int // lengths by the first two bytes, longest first
	by    map[string]addedToken
}

// newLiterals returns a finder for tokens, or nil when there are none.
func newLiterals(tokens []addedToken) *literals {
	if len(tokens) == 0 {
		return nil
	}
	l := &literals{sizes: make(map[uint16][]int), by: make(map[string]addedToken)}
	for _, tok := range tokens {
		text := tok.Content
		l.first[text[0]] = true
		l.by[text] = tok
		if len(text) > 1 {
			l.addSize(text[0], text[1], len(text))
			continue
		}
		for c := range 256 {
			l.addSize(text[0], byte(c), 1)
		}
	}
	return l
}

func (l *literals) addSize(a, b byte, size int) {
	key := uint16(a)<<8 | uint16(b)
	sizes := l.sizes[key]
	if slices.Contains(sizes, size) {
		return
	}
	sizes = append(sizes, size)
	slices.SortFunc(sizes, func(a, b int) int { return cmp.Compare(b, a) })
	l.sizes[key] = sizes
}

// find returns the first literal in s at or after byte i; of several that
// start together, the longest. The span includes the white space that the
// token strips, but nothing before byte i. Without a literal, start and end
// are len(s).
func (l *literals) find(s string, i int) (start, end int, id int32) {
	if l == nil {
		return len(s), len(s), -1
	}
	for at := i; at < len(s); at++ {
		if !l.first[s[at]] {
			continue
		}
		tok, ok := l.match(s[at:])
		if !ok {
			continue
		}
		start, end := at, at+len(tok.Content)
		if tok.LStrip {
			start = i + len(trimSpaceRight(s[i:start]))
		}
		if tok.RStrip {
			end = newScanner().run(s, end, space)
		}
		return start, end, tok.ID
	}
	return len(s), len(s), -1
}

// match returns the longest literal that s starts with.
func (l *literals) match(s string) (addedToken, bool) {
	if len(s) == 1 {
		tok, ok := l.by[s]
		return tok, ok
	}
	for _, size := range l.sizes[uint16(s[0])<<8|uint16(s[1])] {
		if size <= len(s) {
			if tok, ok := l.by[s[:size]]; ok {
				return tok, true
			}
		}
	}
	return addedToken{}, false
}

// trimSpaceRight removes trailing White_Space.
func trimSpaceRight(s string) string {
	for len(s) > 0 {
		r, w := utf8.DecodeLastRuneInString(s)
		if kinds().At(r)&space == 0 {
			break
		}
		s = s[:len(s)-w]
	}
	return s
}
