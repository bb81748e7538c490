package tokenizer

// deepseekPattern is the third and last of DeepSeek-V3's split patterns; the
// first two have taken out numbers, and Han and kana.
//
//	[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+
//	[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
//	 ?[\p{P}\p{S}]+[\r\n]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
//
// Some characters match nothing, numbers and controls for instance. What lies
// between two matches is a piece as well.
type deepseekPattern struct{ *scanner }

// next is the pattern's splitter.
func (p *deepseekPattern) next(s string, i int) int {
	if end := p.match(s, i); end > i {
		return end
	}
	for i < len(s) {
		_, w := p.kind(s, i)
		if i += w; i < len(s) && p.match(s, i) > i {
			break
		}
	}
	return i
}

// match returns the end of the match at i, or i.
func (p *deepseekPattern) match(s string, i int) int {
	k, w := p.kind(s, i)
	switch {
	case k&letter != 0:
		return p.run(s, i+w, letter|mark)
	case k&graphic != 0:
		if end := asciiLetters(s, i+1); s[i] < 0x80 && end > i+1 {
			return end
		}
		return newlines(s, p.run(s, i+w, graphic))
	case isNewline(s[i]):
		return p.blank(s, i)
	}
	if end := p.run(s, i+w, letter|mark); end > i+w || k&mark != 0 {
		return end
	}
	if s[i] == ' ' {
		if end := p.run(s, i+1, graphic); end > i+1 {
			return newlines(s, end)
		}
	}
	if k&space != 0 {
		return p.blank(s, i)
	}
	return i
}

// isolate is the splitter of a pattern that is a run of 1 to most characters:
// each run is a piece, and so is what lies between.
func isolate(most int, in func(s string, i int) (ok bool, width int)) splitter {
	return func(s string, i int) int {
		inside, w := in(s, i)
		for n := 1; i+w < len(s) && (!inside || n < most); n++ {
			i += w
			var ok bool
			if ok, w = in(s, i); ok != inside {
				return i
			}
		}
		return i + w
	}
}

// isKanaOrHan is the class [一-龥぀-ゟ゠-ヿ] of DeepSeek-V3's second pattern.
func isKanaOrHan(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fa5 || r >= 0x3040 && r <= 0x30ff
}
