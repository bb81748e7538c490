package jinja

import (
	"slices"
	"strings"
)

// ownAttribute is Python's getattr(v, name) behind the sandbox: nil if there is no
// such attribute, an undefined value that raises SecurityError if there is one
// that templates may not touch.
func (in *interp) ownAttribute(v Value, name string) Value {
	if u, ok := v.(*undefined); ok {
		switch {
		case slices.Contains(everyonesAttributes, name):
			return unsafeAttribute(v, name)
		case strings.HasPrefix(name, "__"):
			return nil
		}
		u.fail()
	}
	if ns, ok := v.(*namespace); ok {
		if a, ok := ns.attrs.Get(name); ok && !strings.HasPrefix(name, "_") {
			return a
		} else if ok {
			return unsafeAttribute(v, name)
		}
		return nil
	}
	if strings.HasPrefix(name, "_") {
		if slices.Contains(everyonesAttributes, name) {
			return unsafeAttribute(v, name)
		}
		return nil
	}
	if m, ok := methodsOf(v)[name]; ok {
		return &method{v, m}
	}
	if a := in.property(v, name); a != nil {
		return a
	}
	if slices.Contains(forbidden[v.typeName()], name) {
		return unsafeAttribute(v, name)
	}
	if slices.Contains(missing[v.typeName()], name) {
		raise(NotSupported, "%s.%s", v.typeName(), name)
	}
	return nil
}

func unsafeAttribute(v Value, name string) Value {
	return &undefined{
		hint: "access to attribute " + quote(name) + " of " + quote(v.typeName()) + " object is unsafe.",
		kind: SecurityError,
	}
}

// everyonesAttributes are names that every Python object has.
var everyonesAttributes = []string{
	"__class__", "__delattr__", "__dir__", "__doc__", "__eq__", "__format__", "__ge__", "__getattribute__",
	"__getstate__", "__gt__", "__hash__", "__init__", "__init_subclass__", "__le__", "__lt__", "__ne__", "__new__",
	"__reduce__", "__reduce_ex__", "__repr__", "__setattr__", "__sizeof__", "__str__", "__subclasshook__",
}

// forbidden lists, by type, the methods that would change the object.
var forbidden = map[string][]string{
	"list": {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"},
	"dict": {"clear", "pop", "popitem", "setdefault", "update"},
}

// missing lists, by type, what Python has and this package does not.
var missing = map[string][]string{
	"str":        {"encode", "maketrans", "translate"},
	"Markup":     {"encode", "escape", "maketrans", "striptags", "translate", "unescape"},
	"int":        {"as_integer_ratio", "bit_count", "from_bytes", "to_bytes"},
	"bool":       {"as_integer_ratio", "bit_count", "from_bytes", "to_bytes"},
	"float":      {"as_integer_ratio", "fromhex", "hex"},
	"dict":       {"fromkeys"},
	"dict_keys":  {"isdisjoint", "mapping"},
	"dict_items": {"isdisjoint", "mapping"},
	"generator":  {"close", "send", "throw"},
	"range":      {"count", "index"},
}

// methodsOf returns the methods of the type of v.
func methodsOf(v Value) map[string]*builtin {
	switch v.(type) {
	case String, markup, *marked:
		return stringMethods
	case *List:
		return listMethods
	case *tuple:
		return tupleMethods
	case *Dict:
		return dictMethods
	case *loopValue:
		return loopMethods
	case *cycler:
		return cyclerMethods
	case Int, Bool, bigValue:
		return intMethods
	case Float:
		return floatMethods
	}
	return nil
}

// property returns an attribute that is not a method, or nil.
func (in *interp) property(v Value, name string) Value {
	switch v := v.(type) {
	case *loopValue:
		return v.property(name)
	case *tuple:
		if i := slices.Index([]string{"grouper", "list"}, name); v.group && i >= 0 {
			return v.items[i]
		}
	case *cycler:
		if name == "current" {
			return v.items[v.pos]
		}
	case *joiner:
		switch name {
		case "sep":
			return v.sep
		case "used":
			return Bool(v.used)
		}
	case *macro:
		return v.property(name)
	case rangeValue:
		switch name {
		case "start":
			return Int(v.start)
		case "stop":
			return Int(v.stop)
		case "step":
			return Int(v.step)
		}
	case Int, Bool, bigValue, Float:
		return numberProperty(v, name)
	}
	return nil
}

func (l *loopValue) property(name string) Value {
	switch name {
	case "index0":
		return Int(l.index0)
	case "index":
		return Int(l.index0 + 1)
	case "revindex0":
		return Int(l.length() - l.index0 - 1)
	case "revindex":
		return Int(l.length() - l.index0)
	case "first":
		return Bool(l.index0 == 0)
	case "last":
		return Bool(l.peek() == nil)
	case "length":
		return Int(l.length())
	case "depth0":
		return Int(l.depth0)
	case "depth":
		return Int(l.depth0 + 1)
	case "previtem":
		if l.before == nil {
			return undefinedHint("there is no previous item")
		}
		return l.before
	case "nextitem":
		if next := l.peek(); next != nil {
			return next
		}
		return undefinedHint("there is no next item")
	}
	return nil
}

func (m *macro) property(name string) Value {
	switch name {
	case "name":
		if m.name == "" {
			return None
		}
		return String(m.name)
	case "arguments":
		args := &tuple{}
		for _, p := range m.params {
			args.items = append(args.items, String(p))
		}
		return args
	case "catch_kwargs":
		return Bool(m.usesKwargs)
	case "catch_varargs":
		return Bool(m.usesVarargs)
	case "caller":
		return Bool(m.usesCaller)
	case "explicit_caller":
		return Bool(slices.Contains(m.params, "caller"))
	}
	return nil
}

func numberProperty(v Value, name string) Value {
	x, _ := asNumber(v)
	switch {
	case name == "real" && x.n == nil:
		return v
	case name == "imag" && x.n == nil:
		return Float(0)
	case name == "real", name == "numerator" && x.n != nil:
		return newInt(x.n)
	case name == "imag":
		return Int(0)
	case name == "denominator" && x.n != nil:
		return Int(1)
	}
	return nil
}
