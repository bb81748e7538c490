package tokenizer

import "unicode/utf8"

// casePattern is the o200k family of split patterns: words are cut where a
// lower-case letter is followed by an upper-case one, and contractions stay
// with their word.
//
//	[^\r\n\p{L}\p{N}]?[U]*[L]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[U]+[L]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// with U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and L = [\p{Ll}\p{Lm}\p{Lo}\p{M}].
// Kimi puts [\p{Han}]+ before these, takes Han out of U and L, and has no
// slash in the fourth.
type casePattern struct {
	*scanner
	*opening
	notWord uint8 // han where [\p{Han}]+ comes first
	slash   bool
}

// next is the pattern's splitter.
func (p *casePattern) next(s string, i int) int {
	if end := p.opening.word(s, i); end > i && ascii(s, end) {
		return contraction(s, end)
	}
	k, w := p.kind(s, i)
	switch {
	case k&p.notWord != 0:
		return p.run(s, i+w, han)
	case k&letter != 0:
		end, _ := p.word(s, i)
		return end
	case k&number != 0:
		return p.upTo(s, i+w, 2, number)
	case isNewline(s[i]):
		return p.blank(s, i)
	}
	// From here on the character may be the optional prefix of a word.
	end, lowered := p.word(s, i+w)
	switch {
	case k&mark != 0 && !lowered:
		// The first alternative without its prefix, the mark standing for
		// [L]+, comes before the second with it.
		end, _ = p.word(s, i)
		return end
	case end > i+w:
		return end
	case k&space == 0:
		return p.symbols(s, i+w)
	case s[i] == ' ' && p.isSymbol(s, i+1):
		return p.symbols(s, i+1)
	}
	return p.blank(s, i)
}

// word matches [U]*[L]+ (lowered is true) or else [U]+[L]*, with the
// contraction behind. When neither matches, end is i.
//
// The greedy [U]* may have to give characters back until [L]+ finds one. As
// caseless letters and marks are in both classes, the match then ends behind
// the last of them in the run of U.
func (p *casePattern) word(s string, i int) (end int, lowered bool) {
	j, both := i, -1
	var k uint8
	for j < len(s) {
		var w int
		k, w = p.kind(s, j)
		if k&(upper|caseless|mark) == 0 || k&p.notWord != 0 {
			break
		}
		j += w
		if k&(caseless|mark) != 0 {
			both = j
		}
		k = 0
	}
	switch {
	case k&lower != 0:
		return contraction(s, p.lower(s, j)), true
	case both >= 0:
		return contraction(s, both), true
	case j > i:
		return contraction(s, j), false
	}
	return i, false
}

// lower returns the end of the run [L]* from i.
func (p *casePattern) lower(s string, i int) int {
	for i < len(s) {
		if b := s[i]; b < utf8.RuneSelf {
			if p.ascii[b]&lower == 0 {
				break
			}
			i++
			continue
		}
		k, w := p.wide(s[i:])
		if k&(lower|caseless|mark) == 0 || k&p.notWord != 0 {
			break
		}
		i += w
	}
	return i
}

func (p *casePattern) isSymbol(s string, i int) bool {
	if i == len(s) {
		return false
	}
	k, _ := p.kind(s, i)
	return k&(space|letter|number) == 0
}

// symbols returns the end of [^\s\p{L}\p{N}]*[\r\n]*, or with slash [\r\n/]*,
// from i.
func (p *casePattern) symbols(s string, i int) int {
	i = p.runNot(s, i, space|letter|number)
	for i < len(s) && (isNewline(s[i]) || p.slash && s[i] == '/') {
		i++
	}
	return i
}
