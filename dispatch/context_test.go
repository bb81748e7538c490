package dispatch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
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
		const want = "the prompt has 5000 tokens, and no lane takes more than 4096 with the answer"
		for _, rec := range r.journal.recs {
			if g, ok := rec.(*eyrie.GaveUpRecord); ok && (g.Class != "prompt" || g.Detail != want) {
				t.Errorf("given up for %s: %s; want prompt: %s", g.Class, g.Detail, want)
			}
		}
	})
}
