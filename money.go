package eyrie

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Money is an amount in whole picodollars (10⁻¹² US dollars). The range is
// about ±9.2 million dollars. The zero value is no money.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1_000_000_000_000

// MaxMoney is the largest amount; arithmetic that would pass it saturates
// there, which is always the careful side for a reservation.
const MaxMoney Money = math.MaxInt64

// ErrAmount is wrapped by every error of [ParseMoney] and [ParsePrice].
var ErrAmount = errors.New("not an amount in dollars")

// ParseMoney reads a decimal amount of dollars such as "100", "$12.50",
// "0.00253" or "1.2e-05". Digits below a picodollar round up, so that what is
// read is never less than what was written. Negative amounts, names, empty
// text and amounts out of range are errors.
func ParseMoney(s string) (Money, error) {
	d, err := parseDecimal(strings.TrimPrefix(strings.TrimSpace(s), "$"))
	if err != nil {
		return 0, fmt.Errorf("%q: %w: %w", s, ErrAmount, err)
	}
	m, ok := scaleUp(0, d.digits, d.scale)
	if !ok {
		return 0, fmt.Errorf("%q: %w: more than %s", s, ErrAmount, MaxMoney)
	}
	return m, nil
}

// Add returns m+n, saturating at [MaxMoney].
func (m Money) Add(n Money) Money {
	if n > 0 && m > MaxMoney-n {
		return MaxMoney
	}
	return m + n
}

// String prints m in dollars with every digit it has and at least two
// decimals: "$0.00", "$12.50", "$0.002530000001".
func (m Money) String() string {
	sign, u := "", uint64(m)
	if m < 0 {
		sign, u = "-", -u
	}
	whole, frac := u/uint64(Dollar), u%uint64(Dollar)
	b := make([]byte, 0, len("-$9223372.036854775807"))
	b = append(b, sign...)
	b = append(b, '$')
	b = strconv.AppendUint(b, whole, 10)
	point := len(b)
	b = strconv.AppendUint(b, frac+uint64(Dollar), 10) // with its leading zeros, behind a 1
	b[point] = '.'
	for len(b) > point+len(".00") && b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return string(b)
}

// Cents prints m in dollars rounded to the nearest cent, for people. Use
// [Money.String] where the amount must be exact.
func (m Money) Cents() string {
	sign, u := "", uint64(m)
	if m < 0 {
		sign, u = "-", -u
	}
	c := (u + uint64(Dollar)/200) / (uint64(Dollar) / 100)
	return fmt.Sprintf("%s$%d.%02d", sign, c/100, c%100)
}

// Decimal prints m as a plain decimal number of dollars with every digit,
// without the dollar sign. ParseMoney(m.Decimal()) is m.
func (m Money) Decimal() string {
	return strings.Replace(m.String(), "$", "", 1)
}

// MarshalText writes m as a decimal number of dollars.
func (m Money) MarshalText() ([]byte, error) { return m.AppendText(nil) }

// AppendText appends what [Money.MarshalText] gives.
func (m Money) AppendText(b []byte) ([]byte, error) { return append(b, m.Decimal()...), nil }

// UnmarshalText reads what [Money.MarshalText] wrote.
func (m *Money) UnmarshalText(b []byte) error {
	s := string(b)
	neg := strings.HasPrefix(s, "-")
	v, err := ParseMoney(strings.TrimPrefix(s, "-"))
	if err != nil {
		return err
	}
	if neg {
		v = -v
	}
	*m = v
	return nil
}

// Price is an exact price of one token: digits × 10^−scale dollars. The zero
// value is not a price of zero but no price at all (see [Price.Known]): a lane
// whose price is unknown is closed, never free.
type Price struct {
	digits uint64
	scale  int
	known  bool
}

// Free is the known price of nothing, for servers of one's own.
var Free = Price{known: true}

// ParsePrice reads a decimal price in dollars per token, as catalogues print
// it ("0.00000225"). Up to 19 significant digits are kept exactly; further
// ones round up.
func ParsePrice(s string) (Price, error) {
	d, err := parseDecimal(strings.TrimSpace(s))
	if err != nil {
		return Price{}, fmt.Errorf("price %q: %w: %w", s, ErrAmount, err)
	}
	return Price{digits: d.digits, scale: d.scale, known: true}, nil
}

// Known reports whether p was set.
func (p Price) Known() bool { return p.known }

// or returns p where it is known, and else q.
func (p Price) or(q Price) Price {
	if p.known {
		return p
	}
	return q
}

// IsZero reports whether p is a known price of nothing or no price at all.
func (p Price) IsZero() bool { return p.digits == 0 }

// Times returns what n tokens cost, rounded up to the picodollar and
// saturating at [MaxMoney]. A negative n costs nothing.
func (p Price) Times(n int) Money {
	if n <= 0 || p.digits == 0 {
		return 0
	}
	hi, lo := bits.Mul64(p.digits, uint64(n))
	m, ok := scaleUp(hi, lo, p.scale)
	if !ok {
		return MaxMoney
	}
	return m
}

// PerMillion returns the price of a million tokens.
func (p Price) PerMillion() Money { return p.Times(1_000_000) }

// String prints the price of a token with all its digits, without a sign for
// dollars: "0.00000225". An unknown price prints as "?".
func (p Price) String() string {
	if !p.known {
		return "?"
	}
	s := strconv.FormatUint(p.digits, 10)
	if p.scale <= 0 {
		return s + strings.Repeat("0", -p.scale)
	}
	for len(s) <= p.scale {
		s = "0" + s
	}
	whole, frac := s[:len(s)-p.scale], strings.TrimRight(s[len(s)-p.scale:], "0")
	if frac == "" {
		return whole
	}
	return whole + "." + frac
}

// Cmp orders prices: −1, 0 or +1. Unknown prices sort last.
func (p Price) Cmp(q Price) int {
	if p.known != q.known {
		if p.known {
			return -1
		}
		return 1
	}
	if p.digits == 0 || q.digits == 0 {
		return cmp.Compare(p.digits, q.digits)
	}
	// Digits have no trailing zeros, so that the place of the first one decides,
	// and where it is the same both fit when filled up to the same length.
	wp, wq := width(p.digits), width(q.digits)
	return cmp.Or(
		cmp.Compare(wp-p.scale, wq-q.scale),
		cmp.Compare(p.digits*pow10[max(wp, wq)-wp], q.digits*pow10[max(wp, wq)-wq]))
}

// width counts the decimal digits of n, which is not zero.
func width(n uint64) int {
	w := 1
	for w < len(pow10) && n >= pow10[w] {
		w++
	}
	return w
}

// MarshalText writes p as [Price.String] does.
func (p Price) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what [Price.MarshalText] wrote.
func (p *Price) UnmarshalText(b []byte) error {
	if string(b) == "?" {
		*p = Price{}
		return nil
	}
	v, err := ParsePrice(string(b))
	if err != nil {
		return err
	}
	*p = v
	return nil
}

// decimal is digits × 10^−scale.
type decimal struct {
	digits uint64
	scale  int
}

// maxDigits is how many significant digits always fit in a uint64.
const maxDigits = 19

// parseDecimal reads an unsigned decimal number with an optional exponent.
// Digits beyond the 19th significant one are dropped and the rest rounded up.
func parseDecimal(s string) (decimal, error) {
	mant, exp, hasExp := s, "", false
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mant, exp, hasExp = s[:i], s[i+1:], true
	}
	var d decimal
	n, seen, dot, lost := 0, false, false, false
	for i := range len(mant) {
		c := mant[i]
		switch {
		case c == '.' && !dot:
			dot = true
		case c >= '0' && c <= '9':
			seen = true
			if n == maxDigits {
				lost = lost || c != '0'
				if !dot {
					d.scale--
				}
				continue
			}
			d.digits = d.digits*10 + uint64(c-'0')
			if d.digits > 0 {
				n++
			}
			if dot {
				d.scale++
			}
		case c == '-' && i == 0:
			return decimal{}, errors.New("it is negative")
		default:
			return decimal{}, fmt.Errorf("unexpected %q", mant[i:])
		}
	}
	if !seen {
		return decimal{}, errors.New("it has no digits")
	}
	if lost {
		d.digits++
	}
	if hasExp {
		e, err := strconv.Atoi(exp)
		if err != nil || e < -400 || e > 400 {
			return decimal{}, fmt.Errorf("unexpected exponent %q", exp)
		}
		d.scale -= e
	}
	for d.digits != 0 && d.digits%10 == 0 {
		d.digits /= 10
		d.scale--
	}
	if d.digits == 0 {
		d.scale = 0
	}
	return d, nil
}

var pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// scaleUp turns the 128-bit number hi:lo, counted in 10^−scale dollars, into
// picodollars, rounding up. It reports false where the result does not fit.
func scaleUp(hi, lo uint64, scale int) (Money, bool) {
	const pico = 12
	for ; scale < pico; scale++ {
		if hi == 0 && lo == 0 {
			break
		}
		if hi != 0 { // already too much, and it only grows
			return 0, false
		}
		hi, lo = bits.Mul64(lo, 10)
	}
	up := false
	for scale > pico {
		step := min(scale-pico, len(pow10)-1)
		div := pow10[step]
		qhi := hi / div
		qlo, rem := bits.Div64(hi%div, lo, div)
		hi, lo = qhi, qlo
		up = up || rem != 0
		scale -= step
		if hi == 0 && lo == 0 {
			break
		}
	}
	if up {
		var c uint64
		lo, c = bits.Add64(lo, 1, 0)
		hi += c
	}
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	return Money(lo), true
}
