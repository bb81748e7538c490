package jinja

import (
	"cmp"
	"math/big"
	"strings"
)

// compare evaluates one comparison operator.
func (in *interp) compare(op string, a, b Value) bool {
	switch op {
	case "==":
		return in.equal(a, b)
	case "!=":
		return !in.equal(a, b)
	case "in":
		return in.contains(b, a)
	case "not in":
		return !in.contains(b, a)
	}
	return in.ordered(op, a, b)
}

// equal is Python's ==, which never raises for the values there are here.
func (in *interp) equal(a, b Value) bool {
	in.step()
	in.deeper()
	defer func() { in.nest-- }()
	if s, ok := peekText(a); ok {
		t, ok := peekText(b)
		return ok && s == t
	}
	if x, ok := asNumber(a); ok {
		y, ok := asNumber(b)
		return ok && compareNumbers(x, y) == equalTo
	}
	switch a := a.(type) {
	case *undefined:
		_, ok := b.(*undefined)
		return ok
	case *List:
		b, ok := b.(*List)
		return ok && in.equalItems(a.items, b.items)
	case *tuple:
		b, ok := b.(*tuple)
		return ok && in.equalItems(a.items, b.items)
	case *Dict:
		b, ok := b.(*Dict)
		return ok && in.equalDicts(a, b)
	case *dictView:
		b, ok := b.(*dictView)
		return ok && in.equalViews(a, b)
	case rangeValue:
		b, ok := b.(rangeValue)
		return ok && a.equal(b)
	}
	return a == b
}

func (in *interp) equalItems(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !in.equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func (in *interp) equalDicts(a, b *Dict) bool {
	if a == b {
		return true
	}
	if a.Len() != b.Len() {
		return false
	}
	for k, v := range a.All() {
		w, ok := b.get(k)
		if !ok || !in.equal(v, w) {
			return false
		}
	}
	return true
}

// equalViews compares keys and items as sets; views of values are equal only to
// themselves.
func (in *interp) equalViews(a, b *dictView) bool {
	if a.what != b.what || a.what == viewValues {
		return a == b
	}
	if a.what == viewItems {
		return in.equalDicts(a.d, b.d)
	}
	if a.d.Len() != b.d.Len() {
		return false
	}
	for _, k := range a.d.keys {
		if _, ok := b.d.get(k); !ok {
			return false
		}
	}
	return true
}

// order is the result of comparing two values.
type order int

const (
	lessThan    order = -1
	equalTo     order = 0
	greaterThan order = 1
	unordered   order = 2 // a NaN takes part
)

func compareNumbers(x, y number) order {
	switch {
	case x.n != nil && y.n != nil:
		return order(x.n.Cmp(y.n))
	case x.n == nil && y.n == nil:
		return compareFloats(x.f, y.f)
	case x.n == nil:
		return compareFloatInt(x.f, y.n)
	}
	if o := compareFloatInt(y.f, x.n); o != unordered {
		return -o
	}
	return unordered
}

func compareFloats(a, b float64) order {
	if a != a || b != b {
		return unordered
	}
	return order(cmp.Compare(a, b))
}

// compareFloatInt compares exactly, without rounding the integer to a float.
func compareFloatInt(f float64, n *big.Int) order {
	if f != f {
		return unordered
	}
	// SetFloat64 takes infinities, and the precision of SetInt is that of n.
	return order(new(big.Float).SetFloat64(f).Cmp(new(big.Float).SetInt(n)))
}

// ordered evaluates <, <=, > and >=.
func (in *interp) ordered(op string, a, b Value) bool {
	in.step()
	in.deeper()
	defer func() { in.nest-- }()
	for _, v := range [...]Value{a, b} {
		if u, ok := v.(*undefined); ok {
			u.fail()
		}
	}
	x, xok := asNumber(a)
	y, yok := asNumber(b)
	if xok && yok {
		return compareNumbers(x, y).satisfies(op)
	}
	s, sok := peekText(a)
	t, tok := peekText(b)
	if sok && tok {
		return compareText(s, t).satisfies(op)
	}
	items, ok := sequence(a)
	others, ok2 := sequence(b)
	if ok && ok2 && a.typeName() == b.typeName() {
		return in.orderedItems(op, items, others)
	}
	raise(TypeError, "%s not supported between instances of %s and %s", quote(op), quote(a.typeName()), quote(b.typeName()))
	return false
}

// compareText orders strings by code point. UTF-8 sorts that way, surrogates in
// their three-byte form included.
func compareText(a, b string) order { return order(strings.Compare(a, b)) }

// orderedItems compares sequences by their first items that differ.
func (in *interp) orderedItems(op string, a, b []Value) bool {
	for i := range min(len(a), len(b)) {
		if !in.equal(a[i], b[i]) {
			return in.ordered(op, a[i], b[i])
		}
	}
	return order(cmp.Compare(len(a), len(b))).satisfies(op)
}

func (o order) satisfies(op string) bool {
	switch op {
	case "<":
		return o == lessThan
	case "<=":
		return o == lessThan || o == equalTo
	case ">":
		return o == greaterThan
	}
	return o == greaterThan || o == equalTo
}

// contains is "v in container".
func (in *interp) contains(container, v Value) bool {
	if s, ok := peekText(container); ok {
		sub, ok := peekText(v)
		if !ok {
			raise(TypeError, "'in <string>' requires string as left operand, not %s", v.typeName())
		}
		in.charge(len(s))
		return strings.Contains(s, sub)
	}
	if d, ok := container.(*Dict); ok {
		_, found := d.get(v)
		return found
	}
	if view, ok := container.(*dictView); ok && view.what == viewKeys {
		_, found := view.d.get(v)
		return found
	}
	if !iterable(container) {
		raise(TypeError, "argument of type %s is not iterable", quote(container.typeName()))
	}
	next := in.iterate(container)
	for item, ok := next(); ok; item, ok = next() {
		if in.equal(item, v) {
			return true
		}
	}
	return false
}
