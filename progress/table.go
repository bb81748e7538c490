package progress

import (
	"encoding/binary"
	"math/bits"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

// table is a map of digests that only grows, for runs of millions of them: it
// takes the bytes of a key and a value and a third more, where a Go map takes
// twice as many. It is cut into shards that grow one at a time, so growing
// needs no room for a second table. The zero table is empty.
type table[V any] struct {
	shards  [256]shard[V]
	zero    V // the value of the zero digest, which marks free slots
	hasZero bool
}

// shard is an open-addressing table with linear probing.
type shard[V any] struct {
	keys []eyrie.Digest
	vals []V
	n    int
}

// A shard holds at most this part of its slots, and grows by a quarter.
const fullNum, fullDen = 17, 20

// hash spreads digests that are not random, as those of tests.
func hash(d eyrie.Digest) uint64 {
	a, b := binary.LittleEndian.Uint64(d[:]), binary.LittleEndian.Uint64(d[8:])
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return (hi ^ lo ^ a) * 0x9e3779b97f4a7c15
}

// find returns the slot of a key, or the free one where it belongs.
func (s *shard[V]) find(d eyrie.Digest, h uint64) int {
	i, _ := bits.Mul64(h<<8, uint64(len(s.keys))) // the top byte chose the shard
	for s.keys[i] != d && s.keys[i] != (eyrie.Digest{}) {
		if i++; i == uint64(len(s.keys)) {
			i = 0
		}
	}
	return int(i)
}

// get returns the value of a key.
func (t *table[V]) get(d eyrie.Digest) (v V, ok bool) {
	if d == (eyrie.Digest{}) {
		return t.zero, t.hasZero
	}
	h := hash(d)
	s := &t.shards[h>>56]
	if len(s.keys) == 0 {
		return v, false
	}
	i := s.find(d, h)
	return s.vals[i], s.keys[i] == d
}

// add gives a key its value, unless it has one, and reports whether it had none.
func (t *table[V]) add(d eyrie.Digest, v V) bool {
	if d == (eyrie.Digest{}) {
		if t.hasZero {
			return false
		}
		t.zero, t.hasZero = v, true
		return true
	}
	h := hash(d)
	s := &t.shards[h>>56]
	if (s.n+1)*fullDen > len(s.keys)*fullNum {
		s.grow()
	}
	i := s.find(d, h)
	if s.keys[i] == d {
		return false
	}
	s.keys[i], s.vals[i] = d, v
	s.n++
	return true
}

func (s *shard[V]) grow() {
	size := max(8, len(s.keys)*5/4)
	old := *s
	s.keys, s.vals = make([]eyrie.Digest, size), make([]V, size)
	for i, d := range old.keys {
		if d != (eyrie.Digest{}) {
			k := s.find(d, hash(d))
			s.keys[k], s.vals[k] = d, old.vals[i]
		}
	}
}

// place is a journal.Ref in eleven bytes.
type place [11]byte

// pack packs a place. Segments, offsets and lengths far beyond what a journal
// has do not fit; see ok.
func pack(r journal.Ref) (p place, ok bool) {
	binary.LittleEndian.PutUint32(p[7:], r.Length)
	binary.LittleEndian.PutUint32(p[3:], uint32(r.Offset))
	p[0], p[1], p[2] = byte(r.Segment), byte(r.Segment>>8), byte(r.Segment>>16)
	return p, p.ref() == r
}

func (p place) ref() journal.Ref {
	return journal.Ref{
		Segment: uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16,
		Offset:  int64(binary.LittleEndian.Uint32(p[3:])),
		Length:  binary.LittleEndian.Uint32(p[7:]),
	}
}
