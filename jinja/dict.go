package jinja

import (
	"fmt"
	"iter"
	"math"
	"strconv"
)

// Dict is a Python dict: it keeps the order in which keys were first set. The
// zero value is an empty dictionary ready to use. Build it before rendering;
// while a template renders with it, it must not be changed.
type Dict struct {
	keys  []Value
	vals  []Value
	index map[any]int // nil while the dictionary is small
}

// smallDict is the size up to which looking through the keys is as fast as a
// map. Messages and tool schemas stay below it.
const smallDict = 8

// NewDict returns an empty dictionary.
func NewDict() *Dict { return &Dict{} }

// Set puts v under key and returns d. A key that was there keeps its place. A nil
// v is None.
func (d *Dict) Set(key string, v Value) *Dict {
	if v == nil {
		v = None
	}
	d.put(String(key), v)
	return d
}

// Get returns the value under key.
func (d *Dict) Get(key string) (Value, bool) {
	if i := d.findString(key); i >= 0 {
		return d.vals[i], true
	}
	return nil, false
}

// Len returns the number of keys.
func (d *Dict) Len() int { return len(d.keys) }

// All yields keys and values in order. Keys from JSON are Strings.
func (d *Dict) All() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		for i, k := range d.keys {
			if !yield(k, d.vals[i]) {
				return
			}
		}
	}
}

// put is Set for any hashable key; others raise TypeError.
func (d *Dict) put(key, v Value) {
	h := hashKey(key)
	if i := d.find(h); i >= 0 {
		d.vals[i] = v
		return
	}
	d.keys, d.vals = append(d.keys, key), append(d.vals, v)
	if d.index != nil {
		d.index[h] = len(d.keys) - 1
	} else if len(d.keys) > smallDict {
		d.index = make(map[any]int, 2*smallDict)
		for i, k := range d.keys {
			d.index[hashKey(k)] = i
		}
	}
}

// get is Get for any hashable key; others raise TypeError.
func (d *Dict) get(key Value) (Value, bool) {
	if i := d.find(hashKey(key)); i >= 0 {
		return d.vals[i], true
	}
	return nil, false
}

func (d *Dict) find(h any) int {
	if s, ok := h.(string); ok {
		return d.findString(s)
	}
	if d.index != nil {
		if i, ok := d.index[h]; ok {
			return i
		}
		return -1
	}
	for i, k := range d.keys {
		if hashKey(k) == h {
			return i
		}
	}
	return -1
}

func (d *Dict) findString(s string) int {
	if d.index != nil {
		if i, ok := d.index[s]; ok {
			return i
		}
		return -1
	}
	for i, k := range d.keys {
		if k, ok := k.(String); ok && string(k) == s {
			return i
		}
		if k, ok := peekText(k); ok && k == s {
			return i
		}
	}
	return -1
}

// clone copies the table of d, not the values in it.
func (d *Dict) clone() *Dict {
	c := &Dict{}
	for k, v := range d.All() {
		c.put(k, v)
	}
	return c
}

func (*Dict) typeName() string { return "dict" }

// maxKey bounds the spelled-out form of a tuple used as a key.
const maxKey = 1 << 20

// Keys that are equal in Python must be equal here: 1, 1.0 and true are one key.
type (
	bigKey   string
	tupleKey string
)

// hashKey maps a value to a comparable Go value, or raises TypeError as Python's
// hash does.
func hashKey(v Value) any {
	if s, ok := peekText(v); ok {
		return s
	}
	switch v := v.(type) {
	case Int:
		return int64(v)
	case Bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case Float:
		if n := int64(v); float64(n) == float64(v) && math.Abs(float64(v)) < 1<<63 {
			return n
		}
		return float64(v)
	case bigValue:
		return bigKey(v.n.Text(16))
	case *tuple:
		return tupleKey(hashTuple(v))
	case *undefined:
		return undefinedKey{}
	case *List, *Dict, *dictView:
		raise(TypeError, "unhashable type: %s", quote(v.typeName()))
	}
	return v
}

type undefinedKey struct{}

// hashTuple spells a tuple out, so that different tuples differ.
func hashTuple(t *tuple) string {
	var b []byte
	for _, item := range t.items {
		if len(b) > maxKey {
			raise(OutputLimit, "a dictionary key passes %d bytes", maxKey)
		}
		switch h := hashKey(item).(type) {
		case string:
			b = strconv.AppendQuote(b, h)
		case int64:
			b = strconv.AppendInt(b, h, 10)
		case float64:
			b = strconv.AppendFloat(b, h, 'g', -1, 64)
		case bigKey:
			b = append(b, h...)
		case tupleKey:
			b = fmt.Appendf(b, "(%s)", h)
		case undefinedKey, noneValue:
			b = append(b, item.typeName()...)
		default:
			b = fmt.Appendf(b, "%p", h)
		}
		b = append(b, ',')
	}
	return string(b)
}

// dictView is what d.keys(), d.values() and d.items() return: a live window.
type dictView struct {
	d    *Dict
	what viewKind
}

type viewKind int

const (
	viewKeys viewKind = iota
	viewValues
	viewItems
)

func (v *dictView) typeName() string {
	return [...]string{"dict_keys", "dict_values", "dict_items"}[v.what]
}

// at returns element i of the view.
func (v *dictView) at(i int) Value {
	switch v.what {
	case viewKeys:
		return v.d.keys[i]
	case viewValues:
		return v.d.vals[i]
	default:
		return newTuple(v.d.keys[i], v.d.vals[i])
	}
}

// hashable tells whether hashKey accepts v.
func hashable(v Value) bool {
	switch v := v.(type) {
	case *List, *Dict, *dictView:
		return false
	case *tuple:
		for _, item := range v.items {
			if !hashable(item) {
				return false
			}
		}
	}
	return true
}
