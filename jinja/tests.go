package jinja

// testTable holds the tests by name. It is filled in init, see methods.go.
var testTable map[string]*builtin

func tests() map[string]*builtin {
	is := func(name string, fn func(v Value) bool) *builtin {
		return define(name, "value", func(_ *interp, a arguments) Value { return Bool(fn(a.v[0])) })
	}
	remainder := func(name string, want int64) *builtin {
		return define(name, "value", func(in *interp, a arguments) Value {
			return Bool(in.equal(in.binary("%", a.v[0], Int(2)), Int(want)))
		})
	}
	t := table(
		is("boolean", func(v Value) bool { _, ok := v.(Bool); return ok }),
		is("callable", isCallable),
		is("defined", func(v Value) bool { return !isUndefined(v) }),
		define("divisibleby", "value num", func(in *interp, a arguments) Value {
			return Bool(in.equal(in.binary("%", a.v[0], a.v[1]), Int(0)))
		}),
		is("escaped", func(v Value) bool { _, ok := v.(markup); return ok }),
		remainder("even", 0),
		is("false", func(v Value) bool { return v == Bool(false) }),
		define("filter", "value", func(in *interp, a arguments) Value { return in.named(filterTable, a.v[0]) }),
		is("float", func(v Value) bool { _, ok := v.(Float); return ok }),
		define("in", "value seq", func(in *interp, a arguments) Value { return Bool(in.contains(a.v[1], a.v[0])) }),
		is("integer", isInteger),
		is("iterable", iterable),
		define("lower", "value", func(in *interp, a arguments) Value { return Bool(isLower(in.str(a.v[0]))) }),
		is("mapping", func(v Value) bool { _, ok := v.(*Dict); return ok }),
		is("none", func(v Value) bool { return v == None }),
		is("number", func(v Value) bool { _, ok := asNumber(v); return ok }),
		remainder("odd", 1),
		define("sameas", "value other", func(_ *interp, a arguments) Value { return Bool(identical(a.v[0], a.v[1])) }),
		is("sequence", isSequenceTest),
		is("string", func(v Value) bool { _, ok := asString(v); return ok }),
		define("test", "value", func(in *interp, a arguments) Value { return in.named(testTable, a.v[0]) }),
		is("true", func(v Value) bool { return v == Bool(true) }),
		is("undefined", isUndefined),
		define("upper", "value", func(in *interp, a arguments) Value { return Bool(isUpper(in.str(a.v[0]))) }),
	)
	for op, names := range map[string][]string{
		"==": {"eq", "equalto"},
		"!=": {"ne"},
		">":  {"gt", "greaterthan"},
		">=": {"ge"},
		"<":  {"lt", "lessthan"},
		"<=": {"le"},
	} {
		test := define(op, "/ a b", func(in *interp, a arguments) Value { return Bool(in.compare(op, a.v[0], a.v[1])) })
		for _, name := range append(names, op) {
			t[name] = test
		}
	}
	return t
}

func isUndefined(v Value) bool {
	_, ok := v.(*undefined)
	return ok
}

// isCallable is Python's callable(v). The class of undefined values has a method
// for being called, though all it does is raise.
func isCallable(v Value) bool {
	if isUndefined(v) {
		return true
	}
	_, ok := v.(caller)
	return ok
}

func isInteger(v Value) bool {
	switch v.(type) {
	case Int, bigValue:
		return true
	}
	return false
}

// isSequenceTest tells what has a length and items: undefined values count, views
// of a dictionary do not.
func isSequenceTest(v Value) bool {
	switch v.(type) {
	case *Dict, rangeValue, *undefined:
		return true
	}
	return isSequence(v)
}

// identical is Python's "is". Equal numbers and strings of one type count as the
// same object here, which CPython guarantees for small ones only.
func identical(a, b Value) bool {
	if s, ok := asString(a); ok {
		t, ok := asString(b)
		return ok && a.typeName() == b.typeName() && text(s) == text(t)
	}
	if x, ok := a.(bigValue); ok {
		y, ok := b.(bigValue)
		return ok && x.n.Cmp(y.n) == 0
	}
	return a == b
}

// named tells whether a table has an entry of that name.
func (in *interp) named(t map[string]*builtin, name Value) Value {
	hashKey(name)
	s, ok := asText(name)
	return Bool(ok && t[s] != nil)
}
