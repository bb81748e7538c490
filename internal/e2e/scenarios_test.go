package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// These tests play the emulator's built-in scenarios as whole jobs: the
// dispatcher, the client and a journal on disk against the vendor, in a bubble
// where an hour takes no time.

const (
	atlas       = "atlas-cloud/int4"
	siliconflow = "siliconflow/int4"
)

// plenty is a budget that no scenario reaches.
const plenty = 1000 * eyrie.Dollar

// TestScenarioHappy has 2,000 streams at once, and nothing goes wrong: every
// prompt is asked once.
func TestScenarioHappy(t *testing.T) {
	n := 250 * inProcess(t)
	bubble(t, setting{scenario: "happy", prompts: n, concurrency: 2000, budget: plenty}, func(t *testing.T, w *world) {
		w.finish()
		w.check()
		if got := w.vendor.Totals().Requests; got != n || w.state.Set("set").Rows != n {
			t.Errorf("%d requests for %d prompts, %d rows", got, n, w.state.Set("set").Rows)
		}
		if most := w.together(); most > 2000 || n > 2000 && most < 1500 {
			t.Errorf("%d streams at once, of 2000 wanted", most)
		}
		t.Log(w.census())
	})
}

// TestScenarioStorm has endpoints that take 50 requests a minute each. All is
// done in not much more than the time that this takes, and without hammering.
func TestScenarioStorm(t *testing.T) {
	const n = 600
	bubble(t, setting{scenario: "storm", prompts: n, concurrency: 500, budget: plenty}, func(t *testing.T, w *world) {
		w.finish()
		w.check()
		requests, lanes := w.vendor.Totals().Requests, len(w.vendor.Totals().MaxInFlight)
		if requests > 4*n {
			t.Errorf("%d requests for %d prompts", requests, n)
		}
		if least := time.Duration(n/(50*lanes)) * time.Minute; w.elapsed() > 3*least+2*time.Minute {
			t.Errorf("it took %v; %d lanes could do it in %v", w.elapsed(), lanes, least)
		}
		t.Log(w.census())
	})
}

// TestScenarioKeyCap runs into the key's limit with 2,000 requests in flight,
// while the vendor's admission sees old figures. The run stops, nothing is lost,
// and when the limit is raised it goes on to its end.
func TestScenarioKeyCap(t *testing.T) {
	limit := eyrie.Money(inProcess(t)) * eyrie.Dollar / 50
	set := setting{scenario: "keycap", prompts: 300 * inProcess(t), concurrency: 200 * inProcess(t), budget: plenty, keyLimit: limit.Decimal(), change: func(s *emulator.Scenario) {
		s.Account.BalanceLag = 2 * time.Second // with more, all prompts would be under way before it is noticed
	}}
	bubble(t, set, func(t *testing.T, w *world) {
		res := w.run(t.Context())
		if res.Stop != dispatch.Refused || res.Err == nil {
			t.Fatalf("the run ended: %v %v", res.Stop, res.Err)
		}
		w.checkBooks()
		w.checkRows()
		w.checkManners()
		// The vendor holds nothing for what is in flight, so as much as that can
		// come on top, and what began while its figures were old.
		totals := w.vendor.Totals()
		spend := eyrie.Money(totals.Spend)
		mean := spend / eyrie.Money(max(1, totals.Outcomes[emulator.Completed]))
		if margin := eyrie.Money(w.together()*3/2) * mean; spend < limit || spend > limit+margin {
			t.Errorf("%s was spent under a limit of %s and a margin of %s", spend, limit, margin)
		}
		t.Log(w.census())
		stopped := len(w.vendor.Books())
		if err := w.vendor.SetMoney("", ""); err != nil {
			t.Fatal(err)
		}
		w.finish()
		w.checkPrompts()
		w.checkBooks()
		w.checkRows()
		w.checkBoughtOnce()
		t.Logf("after %d requests more: %s", len(w.vendor.Books())-stopped, w.census())
	})
}

// TestMoneyGone refuses in the middle of a run in every form that there is of
// "the money is gone". Each stops the run, cleanly, and it can go on.
func TestMoneyGone(t *testing.T) {
	for _, f := range []emulator.Fault{
		{Kind: "payment", Value: "afford"},
		{Kind: "payment", Value: "credits"},
		{Kind: "payment", Value: "never"},
		{Kind: "payment", Value: "prompt_limit"},
		{Kind: "forbidden", Value: "key_limit"},
		{Kind: "mid_error", Value: "empty_choices", Status: 402, Message: "Insufficient credits"},
		{Kind: "error_body", Status: 403, Message: "Key limit exceeded (monthly limit). Manage it using the keys page"},
	} {
		t.Run(f.Kind+" "+f.Value, func(t *testing.T) {
			set := setting{scenario: "killed", prompts: 150, concurrency: 40, budget: plenty, change: func(s *emulator.Scenario) {
				f.From = 10 * time.Second
				s.Faults = []emulator.Fault{f}
			}}
			bubble(t, set, func(t *testing.T, w *world) {
				res := w.run(t.Context())
				if res.Stop != dispatch.Refused || res.Err == nil || w.state.Set("set").GaveUp != 0 {
					t.Fatalf("the run ended: %v %v, with %d given up", res.Stop, res.Err, w.state.Set("set").GaveUp)
				}
				rows := w.state.Set("set").Rows
				if rows == 0 || rows == 150 {
					t.Fatalf("%d rows: it was not stopped in the middle", rows)
				}
				w.checkBooks()
				w.checkRows()
				w.checkManners()
				well := w.vendor.Scenario()
				well.Faults = nil
				if err := w.vendor.SetScenario(well); err != nil {
					t.Fatal(err)
				}
				w.finish()
				w.checkPrompts()
				w.checkBooks()
				w.checkRows()
				w.checkBoughtOnce()
			})
		})
	}
}

// TestScenarioVanish takes one endpoint away and gives another a new tag.
func TestScenarioVanish(t *testing.T) {
	const n = 400
	only := []string{atlas, siliconflow, "novita"}
	bubble(t, setting{scenario: "vanish", only: only, prompts: n, concurrency: 50, budget: plenty}, func(t *testing.T, w *world) {
		res := w.finish()
		w.check()
		if w.state.Set("set").GaveUp > 0 {
			t.Errorf("%d prompts were given up", w.state.Set("set").GaveUp)
		}
		i := slices.IndexFunc(res.Snapshot.Lanes, func(l eyrie.LaneSnapshot) bool { return l.Name == atlas })
		if i < 0 || res.Snapshot.Lanes[i].Closed == "" {
			t.Errorf("the endpoint that is gone is not closed: %+v", res.Snapshot.Lanes)
		}
		if w.served(siliconflow, 0, 30*time.Second) == 0 || w.served("novita", 30*time.Second, time.Hour) == 0 {
			t.Error("the endpoint was never asked before, or no other after")
		}
		t.Log(w.census())
	})
}

// TestScenarioRepriced raises the prices in the middle: no answer is accepted
// at a price that was not on the list.
func TestScenarioRepriced(t *testing.T) {
	const n = 400
	only := []string{atlas, siliconflow}
	bubble(t, setting{scenario: "repriced", only: only, prompts: n, concurrency: 50, budget: plenty}, func(t *testing.T, w *world) {
		w.finish()
		w.check()
		if w.state.Set("set").GaveUp > 0 {
			t.Errorf("%d prompts were given up", w.state.Set("set").GaveUp)
		}
		before, after := w.served(siliconflow, 0, 30*time.Second), w.served(siliconflow, 31*time.Second, time.Hour)
		if before == 0 || after == 0 {
			t.Errorf("%d answers before the change and %d after it", before, after)
		}
		t.Log(w.census())
	})
}

// TestScenarioAllVanish takes every endpoint away that the job allows: the run
// says so and ends, and no prompt is lost.
func TestScenarioAllVanish(t *testing.T) {
	set := setting{scenario: "vanish", only: []string{atlas, siliconflow}, prompts: 400, concurrency: 50, budget: plenty}
	bubble(t, set, func(t *testing.T, w *world) {
		res := w.run(t.Context())
		if res.Stop != dispatch.Refused || !strings.Contains(fmt.Sprint(res.Err), atlas) || w.state.Set("set").GaveUp != 0 {
			t.Fatalf("the run ended: %v %v", res.Stop, res.Err)
		}
		w.checkBooks()
		w.checkRows()
		w.checkManners()
		t.Log(w.census())
	})
}

// TestScenarioChaos has about three requests in ten meet one of the faults that
// users have reported.
func TestScenarioChaos(t *testing.T) {
	n := 100 * inProcess(t)
	bubble(t, setting{scenario: "chaos", prompts: n, concurrency: 200, budget: plenty}, func(t *testing.T, w *world) {
		w.finish()
		w.check()
		if gave := w.state.Set("set").GaveUp; gave*100 > n {
			t.Errorf("%d of %d prompts were given up", gave, n)
		}
		struck := 0
		for _, e := range w.vendor.Books() {
			if len(e.Faults) > 0 {
				struck++
			}
		}
		share := float64(struck) / float64(len(w.vendor.Books()))
		if share < 0.2 {
			t.Errorf("only %.0f %% of the requests met a fault", 100*share)
		}
		t.Logf("%.0f %% of the requests met a fault: %s", 100*share, w.census())
	})
}

// TestScenarioKilled cuts the run off at random moments, with hundreds of
// streams under way, and goes on each time.
func TestScenarioKilled(t *testing.T) {
	const n = 500
	bubble(t, setting{scenario: "killed", prompts: n, concurrency: 150, budget: plenty}, func(t *testing.T, w *world) {
		rng := rand.New(rand.NewPCG(7, 7))
		for range 6 {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(1+rng.IntN(9000))*time.Millisecond, dispatch.ErrCancelled)
			if res := w.run(ctx); res.Stop != dispatch.Interrupted {
				t.Fatalf("the run ended: %v %v", res.Stop, res.Err)
			}
			cancel()
			if spend := eyrie.Money(w.vendor.Totals().Spend); spend > w.ledger.Spent()+w.ledger.Unbilled() {
				t.Errorf("the books have %s, and the ledger knows of %s at most", spend, w.ledger.Spent()+w.ledger.Unbilled())
			}
		}
		w.finish()
		w.check()
		w.checkBoughtOnce()
		t.Log(w.census())
	})
}

// TestScenarioNoBills has a vendor that shows no bill for an hour. A run that
// does not wait for them settles what they come to from the key's usage.
func TestScenarioNoBills(t *testing.T) {
	const n = 400
	bubble(t, setting{scenario: "nobills", prompts: n, concurrency: 100, budget: plenty}, func(t *testing.T, w *world) {
		w.finish()
		w.check()
		if w.elapsed() > 30*time.Minute {
			t.Errorf("it took %v", w.elapsed())
		}
		t.Log(w.census())
	})
}

// TestScenarioHang has every stream hang for a minute, kept alive by comments.
func TestScenarioHang(t *testing.T) {
	const n = 400
	limits := openrouter.Limits{Silence: 40 * time.Second}
	bubble(t, setting{scenario: "hang", prompts: n, concurrency: 50, budget: plenty, limits: limits}, func(t *testing.T, w *world) {
		w.finish()
		w.check()
		if w.state.Set("set").GaveUp > 0 {
			t.Errorf("%d prompts were given up", w.state.Set("set").GaveUp)
		}
		if w.elapsed() > 10*time.Minute {
			t.Errorf("it took %v", w.elapsed())
		}
		t.Log(w.census())
	})
}

// TestScenarioOverrun has an endpoint that writes 25 times max_tokens, and a
// budget that a few such answers would break.
func TestScenarioOverrun(t *testing.T) {
	const n = 400
	for _, budget := range []eyrie.Money{eyrie.Dollar / 4, 2 * eyrie.Dollar} {
		t.Run(budget.String(), func(t *testing.T) {
			bubble(t, setting{scenario: "overrun", only: []string{atlas, siliconflow}, prompts: n, concurrency: 100, budget: budget}, func(t *testing.T, w *world) {
				res := w.run(t.Context())
				if res.Stop != dispatch.BudgetReached && res.Stop != dispatch.Exhausted {
					t.Fatalf("the run ended: %v %v", res.Stop, res.Err)
				}
				w.checkBooks()
				w.checkRows()
				w.checkManners()
				if res.Stop == dispatch.BudgetReached && w.ledger.Spent() < budget*9/10 {
					t.Errorf("only %s of %s was used", w.ledger.Spent(), budget)
				}
				t.Log(w.census())
			})
		})
	}
}

// TestScenarioBlip has a vendor that knows no key for five minutes. The run
// pauses, asks little meanwhile, and goes on within a minute of the end.
func TestScenarioBlip(t *testing.T) {
	const n = 400
	bubble(t, setting{scenario: "blip", prompts: n, concurrency: 50, budget: plenty}, func(t *testing.T, w *world) {
		w.finish()
		w.check()
		if w.state.Set("set").GaveUp > 0 {
			t.Errorf("%d prompts were given up", w.state.Set("set").GaveUp)
		}
		refused := w.vendor.Totals().Refusals["unauthorized"]
		if refused == 0 || refused > 50+15 {
			t.Errorf("%d requests were refused during the blip", refused)
		}
		books := w.vendor.Books()
		var last, next time.Time
		for _, e := range books {
			if e.Refusal == "unauthorized" {
				last = e.Ended
			} else if next.IsZero() && !last.IsZero() && e.Began.After(last) {
				next = e.Began
			}
		}
		if next.IsZero() || next.Sub(books[0].Began) > 310*time.Second+time.Minute {
			t.Errorf("it went on %v after its beginning", next.Sub(books[0].Began))
		}
		t.Log(w.census())
	})
}

// TestScenarioBlipThatStays has a key that is never known again. After ten
// minutes the run gives up, with every prompt still to be done.
func TestScenarioBlipThatStays(t *testing.T) {
	set := setting{scenario: "blip", prompts: 1000, concurrency: 100, budget: plenty, change: func(s *emulator.Scenario) {
		s.Faults[0].To = 0
	}}
	bubble(t, set, func(t *testing.T, w *world) {
		res := w.run(t.Context())
		if res.Stop != dispatch.Refused || !strings.Contains(fmt.Sprint(res.Err), "check the API key") {
			t.Fatalf("the run ended: %v %v", res.Stop, res.Err)
		}
		if w.state.Set("set").GaveUp != 0 {
			t.Errorf("%d prompts were given up", w.state.Set("set").GaveUp)
		}
		if d := w.elapsed(); d < 10*time.Minute || d > 13*time.Minute {
			t.Errorf("it gave up after %v", d)
		}
		w.checkBooks()
		w.checkRows()
		t.Log(w.census())
	})
}

// TestScenarioEdgeBlock has the network's edge block everything for forty
// seconds: nothing is asked for a minute.
func TestScenarioEdgeBlock(t *testing.T) {
	set := setting{scenario: "killed", prompts: 500, concurrency: 50, budget: plenty, change: func(s *emulator.Scenario) {
		s.Faults = []emulator.Fault{{Kind: "edge_block", From: 10 * time.Second, To: 50 * time.Second}}
	}}
	bubble(t, set, func(t *testing.T, w *world) {
		w.finish()
		w.check()
		var blocked, next time.Time
		for _, e := range w.vendor.Books() {
			switch {
			case e.Refusal == "edge_403" && blocked.IsZero():
				blocked = e.Ended
			case !blocked.IsZero() && e.Began.After(blocked) && (next.IsZero() || e.Began.Before(next)):
				next = e.Began
			}
		}
		if blocked.IsZero() || next.Sub(blocked) < time.Minute {
			t.Errorf("blocked at %v, asked again %v later", blocked, next.Sub(blocked))
		}
		t.Log(w.census())
	})
}

// TestScenarioGoAway asks the client, one reply in fifty, to leave an HTTP/2
// connection on which many streams are under way: none of them is lost.
func TestScenarioGoAway(t *testing.T) {
	const n = 600
	bubble(t, setting{scenario: "goaway", prompts: n, concurrency: 250, budget: plenty, secure: true}, func(t *testing.T, w *world) {
		w.finish()
		w.check()
		if got := w.vendor.Totals(); got.Faults["goaway"] == 0 || got.Outcomes[emulator.Broken]+got.Outcomes[emulator.Cancelled] > 0 {
			t.Errorf("outcomes %v, faults %v", got.Outcomes, got.Faults)
		}
		t.Log(w.census())
	})
}
