package dispatch

import (
	"fmt"
	"slices"
	"time"

	"github.com/eyrie-ai/eyrie/limit"
)

// Why nothing more is started.
const (
	idleMoney = "the rest of the budget is held by answers under way or not billed yet"
	idleLanes = "every lane is full"
	idleSpare = "the lanes that are needed to keep the deadline are full"
	idleAway  = "no server answers"
	idleFeed  = "waiting for prompts"
	idleDone  = "what is under way may be enough"
)

// whyLanes says why no lane takes a request now: that they are full, or what is
// wrong with them.
func (s *scheduler) whyLanes(now time.Time) string {
	var worst *lane
	for _, l := range s.lanes {
		switch {
		case !s.may(l):
		case l.limiter.State(now) == limit.Open || l.limiter.Running() >= l.most():
			if len(s.spared) > 0 {
				return idleSpare
			}
			return idleLanes
		case worst == nil:
			worst = l
		}
	}
	if worst == nil {
		return idleLanes
	}
	return "no lane takes requests: " + worst.Tag + " " + worst.resting(now)
}

// resting says why a lane is closed for now, and for how long.
func (l *lane) resting(now time.Time) string {
	then := "one request is on trial"
	if left := l.limiter.Opens().Sub(now); left > 0 {
		then = "the next trial is in " + max(time.Second, left.Round(time.Second)).String()
	}
	if l.limiter.State(now) == limit.Broken {
		return fmt.Sprintf("is broken, %s (%s)", then, l.failure)
	}
	return fmt.Sprintf("rests, %s (%s)", then, l.failure)
}

// whyIdle says why a lane gets nothing more now; empty while it works at what it
// can get.
func (s *scheduler) whyIdle(l *lane, now time.Time) string {
	switch {
	case l.closed != "":
		return "closed: " + l.closed
	case l.away() != "":
		return "away: " + l.away()
	case l.paused:
		return idlePaused
	case s.pause.holds() != "" && l.engine == s.pause.engine:
		return s.pause.holds()
	case l.limiter.State(now) != limit.Open:
		return l.resting(now)
	case l.cap > 0 && l.limiter.Running() >= l.cap:
		return fmt.Sprintf("full: at most %d at once, set by hand", l.cap)
	case l.room(now) == 0:
		return "full"
	case s.idle != "":
		return s.idle
	case slices.Contains(s.spared, l):
		return "not needed to keep the deadline"
	case s.running >= s.cfg.Concurrency:
		return fmt.Sprintf("as many requests are under way as may be at once (%d)", s.cfg.Concurrency)
	}
	return ""
}
