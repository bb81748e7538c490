package dispatch_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/limit"
)

// live starts a run on two lanes whose answers take ten seconds, and returns it
// with what waits for its end.
func live(t *testing.T, r *rig) (*dispatch.Runner, func() dispatch.Result) {
	t.Helper()
	d, err := dispatch.New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan dispatch.Result, 1)
	go func() { done <- d.Run(t.Context()) }()
	return d, func() dispatch.Result { return <-done }
}

func twoLanes(budget eyrie.Money) *rig {
	r := newRig(budget, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
		return good(q, 500), 10 * time.Second, nil
	})
	r.cfg.Lanes = append(r.cfg.Lanes, dispatch.Lane{Lane: testLane("two"), Engine: r.engine, Limit: limit.Config{Start: 100, Max: 100}})
	r.cfg.Concurrency = 150
	r.cfg.JobBudget = budget
	r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 3000)}}
	return r
}

// count is how many records there are.
func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.recs)
}

// asked is how many requests there were.
func (f *fake) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLiveRunIsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := twoLanes(100 * eyrie.Dollar)
		d, wait := live(t, r)
		running := func(lane string) (n int) {
			for _, l := range d.Snapshot().Lanes {
				if lane == "" || l.Name == lane {
					n += l.Running
				}
			}
			return n
		}
		expect := func(what, lane string, want int) {
			t.Helper()
			time.Sleep(12 * time.Second) // what was under way is over
			if n := running(lane); n != want {
				t.Errorf("%s: %d requests run, want %d", what, n, want)
			}
		}
		expect("at first", "", 150)
		must(t, d.PauseRun())
		expect("paused", "", 0)
		if idle := d.Snapshot().Idle; !strings.Contains(idle, "paused by hand") {
			t.Errorf("a paused run idles because of %q", idle)
		}
		time.Sleep(time.Hour)
		must(t, d.ResumeRun())
		expect("resumed", "", 150)
		must(t, d.SetConcurrency(40))
		expect("forty at once", "", 40)
		must(t, d.SetConcurrency(500))
		expect("as many as the lanes take", "", 200)
		must(t, d.PauseLane("one"))
		expect("one lane paused", "one", 0)
		expect("the other one", "two", 100)
		must(t, d.LimitLane("two", 7))
		expect("the other one limited", "two", 7)
		must(t, d.PauseLane("two"))
		expect("both paused", "", 0)
		if idle := d.Snapshot().Idle; !strings.Contains(idle, "every lane") {
			t.Errorf("with every lane paused the run idles because of %q", idle)
		}
		must(t, d.LimitLane("two", 0))
		must(t, d.ResumeLane("one"))
		must(t, d.ResumeLane("two"))
		expect("all resumed", "", 200)
		for what, err := range map[string]error{
			"no lane": d.PauseLane("three"), "no limit": d.LimitLane("two", -1), "nothing at once": d.SetConcurrency(0), "no money": d.SetBudget(0),
		} {
			if err == nil {
				t.Errorf("%s is taken", what)
			}
		}
		d.Drain()
		res := wait()
		r.check(t)
		if res.Stop != dispatch.Interrupted || !errors.Is(d.PauseRun(), dispatch.ErrOver) {
			t.Errorf("stopped: %v %v", res.Stop, res.Err)
		}
	})
}

// TestLiveBudget: a budget that is raised lets a run go on that waited for money,
// one that is lowered lets nothing new start, and the journal knows both.
func TestLiveBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := twoLanes(20 * eyrie.Dollar)
		d, wait := live(t, r)
		time.Sleep(15 * time.Second)
		low := r.cfg.Ledger.Budget() / 400 // less than what is spent and held
		must(t, d.SetBudget(low))
		calls := r.engine.asked()
		time.Sleep(3 * time.Second)
		if n := r.engine.asked(); n != calls {
			t.Errorf("%d requests after the budget fell below what was spent and held", n-calls)
		}
		must(t, d.SetBudget(eyrie.Dollar))
		res := wait()
		if res.Stop != dispatch.BudgetReached {
			t.Fatalf("stopped: %v %v", res.Stop, res.Err)
		}
		r.check(t)
		again := ledger.New(0)
		budgets := 0
		for _, rec := range r.journal.recs {
			again.Apply(rec)
			if b, ok := rec.(*eyrie.BudgetRecord); ok && b.Job == 20*eyrie.Dollar {
				budgets++
			}
		}
		if again.Budget() != eyrie.Dollar || budgets != 2 || again.Spent() > eyrie.Dollar || again.Spent() < eyrie.Dollar*97/100 {
			t.Errorf("the journal holds %d budgets, the last %s, and %s spent", budgets, again.Budget(), again.Spent())
		}
	})
}

func TestNothingIsSetOfARunThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := twoLanes(20 * eyrie.Dollar)
		d, wait := live(t, r)
		time.Sleep(15 * time.Second)
		d.Drain()
		time.Sleep(time.Second)
		before := r.journal.count()
		if err := d.SetBudget(50 * eyrie.Dollar); err == nil || r.journal.count() != before {
			t.Errorf("a draining run takes another budget: %v", err)
		}
		wait()
	})
}
