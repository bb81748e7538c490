package jinja

import (
	"fmt"
	"math/big"
)

// iterator returns the next value, or false at the end.
type iterator func() (Value, bool)

// iterable tells whether iterate accepts v.
func iterable(v Value) bool {
	switch v.(type) {
	case String, markup, *marked, *List, *tuple, *Dict, *dictView, rangeValue, *generator, *undefined, *loopValue:
		return true
	}
	return false
}

// iterate is Python's iter(v). Every value taken counts as a step.
func (in *interp) iterate(v Value) iterator {
	if s, ok := asText(v); ok {
		return in.characters(s)
	}
	switch v := v.(type) {
	case *List:
		return in.indexed(len(v.items), func(i int) Value { return v.items[i] })
	case *tuple:
		return in.indexed(len(v.items), func(i int) Value { return v.items[i] })
	case *Dict:
		return in.indexed(v.Len(), func(i int) Value { return v.keys[i] })
	case *dictView:
		return in.indexed(v.d.Len(), v.at)
	case rangeValue:
		return in.indexed(v.len(), v.at)
	case *generator:
		return v.next
	case *undefined:
		return func() (Value, bool) { return nil, false }
	case *loopValue:
		raise(NotSupported, "iterating over the loop variable")
	}
	raise(TypeError, "%s object is not iterable", quote(v.typeName()))
	return nil
}

func (in *interp) indexed(n int, at func(int) Value) iterator {
	i := 0
	return func() (Value, bool) {
		if i >= n {
			return nil, false
		}
		in.step()
		i++
		return at(i - 1), true
	}
}

func (in *interp) characters(s string) iterator {
	return func() (Value, bool) {
		if s == "" {
			return nil, false
		}
		in.step()
		_, n := decodeRune(s)
		c := s[:n]
		s = s[n:]
		return String(c), true
	}
}

// collect is Python's list(v).
func (in *interp) collect(v Value) []Value {
	var out []Value
	next := in.iterate(v)
	for item, ok := next(); ok; item, ok = next() {
		out = append(out, item)
	}
	return out
}

// generator is a lazy sequence that can be read once: what filters such as map and
// select return. Errors in it appear when it is read, or never.
type generator struct {
	name string // of its Python type
	next iterator
}

func (g *generator) typeName() string { return g.name }

// lazily returns a generator that calls begin when the first value is asked for.
func lazily(begin func() iterator) *generator {
	var it iterator
	return &generator{"generator", func() (Value, bool) {
		if it == nil {
			it = begin()
		}
		return it()
	}}
}

// rangeValue is what range(...) returns. It has at most maxRange items.
type rangeValue struct{ start, stop, step int64 }

// maxRange is the sandbox's bound on the length of a range.
const maxRange = 100_000

func (rangeValue) typeName() string { return "range" }

func (r rangeValue) len() int { return int(rangeLen(r.start, r.stop, r.step)) }

// rangeLen is the number of values from start in steps before stop, which are at
// most 1<<40 each.
func rangeLen(start, stop, step int64) int64 {
	if step < 0 {
		start, stop, step = -start, -stop, -step
	}
	if start >= stop {
		return 0
	}
	return (stop - start + step - 1) / step
}

func (r rangeValue) at(i int) Value { return Int(r.start + int64(i)*r.step) }

func (r rangeValue) equal(s rangeValue) bool {
	n := r.len()
	return n == s.len() && (n == 0 || r.start == s.start && (n == 1 || r.step == s.step))
}

func (r rangeValue) repr() string {
	if r.step == 1 {
		return fmt.Sprintf("range(%d, %d)", r.start, r.stop)
	}
	return fmt.Sprintf("range(%d, %d, %d)", r.start, r.stop, r.step)
}

// makeRange is the global range.
func makeRange(_ *interp, a arguments) Value {
	bounds := []int64{0, 0, 1}
	args := a.rest
	if len(a.kw) > 0 {
		raise(TypeError, "safe_range() got an unexpected keyword argument %s", quote(a.kw[0].name))
	}
	switch len(args) {
	case 0:
		raise(TypeError, "range expected at least 1 argument, got 0")
	case 1:
		bounds[1] = rangeBound(args[0])
	case 2, 3:
		for i, v := range args {
			bounds[i] = rangeBound(v)
		}
	default:
		raise(TypeError, "range expected at most 3 arguments, got %d", len(args))
	}
	if bounds[2] == 0 {
		raise(ValueError, "range() arg 3 must not be zero")
	}
	if rangeLen(bounds[0], bounds[1], bounds[2]) > maxRange {
		raise(OverflowError, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	return rangeValue{bounds[0], bounds[1], bounds[2]}
}

func rangeBound(v Value) int64 {
	n := integer(v)
	if new(big.Int).Abs(n).BitLen() > 40 {
		raise(NotSupported, "range bounds beyond 40 bits")
	}
	return n.Int64()
}

// integer reads an argument that must be an int, as Python's __index__ does.
func integer(v Value) *big.Int {
	x, ok := asNumber(v)
	if !ok || x.n == nil {
		raise(TypeError, "%s object cannot be interpreted as an integer", quote(v.typeName()))
	}
	return x.n
}

// smallInteger is integer for counts and widths, with numbers out of range moved
// to its ends.
func smallInteger(v Value) int {
	const far = 1 << 40
	n := integer(v)
	if n.BitLen() > 40 {
		return n.Sign() * far
	}
	return int(n.Int64())
}
