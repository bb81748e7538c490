// Package limit says how many requests may run at once on a lane, growing and
// shrinking with what comes back.
//
// A [Limiter] starts modestly and grows in steps that grow themselves while the
// lane takes everything: from 16 to 2000 in some twenty round trips. Once
// it has been refused, it knows about what the lane holds, and goes on from
// there by probes: it asks a few more at once than it knows to fit. If those are
// taken it asks half as many again, up to an eighth of the limit at a time, so
// that a lane which can suddenly take five times as much is found out within a
// minute. If one is refused the limit is what the lane does hold, and the next
// probe waits until enough requests were taken to make up for the refused ones.
//
// Refusals that no probe explains mean that the lane takes less than it did. A
// single one takes a single place away, several take more. When they are many
// the limit is cut, once per episode, and the lane is closed for a while: for as
// long as the server asked, or for a cool-down of its own that lengthens while
// refusals go on. Requests never wait inside the lane: a closed lane has no
// room, and the work goes elsewhere.
//
// Server errors are no refusals: some freeze the limit where it is, and a lane
// that mostly fails is closed for a while without a cut.
//
// After such a pause one request goes first, on trial. When it is taken the
// others follow, the limit growing again from what the lane holds by then; when
// it fails, the next pause is longer. A lane whose trials fail again and again is
// broken ([Broken]) until one succeeds. Where a lane took requests and then
// failed them, a trial succeeds only with its end.
//
// The limit grows only while it is what holds the lane back. That a request is
// taken which the same lane has refused before says nothing new, and does not
// raise it beyond what is known.
//
// The package is pure: time and chance are passed in, nothing sleeps.
package limit

import (
	"math"
	"time"
)

// Config says how a limiter behaves. Zero fields take the defaults.
type Config struct {
	Start    int           // the first limit; 16
	Max      int           // the largest limit; 2000
	Cut      float64       // what is left of the limit after a cut; 0.9
	CoolDown time.Duration // the first wait after a cut without advice; 1s
	MaxCool  time.Duration // the longest such wait; 15s
}

func (c Config) withDefaults() Config {
	if c.Max <= 0 {
		c.Max = 2000
	}
	if c.Start <= 0 {
		c.Start = 16
	}
	c.Start = min(c.Start, c.Max)
	if c.Cut <= 0 || c.Cut >= 1 {
		c.Cut = 0.9
	}
	if c.CoolDown <= 0 {
		c.CoolDown = time.Second
	}
	if c.MaxCool <= 0 {
		c.MaxCool = 15 * time.Second
	}
	return c
}

const (
	// noise is the share of the latest requests that may be refused, or fail,
	// without a conclusion for the lane as a whole.
	noise = 0.05
	// slight is the share of them that takes a single place away at a time.
	slight = 0.012
	// sick is the share of the latest requests that may fail with server errors
	// before the lane is rested.
	sick = 0.2
	// inARow is how many requests may fail with server errors one after another
	// before the lane is rested.
	inARow = 6
	// allowance is how many refused probes every accepted request pays for.
	allowance = 1.0 / 52
	// saved is how many refused probes may be paid for in advance.
	saved = 2
	// decline is the time between two cuts that makes them one decline.
	decline = 30 * time.Second
	// probePause is the least time between a refused probe and the next, and
	// advicePause that time as a multiple of what the server asked to wait: each
	// refused probe closes the lane for so long.
	probePause  = 2 * time.Second
	advicePause = 6
	// firstPatience is how long after a refused probe another is made although
	// it is not paid for; it doubles with every one that is refused.
	firstPatience = 4 * time.Second
	maxPatience   = 128 * time.Second
	// gently is how many more than it holds a lane is given after a pause.
	gently = 8
	// brokenAfter is how many pauses in a row, without a request that was taken
	// in between, make a lane broken.
	brokenAfter = 3
	// aloneAfter is how many pauses in a row make a lane that holds nothing and
	// refuses everything one to be left alone, and alone how many times longer the
	// pauses get then.
	aloneAfter = 14
	alone      = 6
)

// Outcome is how a request ended, as far as it concerns the lane.
type Outcome uint8

// The outcomes.
const (
	Answered Outcome = iota // it was answered to the end
	Neutral                 // it ended for reasons of its own
	Refused                 // there were too many requests
	Trouble                 // the lane failed: a server error, a cut, silence
)

// State is what a limiter lets through.
type State uint8

// The states of a lane.
const (
	Open   State = iota // as many as its limit
	Closed              // nothing for now
	Trying              // one request, which decides how it goes on
	Broken              // it failed trial after trial: now and then one request
)

func (s State) String() string {
	return [...]string{"open", "closed", "trying", "broken"}[s]
}

// Request is one request on a lane, from its start to its end.
type Request struct {
	// Again is set by the caller on a request that the lane has refused before.
	Again bool

	number int64
	taken  bool
	trial  bool
}

// probe is an attempt at a higher limit.
type probe struct {
	extra   float64 // by so much it was raised; 0 while there is no probe
	need    float64 // so many more requests must be taken
	refused float64
}

// Limiter is the limit of one lane. It is not safe for concurrent use.
type Limiter struct {
	cfg     Config
	limit   float64
	running int // requests started and not ended
	held    int // of these, the ones that the lane has taken

	known    float64 // it grows fast as far as this: what the lane is known to hold
	probe    probe
	credit   float64       // refused probes that are paid for
	notUntil time.Time     // no probe before
	probing  bool          // the last episode was a probe's
	failed   time.Time     // when the latest probe was refused
	wall     float64       // the limit that it left
	patience time.Duration // after which another is made although it is not paid for

	lastCut  time.Time
	refused  float64 // share of the latest requests
	troubled float64 // share of the latest requests
	row      int     // requests that failed since one was taken

	started  int64     // requests so far
	episode  int64     // requests up to this one belong to the last pause or probe
	opens    time.Time // nothing may start before this
	late     time.Time // nor before this while more than drained is held
	drained  float64
	cool     time.Duration
	pauses   int // in a row
	lone     int // of these, while the lane held nothing
	trial    bool
	trying   int  // trials under way
	lateFail bool // the last pause came of requests that had been taken
}

// New returns a limiter with nothing running.
func New(cfg Config) *Limiter {
	cfg = cfg.withDefaults()
	return &Limiter{cfg: cfg, limit: float64(cfg.Start), known: math.Inf(1), patience: firstPatience, cool: cfg.CoolDown}
}

// Limit is how many requests may run at once now.
func (l *Limiter) Limit() int { return int(l.limit + 0.5) }

// Max is how large the limit may become.
func (l *Limiter) Max() int { return l.cfg.Max }

// Bounded reports whether the lane has ever refused, so that the limit says how
// much it takes.
func (l *Limiter) Bounded() bool { return !math.IsInf(l.known, 1) }

// Running is how many do.
func (l *Limiter) Running() int { return l.running }

// Room is how many more requests may start now.
func (l *Limiter) Room(now time.Time) int {
	room := max(0, l.Limit()-l.running)
	switch {
	case now.Before(l.Opens()):
		return 0
	case l.trial:
		return min(room, max(0, 1-l.trying))
	}
	return room
}

// Opens is when a closed lane opens again; in the past when it is open.
func (l *Limiter) Opens() time.Time {
	if l.trial && float64(l.held) > l.drained && l.late.After(l.opens) {
		return l.late
	}
	return l.opens
}

// State says what the limiter lets through now.
func (l *Limiter) State(now time.Time) State {
	switch {
	case l.pauses >= brokenAfter:
		return Broken
	case now.Before(l.Opens()):
		return Closed
	case l.trial:
		return Trying
	}
	return Open
}

// Start notes that a request starts. Callers keep what it returns until the
// request's end.
func (l *Limiter) Start() *Request {
	l.started++
	r := &Request{number: l.started, trial: l.trial}
	l.running++
	if r.trial {
		l.trying++
	}
	return r
}

// memory is how many of the latest requests the shares of refusals and of
// trouble are taken over. On a large lane they are many, so that chance does
// not pile up enough noise for a cut; a small one learns from one refusal.
func (l *Limiter) memory() float64 { return min(max(16, l.limit/2), 256) }

// Accepted notes that the lane took a request: it answers, or has begun to.
func (l *Limiter) Accepted(now time.Time, r *Request) {
	if r.taken {
		return
	}
	r.taken = true
	l.held++
	l.row = 0
	l.refused -= l.refused / l.memory()
	l.troubled -= l.troubled / l.memory()
	if r.number > l.episode && (!l.lateFail || l.pauses <= 1) {
		l.resume(!l.lateFail)
	}
	if r.trial && !l.trial {
		r.trial = false
		l.trying--
	}
	l.cool = max(l.cfg.CoolDown, l.cool*4/5)
	l.credit = min(l.credit+allowance, saved)
	if !r.Again || l.limit < l.known && l.Bounded() {
		l.grow(now)
	}
}

// End notes that a request is over. Wait is how long the server asked to be
// left alone, or zero; jitter in [0,1) spreads the lanes' own waits.
func (l *Limiter) End(now time.Time, r *Request, o Outcome, wait time.Duration, jitter float64) {
	l.running--
	if r.taken {
		l.held--
	}
	if r.trial {
		l.trying--
	}
	if wait > 0 && (o == Refused || o == Trouble) {
		l.close(now.Add(wait))
	}
	switch o {
	case Answered:
		if r.number > l.episode {
			l.resume(true)
		}
	case Refused:
		l.refuse(now, r, wait, jitter)
	case Trouble:
		l.troubled += (1 - l.troubled) / l.memory()
		if r.number > l.episode {
			l.row++
		}
		if l.troubled > sick || l.row >= inARow || l.trial {
			l.pause(now, r, Trouble, wait, jitter)
		}
	}
}
