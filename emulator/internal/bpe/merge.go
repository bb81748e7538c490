package bpe

import "container/heap"

// merge encodes one piece: the piece itself if it is a token, else single
// bytes whose neighbours are joined, always the pair that makes the token with
// the lowest id, the leftmost of equals, until no neighbours make a token.
//
// Pieces can be very long (a page of Chinese is one), so the pairs wait in a
// heap, and a pair whose tokens have changed since is skipped when its turn
// comes.
func (v *Vocabulary) merge(piece string) []ID {
	if id, ok := v.ranks[piece]; ok {
		return []ID{id}
	}
	// A token is known by where it starts; end is where the next one starts.
	// A start that has been joined to the token before has end 0.
	end := make([]int, len(piece))
	before := make([]int, len(piece))
	for i := range end {
		end[i], before[i] = i+1, i-1
	}
	var queue pairs
	offer := func(start int) {
		if start < 0 || end[start] == len(piece) {
			return
		}
		stop := end[end[start]]
		if id, ok := v.ranks[piece[start:stop]]; ok {
			heap.Push(&queue, pair{id, start, stop})
		}
	}
	for i := range len(piece) {
		offer(i)
	}
	for len(queue) > 0 {
		p := heap.Pop(&queue).(pair)
		if end[p.start] == 0 || end[p.start] == len(piece) || end[end[p.start]] != p.stop {
			continue // its tokens are no longer what they were
		}
		end[end[p.start]], end[p.start] = 0, p.stop
		if p.stop < len(piece) {
			before[p.stop] = p.start
		}
		offer(p.start)
		offer(before[p.start])
	}
	var ids []ID
	for start := 0; start < len(piece); start = end[start] {
		ids = append(ids, v.ranks[piece[start:end[start]]])
	}
	return ids
}

// pair is two neighbouring tokens that make one.
type pair struct {
	id          ID // of the two together
	start, stop int
}

// pairs is a heap of pairs, the lowest id first, the leftmost of equals.
type pairs []pair

func (q pairs) Len() int { return len(q) }
func (q pairs) Less(i, j int) bool {
	return q[i].id < q[j].id || q[i].id == q[j].id && q[i].start < q[j].start
}
func (q pairs) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *pairs) Push(x any)   { *q = append(*q, x.(pair)) }
func (q *pairs) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
