package openrouter_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/progress"
	"github.com/eyrie-ai/eyrie/route"
)

// records is a journal in memory.
type records struct {
	mu   sync.Mutex
	list []eyrie.Record
}

func (j *records) Append(rs ...eyrie.Record) (journal.Ref, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = append(j.list, rs...)
	return journal.Ref{Segment: 1, Offset: int64(len(j.list) - 1)}, nil
}

func (j *records) Note(r eyrie.Record) error {
	_, err := j.Append(r)
	return err
}

func (j *records) Failed() <-chan struct{} { return nil }
func (j *records) Err() error              { return nil }

// questions are prompts that all differ.
func questions(n int) iter.Seq2[*eyrie.Prompt, error] {
	return func(yield func(*eyrie.Prompt, error) bool) {
		for i := range n {
			p := &eyrie.Prompt{Set: "set", ID: fmt.Sprint(i), Ordinal: i}
			p.Messages = []eyrie.Message{{Role: eyrie.User, Content: fmt.Sprintf("Why is the sky of planet %d blue?", i)}}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// TestRunThroughDrift runs a job while the catalogue changes under it: a price
// rises, an endpoint takes another quantization, a tag is renamed. Nothing is
// asked twice for money, nothing is lost, and each change is said.
func TestRunThroughDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *emulator.Scenario, _ *openrouter.Config) {
			s.Text.MedianTokens = 100
			s.Timing.TTFT, s.Timing.TokenRate = time.Second, 50
			s.Drift = []emulator.Change{
				{At: 15 * time.Second, Endpoint: atlas, PriceTimes: "1.1"},
				{At: 30 * time.Second, Endpoint: "siliconflow/int4", Quantization: "fp4"},
				{At: 45 * time.Second, Endpoint: atlas, Rename: "atlas-cloud/fast"},
			}
		})
		policy := route.Policy{Quantizations: []string{"int4"}, Native: "int4"}
		reads := 0
		lanes := func(ctx context.Context) ([]dispatch.Lane, error) {
			reads++
			cat, err := w.client.Endpoints(ctx, model)
			if err != nil {
				return nil, err
			}
			verdicts := policy.Judge(cat.Lanes)
			var out []dispatch.Lane
			for _, l := range route.Order(verdicts) {
				out = append(out, dispatch.Lane{Lane: l, Engine: w.client, Limit: limit.Config{Max: 6}})
			}
			for _, v := range verdicts {
				if !v.Allowed {
					out = append(out, dispatch.Lane{Lane: v.Lane, Engine: w.client, Out: v.Reason})
				}
			}
			return out, nil
		}
		first, err := lanes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		cfg := dispatch.Config{
			Run: "drift", Model: model, Sampling: &eyrie.Mix{Parts: []eyrie.Part{{Weight: 1, Sampling: eyrie.Sampling{MaxTokens: 4096, Thinking: true}}}}, Concurrency: 12,
			Lanes: first, Refresh: lanes, RefreshEvery: 20 * time.Second,
			Sets:    []dispatch.Set{{Name: "set", Target: 1 << 40, Prompts: questions(300)}},
			Journal: &records{}, State: progress.New(), Ledger: ledger.New(20 * eyrie.Dollar),
			Count: func(*eyrie.Generation, eyrie.Sampling) (int, error) { return 60, nil },
			Log:   slog.New(slog.NewTextHandler(&said, nil)),
		}
		run, err := dispatch.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		res := run.Run(t.Context())
		if res.Stop != dispatch.Exhausted || res.Snapshot.Sets[0].Rows != 300 || res.Snapshot.Sets[0].GaveUp != 0 {
			t.Fatalf("stopped: %v %v with %+v", res.Stop, res.Err, res.Snapshot.Sets)
		}
		if spent := int64(cfg.Ledger.Spent()); spent != w.Totals().Spend || cfg.Ledger.Unbilled() != 0 {
			t.Errorf("the ledger has %d, the vendor %d", spent, w.Totals().Spend)
		}
		if f := emulator.Examine(w.Books(), nil); len(f.ChargedTwice)+len(f.AfterStop)+len(f.TooSoon) > 0 {
			t.Errorf("the vendor finds: %v", f)
		}
		served := map[string]int{}
		for _, e := range w.Books() {
			if e.Outcome == emulator.Completed {
				served[e.Endpoint]++
			}
		}
		if served[atlas] == 0 || served["siliconflow/int4"] == 0 || served["atlas-cloud/fast"] == 0 || len(served) != 3 {
			t.Errorf("served by %v", served)
		}
		for _, want := range []string{
			"the terms of a lane changed", "was=\"int4 at $0.49/M in, $2.50/M out, $0.20/M cached\" is=\"int4 at $0.539/M in, $2.75/M out, $0.22/M cached\"",
			"lane open again",
			"lane=siliconflow/int4 why=\"quantization fp4 rounds the model's own int4 to another format\"",
			"lane=atlas-cloud/int4 why=\"it seems to be atlas-cloud/fast now\"",
			"a new lane\" lane=atlas-cloud/fast",
		} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("nothing says %q", want)
			}
		}
		if t.Failed() {
			t.Logf("%d readings\n%s", reads, &said)
		}
	})
}
