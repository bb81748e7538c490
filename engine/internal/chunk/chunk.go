// Package chunk reads the frames of a stream that say again what the frame
// before them said, but for the text.
//
// Nearly every frame of a stream is the one before it, byte for byte, except
// inside one or two strings. A reader that has decoded such a frame in full
// knows where those strings stand; the rest it remembers as a [Template]. A
// frame that has the same bytes around its strings has the same meaning with
// another text: a JSON parser that came as far as the first string is, in both,
// in the same state, reads a whole string, and goes on with the same bytes. So
// nothing needs to be parsed again but the strings.
//
// What a reader must see to is that what stands around the strings changes
// nothing when it is read a second time: a count that is added up, or a frame
// that is kept, makes no template. And a template holds only as long as no other
// frame is decoded in full, because that one may have changed what the template
// takes for granted.
package chunk

import (
	"bytes"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxFrame is the longest frame that becomes a template, and so bounds what
	// a stream keeps for its sake.
	MaxFrame = 1 << 10
	// MaxHoles is how many values of a template may change.
	MaxHoles = 4
	// patience is how many templates in a row may match nothing.
	patience = 32
)

// Kind is what a value that changes is.
type Kind uint8

// The kinds of values that may change.
const (
	Text Kind = iota // a string
	IDs              // an array of token ids, with at least one
)

// Hole is a value that changes: its bytes, a string's with its quotes, are
// those from Start to End.
type Hole struct {
	Start, End int
	Kind       Kind
	Field      uint8 // whatever the reader calls it
}

// Part is what a frame has in a hole: valid JSON of the hole's kind, and
// Unicode.
type Part struct {
	Field uint8
	Value []byte
}

// Parts are those of a frame, in its order.
type Parts struct {
	list [MaxHoles]Part
	n    int
}

// List returns them.
func (p *Parts) List() []Part { return p.list[:p.n] }

// Template is a frame with holes. The zero value matches nothing.
type Template struct {
	frame []byte
	holes [MaxHoles]hole
	n     uint8
	vain  uint8 // templates since one has matched
}

// Worthwhile reports whether to look for the holes of a frame: not where a
// stream's frames have long all been different.
func (t *Template) Worthwhile() bool { return t.vain < patience }

// hole is a [Hole] that takes little room.
type hole struct {
	start, end uint16
	kind       Kind
	field      uint8
}

// Learn makes a template of a frame that has just been decoded in full, and
// whose holes are given in its order. A frame that is too long, or has too many
// of them or none, leaves a template that matches nothing.
func (t *Template) Learn(frame []byte, holes []Hole) {
	t.Forget()
	if len(frame) > MaxFrame || len(holes) > MaxHoles {
		return
	}
	t.frame = append(t.frame[:0], frame...)
	for i, h := range holes {
		t.holes[i] = hole{uint16(h.Start), uint16(h.End), h.Kind, h.Field}
	}
	t.n = uint8(len(holes))
	t.vain = min(t.vain+1, patience)
}

// Forget leaves a template that matches nothing.
func (t *Template) Forget() { t.n = 0 }

// Match reports whether a frame is the template's but for what is in the holes,
// and puts that into parts, whose bytes are the frame's. What is in a hole has
// been looked at: a full decode would accept it and find nothing to replace in
// it. Where that is in doubt the frame does not match.
func (t *Template) Match(frame []byte, parts *Parts) bool {
	if t.n == 0 {
		return false
	}
	from := 0
	for i, h := range t.holes[:t.n] {
		around := t.frame[from:h.start]
		if !bytes.HasPrefix(frame, around) {
			return false
		}
		frame, from = frame[len(around):], int(h.end)
		n := value(h.kind, frame)
		if n == 0 {
			return false
		}
		parts.list[i] = Part{h.field, frame[:n:n]}
		frame = frame[n:]
	}
	if !bytes.Equal(frame, t.frame[from:]) {
		return false
	}
	parts.n, t.vain = int(t.n), 0
	return true
}

func value(k Kind, b []byte) int {
	if k == IDs {
		return idList(b)
	}
	return quoted(b)
}

// quoted returns the length of the string that b begins with, with its quotes;
// zero where there is none, or one that is not wholly Unicode.
func quoted(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return 0
	}
	wide, coded := false, false // bytes outside ASCII, and escapes in hexadecimal
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			s := b[:i+1]
			if wide && !utf8.Valid(s) || coded && !jsontext.Value(s).IsValid() {
				return 0
			}
			return len(s)
		case c < ' ':
			return 0
		case c >= utf8.RuneSelf:
			wide = true
		case c == '\\':
			i++
			switch {
			case i == len(b):
				return 0
			case b[i] == 'u':
				coded = true
			case bytes.IndexByte([]byte(`"\/bfnrt`), b[i]) < 0:
				return 0
			}
		}
	}
	return 0
}

// AppendText appends the text of a part that is a string. Texts come in very
// many parts, so it makes room for more of them than append does.
func AppendText(dst []byte, value []byte) []byte {
	if cap(dst)-len(dst) < len(value) {
		dst = slices.Grow(dst, max(512, len(value), len(dst)/2))
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return append(dst, value[1:len(value)-1]...)
	}
	dst, _ = jsontext.AppendUnquote(dst, value) // Match has looked at it
	return dst
}

// idList returns the length of the list of ids that b begins with; zero where
// there is none, or none in it, or something that is no id.
func idList(b []byte) int {
	if len(b) == 0 || b[0] != '[' {
		return 0
	}
	for i := 1; ; i++ { // past the bracket, a comma, or a space after it
		_, n := id(b[i:])
		if n == 0 {
			return 0
		}
		i += n
		switch {
		case i == len(b):
			return 0
		case b[i] == ']':
			return i + 1
		case b[i] != ',':
			return 0
		case i+1 < len(b) && b[i+1] == ' ':
			i++
		}
	}
}

// id reads the number that b begins with, as JSON writes it, and its length;
// zero where there is none or one that is no id.
func id(b []byte) (v int32, n int) {
	var sum int64
	for n < len(b) && '0' <= b[n] && b[n] <= '9' {
		sum = 10*sum + int64(b[n]-'0')
		n++
		if sum > math.MaxInt32 || b[0] == '0' && n > 1 {
			return 0, 0
		}
	}
	return int32(sum), n
}

// AppendIDs appends the ids of a part that is a list of them.
func AppendIDs(dst []int32, value []byte) []int32 {
	dst = slices.Grow(dst, 1+bytes.Count(value, []byte(",")))
	for i := 1; i < len(value); i++ {
		if v, n := id(value[i:]); n > 0 {
			dst = append(dst, v)
			i += n
		}
	}
	return dst
}
