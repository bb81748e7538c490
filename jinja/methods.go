package jinja

import "math"

// The tables of methods refer to functions that look methods up, so they are
// filled in init, which Go allows where a plain initializer would be a cycle.
var (
	listMethods, tupleMethods, dictMethods map[string]*builtin
	loopMethods, cyclerMethods, intMethods map[string]*builtin
	floatMethods, stringMethods            map[string]*builtin

	globalTable map[string]Value
)

func init() {
	listMethods = table(
		define("count", "/ self value", sequenceCount),
		define("index", "/ self value start=0 stop=1099511627776", sequenceIndex),
		define("copy", "/ self", func(_ *interp, a arguments) Value { return &List{a.v[0].(*List).items} }),
	)
	tupleMethods = table(
		define("count", "/ self value", sequenceCount),
		define("index", "/ self value start=0 stop=1099511627776", sequenceIndex),
	)
	dictMethods = table(
		define("get", "/ self key default=None", dictGet),
		define("items", "/ self", func(_ *interp, a arguments) Value { return &dictView{a.v[0].(*Dict), viewItems} }),
		define("keys", "/ self", func(_ *interp, a arguments) Value { return &dictView{a.v[0].(*Dict), viewKeys} }),
		define("values", "/ self", func(_ *interp, a arguments) Value { return &dictView{a.v[0].(*Dict), viewValues} }),
		define("copy", "/ self", func(in *interp, a arguments) Value { return in.copyDict(a.v[0].(*Dict)) }),
	)
	loopMethods = table(
		define("cycle", "/ self *", loopCycle),
		define("changed", "/ self *", loopChanged),
	)
	cyclerMethods = table(
		define("next", "/ self", func(_ *interp, a arguments) Value { return a.v[0].(*cycler).next() }),
		define("reset", "/ self", func(_ *interp, a arguments) Value { a.v[0].(*cycler).pos = 0; return None }),
	)
	intMethods = table(
		define("bit_length", "/ self", intBitLength),
		define("conjugate", "/ self", func(in *interp, a arguments) Value { return in.sign("+", a.v[0]) }),
	)
	floatMethods = table(
		define("is_integer", "/ self", floatIsInteger),
		define("conjugate", "/ self", func(_ *interp, a arguments) Value { return a.v[0] }),
	)
	globalTable = map[string]Value{
		"range":     define("range", "/ *", makeRange),
		"dict":      define("dict", "/ *", makeDict),
		"namespace": define("namespace", "/ *", makeNamespace),
		"cycler":    define("cycler", "/ *", makeCycler),
		// Its default holds a blank, which the notation of define cannot spell.
		"joiner": &builtin{
			name:   "joiner",
			params: []param{{"sep", String(", ")}},
			fn:     func(_ *interp, a arguments) Value { return &joiner{sep: a.v[0]} },
		},
		"raise_exception": define("raise_exception", "message", raiseException),
		"strftime_now":    define("strftime_now", "format", strftimeNow),
		"lipsum":          define("lipsum", "/ *", func(*interp, arguments) Value { raise(NotSupported, "lipsum"); return nil }),
	}
	stringMethods = stringMethodTable()
	filterTable = filters()
	testTable = tests()
}

func table(bs ...*builtin) map[string]*builtin {
	m := make(map[string]*builtin, len(bs))
	for _, b := range bs {
		m[b.name] = b
	}
	return m
}

func sequenceCount(in *interp, a arguments) Value {
	items, _ := sequence(a.v[0])
	n := 0
	for _, item := range items {
		if in.equal(item, a.v[1]) {
			n++
		}
	}
	return Int(n)
}

func sequenceIndex(in *interp, a arguments) Value {
	items, _ := sequence(a.v[0])
	start, stop, _ := sliceBounds(len(items), a.v[2], a.v[3], None)
	for i := start; i < stop; i++ {
		if in.equal(items[i], a.v[1]) {
			return Int(i)
		}
	}
	raise(ValueError, "%s is not in list", in.repr(a.v[1]))
	return nil
}

func dictGet(_ *interp, a arguments) Value {
	if v, ok := a.v[0].(*Dict).get(a.v[1]); ok {
		return v
	}
	return a.v[2]
}

func (in *interp) copyDict(d *Dict) *Dict {
	in.chargeItems(d.Len())
	return d.clone()
}

func loopCycle(_ *interp, a arguments) Value {
	if len(a.rest) == 0 {
		raise(TypeError, "no items for cycling given")
	}
	return a.rest[a.v[0].(*loopValue).index0%len(a.rest)]
}

func loopChanged(in *interp, a arguments) Value {
	l := a.v[0].(*loopValue)
	if l.changed != nil && in.equalItems(l.changed, a.rest) {
		return Bool(false)
	}
	l.changed = append([]Value{}, a.rest...)
	return Bool(true)
}

func intBitLength(_ *interp, a arguments) Value {
	x, _ := asNumber(a.v[0])
	return Int(x.n.BitLen())
}

func floatIsInteger(_ *interp, a arguments) Value {
	f := float64(a.v[0].(Float))
	return Bool(f == math.Trunc(f) && !math.IsInf(f, 0))
}

// makeDict is the global dict.
func makeDict(in *interp, a arguments) Value { return in.newDict("dict", a) }

// makeNamespace is the global namespace.
func makeNamespace(in *interp, a arguments) Value { return &namespace{*in.newDict("dict", a)} }

// newDict builds a dictionary from at most one mapping or list of pairs, and
// keyword arguments.
func (in *interp) newDict(name string, a arguments) *Dict {
	d := &Dict{}
	if len(a.rest) > 1 {
		raise(TypeError, "%s expected at most 1 argument, got %d", name, len(a.rest))
	}
	if len(a.rest) == 1 {
		if from, ok := a.rest[0].(*Dict); ok {
			d = in.copyDict(from)
		} else {
			in.addPairs(d, a.rest[0])
		}
	}
	for _, k := range a.kw {
		d.put(String(k.name), k.v)
	}
	return d
}

func (in *interp) addPairs(d *Dict, v Value) {
	if u, ok := v.(*undefined); ok {
		u.fail() // Python looks for its method keys first
	}
	for i, pair := range in.collect(v) {
		if !iterable(pair) {
			raise(TypeError, "cannot convert dictionary update sequence element #%d to a sequence", i)
		}
		kv := in.collect(pair)
		if len(kv) != 2 {
			raise(ValueError, "dictionary update sequence element #%d has length %d; 2 is required", i, len(kv))
		}
		d.put(kv[0], kv[1])
	}
}

func makeCycler(_ *interp, a arguments) Value {
	if len(a.rest) == 0 {
		raise(PythonRuntimeError, "at least one item has to be provided")
	}
	if len(a.kw) > 0 {
		raise(TypeError, "Cycler.__init__() got an unexpected keyword argument %s", quote(a.kw[0].name))
	}
	return &cycler{items: a.rest}
}

func raiseException(in *interp, a arguments) Value {
	raise(RaisedError, "%s", in.str(a.v[0]))
	return nil
}

func strftimeNow(in *interp, a arguments) Value {
	format, ok := asText(a.v[0])
	if !ok {
		raise(TypeError, "strftime() argument 1 must be str, not %s", a.v[0].typeName())
	}
	if in.opts.Now.IsZero() {
		raise(RuntimeError, "strftime_now is used, but no time was given to the render")
	}
	in.charge(len(format) * 32)
	return String(in.made(strftime(in.opts.Now, format)))
}
