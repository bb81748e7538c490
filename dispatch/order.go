package dispatch

import (
	"slices"
	"time"

	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/route"
)

// lanePace is how a lane's latest answers came.
type lanePace struct {
	rate  float64 // tokens a second
	first float64 // seconds until the first content
}

// newest is the weight of the newest answer.
const newest = 0.1

func (p *lanePace) learn(a *attempt, now time.Time) {
	took, first := a.answer.Elapsed, a.answer.FirstContent
	if took <= 0 {
		took = now.Sub(a.started)
	}
	if writing := (took - first).Seconds(); writing > 0 {
		p.rate = mix(p.rate, float64(a.answer.Usage.CompletionTokens)/writing)
	}
	if first > 0 {
		p.first = mix(p.first, first.Seconds())
	}
}

func mix(old, value float64) float64 {
	if old == 0 {
		return value
	}
	return old + newest*(value-old)
}

// pace is what the order of the lanes goes by. A lane that has taken everything
// so far may take as much as it is allowed to.
func (l *lane) pace() route.Pace {
	most := l.most()
	if l.server == nil && !l.limiter.Bounded() && l.limiter.State(time.Time{}) != limit.Broken {
		most = l.limiter.Max()
	}
	return route.Pace{Rate: l.paced.rate, FirstContent: seconds(l.paced.first), Most: most}
}

// inOrder are the lanes that may be asked now, in the order in which they are
// filled: with a deadline, no more of them than are needed.
func (s *scheduler) inOrder(now time.Time) []*lane {
	var open []*lane
	for _, l := range s.inTurn() {
		if s.may(l) {
			open = append(open, l)
		}
	}
	switch s.cfg.Sort {
	case route.ByThroughput, route.ByLatency:
		slices.SortStableFunc(open, func(a, b *lane) int { return s.cfg.Sort.Compare(a.pace(), b.pace()) })
	case route.ByDeadline:
		var paces []route.Pace
		for _, l := range open {
			paces = append(paces, l.pace())
		}
		s.spared = nil
		if n := route.Needed(paces, s.missing(), s.began.Add(s.cfg.Deadline).Sub(now)); n < len(open) {
			s.spared = open[n:]
			open = open[:n]
		}
	}
	return open
}

// may reports whether a lane may be asked at all.
func (s *scheduler) may(l *lane) bool {
	return l.closed == "" && !l.paused && l.away() == "" && (s.pause.holds() == "" || l.engine != s.pause.engine)
}

// allPaused reports whether every lane that could be asked is paused by hand.
func (s *scheduler) allPaused() bool {
	paused := false
	for _, l := range s.lanes {
		if l.closed != "" || l.away() != "" {
			continue
		}
		if !l.paused {
			return false
		}
		paused = true
	}
	return paused
}

// missing is how many tokens the targets still want.
func (s *scheduler) missing() (n int64) {
	for i := range s.sets {
		n += max(0, s.shares[i].Target-s.shares[i].Have)
	}
	return n
}
