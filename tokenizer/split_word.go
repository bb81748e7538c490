package tokenizer

// wordPattern is the cl100k family of split patterns, which Llama 3 and Qwen
// share: a word is a run of letters, whatever their case, and a contraction is
// a piece of its own.
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)
//	[^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,digits}
//	 ?[^\s\p{L}\p{N}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
type wordPattern struct {
	*scanner
	*opening
	digits int
}

// next is the pattern's splitter.
func (p *wordPattern) next(s string, i int) int {
	if end := contraction(s, i); end > i {
		return end
	}
	if end := p.anyCase(s, i); end > i && ascii(s, end) {
		return end
	}
	k, w := p.kind(s, i)
	switch {
	case k&letter != 0:
		return p.run(s, i+w, letter)
	case k&number != 0:
		return p.upTo(s, i+w, p.digits-1, number)
	case isNewline(s[i]):
		return p.blank(s, i)
	}
	if end := p.run(s, i+w, letter); end > i+w {
		return end // the character is the word's optional prefix
	}
	if k&space == 0 {
		return newlines(s, p.runNot(s, i+w, space|letter|number))
	}
	if s[i] == ' ' {
		if end := p.runNot(s, i+1, space|letter|number); end > i+1 {
			return newlines(s, end)
		}
	}
	return p.blank(s, i)
}
