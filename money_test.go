package eyrie_test

import (
	"compress/gzip"
	"encoding"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/eyrie-ai/eyrie"
)

// The oracle of this file is math/big: what an amount is worth is worked out
// as an exact fraction, and only then rounded.

var picodollars = new(big.Rat).SetInt64(int64(eyrie.Dollar))

// exactly reads a decimal text as a fraction of dollars.
func exactly(t fataler, s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("the oracle cannot read %q", s)
	}
	return r
}

type fataler interface{ Fatalf(string, ...any) }

// roundedUp is a fraction of dollars in whole picodollars, rounded up, and
// whether it fits in Money.
func roundedUp(dollars *big.Rat) (eyrie.Money, bool) {
	r := new(big.Rat).Mul(dollars, picodollars)
	q, rem := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rem.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	if !q.IsInt64() {
		return eyrie.MaxMoney, false
	}
	return eyrie.Money(q.Int64()), true
}

func mustPrice(t fataler, s string) eyrie.Price {
	p, err := eyrie.ParsePrice(s)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return p
}

// decimalText draws decimal numbers of dollars as people and catalogues write
// them: with leading and trailing zeros, without a whole part, with exponents.
func decimalText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		digits := func(min, max int, label string) string {
			return rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), min, max, -1).Draw(t, label)
		}
		s := digits(1, rapid.IntRange(1, 24).Draw(t, "whole digits"), "whole")
		if rapid.Bool().Draw(t, "has a fraction") {
			s += "." + digits(0, 30, "fraction")
		}
		if rapid.IntRange(0, 3).Draw(t, "has an exponent") == 0 {
			s += rapid.SampledFrom([]string{"e", "E", "e+", "e-", "E-"}).Draw(t, "e")
			s += rapid.StringMatching(`[0-9]|[0-3][0-9]`).Draw(t, "exponent")
		}
		return s
	})
}

// catalogueText draws prices of at most 22 decimals and 19 significant digits.
func catalogueText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		decimals := rapid.IntRange(1, 22).Draw(t, "decimals")
		significant := rapid.IntRange(1, min(19, decimals)).Draw(t, "significant")
		f := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), significant, significant, -1).Draw(t, "digits")
		return "0." + strings.Repeat("0", decimals-significant) + f
	})
}

func TestParseMoney(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want eyrie.Money
	}{
		{"0", 0},
		{"100", 100 * eyrie.Dollar},
		{"$12.50", 12*eyrie.Dollar + eyrie.Dollar/2},
		{" $3 ", 3 * eyrie.Dollar},
		{".5", eyrie.Dollar / 2},
		{"7.", 7 * eyrie.Dollar},
		{"00012.500", 12*eyrie.Dollar + eyrie.Dollar/2},
		{"0.00253", 2_530_000_000},
		{"1.2e-05", 12_000_000},
		{"1.2E-5", 12_000_000},
		{"1e+3", 1000 * eyrie.Dollar},
		{"0.000000000001", 1},
		{"0.0000000000001", 1},          // a tenth of a picodollar
		{"0.0000000000010000000001", 2}, // one, and a trace of the next
		{"1e-400", 1},
		{"0e400", 0},
		{"9223372.036854775807", eyrie.MaxMoney},
		{"9223372.0368547758069999999999", eyrie.MaxMoney},
		{"0.00000000000099999999999999999999999", 1},
	} {
		got, err := eyrie.ParseMoney(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("ParseMoney(%q) = %d, %v; want %d", tt.in, got, err, tt.want)
		}
	}
}

func TestWhatIsNotAnAmount(t *testing.T) {
	for _, in := range []string{
		"", " ", "$", ".", "e5", "-1", "-0.5", "+1", "1,000", "1.2.3", "1_000", "free", "NaN", "Inf", "0x10",
		"1e", "1e5.0", "1e401", "1e-401", "1e99999999999999999999", "１", "1 2", "$$1", "$ 1",
	} {
		if m, err := eyrie.ParseMoney(in); !errors.Is(err, eyrie.ErrAmount) || m != 0 {
			t.Errorf("ParseMoney(%q) = %d, %v; want ErrAmount", in, m, err)
		}
		if p, err := eyrie.ParsePrice(in); !errors.Is(err, eyrie.ErrAmount) || p.Known() {
			t.Errorf("ParsePrice(%q) = %v, %v; want ErrAmount", in, p, err)
		}
	}
	if _, err := eyrie.ParseMoney("-1"); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Errorf("of a negative amount the error is %v", err)
	}
	for _, in := range []string{"9223372.036854775808", "9223372.0368547758070000001", "1e7", "1e400", "99999999999999999999"} {
		if m, err := eyrie.ParseMoney(in); !errors.Is(err, eyrie.ErrAmount) || m != 0 {
			t.Errorf("ParseMoney(%q) = %d, %v; want ErrAmount for an amount out of range", in, m, err)
		}
	}
}

func TestParseMoneyIsNeverLessThanWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := decimalText().Draw(t, "amount")
		got, err := eyrie.ParseMoney(s)
		want, fits := roundedUp(exactly(t, s))
		if len(strings.TrimLeft(strings.ReplaceAll(s, ".", ""), "0")) > 19 {
			// More digits than are kept: one unit in the last place too much at most.
			if err == nil && (got < want || float64(got-want) > 1+float64(want)*1e-18) {
				t.Fatalf("ParseMoney(%q) = %d, and exactly it is %d", s, got, want)
			}
			if err != nil && fits && want < eyrie.MaxMoney-10 {
				t.Fatalf("ParseMoney(%q): %v, and it fits", s, err)
			}
			return
		}
		if fits != (err == nil) || err == nil && got != want {
			t.Fatalf("ParseMoney(%q) = %d, %v; want %d, fits %v", s, got, err, want, fits)
		}
	})
}

func TestTimesIsTheExactProductRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(catalogueText(), decimalText()).Draw(t, "price")
		n := rapid.OneOf(rapid.IntRange(1, 10_000_000), rapid.IntRange(1, math.MaxInt)).Draw(t, "tokens")
		p := mustPrice(t, s)
		// The price that was kept is the factor; that it is the price that was
		// written is TestPriceKeepsItsDigits.
		want, _ := roundedUp(new(big.Rat).Mul(exactly(t, p.String()), new(big.Rat).SetInt64(int64(n))))
		if got := p.Times(n); got != want {
			t.Fatalf("%s × %d = %d, want %d", s, n, got, want)
		}
	})
}

func TestTimesSaturates(t *testing.T) {
	// Where a product is near 2¹²⁸, a carry that is lost makes a fortune of
	// picodollars out of one of dollars. Factors are drawn around every power
	// of two divided by a power of ten, where carries happen.
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1<<62, math.MaxInt).Draw(t, "tokens")
		pow := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(rapid.IntRange(0, 12).Draw(t, "power"))), nil)
		edge := new(big.Int).Lsh(big.NewInt(1), uint(rapid.SampledFrom([]int{64, 127, 128}).Draw(t, "bits")))
		d := edge.Div(edge, pow)
		d.Div(d, big.NewInt(int64(n)))
		d.Add(d, big.NewInt(int64(rapid.IntRange(-1, 1).Draw(t, "off by"))))
		if d.Sign() <= 0 || len(d.String()) > 19 {
			t.Skip("not a price")
		}
		for scale := range 23 {
			s := d.String() + "e-" + big.NewInt(int64(scale)).String()
			want, _ := roundedUp(new(big.Rat).Mul(exactly(t, s), new(big.Rat).SetInt64(int64(n))))
			if got := mustPrice(t, s).Times(n); got != want {
				t.Fatalf("%s × %d = %d, want %d", s, n, got, want)
			}
		}
	})
}

func TestTimesRoundsUpWhateverIsDropped(t *testing.T) {
	for _, tt := range []struct {
		price  string
		tokens int
		want   eyrie.Money
	}{
		{"1e-12", 1, 1},
		{"1e-13", 1, 1},
		{"1e-13", 10, 1},
		{"1e-13", 11, 2},
		{"1e-400", math.MaxInt, 1},
		{"0.0000000000010000000001", 10_000_000_000, 10_000_000_001},
		{"9000000000000000001e-36", 100_000_000_000_000_000, 900_000_000_001}, // the remainder is in the 19 digits that go first
	} {
		if got := mustPrice(t, tt.price).Times(tt.tokens); got != tt.want {
			t.Errorf("%s × %d = %d, want %d", tt.price, tt.tokens, got, tt.want)
		}
	}
}

func TestTimesOfNothing(t *testing.T) {
	dear := mustPrice(t, "1")
	for _, n := range []int{0, -1, math.MinInt} {
		if got := dear.Times(n); got != 0 {
			t.Errorf("Times(%d) = %d, want 0", n, got)
		}
	}
	for _, p := range []eyrie.Price{{}, eyrie.Free, mustPrice(t, "0.000")} {
		if got := p.Times(math.MaxInt); got != 0 {
			t.Errorf("%v × MaxInt = %d, want 0", p, got)
		}
	}
}

func TestPriceInWords(t *testing.T) {
	for in, want := range map[string]string{
		"0.00000225":               "0.00000225",
		"2.25e-06":                 "0.00000225",
		"0.0000000000000000000001": "0.0000000000000000000001",
		"00.10":                    "0.1",
		"1e3":                      "1000",
		"0.000":                    "0",
		"1.234567890123456789":     "1.234567890123456789",
		"1.2345678901234567890":    "1.234567890123456789",
		"1.23456789012345678910":   "1.23456789012345679", // the 20th digit rounds up, whatever follows
		"99999999999999999999.5":   "100000000000000000000",
	} {
		if got := mustPrice(t, in).String(); got != want {
			t.Errorf("%s prints as %s, want %s", in, got, want)
		}
	}
	if got := (eyrie.Price{}).String(); got != "?" {
		t.Errorf("an unknown price prints as %s", got)
	}
}

func TestPriceKeepsItsDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := catalogueText().Draw(t, "price")
		p := mustPrice(t, s)
		if exactly(t, s).Cmp(exactly(t, p.String())) != 0 {
			t.Fatalf("ParsePrice(%q) kept %s", s, p)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		s := decimalText().Draw(t, "price")
		kept, wrote := exactly(t, mustPrice(t, s).String()), exactly(t, s)
		if kept.Cmp(wrote) < 0 {
			t.Fatalf("ParsePrice(%q) kept %s, which is less", s, kept.FloatString(40))
		}
		// 19 digits: the error is at most one part in 10¹⁸.
		most := new(big.Rat).Mul(wrote, exactly(t, "1.000000000000000001"))
		if kept.Cmp(most) > 0 {
			t.Fatalf("ParsePrice(%q) kept %s, which is too much", s, kept.FloatString(40))
		}
	})
}

func TestPriceCmpIsTheOrderOfTheExactPrices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.OneOf(catalogueText(), decimalText(), rapid.SampledFrom([]string{
			"0", "0.0000022", "0.00000220", "0.0000000000000000000001", "0.0000000000000000000002", "0.01", "0.02", "1e30", "2e30",
		}))
		a, b := mustPrice(t, texts.Draw(t, "a")), mustPrice(t, texts.Draw(t, "b"))
		want := exactly(t, a.String()).Cmp(exactly(t, b.String()))
		if got := a.Cmp(b); got != want {
			t.Fatalf("%s cmp %s = %d, want %d", a, b, got, want)
		}
	})
	unknown := eyrie.Price{}
	if unknown.Cmp(mustPrice(t, "1e30")) != 1 || eyrie.Free.Cmp(unknown) != -1 || unknown.Cmp(unknown) != 0 {
		t.Error("an unknown price does not sort last")
	}
}

func TestUnknownIsNotFree(t *testing.T) {
	if (eyrie.Price{}).Known() {
		t.Error("the zero price is known")
	}
	if !eyrie.Free.Known() || !mustPrice(t, "0").Known() || mustPrice(t, "0.0") != eyrie.Free {
		t.Error("a price of nothing is not the known price of nothing")
	}
}

func TestPerMillion(t *testing.T) {
	if got, want := mustPrice(t, "0.00000225").PerMillion(), 2*eyrie.Dollar+eyrie.Dollar/4; got != want {
		t.Errorf("PerMillion = %s, want %s", got, want)
	}
}

func TestMoneyInWords(t *testing.T) {
	for _, tt := range []struct {
		in                   eyrie.Money
		text, cents, decimal string
	}{
		{0, "$0.00", "$0.00", "0.00"},
		{1, "$0.000000000001", "$0.00", "0.000000000001"},
		{2_530_000_001, "$0.002530000001", "$0.00", "0.002530000001"},
		{eyrie.Dollar / 200, "$0.005", "$0.01", "0.005"},
		{eyrie.Dollar/200 - 1, "$0.004999999999", "$0.00", "0.004999999999"},
		{12*eyrie.Dollar + eyrie.Dollar/2, "$12.50", "$12.50", "12.50"},
		{-eyrie.Dollar / 10, "-$0.10", "-$0.10", "-0.10"},
		{eyrie.MaxMoney, "$9223372.036854775807", "$9223372.04", "9223372.036854775807"},
		{math.MinInt64, "-$9223372.036854775808", "-$9223372.04", "-9223372.036854775808"},
	} {
		if got := tt.in.String(); got != tt.text {
			t.Errorf("%d prints as %s, want %s", tt.in, got, tt.text)
		}
		if got := tt.in.Cents(); got != tt.cents {
			t.Errorf("%d in cents is %s, want %s", tt.in, got, tt.cents)
		}
		if got := tt.in.Decimal(); got != tt.decimal {
			t.Errorf("%d as a decimal is %s, want %s", tt.in, got, tt.decimal)
		}
	}
}

func TestAdd(t *testing.T) {
	amounts := rapid.OneOf(
		rapid.Map(rapid.Int64(), func(n int64) eyrie.Money { return eyrie.Money(n / 2) }),
		rapid.SampledFrom([]eyrie.Money{0, 1, eyrie.MaxMoney / 2, eyrie.MaxMoney - 1, eyrie.MaxMoney}),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := amounts.Draw(t, "a"), amounts.Draw(t, "b")
		sum := new(big.Int).Add(big.NewInt(int64(a)), big.NewInt(int64(b)))
		want := eyrie.MaxMoney
		if sum.IsInt64() {
			want = eyrie.Money(sum.Int64())
		}
		if got := a.Add(b); got != want {
			t.Fatalf("%d + %d = %d, want %d", a, b, got, want)
		}
	})
}

func TestTextComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := eyrie.Money(rapid.Int64Min(-math.MaxInt64).Draw(t, "amount"))
		var back eyrie.Money
		roundTrip(t, m, &back)
		if back != m {
			t.Fatalf("%d came back as %d", m, back)
		}
		if m >= 0 {
			for _, s := range []string{m.String(), m.Decimal()} {
				if back, err := eyrie.ParseMoney(s); err != nil || back != m {
					t.Fatalf("ParseMoney(%q) = %d, %v; want %d", s, back, err, m)
				}
			}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		p := mustPrice(t, decimalText().Draw(t, "price"))
		back := eyrie.Price{}
		roundTrip(t, p, &back)
		if back != p {
			t.Fatalf("%s came back as %s", p, back)
		}
	})
	back := eyrie.Free
	roundTrip(t, eyrie.Price{}, &back)
	if back.Known() {
		t.Error("an unknown price came back as known")
	}
}

func roundTrip(t fataler, v encoding.TextMarshaler, back encoding.TextUnmarshaler) {
	b, err := v.MarshalText()
	if err == nil {
		err = back.UnmarshalText(b)
	}
	if err != nil {
		t.Fatalf("%v: %v", v, err)
	}
}

func TestUnmarshalTextLeavesWhatItCannotRead(t *testing.T) {
	m, p := eyrie.Dollar, mustPrice(t, "0.5")
	for _, in := range []string{"", "-", "--1", "a lot"} {
		if err := m.UnmarshalText([]byte(in)); err == nil || m != eyrie.Dollar {
			t.Errorf("Money %q: %v, left %s", in, err, m)
		}
		if err := p.UnmarshalText([]byte(in)); err == nil || p.String() != "0.5" {
			t.Errorf("Price %q: %v, left %s", in, err, p)
		}
	}
}

// TestPricesOfARealCatalogue reads every price of a price list that a vendor
// published, and compares what 1,234,567 tokens cost with the exact fraction.
func TestPricesOfARealCatalogue(t *testing.T) {
	prices := 0
	for at, s := range cataloguePrices(t) {
		prices++
		p, err := eyrie.ParsePrice(s)
		if strings.HasPrefix(s, "-") { // the vendor's mark for "it depends"
			if err == nil {
				t.Errorf("%s: %s was read as the price %s", at, s, p)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		const n = 1_234_567
		want, _ := roundedUp(new(big.Rat).Mul(exactly(t, s), new(big.Rat).SetInt64(n)))
		if got := p.Times(n); got != want {
			t.Errorf("%s: %s × %d = %d, want %d", at, s, n, got, want)
		}
		if exactly(t, p.String()).Cmp(exactly(t, s)) != 0 {
			t.Errorf("%s: %s was kept as %s", at, s, p)
		}
	}
	if prices < 1000 {
		t.Errorf("only %d prices found: the list is not what this test takes it for", prices)
	}
	t.Logf("%d prices", prices)
}

// cataloguePrices yields every text below a member named "pricing", with the
// path to it.
func cataloguePrices(t *testing.T) func(yield func(at, price string) bool) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(sharedDir(t), "openrouter", "data", "openrouter-snapshot-*.json.gz"))
	if len(found) == 0 {
		t.Skip("no snapshot of a catalogue there (set EYRIE_SHARED to the folder that has it)")
	}
	var lists []any
	for _, name := range found {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.NewDecoder(z).Decode(&v); err != nil {
			t.Fatal(err)
		}
		lists = append(lists, v)
	}
	return func(yield func(at, price string) bool) {
		var walk func(v any, at string, priced bool) bool
		walk = func(v any, at string, priced bool) bool {
			switch v := v.(type) {
			case map[string]any:
				for k, v := range v {
					if !walk(v, at+"."+k, priced || k == "pricing") {
						return false
					}
				}
			case []any:
				for _, v := range v {
					if !walk(v, at, priced) {
						return false
					}
				}
			case string:
				return !priced || v == "" || v[0] > '9' || yield(at, v)
			}
			return true
		}
		for _, v := range lists {
			if !walk(v, "", false) {
				return
			}
		}
	}
}

// sharedDir is the folder of data that is too large or not free to go with the
// code.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("EYRIE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no shared data there (set EYRIE_SHARED to the folder that has it)")
	}
	return dir
}

func FuzzParsePrice(f *testing.F) {
	for _, s := range []string{"0", "0.00000225", "1e-400", "99999999999999999999", "0.0000000000000000000001", "-1", "$1", "1.e5", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := eyrie.ParsePrice(s)
		if err != nil {
			if p.Known() {
				t.Fatalf("%q: a known price beside %v", s, err)
			}
			return
		}
		back, err := eyrie.ParsePrice(p.String())
		if err != nil || back != p {
			t.Fatalf("%q: %s came back as %s, %v", s, p, back, err)
		}
		if exactly(t, p.String()).Cmp(exactly(t, strings.TrimSpace(s))) < 0 {
			t.Fatalf("%q: kept %s, which is less", s, p)
		}
	})
}

func BenchmarkMoneyString(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = eyrie.Money(2_530_000_001).String()
	}
}
