package emulator

import (
	"math"
	"net/http"
	"slices"
	"time"
)

// lane counts what an endpoint is doing. Guarded by Server.mu.
type lane struct {
	inFlight int
	began    []time.Time     // requests of the last minute, the oldest first
	spent    []spell         // tokens of the last minute, the oldest first
	waiting  []chan struct{} // closed when a place is handed over, the first in the queue first
}

// spell is a request's tokens, counted when it ended.
type spell struct {
	ended  time.Time
	tokens int
}

func (s *Server) lane(tag string) *lane {
	l := s.lanes[tag]
	if l == nil {
		l = &lane{}
		s.lanes[tag] = l
	}
	return l
}

// enter takes a place at the endpoint, or tells why there is none. With a
// queue it may return a channel to wait on instead: the place is taken when
// the channel is closed. Server.mu is held.
func (s *Server) enter(e *endpoint, now time.Time) (wait chan struct{}, refused *refusal) {
	l, limits := s.lane(e.tag), s.scenario.limits(e.tag)
	l.forget(now)
	if limits.RPM > 0 && len(l.began) >= limits.RPM || limits.TPM > 0 && l.tokens() >= limits.TPM {
		return nil, upstreamBusy(e).retryAfter(limits.RetryAfter)
	}
	if limits.MaxInFlight > 0 && l.inFlight >= limits.MaxInFlight-s.others(e.tag, limits, now) {
		if limits.Queue == 0 {
			return nil, upstreamBusy(e).retryAfter(limits.RetryAfter)
		}
		wait = make(chan struct{})
		l.waiting = append(l.waiting, wait)
		return wait, nil
	}
	s.occupy(e.tag, now)
	return nil, nil
}

// occupy counts a request in. Server.mu is held.
func (s *Server) occupy(tag string, now time.Time) {
	l := s.lane(tag)
	l.began = append(l.began, now)
	l.inFlight++
	s.books.enter(tag)
}

// leave gives a place back, to the first in the queue if there is one, after
// so many tokens of work.
func (s *Server) leave(tag string, tokens int) {
	s.mu.Lock()
	l := s.lane(tag)
	l.inFlight--
	l.spent = append(l.spent, spell{time.Now(), tokens})
	s.books.leave(tag)
	if len(l.waiting) > 0 {
		next := l.waiting[0]
		l.waiting = l.waiting[1:]
		s.occupy(tag, time.Now())
		close(next)
	}
	s.mu.Unlock()
}

// giveUp takes a request out of the queue. It reports whether it was still
// there; if not, it has got its place in the meantime. Server.mu is held.
func (l *lane) giveUp(wait chan struct{}) bool {
	i := slices.Index(l.waiting, wait)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// forget drops what is more than a minute old.
func (l *lane) forget(now time.Time) {
	old := func(t time.Time) bool { return now.Sub(t) >= time.Minute }
	for len(l.began) > 0 && old(l.began[0]) {
		l.began = l.began[1:]
	}
	for len(l.spent) > 0 && old(l.spent[0].ended) {
		l.spent = l.spent[1:]
	}
}

func (l *lane) tokens() int {
	n := 0
	for _, s := range l.spent {
		n += s.tokens
	}
	return n
}

// others is how many places other customers hold: it wanders between none and
// the limit, a new goal every half minute, the same in every run of a seed.
func (s *Server) others(tag string, limits Limits, now time.Time) int {
	if limits.Others == 0 {
		return 0
	}
	const step = 30 * time.Second
	since := now.Sub(s.start)
	k := uint64(since / step)
	goal := func(k uint64) float64 { return float64(s.mix(drawOthers, hashOf(tag), k)>>11) / (1 << 53) }
	part := float64(since%step) / float64(step)
	return int(math.Round(float64(limits.Others) * (goal(k)*(1-part) + goal(k+1)*part)))
}

// upstreamBusy is the 429 of a provider's shared pool.
func upstreamBusy(e *endpoint) *refusal {
	return relayed(http.StatusTooManyRequests, e.provider,
		e.canonical+" is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits.",
		fields{"limit_source": "upstream_provider_shared_pool", "remedy_hint": "Retry shortly or use your own provider key."})
}
