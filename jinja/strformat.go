package jinja

import (
	"strconv"
	"strings"
)

// formatter is one call of str.format.
type formatter struct {
	in     *interp
	pos    []Value
	kw     *Dict
	next   int  // position the next {} takes
	auto   bool // a {} was seen
	manual bool // a {0} was seen
	safe   bool // the format is marked as safe: what it prints is escaped
}

func strFormat(in *interp, a arguments) Value {
	kw := &Dict{}
	for _, k := range a.kw {
		kw.put(String(k.name), k.v)
	}
	return in.format(a.v[0], a.rest, kw)
}

func strFormatMap(in *interp, a arguments) Value {
	d, ok := a.v[1].(*Dict)
	if !ok {
		raise(TypeError, "%s object is not a mapping", quote(a.v[1].typeName()))
	}
	return in.format(a.v[0], nil, d)
}

func (in *interp) format(s Value, pos []Value, kw *Dict) Value {
	_, safe := s.(markup)
	f := &formatter{in: in, pos: pos, kw: kw, safe: safe}
	return sameType(s, in.made(f.expand(text(s), 2)))
}

// expand replaces the fields of s. Formats may contain fields, down to the given
// depth.
func (f *formatter) expand(s string, depth int) string {
	if depth < 0 {
		raise(ValueError, "Max string recursion exceeded")
	}
	var b []byte
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			break
		}
		b = append(b, s[:i]...)
		c := s[i]
		s = s[i+1:]
		switch {
		case s != "" && s[0] == c:
			b = append(b, c)
			s = s[1:]
		case c == '}':
			raise(ValueError, "Single '}' encountered in format string")
		default:
			end := fieldEnd(s)
			b = append(b, f.field(s[:end], depth)...)
			s = s[end+1:]
		}
		f.in.reserve(len(b))
	}
	return string(append(b, s...))
}

// fieldEnd finds the brace that closes a field.
func fieldEnd(s string) int {
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	if s == "" {
		raise(ValueError, "Single '{' encountered in format string")
	}
	raise(ValueError, "expected '}' before end of string")
	return 0
}

// field formats "name!conversion:spec".
func (f *formatter) field(s string, depth int) string {
	name, format := s, ""
	bracket := false
	for i := range len(s) {
		c := s[i]
		bracket = c == '[' || bracket && c != ']'
		if !bracket && (c == ':' || c == '!') {
			name, format = s[:i], s[i:]
			break
		}
	}
	v := f.lookup(name)
	if strings.HasPrefix(format, "!") {
		if len(format) < 2 {
			raise(ValueError, "end of string while looking for conversion specifier")
		}
		v = f.convert(v, format[1])
		if format = format[2:]; format != "" && format[0] != ':' {
			raise(ValueError, "expected ':' after conversion specifier")
		}
	}
	return f.value(v, f.expand(strings.TrimPrefix(format, ":"), depth-1))
}

func (f *formatter) convert(v Value, how byte) Value {
	switch how {
	case 's':
		return String(f.in.str(v))
	case 'r':
		return String(f.in.repr(v))
	case 'a':
		return String(asciiOnly(f.in.repr(v)))
	}
	raise(ValueError, "Unknown conversion specifier %s", quote(string(rune(how))))
	return nil
}

// lookup resolves "first.attr[item]".
func (f *formatter) lookup(name string) Value {
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	v := f.first(name[:end])
	for rest := name[end:]; rest != ""; {
		if rest[0] == '.' {
			rest = rest[1:]
			n := strings.IndexAny(rest, ".[")
			if n < 0 {
				n = len(rest)
			}
			f.needPart(rest[:n])
			v = f.in.attribute(v, rest[:n])
			rest = rest[n:]
			continue
		}
		key, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			raise(ValueError, "Missing ']' in format string")
		}
		f.needPart(key)
		if after != "" && after[0] != '.' && after[0] != '[' {
			raise(ValueError, "Only '.' or '[' may follow ']' in format field specifier")
		}
		if n, err := strconv.Atoi(key); err == nil && n >= 0 {
			v = f.in.item(v, Int(n))
		} else {
			v = f.in.item(v, String(key))
		}
		rest = after
	}
	return v
}

func (f *formatter) needPart(s string) {
	if s == "" {
		raise(ValueError, "Empty attribute in format string")
	}
}

func (f *formatter) first(name string) Value {
	i, err := strconv.Atoi(name)
	switch {
	case name == "":
		f.auto = true
		i = f.next
		f.next++
	case err != nil || i < 0:
		v, ok := f.kw.Get(name)
		if !ok {
			raise(KeyError, "%s", quote(name))
		}
		return v
	default:
		f.manual = true
	}
	if f.auto && f.manual {
		raise(ValueError, "cannot switch between manual field specification and automatic field numbering")
	}
	if i >= len(f.pos) {
		raise(IndexError, "Replacement index %d out of range for positional args tuple", i)
	}
	return f.pos[i]
}

// value is Python's format(v, spec). A formatter marked as safe escapes the result.
func (f *formatter) value(v Value, format string) string {
	m, marked := v.(markup)
	switch {
	case f.safe && marked && format == "":
		return string(m)
	case f.safe && marked:
		raise(ValueError, "Unsupported format specification for Markup.")
	}
	s := f.plain(v, format)
	if f.safe {
		s = escapeHTML(s)
	}
	return s
}

func (f *formatter) plain(v Value, format string) string {
	if format == "" {
		return f.in.str(v)
	}
	if s, ok := asText(v); ok {
		sp := parseSpec(format)
		if sp.align == '=' && sp.fill == "0" {
			sp.align = '<' // a zero before the width only fills
		}
		if sp.verb != 0 && sp.verb != 's' || sp.align == '=' || sp.sign != 0 || sp.alt || sp.group != 0 {
			raise(ValueError, "Invalid format specifier %s for object of type 'str'", quote(format))
		}
		return f.in.fit(sp, "", sp.cut(s), '<')
	}
	x, ok := asNumber(v)
	if !ok {
		raise(TypeError, "unsupported format string passed to %s.__format__", v.typeName())
	}
	return f.number(x, parseSpec(format), v)
}

func (f *formatter) number(x number, sp spec, v Value) string {
	switch sp.verb {
	case 'd', 'b', 'o', 'x', 'X', 'c', 'n', 0:
		if x.n == nil {
			break
		}
		if sp.prec >= 0 {
			raise(ValueError, "Precision not allowed in integer format specifier")
		}
		if sp.verb == 'c' {
			raise(NotSupported, "the format type c")
		}
		return f.in.formatInt(sp, x.n)
	}
	if strings.IndexByte("eEfFgGn%\x00", sp.verb) < 0 {
		raise(ValueError, "Unknown format code %s for object of type %s", quote(string(rune(sp.verb))), quote(v.typeName()))
	}
	return f.in.formatFloat(sp, x.float())
}

// parseSpec reads "[[fill]align][sign][#][0][width][group][.precision][type]".
func parseSpec(format string) spec {
	sp := spec{fill: " ", prec: -1}
	s := format
	_, n := decodeRune(s)
	if len(s) > n && strings.IndexByte("<>=^", s[n]) >= 0 {
		sp.fill, sp.align = s[:n], s[n]
		s = s[n+1:]
	} else if strings.IndexByte("<>=^", s[0]) >= 0 {
		sp.align = s[0]
		s = s[1:]
	}
	take := func(set string) byte {
		if s == "" || strings.IndexByte(set, s[0]) < 0 {
			return 0
		}
		c := s[0]
		s = s[1:]
		return c
	}
	count := func() int {
		end := 0
		for end < len(s) && '0' <= s[end] && s[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(s[:end])
		if err != nil && end > 0 || n > 1<<31 {
			raise(ValueError, "Too many decimal digits in format string")
		}
		digits := end > 0
		if s = s[end:]; !digits {
			return -1
		}
		return n
	}
	sp.sign = take("+- ")
	sp.alt = take("#") != 0
	if take("0") != 0 && sp.align == 0 {
		sp.fill, sp.align = "0", '='
	}
	sp.width = count()
	sp.group = take(",_")
	if take(".") != 0 {
		if sp.prec = count(); sp.prec < 0 {
			raise(ValueError, "Format specifier missing precision")
		}
	}
	if s != "" && s[0] < 0x80 {
		sp.verb = s[0]
		s = s[1:]
	}
	if s != "" {
		raise(ValueError, "Invalid format specifier %s", quote(format))
	}
	return sp
}
