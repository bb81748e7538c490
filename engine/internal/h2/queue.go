package h2

import "sync"

// queue holds the bytes of a stream that were not read yet, in blocks that all
// streams share: most of the time, most streams hold next to nothing.
type queue struct {
	first, last *block
	size        int
}

// blockSize is that of a few tokens.
const blockSize = 1000

type block struct {
	next       *block
	start, end int
	data       [blockSize]byte
}

var blocks = sync.Pool{New: func() any { return new(block) }}

func (q *queue) add(p []byte) {
	q.size += len(p)
	for len(p) > 0 {
		if q.last == nil || q.last.end == blockSize {
			b := blocks.Get().(*block)
			b.next, b.start, b.end = nil, 0, 0
			if q.last == nil {
				q.first = b
			} else {
				q.last.next = b
			}
			q.last = b
		}
		n := copy(q.last.data[q.last.end:], p)
		q.last.end += n
		p = p[n:]
	}
}

// take moves as much as fits into p.
func (q *queue) take(p []byte) (n int) {
	for q.first != nil && n < len(p) {
		b := q.first
		m := copy(p[n:], b.data[b.start:b.end])
		n += m
		if b.start += m; b.start == b.end {
			q.pop()
		}
	}
	q.size -= n
	return n
}

func (q *queue) pop() {
	b := q.first
	if q.first = b.next; q.first == nil {
		q.last = nil
	}
	blocks.Put(b)
}

func (q *queue) drop() {
	for q.first != nil {
		q.pop()
	}
	q.size = 0
}
