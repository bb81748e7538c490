package dispatch_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
)

// cutter is an engine whose answers want 1500 tokens and get as many as their
// cap allows. It notes the caps that it was asked with.
func cutter(mu *sync.Mutex, caps *[]int) func(int, *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
	return func(_ int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
		mu.Lock()
		*caps = append(*caps, q.Sampling.MaxTokens)
		mu.Unlock()
		a := good(q, min(1500, q.Sampling.MaxTokens))
		if q.Sampling.MaxTokens < 1500 {
			a.FinishReason = eyrie.FinishLength
		}
		return a, time.Second, nil
	}
}

// TestOnLength asks one prompt of two turns for an answer that does not fit.
func TestOnLength(t *testing.T) {
	for _, tt := range []struct {
		name    string
		policy  eyrie.OnLength
		retry   int
		caps    []int // of the attempts, in order
		set     eyrie.SetSnapshot
		cost    string
		reasons map[eyrie.Break]int
	}{
		{"nothing said", "", 0, []int{1000}, eyrie.SetSnapshot{Rows: 1, Have: 1000}, "0.00255", map[eyrie.Break]int{eyrie.BreakLength: 1}},
		{"keep", eyrie.KeepCut, 0, []int{1000}, eyrie.SetSnapshot{Rows: 1, Have: 1000}, "0.00255", map[eyrie.Break]int{eyrie.BreakLength: 1}},
		{"drop", eyrie.DropCut, 0, []int{1000}, eyrie.SetSnapshot{Dropped: 1}, "0.00255", map[eyrie.Break]int{eyrie.BreakLength: 1}},
		{"retry", eyrie.RetryCut, 2000, []int{1000, 2000, 1000, 2000}, eyrie.SetSnapshot{Rows: 2, Have: 3000}, "0.0127", nil},
		{"retry, and cut again", eyrie.RetryCut, 1200, []int{1000, 1200}, eyrie.SetSnapshot{Rows: 1, Have: 1200}, "0.0056", map[eyrie.Break]int{eyrie.BreakLength: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var caps []int
				r := newRig(eyrie.Dollar, cutter(&mu, &caps))
				r.cfg.OnLength, r.cfg.RetryTokens = tt.policy, tt.retry
				r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 1, eyrie.User, eyrie.Assistant, eyrie.User)}}
				res := r.run(t)
				got := res.Snapshot.Sets[0]
				if got.Rows != tt.set.Rows || got.Have != tt.set.Have || got.Dropped != tt.set.Dropped || got.GaveUp != 0 {
					t.Errorf("the set is %+v", got)
				}
				if len(got.Breaks) != len(tt.reasons) || got.Breaks[eyrie.BreakLength] != tt.reasons[eyrie.BreakLength] {
					t.Errorf("conversations end for %v, want %v", got.Breaks, tt.reasons)
				}
				if !slices.Equal(caps, tt.caps) {
					t.Errorf("asked with the caps %v, want %v", caps, tt.caps)
				}
				if want, _ := eyrie.ParseMoney(tt.cost); r.cfg.Ledger.Spent() != want {
					t.Errorf("it cost %s, want %s", r.cfg.Ledger.Spent(), want)
				}
				r.holds(t)
			})
		})
	}
}

// holds checks that what was held for each attempt is its own worst case.
func (r *rig) holds(t *testing.T) {
	t.Helper()
	for _, rec := range r.journal.recs {
		s, ok := rec.(*eyrie.StartedRecord)
		if !ok {
			continue
		}
		lane := r.cfg.Lanes[0].Lane
		least, most := lane.WorstCase(s.PromptTokens, s.Sampling.MaxTokens), lane.WorstCase(2*s.PromptTokens, s.Sampling.MaxTokens)
		if s.Hold < least || s.Hold > most {
			t.Errorf("attempt %d with a cap of %d held %s, want %s to %s", s.Attempt, s.Sampling.MaxTokens, s.Hold, least, most)
		}
	}
}

// TestACutAnswerIsRememberedAcrossProcesses: a run that ends between the two
// tries goes on with the second.
func TestACutAnswerIsRememberedAcrossProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var caps []int
		r := newRig(eyrie.Dollar, cutter(&mu, &caps))
		r.cfg.OnLength, r.cfg.RetryTokens, r.cfg.PaidAttempts = eyrie.RetryCut, 2000, 1 // so that the first session gives up
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 1)}}
		r.session(t, time.Second, true)
		r.cfg.PaidAttempts = 4
		r.session(t, time.Second, true)
		if want := []int{1000, 2000}; !slices.Equal(caps, want) {
			t.Errorf("asked with the caps %v, want %v", caps, want)
		}
	})
}

// TestMixedRows: each row is sampled as the mix says, all turns of it alike, and
// held for by its own cap; its key is that of its sampling.
func TestMixedRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(_ int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			return good(q, 10), time.Second, nil
		})
		r.cfg.Sampling = &eyrie.Mix{Seed: 3, Parts: []eyrie.Part{
			{Weight: 1, Sampling: eyrie.Sampling{MaxTokens: 100, Thinking: true, Effort: "low"}},
			{Weight: 2, Sampling: eyrie.Sampling{MaxTokens: 300, Temperature: new(0.5)}},
		}}
		var mu sync.Mutex
		counted := map[int]int{}
		r.cfg.Count = func(g *eyrie.Generation, s eyrie.Sampling) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			counted[s.MaxTokens]++
			return 100, nil
		}
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Samples: 3, Prompts: prompts("a", 40, eyrie.User, eyrie.Assistant, eyrie.User)}}
		r.run(t)
		taken := map[int]int{}
		for _, rec := range r.journal.recs {
			s, ok := rec.(*eyrie.StartedRecord)
			if !ok {
				continue
			}
			want := r.cfg.Sampling.Pick(s.Prompt, s.Sample)
			if s.Sampling.Digest() != want.Digest() {
				t.Errorf("prompt %s, sample %d, turn %d is sampled by %+v, want %+v", s.Prompt, s.Sample, s.Turn, s.Sampling, want)
			}
			if s.Key != eyrie.GenerationKey(s.Prompt, s.Turn, s.Sample, "a/b", want.Digest()) {
				t.Errorf("the key of prompt %s is not that of its sampling", s.Prompt)
			}
			taken[want.MaxTokens]++
		}
		if taken[100]+taken[300] != 240 || taken[100] < 40 || taken[300] < 100 {
			t.Errorf("the parts were taken %v times", taken)
		}
		if counted[100] != taken[100] || counted[300] != taken[300] {
			t.Errorf("prompts were counted %v times, and asked %v times", counted, taken)
		}
		r.holds(t)
	})
}
