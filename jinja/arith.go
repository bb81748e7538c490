package jinja

import (
	"math"
	"math/big"
	"strings"
)

// maxBits bounds integers. Python knows no bound, but could not print one of this
// size either.
const maxBits = 1 << 16

// number is an int or float operand: n is set for integers.
type number struct {
	n *big.Int
	f float64
}

// asNumber reads any numeric value, booleans included.
func asNumber(v Value) (number, bool) {
	switch v := v.(type) {
	case Float:
		return number{f: float64(v)}, true
	case bigValue:
		return number{n: v.n}, true
	}
	if i, ok := smallInt(v); ok {
		return number{n: big.NewInt(int64(i))}, true
	}
	return number{}, false
}

// float converts the operand, which Python refuses for integers beyond the range
// of floats.
func (x number) float() float64 {
	if x.n == nil {
		return x.f
	}
	f, _ := new(big.Float).SetInt(x.n).Float64()
	if math.IsInf(f, 0) {
		raise(OverflowError, "int too large to convert to float")
	}
	return f
}

// binary is the arithmetic of two values.
func (in *interp) binary(op string, a, b Value) Value {
	if v, ok := smallArith(op, a, b); ok {
		return v
	}
	if op == "%" {
		if s, ok := asText(a); ok {
			return in.percent(a, s, b)
		}
	}
	for _, v := range [...]Value{a, b} {
		switch v := v.(type) {
		case *dictView:
			if op == "-" && v.what != viewValues {
				raise(NotSupported, "sets")
			}
		case *undefined:
			v.fail()
		}
	}
	x, xok := asNumber(a)
	y, yok := asNumber(b)
	switch {
	case xok && yok && x.n != nil && y.n != nil:
		return in.intArith(op, x, y)
	case xok && yok:
		return floatArith(op, x.float(), y.float())
	case op == "+":
		if v := in.add(a, b); v != nil {
			return v
		}
	case op == "*":
		if v := in.repeat(a, b); v != nil {
			return v
		}
	}
	if op == "**" {
		op = "** or pow()"
	}
	raise(TypeError, "unsupported operand type(s) for %s: %s and %s", op, quote(a.typeName()), quote(b.typeName()))
	return nil
}

// smallArith does the common case of sums of machine integers.
func smallArith(op string, a, b Value) (Value, bool) {
	x, ok := a.(Int)
	y, ok2 := b.(Int)
	if !ok || !ok2 || op != "+" && op != "-" {
		return nil, false
	}
	if op == "-" {
		if y == math.MinInt64 {
			return nil, false
		}
		y = -y
	}
	sum := x + y
	return sum, (sum > x) == (y > 0)
}

func (in *interp) intArith(op string, x, y number) Value {
	a, b := x.n, y.n
	in.charge(a.BitLen() / 64 * (b.BitLen()/64 + 1))
	r := new(big.Int)
	switch op {
	case "+":
		r.Add(a, b)
	case "-":
		r.Sub(a, b)
	case "*":
		r.Mul(a, b)
	case "/":
		return trueDivide(x, y)
	case "//":
		if b.Sign() == 0 {
			raise(ZeroDivisionError, "integer division or modulo by zero")
		}
		floorDivMod(r, new(big.Int), a, b)
	case "%":
		if b.Sign() == 0 {
			raise(ZeroDivisionError, "integer modulo by zero")
		}
		floorDivMod(new(big.Int), r, a, b)
	case "**":
		return in.intPower(x, y)
	}
	if r.BitLen() > maxBits {
		raise(OverflowError, "an integer passes %d bits", maxBits)
	}
	return newInt(r)
}

// floorDivMod sets q and m to the quotient rounded down and the rest, which takes
// the sign of b.
func floorDivMod(q, m, a, b *big.Int) {
	q.QuoRem(a, b, m)
	if m.Sign() != 0 && m.Sign() != b.Sign() {
		q.Sub(q, big.NewInt(1))
		m.Add(m, b)
	}
}

// trueDivide is the correctly rounded quotient of two integers.
func trueDivide(x, y number) Value {
	if y.n.Sign() == 0 {
		raise(ZeroDivisionError, "division by zero")
	}
	if x.n.Sign() == 0 && y.n.Sign() < 0 {
		return Float(math.Copysign(0, -1))
	}
	f, _ := new(big.Rat).SetFrac(x.n, y.n).Float64()
	if math.IsInf(f, 0) {
		raise(OverflowError, "integer division result too large for a float")
	}
	return Float(f)
}

func (in *interp) intPower(x, y number) Value {
	if y.n.Sign() < 0 {
		return floatPower(x.float(), y.float())
	}
	bits := x.n.BitLen()
	if bits > 1 && (!y.n.IsInt64() || y.n.Int64() > int64(maxBits/(bits-1))) {
		raise(OverflowError, "an integer passes %d bits", maxBits)
	}
	if y.n.Sign() == 0 {
		return Int(1)
	}
	if bits <= 1 { // 0, 1 or -1
		if x.n.Sign() < 0 && y.n.Bit(0) == 0 {
			return Int(1)
		}
		return newInt(new(big.Int).Set(x.n))
	}
	words := bits*int(y.n.Int64())/64 + 1
	in.charge(words * words)
	return newInt(new(big.Int).Exp(x.n, y.n, nil))
}

func floatArith(op string, a, b float64) Value {
	if b == 0 {
		switch op {
		case "/":
			raise(ZeroDivisionError, "float division by zero")
		case "//":
			raise(ZeroDivisionError, "float floor division by zero")
		case "%":
			raise(ZeroDivisionError, "float modulo")
		}
	}
	switch op {
	case "+":
		return Float(a + b)
	case "-":
		return Float(a - b)
	case "*":
		return Float(a * b)
	case "/":
		return Float(a / b)
	case "//":
		q, _ := floatDivMod(a, b)
		return Float(q)
	case "%":
		_, m := floatDivMod(a, b)
		return Float(m)
	}
	return floatPower(a, b)
}

// floatDivMod follows Python's divmod of floats, its signed zeros included.
func floatDivMod(a, b float64) (q, m float64) {
	m = math.Mod(a, b)
	div := (a - m) / b
	if m == 0 {
		m = math.Copysign(0, b)
	} else if (b < 0) != (m < 0) {
		m += b
		div--
	}
	if div == 0 {
		return math.Copysign(0, a/b), m
	}
	q = math.Floor(div)
	if div-q > 0.5 {
		q++
	}
	return q, m
}

func floatPower(a, b float64) Value {
	if a == 0 && b < 0 {
		raise(ZeroDivisionError, "0.0 cannot be raised to a negative power")
	}
	if a < 0 && b != math.Trunc(b) && !math.IsInf(b, 0) {
		raise(NotSupported, "complex numbers")
	}
	f := power(a, b)
	if math.IsInf(f, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		raise(OverflowError, "(34, 'Numerical result out of range')")
	}
	return Float(f)
}

// power is math.Pow, exact to the last digit for the exponents that occur: whole
// and half numbers. Go's own may be off by one there, C's is not.
func power(a, b float64) float64 {
	n := math.Floor(b)
	half := b - n
	if math.Abs(n) > 1024 || half != 0 && half != 0.5 || a == 0 || math.IsInf(a, 0) || a != a || b != b {
		return math.Pow(a, b)
	}
	const precision = 512
	one := big.NewFloat(1).SetPrec(precision)
	r := new(big.Float).Copy(one)
	square := big.NewFloat(a).SetPrec(precision)
	root := new(big.Float).SetPrec(precision)
	if half != 0 {
		root.Sqrt(square)
	}
	for e := int(math.Abs(n)); e > 0; e >>= 1 {
		if e&1 == 1 {
			r.Mul(r, square)
		}
		square.Mul(square, square)
	}
	if n < 0 {
		r.Quo(one, r)
	}
	if half != 0 {
		r.Mul(r, root)
	}
	f, _ := r.Float64()
	return f
}

// sign is unary minus and plus.
func (in *interp) sign(op string, v Value) Value {
	if u, ok := v.(*undefined); ok {
		u.fail()
	}
	x, ok := asNumber(v)
	switch {
	case !ok:
		raise(TypeError, "bad operand type for unary %s: %s", op, quote(v.typeName()))
	case x.n == nil && op == "-":
		return Float(-x.f)
	case x.n == nil:
		return v
	case op == "-":
		return newInt(new(big.Int).Neg(x.n))
	}
	return newInt(x.n)
}

// add concatenates sequences; nil means that the types do not go together.
func (in *interp) add(a, b Value) Value {
	_, aText := asString(a)
	_, bText := asString(b)
	switch {
	case aText && bText:
		return in.concat(a, b)
	case aText:
		raise(TypeError, `can only concatenate str (not "%s") to str`, b.typeName())
	}
	x, ok := sequence(a)
	if !ok {
		return nil
	}
	y, ok := sequence(b)
	if !ok || a.typeName() != b.typeName() {
		raise(TypeError, `can only concatenate %s (not "%s") to %s`, a.typeName(), b.typeName(), a.typeName())
	}
	in.chargeItems(len(x) + len(y))
	sum := append(append(make([]Value, 0, len(x)+len(y)), x...), y...)
	if _, ok := a.(*List); ok {
		return &List{sum}
	}
	return &tuple{items: sum}
}

// asString is asText without counting as a use of the text: it only looks at the
// type.
func asString(v Value) (Value, bool) {
	switch v.(type) {
	case String, markup, *marked:
		return v, true
	}
	return nil, false
}

// concat joins two strings. If either is marked as safe, the other is escaped.
func (in *interp) concat(a, b Value) Value {
	_, aSafe := a.(markup)
	_, bSafe := b.(markup)
	if aSafe || bSafe {
		return markup(in.made(escaped(a) + escaped(b)))
	}
	return in.joinText(a, b)
}

// escaped is the text of a string made safe for HTML.
func escaped(v Value) string {
	if m, ok := v.(markup); ok {
		return string(m)
	}
	return escapeHTML(text(v))
}

// chargeItems accounts for a list of n items that is about to be made.
func (in *interp) chargeItems(n int) {
	if n > in.opts.MaxOutput/16 || n < 0 {
		raise(OutputLimit, "a list passes %d items", in.opts.MaxOutput/16)
	}
	in.charge(n * 16)
}

// repeat multiplies a sequence by an integer; nil means that neither is one.
func (in *interp) repeat(a, b Value) Value {
	if !isSequence(a) {
		a, b = b, a
	}
	if !isSequence(a) {
		return nil
	}
	x, ok := asNumber(b)
	if !ok || x.n == nil {
		raise(TypeError, "can't multiply sequence by non-int of type %s", quote(b.typeName()))
	}
	if !x.n.IsInt64() {
		raise(OverflowError, "cannot fit 'int' into an index-sized integer")
	}
	if n, _ := length(a); x.n.Sign() <= 0 || n == 0 {
		x.n = new(big.Int)
	}
	if x.n.Int64() > int64(in.opts.MaxOutput) {
		raise(OutputLimit, "a sequence passes %d bytes", in.opts.MaxOutput)
	}
	times := int(x.n.Int64())
	if s, ok := asText(a); ok {
		in.reserve(len(s) * times)
		return sameType(a, strings.Repeat(s, times))
	}
	items, _ := sequence(a)
	in.chargeItems(len(items) * times)
	out := make([]Value, 0, len(items)*times)
	for range times {
		out = append(out, items...)
	}
	if _, ok := a.(*List); ok {
		return &List{out}
	}
	return &tuple{items: out}
}

func isSequence(v Value) bool {
	if _, ok := asString(v); ok {
		return true
	}
	_, ok := sequence(v)
	return ok
}
