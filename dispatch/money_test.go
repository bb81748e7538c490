package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/progress"
)

// This file holds whole runs against the money promise: whatever the vendor
// does, whenever the process dies and however the budget is changed, the
// vendor's books never pass what the budget allowed.
//
// What is taken for granted of a vendor, because nobody can hold money against
// the contrary: it charges by its price list, at no more than the price that
// the request was pinned to; it counts a prompt at most 2 % and 16 tokens longer
// than its template says; a lane that is not known to ignore max_tokens heeds
// it; and a charge shows in the account within the patience for late bills, or
// the time the longest answer took, of the end of its stream. A vendor that
// breaks the first three is found out by its own bills, and one that charges
// without saying so by the key's usage.
//
// An account that others use too tells nothing of what one run used: what only
// it could settle stays held.

// life is one process's work on a run.
type life struct {
	Budget  eyrie.Money
	DiesAt  int // the step at which the process dies; 0: it does not
	Notes   int // how many of the unsynced notes survive that
	DrainAt time.Duration
	CutAt   time.Duration // the attempts under way are cancelled
	SetAt   time.Duration // a person sets another budget while it runs
	SetTo   eyrie.Money
}

// schedule is everything that chance decides, drawn ahead so that it shrinks.
type schedule struct {
	Seed        uint64
	Tariffs     []tariff
	Habits      habits
	Prompts     int
	PromptLen   int
	MaxTokens   int
	Concurrency int
	Patience    time.Duration
	Lag         time.Duration
	Others      bool
	Hedge       float64
	Retry       int // the cap of answers that are asked for again; 0: none are
	Lives       []life
}

func drawSchedule(t *rapid.T) *schedule {
	upTo := func(n int, what string) int { return rapid.IntRange(0, n).Draw(t, what) }
	s := &schedule{
		Seed: rapid.Uint64().Draw(t, "seed"), Prompts: 1 + upTo(60, "prompts"), PromptLen: 1 + upTo(400, "prompt tokens"),
		MaxTokens: 16 + upTo(1000, "max_tokens"), Concurrency: 1 + upTo(20, "concurrency"), Others: rapid.Bool().Draw(t, "others use the account"),
		Habits: habits{
			Refused: upTo(10, "refused"), Error: upTo(10, "errors"), Cut: upTo(15, "cut"), Nameless: upTo(10, "nameless"),
			Useless: upTo(10, "useless"), Crawl: upTo(5, "slow"), NoBill: upTo(30, "never billed"),
		},
	}
	s.Hedge = float64(upTo(2, "hedges")) / 4
	s.Retry = upTo(1, "asked for again") * 2 * s.MaxTokens
	longest := max(s.MaxTokens, s.Retry)
	for i := range 1 + upTo(2, "lanes") {
		f := tariff{
			Tag: fmt.Sprint("lane-", i), Prompt: int64(upTo(1_000_000, "prompt price")), Output: 1 + int64(upTo(5_000_000, "output price")),
			Cached: int64(upTo(1_500_000, "cached price")) - 1, Tier: upTo(1, "tiered") * (1 + upTo(500, "tier")),
			Fee:   int64(upTo(1, "has a fee") * upTo(500_000_000, "fee")),
			Stops: rapid.Bool().Draw(t, "stops billing"),
		}
		if upTo(2, "prices reasoning") == 0 {
			f.Thought = 1 + int64(upTo(8_000_000, "reasoning price"))
		}
		if upTo(3, "changes its price") == 0 {
			f.DearerAt = time.Duration(upTo(60, "when")) * time.Second
			f.Dearer = max(1-f.Output, int64(upTo(4_000_000, "dearer"))-2_000_000)
		}
		if upTo(3, "overruns") == 0 {
			f.Overruns, f.MaxOutput = true, s.MaxTokens+upTo(4*s.MaxTokens, "its longest answer")
			longest = max(longest, f.MaxOutput)
		}
		s.Tariffs = append(s.Tariffs, f)
	}
	s.Lag = time.Duration(upTo(20, "lag")) * time.Second
	s.Patience = s.Lag + time.Duration(longest)*time.Second/tokenRate + time.Second
	// Some hundred answers' worth at most, so that many budgets run out.
	worth := max(1, s.Tariffs[0].charge(s.PromptLen, 0, s.MaxTokens)*int64(1+upTo(80, "budget in worst cases")))
	budget := func() eyrie.Money {
		return eyrie.Money(worth * int64(10+upTo(20, "budget")) / 20)
	}
	b := budget()
	for range 1 + upTo(4, "lives") {
		l := life{Budget: b}
		if upTo(2, "changes its budget") == 0 {
			b = budget()
		}
		switch upTo(4, "ends") {
		case 0, 1:
			l.DiesAt, l.Notes = 1+upTo(400, "dies at"), upTo(3, "notes")
		case 2:
			l.DrainAt = time.Duration(1+upTo(60, "drained after")) * time.Second
		case 3:
			l.CutAt = time.Duration(1+upTo(60, "cancelled after")) * time.Second
		}
		if upTo(2, "budget is set while it runs") == 0 {
			l.SetAt, l.SetTo = time.Duration(1+upTo(60, "set after"))*time.Second, budget()
		}
		s.Lives = append(s.Lives, l)
	}
	s.Lives = append(s.Lives, life{Budget: b})
	return s
}

// play is a run that lives a schedule.
type play struct {
	*schedule
	hold    dispatch.Hold
	length  func(rng *rand.Rand, limit int) int // of an answer; nil: any
	bank    *bank
	disk    []eyrie.Record
	allowed eyrie.Money // the most that the books may come to
	ended   map[dispatch.Stop]int
	last    *mortal
}

// run lives every life, and returns what broke the promise.
func (p *play) run(t *testing.T) error {
	p.bank = newBank(p.Seed, p.Tariffs...)
	p.bank.habits, p.bank.lag, p.bank.others = p.Habits, p.Lag, p.Others
	if p.length != nil {
		p.bank.length = p.length
	}
	for i, l := range p.Lives {
		if err := p.live(t, l); err != nil {
			return fmt.Errorf("life %d: %w", i, err)
		}
		if l.DiesAt > 0 { // time goes on without the program
			time.Sleep(time.Duration(p.Seed%600) * time.Second)
		}
	}
	return nil
}

// live is one process: fold, go on, end.
func (p *play) live(t *testing.T, l life) error {
	st, led := progress.New(), ledger.New(l.Budget)
	for i, r := range p.disk {
		st.Apply(journal.Entry{Ref: journal.Ref{Segment: 1, Offset: int64(i)}, Record: r})
		led.Apply(r)
	}
	led.Abandon()
	led.SetBudget(l.Budget)
	if err := p.known(led); err != nil {
		return fmt.Errorf("at the start: %w", err)
	}
	if p.hold == dispatch.Strict {
		p.allowed = max(l.Budget, led.Spent()+led.Unbilled())
	} else { // what a fold holds may be more than was promised
		p.allowed = max(l.Budget, p.allowed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	j := &mortal{disk: p.disk, failed: make(chan struct{})}
	p.last = j
	steps := make(chan int, 1)
	steps <- 0
	step := func() {
		n := 1 + <-steps
		steps <- n
		if n == l.DiesAt {
			j.die(l.Notes)
			cancel() // its streams break off
		}
	}
	j.before, j.after, p.bank.moment = step, step, step
	begun := &eyrie.SessionRecord{Version: "test", Budget: l.Budget}
	if !st.Begun() {
		m, _ := p.bank.Usage(ctx)
		begun.AccountUsage = &m
	}
	if ref, err := j.Append(begun); err == nil {
		st.Apply(journal.Entry{Ref: ref, Record: begun})
		d, err := dispatch.New(p.config(j, st, led))
		if err != nil {
			return err
		}
		if l.DrainAt > 0 {
			defer time.AfterFunc(l.DrainAt, d.Drain).Stop()
		}
		if l.CutAt > 0 {
			defer time.AfterFunc(l.CutAt, cancel).Stop()
		}
		if l.SetAt > 0 {
			p.allowed = max(p.allowed, l.SetTo)
			defer time.AfterFunc(l.SetAt, func() { d.SetBudget(l.SetTo) }).Stop() // it fails when the run is over
		}
		res := d.Run(ctx)
		p.ended[res.Stop]++
		if err := p.check(led, res); err != nil {
			return err
		}
	}
	p.disk = j.disk
	return nil
}

func (p *play) lanes(context.Context) ([]dispatch.Lane, error) {
	var out []dispatch.Lane
	for _, f := range p.Tariffs {
		out = append(out, dispatch.Lane{
			Lane: f.at(time.Since(p.bank.began)).lane(), Engine: p.bank, Limit: limit.Config{Start: p.Concurrency, Max: p.Concurrency},
		})
	}
	return out, nil
}

func (p *play) config(j *mortal, st *progress.State, led *ledger.Ledger) dispatch.Config {
	lanes, _ := p.lanes(context.Background())
	return dispatch.Config{
		Run: "test", Model: "a/b", Hold: p.hold, Hedge: p.Hedge, OnLength: p.onLength(), RetryTokens: p.Retry, Sampling: mixOf(eyrie.Sampling{MaxTokens: p.MaxTokens}), Concurrency: p.Concurrency, Lanes: lanes,
		Refresh: p.lanes, RefreshEvery: 30 * time.Second, PaidAttempts: 3, Journal: j, State: st, Ledger: led, BillPatience: p.Patience,
		Earlier: j.earlier, Seed: p.Seed, Count: func(*eyrie.Generation, eyrie.Sampling) (int, error) { return p.PromptLen, nil },
		Sets: []dispatch.Set{
			{Name: "a", Target: 1 << 40, Prompts: prompts("a", p.Prompts)},
			{Name: "b", Target: 1 << 40, Samples: 2, Prompts: prompts("b", p.Prompts/3, eyrie.User, eyrie.Assistant, eyrie.User)},
		},
	}
}

func (p *play) onLength() eyrie.OnLength {
	if p.Retry > 0 {
		return eyrie.RetryCut
	}
	return eyrie.KeepCut
}

// known: the ledger never knows of less than the vendor will charge.
func (p *play) known(led *ledger.Ledger) error {
	total := p.bank.total()
	if total > led.Spent()+led.InFlight()+led.Unbilled() {
		return fmt.Errorf("the books come to %s; the ledger knows of %s spent and %s held", total, led.Spent(), led.InFlight()+led.Unbilled())
	}
	if led.Spent() > total && !p.Others {
		return fmt.Errorf("the ledger says %s was spent, and the books come to %s", led.Spent(), total)
	}
	return nil
}

// check holds at the end of every life.
func (p *play) check(led *ledger.Ledger, res dispatch.Result) error {
	if total := p.bank.total(); total > p.allowed {
		return fmt.Errorf("the books come to %s, and %s was allowed", total, p.allowed)
	}
	if errors.Is(res.Err, errDead) || res.Stop == dispatch.Broken {
		return nil // the ledger died with the process
	}
	if err := p.known(led); err != nil {
		return err
	}
	if led.InFlight() != 0 {
		return fmt.Errorf("%s is in flight after the run", led.InFlight())
	}
	free := led.Free()
	if p.hold == dispatch.Expected { // for answers that become longer than expected
		free -= led.Budget() / 250
	}
	if res.Stop == dispatch.BudgetReached && p.cheapest() <= free {
		return fmt.Errorf("the budget is said to be reached with %s free, and a request holds %s", led.Free(), p.cheapest())
	}
	return nil
}

// cheapest is the least that any request can be sure to find room for, at
// whichever of a lane's prices the program knows.
func (p *play) cheapest() eyrie.Money {
	least := eyrie.MaxMoney
	for _, f := range p.Tariffs {
		hold := func(since time.Duration) eyrie.Money {
			return f.at(since).lane().WorstCase(p.PromptLen+p.PromptLen/50+16, max(p.MaxTokens, p.Retry))
		}
		least = min(least, max(hold(0), hold(f.DearerAt)))
	}
	return least
}

// TestTheBooksNeverPassTheBudget plays some hundred random runs; more of them
// with -rapid.checks.
func TestTheBooksNeverPassTheBudget(t *testing.T) {
	ended, events := map[dispatch.Stop]int{}, map[string]int{}
	check := func(rt *rapid.T) {
		p := &play{schedule: drawSchedule(rt), ended: ended}
		var err error
		synctest.Test(t, func(t *testing.T) { err = p.run(t) })
		if err != nil {
			rt.Fatal(err)
		}
		for what, n := range p.bank.events {
			events[what] += n
		}
	}
	for range 3 {
		rapid.Check(t, check)
		if testing.Short() || raced {
			break
		}
	}
	t.Logf("runs ended %v; requests %v", ended, events)
	for _, s := range []dispatch.Stop{dispatch.Exhausted, dispatch.BudgetReached, dispatch.Interrupted, dispatch.Broken} {
		if ended[s] == 0 {
			t.Errorf("not one run ended with %v: the schedules are too tame", s)
		}
	}
	for _, what := range []string{"whole", "cut", "error", "nameless", "refused", "useless", "slow"} {
		if events[what] == 0 {
			t.Errorf("not one request was %s: the schedules are too tame", what)
		}
	}
}

// TestASharedAccountSettlesNothing: a run whose key others use all the time
// comes to its end, and what only the account could settle stays held.
func TestASharedAccountSettlesNothing(t *testing.T) {
	for name, others := range map[string]eyrie.Money{"a little now and then": 1, "more than this run": eyrie.Dollar} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
					return good(q, 50), time.Second, nil
				})
				m := &meteredFake{fake: r.engine, used: func(since time.Duration) eyrie.Money { return others * eyrie.Money(since/time.Second) }}
				r.cfg.Lanes[0].Engine = m
				r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 3)}}
				r.cfg.State.Apply(journal.Entry{Record: &eyrie.SessionRecord{AccountUsage: new(eyrie.Money)}})
				for _, rec := range []eyrie.Record{&eyrie.SessionRecord{Budget: eyrie.Dollar}, &eyrie.StartedRecord{Attempt: 1, Hold: 5}} {
					r.journal.Append(rec)
					r.cfg.Ledger.Apply(rec)
					r.cfg.State.Apply(journal.Entry{Record: rec})
				}
				r.cfg.Ledger.Abandon()
				r.journal.Append(&eyrie.SessionRecord{Budget: eyrie.Dollar})
				res := r.run(t)
				if res.Stop != dispatch.Exhausted || res.Snapshot.Unbilled != 5 {
					t.Errorf("the run ended: %v, with %s held; want the hold of the attempt that nobody knows of", res.Stop, res.Snapshot.Unbilled)
				}
			})
		})
	}
}

// meteredFake is a fake whose account shows its books, and what others use.
type meteredFake struct {
	*fake
	began time.Time
	used  func(since time.Duration) eyrie.Money
}

func (m *meteredFake) Usage(context.Context) (eyrie.Money, error) {
	if m.began.IsZero() {
		m.began = time.Now()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.billed + m.used(time.Since(m.began)), nil
}
