package bpe

import "math/bits"

// wide finds the longest token at the start of a text as [trie] does, but
// character by character, for the scripts of East Asia from U+3000 to U+9FFF.
// Their characters are three bytes long, which in the trie are three places in
// memory far apart, and their tokens are many: here a character is one place,
// and most of those that do not lead on are known beforehand.
type wide struct {
	first []wideNode // by the first character; token is none where the trie must do
	slots []wideNode // by parent and character
	shift uint
}

// wideNode is what some characters lead to.
type wideNode struct {
	next   uint64 // bits of the characters that lead on
	follow uint64 // of the token, [follow.ends]
	token  rank   // the token that ends here, or none
	id     uint32 // names the node; 0 is none
	// others is set where bytes that are no such character lead on.
	others bool
	char   uint16 // what leads here from the parent
	parent uint32 // 0 where there is none, and in free slots
}

const (
	firstWide = 0x3000
	pastWide  = 0xa000
)

// isWide reports whether characters of the range begin so.
func isWide(b byte) bool { return b-0xe3 <= 0xe9-0xe3 }

// wideAt returns the character of the range that s begins with, less
// firstWide.
func wideAt(s string) (char uint16, ok bool) {
	if len(s) < 3 || !isWide(s[0]) || s[1]&0xc0 != 0x80 || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return uint16(s[0]-0xe3)<<12 | uint16(s[1]&0x3f)<<6 | uint16(s[2]&0x3f), true
}

func wideBit(char uint16) uint64 { return 1 << (uint32(char) * 0x85ebca6b >> 26) }

func (w *wide) hash(parent uint32, char uint16) uint64 {
	return (uint64(parent)<<16 | uint64(char)) * 0x9e3779b97f4a7c15 >> w.shift
}

// longestWide is [Model.longest]. It is false for texts that are for the trie.
func (m *Model) longestWide(s string) (match, bool) {
	char, ok := wideAt(s)
	if !ok || m.wide.first == nil {
		return match{}, false
	}
	n := &m.wide.first[char]
	best, size, i := n, 3, 3
	for n.next != 0 && !n.others {
		char, ok := wideAt(s[i:])
		if !ok || n.next&wideBit(char) == 0 {
			break
		}
		child := m.wide.child(n.id, char)
		if child == nil {
			break
		}
		n = child
		i += 3
		if n.token != none {
			best, size = n, i
		}
	}
	return match{best.token, size, best.follow, true}, best.token != none && !n.others
}

func (w *wide) child(parent uint32, char uint16) *wideNode {
	mask := uint64(len(w.slots) - 1)
	for h := w.hash(parent, char); ; h++ {
		slot := &w.slots[h&mask]
		if slot.parent == parent && slot.char == char {
			return slot
		}
		if slot.parent == 0 {
			return nil
		}
	}
}

// buildWide builds the table of entries.
func buildWide(entries []entry) wide {
	nodes := 0 // more than there will be
	for i := range entries {
		if e := &entries[i]; isWide(e.at(0)) {
			nodes += len(e.text) / 3
		}
	}
	if nodes == 0 {
		return wide{}
	}
	logSize := bits.Len(uint(nodes))
	b := wideBuilder{wide: wide{
		first: make([]wideNode, pastWide-firstWide),
		slots: make([]wideNode, 1<<logSize),
		shift: 64 - uint(logSize),
	}}
	for i := range b.first {
		b.first[i].token = none
	}
	for i := range entries {
		b.add(&entries[i])
	}
	return b.wide
}

type wideBuilder struct {
	wide
	ids uint32
}

// add adds the characters that a token begins with.
func (b *wideBuilder) add(e *entry) {
	char, ok := wideAt(e.text)
	if !ok {
		return
	}
	n := &b.first[char]
	b.name(n)
	i := 3
	for i < len(e.text) {
		char, ok := wideAt(e.text[i:])
		if !ok {
			n.others = true
			return
		}
		n.next |= wideBit(char)
		n = b.grow(n.id, char)
		i += 3
	}
	n.token = e.rank
}

// name gives a node its number.
func (b *wideBuilder) name(n *wideNode) {
	if n.id == 0 {
		b.ids++
		n.id = b.ids
	}
}

// grow returns the child of a node, made if it is not there.
func (b *wideBuilder) grow(parent uint32, char uint16) *wideNode {
	mask := uint64(len(b.slots) - 1)
	h := b.hash(parent, char)
	for b.slots[h&mask].parent != 0 {
		if slot := &b.slots[h&mask]; slot.parent == parent && slot.char == char {
			return slot
		}
		h++
	}
	slot := &b.slots[h&mask]
	*slot = wideNode{token: none, parent: parent, char: char}
	b.name(slot)
	return slot
}

// follow notes what may follow on the tokens.
func (w *wide) follow(by []follow) {
	for _, nodes := range [][]wideNode{w.first, w.slots} {
		for i := range nodes {
			if n := &nodes[i]; n.id != 0 && n.token != none {
				n.follow = by[n.token].ends
			}
		}
	}
}
