package tokenizer

// lookup maps the bytes of tokens, added ones included, to ids. Where several
// tokens have the same bytes they are not told apart: the id is ambiguous.
type lookup map[string]int32

const ambiguous int32 = -1

// newLookup indexes tokens by their bytes.
func newLookup(tokens []string) lookup {
	l := make(lookup, len(tokens))
	for id, text := range tokens {
		if text == "" {
			continue
		}
		if _, twice := l[text]; twice {
			l[text] = ambiguous
			continue
		}
		l[text] = int32(id)
	}
	return l
}

// Lookup returns the id of the token with exactly these bytes, an added one
// among them by its literal. It is false where no token has them, or more than
// one. The first call indexes the vocabulary, which takes some tens of
// milliseconds and ten megabytes.
//
// This is not encoding: no text is split and nothing is merged, so that tokens
// which no text encodes to are found as well.
func (t *Tokenizer) Lookup(token []byte) (id int32, ok bool) {
	id, ok = t.byBytes()[string(token)]
	return id, ok && id != ambiguous
}
