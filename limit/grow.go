package limit

import (
	"math"
	"time"
)

// full reports whether the limit is what holds the lane back.
func (l *Limiter) full() bool { return float64(l.running) >= 0.9*l.limit-1 }

// grow raises the limit because a request was taken.
func (l *Limiter) grow(now time.Time) {
	if !l.full() || l.troubled > noise {
		return
	}
	switch p := &l.probe; {
	case math.IsInf(l.known, 1):
		l.raise(1.1) // its own place, and every round a tenth more than the one before
	case l.limit < l.known:
		l.raise(min(1, l.known-l.limit))
	case p.extra > 0:
		if p.need--; p.need <= 0 {
			l.known = l.limit
			if l.limit > 1.1*l.wall+2 {
				l.patience = firstPatience
			}
			l.ask(min(1.5*p.extra, max(8, l.limit/10)))
		}
	case !now.Before(l.notUntil) && (l.credit >= 1 || now.Sub(l.failed) >= l.patience):
		l.ask(max(1, 0.01*l.limit))
	}
}

// ask begins a probe for so many more. The requests that are on their way are
// taken before those of the probe are.
func (l *Limiter) ask(extra float64) {
	before := l.limit
	l.raise(extra)
	extra = l.limit - before
	l.probe = probe{extra: extra, need: extra + float64(l.running-l.held)}
}

func (l *Limiter) raise(by float64) { l.limit = min(l.limit+by, float64(l.cfg.Max)) }

// refuse draws the conclusions of a refusal.
func (l *Limiter) refuse(now time.Time, r *Request, wait time.Duration, jitter float64) {
	if r.number > l.episode {
		l.refused += (1 - l.refused) / l.memory()
	}
	if l.probe.extra > 0 || l.probing {
		l.credit = max(l.credit-1, -l.limit/40)
	}
	full := l.full()
	switch {
	case l.trial && r.trial:
		if h := float64(l.held); h > 0.5*l.known {
			l.known = min(l.known, 0.95*h)
		}
		l.pause(now, r, Refused, wait, jitter)
	case l.probe.extra > 0:
		l.tooMuch(now, wait)
	case l.refused >= noise && r.number > l.episode:
		if full {
			l.cut(now)
		}
		l.pause(now, r, Refused, wait, jitter)
	case full && r.number > l.episode && !math.IsInf(l.known, 1):
		l.settle(l.limit - max(1, (l.refused-slight)*l.limit))
	}
}

// tooMuch ends a probe when more of it was refused than chance explains.
func (l *Limiter) tooMuch(now time.Time, wait time.Duration) {
	if l.probe.refused++; l.probe.refused <= noise*l.probe.extra {
		return
	}
	l.settle(0.985 * max(l.limit-l.probe.extra, float64(l.held)))
	l.refused = 0
	l.episode, l.probing = l.started, true
	l.notUntil, l.failed = now.Add(max(probePause, advicePause*wait)), now
	l.patience, l.wall = min(2*l.patience, maxPatience), l.limit
}

// settle makes a limit the one that is known to be right.
func (l *Limiter) settle(limit float64) {
	l.limit = max(1, limit)
	l.known = l.limit
	l.probe = probe{}
}

// cut lowers the limit. What the lane held while it refused is the best guess
// at what it takes; a lane that was cut a moment ago takes less and less.
func (l *Limiter) cut(now time.Time) {
	holds := min(l.limit, max(1, float64(l.held)))
	left, known := l.cfg.Cut, 0.97
	if now.Sub(l.lastCut) < decline {
		left, known = left*left, 0.94
	}
	l.lastCut = now
	l.settle(left * holds)
	l.known = max(1, known*holds)
	if holds < 0.5*l.wall {
		l.patience, l.wall = firstPatience, holds
	}
}
