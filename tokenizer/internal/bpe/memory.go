package bpe

// memory is what an encoder remembers: the ids of pieces, in tables where each
// piece has one place and takes it from whatever was there. The tables are small
// beside the model's and hold what the text at hand repeats, so that they stay in
// the part of the processor's memory that answers at once. There is one for each
// size of piece, lest the shortest, which are most, take the room of the longest.
type memory struct {
	words    words
	phrases  phrases
	passages passages
}

const (
	wordBits    = 15
	phraseBits  = 14
	passageBits = 12
)

// words has pieces of up to maxWord bytes that are one token. An entry is a
// number. The bytes and how many there are make a number of wordKeyBits bits;
// multiplying by an odd number shuffles these numbers. The upper bits of the
// product say where the entry is, so that only the lower need be in it, and
// there is room for the id.
type words [1 << wordBits]uint64

const (
	maxWord     = 7
	wordKeyBits = 8*maxWord + 3
	wordIDBits  = 64 - wordKeyBits + wordBits
)

// wordPlace returns where the entry of a piece is and what its upper bits are.
func wordPlace(key uint64, n int) (place, upper uint64) {
	product := (key | uint64(n)<<(8*maxWord)) * 0x9e3779b97f4a7c15 & (1<<wordKeyBits - 1)
	return product >> (wordKeyBits - wordBits), product << wordIDBits
}

func (w *words) find(key uint64, n int) (id int32, ok bool) {
	place, upper := wordPlace(key, n)
	entry := w[place&(1<<wordBits-1)]
	return int32(entry & (1<<wordIDBits - 1)), entry&^(1<<wordIDBits-1) == upper && entry != 0
}

// add is false for an id that there is no room for.
func (w *words) add(key uint64, n int, id int32) bool {
	if id >= 1<<wordIDBits {
		return false
	}
	place, upper := wordPlace(key, n)
	w[place] = upper | uint64(id)
	return true
}

// phrases has pieces of up to maxPhrase bytes and three tokens.
type phrases [1 << phraseBits]phrase

const maxPhrase = 16

type phrase struct {
	lo, hi     uint64 // the bytes, the first lowest, zeros behind
	len, count uint8
	ids        [3]int32
}

// at returns the place of a piece.
func (p *phrases) at(lo, hi uint64, n int) *phrase {
	return &p[midHash(lo, hi, uint32(n))>>(64-phraseBits)]
}

func (p *phrase) is(lo, hi uint64, n int) bool {
	return p.lo == lo && p.hi == hi && int(p.len) == n
}

// set makes p the piece's if its ids have room.
func (p *phrase) set(lo, hi uint64, n int, ids []int32) {
	if len(ids) <= len(p.ids) {
		p.lo, p.hi, p.len, p.count = lo, hi, uint8(n), uint8(len(ids))
		copy(p.ids[:], ids)
	}
}

// passages has pieces of up to maxPassage bytes and eight tokens.
type passages [1 << passageBits]passage

const maxPassage = 30

// passage fills a line of the processor's cache.
type passage struct {
	len, count uint8
	text       [maxPassage]byte
	ids        [8]int32
}

// at returns the place of the piece s[i:end], by its beginning, middle and end.
func (p *passages) at(s string, i, end int) *passage {
	n := end - i
	if n <= 8 {
		return &p[shortHash(load(s, i, n), uint32(n))>>(64-passageBits)]
	}
	middle := load(s, i+n/2-4, 8)
	return &p[midHash(load(s, i, 8), load(s, end-8, 8)^middle*31, uint32(n))>>(64-passageBits)]
}

func (p *passage) is(piece string) bool { return string(p.text[:p.len]) == piece }

// set makes p the piece's if its ids have room.
func (p *passage) set(piece string, ids []int32) {
	if len(ids) <= len(p.ids) {
		p.len, p.count = uint8(len(piece)), uint8(len(ids))
		copy(p.text[:], piece)
		copy(p.ids[:], ids)
	}
}
