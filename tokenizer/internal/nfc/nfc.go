// Package nfc brings text into Unicode Normalization Form C as the reference
// tokenizers do it, which is with the data of Unicode 9.0.0. Characters that
// came later pass unchanged and do not reorder; a newer table would move some
// combining marks and change ids.
package nfc

//go:generate python3.6 mktable.py

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"sync"
	"unicode/utf8"
)

// data is the unpacked tables.
type data struct {
	class    map[rune]uint8   // canonical combining class, where it is not 0
	mapping  map[rune][]rune  // full canonical decomposition
	compose  map[[2]rune]rune // primary composites
	unstable bitmap           // see steady
}

// bitmap is a set of characters, all in the first three planes.
type bitmap [0x30000 / 64]uint64

func (b *bitmap) add(r rune) { b[r>>6] |= 1 << (r & 63) }

func (b *bitmap) has(r rune) bool {
	return r < 0x30000 && b[r>>6]&(1<<(r&63)) != 0
}

var tables = sync.OnceValue(load)

func load() *data {
	d := &data{
		class:   make(map[rune]uint8),
		mapping: make(map[rune][]rune),
		compose: make(map[[2]rune]rune),
	}
	r := reader(packedClasses)
	for code := rune(0); len(r) > 0; {
		code += r.next()
		d.class[code] = uint8(r.next())
		d.unstable.add(code)
	}
	r = reader(packedMappings)
	for code := rune(0); len(r) > 0; {
		code += r.next()
		head := r.next()
		to := make([]rune, head/2)
		for i := range to {
			to[i] = r.next()
		}
		d.mapping[code] = to
		if head%2 == 0 {
			d.unstable.add(code)
		} else {
			d.compose[[2]rune(to)] = code
			d.unstable.add(to[1])
		}
	}
	for code := range d.mapping {
		d.mapping[code] = d.expand(nil, code)
	}
	return d
}

// expand appends the full decomposition of r.
func (d *data) expand(dst []rune, r rune) []rune {
	to, ok := d.mapping[r]
	if !ok {
		return append(dst, r)
	}
	for _, part := range to {
		dst = d.expand(dst, part)
	}
	return dst
}

// packed is a list of varints.
type packed []byte

func reader(text string) packed {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic("nfc: table.go is damaged: " + err.Error())
	}
	return b
}

func (p *packed) next() rune {
	n, w := binary.Uvarint(*p)
	*p = (*p)[w:]
	return rune(n)
}

// firstUnstable is the lowest character that is not steady.
const firstUnstable = 0x300

// steady reports whether r is a starter that stays as it is whatever precedes
// it. Text between two steady characters is normalized on its own, together
// with the first of them.
func (d *data) steady(r rune) bool {
	if r < firstUnstable {
		return true
	}
	return !d.unstable.has(r) && !isVowelOrTail(r)
}

// Normalize returns text in Normalization Form C. Text that is so already is
// returned itself. Bytes that are no UTF-8 pass unchanged.
func Normalize(text string) string {
	var d *data
	var out []byte
	done := 0   // bytes of text that are in out, once out is in use
	steady := 0 // where the last steady character began
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			steady = i
			i++
			continue
		}
		r, w := utf8.DecodeRuneInString(text[i:])
		if r >= firstUnstable && d == nil {
			d = tables()
		}
		if r < firstUnstable || d.steady(r) {
			steady = i
			i += w
			continue
		}
		end := i + w
		for end < len(text) {
			r, w := utf8.DecodeRuneInString(text[end:])
			if d.steady(r) {
				break
			}
			end += w
		}
		out = append(out, text[done:steady]...)
		out = d.segment(out, text[steady:end])
		done, steady, i = end, end, end
	}
	if done == 0 {
		return text
	}
	return string(append(out, text[done:]...))
}

// segment appends the normal form of s, of which only the first character may
// be steady.
func (d *data) segment(dst []byte, s string) []byte {
	if first, w := utf8.DecodeRuneInString(s); first == utf8.RuneError && w == 1 {
		dst, s = append(dst, s[0]), s[1:]
	}
	var buf [32]rune
	runes := buf[:0]
	for _, r := range s {
		runes = d.decompose(runes, r)
	}
	d.reorder(runes)
	for _, r := range d.composed(runes) {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func (d *data) decompose(dst []rune, r rune) []rune {
	if to, ok := d.mapping[r]; ok {
		return append(dst, to...)
	}
	return decomposeHangul(dst, r)
}

// reorder sorts each run of combining marks by class, keeping the order of
// equals.
func (d *data) reorder(runes []rune) {
	for start := 0; start < len(runes); {
		if d.class[runes[start]] == 0 {
			start++
			continue
		}
		end := start + 1
		for end < len(runes) && d.class[runes[end]] != 0 {
			end++
		}
		slices.SortStableFunc(runes[start:end], func(a, b rune) int {
			return int(d.class[a]) - int(d.class[b])
		})
		start = end
	}
}

// composed joins starters with what follows them, in place.
func (d *data) composed(runes []rune) []rune {
	out := runes[:0]
	starter, last := -1, uint8(0) // the last starter in out, the class of what was kept behind it
	for _, r := range runes {
		class := d.class[r]
		if starter >= 0 && (len(out) == starter+1 || last < class) {
			if both, ok := d.pair(out[starter], r); ok {
				out[starter] = both
				continue
			}
		}
		if class == 0 {
			starter = len(out)
		}
		last = class
		out = append(out, r)
	}
	return out
}

func (d *data) pair(a, b rune) (rune, bool) {
	if r, ok := composeHangul(a, b); ok {
		return r, true
	}
	r, ok := d.compose[[2]rune{a, b}]
	return r, ok
}
