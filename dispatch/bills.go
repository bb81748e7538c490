package dispatch

import (
	"context"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/ledger"
)

// Bills are asked for some at a time, each again and again with longer pauses:
// they appear seconds after a request, and much later when it was cut.
const (
	billsAtOnce   = 8
	firstBillWait = time.Second
	maxBillWait   = 30 * time.Second
)

// billQueue is the attempts whose charge is unknown and can be asked for.
// Those that the vendor never named are not in it.
type billQueue struct {
	waiting map[int64]*bill
	running int
	since   time.Time // of the latest change: a bill came or was added
}

type bill struct {
	ledger.Bill
	due    time.Time
	wait   time.Duration
	asking bool
}

func (q *billQueue) add(b ledger.Bill, now time.Time) {
	if b.ID == "" {
		return
	}
	if q.waiting == nil {
		q.waiting = map[int64]*bill{}
	}
	q.waiting[b.Attempt] = &bill{Bill: b, due: now.Add(firstBillWait), wait: firstBillWait}
	q.since = now
}

// asking reports whether a look-up is under way.
func (q *billQueue) asking() bool { return q.running > 0 }

// idle reports whether nothing more is to be expected of the queue: it is
// empty, or nothing has come of it for as long as patience lasts.
func (q *billQueue) idle(now time.Time, patience time.Duration) bool {
	return q.running == 0 && (len(q.waiting) == 0 || now.Sub(q.since) >= patience)
}

// next is when the next bill is due; the zero time when none waits.
func (q *billQueue) next(now time.Time) (t time.Time) {
	if q.running >= billsAtOnce {
		return t
	}
	for _, b := range q.waiting {
		if !b.asking && (t.IsZero() || b.due.Before(t)) {
			t = b.due
		}
	}
	if !t.IsZero() && !t.After(now) {
		t = now.Add(time.Millisecond)
	}
	return t
}

// askBills starts the look-ups that are due.
func (s *scheduler) askBills(now time.Time) {
	if s.ctx.Err() != nil || s.billsWait() {
		return
	}
	for _, b := range s.bills.waiting {
		if s.bills.running >= billsAtOnce {
			return
		}
		if b.asking || b.due.After(now) {
			continue
		}
		biller := s.biller()
		if biller == nil {
			return
		}
		b.asking = true
		s.bills.running++
		s.wg.Go(func() { s.askBill(s.ctx, biller, b.Attempt, b.ID) })
	}
}

// billsWait reports whether the vendor is left alone for now.
func (s *scheduler) billsWait() bool { return s.pause.state != notPaused && !s.ending }

// biller is the engine that bills are asked of.
func (s *scheduler) biller() Biller {
	for _, l := range s.lanes {
		if b, ok := l.engine.(Biller); ok {
			return b
		}
	}
	return nil
}

// askBill asks for one bill and journals it before it counts.
func (r *Runner) askBill(ctx context.Context, b Biller, attempt int64, id string) {
	m := message{kind: billed, bill: attempt}
	m.cost, m.err = b.Bill(ctx, id)
	if m.err == nil {
		rec := &eyrie.SettledRecord{Attempts: []int64{attempt}, Cost: m.cost, Source: "generation " + id}
		ref, err := r.cfg.Journal.Append(rec)
		if err == nil {
			r.apply(ref, rec)
		}
		m.err = err
	}
	r.send(m)
}

// billed books a bill, or puts it off.
func (s *scheduler) billed(m message) {
	s.bills.running--
	b, waited := s.bills.waiting[m.bill]
	if !waited {
		return // the account has settled it meanwhile
	}
	if m.err == nil {
		s.cfg.Ledger.Settle(m.bill, m.cost)
		delete(s.bills.waiting, m.bill)
		s.bills.since = time.Now()
		return
	}
	b.asking = false
	b.wait = min(2*b.wait, maxBillWait)
	b.due = time.Now().Add(b.wait)
}
