// Package bpe does byte-pair encoding: it cuts a piece of text into the tokens
// that merging would leave, without merging.
//
// # Merging
//
// A piece starts as its bytes. While any two neighbours form a pair that has a
// merge, the pair with the best merge (the lowest rank, the leftmost among
// equals) becomes one token. That is the definition; done literally it costs
// a search for every merge.
//
// # What is done instead
//
// Merging is local: whether the boundary between two tokens survives depends
// on the two tokens alone. So a list of tokens is what merging leaves exactly
// if every token is what merging makes of its own bytes, and every two
// neighbours keep the boundary between them when merged on their own. At most
// one list passes for a given piece. [Encoder.Append] first looks the whole
// piece up, which settles most words of most languages. Short ones that are no
// token are merged as the definition says. For the others it goes from left to
// right, takes the longest token that fits and keeps its boundary, and steps back
// where nothing fits. Positions proven to be dead ends are marked, so the time is
// linear in the piece's length.
//
// Whether a boundary survives is found by undoing merges: see [Model.keeps].
// Most boundaries need no look at that: see [follow].
//
// Pieces of Chinese and Japanese can be as long as a sentence. They are cut first
// where no token goes across: see [seams]. The parts, if they are no tokens, are
// merged character by character: see [chars].
//
// # Late tokens
//
// The argument needs each token to be made from tokens whose own merges rank
// lower. Training produces nothing else, but vocabularies put together from
// two, Llama 3's for one, have a few late tokens for which it fails. The model
// is built as if they did not exist. That is right for every piece in whose
// bytes none of them occurs; the others are merged literally.
package bpe

import "math/bits"

// Merge is a merge rule: the ids of two tokens and of the token they become.
type Merge struct{ Left, Right, Token int32 }

// Vocabulary is the input of [New].
type Vocabulary struct {
	// Tokens holds the bytes of each token by id. Ids without a token, or with
	// one that merging has nothing to do with, are empty.
	Tokens []string
	// Merges lists the rules, best first. When it is nil every two tokens
	// whose bytes together are a token merge, with that token's id as rank.
	Merges []Merge
	// WholeFirst makes a piece that equals a token that token, even if merging
	// would not make it.
	WholeFirst bool
}

// Model is a vocabulary ready for use. It is safe for concurrent use.
//
// Inside, tokens are numbered by rank: the 256 bytes first, then the others in
// the order of their merges.
type Model struct {
	whole  table
	trie   trie
	seams  seams
	chars  *chars
	pairs  pairs
	follow []follow // by rank
	tokens []token  // by rank
	ids    []int32  // by rank
	// inOrder is set where the id of every token but the single bytes is its rank.
	inOrder bool
	late    trie // late tokens
	// literal is nil if there are no late tokens.
	literal *literal
	// direct is set where every part of a piece, between two seams, may be looked
	// up as if it were the whole.
	direct bool
}

// rank numbers the tokens that merging can make.
type rank = uint32

// token is what the search needs to know of a token.
type token struct {
	left, right rank  // what it is made of; a byte names itself twice
	prefix      rank  // the longest other token it starts with, or none
	len         int32 // bytes
}

const (
	none     rank = 1<<32 - 1
	numBytes      = 256
)

// hasLate reports whether a late token occurs in s.
func (m *Model) hasLate(s string) bool {
	for i := range len(s) {
		if tok, _ := m.late.longest(s[i:]); tok != none {
			return true
		}
	}
	return false
}

// match is a token at some place of a text.
type match struct {
	token rank
	size  int
	// follow has the beginnings of what could merge with an end of the token.
	// Where longest is set, the token is the longest at its place, and that
	// rules the token itself out.
	follow  uint64
	longest bool
}

// longest returns the longest token that s starts with.
func (m *Model) longest(s string) match {
	token, size := m.trie.longest(s)
	return match{token, size, m.follow[token].ends, true}
}

// shorter returns a token that need not be the longest at its place.
func (m *Model) shorter(r rank) match {
	return match{r, int(m.tokens[r].len), m.follow[r].all, false}
}

// search finds the one valid list of tokens for s.
func (e *Encoder) search(dst []int32, s string) []int32 {
	m := e.model
	var small [16]uint64
	dead := small[:]
	if len(s) >= len(small)*64 {
		dead = make([]uint64, len(s)/64+1)
	}
	base, pos := len(dst), 0
	last, next := match{token: none}, m.longest(s)
	for {
		end := pos + next.size
		switch {
		case dead[end>>6]&(1<<(end&63)) == 0 && (last.follow&beginning(s[pos:]) == 0 || e.keeps(&last, next.token)):
			dst = append(dst, int32(next.token))
			if end == len(s) {
				m.name(dst[base:])
				return dst
			}
			pos, last, next = end, next, m.longest(s[end:])
		case m.tokens[next.token].prefix != none:
			next = m.shorter(m.tokens[next.token].prefix)
		default:
			// Nothing fits here: go back and try something shorter before.
			dead[pos>>6] |= 1 << (pos & 63)
			next = m.shorter(last.token)
			pos -= next.size
			dst = dst[:len(dst)-1]
			last = match{token: none}
			if len(dst) > base {
				last = m.shorter(rank(dst[len(dst)-1]))
			}
		}
	}
}

// name turns ranks into ids.
func (m *Model) name(ranks []int32) {
	for i, r := range ranks {
		if !m.inOrder || r < numBytes {
			ranks[i] = m.ids[r]
		}
	}
}

// keeps reports whether the boundary between a and b survives merging.
//
// It undoes the merges of the two tokens from the latest to the earliest. At
// each step x ends at the boundary and y starts there. Had x and y merged
// before the later of them was itself used up by its next merge, the boundary
// would be gone; limit is the rank of that next merge. Of equal ranks the
// left one merges first, which is what the plus ones are for.
//
// With longest, a is known not to merge with b or a beginning of it.
func (m *Model) keeps(a, b rank, longest bool) bool {
	limit := none
	for {
		if !longest {
			if t, ok := m.pairs.find(a, b); ok && t < limit {
				return false
			}
		}
		if a > b {
			limit = a
			a = m.tokens[a].right
			longest = false
			if a == limit {
				limit = b + 1
				b = m.tokens[b].left
				if b+1 == limit {
					return true
				}
			}
		} else {
			limit = b + 1
			b = m.tokens[b].left
			if b+1 == limit {
				limit = a
				a = m.tokens[a].right
				longest = false
				if a == limit {
					return true
				}
			}
		}
	}
}

// pairs maps two ranks to the rank of the token they merge into: open
// addressing, with a filter in front because nearly all questions are about
// pairs that do not merge. A pair sets two bits of one word of the filter.
type pairs struct {
	shift       uint
	filterShift uint
	slots       []pairSlot
	filter      []uint64
}

type pairSlot struct {
	left, right, token rank
}

// newPairs has room for n pairs.
func newPairs(n int) pairs {
	const slotsPerWord = 8
	logSize := max(bits.Len(uint(n+n/2)), bits.Len(uint(slotsPerWord)))
	p := pairs{
		shift:       64 - uint(logSize),
		filterShift: 64 - uint(logSize) + uint(bits.Len(uint(slotsPerWord-1))),
		slots:       make([]pairSlot, 1<<logSize),
		filter:      make([]uint64, 1<<logSize/slotsPerWord),
	}
	for i := range p.slots {
		p.slots[i].token = none
	}
	return p
}

func pairHash(l, r rank) uint64 {
	return (uint64(l)<<32 | uint64(r)) * 0x9e3779b97f4a7c15
}

// filterMask returns the bits of a pair with hash h in its word.
func filterMask(h uint64) uint64 { return 1<<(h>>20&63) | 1<<(h>>26&63) }

// find returns the token that l and r merge into.
func (p *pairs) find(l, r rank) (rank, bool) {
	h := pairHash(l, r)
	if mask := filterMask(h); p.filter[h>>p.filterShift]&mask != mask {
		return none, false
	}
	return p.probe(h, l, r)
}

// get is find with none for no token.
func (p *pairs) get(l, r rank) rank {
	token, _ := p.find(l, r)
	return token
}

// probe is find behind the filter.
func (p *pairs) probe(h uint64, l, r rank) (rank, bool) {
	mask := uint64(len(p.slots) - 1)
	for i := h >> p.shift; ; i++ {
		slot := &p.slots[i&mask]
		if slot.token == none {
			return none, false
		}
		if slot.left == l && slot.right == r {
			return slot.token, true
		}
	}
}

func (p *pairs) add(l, r, t rank) {
	h := pairHash(l, r)
	p.filter[h>>p.filterShift] |= filterMask(h)
	mask := uint64(len(p.slots) - 1)
	i := h >> p.shift
	for p.slots[i&mask].token != none {
		i++
	}
	p.slots[i&mask] = pairSlot{l, r, t}
}
