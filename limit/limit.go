// Package limit says how many requests may run at once on a lane, growing and
// shrinking with what comes back.
//
// A [Limiter] starts modestly, doubles while the lane accepts everything, and
// is cut once per episode when the lane refuses. After a cut it climbs back
// fast to where it was cut, and then on from there, slowly at first and faster
// the longer that goes well, so that a lane which can take more is found out in
// minutes. It grows only while it is what holds the lane back.
//
// A refusal now and then is the noise of a pool that others use too, not the
// lane's capacity: while few of the latest requests were refused nothing is cut.
//
// Server errors are no refusals: some freeze the limit where it is, and a lane
// that mostly fails rests.
//
// A cut also closes the lane for a while: for as long as the server asked, or
// for a cool-down of its own that lengthens while refusals go on. Requests
// never wait inside the lane: a closed lane has no room, and the work goes
// elsewhere.
//
// The package is pure: time and chance are passed in, nothing sleeps.
package limit

import "time"

// Config says how a limiter behaves. Zero fields take the defaults.
type Config struct {
	Start    int           // the first limit; 64
	Max      int           // the largest limit; 2000
	Cut      float64       // what is left of the limit after a cut; 0.8
	CoolDown time.Duration // the first wait after a cut without advice; 1s
	MaxCool  time.Duration // the longest such wait of a lane that takes some; 30s
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
		c.Cut = 0.8
	}
	if c.CoolDown <= 0 {
		c.CoolDown = time.Second
	}
	if c.MaxCool <= 0 {
		c.MaxCool = 30 * time.Second
	}
	return c
}

// noise is the share of the latest requests that may be refused without a cut.
const noise = 0.05

// alone is how many times longer a lane may be left alone that refuses even a
// single request. It counts requests by the minute, most likely, and the refused
// ones with them: waits shorter than that minute would never let it open.
const alone = 4

// sick is the share of the latest requests that may fail with server errors
// before the lane is rested.
const sick = 0.2

// Limiter is the limit of one lane. It is not safe for concurrent use.
type Limiter struct {
	cfg      Config
	limit    float64
	running  int
	refused  float64   // share of the latest requests
	troubled float64   // share of the latest requests
	ceiling  float64   // where the limit was last cut; 0 before the first cut
	cut      time.Time // requests that had started by then belong to the last cut
	opens    time.Time // nothing may start before this
	cool     time.Duration
	accepted int // since the last cut
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

// memory is how many of the latest requests the shares of refusals and of
// trouble are taken over. On a large lane they are many, so that chance does
// not pile up enough noise for a cut; a small one learns from one refusal.
func (l *Limiter) memory() float64 { return min(max(16, l.limit/2), 256) }

// Accepted notes that the lane took a request: it answers, or has begun to.
func (l *Limiter) Accepted(now time.Time) {
	l.refused -= l.refused / l.memory()
	l.troubled -= l.troubled / l.memory()
	l.accepted++
	if float64(l.accepted) >= l.limit {
		l.cool = l.cfg.CoolDown
	}
	if float64(l.running) < 0.9*l.limit-1 || l.troubled > noise {
		return
	}
	l.limit = min(l.limit+l.step(now), float64(l.cfg.Max))
}

// step is how much one accepted request raises the limit. A limit's worth of
// them doubles it before the first cut, and brings it a quarter up while it is
// below where it was cut. Beyond, each adds a share that begins at one for the
// whole round and grows with every two seconds that pass without a cut.
func (l *Limiter) step(now time.Time) float64 {
	switch {
	case l.ceiling == 0:
		return 1
	case l.limit < 0.9*l.ceiling:
		return 0.25
	}
	return min(0.25, (1+now.Sub(l.cut).Seconds()/2)/l.limit)
}

// Refused notes a refusal for too many requests. Started is when the refused
// request began: of the many that a full lane refuses at once, only the first
// cuts the limit. Wait is what the server asked for, or zero; jitter in [0,1)
// spreads the lanes' own waits.
func (l *Limiter) Refused(now, started time.Time, wait time.Duration, jitter float64) {
	l.refused += (1 - l.refused) / l.memory()
	if wait > 0 {
		l.close(now.Add(wait))
	}
	if !started.After(l.cut) || l.refused < noise {
		return
	}
	longest := l.cfg.MaxCool
	if l.limit == 1 {
		longest *= alone
	}
	// What the lane held while it refused is the best guess at its capacity.
	l.ceiling = min(l.limit, max(1, float64(l.running)))
	l.limit = max(1, l.cfg.Cut*l.ceiling)
	// What follows is judged by itself: else the next refusal by chance, on top
	// of those that made this cut, would make another.
	l.refused = 0
	l.accepted, l.cut = 0, now
	if wait <= 0 {
		l.close(now.Add(time.Duration(float64(l.cool) * (0.5 + jitter))))
		l.cool = min(2*l.cool, longest)
	}
}

// Trouble notes a failure that says nothing about the number of requests, such
// as a server error. Now and then it changes nothing; several of them freeze
// the limit; and a lane that mostly fails rests. Wait is what the server asked
// for, or zero.
func (l *Limiter) Trouble(now time.Time, wait time.Duration) {
	l.troubled += (1 - l.troubled) / l.memory()
	if wait > 0 {
		l.close(now.Add(wait))
	}
	if l.troubled > sick && !now.Before(l.opens) {
		l.close(now.Add(l.cool))
		l.cool = min(2*l.cool, l.cfg.MaxCool)
	}
}

func (l *Limiter) close(until time.Time) {
	if until.After(l.opens) {
		l.opens = until
	}
}
