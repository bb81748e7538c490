package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/engine/openai"
	"github.com/eyrie-ai/eyrie/engine/sglang"
	"github.com/eyrie-ai/eyrie/engine/vllm"
	"github.com/eyrie-ai/eyrie/internal/config"
	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/route"
	"github.com/eyrie-ai/eyrie/tokens"
)

// localEngine is a client of a server of one's own.
type localEngine interface {
	dispatch.Engine
	Load(ctx context.Context) (eyrie.Load, error)
	Inspect(ctx context.Context, model string) (sglang.Facts, error)
	Close()
}

var (
	_ localEngine = (*sglang.Client)(nil)
	_ localEngine = (*vllm.Client)(nil)
	_ localEngine = (*openai.Client)(nil)
)

// local is a server of one's own with its lane. A server is looked at before
// it gets work, and again whenever it has been away: what comes back under its
// address may be another model.
type local struct {
	localEngine
	conf *config.Local
	job  *config.Job
	lane *eyrie.Lane

	mu        sync.Mutex
	facts     sglang.Facts
	inspected bool
	away      error // why it was not there when the session began
}

// newLocal makes the client of a server of one's own, and its lane. codec may
// be nil, and then nothing can be asked.
func newLocal(job *config.Job, e config.Engine, codec eyrie.Codec) (*local, error) {
	c := e.Local
	key, err := c.Key()
	if err != nil {
		return nil, &exitError{exitConfig, err}
	}
	l := &local{conf: c, job: job, lane: &eyrie.Lane{
		Engine: e.Name, Tag: e.Name, Provider: c.Kind, PromptPrice: eyrie.Free, OutputPrice: eyrie.Free,
	}}
	agent, streams := "eyrie/"+programVersion(), cmp.Or(c.Concurrency, job.Concurrency)
	switch c.Kind {
	case config.SGLang:
		l.localEngine, err = sglang.New(sglang.Config{
			BaseURL: c.BaseURL, Key: key.Reveal(), Model: c.Model, IDs: c.IDs && codec != nil, Codec: codec, Gather: gather, MaxStreams: streams, UserAgent: agent,
		})
	case config.VLLM:
		l.localEngine, err = vllm.New(vllm.Config{
			BaseURL: c.BaseURL, Key: key.Reveal(), Model: c.Model, IDs: c.IDs && codec != nil, Codec: codec, Gather: gather, MaxStreams: streams, UserAgent: agent,
		})
	default:
		l.localEngine, err = openai.New(openai.Config{
			BaseURL: c.BaseURL, Key: key.Reveal(), Model: c.Model, Codec: codec, Gather: gather, MaxStreams: streams, UserAgent: agent,
		})
	}
	if err != nil {
		return nil, &exitError{exitConfig, err}
	}
	return l, nil
}

// Load asks how busy the server is, and looks at it first where it has been
// away.
func (l *local) Load(ctx context.Context) (eyrie.Load, error) {
	if err := l.inspect(ctx); err != nil {
		return eyrie.Load{}, err
	}
	load, err := l.localEngine.Load(ctx)
	if err != nil {
		l.forget()
	}
	return load, err
}

// Stream makes one attempt. An answer that another model may have given has the
// server looked at again.
func (l *local) Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error] {
	return func(yield func(eyrie.Event, error) bool) {
		for ev, err := range l.localEngine.Stream(ctx, r) {
			if e, ok := eyrie.AsError(err); ok && slices.Contains([]string{"404", "wrong model", "ids", "no ids"}, e.Class) {
				l.forget()
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// known is what was last seen of the server, and whether that still holds.
func (l *local) known() (sglang.Facts, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.facts, l.inspected
}

func (l *local) forget() {
	l.mu.Lock()
	l.inspected = false
	l.mu.Unlock()
}

// inspect looks at the server unless that has been done since it was away.
func (l *local) inspect(ctx context.Context) error {
	l.mu.Lock()
	done := l.inspected
	l.mu.Unlock()
	if done {
		return nil
	}
	facts, err := l.Inspect(ctx, l.job.Model)
	if err != nil {
		return l.explain(err)
	}
	if err := l.suits(facts); err != nil {
		return err
	}
	l.mu.Lock()
	l.facts, l.inspected = facts, true
	l.mu.Unlock()
	return nil
}

// suits holds the server's context against what the job asks for.
func (l *local) suits(f sglang.Facts) error {
	most := l.job.Sampling.MaxTokens
	if f.Context > 0 && f.Context <= most {
		return l.conf.Fault("base_url", fmt.Sprintf("%q, a server with room for %d tokens, and max_tokens alone is %d", l.conf.BaseURL, f.Context, most),
			"start it with a longer context, or lower max_tokens")
	}
	return nil
}

// explain says at which field of the job file the server is at fault.
func (l *local) explain(err error) error {
	e, ok := eyrie.AsError(err)
	if !ok {
		return l.conf.Fault("base_url", fmt.Sprintf("%q: %v", l.conf.BaseURL, err), "look at the server")
	}
	switch e.Class {
	case "wrong model":
		return l.conf.Fault("model", e.Err.Error(), e.Hint)
	case "wrong tokenizer":
		return l.conf.Fault("base_url", fmt.Sprintf("%q, %v", l.conf.BaseURL, e.Err), e.Hint)
	case "401", "403":
		return l.conf.Fault("key_file", fmt.Sprintf("no key that %s takes: %v", l.conf.BaseURL, e.Err), "name the file that holds the server's key")
	case "connection":
		return &unreachedError{l.conf.Fault("base_url", fmt.Sprintf("%q, where no server answers: %v", l.conf.BaseURL, e.Err),
			"start the server, mend the address, or take the entry out")}
	}
	return l.conf.Fault("base_url", fmt.Sprintf("%q, a server that does not answer as %s does: %s: %v", l.conf.BaseURL, l.conf.Kind, e.Op, e.Err), cmp.Or(e.Hint, "look at the server"))
}

// unreachedError says that a server is not there, which may pass.
type unreachedError struct{ error }

func (e *unreachedError) Unwrap() error { return e.error }

// joinLocal adds a server of one's own to the session. One that cannot answer
// for the job is refused. One that is not there is not: it gets its lane, which
// opens when it comes.
func (a *app) joinLocal(ctx context.Context, s *session, e config.Engine) error {
	var codec eyrie.Codec
	if s.model != nil {
		codec = tokens.Codec{Rebuilder: s.model.rebuilder}
	}
	l, err := newLocal(s.job, e, codec)
	if err != nil {
		return err
	}
	s.locals = append(s.locals, l) // from here on the session closes it
	if l.conf.IDs && s.job.Sampling.Effort != "" {
		return &exitError{exitConfig, l.conf.Fault("via", "ids, and sampling.effort is "+s.job.Sampling.Effort, "write chat: an effort cannot be asked for in ids")}
	}
	v := route.Verdict{Lane: l.lane, Allowed: true}
	if err := l.inspect(ctx); err != nil {
		if _, away := errors.AsType[*unreachedError](err); !away {
			return &exitError{exitConfig, err}
		}
		l.away = err
	}
	facts, _ := l.known()
	l.lane.Reserves = l.conf.Kind != config.OpenAI // llama.cpp's server ends the answer where the room does
	l.lane.Context, l.lane.AtOnce = facts.Context, atOnce(l.conf.Concurrency, facts.AtOnce)
	s.catalogue = append(s.catalogue, v)
	return nil
}

// anyThere refuses a job all of whose lanes are servers that are not there.
func (s *session) anyThere(tell func(format string, args ...any)) error {
	var errs []error
	for _, l := range s.locals {
		if l.away != nil {
			errs = append(errs, l.away)
		}
	}
	if len(errs) > 0 && len(errs) == len(s.lanes()) {
		return &exitError{exitRefused, errors.Join(errs...)}
	}
	for _, err := range errs {
		tell("%v; the run begins without it, and it gets work when it comes\n", err)
	}
	return nil
}

// dispatchLane is the lane as the run takes it.
func (l *local) dispatchLane() dispatch.Lane {
	most := min(cmp.Or(l.conf.Concurrency, l.job.Concurrency), l.job.Concurrency)
	return dispatch.Lane{Lane: l.lane, Engine: l, Limit: limit.Config{Start: min(l.lane.AtOnce, most), Max: most}}
}

// atOnce is how many requests a server works on at once by the job file's word
// and its own; 0 unstated.
func atOnce(own, said int) int {
	switch {
	case own == 0:
		return said
	case said == 0:
		return own
	default:
		return min(own, said)
	}
}

// describe says what the server is, for people.
func (l *local) describe() string {
	f, there := l.known()
	if !there {
		return fmt.Sprintf("%s at %s, which does not answer now", l.conf.Kind, l.conf.BaseURL)
	}
	text := l.conf.Kind
	if f.Version != "" {
		text += " " + f.Version
	}
	text += fmt.Sprintf(" at %s serves %s", l.conf.BaseURL, f.Model)
	if f.Context > 0 {
		text += fmt.Sprintf(", context %d", f.Context)
	}
	if f.AtOnce > 0 {
		text += fmt.Sprintf(", %d requests at once", f.AtOnce)
	}
	switch {
	case l.conf.IDs:
		text += ", asked in ids"
	case f.IDs:
		text += ", returns ids"
	default:
		text += ", returns text only"
	}
	text += ", tokenizer " + f.Tokenizer
	if !f.Metrics {
		text += ", no metrics"
	}
	return text
}
