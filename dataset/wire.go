package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// walker steps through the JSON of one row. Its methods return a [*drop] where
// the JSON is not what was asked for, and the decoder's error where it is bad.
// Both leave the walker where it stands; only reset makes it usable again.
type walker struct {
	dec     jsontext.Decoder
	buf     bytes.Buffer
	names   map[string]string // keys seen, so that each is allocated once
	scratch []byte
	inner   *walker // see nested
	rules   *rules  // for messages
}

// maxNames bounds the keys a walker remembers.
const maxNames = 1024

func (w *walker) reset(raw []byte) {
	w.buf = *bytes.NewBuffer(raw)
	w.dec.Reset(&w.buf)
}

// nested returns a walker over JSON that w came upon and has moved past. It is
// the same one each time: read one value to its end before asking for the next.
func (w *walker) nested(raw []byte) *walker {
	if w.inner == nil {
		w.inner = &walker{rules: w.rules}
	}
	w.inner.reset(raw)
	return w.inner
}

// row reads the one object of a row with read.
func (w *walker) row(raw []byte, read func(*walker) (*draft, error)) (*draft, error) {
	w.reset(raw)
	if w.kind() != '{' {
		return nil, w.notObject()
	}
	d, err := read(w)
	if err != nil {
		return nil, err
	}
	return d, w.end()
}

// notObject tells JSON that is no object from what is no JSON.
func (w *walker) notObject() error {
	if err := w.skip(); err != nil {
		return err
	}
	return dropf(BadJSON, "a JSON value that is not an object")
}

// end reports what follows the value.
func (w *walker) end() error {
	_, err := w.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("more than one JSON value")
	}
	return err
}

// kind says what comes next: one of n t f " 0 { [, or 0 for bad JSON.
func (w *walker) kind() jsontext.Kind { return w.dec.PeekKind() }

// object reads an object; each is called with every key and reads its value.
func (w *walker) object(each func(key string) error) error {
	if w.kind() != '{' {
		return w.wrong("an object")
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for w.kind() != '}' {
		raw, err := w.dec.ReadValue()
		if err != nil {
			return err
		}
		key := w.name(raw)
		if err := each(key); err != nil {
			return within(err, "."+clip(key))
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// array reads an array; each reads one element.
func (w *walker) array(each func() error) error {
	if w.kind() != '[' {
		return w.wrong("a list")
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; w.kind() != ']'; i++ {
		if err := each(); err != nil {
			return within(err, index("", i))
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// name returns the key that raw spells.
func (w *walker) name(raw []byte) string {
	if s, ok := w.names[string(raw)]; ok {
		return s
	}
	if w.names == nil || len(w.names) >= maxNames {
		w.names = map[string]string{}
	}
	s := w.unquote(raw)
	w.names[string(raw)] = s
	return s
}

// text reads a string.
func (w *walker) text() (string, error) {
	if w.kind() != '"' {
		return "", w.wrong("text")
	}
	raw, err := w.dec.ReadValue()
	if err != nil {
		return "", err
	}
	return w.unquote(raw), nil
}

// unquote returns the text of a JSON string that the decoder has checked. It
// works in one buffer, so that the result is all that is allocated.
func (w *walker) unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	w.scratch, _ = jsontext.AppendUnquote(w.scratch[:0], raw)
	return string(w.scratch)
}

// textOrNull reads a string, or null as an empty one.
func (w *walker) textOrNull() (string, error) {
	if w.kind() == 'n' {
		return "", w.skip()
	}
	return w.text()
}

// into reads a string or null into s, and reports whether anything is in it.
func (w *walker) into(s *string) (bool, error) {
	text, err := w.textOrNull()
	if text != "" {
		*s = text
	}
	return text != "", err
}

// ifText reads a string into s, and passes over what is none.
func (w *walker) ifText(s *string) (bool, error) {
	if w.kind() != '"' {
		return false, w.skip()
	}
	return w.into(s)
}

// loosely reads a string into s, and what is none as its JSON.
func (w *walker) loosely(s *string) (bool, error) {
	if k := w.kind(); k == '"' || k == 'n' {
		return w.into(s)
	}
	raw, err := w.compact()
	if err == nil {
		*s = string(raw)
	}
	return err == nil, err
}

// literal returns a walker over text that is a list or an object, as JSON or
// as Python prints it.
func (w *walker) literal(text string) (*walker, bool) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '[' && text[0] != '{' {
		return nil, false
	}
	if raw := []byte(text); isJSON(raw) {
		return w.nested(raw), true
	}
	raw, ok := pythonJSON(text)
	if !ok {
		return nil, false
	}
	return w.nested(raw), true
}

// id reads an id: a string, or a number as it is written, or null as nothing.
func (w *walker) id() (string, error) {
	if w.kind() != '0' {
		return w.textOrNull()
	}
	raw, err := w.dec.ReadValue()
	return string(raw), err
}

// compact reads a value of any kind and returns it without white space.
// Strings and numbers stay as they are written.
func (w *walker) compact() ([]byte, error) {
	raw, err := w.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	v := raw.Clone()
	return v, v.Compact()
}

// skip passes over a value.
func (w *walker) skip() error { return w.dec.SkipValue() }

// wrong is the error of a value that is not what was wanted.
func (w *walker) wrong(want string) error {
	names := map[jsontext.Kind]string{
		'n': "null", 't': "true", 'f': "false", '"': "text", '0': "a number", '{': "an object", '[': "a list",
	}
	is, ok := names[w.kind()]
	if !ok {
		return w.skip() // which fails: what comes next is no value
	}
	return dropf(WrongType, "is %s, not %s", is, want)
}

// columns returns the columns of a row, for the choice of a layout.
func (w *walker) columns(raw []byte) ([]column, error) {
	w.reset(raw)
	var cols []column
	err := w.object(func(name string) error {
		value, err := w.dec.ReadValue()
		cols = append(cols, column{name, value.Clone()})
		return err
	})
	if err == nil {
		err = w.end()
	}
	return cols, err
}

// unquoted returns the text of a JSON string, and nothing for what is none.
func unquoted(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	var w walker
	return w.unquote(value)
}

// firstKeys returns the keys of the first element of a list of objects, which
// may also be the text of one.
func firstKeys(value []byte) []string {
	w := new(walker)
	var keys []string
	w.reset(value)
	if text := unquoted(value); text != "" {
		in, ok := w.literal(text)
		if !ok {
			return nil
		}
		w = in
	}
	if w.kind() != '[' {
		return nil
	}
	first := true
	// The value is known to be JSON, so all that can go wrong is its type.
	_ = w.array(func() error {
		if !first || w.kind() != '{' {
			first = false
			return w.skip()
		}
		first = false
		return w.object(func(key string) error {
			keys = append(keys, key)
			return w.skip()
		})
	})
	return keys
}

// anyString reports whether bad holds for any string in the JSON, key or value,
// as far as it is JSON.
func anyString(raw []byte, bad func(string) bool) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return false
		}
		if tok.Kind() == '"' && bad(tok.String()) {
			return true
		}
	}
}

// isJSON reports whether raw follows the grammar, whatever its text and keys.
func isJSON(raw []byte) bool {
	return jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// explain turns the error of a row into the reason to leave it out. What is
// wrong with the JSON comes before what is wrong with the row, wherever it
// stands.
func explain(raw []byte, err error) *drop {
	switch v := jsontext.Value(raw); {
	case !isJSON(raw):
		return dropf(BadJSON, "not JSON%s", offset(err))
	case !v.IsValid(jsontext.AllowDuplicateNames(true)):
		return dropf(LoneHalf, "half of a surrogate pair")
	case !v.IsValid():
		return dropf(DuplicateKey, "an object with the same key twice")
	}
	if d, ok := errors.AsType[*drop](err); ok {
		return d
	}
	return dropf(BadJSON, "%v", err)
}

// offset says where in the line the JSON goes wrong.
func offset(err error) string {
	if se, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf(" from byte %d on", se.ByteOffset+1)
	}
	return ""
}

// within says in which field a drop happened.
func within(err error, at string) error {
	if d, ok := errors.AsType[*drop](err); ok {
		d.at = at + d.at
	}
	return err
}

func index(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// clip shortens a name from a file to what fits a message.
func clip(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}
