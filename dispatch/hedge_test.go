package dispatch_test

import (
	"context"
	"errors"
	"fmt"
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

// crawling makes a rig with two lanes on which every answer takes ten seconds,
// but that of one prompt on the first lane, which takes an hour.
func crawling(budget eyrie.Money) *rig {
	r := newRig(budget, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
		if q.Generation.PromptID == "7" && q.Lane.Tag == "one" {
			return good(q, 50), time.Hour, nil
		}
		return good(q, 50), 10 * time.Second, nil
	})
	two := testLane("two")
	two.OutputPrice = price("0.000003")
	r.cfg.Lanes = append(r.cfg.Lanes, dispatch.Lane{Lane: two, Engine: r.engine, Limit: limit.Config{Start: 100, Max: 100}})
	r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 80)}}
	r.cfg.Hedge = 0.02
	return r
}

// ends are the ends of the attempts at one prompt, as the journal has them.
func (r *rig) ends(id string) (ends []*eyrie.EndedRecord) {
	var prompt eyrie.Digest
	for _, rec := range r.journal.recs {
		switch rec := rec.(type) {
		case *eyrie.PromptRecord:
			if rec.ID == id {
				prompt = rec.Prompt
			}
		case *eyrie.EndedRecord:
			if rec.Prompt == prompt {
				ends = append(ends, rec)
			}
		}
	}
	return ends
}

func TestStragglerIsHedged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := crawling(eyrie.Dollar)
		began := time.Now()
		bill := price("0.0000025").Times(30)
		time.AfterFunc(50*time.Second, func() { // the vendor bills what it wrote of the copy that was cut off
			r.engine.mu.Lock()
			defer r.engine.mu.Unlock()
			for n := range 200 {
				r.engine.bills[genID(n)] = bill
			}
			r.engine.billed += bill
		})
		res := r.run(t)
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("the run took %v", took)
		}
		set := res.Snapshot.Sets[0]
		if res.Stop != dispatch.Exhausted || set.Rows != 80 || r.engine.calls != 81 {
			t.Fatalf("stopped: %v %v with %d rows after %d requests; want 80 after 81", res.Stop, res.Err, set.Rows, r.engine.calls)
		}
		ends := r.ends("7")
		if len(ends) != 2 || !ends[0].OK || ends[0].Lane != "two" || ends[1].OK || ends[1].Class != "outrun" {
			t.Errorf("the ends of the hedged answer: %+v", ends)
		}
		if set.GaveUp != 0 || res.Snapshot.Hedges != 1 || res.Snapshot.HedgesWon != 1 {
			t.Errorf("%d given up, %d hedges, %d won; want 0, 1, 1", set.GaveUp, res.Snapshot.Hedges, res.Snapshot.HedgesWon)
		}
	})
}

func genID(n int) string { return fmt.Sprintf("gen-%d", n) }

// TestHedgeThatBothWin: the copy that is cut off was finished in that moment. It
// is journaled and paid for, and no second row.
func TestHedgeThatBothWin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := crawling(eyrie.Dollar)
		r.engine.deaf = func(q *eyrie.Request) bool { return q.Generation.PromptID == "7" }
		res := r.run(t)
		set := res.Snapshot.Sets[0]
		if res.Stop != dispatch.Exhausted || set.Rows != 80 || set.Have != 80*50 {
			t.Fatalf("stopped: %v %v with %d rows of %d tokens", res.Stop, res.Err, set.Rows, set.Have)
		}
		ends := r.ends("7")
		if len(ends) != 2 || !ends[0].OK || !ends[1].OK || r.cfg.Ledger.Unbilled() != 0 {
			t.Errorf("the ends of the hedged answer: %+v, %s unbilled", ends, r.cfg.Ledger.Unbilled())
		}
	})
}

// TestHedgesKeepToTheirMoney: nothing is hedged where it is off, where its share
// of the budget does not hold the copy, or where there is no other lane.
func TestHedgesKeepToTheirMoney(t *testing.T) {
	for name, change := range map[string]func(*rig){
		"off":                  func(r *rig) { r.cfg.Hedge = 0 },
		"a share too small":    func(r *rig) { r.cfg.Hedge = 0.0001 },
		"no other lane":        func(r *rig) { r.cfg.Lanes = r.cfg.Lanes[:1] },
		"too few answers seen": func(r *rig) { r.cfg.Sets[0].Prompts = prompts("a", 15) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := crawling(eyrie.Dollar)
				change(r)
				began := time.Now()
				res := r.run(t)
				if took := time.Since(began); res.Snapshot.Hedges != 0 || took < time.Hour {
					t.Errorf("%d hedges, the run took %v; want none, and an hour", res.Snapshot.Hedges, took)
				}
			})
		})
	}
}

// TestFailedHedgeLeavesTheFirst: a second copy that fails changes nothing for
// the first, and the other way round.
func TestFailedHedgeLeavesTheFirst(t *testing.T) {
	for name, fails := range map[string]string{"the second": "two", "the first": "one"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := crawling(eyrie.Dollar)
				answer := r.engine.answer
				r.engine.answer = func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
					if q.Generation.PromptID != "7" {
						return answer(n, q)
					}
					if q.Lane.Tag == fails {
						return &eyrie.Answer{}, 45 * time.Second, &eyrie.Error{Kind: eyrie.Elsewhere, Charged: eyrie.ChargedNo, Class: "silence", Err: errors.New("silent")}
					}
					return good(q, 50), 100 * time.Second, nil
				}
				res := r.run(t)
				if set := res.Snapshot.Sets[0]; res.Stop != dispatch.Exhausted || set.Rows != 80 || set.GaveUp != 0 {
					t.Errorf("stopped: %v %v with %d rows, %d given up", res.Stop, res.Err, set.Rows, set.GaveUp)
				}
			})
		})
	}
}

// TestDeathWithBothCopiesInFlight ends a run while an answer and its second copy
// are under way, and goes on from the journal: both may have cost, and the answer
// is bought once more and counts once.
func TestDeathWithBothCopiesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := crawling(eyrie.Dollar)
		answer := r.engine.answer
		r.engine.answer = func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if q.Generation.PromptID == "7" && n <= 81 {
				return good(q, 50), time.Hour, nil
			}
			return answer(n, q)
		}
		d, err := dispatch.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		d.Run(ctx)
		var recs []eyrie.Record // as if the process had died: neither copy has an end
		for _, rec := range r.journal.recs {
			if e, ok := rec.(*eyrie.EndedRecord); !ok || e.OK {
				recs = append(recs, rec)
			}
		}
		r.journal.recs = recs
		again := crawling(eyrie.Dollar)
		again.journal.recs = recs
		again.cfg.State, again.cfg.Ledger = progress.New(), ledger.New(eyrie.Dollar)
		recs = append(recs, &eyrie.SessionRecord{Budget: eyrie.Dollar})
		again.journal.recs = recs
		for i, rec := range recs {
			again.cfg.State.Apply(journal.Entry{Ref: journal.Ref{Segment: 1, Offset: int64(i)}, Record: rec})
			again.cfg.Ledger.Apply(rec)
		}
		if n := again.cfg.State.Paid(keyOf(recs, "7")); n != 2 || len(again.cfg.Ledger.Bills()) != 2 {
			t.Errorf("%d attempts may have cost, %d bills are to come; want both copies", n, len(again.cfg.Ledger.Bills()))
		}
		d, err = dispatch.New(again.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if res := d.Run(t.Context()); res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 80 {
			t.Errorf("stopped: %v %v with %d rows", res.Stop, res.Err, res.Snapshot.Sets[0].Rows)
		}
		ok := 0
		for _, e := range again.ends("7") {
			if e.OK {
				ok++
			}
		}
		if ok != 1 {
			t.Errorf("the hedged answer was accepted %d times", ok)
		}
	})
}

// keyOf is the key of the generation of a prompt.
func keyOf(recs []eyrie.Record, id string) (k eyrie.Key) {
	var prompt eyrie.Digest
	for _, rec := range recs {
		switch rec := rec.(type) {
		case *eyrie.PromptRecord:
			if rec.ID == id {
				prompt = rec.Prompt
			}
		case *eyrie.StartedRecord:
			if rec.Prompt == prompt {
				k = rec.Key
			}
		}
	}
	return k
}
