package dispatch_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/route"
)

// TestPromptTooLongForEveryLane has one prompt that fits no lane: it is given
// up with the numbers, and nobody is asked.
func TestPromptTooLongForEveryLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			return good(q, 50), time.Second, nil
		})
		r.cfg.Lanes[0].Lane.Context = 4096
		r.cfg.Count = func(g *eyrie.Generation, _ eyrie.Sampling) (int, error) {
			if g.PromptID == "1" {
				return 5000, nil
			}
			return 100, nil
		}
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 3)}}
		res := r.run(t)
		if s := res.Snapshot.Sets[0]; s.Rows != 2 || s.GaveUp != 1 || r.engine.calls != 2 {
			t.Errorf("%d rows, %d given up, %d calls; want 2, 1, 2", s.Rows, s.GaveUp, r.engine.calls)
		}
		const want = "the prompt has 5000 tokens, and no lane takes one of more than 4095 beside an answer of up to 1000"
		for _, rec := range r.journal.recs {
			if g, ok := rec.(*eyrie.GaveUpRecord); ok && (g.Class != "prompt" || g.Detail != want) {
				t.Errorf("given up for %s: %s; want prompt: %s", g.Class, g.Detail, want)
			}
		}
	})
}

// shortAndLong is a rig of two lanes, of which the first has room for prompts of
// 3,096 tokens beside the answer. The first half of the prompts has more.
func shortAndLong(answer func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error)) *rig {
	r := newRig(100*eyrie.Dollar, answer)
	short, long := testLane("short"), testLane("long")
	short.Context, short.Reserves = 4096, true
	r.cfg.Lanes = []dispatch.Lane{
		{Lane: short, Engine: r.engine, Limit: limit.Config{Start: 4, Max: 4}},
		{Lane: long, Engine: r.engine, Limit: limit.Config{Start: 4, Max: 4}},
	}
	r.cfg.Concurrency = 8
	r.cfg.Count = func(g *eyrie.Generation, _ eyrie.Sampling) (int, error) {
		if n, err := strconv.Atoi(g.PromptID); err != nil || n < 40 {
			return 3097, err
		}
		return 3096, nil
	}
	r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 80)}}
	return r
}

// TestLongPromptsGoWhereTheyFit: a lane is not asked what it has no room for, and
// what waits for a longer one does not keep it from other work.
func TestLongPromptsGoWhereTheyFit(t *testing.T) {
	for _, sort := range []route.Sort{route.ByCost, route.ByDeadline} {
		synctest.Test(t, func(t *testing.T) {
			r := shortAndLong(func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
				if q.Generation.PromptTokens > q.Lane.LongestPrompt(q.Sampling.MaxTokens) {
					t.Errorf("lane %s was asked %d tokens", q.Lane.Tag, q.Generation.PromptTokens)
				}
				return good(q, 50), time.Second, nil
			})
			r.cfg.Sort = sort
			if sort == route.ByDeadline { // which would do without the second lane
				r.cfg.Deadline = 24 * time.Hour
			}
			began := time.Now()
			res := r.run(t)
			if s := res.Snapshot.Sets[0]; res.Stop != dispatch.Exhausted || s.Rows != 80 || s.GaveUp != 0 {
				t.Errorf("%s: %v, %d rows, %d given up", sort, res.Stop, s.Rows, s.GaveUp)
			}
			// The 40 long ones need ten rounds of the long lane; the short ones run
			// beside them.
			if took, l := time.Since(began).Round(time.Second), res.Snapshot.Lanes[0]; sort == route.ByCost && (took != 10*time.Second || l.Rows != 40) {
				t.Errorf("it took %v, and lane %s has %d rows", took, l.Name, l.Rows)
			}
		})
	}
}

// TestTheLaneWithRoomCloses: what only a lane could take that is closed is given
// up, and the rest goes on.
func TestTheLaneWithRoomCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := shortAndLong(func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if q.Lane.Tag == "long" {
				return &eyrie.Answer{}, time.Second, &eyrie.Error{Kind: eyrie.Elsewhere, Charged: eyrie.ChargedNo, Class: "403", Err: errors.New("not you")}
			}
			return good(q, 50), time.Second, nil
		})
		res := r.run(t)
		if s := res.Snapshot.Sets[0]; res.Stop != dispatch.Exhausted || s.Rows != 40 || s.GaveUp != 40 {
			t.Errorf("%v, %d rows, %d given up", res.Stop, s.Rows, s.GaveUp)
		}
		const want = "the prompt has 3097 tokens, and no lane takes one of more than 3096 beside an answer of up to 1000"
		for _, rec := range r.journal.recs {
			if g, ok := rec.(*eyrie.GaveUpRecord); ok && !strings.Contains(g.Detail, want) {
				t.Errorf("given up for %s: %s", g.Class, g.Detail)
			}
		}
	})
}

// TestNoRoomForALargerCap: an answer that was cut off is kept where no lane has
// room to ask for a longer one.
func TestNoRoomForALargerCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := shortAndLong(func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			a := good(q, q.Sampling.MaxTokens)
			a.FinishReason = eyrie.FinishLength
			return a, time.Second, nil
		})
		r.cfg.Lanes = r.cfg.Lanes[:1]
		r.cfg.OnLength, r.cfg.RetryTokens = eyrie.RetryCut, 1001
		res := r.run(t)
		if s := res.Snapshot.Sets[0]; s.Rows != 40 || s.GaveUp != 40 || r.engine.calls != 40 {
			t.Errorf("%d rows, %d given up, %d calls; want 40 of each", s.Rows, s.GaveUp, r.engine.calls)
		}
	})
}

// TestLongPromptsWithoutMoney: what only a lane could take that the budget does
// not reach for ends the run, when the rest is done.
func TestLongPromptsWithoutMoney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := shortAndLong(func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			a := good(q, 50)
			if q.Lane.Tag == "short" {
				a.Cost = 0
			}
			return a, time.Second, nil
		})
		short := r.cfg.Lanes[0].Lane
		short.PromptPrice, short.OutputPrice, short.CachedPrice = eyrie.Free, eyrie.Free, eyrie.Price{}
		r.cfg.Ledger = ledger.New(1)
		res := r.run(t)
		if s := res.Snapshot.Sets[0]; res.Stop != dispatch.BudgetReached || s.Rows != 40 || s.GaveUp != 0 {
			t.Errorf("%v, %d rows, %d given up", res.Stop, s.Rows, s.GaveUp)
		}
	})
}
