package openrouter

// ClassOverrun is the class of an answer longer than max_tokens: the lane does
// not enforce it, and whoever reserves money for the lane must know.
const ClassOverrun = "overrun"

// tokenFloor counts how few tokens a text can possibly be, without knowing the
// tokenizer. Vocabularies are learned on text that was first split into words,
// so hardly a token spans two runs of letters or digits, and none more; and the
// longest tokens of scripts that are not split at spaces are some fifty bytes.
// The floor is the larger of the two counts that follow. For a text of nothing
// but the oddest tokens of a vocabulary it can come to twice their number, so
// what is compared with it has to allow for that: an honest answer is never cut.
//
// So an answer without end is cut at three to five times max_tokens in English,
// French or code, and at some fifteen times in Chinese or Thai.
type tokenFloor struct {
	runs int  // of letters and digits
	wide int  // bytes outside ASCII
	in   bool // the text so far ends inside a run
}

// longestToken is more bytes than any token of a vocabulary has. It bounds what
// an answer may take in memory where its text, all dots and dashes, says nothing
// of the number of its tokens.
const longestToken = 1 << 10

// wideBytes is how many bytes outside ASCII count for one token.
const wideBytes = 32

// Classes of bytes: a run begins and goes on with letters, digits and whatever
// is not ASCII, and an apostrophe does not end it.
const (
	other = iota
	narrow
	wide
	apostrophe
)

var byteClass = func() (class [256]uint8) {
	for c := range class {
		switch {
		case c >= 0x80:
			class[c] = wide
		case '0' <= c && c <= '9', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z':
			class[c] = narrow
		case c == '\'':
			class[c] = apostrophe
		}
	}
	return class
}()

// add takes the next piece of text.
func (f *tokenFloor) add(text []byte) {
	for _, c := range text {
		switch byteClass[c] {
		case other:
			f.in = false
		case wide:
			f.wide++
			fallthrough
		case narrow:
			if !f.in {
				f.runs++
				f.in = true
			}
		}
	}
}

// tokens is the floor.
func (f *tokenFloor) tokens() int { return max(f.runs, f.wide/wideBytes) }

// over reports whether the text must be longer than maxTokens, beyond any
// doubt about the tokenizer.
func (f *tokenFloor) over(maxTokens int) bool {
	const slack = 64
	return f.tokens() > 2*maxTokens+slack
}
