// Package ucd answers, for any code point, the few questions tokenizer split
// patterns ask: its General_Category, whether it is White_Space, and whether
// its Script is Han. The data is Unicode 16.0.0, the version the reference
// tokenizers are built with; the standard library's package unicode is older
// and would cut newly assigned letters differently.
//
// The data is kept as one run-length string (table.go, written by mktable) and
// unpacked on first use into a two-stage table: one lookup for the block of
// 64 code points, one inside the block. Equal blocks are stored once, so the
// whole table stays in the processor's cache.
package ucd

//go:generate go run ./mktable -data $UNICODE_16 -out table.go

import (
	"encoding/base64"
	"encoding/binary"
	"sync"
)

// Category is a General_Category value.
type Category uint8

// The General_Category values, named by their short aliases.
const (
	Cn Category = iota // unassigned; also the value of anything that is no code point
	Lu
	Ll
	Lt
	Lm
	Lo
	Mn
	Mc
	Me
	Nd
	Nl
	No
	Pc
	Pd
	Ps
	Pe
	Pi
	Pf
	Po
	Sm
	Sc
	Sk
	So
	Zs
	Zl
	Zp
	Cc
	Cf
	Cs
	Co
)

// Aliases lists the short category names in the order of their values.
var Aliases = [...]string{
	"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No",
	"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So",
	"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co",
}

// Class packs the answers for one code point.
type Class uint8

// The parts of a Class. The category is in the low five bits.
const (
	categoryMask       = 0x1f
	spaceFlag    Class = 0x20
	hanFlag      Class = 0x40
)

// MakeClass packs a category and the two properties.
func MakeClass(c Category, space, han bool) Class {
	k := Class(c)
	if space {
		k |= spaceFlag
	}
	if han {
		k |= hanFlag
	}
	return k
}

// Category returns the General_Category.
func (c Class) Category() Category { return Category(c & categoryMask) }

// Space reports the White_Space property.
func (c Class) Space() bool { return c&spaceFlag != 0 }

// Han reports whether Script is Han (not Script_Extensions).
func (c Class) Han() bool { return c&hanFlag != 0 }

// Table maps code points to one byte each. What the byte means is chosen by
// whoever makes the table.
type Table struct {
	ascii [128]uint8
	block [(MaxRune + 1) >> blockBits]uint16 // index of the block's first entry in data
	data  []uint8
}

// MaxRune is the last code point.
const MaxRune = 0x10ffff

const (
	blockBits = 6 // what the last byte of a character of two or three tells
	blockSize = 1 << blockBits
)

// Classes returns the table whose bytes are Class values. It is unpacked once
// and shared.
var Classes = sync.OnceValue(func() *Table {
	return NewTable(func(c Class) uint8 { return uint8(c) })
})

// At returns the byte for r, and the byte for an unassigned code point when r
// is none.
func (t *Table) At(r rune) uint8 {
	if uint32(r) > MaxRune {
		r = 0xffff // a noncharacter, never assigned
	}
	return t.data[int(t.block[r>>blockBits])+int(r&(blockSize-1))]
}

// Three is At for the character of these three bytes, which it must be.
func (t *Table) Three(a, b, c byte) uint8 {
	return t.data[int(t.block[int(a&0x0f)<<6|int(b&0x3f)])+int(c&0x3f)]
}

// ASCII returns the bytes for the first 128 code points.
func (t *Table) ASCII() *[128]uint8 { return &t.ascii }

// Lookup returns the Class of r.
func Lookup(r rune) Class { return Class(Classes().At(r)) }

// NewTable returns a table whose byte for a code point is f of its Class. f is
// called once for each run of code points of the same class.
func NewTable(f func(Class) uint8) *Table {
	packed, err := base64.StdEncoding.DecodeString(runs)
	if err != nil {
		panic("ucd: table.go is damaged: " + err.Error())
	}
	t := new(Table)
	seen := make(map[[blockSize]uint8]uint16)
	var block [blockSize]uint8
	left, value := uint64(0), uint8(0)
	for b := range t.block {
		for i := 0; i < blockSize; {
			if left == 0 {
				value = f(Class(packed[0]))
				n, w := binary.Uvarint(packed[1:])
				left, packed = n, packed[1+w:]
			}
			n := min(int(left), blockSize-i)
			for j := range n {
				block[i+j] = value
			}
			i += n
			left -= uint64(n)
		}
		at, ok := seen[block]
		if !ok {
			at = uint16(len(t.data))
			seen[block] = at
			t.data = append(t.data, block[:]...)
		}
		t.block[b] = at
	}
	copy(t.ascii[:], t.data[t.block[0]:])
	return t
}
