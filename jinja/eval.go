package jinja

import (
	"slices"
	"strconv"
)

func (x *constExpr) eval(*interp, *scope) Value { return x.v }

func (x *nameExpr) eval(in *interp, sc *scope) Value { return in.lookup(sc, x.name) }

func (in *interp) evalAll(xs []expr, sc *scope) []Value {
	vs := make([]Value, len(xs))
	for i, x := range xs {
		vs[i] = in.eval(x, sc)
	}
	return vs
}

func (x *tupleExpr) eval(in *interp, sc *scope) Value { return &tuple{items: in.evalAll(x.items, sc)} }

func (x *listExpr) eval(in *interp, sc *scope) Value { return &List{in.evalAll(x.items, sc)} }

func (x *dictExpr) eval(in *interp, sc *scope) Value {
	d := &Dict{}
	for i, key := range x.keys {
		k := in.eval(key, sc)
		d.put(k, in.eval(x.vals[i], sc))
	}
	return d
}

func (x *condExpr) eval(in *interp, sc *scope) Value {
	if truth(in.eval(x.cond, sc)) {
		return in.eval(x.then, sc)
	}
	if x.other != nil {
		return in.eval(x.other, sc)
	}
	return undefinedHint("the inline if-expression on line " + strconv.Itoa(x.line) +
		" evaluated to false and no else section was defined.")
}

func (x *andExpr) eval(in *interp, sc *scope) Value {
	if v := in.eval(x.left, sc); !truth(v) {
		return v
	}
	return in.eval(x.right, sc)
}

func (x *orExpr) eval(in *interp, sc *scope) Value {
	if v := in.eval(x.left, sc); truth(v) {
		return v
	}
	return in.eval(x.right, sc)
}

func (x *notExpr) eval(in *interp, sc *scope) Value { return Bool(!truth(in.eval(x.x, sc))) }

func (x *signExpr) eval(in *interp, sc *scope) Value { return in.sign(x.op, in.eval(x.x, sc)) }

func (x *binaryExpr) eval(in *interp, sc *scope) Value {
	left := in.eval(x.left, sc)
	return in.binary(x.op, left, in.eval(x.right, sc))
}

func (x *concatExpr) eval(in *interp, sc *scope) Value {
	return in.joinText(in.evalAll(x.parts, sc)...)
}

func (x *compareExpr) eval(in *interp, sc *scope) Value {
	left := in.eval(x.first, sc)
	for _, c := range x.ops {
		right := in.eval(c.right, sc)
		if !in.compare(c.op, left, right) {
			return Bool(false)
		}
		left = right
	}
	return Bool(true)
}

func (x *attrExpr) eval(in *interp, sc *scope) Value { return in.attribute(in.eval(x.x, sc), x.name) }

func (x *itemExpr) eval(in *interp, sc *scope) Value {
	v := in.eval(x.x, sc)
	return in.item(v, in.eval(x.key, sc))
}

// attribute is "v.name": an attribute of the object first, then an item.
func (in *interp) attribute(v Value, name string) Value {
	if a := in.ownAttribute(v, name); a != nil {
		return a
	}
	if item := in.ownItem(v, String(name)); item != nil {
		return item
	}
	return &undefined{parent: v, name: String(name)}
}

// item is "v[key]": an item first, then, for a string, an attribute.
func (in *interp) item(v, key Value) Value {
	if item := in.ownItem(v, key); item != nil {
		return item
	}
	if name, ok := asText(key); ok {
		if a := in.ownAttribute(v, name); a != nil {
			return a
		}
	}
	return &undefined{parent: v, name: key}
}

// ownItem is Python's v[key], with nil for its TypeError and LookupError, which
// Jinja2 turns into undefined.
func (in *interp) ownItem(v, key Value) Value {
	switch v := v.(type) {
	case *undefined:
		v.fail()
	case *Dict:
		if !hashable(key) {
			return nil
		}
		if item, ok := v.get(key); ok {
			return item
		}
		return nil
	}
	i, ok := smallInt(key)
	if !ok {
		return nil
	}
	if s, ok := asText(v); ok {
		return in.charAt(v, s, i)
	}
	if r, ok := v.(rangeValue); ok {
		if i, ok := wrapIndex(i, r.len()); ok {
			return r.at(i)
		}
		return nil
	}
	items, _ := sequence(v)
	if i, ok := wrapIndex(i, len(items)); ok {
		return items[i]
	}
	return nil
}

// wrapIndex resolves an index that may count from the end.
func wrapIndex(i, n int) (int, bool) {
	if i < 0 {
		i += n
	}
	return i, 0 <= i && i < n
}

func (in *interp) charAt(v Value, s string, i int) Value {
	in.charge(len(s))
	i, ok := wrapIndex(i, runeCount(s))
	if !ok {
		return nil
	}
	off := byteOffset(s, i)
	_, n := decodeRune(s[off:])
	return sameType(v, s[off:off+n])
}

// sameType makes a string of the type of v: plain or marked as safe.
func sameType(v Value, s string) Value {
	if _, ok := v.(markup); ok {
		return markup(s)
	}
	return String(s)
}

// smallInt returns the value of an int or bool that can be an index.
func smallInt(v Value) (int, bool) {
	switch v := v.(type) {
	case Int:
		return int(v), true
	case Bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func (x *sliceExpr) eval(in *interp, sc *scope) Value {
	v := in.eval(x.x, sc)
	bound := func(x expr) Value {
		if x == nil {
			return None
		}
		return in.eval(x, sc)
	}
	start, stop, step := bound(x.start), bound(x.stop), bound(x.step)
	switch v := v.(type) {
	case *undefined:
		v.fail()
	case *Dict:
		raise(TypeError, "unhashable type: 'slice'")
	case *List:
		return &List{in.slice(v.items, start, stop, step)}
	case *tuple:
		return &tuple{items: in.slice(v.items, start, stop, step)}
	case rangeValue:
		raise(NotSupported, "slices of a range")
	}
	s, ok := asText(v)
	if !ok {
		raise(TypeError, "%s object is not subscriptable", quote(v.typeName()))
	}
	return sameType(v, in.sliceText(s, start, stop, step))
}

func (in *interp) slice(items []Value, start, stop, step Value) []Value {
	first, last, by := sliceBounds(len(items), start, stop, step)
	in.charge(len(items))
	if by == 1 {
		return slices.Clip(items[first:max(first, last)])
	}
	var out []Value
	for i := first; by > 0 && i < last || by < 0 && i > last; i += by {
		out = append(out, items[i])
	}
	return out
}

func (in *interp) sliceText(s string, start, stop, step Value) string {
	in.charge(len(s))
	first, last, by := sliceBounds(runeCount(s), start, stop, step)
	if by == 1 {
		if first >= last {
			return ""
		}
		rest := s[byteOffset(s, first):]
		return rest[:byteOffset(rest, last-first)]
	}
	rs := runesOf(s)
	var out []rune
	for i := first; by > 0 && i < last || by < 0 && i > last; i += by {
		out = append(out, rs[i])
	}
	return stringOf(out)
}

// sliceBounds resolves the parts of a slice of n items: the first index, the one
// to stop before, and the step, which is never so large that adding it overflows.
func sliceBounds(n int, start, stop, step Value) (first, last, by int) {
	by = sliceIndex(step, 1)
	if by == 0 {
		raise(ValueError, "slice step cannot be zero")
	}
	by = min(max(by, -n-1), n+1)
	low, high := 0, n
	if by < 0 {
		low, high = -1, n-1
	}
	clamp := func(v Value, whenNone int) int {
		if v == None {
			return whenNone
		}
		i := sliceIndex(v, 0)
		if i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	if by < 0 {
		return clamp(start, high), clamp(stop, low), by
	}
	return clamp(start, low), clamp(stop, high), by
}

// sliceIndex reads one part of a slice. Numbers too large for an index mean the
// far end.
func sliceIndex(v Value, whenNone int) int {
	const far = 1 << 40
	switch v := v.(type) {
	case noneValue:
		return whenNone
	case *undefined:
		// Undefined has no __index__, so Python raises TypeError, not UndefinedError.
	case bigValue:
		return v.n.Sign() * far
	default:
		if i, ok := smallInt(v); ok {
			return min(max(i, -far), far)
		}
	}
	raise(TypeError, "slice indices must be integers or None or have an __index__ method")
	return 0
}

func (x *callExpr) eval(in *interp, sc *scope) Value { return x.invoke(in, sc) }

// invoke calls the expression, with extra keyword arguments after its own.
func (x *callExpr) invoke(in *interp, sc *scope, extra ...namedValue) Value {
	fn := in.eval(x.fn, sc)
	pos, kw := x.args.eval(in, sc)
	for _, e := range extra {
		if slices.ContainsFunc(kw, func(k namedValue) bool { return k.name == e.name }) {
			raise(SyntaxError, "keyword argument repeated: %s", e.name)
		}
		kw = append(kw, e)
	}
	in.line = x.line
	v := in.call(fn, pos, kw)
	in.line = x.line
	return v
}

// namedValue is a keyword argument.
type namedValue struct {
	name string
	v    Value
}

func (a *callArgs) eval(in *interp, sc *scope) (pos []Value, kw []namedValue) {
	pos = in.evalAll(a.pos, sc)
	if a.star != nil {
		star := in.eval(a.star, sc)
		if !iterable(star) {
			raise(TypeError, "argument after * must be an iterable, not %s", star.typeName())
		}
		pos = append(pos, in.collect(star)...)
	}
	for _, k := range a.keywords {
		kw = append(kw, namedValue{k.name, in.eval(k.x, sc)})
	}
	if a.starStar != nil {
		kw = a.spread(in, kw, in.eval(a.starStar, sc))
	}
	return pos, kw
}

// spread appends the items of **v to the keyword arguments.
func (a *callArgs) spread(in *interp, kw []namedValue, v Value) []namedValue {
	d, ok := v.(*Dict)
	if !ok {
		if u, ok := v.(*undefined); ok {
			u.fail()
		}
		raise(TypeError, "argument after ** must be a mapping, not %s", v.typeName())
	}
	in.charge(d.Len() * 16)
	seen := make(map[string]bool, len(kw))
	for _, k := range kw {
		seen[k.name] = true
	}
	for k, v := range d.All() {
		name, ok := asText(k)
		if !ok {
			raise(TypeError, "keywords must be strings")
		}
		if seen[name] {
			raise(TypeError, "got multiple values for keyword argument %s", quote(name))
		}
		kw = append(kw, namedValue{name, v})
	}
	return kw
}

func (x *filterExpr) eval(in *interp, sc *scope) Value { return x.apply(in, sc, in.eval(x.x, sc)) }

// apply runs the filter over v.
func (x *filterExpr) apply(in *interp, sc *scope, v Value) Value {
	pos, kw := x.args.eval(in, sc)
	in.line = x.line
	f, ok := filterTable[x.name]
	if !ok {
		raise(RuntimeError, "No filter named %s found.", quote(x.name))
	}
	return f.call(in, append([]Value{v}, pos...), kw)
}

func (x *testExpr) eval(in *interp, sc *scope) Value {
	v := in.eval(x.x, sc)
	pos, kw := x.args.eval(in, sc)
	t, ok := testTable[x.name]
	if !ok {
		raise(RuntimeError, "No test named %s found.", quote(x.name))
	}
	return t.call(in, append([]Value{v}, pos...), kw)
}
