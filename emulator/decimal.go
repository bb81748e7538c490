package emulator

import (
	"fmt"
	"math/big"
	"strings"
)

// decimal is an exact decimal number of dollars, n / 10^scale. Prices have up
// to two dozen digits behind the point, so nothing smaller than a big integer
// will do. The zero value is nought.
type decimal struct {
	n     *big.Int
	scale int
}

const picoScale = 12 // a picodollar is 10^-12 dollars

// parseDecimal reads plain and exponent notation: 12, 0.00000045, 4.5e-7.
func parseDecimal(text string) (decimal, error) {
	mantissa, exp := strings.ToLower(strings.TrimSpace(text)), 0
	if before, after, ok := strings.Cut(mantissa, "e"); ok {
		if _, err := fmt.Sscanf(after, "%d", &exp); err != nil || exp < -99 || exp > 99 {
			return decimal{}, fmt.Errorf("amount %q: bad exponent", text)
		}
		mantissa = before
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok || strings.ContainsAny(digits, "_") {
		return decimal{}, fmt.Errorf("amount %q is not a decimal number", text)
	}
	d := decimal{n, len(fraction) - exp}
	if d.scale < 0 {
		d.n.Mul(d.n, pow10(-d.scale))
		d.scale = 0
	}
	return d, nil
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func (d decimal) int() *big.Int {
	if d.n == nil {
		return new(big.Int)
	}
	return d.n
}

// at returns d's integer at a scale no smaller than its own.
func (d decimal) at(scale int) *big.Int {
	return new(big.Int).Mul(d.int(), pow10(scale-d.scale))
}

func (d decimal) times(n int) decimal {
	return decimal{new(big.Int).Mul(d.int(), big.NewInt(int64(n))), d.scale}
}

func (d decimal) mul(e decimal) decimal {
	return decimal{new(big.Int).Mul(d.int(), e.int()), d.scale + e.scale}
}

func (d decimal) plus(e decimal) decimal {
	scale := max(d.scale, e.scale)
	return decimal{new(big.Int).Add(d.at(scale), e.at(scale)), scale}
}

func (d decimal) minus(e decimal) decimal {
	return d.plus(decimal{new(big.Int).Neg(e.int()), e.scale})
}

func (d decimal) sign() int { return d.int().Sign() }

func (d decimal) cmp(e decimal) int { return d.minus(e).sign() }

// perUnit returns how many whole times unit fits into d, at least 0.
func (d decimal) perUnit(unit decimal) int64 {
	if unit.sign() <= 0 || d.sign() <= 0 {
		return 0
	}
	scale := max(d.scale, unit.scale)
	q := new(big.Int).Quo(d.at(scale), unit.at(scale))
	if !q.IsInt64() {
		return 1<<63 - 1
	}
	return q.Int64()
}

// roundUp returns d rounded up to the picodollar.
func (d decimal) roundUp() decimal {
	if d.scale <= picoScale {
		return d
	}
	q, r := new(big.Int).QuoRem(d.int(), pow10(d.scale-picoScale), new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return decimal{q, picoScale}
}

// pico returns d in whole picodollars, rounded up.
func (d decimal) pico() *big.Int {
	return d.roundUp().at(picoScale)
}

// float is d for the few places where only a weight is wanted, never an amount.
func (d decimal) float() float64 {
	f, _ := new(big.Rat).SetFrac(d.int(), pow10(d.scale)).Float64()
	return f
}

// String prints d with all its digits and no trailing zeros.
func (d decimal) String() string {
	text := new(big.Int).Abs(d.int()).String()
	if pad := d.scale + 1 - len(text); pad > 0 {
		text = strings.Repeat("0", pad) + text
	}
	point := len(text) - d.scale
	whole, fraction := text[:point], strings.TrimRight(text[point:], "0")
	if fraction != "" {
		whole += "." + fraction
	}
	if d.sign() < 0 {
		whole = "-" + whole
	}
	return whole
}
