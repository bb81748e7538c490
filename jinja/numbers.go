package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// toFloat is Python's float(v).
func (in *interp) toFloat(v Value) float64 {
	f, err := in.tryFloat(v)
	if err != nil {
		panic(err)
	}
	return f
}

// tryFloat is Python's float(v), with its TypeError and ValueError returned.
func (in *interp) tryFloat(v Value) (float64, *Error) {
	if u, ok := v.(*undefined); ok {
		u.fail()
	}
	if x, ok := asNumber(v); ok {
		return x.float(), nil
	}
	s, ok := asText(v)
	if !ok {
		return 0, &Error{Kind: TypeError, Msg: "float() argument must be a string or a real number, not " + quote(v.typeName())}
	}
	in.charge(len(s))
	digits, ok := joinDigits(stripText(s, isSpace, true, true))
	f, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil && !math.IsInf(f, 0) || strings.ContainsAny(digits, "xXpP") {
		return 0, &Error{Kind: ValueError, Msg: "could not convert string to float: " + quote(s)}
	}
	return f, nil
}

// joinDigits removes the underscores of a number, which must stand between digits.
func joinDigits(s string) (string, bool) {
	for i := range len(s) {
		if s[i] == '_' && (i == 0 || i == len(s)-1 || !isHexDigit(s[i-1]) || !isHexDigit(s[i+1])) {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), true
}

// isHexDigit accepts any digit up to base 36.
func isHexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func filterFloat(in *interp, a arguments) Value {
	f, err := in.tryFloat(a.v[0])
	if err != nil {
		return a.v[1]
	}
	return Float(f)
}

// filterInt tries int(v), then int(float(v)), and then gives the default.
func filterInt(in *interp, a arguments) Value {
	v := a.v[0]
	if s, ok := asText(v); ok {
		in.charge(len(s))
		if n, ok := parseInt(s, smallInteger(a.v[2])); ok {
			return newInt(n)
		}
	}
	if x, ok := asNumber(v); ok && x.n != nil {
		return newInt(x.n)
	}
	f, err := in.tryFloat(v)
	if err != nil || math.IsNaN(f) {
		return a.v[1]
	}
	return newInt(toInt(number{f: f}))
}

// parseInt is Python's int(s, base), for ASCII digits.
func parseInt(s string, base int) (*big.Int, bool) {
	s = stripText(s, isSpace, true, true)
	sign := ""
	if s != "" && (s[0] == '+' || s[0] == '-') {
		sign, s = s[:1], s[1:]
	}
	if base != 0 && (base < 2 || base > 36) {
		return nil, false
	}
	s, base = cutPrefix(s, base)
	s, ok := joinDigits(s)
	if !ok || len(s) > maxIntDigits || strings.ContainsAny(s, "+-") {
		return nil, false
	}
	return new(big.Int).SetString(sign+s, base)
}

// cutPrefix removes 0x, 0o or 0b where the base allows it, and settles base 0.
func cutPrefix(s string, base int) (string, int) {
	if len(s) > 1 && s[0] == '0' {
		own := map[byte]int{'x': 16, 'o': 8, 'b': 2}[s[1]|0x20]
		if own != 0 && (base == own || base == 0) {
			return strings.TrimPrefix(s[2:], "_"), own
		}
	}
	if base == 0 {
		if len(s) > 1 && s[0] == '0' && strings.Trim(s, "0_") != "" {
			return "", 10 // old octal, refused
		}
		base = 10
	}
	return s, base
}

func filterRound(in *interp, a arguments) Value {
	x, ok := asNumber(a.v[0])
	method, _ := asText(a.v[2])
	switch method {
	case "common":
		if !ok {
			raise(TypeError, "type %s doesn't define __round__ method", a.v[0].typeName())
		}
		return in.round(x, smallInteger(a.v[1]))
	case "ceil", "floor":
	default:
		raise(FilterArgumentError, "method must be common, ceil or floor")
	}
	scale := in.binary("**", Int(10), a.v[1])
	scaled, ok := asNumber(in.binary("*", a.v[0], scale))
	if !ok {
		raise(TypeError, "must be real number, not %s", a.v[0].typeName())
	}
	if scaled.n == nil {
		if method == "ceil" {
			scaled.f = math.Ceil(scaled.f)
		} else {
			scaled.f = math.Floor(scaled.f)
		}
		scaled.n = toInt(scaled)
	}
	return in.binary("/", newInt(scaled.n), scale)
}

// round is Python's round(x, digits): halves go to the even digit.
func (in *interp) round(x number, digits int) Value {
	switch {
	case x.n == nil && digits >= 0:
		if digits > 400 || math.IsNaN(x.f) || math.IsInf(x.f, 0) {
			return Float(x.f)
		}
		f, _ := strconv.ParseFloat(strconv.FormatFloat(x.f, 'f', digits, 64), 64)
		return Float(f)
	case x.n == nil:
		if digits < -400 {
			return Float(math.Copysign(0, x.f))
		}
		scale := math.Pow(10, float64(-digits))
		return Float(math.RoundToEven(x.f/scale) * scale)
	case digits >= 0:
		return newInt(x.n)
	}
	if -digits > maxIntDigits {
		return Int(0)
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil)
	q, m := new(big.Int), new(big.Int)
	floorDivMod(q, m, x.n, scale)
	half := m.Lsh(m, 1).Cmp(scale)
	if half > 0 || half == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return newInt(q.Mul(q, scale))
}
