package pattern

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/ucd"
)

// set is a class of characters.
type set struct {
	ascii [2]uint64 // the first 128, worked out beforehand
	test  func(rune) bool
}

func newSet(test func(rune) bool) *set {
	s := &set{test: test}
	for r := range rune(128) {
		if test(r) {
			s.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return s
}

func (s *set) has(r rune) bool {
	if r < 128 {
		return s.ascii[r>>6]&(1<<(r&63)) != 0
	}
	return s.test(r)
}

// not returns the characters outside s.
func (s *set) not() *set {
	return newSet(func(r rune) bool { return !s.has(r) })
}

// folded returns the characters that are in s but for their case.
func (s *set) folded() *set {
	return newSet(func(r rune) bool {
		if s.has(r) {
			return true
		}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if s.has(f) {
				return true
			}
		}
		return false
	})
}

// union returns the characters in any of sets.
func union(sets []*set) *set {
	if len(sets) == 1 {
		return sets[0]
	}
	return newSet(func(r rune) bool {
		for _, s := range sets {
			if s.has(r) {
				return true
			}
		}
		return false
	})
}

func intersection(a, b *set) *set {
	return newSet(func(r rune) bool { return a.has(r) && b.has(r) })
}

func span(lo, hi rune) *set {
	return newSet(func(r rune) bool { return lo <= r && r <= hi })
}

func spaces() *set { return newSet(func(r rune) bool { return ucd.Lookup(r).Space() }) }

// longNames are the property values that expressions spell out.
var longNames = map[string]string{
	"letter": "L", "mark": "M", "number": "N", "punctuation": "P", "punct": "P", "symbol": "S", "separator": "Z", "other": "C",
	"uppercase_letter": "Lu", "lowercase_letter": "Ll", "titlecase_letter": "Lt", "modifier_letter": "Lm", "other_letter": "Lo",
	"decimal_number": "Nd", "nonspacing_mark": "Mn", "control": "Cc", "format": "Cf",
}

// property returns the characters with a Unicode property.
func property(name string) (*set, error) {
	bare := strings.ToLower(strings.ReplaceAll(name, " ", "_"))
	for _, prefix := range []string{"gc=", "general_category="} {
		bare = strings.TrimPrefix(bare, prefix)
	}
	switch bare {
	case "han", "script=han", "sc=han":
		return newSet(func(r rune) bool { return ucd.Lookup(r).Han() }), nil
	case "white_space", "space":
		return spaces(), nil
	}
	if short, ok := longNames[bare]; ok {
		bare = strings.ToLower(short)
	}
	var in [len(ucd.Aliases)]bool
	found := false
	for c, alias := range ucd.Aliases {
		alias = strings.ToLower(alias)
		if alias == bare || alias[:1] == bare {
			in[c], found = true, true
		}
	}
	if !found {
		return nil, fmt.Errorf(`property \p{%s} is not supported`, name)
	}
	return newSet(func(r rune) bool { return in[ucd.Lookup(r).Category()] }), nil
}
