package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/progress"
)

// everything is a run as eyrie run makes it: the client with its verification,
// reservations and bills, and the journal, which is on disk before an answer
// counts.
func everything(l *load, addr, cert string) (report, error) {
	debug.SetGCPercent(50) // as eyrie run does
	dir, err := os.MkdirTemp("", "bench-run-")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return report{}, err
	}
	defer root.Close()
	j, _, err := journal.Open(root, nil)
	if err != nil {
		return report{}, err
	}
	defer j.Close()
	c, err := openrouter.New(openrouter.Config{BaseURL: addr, MaxStreams: l.Streams, Gather: time.Second, TLS: roots(cert)})
	if err != nil {
		return report{}, err
	}
	defer c.Close()
	budget := 1_000_000 * eyrie.Dollar
	led := ledger.New(budget)
	count := &counter{Client: c}
	if l.Soak {
		count.soak = newSoak(l)
	}
	lane := &eyrie.Lane{Engine: "openrouter", Tag: tag, Provider: provider, Quantization: "int4", Context: 262144, MaxOutput: 262144}
	for p, s := range map[*eyrie.Price]string{&lane.PromptPrice: promptPrice, &lane.OutputPrice: outputPrice} {
		if *p, err = eyrie.ParsePrice(s); err != nil {
			return report{}, err
		}
	}
	r, err := dispatch.New(dispatch.Config{
		Run: "bench", Model: model, Sampling: &eyrie.Mix{Parts: []eyrie.Part{{Weight: 1, Sampling: eyrie.Sampling{MaxTokens: 4 * l.Tokens}}}}, Concurrency: l.Streams,
		Lanes: []dispatch.Lane{{Lane: lane, Engine: count, Limit: limit.Config{Start: l.Streams, Max: l.Streams}}},
		Sets: []dispatch.Set{{
			Name: "bench", Target: 1 << 40, Samples: 1, Prompts: prompts(l),
		}},
		Journal: j, State: progress.New(), Ledger: led,
		Count:   func(*eyrie.Generation, eyrie.Sampling) (int, error) { return promptTokens, nil },
		Earlier: func(journal.Ref) (*eyrie.EndedRecord, error) { return nil, errors.New("nothing is earlier") },
	})
	if err != nil {
		return report{}, err
	}
	res := r.Run(context.Background())
	if res.Stop != dispatch.Exhausted {
		return report{}, fmt.Errorf("the run ended: %s: %v", res.Stop, res.Err)
	}
	if err := j.Close(); err != nil {
		return report{}, err
	}
	rep := count.report
	rep.FirstText = count.wait.Seconds() / float64(l.Requests)
	return rep, nil
}

func prompts(l *load) iter.Seq2[*eyrie.Prompt, error] {
	return func(yield func(*eyrie.Prompt, error) bool) {
		for n := range l.Requests {
			p := &eyrie.Prompt{Set: "bench", ID: fmt.Sprint(n), Ordinal: n, Messages: []eyrie.Message{{Role: eyrie.User, Content: prompt(n)}}}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// counter counts and hashes what answers hold.
type counter struct {
	*openrouter.Client
	mu   sync.Mutex
	wait time.Duration
	done int
	soak *soak
	report
}

func (c *counter) Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error] {
	return func(yield func(eyrie.Event, error) bool) {
		for ev, err := range c.Client.Stream(ctx, r) {
			if ev.Kind == eyrie.Ended && err == nil {
				c.mu.Lock()
				c.Events += ev.Answer.Usage.CompletionTokens
				c.Hash += hash(ev.Answer.Content)
				c.wait += ev.Answer.FirstContent
				if c.done++; c.soak != nil && c.done%soakEvery == 0 {
					c.soak.look(c.done)
				}
				c.mu.Unlock()
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
