package ucd_test

import (
	"testing"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/ucd"
)

// TestCounts compares the table with the counts Unicode 16.0.0 publishes for
// the values split patterns use.
func TestCounts(t *testing.T) {
	got := map[string]int{}
	for r := rune(0); r <= ucd.MaxRune; r++ {
		c := ucd.Lookup(r)
		got[ucd.Aliases[c.Category()]]++
		got[ucd.Aliases[c.Category()][:1]]++
		if c.Space() {
			got["White_Space"]++
		}
		if c.Han() {
			got["Han"]++
		}
	}
	for _, want := range []struct {
		name string
		n    int
	}{
		{"Lu", 1858}, {"Ll", 2258}, {"Lt", 31}, {"Lm", 404}, {"Lo", 136477},
		{"M", 2501}, {"N", 1911}, {"White_Space", 25}, {"Han", 99030}, {"Cs", 2048}, {"Co", 137468},
	} {
		if got[want.name] != want.n {
			t.Errorf("%s: %d code points, want %d", want.name, got[want.name], want.n)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, row := range []struct {
		r          rune
		category   ucd.Category
		space, han bool
	}{
		{'a', ucd.Ll, false, false},
		{'A', ucd.Lu, false, false},
		{' ', ucd.Zs, true, false},
		{'\n', ucd.Cc, true, false},
		{0x1c, ucd.Cc, false, false}, // a separator to Python, not White_Space
		{0x200b, ucd.Cf, false, false},
		{0x1c5, ucd.Lt, false, false},
		{0x1c89, ucd.Lu, false, false},  // new in 16.0
		{0x10d40, ucd.Nd, false, false}, // new in 16.0
		{0x2e80, ucd.So, false, true},
		{0x3005, ucd.Lm, false, true},
		{0x3007, ucd.Nl, false, true},
		{0x4e00, ucd.Lo, false, true},
		{0x2ebf0, ucd.Lo, false, true}, // extension I
		{0xfffd, ucd.So, false, false},
		{0x10ffff, ucd.Cn, false, false},
		{-1, ucd.Cn, false, false},
		{0x110000, ucd.Cn, false, false},
	} {
		c := ucd.Lookup(row.r)
		if c.Category() != row.category || c.Space() != row.space || c.Han() != row.han {
			t.Errorf("U+%04X: %s space=%t han=%t, want %s %t %t", row.r,
				ucd.Aliases[c.Category()], c.Space(), c.Han(), ucd.Aliases[row.category], row.space, row.han)
		}
	}
}

// TestThree compares the two ways of asking for characters of three bytes.
func TestThree(t *testing.T) {
	table := ucd.Classes()
	for r := rune(0x800); r <= 0xffff; r++ {
		a, b, c := byte(0xe0|r>>12), byte(0x80|r>>6&0x3f), byte(0x80|r&0x3f)
		if got, want := table.Three(a, b, c), table.At(r); got != want {
			t.Fatalf("U+%04X: %#x, want %#x", r, got, want)
		}
	}
}
