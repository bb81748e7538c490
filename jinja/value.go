package jinja

import (
	"math/big"
	"slices"
)

// Value is a value of the template language. The set of implementations is
// closed; see the package comment for those a caller can make.
type Value interface {
	// typeName is the name of the Python type, as its messages spell it.
	typeName() string
}

// Bool, Int, Float and String are the scalar values. In arithmetic and
// comparison a Bool counts as the integer 0 or 1, as in Python. A String holds
// UTF-8; half a surrogate pair is held as its three-byte generalised form.
type (
	Bool   bool
	Int    int64
	Float  float64
	String string
)

// None is Python's None, JSON's null.
var None Value = noneValue{}

type noneValue struct{}

// bigValue is an integer outside the range of Int. The number is never changed
// after it has been wrapped.
type bigValue struct{ n *big.Int }

// BigInt returns the integer n: an Int when it fits, else a value of arbitrary
// size. It keeps no reference to n.
func BigInt(n *big.Int) Value { return newInt(new(big.Int).Set(n)) }

// newInt is BigInt for a number nobody else holds.
func newInt(n *big.Int) Value {
	if n.IsInt64() {
		return Int(n.Int64())
	}
	return bigValue{n}
}

// markup is a string that the safe and escape filters have marked. It behaves
// as a string, but adding an unmarked string to it escapes that string for HTML.
type markup string

// List is a Python list. The language has no way to change one, so a List is
// immutable once made.
type List struct{ items []Value }

// NewList returns a list of the given values. A nil value is None.
func NewList(items ...Value) *List {
	l := &List{slices.Clone(items)}
	for i, v := range l.items {
		if v == nil {
			l.items[i] = None
		}
	}
	return l
}

// Len returns the number of items.
func (l *List) Len() int { return len(l.items) }

// At returns item i, counted from 0.
func (l *List) At(i int) Value { return l.items[i] }

// tuple is a Python tuple. Those made by the groupby filter also answer to the
// names grouper and list.
type tuple struct {
	items []Value
	group bool
}

func newTuple(items ...Value) *tuple { return &tuple{items: items} }

// undefined is the value of a name that is not there. It remembers how it was
// reached, for the message raised when it is used.
type undefined struct {
	hint   string // complete message, if set
	parent Value  // nil: a plain name
	name   Value  // name or index that was missing
	kind   Kind   // what using it raises; empty means UndefinedError
}

func undefinedName(name string) *undefined { return &undefined{name: String(name)} }

func undefinedHint(hint string) *undefined { return &undefined{hint: hint} }

// message says what was missing.
func (u *undefined) message() string {
	if u.hint != "" {
		return u.hint
	}
	if u.parent == nil {
		return quote(text(u.name)) + " is undefined"
	}
	owner := describe(u.parent)
	if name, ok := asText(u.name); ok {
		return quote(owner) + " has no attribute " + quote(name)
	}
	return owner + " has no element " + reprOf(u.name)
}

// fail raises the error of a use that undefined values do not allow.
func (u *undefined) fail() {
	kind := u.kind
	if kind == "" {
		kind = UndefinedError
	}
	raise(kind, "%s", u.message())
}

// describe names a value in messages about missing attributes.
func describe(v Value) string {
	switch v := v.(type) {
	case noneValue:
		return "None"
	case *namespace:
		return "jinja2.utils.Namespace object"
	case *loopValue:
		return "jinja2.runtime.LoopContext object"
	case *macro:
		return "jinja2.runtime.Macro object"
	case markup:
		return "markupsafe.Markup object"
	default:
		return v.typeName() + " object"
	}
}

func (noneValue) typeName() string  { return "NoneType" }
func (Bool) typeName() string       { return "bool" }
func (Int) typeName() string        { return "int" }
func (bigValue) typeName() string   { return "int" }
func (Float) typeName() string      { return "float" }
func (String) typeName() string     { return "str" }
func (markup) typeName() string     { return "Markup" }
func (*List) typeName() string      { return "list" }
func (*tuple) typeName() string     { return "tuple" }
func (*undefined) typeName() string { return "Undefined" }

// peekText is asText for looking only: it does not count as a use that loses the
// place of a generation block.
func peekText(v Value) (string, bool) {
	if m, ok := v.(*marked); ok {
		return m.text, true
	}
	return asText(v)
}

// asText returns the content of any of the string types.
func asText(v Value) (string, bool) {
	switch v := v.(type) {
	case String:
		return string(v), true
	case markup:
		return string(v), true
	case *marked:
		return v.use(), true
	}
	return "", false
}

// text is asText for a value already known to be a string.
func text(v Value) string {
	s, _ := asText(v)
	return s
}

// sequence returns the items of a list or tuple.
func sequence(v Value) ([]Value, bool) {
	switch v := v.(type) {
	case *List:
		return v.items, true
	case *tuple:
		return v.items, true
	}
	return nil, false
}

// truth is Python's bool(v).
func truth(v Value) bool {
	switch v := v.(type) {
	case noneValue, *undefined:
		return false
	case Bool:
		return bool(v)
	case Int:
		return v != 0
	case Float:
		return v != 0
	case String:
		return v != ""
	}
	if n, ok := length(v); ok {
		return n != 0
	}
	return true
}

// length is Python's len(v), where it has one.
func length(v Value) (int, bool) {
	if s, ok := peekText(v); ok {
		return runeCount(s), true
	}
	switch v := v.(type) {
	case *List:
		return len(v.items), true
	case *tuple:
		return len(v.items), true
	case *Dict:
		return v.Len(), true
	case *dictView:
		return v.d.Len(), true
	case rangeValue:
		return v.len(), true
	case *undefined:
		return 0, true
	case *loopValue:
		return v.length(), true
	}
	return 0, false
}
