package dispatch_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/limit"
)

// listing is a vendor's list of endpoints that changes while a run goes on.
type listing struct {
	rig   *rig
	began time.Time
	reads []time.Duration // when it was read, since the start
	at    func(since time.Duration) ([]dispatch.Lane, error)
}

func (l *listing) read(ctx context.Context) ([]dispatch.Lane, error) {
	since := time.Since(l.began)
	l.reads = append(l.reads, since)
	return l.at(since)
}

// drifting makes a run of a thousand prompts, one second and 50 tokens each,
// ten at a time, on the lanes that a list holds.
func drifting(answer func(q *eyrie.Request) (*eyrie.Answer, time.Duration, error), at func(since time.Duration) ([]dispatch.Lane, error)) *listing {
	l := &listing{at: at, began: time.Now()}
	var mu sync.Mutex // the answers may keep count
	l.rig = newRig(eyrie.Dollar, func(_ int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
		mu.Lock()
		defer mu.Unlock()
		return answer(q)
	})
	l.rig.cfg.Concurrency, l.rig.cfg.RefreshEvery, l.rig.cfg.Refresh = 10, 10*time.Second, l.read
	l.rig.cfg.Lanes, _ = at(0)
	for i := range l.rig.cfg.Lanes {
		l.rig.cfg.Lanes[i].Engine = l.rig.engine
	}
	l.rig.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 1000)}}
	return l
}

// offered is an entry of the list.
func (l *listing) offered(e *eyrie.Lane, out string) dispatch.Lane {
	d := dispatch.Lane{Lane: e, Limit: limit.Config{Start: 100, Max: 100}, Out: out}
	if l != nil {
		d.Engine = l.rig.engine
	}
	return d
}

func answered(q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
	return good(q, 50), time.Second, nil
}

func missing(q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
	return &eyrie.Answer{}, 0, &eyrie.Error{
		Op: "fake", Subject: q.Lane.Tag, Kind: eyrie.Elsewhere, Charged: eyrie.ChargedNo, Class: "404", LaneWide: true, Err: errors.New("no endpoints found"),
	}
}

// costing is a lane whose output has another price.
func costing(tag, output string) *eyrie.Lane {
	l := testLane(tag)
	l.OutputPrice = price(output)
	return l
}

// lane is what the end of the run shows of a lane.
func (l *listing) lane(res dispatch.Result, tag string) eyrie.LaneSnapshot {
	for _, s := range res.Snapshot.Lanes {
		if s.Name == tag {
			return s
		}
	}
	return eyrie.LaneSnapshot{}
}

func TestNewPricesHoldForNewReservations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *listing
		asked := map[string]int{} // by the price of the lane that the request carries
		l = drifting(func(q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			asked[q.Lane.OutputPrice.String()]++
			return good(q, 50), 4 * time.Second, nil
		}, func(since time.Duration) ([]dispatch.Lane, error) {
			if since < 10*time.Second {
				return []dispatch.Lane{l.offered(costing("one", "0.0000025"), "")}, nil
			}
			return []dispatch.Lane{l.offered(costing("one", "0.0000050"), "")}, nil
		})
		res := l.rig.run(t)
		if res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 1000 {
			t.Fatalf("stopped: %v %v", res.Stop, res.Err)
		}
		// Ten in flight for four seconds each: those of 0, 4 and 8 seconds.
		if asked["0.0000025"] != 30 || asked["0.000005"]+asked["0.0000050"] != 970 {
			t.Errorf("asked at prices %v, want 30 at the old one", asked)
		}
		holds := map[eyrie.Money]int{}
		for _, rec := range l.rig.journal.recs {
			if s, ok := rec.(*eyrie.StartedRecord); ok {
				holds[s.Hold]++
			}
		}
		if len(holds) != 2 {
			t.Errorf("holds %v, want those of two prices", holds)
		}
	})
}

func TestLaneOutsideThePolicyClosesAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *listing
		busy := map[string][]time.Duration{}
		l = drifting(func(q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			busy[q.Lane.Tag] = append(busy[q.Lane.Tag], time.Since(l.began))
			return answered(q)
		}, func(since time.Duration) ([]dispatch.Lane, error) {
			out := ""
			if since >= 10*time.Second && since < 30*time.Second {
				out = "quantization fp4 rounds the model's own int4 to another format"
			}
			return []dispatch.Lane{l.offered(testLane("one"), out), l.offered(testLane("two"), "")}, nil
		})
		res := l.rig.run(t)
		if res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 1000 {
			t.Fatalf("stopped: %v %v", res.Stop, res.Err)
		}
		for tag, times := range busy {
			for _, at := range times {
				if at == 10*time.Second || at == 30*time.Second {
					continue // before or after the list
				}
				if closed := at > 10*time.Second && at < 30*time.Second; closed != (tag == "two") {
					t.Fatalf("%s was asked at %v", tag, at)
				}
			}
		}
		if c := l.lane(res, "one").Closed; c != "" {
			t.Errorf("the lane that came back is closed: %s", c)
		}
	})
}

// TestVanishedTagIsLookedUpAtOnce: the only lane is not found; the list, read at
// once, shows what it is called now, and the run goes on there.
func TestVanishedTagIsLookedUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *listing
		l = drifting(func(q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if q.Lane.Tag == "moon/int4" && time.Since(l.began) > 3*time.Second {
				return missing(q)
			}
			return answered(q)
		}, func(since time.Duration) ([]dispatch.Lane, error) {
			tag := "moon/int4"
			if since > 3*time.Second {
				tag = "moon/mxfp4"
			}
			named := testLane(tag)
			named.Provider = "Moon"
			always := testLane("moon/turbo")
			always.Provider = "Moon"
			return []dispatch.Lane{l.offered(named, ""), l.offered(always, "not in only")}, nil
		})
		res := l.rig.run(t)
		if res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 1000 || res.Snapshot.Sets[0].GaveUp != 0 {
			t.Fatalf("stopped: %v %v", res.Stop, res.Err)
		}
		if l.reads[0] >= 10*time.Second {
			t.Errorf("the list was read at %v, want at once", l.reads)
		}
		if c := l.lane(res, "moon/int4").Closed; c != "it seems to be moon/mxfp4 now" {
			t.Errorf("the lane is closed because %q", c)
		}
	})
}

func TestNotFoundThoughListed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		moves time.Duration // when the list shows another price; 0 never
		want  dispatch.Stop
		reads int
	}{
		{"as before: it stays closed", 0, dispatch.Refused, 3},
		{"at another price: it opens", time.Millisecond, dispatch.Exhausted, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l *listing
				l = drifting(func(q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
					if q.Lane.OutputPrice == price("0.0000025") && time.Since(l.began) > 3*time.Second {
						return missing(q) // the price it was asked at is too low
					}
					return answered(q)
				}, func(since time.Duration) ([]dispatch.Lane, error) {
					if tt.moves > 0 && since > tt.moves {
						return []dispatch.Lane{l.offered(costing("one", "0.000003"), "")}, nil
					}
					return []dispatch.Lane{l.offered(costing("one", "0.0000025"), "")}, nil
				})
				res := l.rig.run(t)
				if res.Stop != tt.want {
					t.Fatalf("stopped: %v %v", res.Stop, res.Err)
				}
				if tt.reads > 0 && len(l.reads) != tt.reads {
					t.Errorf("the list was read %d times, want %d", len(l.reads), tt.reads)
				}
			})
		})
	}
}

// TestUnreadableListIsAWarning: a list that cannot be read changes nothing, and
// ends a run only when every lane is closed and it stays unreadable.
func TestUnreadableListIsAWarning(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(q *eyrie.Request) (*eyrie.Answer, time.Duration, error)
		want   dispatch.Stop
	}{
		{"while lanes are open", answered, dispatch.Exhausted},
		{"when no lane is left", missing, dispatch.Refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l *listing
				l = drifting(tt.answer, func(since time.Duration) ([]dispatch.Lane, error) {
					return []dispatch.Lane{l.offered(testLane("one"), "")}, errors.New("no route to host")
				})
				res := l.rig.run(t)
				if res.Stop != tt.want || len(l.reads) < 3 {
					t.Errorf("stopped: %v %v after %d readings", res.Stop, res.Err, len(l.reads))
				}
			})
		})
	}
}

// TestListThatIsEmptyForAMoment does not end the run.
func TestListThatIsEmptyForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *listing
		l = drifting(answered, func(since time.Duration) ([]dispatch.Lane, error) {
			if since > 5*time.Second && since < 25*time.Second {
				return nil, nil
			}
			return []dispatch.Lane{l.offered(testLane("one"), "")}, nil
		})
		res := l.rig.run(t)
		if res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 1000 {
			t.Errorf("stopped: %v %v", res.Stop, res.Err)
		}
	})
}

// TestEndDoesNotWaitForTheList: a reading that hangs is cut off when the run
// ends.
func TestEndDoesNotWaitForTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *listing
		l = drifting(answered, func(since time.Duration) ([]dispatch.Lane, error) {
			return []dispatch.Lane{l.offered(testLane("one"), "")}, nil
		})
		l.rig.cfg.Refresh = func(ctx context.Context) ([]dispatch.Lane, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		res := l.rig.run(t)
		if took := time.Since(l.began); res.Stop != dispatch.Exhausted || took > 105*time.Second {
			t.Errorf("stopped: %v after %v", res.Stop, took)
		}
	})
}

// TestLearnedOverrunSurvivesTheList: what a run has learned of a lane is not in
// the list, and not forgotten for it.
func TestLearnedOverrunSurvivesTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *listing
		first := true
		l = drifting(func(q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if since := time.Since(l.began); since > 2*time.Second && !q.Lane.Overruns {
				t.Fatalf("forgotten after %v", since)
			}
			if first {
				first = false
				a := good(q, 1500)
				return a, time.Second, &eyrie.Error{Kind: eyrie.Elsewhere, Charged: eyrie.ChargedYes, Class: "overrun"}
			}
			return answered(q)
		}, func(since time.Duration) ([]dispatch.Lane, error) {
			e := testLane("one")
			e.MaxOutput = 2000
			return []dispatch.Lane{l.offered(e, "")}, nil
		})
		if res := l.rig.run(t); res.Stop != dispatch.Exhausted || len(l.reads) < 5 {
			t.Errorf("stopped: %v %v after %d readings", res.Stop, res.Err, len(l.reads))
		}
	})
}

func TestNoLaneThatMayAnswer(t *testing.T) {
	r := newRig(eyrie.Dollar, nil)
	r.cfg.Lanes[0].Out = "in ignore"
	if _, err := dispatch.New(r.cfg); err == nil || !strings.Contains(err.Error(), "no lane may answer") {
		t.Errorf("New: %v", err)
	}
}
