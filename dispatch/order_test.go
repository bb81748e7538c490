package dispatch_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/route"
)

// TestDeadlineSparesDearLanes: with a deadline the dear lane does what the cheap
// one cannot do in time, and little more.
func TestDeadlineSparesDearLanes(t *testing.T) {
	for _, row := range []struct {
		name     string
		deadline time.Duration
		low, up  float64 // share of the dear lane
	}{
		{"time enough", time.Hour, 0, 0.08},
		{"part of it can wait", 15 * time.Minute, 0.25, 0.6},
		{"no deadline", 0, 0.6, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &vendor{
					began: time.Now(), rng: rand.New(rand.NewPCG(1, 2)), mean: 1000, paid: map[string]eyrie.Money{},
					lanes: map[string]*playedLane{"cheap": fast("cheap", flat(50)), "dear": fast("dear", flat(100))},
				}
				r := newRig(1_000*eyrie.Dollar, nil)
				r.cfg.Lanes = nil
				for _, tag := range []string{"cheap", "dear"} {
					r.cfg.Lanes = append(r.cfg.Lanes, dispatch.Lane{Lane: testLane(tag), Engine: v})
				}
				r.cfg.Concurrency = 1000
				r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 3_000_000, Prompts: prompts("a", 1<<30)}}
				if row.deadline > 0 {
					r.cfg.Sort, r.cfg.Deadline = route.ByDeadline, row.deadline
				}
				d, err := dispatch.New(r.cfg)
				if err != nil {
					t.Fatal(err)
				}
				res := d.Run(t.Context())
				took := time.Since(v.began)
				if res.Stop != dispatch.Finished || row.deadline > 0 && took > row.deadline+time.Minute {
					t.Errorf("stopped: %v %v after %v", res.Stop, res.Err, took)
				}
				share := float64(res.Snapshot.Lanes[1].Tokens) / float64(res.Snapshot.Lanes[0].Tokens+res.Snapshot.Lanes[1].Tokens)
				t.Logf("%.2f of the tokens came from the dear lane, in %v", share, took)
				if share < row.low || share > row.up {
					t.Errorf("%.2f of the tokens came from the dear lane, want %.2f to %.2f", share, row.low, row.up)
				}
			})
		})
	}
}
