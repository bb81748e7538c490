package harvest

import (
	"iter"
	"runtime"
	"sync"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

// Rows yields the rows of a set. Rows are rebuilt on several goroutines and
// come in order all the same. An error is the journal's and ends the sequence;
// a generation that gives no row comes with its own error in the item.
func (h *Harvest) Rows(set string, r Rebuilder) iter.Seq2[*Item, error] {
	return h.RowsByLane(set, func(string) Rebuilder { return r })
}

// RowsByLane is [Harvest.Rows] with a rebuilder for each lane. lane is called
// for every item, by several goroutines at once.
func (h *Harvest) RowsByLane(set string, lane func(name string) Rebuilder) iter.Seq2[*Item, error] {
	of := func(yield func(*entry) bool) {
		for i := range h.entries {
			if h.entries[i].set == set && !yield(&h.entries[i]) {
				return
			}
		}
	}
	return h.items(of, func(it *Item) {
		it.Row, it.Err = lane(it.Record.Lane).Row(&it.Generation, bool(it.Sampling.Thinking), it.Record.Answer())
		it.Doubt(&it.Row)
	})
}

// Doubt takes the certificate from the item's row where a stop string may have
// ended the answer and the server did not return ids: it cut the string off, and
// its tokens may be as many as the token that ends an answer.
func (it *Item) Doubt(row *eyrie.Row) {
	stoppable := len(it.Sampling.Stop) > 0 && it.Record.FinishReason == eyrie.FinishStop
	if stoppable && (row.Known == eyrie.KnownCounted || row.Known == eyrie.KnownLogprobs) {
		row.Known, row.Reason = eyrie.KnownRetokenised, "a stop string may have ended the answer"
	}
}

// items reads entries, has work do something to each item on several
// goroutines, and yields the items in order.
func (h *Harvest) items(entries iter.Seq[*entry], work func(*Item)) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		stop := make(chan struct{})
		slots := make(chan chan result, 4*runtime.GOMAXPROCS(0))
		jobs := make(chan job)
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for j := range jobs {
					if j.item.Err == nil {
						work(j.item)
					}
					j.out <- result{item: j.item}
				}
			})
		}
		wg.Go(func() { h.read(entries, slots, jobs, stop) })
		defer func() {
			close(stop)
			for range slots { // until read has ended
			}
			wg.Wait()
		}()
		for slot := range slots {
			res := <-slot
			if !yield(res.item, res.err) || res.err != nil {
				return
			}
		}
	}
}

type result struct {
	item *Item
	err  error
}

type job struct {
	item *Item
	out  chan<- result
}

// read reads the records of entries in order and hands them to the workers.
func (h *Harvest) read(entries iter.Seq[*entry], slots chan<- chan result, jobs chan<- job, stop <-chan struct{}) {
	defer close(slots)
	defer close(jobs)
	rd := journal.NewReader(h.run)
	defer rd.Close()
	var c conversation
	for e := range entries {
		item, err := c.item(h, rd, e)
		slot := make(chan result, 1)
		select {
		case slots <- slot:
		case <-stop:
			return
		}
		if err != nil {
			slot <- result{err: err}
			return
		}
		jobs <- job{item, slot}
	}
}
