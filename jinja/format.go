package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// spec is how one value is to be formatted: the common ground of the % operator
// and of str.format.
type spec struct {
	fill  string // one character
	align byte   // '<', '>', '^', '=' or 0
	sign  byte   // '-', '+' or ' '
	alt   bool   // '#'
	width int
	group byte // ',' or '_' between digits, or 0
	prec  int  // -1: not given
	verb  byte // 0: not given
}

// fit pads a text to the width; head stays in front of '=' padding.
func (in *interp) fit(sp spec, head, body string, align byte) string {
	if sp.align != 0 {
		align = sp.align
	}
	s := head + body
	n := sp.width - runeCount(s)
	if n <= 0 {
		return s
	}
	in.reserve(len(s) + n*len(sp.fill))
	fill := func(n int) string { return strings.Repeat(sp.fill, n) }
	switch align {
	case '<':
		return s + fill(n)
	case '^':
		return fill(n/2) + s + fill(n-n/2)
	case '=':
		return head + fill(n) + body
	}
	return fill(n) + s
}

// signOf is what stands before a number.
func (sp spec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case sp.sign == '+' || sp.sign == ' ':
		return string(sp.sign)
	}
	return ""
}

// number completes the digits of a number.
func (in *interp) number(sp spec, sign, prefix, digits string) string {
	if sp.group != 0 {
		digits = sp.grouped(digits, sp.width-len(sign)-len(prefix))
	}
	return in.fit(sp, sign+prefix, digits, '>')
}

// grouped puts separators into the digits before the point. With zero padding the
// zeros are grouped too, up to the width.
func (sp spec) grouped(digits string, width int) string {
	whole, rest := digits, ""
	if i := strings.IndexAny(digits, ".e%"); i >= 0 && sp.verb != 'x' && sp.verb != 'X' {
		whole, rest = digits[:i], digits[i:]
	}
	size := 3
	if strings.IndexByte("xXob", sp.verb) >= 0 && sp.verb != 0 {
		size = 4
	}
	padded := func() string {
		var b []byte
		for i := range len(whole) {
			if i > 0 && (len(whole)-i)%size == 0 {
				b = append(b, sp.group)
			}
			b = append(b, whole[i])
		}
		return string(b)
	}
	s := padded()
	for sp.align == '=' && sp.fill == "0" && len(s)+len(rest) < width {
		whole = "0" + whole
		s = padded()
	}
	return s + rest
}

func (in *interp) formatInt(sp spec, n *big.Int) string {
	abs := new(big.Int).Abs(n)
	sign := sp.signOf(n.Sign() < 0)
	base, prefix := 10, ""
	switch sp.verb {
	case 'x', 'X':
		base, prefix = 16, "0"+string(sp.verb)
	case 'o':
		base, prefix = 8, "0o"
	case 'b':
		base, prefix = 2, "0b"
	default:
		bigText(bigValue{abs}) // refuses what is too long
	}
	digits := abs.Text(base)
	if sp.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if n := sp.prec - len(digits); n > 0 {
		in.reserve(n)
		digits = strings.Repeat("0", n) + digits
	}
	if !sp.alt {
		prefix = ""
	}
	return in.number(sp, sign, prefix, digits)
}

func (in *interp) formatFloat(sp spec, f float64) string {
	sign := sp.signOf(math.Signbit(f) && f == f)
	f = math.Abs(f)
	verb, percent := sp.verb, ""
	if verb == '%' {
		verb, percent, f = 'f', "%", f*100
	}
	var digits string
	switch {
	case math.IsInf(f, 0) || f != f:
		digits = string(appendFloat(nil, f))
	case verb == 0:
		digits = sp.general(f)
	default:
		digits = in.fixed(verb, sp, f)
	}
	if sp.verb == 'E' || sp.verb == 'F' || sp.verb == 'G' {
		digits = strings.ToUpper(digits)
	}
	return in.number(sp, sign, "", digits+percent)
}

// general formats without a type: as repr does, or with the given precision but
// always with a point.
func (sp spec) general(f float64) string {
	if sp.prec < 0 {
		return string(appendFloat(nil, f))
	}
	prec := max(sp.prec, 1)
	s := strconv.FormatFloat(f, 'g', prec, 64)
	if strings.ContainsAny(s, "e") {
		return s
	}
	if !strings.Contains(s, ".") {
		if len(s) >= prec { // no room for the point: Python switches to an exponent
			return trimExponent(strconv.FormatFloat(f, 'e', prec-1, 64))
		}
		s += ".0"
	}
	return s
}

// trimExponent removes zeros at the end of the digits before the exponent.
func trimExponent(s string) string {
	digits, exp, _ := strings.Cut(s, "e")
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	return digits + "e" + exp
}

// fixed formats with one of the verbs e, f and g.
func (in *interp) fixed(verb byte, sp spec, f float64) string {
	prec := sp.prec
	if prec < 0 {
		prec = 6
	}
	in.reserve(prec)
	if prec > 1000 {
		raise(ValueError, "precision too big")
	}
	verb |= 0x20 // lower case
	if verb == 'n' {
		verb = 'g'
	}
	if verb == 'g' {
		prec = max(prec, 1)
		if sp.alt {
			raise(NotSupported, "the alternative form of %%g")
		}
	}
	s := strconv.FormatFloat(f, verb, prec, 64)
	if sp.alt && !strings.Contains(s, ".") {
		mantissa, exp, ok := strings.Cut(s, "e")
		if s = mantissa + "."; ok {
			s += "e" + exp
		}
	}
	return s
}

// cut shortens a string to the precision.
func (sp spec) cut(s string) string {
	if sp.prec < 0 {
		return s
	}
	return s[:byteOffset(s, sp.prec)]
}

// toInt truncates a number for the integer verbs.
func toInt(x number) *big.Int {
	if x.n != nil {
		return x.n
	}
	if math.IsNaN(x.f) {
		raise(ValueError, "cannot convert float NaN to integer")
	}
	if math.IsInf(x.f, 0) {
		raise(OverflowError, "cannot convert float infinity to integer")
	}
	n, _ := big.NewFloat(x.f).Int(nil)
	return n
}
