package jinja

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxJSONDepth is how deep FromJSON lets containers nest; Python's json gives up
// near the same depth.
const maxJSONDepth = maxNesting

// FromJSON reads one JSON value the way Python's json.loads does: keys keep their
// order, the last of equal keys wins, numbers with a point or an exponent are
// floats and all others integers of any size, and an escape for half a surrogate
// pair is kept as it is. Unlike Python it refuses NaN and Infinity.
func FromJSON(data []byte) (Value, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("jinja: JSON is not valid UTF-8")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data),
		jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true)) // for escaped halves of surrogate pairs
	v, err := decodeValue(dec)
	if err == nil {
		if _, err = dec.ReadToken(); err == io.EOF {
			return v, nil
		} else if err == nil {
			err = errors.New("more than one value")
		}
	}
	return nil, fmt.Errorf("jinja: JSON at byte %d: %w", dec.InputOffset(), err)
}

func decodeValue(dec *jsontext.Decoder) (Value, error) {
	if dec.StackDepth() >= maxJSONDepth {
		return nil, fmt.Errorf("containers nest more than %d levels deep", maxJSONDepth)
	}
	switch dec.PeekKind() {
	case '{':
		return decodeDict(dec)
	case '[':
		return decodeList(dec)
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	switch raw.Kind() {
	case 'n':
		return None, nil
	case 't', 'f':
		return Bool(raw.Kind() == 't'), nil
	case '"':
		return String(unquoteJSON(raw)), nil
	}
	return decodeNumber(string(raw))
}

func decodeDict(dec *jsontext.Decoder) (Value, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	d := &Dict{}
	for dec.PeekKind() != '}' {
		raw, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		key := String(unquoteJSON(raw))
		v, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		d.put(key, v)
	}
	_, err := dec.ReadToken()
	return d, err
}

func decodeList(dec *jsontext.Decoder) (Value, error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	l := &List{}
	for dec.PeekKind() != ']' {
		v, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		l.items = append(l.items, v)
	}
	_, err := dec.ReadToken()
	return l, err
}

func decodeNumber(s string) (Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, _ := strconv.ParseFloat(s, 64) // too large is inf, as in Python
		return Float(f), nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Int(n), nil
	}
	if len(strings.TrimPrefix(s, "-")) > maxIntDigits {
		return nil, fmt.Errorf("integer of more than %d digits", maxIntDigits)
	}
	n, _ := new(big.Int).SetString(s, 10)
	return newInt(n), nil
}

// unquoteJSON reads a string that is known to be well formed.
func unquoteJSON(raw []byte) string {
	s := string(raw[1 : len(raw)-1])
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return string(append(b, s...))
		}
		b = append(b, s[:i]...)
		c := s[i+1]
		s = s[i+2:]
		if c != 'u' {
			b = append(b, jsonEscapes[c]...)
			continue
		}
		r := hexRune(s)
		s = s[4:]
		if r>>10 == 0xD800>>10 && strings.HasPrefix(s, `\u`) {
			if low := hexRune(s[2:]); low>>10 == 0xDC00>>10 {
				r = 0x10000 + (r&0x3FF)<<10 + low&0x3FF
				s = s[6:]
			}
		}
		b = appendRune(b, r)
	}
}

var jsonEscapes = map[byte]string{
	'"': `"`, '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t",
}

func hexRune(s string) rune {
	n, _ := strconv.ParseUint(s[:4], 16, 16)
	return rune(n)
}

// JSONOptions chooses among the forms of JSON that Python's json.dumps writes. The
// zero value is the form of the tojson filter in chat templates.
type JSONOptions struct {
	SortKeys    bool // order keys by code point
	Compact     bool // no blanks after commas and colons
	EnsureASCII bool // escape what is not ASCII
}

// ToJSON writes a value as Python's json.dumps would, byte for byte.
func ToJSON(v Value, opts JSONOptions) (s string, err error) {
	line := 0
	defer catch("", &line, &err)
	w := jsonWriter{
		in: &interp{opts: Options{}.withDefaults()}, item: ", ", colon: ": ",
		sort: opts.SortKeys, ascii: opts.EnsureASCII,
	}
	if opts.Compact {
		w.item, w.colon = ",", ":"
	}
	w.value(v, 0)
	return string(w.b), nil
}

// jsonWriter writes JSON as json.dumps does.
type jsonWriter struct {
	in          *interp
	b           []byte
	item, colon string
	multiline   bool
	indent      string // of one level, if multiline
	sort, ascii bool
}

// filterTojson is the tojson that transformers puts in place of Jinja2's own.
func filterTojson(in *interp, a arguments) Value {
	w := jsonWriter{in: in, item: ", ", colon: ": ", ascii: truth(a.v[1]), sort: truth(a.v[4])}
	if a.v[2] != None {
		w.multiline, w.item = true, ","
		if s, ok := asText(a.v[2]); ok {
			w.indent = s
		} else {
			n := max(smallInteger(a.v[2]), 0)
			in.reserve(n)
			w.indent = strings.Repeat(" ", n)
		}
	}
	if a.v[3] != None {
		seps := in.unpack(a.v[3], 2)
		w.item, w.colon = separatorText(seps[0]), separatorText(seps[1])
	}
	w.value(a.v[0], 0)
	return String(in.made(string(w.b)))
}

func separatorText(v Value) string {
	s, ok := asText(v)
	if !ok {
		raise(TypeError, "separators must be str, not %s", v.typeName())
	}
	return s
}

func (w *jsonWriter) value(v Value, depth int) {
	w.in.step()
	if depth > maxNesting {
		raise(RecursionError, "maximum recursion depth exceeded while encoding a JSON object")
	}
	if len(w.b) > w.in.opts.MaxOutput {
		raise(OutputLimit, "the JSON text passes %d bytes", w.in.opts.MaxOutput)
	}
	if s, ok := asText(v); ok {
		w.text(s)
		return
	}
	switch v := v.(type) {
	case *List:
		w.list(v.items, depth)
	case *tuple:
		w.list(v.items, depth)
	case *Dict:
		w.dict(v, depth)
	default:
		s, ok := jsonScalar(v)
		if !ok {
			raise(TypeError, "Object of type %s is not JSON serializable", v.typeName())
		}
		w.b = append(w.b, s...)
	}
}

// jsonScalar spells what is neither a string nor a container.
func jsonScalar(v Value) (string, bool) {
	switch v := v.(type) {
	case noneValue:
		return "null", true
	case Bool:
		return strconv.FormatBool(bool(v)), true
	case Int:
		return strconv.FormatInt(int64(v), 10), true
	case bigValue:
		return bigText(v), true
	case Float:
		switch f := float64(v); {
		case math.IsNaN(f):
			return "NaN", true
		case math.IsInf(f, 1):
			return "Infinity", true
		case math.IsInf(f, -1):
			return "-Infinity", true
		}
		return string(appendFloat(nil, float64(v))), true
	}
	return "", false
}

func (w *jsonWriter) list(items []Value, depth int) {
	if len(items) == 0 {
		w.b = append(w.b, "[]"...)
		return
	}
	w.b = append(w.b, '[')
	for i, v := range items {
		w.separate(i, depth+1)
		w.value(v, depth+1)
	}
	w.newline(depth)
	w.b = append(w.b, ']')
}

func (w *jsonWriter) dict(d *Dict, depth int) {
	if d.Len() == 0 {
		w.b = append(w.b, "{}"...)
		return
	}
	keys := d.keys
	if w.sort {
		keys = w.in.sorted(keys, func(k Value) Value { return k }, false)
	}
	w.b = append(w.b, '{')
	for i, k := range keys {
		w.separate(i, depth+1)
		if s, ok := asText(k); ok {
			w.text(s)
		} else if s, ok := jsonScalar(k); ok {
			w.text(s)
		} else {
			raise(TypeError, "keys must be str, int, float, bool or None, not %s", k.typeName())
		}
		w.b = append(w.b, w.colon...)
		v, _ := d.get(k)
		w.value(v, depth+1)
	}
	w.newline(depth)
	w.b = append(w.b, '}')
}

// separate writes what stands before item i.
func (w *jsonWriter) separate(i, depth int) {
	if i > 0 {
		w.b = append(w.b, w.item...)
	}
	w.newline(depth)
}

func (w *jsonWriter) newline(depth int) {
	if !w.multiline {
		return
	}
	w.in.reserve(depth * len(w.indent))
	w.b = append(w.b, '\n')
	for range depth {
		w.b = append(w.b, w.indent...)
	}
}

func (w *jsonWriter) text(s string) {
	w.in.charge(len(s))
	w.b = append(w.b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && (c < utf8.RuneSelf || !w.ascii) {
			i++
			continue
		}
		w.b = append(w.b, s[start:i]...)
		r, n := decodeRune(s[i:])
		w.b = appendJSONEscape(w.b, r)
		i += n
		start = i
	}
	w.b = append(append(w.b, s[start:]...), '"')
}

func appendJSONEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	case '\f':
		return append(b, `\f`...)
	case '\b':
		return append(b, `\b`...)
	}
	if r >= 0x10000 {
		r -= 0x10000
		return fmt.Appendf(b, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
	}
	return fmt.Appendf(b, `\u%04x`, r)
}
