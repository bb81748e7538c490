package dispatch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
)

// askable is a fake whose account can be probed.
type askable struct {
	*fake
	probe  func() error
	probes []time.Time
}

func (a *askable) Probe(context.Context) error {
	a.probes = append(a.probes, time.Now())
	return a.probe()
}

// unknownKey is the refusal of a key that the vendor does not know for now.
func unknownKey(wait time.Duration) error {
	return &eyrie.Error{Kind: eyrie.Pause, Charged: eyrie.ChargedNo, Class: "401", LaneWide: true, RetryAfter: wait, Err: errors.New("user not found")}
}

// blip is a vendor that refuses every request between two moments, and notes
// when it was asked.
type blip struct {
	began    time.Time
	from, to time.Duration
	wait     time.Duration // that it asks for
	asked    []time.Duration
}

func (b *blip) down() bool {
	at := time.Since(b.began)
	return at >= b.from && at < b.to
}

// pausing makes a rig whose vendor has a blip.
func pausing(b *blip) *rig {
	b.began = time.Now()
	var r *rig
	r = newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
		r.engine.mu.Lock()
		b.asked = append(b.asked, time.Since(b.began))
		r.engine.mu.Unlock()
		if b.down() {
			return &eyrie.Answer{}, 0, unknownKey(b.wait)
		}
		return good(q, 50), 7 * time.Second, nil
	})
	r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 1000)}}
	return r
}

// during counts the requests that came while the vendor refused them.
func (b *blip) during() (n int) {
	for _, at := range b.asked {
		if at >= b.from && at < b.to {
			n++
		}
	}
	return n
}

func TestPauseUntilTheVendorTakesRequests(t *testing.T) {
	const together = 100 // attempts that are refused at once: one slot each
	for _, row := range []struct {
		name   string
		blip   blip
		probe  func(b *blip) func() error // nil: the engine cannot be probed
		trials int                        // requests during the blip beyond the first round, at most
		late   time.Duration              // from the end of the blip to the next request, at most
	}{
		{"the probe tells", blip{from: 10 * time.Second, to: 5 * time.Minute}, func(b *blip) func() error {
			return func() error {
				if b.down() {
					return unknownKey(0)
				}
				return nil
			}
		}, 0, time.Minute},
		{"the probe says that all is well", blip{from: 10 * time.Second, to: 5 * time.Minute}, func(*blip) func() error {
			return func() error { return nil }
		}, 10, time.Minute},
		{"nothing to probe with", blip{from: 10 * time.Second, to: 5 * time.Minute}, nil, 10, time.Minute},
		{"the probe does not get through", blip{from: 10 * time.Second, to: 3 * time.Minute}, func(b *blip) func() error {
			return func() error {
				if b.down() {
					return &eyrie.Error{Kind: eyrie.Again, Class: "connection"}
				}
				return nil
			}
		}, 0, time.Minute},
		{"a block of the edge", blip{from: 10 * time.Second, to: 50 * time.Second, wait: time.Minute}, func(b *blip) func() error {
			return func() error { return nil }
		}, 0, time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := row.blip
				r := pausing(&b)
				if row.probe != nil {
					r.cfg.Lanes[0].Engine = &askable{fake: r.engine, probe: row.probe(&b)}
				}
				res := r.run(t)
				if res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 1000 || res.Snapshot.Sets[0].GaveUp != 0 {
					t.Fatalf("stopped: %v %v with %d rows, %d given up", res.Stop, res.Err, res.Snapshot.Sets[0].Rows, res.Snapshot.Sets[0].GaveUp)
				}
				if n := b.during(); n == 0 || n > together+row.trials {
					t.Errorf("%d requests while every one was refused, want at most %d", n, together+row.trials)
				}
				for _, at := range b.asked {
					if at >= b.to {
						if at-b.to > row.late {
							t.Errorf("the next request came %v after the end", at-b.to)
						}
						break
					}
				}
				for i, at := range b.asked {
					if i > 0 && at >= b.from && at-b.asked[i-1] > time.Second && at-b.asked[i-1] < row.blip.wait && b.asked[i-1] >= b.from {
						t.Errorf("asked again %v after the vendor wanted to be left alone for %v", at-b.asked[i-1], row.blip.wait)
						break
					}
					if at >= b.to {
						break
					}
				}
			})
		})
	}
}

func TestPauseEndsAfterTenMinutes(t *testing.T) {
	for _, row := range []struct {
		name  string
		probe func() error
	}{
		{"the probe is refused", func() error { return unknownKey(0) }},
		{"the probe is answered, requests are refused", func() error { return nil }},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := blip{from: 10 * time.Second, to: 1000 * time.Hour}
				r := pausing(&b)
				e := &askable{fake: r.engine, probe: row.probe}
				r.cfg.Lanes[0].Engine = e
				res := r.run(t)
				took := time.Since(b.began) - 10*time.Second
				if res.Stop != dispatch.Refused || res.Err == nil || !strings.Contains(res.Err.Error(), "user not found") {
					t.Fatalf("stopped: %v %v", res.Stop, res.Err)
				}
				if took < 10*time.Minute || took > 12*time.Minute {
					t.Errorf("it gave up after %v", took)
				}
				if res.Snapshot.Sets[0].GaveUp != 0 {
					t.Errorf("%d prompts were given up for it", res.Snapshot.Sets[0].GaveUp)
				}
				if n := len(e.probes); n < 10 || n > 20 {
					t.Errorf("%d probes in ten minutes", n)
				}
			})
		})
	}
}

func TestPauseHeedsAProbeThatSaysStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := blip{from: 10 * time.Second, to: time.Hour}
		r := pausing(&b)
		revoked := &eyrie.Error{Kind: eyrie.StopRun, Class: "403", Err: errors.New("the key is disabled")}
		r.cfg.Lanes[0].Engine = &askable{fake: r.engine, probe: func() error { return revoked }}
		res := r.run(t)
		if took := time.Since(b.began); res.Stop != dispatch.Refused || !errors.Is(res.Err, revoked) || took > time.Minute {
			t.Errorf("stopped: %v %v after %v", res.Stop, res.Err, took)
		}
	})
}

func TestPauseCanBeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := blip{from: 10 * time.Second, to: time.Hour}
		r := pausing(&b)
		var d *dispatch.Runner
		r.cfg.Lanes[0].Engine = &askable{fake: r.engine, probe: func() error {
			if time.Since(b.began) > 2*time.Minute {
				d.Drain()
			}
			return unknownKey(0)
		}}
		d, err := dispatch.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		res := d.Run(t.Context())
		r.check(t)
		if took := time.Since(b.began); res.Stop != dispatch.Interrupted || took > 4*time.Minute {
			t.Errorf("stopped: %v %v after %v", res.Stop, res.Err, took)
		}
	})
}

// TestPauseLeavesBillsAlone asks for no bill while the edge blocks this machine.
func TestPauseLeavesBillsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := blip{from: 10 * time.Second, to: 60 * time.Second, wait: time.Minute}
		r := pausing(&b)
		answer := r.engine.answer
		r.engine.answer = func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if n <= 10 { // cut just before the block, and billed
				return &eyrie.Answer{}, 9 * time.Second, &eyrie.Error{Kind: eyrie.Again, Class: "stream cut"}
			}
			return answer(n, q)
		}
		e := &billing{askable: &askable{fake: r.engine, probe: func() error { return nil }}, blip: &b}
		r.cfg.Lanes[0].Engine = e
		if res := r.run(t); res.Stop != dispatch.Exhausted || res.Snapshot.Unbilled == 0 {
			t.Fatalf("stopped: %v %v, %s unbilled", res.Stop, res.Err, res.Snapshot.Unbilled)
		}
		if e.blocked > 10 || e.asked == 0 {
			t.Errorf("%d of %d look-ups were made during the block", e.blocked, e.asked)
		}
	})
}

// billing counts look-ups of bills.
type billing struct {
	*askable
	blip           *blip
	asked, blocked int
}

func (b *billing) Bill(context.Context, string) (eyrie.Money, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if at := time.Since(b.blip.began); at > b.blip.from+time.Second && b.blip.down() {
		b.blocked++
	}
	return 0, errors.New("no bill yet")
}
