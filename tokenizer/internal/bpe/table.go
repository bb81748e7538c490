package bpe

import "math/bits"

// table maps the bytes of whole tokens to ids. Keys of up to eight bytes, and
// those of up to sixteen, lie in the slots themselves, so that a look-up
// touches one place in memory. The few longer ones are in a map, behind a
// filter: a bit for each hash of a token's beginning and length.
type table struct {
	short  hashTable[shortSlot]
	mid    hashTable[midSlot]
	long   map[string]int32
	filter [1 << (filterBits - 6)]uint64
}

const filterBits = 13

type hashTable[S any] struct {
	shift uint
	slots []S
}

type shortSlot struct {
	key uint64 // the bytes, the first lowest, zeros behind
	len uint32 // 0 marks a free slot
	id  int32
}

type midSlot struct {
	lo, hi uint64
	len    uint32
	id     int32
}

// newTable makes a table for tokens; ids without bytes are left out.
func newTable(tokens []string) table {
	var shorts, mids int
	for _, tok := range tokens {
		switch n := len(tok); {
		case n == 0:
		case n <= 8:
			shorts++
		case n <= 16:
			mids++
		}
	}
	return table{
		short: newHashTable[shortSlot](shorts),
		mid:   newHashTable[midSlot](mids),
		long:  make(map[string]int32),
	}
}

func newHashTable[S any](n int) hashTable[S] {
	size := 1 << bits.Len(uint(n+n/2))
	return hashTable[S]{64 - uint(bits.TrailingZeros(uint(size))), make([]S, size)}
}

// find returns the id of the token s[i:end].
func (t *table) find(s string, i, end int) (int32, bool) {
	n := end - i
	switch {
	case n <= 8:
		return t.findUpTo16(load(s, i, n), 0, uint32(n))
	case n <= 16:
		return t.findUpTo16(load(s, i, 8), load(s, i+8, n-8), uint32(n))
	}
	if bit := longHash(s, i, n); t.filter[bit>>6]&(1<<(bit&63)) == 0 {
		return 0, false
	}
	id, ok := t.long[s[i:end]]
	return id, ok
}

// findUpTo16 is find for a token of up to sixteen bytes, the first in lo.
func (t *table) findUpTo16(lo, hi uint64, n uint32) (int32, bool) {
	if n <= 8 {
		return t.findShort(lo, n)
	}
	return t.findMid(lo, hi, n)
}

func (t *table) findShort(key uint64, n uint32) (int32, bool) {
	mask := uint64(len(t.short.slots) - 1)
	for h := shortHash(key, n) >> t.short.shift; ; h++ {
		slot := &t.short.slots[h&mask]
		if slot.key == key && slot.len == n {
			return slot.id, true
		}
		if slot.len == 0 {
			return 0, false
		}
	}
}

func (t *table) findMid(lo, hi uint64, n uint32) (int32, bool) {
	mask := uint64(len(t.mid.slots) - 1)
	for h := midHash(lo, hi, n) >> t.mid.shift; ; h++ {
		slot := &t.mid.slots[h&mask]
		if slot.lo == lo && slot.hi == hi && slot.len == n {
			return slot.id, true
		}
		if slot.len == 0 {
			return 0, false
		}
	}
}

// add adds a token. If the token is there already, it returns the id it has.
func (t *table) add(tok string, id int32) (first int32, ok bool) {
	n := uint32(len(tok))
	switch {
	case n <= 8:
		key, mask := load(tok, 0, int(n)), uint64(len(t.short.slots)-1)
		for h := shortHash(key, n) >> t.short.shift; ; h++ {
			slot := &t.short.slots[h&mask]
			if slot.len == 0 {
				*slot = shortSlot{key, n, id}
				return id, true
			}
			if slot.key == key && slot.len == n {
				return slot.id, false
			}
		}
	case n <= 16:
		lo, hi, mask := load(tok, 0, 8), load(tok, 8, int(n)-8), uint64(len(t.mid.slots)-1)
		for h := midHash(lo, hi, n) >> t.mid.shift; ; h++ {
			slot := &t.mid.slots[h&mask]
			if slot.len == 0 {
				*slot = midSlot{lo, hi, n, id}
				return id, true
			}
			if slot.lo == lo && slot.hi == hi && slot.len == n {
				return slot.id, false
			}
		}
	default:
		if first, dup := t.long[tok]; dup {
			return first, false
		}
		t.long[tok] = id
		bit := longHash(tok, 0, len(tok))
		t.filter[bit>>6] |= 1 << (bit & 63)
		return id, true
	}
}

// load returns the n <= 8 bytes of s from i as a number, the first lowest. It
// reads eight at once where s is long enough.
func load(s string, i, n int) uint64 {
	if len(s)-i < 8 {
		return loadTail(s[i : i+n])
	}
	b := s[i : i+8]
	v := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
	return v & (1<<(8*uint(n)) - 1) // 1<<64 is 0, and 0-1 all bits
}

func loadTail(s string) (v uint64) {
	for i := len(s) - 1; i >= 0; i-- {
		v = v<<8 | uint64(s[i])
	}
	return v
}

// longHash hashes the beginning and the length of a token of more than eight
// bytes.
func longHash(s string, i, n int) uint64 {
	return shortHash(load(s, i, 8), uint32(n)) >> (64 - filterBits)
}

func shortHash(key uint64, n uint32) uint64 {
	return (key ^ uint64(n)) * 0x9e3779b97f4a7c15
}

func midHash(lo, hi uint64, n uint32) uint64 {
	return shortHash(lo^bits.RotateLeft64(hi*0xff51afd7ed558ccd, 32), n)
}
