package bpe

import (
	"iter"
	"unicode"
)

const (
	sliceLimit = 400_000 // code points that are looked at together
	runLimit   = 25_000  // code points of one kind, space or not, in a row
)

// cuts yields text in the parts that the model's own tokenizer encodes one by
// one: a new part after every sliceLimit code points, and inside each slice
// wherever a run of only spaces or only non-spaces would pass runLimit. Almost
// every text comes back whole.
func cuts(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var start, inSlice, run int
		var space bool
		for i, r := range text {
			switch sp := pythonSpace(r); {
			case inSlice == sliceLimit:
				if !yield(text[start:i]) {
					return
				}
				start, inSlice, run, space = i, 0, 1, sp
			case inSlice > 0 && sp == space && run == runLimit:
				if !yield(text[start:i]) {
					return
				}
				start, run = i, 1
			case inSlice > 0 && sp == space:
				run++
			default:
				run, space = 1, sp
			}
			inSlice++
		}
		if start < len(text) {
			yield(text[start:])
		}
	}
}

// pythonSpace is Python's str.isspace for one code point: White_Space and four
// information separators.
func pythonSpace(r rune) bool {
	return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f
}
