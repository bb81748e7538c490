package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/eyrie-ai/eyrie"
)

// Some refusals are not about a request or a lane: the vendor does not know the
// key for some minutes, or the network's edge blocks this machine. Such an
// attempt ends with [eyrie.Pause], and the run pauses: nothing new starts, what
// is under way goes on, and after a wait the account is probed, again and again
// with longer waits. A probe that is answered does not prove that requests are,
// so one attempt goes first, on trial; when a lane takes it, all others follow,
// and when it is refused too, the pause goes on. A pause that lasts for
// pausePatience ends the run, which can go on when a person has acted.

// Prober is an engine that can be asked, for nothing, whether the vendor takes
// the account's requests.
type Prober interface {
	Probe(ctx context.Context) error
}

const (
	firstProbeWait = time.Second
	maxProbeWait   = time.Minute
	pausePatience  = 10 * time.Minute
)

// pauseState is where a pause stands.
type pauseState uint8

const (
	notPaused pauseState = iota
	waiting              // until the next probe
	probing              // a probe is under way
	trying               // the next attempt goes on trial
	onTrial              // it is under way
)

// pause is the pause of a run, owned by the scheduler.
type pause struct {
	state  pauseState
	engine Engine    // that is refused
	cause  error     // the latest refusal
	since  time.Time // of the first refusal
	until  time.Time // no probe before
	wait   time.Duration
	trial  *attempt
	lifted time.Time // the end of the latest pause
}

// holds says why nothing may start, or "".
func (p *pause) holds() string {
	if p.state == notPaused || p.state == trying {
		return ""
	}
	return fmt.Sprintf("paused: every request is refused (%.120s)", causeText(p.cause))
}

// causeText is the cause of a failure without its path.
func causeText(err error) string {
	if e, ok := eyrie.AsError(err); ok {
		return describeFailure(e)
	}
	return err.Error()
}

// started takes the first attempt after an answered probe on trial.
func (p *pause) started(a *attempt) {
	if p.state == trying && a.lane.engine == p.engine {
		p.state, p.trial = onTrial, a
	}
}

// refuse pauses the run because of a refusal, or goes on with the pause. Of the
// many attempts that are refused together, the first pauses it; of those that
// began before the latest pause ended, none does.
func (s *scheduler) refuse(a *attempt) {
	p, now := &s.pause, time.Now()
	switch {
	case p.state == onTrial && p.trial == a:
		s.prolong(now, a.err)
	case p.state != notPaused:
		if t := now.Add(a.err.RetryAfter); t.After(p.until) {
			p.until = t
		}
	case a.started.After(p.lifted):
		s.cfg.Log.Error("pausing", "err", a.err)
		*p = pause{engine: a.lane.engine, since: now, wait: firstProbeWait, lifted: p.lifted}
		s.prolong(now, a.err)
	}
}

// prolong waits for the next probe, or ends the run.
func (s *scheduler) prolong(now time.Time, cause error) {
	p := &s.pause
	if lasted := now.Sub(p.since); lasted >= pausePatience && s.besides(p.engine) {
		s.closeEngine(p.engine, fmt.Sprintf("every request is refused since %v: %v", lasted.Round(time.Second), cause))
		*p = pause{lifted: now}
		return
	} else if lasted >= pausePatience {
		s.end(Refused, fmt.Errorf("every request is refused since %v: %w", lasted.Round(time.Second), cause))
		return
	}
	wait := p.wait
	if e, ok := eyrie.AsError(cause); ok {
		wait = max(wait, e.RetryAfter)
	}
	p.state, p.trial, p.cause, p.until = waiting, nil, cause, now.Add(wait)
	p.wait = min(2*p.wait, maxProbeWait)
}

// probe asks whether the vendor takes requests again, when it is time to. An
// engine that cannot be asked is tried.
func (s *scheduler) probe(now time.Time) {
	p := &s.pause
	if p.state != waiting || s.ending || now.Before(p.until) {
		return
	}
	e, ok := p.engine.(Prober)
	if !ok {
		p.state = trying
		return
	}
	p.state = probing
	s.wg.Go(func() { s.send(message{kind: probed, err: e.Probe(s.feedCtx)}) })
}

// probed draws the conclusion of a probe.
func (s *scheduler) probed(err error) {
	if err == nil {
		s.pause.state = trying
		return
	}
	if e, ok := eyrie.AsError(err); ok && e.Kind == eyrie.StopRun {
		s.end(Refused, e)
		return
	}
	s.prolong(time.Now(), err)
}

// taken ends the pause when a lane takes the attempt on trial, or when that
// ends in any other way than with the same refusal.
func (s *scheduler) taken(a *attempt) {
	p := &s.pause
	if p.state != onTrial || p.trial != a {
		return
	}
	now := time.Now()
	s.cfg.Log.Info("going on", "after", now.Sub(p.since).Round(time.Second))
	*p = pause{lifted: now}
}
