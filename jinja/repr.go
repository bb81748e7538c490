package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// maxNesting is how deep containers may lie in each other when they are printed,
// compared or written as JSON. Python stops near 1,000 as well.
const maxNesting = 1000

// maxText bounds the repr of a value outside of rendering limits, in messages.
const maxText = 1 << 26

// maxIntDigits is the longest integer Python converts from or to decimal text.
const maxIntDigits = 4300

// str is Python's str(v).
func (in *interp) str(v Value) string {
	switch v := v.(type) {
	case String:
		return string(v)
	case markup:
		return string(v)
	case *marked:
		return v.use()
	case *undefined:
		return ""
	}
	return in.repr(v)
}

// repr is Python's repr(v).
func (in *interp) repr(v Value) string {
	p := printer{limit: in.opts.MaxOutput}
	p.repr(v)
	return in.made(string(p.b))
}

// reprOf is repr outside of a render.
func reprOf(v Value) string {
	p := printer{limit: maxText}
	p.repr(v)
	return string(p.b)
}

// quote is repr for a string that is not a Value yet.
func quote(s string) string { return string(appendQuoted(nil, s)) }

// printer writes the repr of values.
type printer struct {
	b     []byte
	depth int
	limit int          // size at which to give up
	open  []*namespace // namespaces being printed, which can contain themselves
}

func (p *printer) repr(v Value) {
	if p.depth++; p.depth > maxNesting {
		raise(RecursionError, "maximum recursion depth exceeded while getting the repr of an object")
	}
	defer func() { p.depth-- }()
	if len(p.b) > p.limit {
		raise(OutputLimit, "the text of a value passes %d bytes", p.limit)
	}
	switch v := v.(type) {
	case noneValue:
		p.word("None")
	case Bool:
		if v {
			p.word("True")
		} else {
			p.word("False")
		}
	case Int:
		p.b = strconv.AppendInt(p.b, int64(v), 10)
	case bigValue:
		p.word(bigText(v))
	case Float:
		p.b = appendFloat(p.b, float64(v))
	case String:
		p.b = appendQuoted(p.b, string(v))
	case *marked:
		p.b = appendQuoted(p.b, v.use())
	case markup:
		p.word("Markup(")
		p.b = appendQuoted(p.b, string(v))
		p.word(")")
	case *List:
		p.word("[")
		p.join(v.items)
		p.word("]")
	case *tuple:
		p.word("(")
		p.join(v.items)
		if len(v.items) == 1 {
			p.word(",")
		}
		p.word(")")
	case *Dict:
		p.dict(v)
	case *dictView:
		p.word(v.typeName() + "([")
		for i := range v.d.Len() {
			p.comma(i)
			p.repr(v.at(i))
		}
		p.word("])")
	default:
		p.object(v)
	}
}

// object prints what is neither a scalar nor a container of Python's own.
func (p *printer) object(v Value) {
	switch v := v.(type) {
	case *undefined:
		p.word("Undefined")
	case rangeValue:
		p.word(v.repr())
	case *namespace:
		p.namespace(v)
	case *macro:
		if v.name == "" {
			p.word("<Macro anonymous>")
			return
		}
		p.word("<Macro " + quote(v.name) + ">")
	case *loopValue:
		p.word(fmt.Sprintf("<LoopContext %d/%d>", v.index0+1, v.length()))
	default:
		raise(NotSupported, "printing a %s, which Python shows with its memory address", v.typeName())
	}
}

func (p *printer) word(s string) { p.b = append(p.b, s...) }

func (p *printer) comma(i int) {
	if i > 0 {
		p.word(", ")
	}
}

func (p *printer) join(items []Value) {
	for i, item := range items {
		p.comma(i)
		p.repr(item)
	}
}

func (p *printer) dict(d *Dict) {
	p.word("{")
	for i, k := range d.keys {
		p.comma(i)
		p.repr(k)
		p.word(": ")
		p.repr(d.vals[i])
	}
	p.word("}")
}

func (p *printer) namespace(ns *namespace) {
	p.word("<Namespace ")
	defer p.word(">")
	for _, outer := range p.open {
		if outer == ns {
			p.word("{...}")
			return
		}
	}
	p.open = append(p.open, ns)
	p.dict(&ns.attrs)
	p.open = p.open[:len(p.open)-1]
}

// bigText prints a large integer, up to the length Python allows.
func bigText(v bigValue) string {
	if v.n.BitLen() > maxIntDigits*4 {
		tooManyDigits()
	}
	s := v.n.String()
	if len(strings.TrimPrefix(s, "-")) > maxIntDigits {
		tooManyDigits()
	}
	return s
}

func tooManyDigits() {
	raise(ValueError, "Exceeds the limit (%d digits) for integer string conversion", maxIntDigits)
}

// appendFloat prints the shortest digits that read back as f, with an exponent
// outside of 1e-4 to 1e16 and always with a mark of being a float.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	case math.IsNaN(f):
		return append(b, "nan"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if !strings.Contains(string(b[start:]), ".") {
		b = append(b, ".0"...)
	}
	return b
}

// appendQuoted prints the repr of a string.
func appendQuoted(b []byte, s string) []byte {
	q := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		q = '"'
	}
	b = append(b, q)
	for len(s) > 0 {
		r, n := decodeRune(s)
		s = s[n:]
		switch {
		case r == rune(q) || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(r):
			b = appendRune(b, r)
		default:
			b = append(b, asciiEscape(r)...)
		}
	}
	return append(b, q)
}
