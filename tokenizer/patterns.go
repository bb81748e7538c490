package tokenizer

import (
	"math"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/pattern"
)

// The endings that many split patterns share.
const (
	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	blanks       = `|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// The split patterns with a hand-written splitter, in the syntax of their
// publishers.
const (
	// kimiPattern is the pattern of the whole Kimi K2 family.
	kimiPattern = `[\p{Han}]+` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+` + contractions + `?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*` + contractions + `?` +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*` + blanks
	// o200kPattern is the pattern of o200k_base, gpt-oss and Llama 4.
	o200kPattern = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` + contractions + `?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` + contractions + `?` +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*` + blanks
	// cl100kPattern is the pattern of cl100k_base and Llama 3.
	cl100kPattern = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*` + blanks
	// qwenPattern is the pattern of Qwen 2 and 3.
	qwenPattern = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*` + blanks
	// gpt2Pattern is the pattern built into the ByteLevel pre-tokenizer.
	gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	// DeepSeek-V3 splits three times. Its file has carriage return and newline
	// themselves in the third pattern.
	deepseekNumbers = `\p{N}{1,3}`
	deepseekKana    = "[一-龥\u3040-ゟ゠-ヿ]+"
	deepseekWords   = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+" +
		"|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)

// newSplitter returns the splitter of a pattern whose matches, and what lies
// between them, are the pieces. Patterns that no hand-written splitter knows
// are matched by package pattern, which is as exact and slower.
func newSplitter(expr string, d pattern.Dialect) (splitter, error) {
	sc := newScanner()
	switch expr {
	case kimiPattern:
		return (&casePattern{scanner: sc, opening: newOpening(sc), notWord: han}).next, nil
	case o200kPattern:
		return (&casePattern{scanner: sc, opening: newOpening(sc), slash: true}).next, nil
	case cl100kPattern:
		return (&wordPattern{sc, newOpening(sc), 3}).next, nil
	case qwenPattern:
		return (&wordPattern{sc, newOpening(sc), 1}).next, nil
	case deepseekNumbers:
		return isolate(3, sc.isNumber), nil
	case deepseekKana:
		return isolate(math.MaxInt, func(s string, i int) (bool, int) {
			if s[i] < utf8.RuneSelf {
				return false, 1
			}
			r, w := utf8.DecodeRuneInString(s[i:])
			return isKanaOrHan(r), w
		}), nil
	case deepseekWords:
		return (&deepseekPattern{sc}).next, nil
	}
	re, err := pattern.Compile(expr, d)
	if err != nil {
		return nil, err
	}
	return func(s string, i int) int {
		if end := re.Match(s, i); end > i {
			return end
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		start, _ := re.Find(s, i+w)
		return start
	}, nil
}

// isNumber is the class \p{N}.
func (sc *scanner) isNumber(s string, i int) (bool, int) {
	k, w := sc.kind(s, i)
	return k&number != 0, w
}
