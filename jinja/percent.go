package jinja

import "strings"

// percenter is one evaluation of "format % arguments".
type percenter struct {
	in    *interp
	s     string // rest of the format
	args  []Value
	whole Value // the right operand, for %(name)
	next  int
	safe  bool // the format is marked as safe: what it prints is escaped
	named bool // %(name) was used
	b     []byte
}

// percent is printf-style formatting.
func (in *interp) percent(left Value, s string, right Value) Value {
	_, safe := left.(markup)
	p := &percenter{in: in, s: s, whole: right, safe: safe}
	if t, ok := right.(*tuple); ok {
		p.args = t.items
	} else {
		p.args = []Value{right}
	}
	p.run()
	if p.next < len(p.args) && !p.named && !isMapping(right) {
		raise(TypeError, "not all arguments converted during string formatting")
	}
	return sameType(left, in.made(string(p.b)))
}

// isMapping tells values that Python takes for mappings here: those with items,
// other than tuples and strings.
func isMapping(v Value) bool {
	switch v.(type) {
	case *Dict, *List, rangeValue, *undefined:
		return true
	}
	return false
}

func (p *percenter) run() {
	for {
		i := strings.IndexByte(p.s, '%')
		if i < 0 {
			p.b = append(p.b, p.s...)
			return
		}
		p.b = append(p.b, p.s[:i]...)
		p.s = p.s[i+1:]
		p.conversion()
		p.in.reserve(len(p.b))
	}
}

// take consumes one byte of the format.
func (p *percenter) take() byte {
	if p.s == "" {
		raise(ValueError, "incomplete format")
	}
	c := p.s[0]
	p.s = p.s[1:]
	return c
}

func (p *percenter) arg() Value {
	if p.next >= len(p.args) {
		raise(TypeError, "not enough arguments for format string")
	}
	p.next++
	return p.args[p.next-1]
}

func (p *percenter) conversion() {
	if strings.HasPrefix(p.s, "(") {
		p.key()
	}
	sp := spec{fill: " ", prec: -1}
	zero := false
	for p.s != "" && strings.IndexByte("-+ #0", p.s[0]) >= 0 {
		switch c := p.take(); {
		case c == '-':
			sp.align = '<'
		case c == '#':
			sp.alt = true
		case c == '0':
			zero = true
		case c == '+' || sp.sign == 0:
			sp.sign = c
		}
	}
	if sp.width = p.size(-1); sp.width < -1 {
		sp.align, sp.width = '<', -sp.width
	}
	if strings.HasPrefix(p.s, ".") {
		p.take()
		sp.prec = max(p.size(0), 0)
	}
	for p.s != "" && strings.IndexByte("hlL", p.s[0]) >= 0 {
		p.take()
	}
	sp.verb = p.take()
	p.value(sp, zero)
}

// key reads %(name) and selects that item.
func (p *percenter) key() {
	depth, end := 0, -1
	for i := range len(p.s) {
		switch p.s[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			end = i
			break
		}
	}
	if end < 0 {
		raise(ValueError, "incomplete format key")
	}
	name := p.s[1:end]
	p.s = p.s[end+1:]
	if u, ok := p.whole.(*undefined); ok {
		u.fail()
	}
	d, ok := p.whole.(*Dict)
	if !ok {
		raise(TypeError, "format requires a mapping")
	}
	v, ok := d.Get(name)
	if !ok {
		raise(KeyError, "%s", quote(name))
	}
	p.args, p.next, p.named = []Value{v}, 0, true
}

// size reads a width or precision: digits, or a star for an argument.
func (p *percenter) size(absent int) int {
	if strings.HasPrefix(p.s, "*") {
		p.take()
		v := p.arg()
		if _, ok := smallInt(v); !ok {
			raise(TypeError, "* wants int")
		}
		return smallInteger(v)
	}
	n, digits := 0, 0
	for p.s != "" && '0' <= p.s[0] && p.s[0] <= '9' {
		if n = n*10 + int(p.take()-'0'); n > 1<<31 {
			raise(ValueError, "width too big")
		}
		digits++
	}
	if digits == 0 {
		return absent
	}
	return n
}

func (p *percenter) value(sp spec, zero bool) {
	if zero && sp.align == 0 {
		sp.align, sp.fill = '=', "0"
	}
	var out string
	switch sp.verb {
	case '%':
		p.b = append(p.b, '%')
		return
	case 's', 'r', 'a':
		out = p.text(sp)
	case 'd', 'i', 'u':
		x := p.numeric(sp, "a real number")
		sp.verb = 'd'
		out = p.in.formatInt(sp, toInt(x))
	case 'x', 'X', 'o':
		x := p.numeric(sp, "an integer")
		if x.n == nil {
			raise(TypeError, "%%%c format: an integer is required, not float", sp.verb)
		}
		out = p.in.formatInt(sp, x.n)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		out = p.in.formatFloat(sp, p.numeric(sp, "").float())
	case 'c':
		out = p.in.fit(sp.spaces(), "", p.char(), '>')
	default:
		raise(ValueError, "unsupported format character %s", quote(string(rune(sp.verb))))
	}
	p.b = append(p.b, out...)
}

// spaces is the spec for text, which zeros never pad.
func (sp spec) spaces() spec {
	sp.fill = " "
	if sp.align == '=' {
		sp.align = 0
	}
	return sp
}

func (p *percenter) text(sp spec) string {
	v := p.arg()
	var s string
	switch {
	case sp.verb == 'a':
		s = asciiOnly(p.in.repr(v))
	case sp.verb == 'r':
		s = p.in.repr(v)
	default:
		s = p.in.str(v)
	}
	if _, marked := v.(markup); p.safe && !(marked && sp.verb == 's') {
		s = escapeHTML(s)
	}
	return p.in.fit(sp.spaces(), "", sp.cut(s), '>')
}

// asciiOnly escapes what is not ASCII in a repr.
func asciiOnly(s string) string {
	var b []byte
	for _, r := range runesOf(s) {
		if r < 0x80 {
			b = append(b, byte(r))
		} else {
			b = append(b, asciiEscape(r)...)
		}
	}
	return string(b)
}

func (p *percenter) numeric(sp spec, required string) number {
	v := p.arg()
	if u, ok := v.(*undefined); ok && required != "an integer" {
		u.fail()
	}
	x, ok := asNumber(v)
	switch {
	case ok:
	case required == "":
		raise(TypeError, "must be real number, not %s", v.typeName())
	default:
		raise(TypeError, "%%%c format: %s is required, not %s", sp.verb, required, v.typeName())
	}
	return x
}

func (p *percenter) char() string {
	v := p.arg()
	if s, ok := asText(v); ok && runeCount(s) == 1 {
		return s
	}
	if _, big := v.(bigValue); big {
		raise(OverflowError, "%%c arg not in range(0x110000)")
	}
	if n, ok := smallInt(v); ok {
		if n < 0 || n > 0x10FFFF {
			raise(OverflowError, "%%c arg not in range(0x110000)")
		}
		return string(appendRune(nil, rune(n)))
	}
	raise(TypeError, "%%c requires int or char")
	return ""
}
