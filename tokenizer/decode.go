package tokenizer

import (
	"fmt"
	"iter"
	"unicode/utf8"
)

// Decode appends the bytes of ids to dst and returns the extended slice. They
// need not be UTF-8, and they are exact: for ids of [Tokenizer.Encode] they
// are the text, after the normalizer where the vocabulary has one. An id
// without a token is an error that names it and its index.
func (t *Tokenizer) Decode(dst []byte, ids []int32) ([]byte, error) {
	for i, id := range ids {
		text := t.text(id)
		if text == "" {
			return dst, t.unknown(i, id)
		}
		dst = append(dst, text...)
	}
	return dst, nil
}

// text returns the bytes of a token, empty for an id without one.
func (t *Tokenizer) text(id int32) string {
	if uint(id) >= uint(len(t.tokens)) {
		return ""
	}
	return t.tokens[id]
}

func (t *Tokenizer) unknown(i int, id int32) error {
	return fmt.Errorf("tokenizer: index %d: id %d has no token in this vocabulary of %d ids", i, id, len(t.tokens))
}

// DecodeString returns ids as text for people: bytes that are no UTF-8 become
// U+FFFD, one for each maximal ill-formed part, as in Python, Rust and
// browsers.
func (t *Tokenizer) DecodeString(ids []int32) (string, error) {
	b, err := t.Decode(nil, ids)
	if err != nil {
		return "", err
	}
	if utf8.Valid(b) {
		return string(b), nil
	}
	return string(appendValid(nil, b)), nil
}

// Piece is a token and its place in the text: bytes Start to End of what
// [Tokenizer.Decode] returns.
type Piece struct {
	ID         int32
	Start, End int
}

// Pieces yields the place of each id. For ids made from a text, and a
// vocabulary without a normalizer, these are places in that text; they cover
// it without gaps. An id without a token ends the sequence with an error.
func (t *Tokenizer) Pieces(ids []int32) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		at := 0
		for i, id := range ids {
			n := len(t.text(id))
			if n == 0 {
				yield(Piece{}, t.unknown(i, id))
				return
			}
			if !yield(Piece{id, at, at + n}, nil) {
				return
			}
			at += n
		}
	}
}

// Decoder decodes ids as they arrive, one answer each. What it returns put
// together is what [Tokenizer.DecodeString] returns for all of the ids. It is
// not safe for concurrent use.
type Decoder struct {
	t       *Tokenizer
	pending []byte // begins a character whose other bytes are to come
	count   int
}

// NewDecoder returns a decoder for a new text.
func (t *Tokenizer) NewDecoder() *Decoder { return &Decoder{t: t} }

// Add takes the next id and returns the text that is certain now. A character
// spread over several tokens is returned with the last of them. After an
// error, which an id without a token causes, the decoder goes on as if the id
// had not been there.
func (d *Decoder) Add(id int32) (string, error) {
	text := d.t.text(id)
	d.count++
	if text == "" {
		return "", d.t.unknown(d.count-1, id)
	}
	if len(d.pending) == 0 && utf8.ValidString(text) {
		return text, nil
	}
	d.pending = append(d.pending, text...)
	whole := len(d.pending) - incomplete(d.pending)
	out := appendValid(nil, d.pending[:whole])
	d.pending = append(d.pending[:0], d.pending[whole:]...)
	return string(out), nil
}

// Flush returns U+FFFD for a character left unfinished, if there is one, and
// makes the decoder ready for another text.
func (d *Decoder) Flush() string {
	out := appendValid(nil, d.pending)
	d.pending, d.count = d.pending[:0], 0
	return string(out)
}
