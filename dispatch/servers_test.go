package dispatch_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/limit"
)

// own is a server of one's own: so many slots, a time an answer takes in one,
// and times at which it is away.
type own struct {
	slots int
	took  time.Duration
	began time.Time
	away  func(at time.Duration) bool

	mu      sync.Mutex
	queue   []chan struct{}
	running int
	most    int // requests at once, those that wait among them
	busy    time.Duration
	asked   []time.Duration
	written float64
}

func newOwn(slots int, took time.Duration) *own {
	return &own{slots: slots, took: took, began: time.Now(), away: func(time.Duration) bool { return false }}
}

func (o *own) gone() bool { return o.away(time.Since(o.began)) }

var errAway = &eyrie.Error{
	Op: "own", Kind: eyrie.Again, Charged: eyrie.ChargedNo, LaneWide: true, RetryAfter: time.Second, Class: "connection", Err: errors.New("connection refused"),
}

func (o *own) Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error] {
	return func(yield func(eyrie.Event, error) bool) {
		end := func(a *eyrie.Answer, err error) {
			if err == nil {
				yield(eyrie.Event{Kind: eyrie.Progress, Bytes: 3}, nil)
			}
			yield(eyrie.Event{Kind: eyrie.Ended, Answer: a}, err)
		}
		o.mu.Lock()
		o.asked = append(o.asked, time.Since(o.began))
		if o.gone() {
			o.mu.Unlock()
			end(new(eyrie.Answer), errAway)
			return
		}
		turn := make(chan struct{}, 1)
		o.queue = append(o.queue, turn)
		o.most = max(o.most, o.running+len(o.queue))
		o.next()
		o.mu.Unlock()
		<-turn
		for left := o.took; left > 0; left -= 100 * time.Millisecond {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			if o.gone() || ctx.Err() != nil {
				o.leave()
				end(new(eyrie.Answer), errAway)
				return
			}
			o.mu.Lock()
			o.busy += 100 * time.Millisecond
			o.written += 10
			o.mu.Unlock()
		}
		o.leave()
		a := good(r, 50)
		a.Cost, a.CostGiven = 0, false
		end(a, nil)
	}
}

// next lets those go on that have a slot. The caller holds mu.
func (o *own) next() {
	for o.running < o.slots && len(o.queue) > 0 {
		o.running++
		o.queue[0] <- struct{}{}
		o.queue = o.queue[1:]
	}
}

func (o *own) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running--
	o.next()
}

func (o *own) Load(context.Context) (eyrie.Load, error) {
	if o.gone() {
		return eyrie.Load{}, errAway
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return eyrie.Load{Running: o.running, Waiting: len(o.queue), Cache: 0.2, TokensPerSecond: 100 * float64(o.running)}, nil
}

// used is the share of its slots that worked until now.
func (o *own) used(since time.Duration) float64 {
	return o.busy.Seconds() / (float64(o.slots) * since.Seconds())
}

func (o *own) between(from, to time.Duration) (n int) {
	for _, at := range o.asked {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

func ownLane(name string, e dispatch.Engine) dispatch.Lane {
	return dispatch.Lane{
		Lane:   &eyrie.Lane{Engine: name, Tag: name, Provider: name, PromptPrice: eyrie.Free, OutputPrice: eyrie.Free},
		Engine: e, Limit: limit.Config{Max: 2000},
	}
}

// ownRig is a rig with servers of one's own in front of its vendor's lane, which
// is left out when there is no budget.
func ownRig(budget eyrie.Money, target int64, n int, servers map[string]*own) *rig {
	r := newRig(budget, func(_ int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
		return good(q, 50), 5 * time.Second, nil
	})
	vendor := r.cfg.Lanes
	r.cfg.Lanes = nil
	for _, name := range []string{"rack1", "rack2"} {
		if s := servers[name]; s != nil {
			r.cfg.Lanes = append(r.cfg.Lanes, ownLane(name, s))
		}
	}
	if budget > 0 {
		r.cfg.Lanes = append(r.cfg.Lanes, vendor...)
	}
	r.cfg.Concurrency = 1000
	r.cfg.Sets = []dispatch.Set{{Name: "a", Target: target, Prompts: prompts("a", n)}}
	return r
}

func TestServersAreFullAndNotFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast, slow := newOwn(40, 2*time.Second), newOwn(10, 4*time.Second)
		r := ownRig(0, 1<<40, 8000, map[string]*own{"rack1": fast, "rack2": slow})
		res := r.run(t)
		if res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 8000 {
			t.Fatalf("stopped: %v %v with %d rows", res.Stop, res.Err, res.Snapshot.Sets[0].Rows)
		}
		for name, s := range map[string]*own{"fast": fast, "slow": slow} {
			if used := s.used(time.Since(s.began)); used < 0.93 {
				t.Errorf("the %s server worked %.0f%% of the time", name, 100*used)
			}
			if s.most > 2*s.slots {
				t.Errorf("the %s server works on %d at once and was asked %d", name, s.slots, s.most)
			}
		}
	})
}

func TestServerThatGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone, stays := newOwn(20, 2*time.Second), newOwn(20, 2*time.Second)
		from, to := 30*time.Second, 90*time.Second
		gone.away = func(at time.Duration) bool { return at >= from && at < to }
		r := ownRig(0, 1<<40, 3000, map[string]*own{"rack1": gone, "rack2": stays})
		res := r.run(t)
		if res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 3000 || res.Snapshot.Sets[0].GaveUp != 0 {
			t.Fatalf("stopped: %v %v with %d rows, %d given up", res.Stop, res.Err, res.Snapshot.Sets[0].Rows, res.Snapshot.Sets[0].GaveUp)
		}
		if n := gone.between(from+2*time.Second, to); n > 0 {
			t.Errorf("%d requests while it was away", n)
		}
		if gone.between(to, to+5*time.Second) == 0 {
			t.Error("no request after it came back")
		}
		if stays.between(from+2*time.Second, to) == 0 {
			t.Error("the other one got nothing meanwhile")
		}
	})
}

func TestServersThatStayAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := newOwn(20, 2*time.Second)
		s.away = func(at time.Duration) bool { return at >= 30*time.Second }
		r := ownRig(0, 1<<40, 3000, map[string]*own{"rack1": s})
		res := r.run(t)
		if res.Stop != dispatch.Refused || res.Err == nil || !strings.Contains(res.Err.Error(), "rack1: own: connection refused") {
			t.Fatalf("stopped: %v %v", res.Stop, res.Err)
		}
		if took := time.Since(began); took < 10*time.Minute || took > 12*time.Minute {
			t.Errorf("it was waited for %v", took)
		}
	})
}

// A server that is not there when the run begins gets work when it comes.
func TestServerThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOwn(20, 2*time.Second)
		s.away = func(at time.Duration) bool { return at < 3*time.Minute }
		r := ownRig(0, 1<<40, 100, map[string]*own{"rack1": s})
		if res := r.run(t); res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 100 {
			t.Fatalf("stopped: %v %v with %d rows", res.Stop, res.Err, res.Snapshot.Sets[0].Rows)
		}
		if n := s.between(0, 3*time.Minute); n > 0 {
			t.Errorf("%d requests before it was there", n)
		}
	})
}

// The vendor is bought from while there is money, the servers are full all the
// time, and when the money is gone they finish the work.
func TestServersGoOnWithoutMoney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOwn(20, 2*time.Second)
		r := ownRig(eyrie.Dollar/10, 100_000, 5000, map[string]*own{"rack1": s})
		res := r.run(t)
		if res.Stop != dispatch.Finished {
			t.Fatalf("stopped: %v %v", res.Stop, res.Err)
		}
		if spent := r.cfg.Ledger.Spent(); spent < r.cfg.Ledger.Budget()*8/10 {
			t.Errorf("only %s of %s was used", spent, r.cfg.Ledger.Budget())
		}
		if used := s.used(time.Since(s.began)); used < 0.9 {
			t.Errorf("the server worked %.0f%% of the time", 100*used)
		}
		for _, l := range res.Snapshot.Lanes {
			if l.Rows == 0 {
				t.Errorf("lane %s made nothing", l.Name)
			}
		}
	})
}

// A vendor that takes no more requests from the account does not stop servers.
func TestServersGoOnWithoutTheVendor(t *testing.T) {
	for _, row := range []struct {
		name string
		err  *eyrie.Error
	}{
		{"no credits", &eyrie.Error{Kind: eyrie.StopRun, Charged: eyrie.ChargedNo, Class: "402", Err: errors.New("add credits")}},
		{"unknown key", &eyrie.Error{Kind: eyrie.Pause, Charged: eyrie.ChargedNo, Class: "401", LaneWide: true, Err: errors.New("user not found")}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newOwn(20, 2*time.Second)
				r := ownRig(eyrie.Dollar, 200_000, 5000, map[string]*own{"rack1": s})
				r.engine.answer = func(int, *eyrie.Request) (*eyrie.Answer, time.Duration, error) { return new(eyrie.Answer), 0, row.err }
				if res := r.run(t); res.Stop != dispatch.Finished {
					t.Fatalf("stopped: %v %v", res.Stop, res.Err)
				}
				if used := s.used(time.Since(s.began)); used < 0.85 {
					t.Errorf("the server worked %.0f%% of the time", 100*used)
				}
			})
		})
	}
}

// What a process that died had asked of a server that costs nothing leaves no
// bill to wait for, and is no paid attempt.
func TestServersLeaveNoBills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOwn(20, 2*time.Second)
		r := ownRig(0, 1<<40, 40, map[string]*own{"rack1": s})
		started := &eyrie.StartedRecord{Attempt: 1, Key: eyrie.Key{1}, Set: "a", Lane: "rack1"}
		for _, rec := range []eyrie.Record{started, &eyrie.SeenRecord{Attempt: 1, ID: "cut"}, &eyrie.SessionRecord{}} {
			ref, err := r.journal.Append(rec)
			if err != nil {
				t.Fatal(err)
			}
			r.cfg.State.Apply(journal.Entry{Ref: ref, Record: rec})
			r.cfg.Ledger.Apply(rec)
		}
		r.cfg.Ledger.Abandon()
		began := time.Now()
		if res := r.run(t); res.Stop != dispatch.Exhausted || res.Snapshot.Bills != 0 {
			t.Fatalf("stopped: %v %v with %d bills", res.Stop, res.Err, res.Snapshot.Bills)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		if n := r.cfg.State.Paid(started.Key); n != 0 {
			t.Errorf("%d paid attempts", n)
		}
	})
}
