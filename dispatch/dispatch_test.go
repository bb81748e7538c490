package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/progress"
)

// memory is a journal in memory.
type memory struct {
	mu     sync.Mutex
	recs   []eyrie.Record
	failed chan struct{}
	err    error
}

func newMemory() *memory { return &memory{failed: make(chan struct{})} }

func (m *memory) Append(rs ...eyrie.Record) (journal.Ref, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return journal.Ref{}, m.err
	}
	m.recs = append(m.recs, rs...)
	return journal.Ref{Segment: 1, Offset: int64(len(m.recs) - 1)}, nil
}

func (m *memory) Note(r eyrie.Record) error {
	_, err := m.Append(r)
	return err
}

func (m *memory) Failed() <-chan struct{} { return m.failed }
func (m *memory) Err() error              { return m.err }

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
	close(m.failed)
}

func (m *memory) earlier(ref journal.Ref) (*eyrie.EndedRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recs[ref.Offset].(*eyrie.EndedRecord), nil
}

// fake is an engine whose answers a function makes.
type fake struct {
	mu      sync.Mutex
	running int
	most    int
	calls   int
	billed  eyrie.Money
	answer  func(n int, r *eyrie.Request) (*eyrie.Answer, time.Duration, error)
	bills   map[string]eyrie.Money
	deaf    func(*eyrie.Request) bool // the answer comes although it is cut off
}

func (f *fake) Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error] {
	return func(yield func(eyrie.Event, error) bool) {
		f.mu.Lock()
		f.calls++
		n := f.calls
		f.running++
		f.most = max(f.most, f.running)
		f.mu.Unlock()
		defer func() {
			f.mu.Lock()
			f.running--
			f.mu.Unlock()
		}()
		a, took, err := f.answer(n, r)
		if a.ID == "" {
			a.ID = fmt.Sprintf("gen-%d", n)
		}
		if e, ok := eyrie.AsError(err); !ok || e.Charged != eyrie.ChargedNo {
			if !yield(eyrie.Event{Kind: eyrie.Opened, ID: a.ID}, nil) {
				return
			}
		}
		select {
		case <-time.After(took):
		case <-ctx.Done():
			if f.deaf != nil && f.deaf(r) {
				break
			}
			err = &eyrie.Error{Op: "fake", Kind: eyrie.Again, Class: "cancelled", Err: context.Cause(ctx)}
			a.CostGiven = false
		}
		f.mu.Lock()
		if a.CostGiven {
			f.billed += a.Cost
		}
		f.mu.Unlock()
		yield(eyrie.Event{Kind: eyrie.Ended, Answer: a}, err)
	}
}

func (f *fake) Bill(_ context.Context, id string) (eyrie.Money, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m, ok := f.bills[id]
	if !ok {
		return 0, errors.New("no bill yet")
	}
	return m, nil
}

func price(s string) eyrie.Price {
	p, err := eyrie.ParsePrice(s)
	if err != nil {
		panic(err)
	}
	return p
}

func testLane(tag string) *eyrie.Lane {
	return &eyrie.Lane{Tag: tag, Provider: tag, PromptPrice: price("0.0000005"), OutputPrice: price("0.0000025")}
}

// good is a complete answer of so many tokens.
func good(r *eyrie.Request, tokens int) *eyrie.Answer {
	u := eyrie.Usage{Given: true, PromptTokens: r.Generation.PromptTokens, CompletionTokens: tokens}
	return &eyrie.Answer{Content: "yes", FinishReason: eyrie.FinishStop, Usage: u, Cost: r.Lane.Cost(u), CostGiven: true}
}

func prompts(set string, n int, roles ...eyrie.Role) iter.Seq2[*eyrie.Prompt, error] {
	if roles == nil {
		roles = []eyrie.Role{eyrie.User}
	}
	return func(yield func(*eyrie.Prompt, error) bool) {
		for i := range n {
			p := &eyrie.Prompt{Set: set, ID: fmt.Sprint(i), Ordinal: i}
			for j, r := range roles {
				p.Messages = append(p.Messages, eyrie.Message{Role: r, Content: fmt.Sprintf("%s %d %d", set, i, j)})
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// mixOf is a mix that samples every row alike.
func mixOf(s eyrie.Sampling) *eyrie.Mix {
	return &eyrie.Mix{Parts: []eyrie.Part{{Weight: 1, Sampling: s}}}
}

// rig is everything a run needs.
type rig struct {
	cfg     dispatch.Config
	journal *memory
	engine  *fake
}

func newRig(budget eyrie.Money, answer func(n int, r *eyrie.Request) (*eyrie.Answer, time.Duration, error)) *rig {
	j, e := newMemory(), &fake{answer: answer, bills: map[string]eyrie.Money{}}
	return &rig{journal: j, engine: e, cfg: dispatch.Config{
		Run: "test", Model: "a/b", Sampling: mixOf(eyrie.Sampling{MaxTokens: 1000}), Concurrency: 100,
		Lanes:   []dispatch.Lane{{Lane: testLane("one"), Engine: e, Limit: limit.Config{Start: 100, Max: 100}}},
		Journal: j, State: progress.New(), Ledger: ledger.New(budget), Earlier: j.earlier,
		Count: func(*eyrie.Generation, eyrie.Sampling) (int, error) { return 100, nil },
	}}
}

func (r *rig) run(t *testing.T) dispatch.Result {
	t.Helper()
	d, err := dispatch.New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	res := d.Run(t.Context())
	r.check(t)
	return res
}

// check holds after every run: the money is the engine's and within the
// budget, nothing is held that has no bill coming, and the journal folds to
// the same.
func (r *rig) check(t *testing.T) {
	t.Helper()
	l := r.cfg.Ledger
	if l.Spent() != r.engine.billed {
		t.Errorf("the ledger says %s was spent, the engine billed %s", l.Spent(), r.engine.billed)
	}
	if l.Spent()+l.Unbilled() > l.Budget() {
		t.Errorf("spent %s and unbilled %s pass the budget %s", l.Spent(), l.Unbilled(), l.Budget())
	}
	if l.InFlight() != 0 {
		t.Errorf("%s is in flight after the run", l.InFlight())
	}
	again := ledger.New(l.Budget())
	for _, rec := range r.journal.recs {
		again.Apply(rec)
	}
	if again.Spent() != l.Spent() || again.Unbilled() != l.Unbilled() || again.InFlight() != 0 {
		t.Errorf("the journal folds to spent %s, unbilled %s, in flight %s; the run had %s, %s, 0",
			again.Spent(), again.Unbilled(), again.InFlight(), l.Spent(), l.Unbilled())
	}
}

func TestRunMeetsTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			return good(q, 50), time.Second, nil
		})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1000, Prompts: prompts("a", 100)}, {Name: "b", Target: 500, Prompts: prompts("b", 100)}}
		res := r.run(t)
		if res.Stop != dispatch.Finished {
			t.Fatalf("stopped: %v %v", res.Stop, res.Err)
		}
		for _, s := range res.Snapshot.Sets {
			if s.Have < s.Target || s.Have > s.Target+600 {
				t.Errorf("set %s has %d of %d tokens", s.Name, s.Have, s.Target)
			}
		}
	})
}

func TestBudgetIsKeptAndSetsShareIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The work wants about $1.3 and there are 30 cents.
		r := newRig(eyrie.Dollar*3/10, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			return good(q, 300+n%400), time.Duration(1+n%7) * time.Second, nil
		})
		r.cfg.Sets = []dispatch.Set{
			{Name: "big", Target: 400_000, Prompts: prompts("big", 5000)},
			{Name: "small", Target: 100_000, Prompts: prompts("small", 5000)},
		}
		res := r.run(t)
		if res.Stop != dispatch.BudgetReached {
			t.Fatalf("stopped: %v %v", res.Stop, res.Err)
		}
		if spent := r.cfg.Ledger.Spent(); spent < r.cfg.Ledger.Budget()*97/100 {
			t.Errorf("only %s of %s was used", spent, r.cfg.Ledger.Budget())
		}
		big, small := res.Snapshot.Sets[0], res.Snapshot.Sets[1]
		fb, fs := float64(big.Have)/float64(big.Target), float64(small.Have)/float64(small.Target)
		if d := fb - fs; d > 0.02 || d < -0.02 {
			t.Errorf("the sets are not equally far: %.3f and %.3f", fb, fs)
		}
	})
}

// TestSamplesHaveSeedsOfTheirOwn: else a lane that honours seeds would be paid
// for the same answer again and again.
func TestSamplesHaveSeedsOfTheirOwn(t *testing.T) {
	for _, seed := range []*int64{nil, new(int64(40))} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var got []string
			r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
				mu.Lock()
				defer mu.Unlock()
				if s := q.Sampling.Seed; s != nil {
					got = append(got, fmt.Sprintf("%d:%d", q.Generation.Sample, *s))
				}
				return good(q, 50), time.Second, nil
			})
			r.cfg.Sampling.Parts[0].Sampling.Seed = seed
			r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Samples: 3, Prompts: prompts("a", 1)}}
			r.run(t)
			slices.Sort(got)
			want := []string{"0:40", "1:41", "2:42"}
			if seed == nil {
				want = nil
			}
			if !slices.Equal(got, want) {
				t.Errorf("sent %v, want %v", got, want)
			}
		})
	}
}

func TestEverySampleOfEveryPromptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if n%5 == 0 { // failed, and was not charged
				return &eyrie.Answer{}, 0, &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "502"}
			}
			return good(q, 50), time.Second, nil
		})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Samples: 3, Prompts: prompts("a", 20, eyrie.User, eyrie.Assistant, eyrie.User)}}
		if res := r.run(t); res.Stop != dispatch.Exhausted {
			t.Fatalf("stopped: %v %v", res.Stop, res.Err)
		}
		got := map[eyrie.Key]int{}
		turns := map[int]int{}
		for _, rec := range r.journal.recs {
			if e, ok := rec.(*eyrie.EndedRecord); ok && e.OK {
				got[e.Key]++
				turns[e.Turn]++
			}
		}
		if len(got) != 20*3*2 || turns[0] != 60 || turns[1] != 60 {
			t.Errorf("%d generations, by turn %v; want 120, 60 of each turn", len(got), turns)
		}
		for k, n := range got {
			if n != 1 {
				t.Errorf("generation %s was made %d times", k, n)
			}
		}
	})
}

func TestSecondTurnStandsOnTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var second []eyrie.Message
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if q.Generation.Turn == 1 {
				second = q.Generation.Messages
			}
			return good(q, 50), time.Second, nil
		})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 1, eyrie.System, eyrie.User, eyrie.Assistant, eyrie.User, eyrie.Assistant)}}
		r.run(t)
		want := []string{"a 0 0", "a 0 1", "yes", "a 0 3"}
		var got []string
		for _, m := range second {
			got = append(got, m.Content)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the second turn asks %q, want %q", got, want)
		}
	})
}

func TestRateLimitsAreNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity = 10
		var refused int
		var r *rig
		r = newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			r.engine.mu.Lock()
			full := r.engine.running > capacity
			if full {
				refused++
			}
			r.engine.mu.Unlock()
			if full {
				return &eyrie.Answer{}, 0, &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "429", LaneWide: true}
			}
			return good(q, 50), 5 * time.Second, nil
		})
		r.cfg.Lanes[0].Limit = limit.Config{Start: 4, Max: 100}
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 500)}}
		if res := r.run(t); res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 500 {
			t.Fatalf("stopped: %v %v with %d rows", res.Stop, res.Err, res.Snapshot.Sets[0].Rows)
		}
		if refused == 0 || refused > 250 {
			t.Errorf("%d of %d attempts were refused", refused, r.engine.calls)
		}
	})
}

// TestP59ClosedLaneIsAskedSeldom has a lane that refuses everything for two
// hours and names no time to wait (P58, P59): it is asked now and then, not
// hammered, and when it takes requests again nothing is lost.
func TestP59ClosedLaneIsAskedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, refused := time.Now(), 0
		var last, longest time.Duration
		var r *rig
		r = newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			since := time.Since(began)
			if since >= 2*time.Hour {
				return good(q, 50), time.Second, nil
			}
			r.engine.mu.Lock()
			defer r.engine.mu.Unlock()
			refused++
			last, longest = since, max(longest, since-last)
			return &eyrie.Answer{}, 0, &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "429", LaneWide: true}
		})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 500)}}
		res := r.run(t)
		s := res.Snapshot.Sets[0]
		if res.Stop != dispatch.Exhausted || s.Rows+s.GaveUp != 500 {
			t.Fatalf("stopped: %v %v, %d rows, %d given up", res.Stop, res.Err, s.Rows, s.GaveUp)
		}
		t.Logf("%d requests in two hours, at most %v apart; %d rows, %d given up", refused, longest, s.Rows, s.GaveUp)
		if refused > 500 || longest < time.Minute {
			t.Errorf("%d requests in two hours, at most %v apart", refused, longest)
		}
	})
}

func TestUnknownChargeStaysHeldUntilTheBillComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		r = newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if n == 1 { // failed, but had happened: the whole answer is billed
				r.engine.bills["gen-1"] = eyrie.Dollar / 500
				r.engine.billed += eyrie.Dollar / 500
				return &eyrie.Answer{Content: "ye"}, time.Second, &eyrie.Error{Kind: eyrie.Again, Class: "stream cut"}
			}
			return good(q, 50), time.Second, nil
		})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 3)}}
		res := r.run(t)
		if res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 3 || res.Snapshot.Unbilled != 0 {
			t.Errorf("stopped: %v with %d rows, %s unbilled", res.Stop, res.Snapshot.Sets[0].Rows, res.Snapshot.Unbilled)
		}
	})
}

func TestBillThatNeverComesIsHeldAndSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if n == 1 {
				return &eyrie.Answer{}, time.Second, &eyrie.Error{Kind: eyrie.Again, Class: "stream cut"}
			}
			return good(q, 50), time.Second, nil
		})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 3)}}
		res := r.run(t)
		if res.Snapshot.Unbilled == 0 || res.Snapshot.Bills != 1 {
			t.Errorf("%s unbilled, %d bills; want the hold of one attempt", res.Snapshot.Unbilled, res.Snapshot.Bills)
		}
	})
}

func TestGivesUpAfterPaidAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			a := good(q, 50)
			if q.Generation.PromptID == "1" {
				a.Content = ""
				return a, time.Second, &eyrie.Error{Kind: eyrie.Elsewhere, Charged: eyrie.ChargedYes, Class: "empty answer"}
			}
			return a, time.Second, nil
		})
		r.cfg.PaidAttempts = 3
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 5)}}
		res := r.run(t)
		if s := res.Snapshot.Sets[0]; s.Rows != 4 || s.GaveUp != 1 || r.engine.calls != 4+3 {
			t.Errorf("%d rows, %d given up, %d calls; want 4, 1, 7", s.Rows, s.GaveUp, r.engine.calls)
		}
	})
}

func TestDrainFinishesWhatIsPaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			return good(q, 50), 10 * time.Second, nil
		})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 1000)}}
		d, err := dispatch.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(15*time.Second, d.Drain)
		res := d.Run(t.Context())
		r.check(t)
		if res.Stop != dispatch.Interrupted || res.Snapshot.Sets[0].Rows != 200 {
			t.Errorf("stopped: %v with %d rows; want the two rounds of 100", res.Stop, res.Snapshot.Sets[0].Rows)
		}
	})
}

func TestCancelKeepsWhatCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			return good(q, 50), 10 * time.Second, nil
		})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 1000)}}
		d, err := dispatch.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		res := d.Run(ctx)
		r.check(t)
		var kept int
		for _, rec := range r.journal.recs {
			if e, ok := rec.(*eyrie.EndedRecord); ok && e.Class == "cancelled" && e.Content == "yes" {
				kept++
			}
		}
		if res.Stop != dispatch.Interrupted || res.Snapshot.Sets[0].Rows != 100 || kept != 100 {
			t.Errorf("stopped: %v with %d rows and %d cut answers kept; want 100 and 100", res.Stop, res.Snapshot.Sets[0].Rows, kept)
		}
	})
}

// TestP76JournalFailureStopsTheRun: where nothing can be noted, nothing is asked
// for.
func TestP76JournalFailureStopsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			return good(q, 50), 10 * time.Second, nil
		})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 1000)}}
		d, err := dispatch.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		full := errors.New("no space left on device")
		time.AfterFunc(15*time.Second, func() { r.journal.fail(full) })
		res := d.Run(t.Context())
		if res.Stop != dispatch.Broken || !errors.Is(res.Err, full) || r.engine.calls != 200 {
			t.Errorf("stopped: %v %v after %d calls", res.Stop, res.Err, r.engine.calls)
		}
	})
}

func TestStopClassErrorEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if n > 150 {
				return &eyrie.Answer{}, 0, &eyrie.Error{Kind: eyrie.StopRun, Charged: eyrie.ChargedNo, Class: "402"}
			}
			return good(q, 50), 10 * time.Second, nil
		})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 1000)}}
		res := r.run(t)
		if res.Stop != dispatch.Refused || r.engine.calls > 250 {
			t.Errorf("stopped: %v %v after %d calls", res.Stop, res.Err, r.engine.calls)
		}
	})
}

func TestResumeMakesOnlyWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			return good(q, 50), time.Second, nil
		})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 3000, Prompts: prompts("a", 1000)}}
		r.run(t)
		first := r.engine.calls

		// A process that goes on folds the journal first.
		r.cfg.State, r.cfg.Ledger = progress.New(), ledger.New(eyrie.Dollar)
		for i, rec := range r.journal.recs {
			r.cfg.State.Apply(journal.Entry{Ref: journal.Ref{Segment: 1, Offset: int64(i)}, Record: rec})
			r.cfg.Ledger.Apply(rec)
		}
		r.cfg.Sets[0].Target = 6000
		res := r.run(t)
		if res.Stop != dispatch.Finished {
			t.Fatalf("stopped: %v", res.Stop)
		}
		seen := map[eyrie.Key]bool{}
		for _, rec := range r.journal.recs {
			if e, ok := rec.(*eyrie.EndedRecord); ok {
				if seen[e.Key] {
					t.Errorf("generation %s was bought twice", e.Key)
				}
				seen[e.Key] = true
			}
		}
		if n := r.engine.calls - first; n < 60 || n > 75 {
			t.Errorf("the second run made %d calls; 60 were missing", n)
		}
	})
}
