package ledger_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/ledger"
)

// account is the world around a ledger: the vendor, who knows what every
// attempt really costs, and the journal, which outlives the process.
type account struct {
	budget   eyrie.Money
	attempts map[int64]*attempt
	last     int64
	journal  []eyrie.Record
	ledger   *ledger.Ledger
}

type attempt struct {
	hold, cost eyrie.Money // cost is at most hold, as a worst case promises
	id         string
	state      state
}

type state int

const (
	running state = iota
	unbilled
	settled
)

func (a *account) sum(s state, of func(*attempt) eyrie.Money) (total eyrie.Money) {
	for _, x := range a.attempts {
		if x.state == s {
			total += of(x)
		}
	}
	return total
}

func held(x *attempt) eyrie.Money    { return x.hold }
func charged(x *attempt) eyrie.Money { return x.cost }

// committed is what the model says the budget has to bear.
func (a *account) committed() eyrie.Money {
	return a.sum(settled, charged) + a.sum(running, held) + a.sum(unbilled, held)
}

// billed is what the vendor has really charged or will.
func (a *account) billed() (total eyrie.Money) {
	for _, x := range a.attempts {
		total += x.cost
	}
	return total
}

// in returns the numbers of the attempts in a state, in order.
func (a *account) in(s state) (out []int64) {
	for _, n := range slices.Sorted(maps.Keys(a.attempts)) {
		if a.attempts[n].state == s {
			out = append(out, n)
		}
	}
	return out
}

func (a *account) bills() (out []ledger.Bill) {
	for _, n := range a.in(unbilled) {
		out = append(out, ledger.Bill{Attempt: n, ID: a.attempts[n].id, Held: a.attempts[n].hold})
	}
	return out
}

// fold replays the journal into a new ledger.
func (a *account) fold() *ledger.Ledger {
	l := ledger.New(0)
	for _, r := range a.journal {
		l.Apply(r)
	}
	return l
}

// agrees compares a ledger with the model.
func (a *account) agrees(t *rapid.T, who string, l *ledger.Ledger) {
	for _, c := range []struct {
		name      string
		got, want eyrie.Money
	}{
		{"budget", l.Budget(), a.budget},
		{"spent", l.Spent(), a.sum(settled, charged)},
		{"in flight", l.InFlight(), a.sum(running, held)},
		{"unbilled", l.Unbilled(), a.sum(unbilled, held)},
		{"free", l.Free(), max(0, a.budget-a.committed())},
	} {
		if c.got != c.want {
			t.Fatalf("%s: %s is %d, want %d", who, c.name, c.got, c.want)
		}
	}
	if got, want := l.Bills(), a.bills(); !slices.Equal(got, want) {
		t.Fatalf("%s: the bills are %v, want %v", who, got, want)
	}
}

// restart is a crash and a new process: the ledger is folded from the journal,
// and whatever was running will not answer any more.
func (a *account) restart(budget eyrie.Money) {
	a.budget = budget
	for _, n := range a.in(running) {
		a.attempts[n].state = unbilled
	}
	a.journal = append(a.journal, &eyrie.SessionRecord{Budget: budget})
	a.ledger = a.fold()
}

// reserve starts an attempt, or dies before its record is on disk: then no
// request was sent, and it never was.
func (a *account) reserve(t *rapid.T) {
	hold := eyrie.Money(rapid.Int64Range(0, 400).Draw(t, "hold"))
	before := a.committed()
	a.last++
	if got, want := a.ledger.Reserve(a.last, hold), before+hold <= a.budget || hold == 0; got != want {
		t.Fatalf("Reserve(%d) with %d of %d committed: %v", hold, before, a.budget, got)
	} else if !got {
		return
	}
	if before+hold > max(a.budget, before) {
		t.Fatalf("reserving %d beside %d passed the budget of %d", hold, before, a.budget)
	}
	if rapid.IntRange(0, 19).Draw(t, "dies before it is journaled") == 0 {
		a.restart(a.budget)
		return
	}
	a.journal = append(a.journal, &eyrie.StartedRecord{Attempt: a.last, Hold: hold})
	a.attempts[a.last] = &attempt{hold: hold, cost: eyrie.Money(rapid.Int64Range(0, int64(hold)).Draw(t, "cost"))}
}

func (a *account) seen(t *rapid.T) {
	n := a.draw(t, running)
	x := a.attempts[n]
	x.id = "gen-" + strconv.FormatInt(n, 10)
	a.journal = append(a.journal, &eyrie.SeenRecord{Attempt: n, ID: x.id})
	a.ledger.Seen(n, x.id)
}

// end ends an attempt with or without a known charge, or dies with the end on
// disk and not yet in the ledger.
func (a *account) end(t *rapid.T) {
	n := a.draw(t, running)
	x := a.attempts[n]
	rec := &eyrie.EndedRecord{Attempt: n, Charged: eyrie.ChargedUnknown, ID: x.id}
	x.state = unbilled
	if rapid.Bool().Draw(t, "the charge is known") {
		x.state = settled
		rec.Charged, rec.Cost = eyrie.ChargedYes, x.cost
		if x.cost == 0 {
			rec.Charged = eyrie.ChargedNo
		}
	}
	a.journal = append(a.journal, rec)
	if rapid.IntRange(0, 9).Draw(t, "dies before it is settled") == 0 {
		a.restart(a.budget)
		return
	}
	if x.state == settled {
		a.ledger.Settle(n, x.cost)
		return
	}
	want := ledger.Bill{Attempt: n, ID: x.id, Held: x.hold}
	if got := a.ledger.Unknown(n); got != want {
		t.Fatalf("Unknown(%d) = %v, want %v", n, got, want)
	}
}

// bill reads the bill of an attempt that has ended: also one that was read
// before, which must not count twice.
func (a *account) bill(t *rapid.T) {
	n := a.draw(t, unbilled, settled)
	x := a.attempts[n]
	x.state = settled
	a.journal = append(a.journal, &eyrie.SettledRecord{Attempts: []int64{n}, Cost: x.cost})
	if rapid.IntRange(0, 9).Draw(t, "dies before it is settled") == 0 {
		a.restart(a.budget)
		return
	}
	a.ledger.Settle(n, x.cost)
}

// billAll settles everything that is unbilled by one amount, as the usage of
// an account gives it.
func (a *account) billAll(t *rapid.T) {
	open := a.in(unbilled)
	if len(open) == 0 {
		t.Skip("nothing is unbilled")
	}
	cost := a.sum(unbilled, charged)
	for _, n := range open {
		a.attempts[n].state = settled
	}
	a.journal = append(a.journal, &eyrie.SettledRecord{Attempts: open, Cost: cost})
	a.ledger.SettleAll(open, cost)
}

func (a *account) draw(t *rapid.T, states ...state) int64 {
	var of []int64
	for _, s := range states {
		of = append(of, a.in(s)...)
	}
	if len(of) == 0 {
		t.Skip("there is none")
	}
	return rapid.SampledFrom(of).Draw(t, "attempt")
}

func drawBudget(t *rapid.T) eyrie.Money {
	return eyrie.Money(rapid.Int64Range(0, 2000).Draw(t, "budget"))
}

// TestTheLimitHolds runs random lives of a run against the model: whatever
// fails and whenever it dies, the ledger knows exactly what is spent and held,
// its fold over the journal knows the same, and the vendor never charges more
// than the largest budget that was ever allowed.
func TestTheLimitHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := &account{attempts: map[int64]*attempt{}}
		a.restart(drawBudget(t))
		largest := a.budget
		t.Repeat(map[string]func(*rapid.T){
			"reserve":       a.reserve,
			"reserve again": a.reserve, // so that there is something to go on with
			"seen":          a.seen,
			"end":           a.end,
			"bill":          a.bill,
			"bill all":      a.billAll,
			"crash":         func(t *rapid.T) { a.restart(a.budget) },
			"go on":         func(t *rapid.T) { a.restart(drawBudget(t)) },
			"": func(t *rapid.T) {
				largest = max(largest, a.budget)
				a.agrees(t, "ledger", a.ledger)
				a.agrees(t, "fold", a.fold())
				if a.committed() > largest {
					t.Fatalf("%d is spent and held, and no budget was over %d", a.committed(), largest)
				}
				if a.billed() > a.committed() {
					t.Fatalf("the vendor charges %d, and the ledger knows of %d", a.billed(), a.committed())
				}
			},
		})
	})
}

func TestALowerBudgetTakesNothingBack(t *testing.T) {
	l := ledger.New(100)
	l.Reserve(1, 60)
	l.Settle(1, 50)
	l.Reserve(2, 40)
	l.SetBudget(30)
	if l.Free() != 0 || l.Spent() != 50 || l.InFlight() != 40 {
		t.Errorf("free %d, spent %d, in flight %d; want 0, 50, 40", l.Free(), l.Spent(), l.InFlight())
	}
	if l.Reserve(3, 1) {
		t.Error("something was reserved over the budget")
	}
	l.Settle(2, 40)
	l.SetBudget(91)
	if !l.Reserve(3, 1) || l.Reserve(4, 1) {
		t.Error("a raised budget does not give exactly what it adds")
	}
}

func TestAChargeOverItsHoldIsCountedWhole(t *testing.T) {
	l := ledger.New(100)
	l.Reserve(1, 60)
	l.Settle(1, 130)
	if l.Spent() != 130 || l.Free() != 0 {
		t.Errorf("spent %d, free %d; want 130 and 0", l.Spent(), l.Free())
	}
}

func TestWhatWasNeverReservedSettlesNothing(t *testing.T) {
	l := ledger.New(100)
	l.Settle(7, 50)
	l.SettleAll([]int64{7, 8}, 50)
	l.Seen(7, "gen-7")
	if b := l.Unknown(7); b != (ledger.Bill{Attempt: 7}) {
		t.Errorf("the bill of an attempt that never was: %+v", b)
	}
	if l.Free() != 100 || len(l.Bills()) != 0 {
		t.Errorf("free %d, bills %v; want 100 and none", l.Free(), l.Bills())
	}
}

func TestACommonChargeCountsOnce(t *testing.T) {
	l := ledger.New(100)
	for a := range int64(3) {
		l.Reserve(a, 30)
		l.Unknown(a)
	}
	l.Settle(0, 10)
	l.SettleAll([]int64{0, 1, 2}, 25)
	l.SettleAll([]int64{0, 1, 2}, 25)
	if l.Spent() != 35 || l.Unbilled() != 0 || l.Free() != 65 {
		t.Errorf("spent %d, unbilled %d, free %d; want 35, 0, 65", l.Spent(), l.Unbilled(), l.Free())
	}
}

func TestNoAmountIsTooLarge(t *testing.T) {
	l := ledger.New(eyrie.MaxMoney)
	if !l.Reserve(1, eyrie.MaxMoney) || l.Reserve(2, 1) {
		t.Fatal("the whole range is not one budget")
	}
	l.Unknown(1)
	if l.Free() != 0 {
		t.Errorf("free %d, want 0", l.Free())
	}
	l.Settle(1, 5)
	if l.Free() != eyrie.MaxMoney-5 {
		t.Errorf("free %d, want all but 5", l.Free())
	}
}

func TestExpectedIsHeldWhileItRunsAndTheWorstAfterwards(t *testing.T) {
	l := ledger.New(100)
	if !l.Expect(1, 30, 80) || !l.Expect(2, 60, 90) || l.Expect(3, 11, 20) || !l.Expect(3, 10, 5) {
		t.Fatal("what is expected is not what is compared with the budget")
	}
	check := func(what string, inFlight, unbilled, free eyrie.Money) {
		t.Helper()
		if l.InFlight() != inFlight || l.Unbilled() != unbilled || l.Free() != free {
			t.Errorf("%s: in flight %d, unbilled %d, free %d; want %d, %d, %d", what, l.InFlight(), l.Unbilled(), l.Free(), inFlight, unbilled, free)
		}
	}
	check("three run", 100, 0, 0)
	l.Settle(3, 4)
	check("one is billed", 90, 0, 6)
	l.Raise(1, 20)
	check("a raise lowers nothing", 90, 0, 6)
	l.Raise(1, 70)
	check("a raise passes the budget", 130, 0, 0)
	l.Raise(1, 1000)
	l.Raise(7, 1000)
	check("a raise ends at the worst case, of what there is", 140, 0, 0)
	l.Lower(1, 50)
	check("the worst case is less than was thought", 110, 0, 0)
	if b := l.Unknown(2); b.Held != 90 {
		t.Errorf("%d is held for an end without a bill, want the worst case", b.Held)
	}
	l.Raise(2, 1000)
	check("one has ended without a bill", 50, 90, 0)
	l.Unknown(1)
	l.Lower(2, 10)
	check("what was cut is known to cost less", 0, 60, 36)
}
