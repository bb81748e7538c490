package bpe

import "container/heap"

// literal merges step by step, as the definition says. It is for the pieces
// that the search cannot do: see [Model.late].
type literal struct {
	// With rules, rules maps the ids of two tokens to the index of their merge
	// in merges. Without, two tokens merge if their bytes together are a token.
	merges []Merge
	rules  pairs
	byText table
}

// symbol is a token on the way, in a list linked by index.
type symbol struct {
	start, end int
	id         int32
	prev, next int // -1 at the ends
}

// candidate is a pair that may merge. It is out of date when one of its
// symbols has changed.
type candidate struct {
	order       uint32 // the rank of the merge
	left, right int
	end         int // of the right symbol when the candidate was found
	id          int32
}

// queue is a heap of candidates, the best merge first, the leftmost of equals.
type queue []candidate

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].order != q[j].order {
		return q[i].order < q[j].order
	}
	return q[i].left < q[j].left
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(candidate)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	*q = (*q)[:last]
	return c
}

// pair returns the merge of two neighbours.
func (l *literal) pair(s string, a, b symbol) (order uint32, id int32, ok bool) {
	if l.merges == nil {
		id, ok := l.byText.find(s, a.start, b.end)
		return uint32(id), id, ok
	}
	i, ok := l.rules.find(rank(a.id), rank(b.id))
	if !ok {
		return 0, 0, false
	}
	return i, l.merges[i].Token, true
}

// append appends the ids of s to dst.
func (l *literal) append(dst []int32, s string) []int32 {
	symbols := make([]symbol, len(s))
	for i := range symbols {
		id, _ := l.byText.find(s, i, i+1)
		symbols[i] = symbol{i, i + 1, id, i - 1, i + 1}
	}
	symbols[len(s)-1].next = -1
	var q queue
	consider := func(left, right int) {
		if left < 0 || right < 0 {
			return
		}
		if order, id, ok := l.pair(s, symbols[left], symbols[right]); ok {
			heap.Push(&q, candidate{order, left, right, symbols[right].end, id})
		}
	}
	for i := range len(s) - 1 {
		consider(i, i+1)
	}
	for len(q) > 0 {
		c := heap.Pop(&q).(candidate)
		a, b := &symbols[c.left], &symbols[c.right]
		if a.start == a.end || a.next != c.right || b.end != c.end {
			continue
		}
		a.id, a.end, a.next = c.id, b.end, b.next
		b.end = b.start // used up
		if a.next >= 0 {
			symbols[a.next].prev = c.left
		}
		consider(a.prev, c.left)
		consider(c.left, a.next)
	}
	for i := 0; i >= 0; i = symbols[i].next {
		dst = append(dst, symbols[i].id)
	}
	return dst
}
