package limit

import "time"

// resume ends the caution after a pause, and with proof that the lane works the
// count of pauses too. What it held is let in again step by step: the lane may
// not take as much as it did.
func (l *Limiter) resume(proved bool) {
	if proved {
		l.pauses, l.lone = 0, 0
	}
	if l.trial {
		l.limit = min(l.limit, float64(l.running)+gently)
		l.trial, l.troubled = false, 0
	}
}

// pause closes the lane for a while, once for all requests that were under way
// together, and lets it be tried after that. A lane that refused one more because
// it holds too many is tried again as soon as it has answered some of them.
func (l *Limiter) pause(now time.Time, r *Request, o Outcome, wait time.Duration, jitter float64) {
	if r.number <= l.episode {
		return
	}
	l.episode, l.probing, l.lateFail = l.started, false, r.taken
	l.refused, l.row = 0, 0 // what follows is judged by itself
	l.probe = probe{}
	l.trial, l.late = true, time.Time{}
	l.pauses++
	if l.held == 0 {
		l.lone++
	}
	if wait > 0 {
		return
	}
	jittered := func(d time.Duration) time.Time { return now.Add(time.Duration(float64(d) * (0.5 + jitter))) }
	l.late, l.drained = jittered(l.cool), 0.9*float64(l.held)
	l.cool = min(2*l.cool, l.longest(o))
	if r.taken || l.held == 0 {
		l.close(l.late)
		return
	}
	l.close(jittered(l.cfg.CoolDown))
}

// longest is how long a pause may become. A lane that has refused even single
// requests for minutes counts them by the minute, most likely, and the refused
// ones with them: pauses shorter than that minute would never let it open.
func (l *Limiter) longest(o Outcome) time.Duration {
	if o == Refused && l.lone >= aloneAfter {
		return alone * l.cfg.MaxCool
	}
	return l.cfg.MaxCool
}

func (l *Limiter) close(until time.Time) {
	if until.After(l.opens) {
		l.opens = until
	}
}
