// Package limit says how many requests may run at once on a lane, growing and
// shrinking with what comes back.
//
// A [Limiter] starts modestly, doubles while the lane accepts everything, and
// is cut once per episode when the lane refuses. After the first refusal it
// grows by one per limit's worth of accepted requests. It grows only while it
// is what holds the lane back. A refusal also closes the lane for a while: for
// as long as the server asked, or for a cool-down of its own that lengthens
// while refusals go on. Requests never wait inside the lane: a closed lane has
// no room, and the work goes elsewhere.
//
// The package is pure: time and chance are passed in, nothing sleeps.
package limit

import "time"

// Config says how a limiter behaves. Zero fields take the defaults.
type Config struct {
	Start    int           // the first limit; 64
	Max      int           // the largest limit; 2000
	Cut      float64       // what is left of the limit after a refusal; 0.7
	CoolDown time.Duration // the first wait after a refusal without advice; 1s
	MaxCool  time.Duration // the longest such wait; 30s
}

func (c Config) withDefaults() Config {
	if c.Max <= 0 {
		c.Max = 2000
	}
	if c.Start <= 0 {
		c.Start = 64
	}
	c.Start = min(c.Start, c.Max)
	if c.Cut <= 0 || c.Cut >= 1 {
		c.Cut = 0.7
	}
	if c.CoolDown <= 0 {
		c.CoolDown = time.Second
	}
	if c.MaxCool <= 0 {
		c.MaxCool = 30 * time.Second
	}
	return c
}

// Limiter is the limit of one lane. It is not safe for concurrent use.
type Limiter struct {
	cfg      Config
	limit    float64
	running  int
	slow     bool      // past the first refusal: no more doubling
	episode  time.Time // requests that started before this belong to the last cut
	opens    time.Time // nothing may start before this
	cool     time.Duration
	accepted int // since the last refusal
}

// New returns a limiter with nothing running.
func New(cfg Config) *Limiter {
	cfg = cfg.withDefaults()
	return &Limiter{cfg: cfg, limit: float64(cfg.Start), cool: cfg.CoolDown}
}

// Limit is how many requests may run at once now.
func (l *Limiter) Limit() int { return int(l.limit) }

// Running is how many do.
func (l *Limiter) Running() int { return l.running }

// Room is how many more requests may start now.
func (l *Limiter) Room(now time.Time) int {
	if now.Before(l.opens) {
		return 0
	}
	return max(0, int(l.limit)-l.running)
}

// Opens is when a closed lane opens again; in the past when it is open.
func (l *Limiter) Opens() time.Time { return l.opens }

// Start notes that a request starts.
func (l *Limiter) Start() { l.running++ }

// Done notes that a request is over, whatever came of it.
func (l *Limiter) Done() { l.running-- }

// Accepted notes that the lane took a request: it answers, or has begun to.
func (l *Limiter) Accepted() {
	l.accepted++
	if float64(l.accepted) >= l.limit {
		l.cool = l.cfg.CoolDown
	}
	if float64(l.running) < 0.9*l.limit-1 {
		return
	}
	if l.slow {
		l.limit += 1 / l.limit
	} else {
		l.limit++
	}
	l.limit = min(l.limit, float64(l.cfg.Max))
}

// Refused notes a refusal for too many requests. Started is when the refused
// request began: of the many that a full lane refuses at once, only the first
// cuts the limit. Wait is what the server asked for, or zero; jitter in [0,1)
// spreads the lanes' own waits.
func (l *Limiter) Refused(now, started time.Time, wait time.Duration, jitter float64) {
	if wait > 0 {
		l.close(now.Add(wait))
	}
	if started.Before(l.episode) {
		return
	}
	l.slow = true
	l.accepted = 0
	// What the lane held while it refused is the best guess at its capacity.
	l.limit = max(1, l.cfg.Cut*min(l.limit, float64(l.running)))
	l.episode = now
	if wait <= 0 {
		l.close(now.Add(time.Duration(float64(l.cool) * (0.5 + jitter))))
		l.cool = min(2*l.cool, l.cfg.MaxCool)
	}
}

// Trouble notes a failure that says nothing about the number of requests, such
// as a server error: the lane rests for a moment and its limit stays.
func (l *Limiter) Trouble(now time.Time, wait time.Duration) { l.close(now.Add(wait)) }

func (l *Limiter) close(until time.Time) {
	if until.After(l.opens) {
		l.opens = until
	}
}
