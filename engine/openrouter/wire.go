package openrouter

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// lenient reads vendors' JSON: bad UTF-8 and doubled names do not stop us.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// walker walks through JSON whose shape is not to be trusted: a value of
// another kind than the one that is looked for is passed over.
type walker struct {
	*parser
	// garbled is set once a string held something that is no Unicode text, such
	// as half a rune. It was replaced, so the text is not what was sent.
	garbled bool
	raw     int // bytes of the string that text has read, with its quotes
}

// parser is had only while a document is walked: it holds on to it.
type parser struct {
	dec jsontext.Decoder
	doc bytes.Buffer
}

var parsers = sync.Pool{New: func() any { return new(parser) }}

// start begins with a document, which must not change while it is walked.
func (w *walker) start(doc []byte) {
	w.parser = parsers.Get().(*parser)
	w.parser.read(doc)
}

// stop ends the walk.
func (w *walker) stop() {
	w.parser.read(nil)
	parsers.Put(w.parser)
	w.parser = nil
}

func (p *parser) read(doc []byte) {
	p.doc = *bytes.NewBuffer(doc)
	p.dec.Reset(&p.doc, lenient)
}

// more reports whether a further value follows at the top level.
func (w *walker) more() (bool, error) {
	if w.dec.PeekKind() != 0 {
		return true, nil
	}
	_, err := w.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return false, err
}

// object calls member for every member of the object that comes next, which
// must read the member's value; name is valid until it does.
func (w *walker) object(member func(name []byte) error) error {
	if w.dec.PeekKind() != '{' {
		return w.dec.SkipValue()
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != '}' {
		name, err := w.dec.ReadValue()
		if err != nil {
			return err
		}
		name = name[1 : len(name)-1] // names with escapes are none of ours
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// array calls elem for every element of the array that comes next, which must
// read it.
func (w *walker) array(elem func() error) error {
	if w.dec.PeekKind() != '[' {
		return w.dec.SkipValue()
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.dec.PeekKind() != ']' {
		if err := elem(); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// text appends the string that comes next to dst.
func (w *walker) text(dst []byte) ([]byte, error) {
	v, err := w.dec.ReadValue()
	if err != nil || v.Kind() != '"' {
		return dst, err
	}
	w.raw = len(v)
	out, err := jsontext.AppendUnquote(dst, v)
	if err != nil {
		w.garbled = true
	}
	return out, nil
}

// str reads the string that comes next into dst, without making a new one when
// it is the same as before.
func (w *walker) str(dst *string) error {
	v, err := w.dec.ReadValue()
	if err != nil || v.Kind() != '"' {
		return err
	}
	if string(v[1:len(v)-1]) != *dst {
		*dst = textOf(v)
	}
	return nil
}

// count reads the count that comes next, which may be written as a float or a
// string. Whatever is no count is reported as absent.
func (w *walker) count() (n int, ok bool, err error) {
	v, err := w.dec.ReadValue()
	if err != nil {
		return 0, false, err
	}
	n, ok = countOf(v)
	return n, ok, nil
}

// flag reads the boolean that comes next; anything else is false.
func (w *walker) flag() (bool, error) {
	v, err := w.dec.ReadValue()
	return err == nil && v.Kind() == 't', err
}

// textOf prints a JSON value as text: strings unquoted, null as nothing.
func textOf(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		b, _ := jsontext.AppendUnquote(nil, v) // what is no Unicode text it replaces
		return string(b)
	case 'n', 0:
		return ""
	}
	return string(v)
}

func countOf(v jsontext.Value) (int, bool) {
	text := string(bytes.Trim(v, `"`))
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(f) < 1<<40 {
		return int(f), true
	}
	return 0, false
}

// moneyOf reads an amount of dollars, a number or a string, never through a
// float.
func moneyOf(v jsontext.Value) (eyrie.Money, bool) {
	m, err := eyrie.ParseMoney(textOf(v))
	return m, err == nil
}

// seconds reads a wait. Nonsense is no wait, and too long a one is cut.
func seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0) {
		return 0
	}
	return time.Duration(min(f, maxWait.Seconds()) * float64(time.Second))
}
