// Package harvest reads a run's journal and yields its accepted generations as
// rows of token ids, in the order of the data sets.
//
// The order does not depend on when answers came: sets in the order of their
// names, then prompts as they stood in the data set, samples, and turns. The
// same answers give the same rows in the same order, however often the run was
// interrupted. It works while the run goes on.
package harvest

import (
	"cmp"
	"fmt"
	"iter"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

// Rebuilder turns an answer into a row.
type Rebuilder interface {
	Row(g *eyrie.Generation, thinking bool, a *eyrie.Answer) (eyrie.Row, error)
}

// Item is one accepted generation.
type Item struct {
	Generation eyrie.Generation
	Record     *eyrie.EndedRecord
	Sampling   eyrie.Sampling
	Row        eyrie.Row
	// Err says why no row could be made; Row is then empty.
	Err error
}

// Harvest is the index of a run's accepted generations.
type Harvest struct {
	run     *os.Root
	prompts map[eyrie.Digest]prompt
	entries []entry               // in the order of compare
	sets    []string              // that have entries, sorted
	bills   map[int64]eyrie.Money // of accepted answers, that came late
}

type prompt struct {
	ref     journal.Ref
	ordinal int
}

type entry struct {
	set     string
	ordinal int
	prompt  eyrie.Digest
	sample  int
	turn    int
	ref     journal.Ref
	started journal.Ref
}

// Open indexes the journal of a run directory.
func Open(run *os.Root) (*Harvest, error) {
	h := &Harvest{run: run, prompts: map[eyrie.Digest]prompt{}, bills: map[int64]eyrie.Money{}}
	started := map[int64]journal.Ref{}
	have := map[eyrie.Key]bool{}
	for e, err := range journal.Read(run) {
		if err != nil {
			return nil, err
		}
		switch r := e.Record.(type) {
		case *eyrie.PromptRecord:
			if _, ok := h.prompts[r.Prompt]; !ok {
				h.prompts[r.Prompt] = prompt{e.Ref, r.Ordinal}
			}
		case *eyrie.StartedRecord:
			started[r.Attempt] = e.Ref
		case *eyrie.EndedRecord:
			if r.OK && !have[r.Key] {
				have[r.Key] = true
				h.entries = append(h.entries, entry{r.Set, 0, r.Prompt, r.Sample, r.Turn, e.Ref, started[r.Attempt]})
			}
			delete(started, r.Attempt)
		case *eyrie.SettledRecord:
			if len(r.Attempts) == 1 {
				h.bills[r.Attempts[0]] = r.Cost
			}
		}
	}
	for i := range h.entries {
		e := &h.entries[i]
		p, ok := h.prompts[e.prompt]
		if !ok {
			return nil, fmt.Errorf("harvest: the prompt %s of an answer in set %s is not in the journal", e.prompt, e.set)
		}
		e.ordinal = p.ordinal
	}
	slices.SortFunc(h.entries, compare)
	for _, e := range h.entries {
		if len(h.sets) == 0 || h.sets[len(h.sets)-1] != e.set {
			h.sets = append(h.sets, e.set)
		}
	}
	return h, nil
}

// compare orders entries as the data sets do.
func compare(a, b entry) int {
	return cmp.Or(
		cmp.Compare(a.set, b.set), cmp.Compare(a.ordinal, b.ordinal),
		slices.Compare(a.prompt[:], b.prompt[:]),
		cmp.Compare(a.sample, b.sample), cmp.Compare(a.turn, b.turn))
}

// Sets lists the sets that have answers, sorted.
func (h *Harvest) Sets() []string { return slices.Clone(h.sets) }

// Len counts the accepted generations of a set.
func (h *Harvest) Len(set string) int {
	n := 0
	for _, e := range h.entries {
		if e.set == set {
			n++
		}
	}
	return n
}

// Rows yields the rows of a set. Rows are rebuilt on several goroutines and
// come in order all the same. An error is the journal's and ends the sequence;
// a generation that gives no row comes with its own error in the item.
func (h *Harvest) Rows(set string, r Rebuilder) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		stop := make(chan struct{})
		slots := make(chan chan result, 4*runtime.GOMAXPROCS(0))
		work := make(chan job)
		var wg sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() { rebuild(r, work) })
		}
		wg.Go(func() { h.read(set, slots, work, stop) })
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

func rebuild(r Rebuilder, work <-chan job) {
	for j := range work {
		row, err := r.Row(&j.item.Generation, bool(j.item.Sampling.Thinking), j.item.Record.Answer())
		j.item.Row, j.item.Err = row, err
		j.out <- result{item: j.item}
	}
}

// read reads the records of a set in order and hands them to the rebuilders.
func (h *Harvest) read(set string, slots chan<- chan result, work chan<- job, stop <-chan struct{}) {
	defer close(slots)
	defer close(work)
	rd := journal.NewReader(h.run)
	defer rd.Close()
	var c conversation
	for i := range h.entries {
		e := &h.entries[i]
		if e.set != set {
			continue
		}
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
		work <- job{item, slot}
	}
}

// conversation holds what consecutive entries share: the prompt, and the
// answers of the turns before.
type conversation struct {
	prompt  *eyrie.Prompt
	digest  eyrie.Digest
	sample  int
	answers []*eyrie.Answer
}

func (c *conversation) item(h *Harvest, rd *journal.Reader, e *entry) (*Item, error) {
	if c.prompt == nil || c.digest != e.prompt {
		rec, err := read[*eyrie.PromptRecord](rd, h.prompts[e.prompt].ref)
		if err != nil {
			return nil, err
		}
		c.prompt = &eyrie.Prompt{Set: rec.Set, ID: rec.ID, Ordinal: rec.Ordinal, Messages: rec.Messages, Tools: rec.Tools}
		c.digest, c.answers = e.prompt, nil
	}
	if c.sample != e.sample || e.turn == 0 {
		c.sample, c.answers = e.sample, nil
	}
	rec, err := read[*eyrie.EndedRecord](rd, e.ref)
	if err != nil {
		return nil, err
	}
	if cost, late := h.bills[rec.Attempt]; late && rec.Charged == eyrie.ChargedUnknown {
		rec.Charged, rec.Cost = eyrie.ChargedYes, cost
	}
	started, err := read[*eyrie.StartedRecord](rd, e.started)
	if err != nil {
		return nil, err
	}
	for len(c.answers) < e.turn {
		a, err := h.elsewhere(rd, *e, len(c.answers))
		if err != nil {
			return nil, err
		}
		if a == nil {
			return nil, fmt.Errorf("harvest: turn %d of prompt %s stands without turn %d before it", e.turn, c.prompt.ID, len(c.answers))
		}
		c.answers = append(c.answers, a)
	}
	item := &Item{Record: rec, Sampling: started.Sampling, Generation: eyrie.Generation{
		Key: rec.Key, Set: e.set, PromptID: c.prompt.ID, Prompt: e.prompt, Turn: e.turn, Sample: e.sample,
		Messages: c.prompt.Ask(e.turn, c.answers), Tools: c.prompt.Tools, PromptTokens: started.PromptTokens,
	}}
	c.answers = append(c.answers, rec.Answer())
	return item, nil
}

// elsewhere reads the answer to another turn of an entry's conversation that was
// given for another set: sets may share conversations, and each turn is bought
// once. It returns nil where there is none.
func (h *Harvest) elsewhere(rd *journal.Reader, e entry, turn int) (*eyrie.Answer, error) {
	e.turn = turn
	for _, e.set = range h.sets {
		i, ok := slices.BinarySearchFunc(h.entries, e, compare)
		if !ok {
			continue
		}
		rec, err := read[*eyrie.EndedRecord](rd, h.entries[i].ref)
		if err != nil {
			return nil, err
		}
		return rec.Answer(), nil
	}
	return nil, nil
}

func read[T eyrie.Record](rd *journal.Reader, ref journal.Ref) (T, error) {
	var zero T
	rec, err := rd.At(ref)
	if err != nil {
		return zero, err
	}
	r, ok := rec.(T)
	if !ok {
		return zero, fmt.Errorf("harvest: journal segment %06d at %d holds a %T, not a %T", ref.Segment, ref.Offset, rec, zero)
	}
	return r, nil
}
