package bpe

import "unicode"

// class is what the split pattern asks about a code point, as a bit set.
type class uint8

const (
	han class = 1 << iota
	upper
	lower
	letter
	number
	space
	other // set for everything, so that "anything" is a class too
)

// classes builds the class of every code point in Unicode 16.0, the version
// of the model's tokenizer: the unicode package's tables plus what 15.1 and
// 16.0 added, should the package be older.
func classes() []class {
	table := make([]class, unicode.MaxRune+1)
	for i := range table {
		table[i] = other
	}
	for _, part := range []struct {
		bits   class
		tables []*unicode.RangeTable
		added  [][2]rune
	}{
		{han, []*unicode.RangeTable{unicode.Han}, addedHan},
		{upper | letter, []*unicode.RangeTable{unicode.Lu, unicode.Lt}, addedUpper},
		{lower | letter, []*unicode.RangeTable{unicode.Ll}, addedLower},
		{upper | lower | letter, []*unicode.RangeTable{unicode.Lm, unicode.Lo}, addedOther},
		{upper | lower, []*unicode.RangeTable{unicode.M}, addedMark},
		{number, []*unicode.RangeTable{unicode.N}, addedNumber},
		{space, []*unicode.RangeTable{unicode.White_Space}, nil},
	} {
		set := func(lo, hi, stride rune) {
			for r := lo; r <= hi; r += stride {
				table[r] |= part.bits
			}
		}
		for _, t := range part.tables {
			for _, x := range t.R16 {
				set(rune(x.Lo), rune(x.Hi), rune(x.Stride))
			}
			for _, x := range t.R32 {
				set(rune(x.Lo), rune(x.Hi), rune(x.Stride))
			}
		}
		for _, x := range part.added {
			set(x[0], x[1], 1)
		}
	}
	return table
}

// Code points that Unicode 15.1 and 16.0 added to each class over 15.0, taken
// from the Unicode Character Database. Nothing left a class.
var (
	addedHan   = [][2]rune{{0x2ebf0, 0x2ee5d}}
	addedUpper = [][2]rune{{0x1c89, 0x1c89}, {0xa7cb, 0xa7cc}, {0xa7da, 0xa7da}, {0xa7dc, 0xa7dc}, {0x10d50, 0x10d65}}
	addedLower = [][2]rune{{0x1c8a, 0x1c8a}, {0xa7cd, 0xa7cd}, {0xa7db, 0xa7db}, {0x10d70, 0x10d85}}
	addedOther = [][2]rune{
		{0x105c0, 0x105f3}, {0x10d4a, 0x10d4f}, {0x10d6f, 0x10d6f}, {0x10ec2, 0x10ec4}, {0x11380, 0x11389},
		{0x1138b, 0x1138b}, {0x1138e, 0x1138e}, {0x11390, 0x113b5}, {0x113b7, 0x113b7}, {0x113d1, 0x113d1},
		{0x113d3, 0x113d3}, {0x11bc0, 0x11be0}, {0x13460, 0x143fa}, {0x16100, 0x1611d}, {0x16d40, 0x16d6c},
		{0x18cff, 0x18cff}, {0x1e5d0, 0x1e5ed}, {0x1e5f0, 0x1e5f0}, {0x2ebf0, 0x2ee5d},
	}
	addedMark = [][2]rune{
		{0x897, 0x897}, {0x10d69, 0x10d6d}, {0x10efc, 0x10efc}, {0x113b8, 0x113c0}, {0x113c2, 0x113c2},
		{0x113c5, 0x113c5}, {0x113c7, 0x113ca}, {0x113cc, 0x113d0}, {0x113d2, 0x113d2}, {0x113e1, 0x113e2},
		{0x11f5a, 0x11f5a}, {0x1611e, 0x1612f}, {0x1e5ee, 0x1e5ef},
	}
	addedNumber = [][2]rune{
		{0x10d40, 0x10d49}, {0x116d0, 0x116e3}, {0x11bf0, 0x11bf9}, {0x16130, 0x16139}, {0x16d70, 0x16d79},
		{0x1ccf0, 0x1ccf9}, {0x1e5f1, 0x1e5fa},
	}
)
