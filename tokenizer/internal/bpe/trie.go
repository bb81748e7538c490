package bpe

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// trie finds the longest token at the start of a text. It is a double array:
// the child of node n for byte c, if there is one, is at base[n] ^ c, and says
// so by naming n as its parent. A step is one memory access.
type trie struct {
	nodes []node
	start []start // by the first two bytes
}

// start is where two bytes lead: the node, 0 if there is none, and the longest
// token up to there.
type start struct {
	node  uint32
	token rank
}

type node struct {
	base   uint32
	parent uint32 // noParent for a free place
	token  rank   // the token that ends here, or none
}

const (
	noParent   = 1<<32 - 1
	rootParent = noParent - 1
)

// longest returns the longest token that s starts with and its length, or none.
func (t *trie) longest(s string) (best rank, size int) {
	nodes := t.nodes
	n, i := uint32(0), 0
	best = none
	if len(s) >= 2 {
		two := t.start[uint16(s[0])<<8|uint16(s[1])]
		if two.node == 0 {
			return two.token, 1 // if there is one, it is the first byte
		}
		n, best, i = two.node, two.token, 2
		size = 2
		if nodes[n].token == none {
			size = 1
		}
	}
	for base := nodes[n].base; i < len(s); {
		c := base ^ uint32(s[i])
		if int(c) >= len(nodes) {
			break
		}
		child := &nodes[c]
		if child.parent != n {
			break
		}
		n, base = c, child.base
		i++
		if child.token != none {
			best, size = child.token, i
		}
	}
	return best, size
}

// index fills start.
func (t *trie) index() {
	t.start = make([]start, 1<<16)
	for i := range t.start {
		one, token := t.step(0, byte(i>>8), none)
		two := uint32(0)
		if one != 0 {
			two, token = t.step(one, byte(i), token)
		}
		t.start[i] = start{two, token}
	}
}

// step returns the child of n for c, or 0, and the longest token up to there
// if best is the one up to n.
func (t *trie) step(n uint32, c byte, best rank) (child uint32, token rank) {
	child = t.nodes[n].base ^ uint32(c)
	if int(child) >= len(t.nodes) || t.nodes[child].parent != n {
		return 0, best
	}
	if token := t.nodes[child].token; token != none {
		return child, token
	}
	return child, best
}

// entry is a token while it is sorted and laid out. It has no pointers, so that
// the garbage collector need not look at so many.
type entry struct {
	key  uint64 // the first eight bytes, the first highest
	rank rank
	len  int32
}

func newEntry(text string, r rank) entry {
	return entry{bits.ReverseBytes64(load(text, 0, min(len(text), 8))), r, int32(len(text))}
}

// entries are tokens and where to find all of their bytes.
type entries struct {
	list []entry
	text func(rank) string
}

// trieBuilder lays out nodes in blocks of 256 places, since a node's children
// all lie in one block. Only the most recent blocks are searched for gaps,
// which bounds the time and costs little space.
type trieBuilder struct {
	nodes []node
	free  [][4]uint64 // for each block, a bit for each free place
	open  []int       // blocks worth searching

	text func(rank) string // see entries

	// The labels of the children of all nodes being laid out, from the root
	// down, and where the entries of each child end.
	labels []byte
	ends   []int32
}

// openBlocks is how many blocks are searched for a place.
const openBlocks = 8

// buildTrie builds the trie of sorted entries.
func buildTrie(from entries) trie {
	b := &trieBuilder{nodes: make([]node, 0, 3*len(from.list)), text: from.text}
	b.addBlock()
	b.take(0, rootParent)
	if len(from.list) > 0 {
		b.fill(0, from.list, 0)
	}
	t := trie{nodes: b.nodes}
	t.index()
	return t
}

// sort sorts by text. Texts must not be empty; equal ones are for the caller to
// find. It counts its way through the first six bytes, two at a time from the
// last, which leaves little to compare.
func (e *entries) sort() {
	from, to := e.list, make([]entry, len(e.list))
	counts := make([]int32, 1<<16)
	for shift := 16; shift < 64; shift += 16 {
		clear(counts)
		for i := range from {
			counts[uint16(from[i].key>>shift)]++
		}
		sum := int32(0)
		for digit, n := range counts {
			counts[digit] = sum
			sum += n
		}
		for i := range from {
			at := &counts[uint16(from[i].key>>shift)]
			to[*at] = from[i]
			*at++
		}
		from, to = to, from
	}
	for i := 0; i < len(from); {
		end := i + 1
		for end < len(from) && from[end].key>>16 == from[i].key>>16 {
			end++
		}
		if end-i > 1 {
			slices.SortFunc(from[i:end], e.compare)
		}
		i = end
	}
	e.list = from
}

func (e *entries) compare(a, b entry) int {
	if a.key != b.key || a.len <= 8 && b.len <= 8 {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.len, b.len))
	}
	return cmp.Compare(e.text(a.rank), e.text(b.rank))
}

// eachPrefix calls link for each of the sorted entries with the longest other
// entry that is a prefix of it, or none. In this order the prefixes of an entry
// lie on a stack.
func (e *entries) eachPrefix(link func(r, prefix rank)) {
	var stack []entry
	for _, entry := range e.list {
		for len(stack) > 0 && !e.hasPrefix(entry, stack[len(stack)-1]) {
			stack = stack[:len(stack)-1]
		}
		prefix := none
		if len(stack) > 0 {
			prefix = stack[len(stack)-1].rank
		}
		link(entry.rank, prefix)
		stack = append(stack, entry)
	}
}

func (e *entries) hasPrefix(a, prefix entry) bool {
	if prefix.len <= 8 {
		return a.len >= prefix.len && (a.key^prefix.key)>>(64-8*prefix.len) == 0
	}
	return a.key == prefix.key && strings.HasPrefix(e.text(a.rank), e.text(prefix.rank))
}

// at returns byte i of the text, for the first eight without going there.
func (b *trieBuilder) at(e *entry, i int) byte {
	if i < 8 {
		return byte(e.key >> (56 - 8*i))
	}
	return b.text(e.rank)[i]
}

// fill lays out what is below node n, whose texts agree in their first depth
// bytes. A text that ends at n itself is the first.
func (b *trieBuilder) fill(n uint32, entries []entry, depth int) {
	for {
		for int(entries[0].len) == depth {
			b.nodes[n].token = entries[0].rank
			if entries = entries[1:]; len(entries) == 0 {
				return
			}
		}
		c := b.at(&entries[0], depth)
		if c != b.at(&entries[len(entries)-1], depth) {
			b.branch(n, entries, depth)
			return
		}
		// Most nodes have one child.
		base := b.place([]byte{c})
		b.nodes[n].base = base
		b.take(base^uint32(c), n)
		n = base ^ uint32(c)
		depth++
	}
}

// branch lays out the children of node n, of which there are several.
func (b *trieBuilder) branch(n uint32, entries []entry, depth int) {
	mark := len(b.labels)
	for i := range entries {
		c := b.at(&entries[i], depth)
		if last := len(b.labels) - 1; last < mark || c != b.labels[last] {
			b.labels, b.ends = append(b.labels, c), append(b.ends, 0)
		}
		b.ends[len(b.ends)-1] = int32(i + 1)
	}
	count := len(b.labels) - mark
	base := b.place(b.labels[mark:])
	b.nodes[n].base = base
	for _, c := range b.labels[mark:] {
		b.take(base^uint32(c), n)
	}
	start := int32(0)
	for i := range count {
		c, end := b.labels[mark+i], b.ends[mark+i]
		b.fill(base^uint32(c), entries[start:end], depth+1)
		start = end
	}
	b.labels, b.ends = b.labels[:mark], b.ends[:mark]
}

// place finds a base under which the places of all labels are free.
func (b *trieBuilder) place(labels []byte) uint32 {
	for i := len(b.open) - 1; i >= 0; i-- {
		block := b.open[i]
		if b.free[block] == [4]uint64{} {
			b.open = slices.Delete(b.open, i, i+1)
			continue
		}
		if low, ok := gap(&b.free[block], labels); ok {
			return uint32(block<<8) | uint32(low)
		}
	}
	b.addBlock()
	return uint32((len(b.free) - 1) << 8)
}

// gap finds the low byte of a base in a block.
func gap(free *[4]uint64, labels []byte) (byte, bool) {
	for word, set := range free {
		for ; set != 0; set &= set - 1 {
			low := byte(word<<6+bits.TrailingZeros64(set)) ^ labels[0]
			fits := true
			for _, c := range labels[1:] {
				at := low ^ c
				if free[at>>6]&(1<<(at&63)) == 0 {
					fits = false
					break
				}
			}
			if fits {
				return low, true
			}
		}
	}
	return 0, false
}

func (b *trieBuilder) addBlock() {
	b.open = append(b.open, len(b.free))
	if len(b.open) > openBlocks {
		b.open = slices.Delete(b.open, 0, 1)
	}
	b.free = append(b.free, [4]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)})
	for range numBytes {
		b.nodes = append(b.nodes, node{parent: noParent, token: none})
	}
}

func (b *trieBuilder) take(at, parent uint32) {
	b.nodes[at].parent = parent
	b.free[at>>8][at>>6&3] &^= 1 << (at & 63)
}
