package jinja

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// caller is a value that can be called.
type caller interface {
	Value
	call(in *interp, pos []Value, kw []namedValue) Value
}

// call is "fn(pos, kw)".
func (in *interp) call(fn Value, pos []Value, kw []namedValue) Value {
	switch fn := fn.(type) {
	case caller:
		return fn.call(in, pos, kw)
	case *undefined:
		fn.fail()
	}
	raise(TypeError, "%s object is not callable", quote(fn.typeName()))
	return nil
}

// builtin is a function written in Go: a global, a filter, a test or a method.
type builtin struct {
	name    string
	params  []param
	posOnly bool // parameters have no names for the caller
	many    bool // further arguments are accepted
	fn      func(in *interp, a arguments) Value
}

type param struct {
	name string
	def  Value // nil: required
}

// arguments are the values of a builtin's parameters, then whatever else it takes.
type arguments struct {
	v    []Value
	rest []Value
	kw   []namedValue
}

// define makes a builtin. The signature lists parameters with their defaults,
// "s width=4 first=False"; a first word "/" makes them positional-only and a last
// word "*" accepts further arguments.
func define(name, signature string, fn func(in *interp, a arguments) Value) *builtin {
	b := &builtin{name: name, fn: fn}
	for i, word := range strings.Fields(signature) {
		switch {
		case word == "/" && i == 0:
			b.posOnly = true
		case word == "*":
			b.many = true
		default:
			name, def, ok := strings.Cut(word, "=")
			p := param{name: name}
			if ok {
				p.def = defaultValue(def)
			}
			b.params = append(b.params, p)
		}
	}
	return b
}

func defaultValue(s string) Value {
	switch s {
	case "None":
		return None
	case "True", "False":
		return Bool(s == "True")
	}
	if n, err := strconv.Atoi(s); err == nil {
		return Int(n)
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return Float(n)
	}
	return String(strings.Trim(s, "'"))
}

func (*builtin) typeName() string { return "builtin_function_or_method" }

func (b *builtin) call(in *interp, pos []Value, kw []namedValue) Value {
	in.step()
	return b.fn(in, b.bind(pos, kw))
}

// bind assigns arguments to parameters by Python's rules.
func (b *builtin) bind(pos []Value, kw []namedValue) arguments {
	a := arguments{v: make([]Value, len(b.params))}
	n := copy(a.v, pos)
	if a.rest = pos[n:]; len(a.rest) > 0 && !b.many {
		raise(TypeError, "%s() takes %s but %d were given", b.name, b.arity(), len(pos))
	}
	for _, k := range kw {
		i := b.index(k.name)
		switch {
		case i >= 0 && a.v[i] != nil:
			raise(TypeError, "%s() got multiple values for argument %s", b.name, quote(k.name))
		case i >= 0:
			a.v[i] = k.v
		case b.many:
			a.kw = append(a.kw, k)
		case b.posOnly:
			raise(TypeError, "%s() takes no keyword arguments", b.name)
		default:
			raise(TypeError, "%s() got an unexpected keyword argument %s", b.name, quote(k.name))
		}
	}
	for i, p := range b.params {
		if a.v[i] == nil {
			if p.def == nil {
				raise(TypeError, "%s() missing 1 required positional argument: %s", b.name, quote(p.name))
			}
			a.v[i] = p.def
		}
	}
	return a
}

func (b *builtin) index(name string) int {
	if b.posOnly {
		return -1
	}
	for i, p := range b.params {
		if p.name == name {
			return i
		}
	}
	return -1
}

func (b *builtin) arity() string {
	required := 0
	for _, p := range b.params {
		if p.def == nil {
			required++
		}
	}
	if required == len(b.params) {
		return fmt.Sprintf("%d positional arguments", required)
	}
	return fmt.Sprintf("from %d to %d positional arguments", required, len(b.params))
}

// method is a builtin bound to the value it was read from.
type method struct {
	recv Value
	*builtin
}

func (m *method) call(in *interp, pos []Value, kw []namedValue) Value {
	return m.builtin.call(in, append([]Value{m.recv}, pos...), kw)
}

// macro is a macro, or the body of a call block, with the scope it was defined in.
type macro struct {
	*macroDef
	scope *scope
}

func (*macro) typeName() string { return "Macro" }

func (m *macro) call(in *interp, pos []Value, kw []namedValue) Value {
	in.enter()
	line := in.line
	sc := newScope(m.scope)
	m.bind(in, sc, pos, kw)
	text, _ := in.capture(m.body, sc)
	in.line = line
	in.depth--
	return text
}

// bind sets the parameters of a call. Parameters that got no value are undefined
// while the defaults are evaluated, from left to right.
func (m *macro) bind(in *interp, sc *scope, pos []Value, kw []namedValue) {
	given := make([]Value, len(m.params))
	n := copy(given, pos)
	kwargs := &Dict{}
	for _, k := range kw {
		if i := slices.Index(m.params[n:], k.name); i >= 0 {
			given[n+i] = k.v
		} else {
			kwargs.put(String(k.name), k.v)
		}
	}
	for i, name := range m.params {
		if given[i] == nil {
			sc.set(name, undefinedName(name))
		} else {
			sc.set(name, given[i])
		}
	}
	kwargs = m.bindSpecial(sc, kwargs, pos[n:])
	m.checkExtra(kwargs, len(pos)-n)
	for i, name := range m.params {
		if given[i] != nil {
			continue
		}
		if d := i - (len(m.params) - len(m.defaults)); d >= 0 {
			sc.set(name, in.eval(m.defaults[d], sc))
		} else {
			u := undefinedName(name)
			u.hint = "parameter " + quote(name) + " was not provided"
			sc.set(name, u)
		}
	}
}

// bindSpecial sets caller, kwargs and varargs where the body mentions them and
// returns the keyword arguments that are left.
func (m *macro) bindSpecial(sc *scope, kwargs *Dict, varargs []Value) *Dict {
	if _, isParam := sc.get("caller"); m.usesCaller && !isParam {
		c, ok := kwargs.Get("caller")
		if kwargs = kwargs.without("caller"); !ok || c == None {
			c = undefinedHint("No caller defined")
		}
		sc.set("caller", c)
	}
	if m.usesKwargs {
		sc.set("kwargs", kwargs)
	}
	if m.usesVarargs {
		sc.set("varargs", &tuple{items: varargs})
	}
	return kwargs
}

// checkExtra refuses arguments the macro has no use for.
func (m *macro) checkExtra(kwargs *Dict, extra int) {
	if kwargs.Len() > 0 && !m.usesKwargs {
		if _, ok := kwargs.Get("caller"); ok {
			raise(TypeError, "macro %s was invoked with two values for the special caller argument. This is most likely a bug.", quote(m.name))
		}
		raise(TypeError, "macro %s takes no keyword argument %s", quote(m.name), reprOf(kwargs.keys[0]))
	}
	if extra > 0 && !m.usesVarargs {
		raise(TypeError, "macro %s takes not more than %d argument(s)", quote(m.name), len(m.params))
	}
}

// without returns d less one key.
func (d *Dict) without(key string) *Dict {
	out := &Dict{}
	for k, v := range d.All() {
		if name, ok := asText(k); !ok || name != key {
			out.put(k, v)
		}
	}
	return out
}

// namespace is the one object templates can assign to.
type namespace struct{ attrs Dict }

func (*namespace) typeName() string { return "Namespace" }

// cycler is the global of that name: it hands out its items in turn.
type cycler struct {
	items []Value
	pos   int
}

func (*cycler) typeName() string { return "Cycler" }

func (c *cycler) next() Value {
	v := c.items[c.pos]
	c.pos = (c.pos + 1) % len(c.items)
	return v
}

// joiner is the global of that name: nothing the first time, then the separator.
type joiner struct {
	sep  Value
	used bool
}

func (*joiner) typeName() string { return "Joiner" }

func (j *joiner) call(_ *interp, pos []Value, kw []namedValue) Value {
	if len(pos)+len(kw) > 0 {
		raise(TypeError, "Joiner.__call__() takes 1 positional argument but %d were given", 1+len(pos)+len(kw))
	}
	if !j.used {
		j.used = true
		return String("")
	}
	return j.sep
}

// loopValue is the variable "loop" inside a for loop.
type loopValue struct {
	in      *interp
	it      iterator
	index0  int
	count   int   // -1 until known
	current Value // and its neighbours; nil where there is none
	before  Value
	after   Value
	changed []Value // last arguments of loop.changed; nil before the first call

	recurse *forStmt // set in recursive loops
	scope   *scope
	depth0  int
}

func (*loopValue) typeName() string { return "LoopContext" }

func (l *loopValue) start(in *interp, it iterator) {
	l.in, l.it, l.index0, l.count = in, it, -1, -1
}

// next moves to the next item.
func (l *loopValue) next() (Value, bool) {
	v := l.after
	l.after = nil
	if v == nil {
		var ok bool
		if v, ok = l.it(); !ok {
			return nil, false
		}
	}
	l.index0++
	l.before, l.current = l.current, v
	return v, true
}

// peek looks at the item after the current one; nil is the end.
func (l *loopValue) peek() Value {
	if l.after == nil {
		l.after, _ = l.it()
	}
	return l.after
}

// length reads ahead to the end where the length is not known otherwise.
func (l *loopValue) length() int {
	if l.count >= 0 {
		return l.count
	}
	var rest []Value
	for v, ok := l.it(); ok; v, ok = l.it() {
		rest = append(rest, v)
	}
	l.it = l.in.indexed(len(rest), func(i int) Value { return rest[i] })
	l.count = len(rest) + l.index0 + 1
	if l.after != nil {
		l.count++
	}
	return l.count
}

func (l *loopValue) call(in *interp, pos []Value, kw []namedValue) Value {
	if l.recurse == nil {
		raise(TypeError, "The loop must have the 'recursive' marker to be called recursively.")
	}
	if len(pos) != 1 || len(kw) > 0 {
		raise(TypeError, "LoopContext.__call__() takes 2 positional arguments but %d were given", 1+len(pos)+len(kw))
	}
	line := in.line
	v := l.recurse.recurse(in, l.scope, pos[0], l.depth0+1)
	in.line = line
	return v
}
