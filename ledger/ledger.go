// Package ledger keeps money promised and money spent.
//
// A reservation is made for the most that an attempt can be billed, before its
// request is sent. It ends in one of three ways: settled with a known charge,
// settled late when the bill could be read, or not at all, and then it stays:
// between what is spent and what may have been spent the ledger always knows
// the larger, and that is what the budget is compared with.
//
//	spent + in flight + unbilled ≤ budget
//
// That is the strict rule. A caller that prefers to keep more in flight can hold
// what an attempt is expected to cost ([Ledger.Expect]), and has to watch it:
// [Ledger.Raise] holds more for one that takes more, also past the budget.
// Nothing below the worst case stays held for what has ended without a bill.
//
// A Ledger is a fold over the journal ([Ledger.Apply]), so starting a run and
// going on with one are the same code. It is not safe for concurrent use.
package ledger

import (
	"maps"
	"slices"

	"github.com/eyrie-ai/eyrie"
)

// Ledger is the money of one run. The zero value is not usable; see New.
type Ledger struct {
	budget   eyrie.Money
	spent    eyrie.Money
	inFlight eyrie.Money
	unbilled eyrie.Money
	holds    map[int64]hold
}

type hold struct {
	amount eyrie.Money
	worst  eyrie.Money // what is held once it has ended without a bill
	id     string      // the vendor's id, once seen
	ended  bool        // nothing more will come of the attempt but its bill
}

// New returns a ledger of a budget, with nothing spent.
func New(budget eyrie.Money) *Ledger {
	return &Ledger{budget: budget, holds: map[int64]hold{}}
}

// SetBudget changes the budget. One below what is spent or held only means
// that nothing more can be reserved.
func (l *Ledger) SetBudget(m eyrie.Money) { l.budget = m }

// Budget is the limit.
func (l *Ledger) Budget() eyrie.Money { return l.budget }

// Spent is what is known to have been charged.
func (l *Ledger) Spent() eyrie.Money { return l.spent }

// InFlight is what attempts that are running may still cost.
func (l *Ledger) InFlight() eyrie.Money { return l.inFlight }

// Unbilled is what attempts that have ended may have cost: their bills have
// not been read.
func (l *Ledger) Unbilled() eyrie.Money { return l.unbilled }

// Free is what can still be reserved; never negative.
func (l *Ledger) Free() eyrie.Money {
	return max(0, l.budget-l.spent.Add(l.inFlight).Add(l.unbilled))
}

// Reserve holds an amount for an attempt, or reports false and holds nothing
// when the budget has no room for it.
func (l *Ledger) Reserve(attempt int64, amount eyrie.Money) bool {
	if amount > l.Free() {
		return false
	}
	l.hold(attempt, amount, amount)
	return true
}

// Expect is [Ledger.Reserve] of less than an attempt may cost: amount is held
// while it runs, and worst when it ends without a bill.
func (l *Ledger) Expect(attempt int64, amount, worst eyrie.Money) bool {
	if amount > l.Free() {
		return false
	}
	l.hold(attempt, amount, max(amount, worst))
	return true
}

// Raise holds more for a running attempt than was expected to be enough, up to
// its worst case and whether the budget has room for it or not. It never holds
// less than before.
func (l *Ledger) Raise(attempt int64, amount eyrie.Money) {
	h, ok := l.holds[attempt]
	if !ok || h.ended {
		return
	}
	amount = max(h.amount, min(amount, h.worst))
	l.inFlight = l.inFlight.Add(amount - h.amount)
	h.amount = amount
	l.holds[attempt] = h
}

func (l *Ledger) hold(attempt int64, amount, worst eyrie.Money) {
	l.holds[attempt] = hold{amount: amount, worst: worst}
	l.inFlight = l.inFlight.Add(amount)
}

// Seen notes the vendor's id of an attempt, by which its bill can be read.
func (l *Ledger) Seen(attempt int64, id string) {
	if h, ok := l.holds[attempt]; ok {
		h.id = id
		l.holds[attempt] = h
	}
}

// Settle ends an attempt with a known charge, which replaces what was held. An
// attempt that is already settled is not charged again.
func (l *Ledger) Settle(attempt int64, cost eyrie.Money) {
	if l.release(attempt) {
		l.spent = l.spent.Add(cost)
	}
}

// Unknown ends an attempt whose charge is not known: what is held for it stays
// held until its bill settles it. It returns that bill.
func (l *Ledger) Unknown(attempt int64) Bill {
	h, ok := l.holds[attempt]
	if ok && !h.ended {
		l.inFlight -= h.amount
		l.unbilled = l.unbilled.Add(h.worst)
		h.amount, h.ended = h.worst, true
		l.holds[attempt] = h
	}
	return Bill{attempt, h.id, h.amount}
}

// Lower reduces the worst case of an attempt that is known to cost less than
// was thought, and what is held for it. It never raises it.
func (l *Ledger) Lower(attempt int64, worst eyrie.Money) {
	h, ok := l.holds[attempt]
	if !ok || worst >= h.worst {
		return
	}
	amount := min(h.amount, worst)
	if h.ended {
		l.unbilled -= h.amount - amount
	} else {
		l.inFlight -= h.amount - amount
	}
	h.amount, h.worst = amount, worst
	l.holds[attempt] = h
}

// SettleAll replaces what is held for several attempts by one common charge.
func (l *Ledger) SettleAll(attempts []int64, cost eyrie.Money) {
	any := false
	for _, a := range attempts {
		any = l.release(a) || any
	}
	if any {
		l.spent = l.spent.Add(cost)
	}
}

func (l *Ledger) release(attempt int64) bool {
	h, ok := l.holds[attempt]
	if !ok {
		return false
	}
	if h.ended {
		l.unbilled -= h.amount
	} else {
		l.inFlight -= h.amount
	}
	delete(l.holds, attempt)
	return true
}

// Bill is an attempt whose charge is unknown.
type Bill struct {
	Attempt int64
	ID      string // empty when the vendor never named it
	Held    eyrie.Money
}

// Bills lists the ended attempts whose charge is unknown, oldest first.
func (l *Ledger) Bills() []Bill {
	var out []Bill
	for _, a := range slices.Sorted(maps.Keys(l.holds)) {
		if h := l.holds[a]; h.ended {
			out = append(out, Bill{a, h.id, h.amount})
		}
	}
	return out
}

// Abandon marks every attempt that has no end as ended with an unknown charge.
// A process that goes on with a run calls it after the replay: whatever was in
// flight when the process before it died will not answer any more.
func (l *Ledger) Abandon() {
	for a := range l.holds {
		l.Unknown(a)
	}
}

// Apply folds one journal record. The journal knows the worst cases only: a
// fold never holds less than the ledger of the process that wrote it.
func (l *Ledger) Apply(r eyrie.Record) {
	switch r := r.(type) {
	case *eyrie.SessionRecord:
		l.budget = r.Budget
		l.Abandon()
	case *eyrie.BudgetRecord:
		l.budget = r.Budget
	case *eyrie.StartedRecord:
		l.hold(r.Attempt, r.Hold, r.Hold)
	case *eyrie.SeenRecord:
		l.Seen(r.Attempt, r.ID)
	case *eyrie.EndedRecord:
		if r.ID != "" {
			l.Seen(r.Attempt, r.ID)
		}
		if r.Charged == eyrie.ChargedUnknown {
			if r.Hold > 0 {
				l.Lower(r.Attempt, r.Hold)
			}
			l.Unknown(r.Attempt)
		} else {
			l.Settle(r.Attempt, r.Cost)
		}
	case *eyrie.SettledRecord:
		l.SettleAll(r.Attempts, r.Cost)
	}
}
