package chat

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// kind is the Python type that a JSON value becomes.
type kind uint8

const (
	null kind = iota
	boolean
	integer
	float
	text
	list
	dict
)

// value is a JSON value as Python's json module reads it: objects keep their
// order, and integers are told from floats.
type value struct {
	kind  kind
	truth bool    // of a boolean
	num   float64 // of a float
	text  string  // of a text; of an integer, its digits
	items []value // of a list, and the values of a dict
	keys  []string
}

// get returns the value of a dict's key.
func (v *value) get(key string) (*value, bool) {
	if v.kind != dict {
		return nil, false
	}
	if i := slices.Index(v.keys, key); i >= 0 {
		return &v.items[i], true
	}
	return nil, false
}

// truthy reports what Python's bool makes of v.
func (v *value) truthy() bool {
	switch v.kind {
	case boolean:
		return v.truth
	case integer:
		return v.text != "0"
	case float:
		return v.num != 0
	case text:
		return v.text != ""
	case list, dict:
		return len(v.items) > 0
	}
	return false
}

// sortKeys orders the keys of every dict in v, in place.
func (v *value) sortKeys() {
	if v.kind == dict && !slices.IsSorted(v.keys) {
		order := make([]int, len(v.keys))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return strings.Compare(v.keys[a], v.keys[b]) })
		keys, items := make([]string, len(order)), make([]value, len(order))
		for i, o := range order {
			keys[i], items[i] = v.keys[o], v.items[o]
		}
		v.keys, v.items = keys, items
	}
	for i := range v.items {
		v.items[i].sortKeys()
	}
}

// parseValue reads exactly one JSON value. A repeated key keeps its first
// place and its last value; a lone surrogate becomes U+FFFD. Both is what
// remains of them once Python has read and encoded them.
func parseValue(src []byte) (value, error) {
	d := jsontext.NewDecoder(bytes.NewReader(src),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := readValue(d)
	if err != nil {
		return value{}, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		if err == nil {
			err = fmt.Errorf("more text after the value at byte %d", d.InputOffset())
		}
		return value{}, err
	}
	return v, nil
}

func readValue(d *jsontext.Decoder) (value, error) {
	t, err := d.ReadToken()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return value{}, err
	}
	switch t.Kind() {
	case 't', 'f':
		return value{kind: boolean, truth: t.Bool()}, nil
	case '"':
		return value{kind: text, text: t.String()}, nil
	case '0':
		return number(t.String()), nil
	case '[':
		return readList(d)
	case '{':
		return readDict(d)
	}
	return value{}, nil // the only kind left is null
}

func number(s string) value {
	if strings.ContainsAny(s, ".eE") {
		f, _ := strconv.ParseFloat(s, 64) // out of range is ±Inf, in Python too
		return value{kind: float, num: f}
	}
	if s == "-0" {
		s = "0"
	}
	return value{kind: integer, text: s}
}

func readList(d *jsontext.Decoder) (value, error) {
	v := value{kind: list}
	for d.PeekKind() != ']' {
		item, err := readValue(d)
		if err != nil {
			return value{}, err
		}
		v.items = append(v.items, item)
	}
	_, err := d.ReadToken()
	return v, err
}

func readDict(d *jsontext.Decoder) (value, error) {
	v := value{kind: dict}
	var place map[string]int // of each key, once there are many
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return value{}, err
		}
		key := t.String()
		item, err := readValue(d)
		if err != nil {
			return value{}, err
		}
		at := -1
		switch {
		case place != nil:
			if i, ok := place[key]; ok {
				at = i
			}
		default:
			at = slices.Index(v.keys, key)
		}
		if at >= 0 {
			v.items[at] = item
			continue
		}
		v.keys = append(v.keys, key)
		v.items = append(v.items, item)
		switch n := len(v.keys); {
		case place != nil:
			place[key] = n - 1
		case n == manyKeys:
			place = make(map[string]int, 2*n)
			for i, k := range v.keys {
				place[k] = i
			}
		}
	}
	_, err := d.ReadToken()
	return v, err
}

// manyKeys is how many keys a dict has before repeated ones are looked for in
// a map and no longer one by one.
const manyKeys = 32
