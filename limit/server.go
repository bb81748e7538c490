package limit

import "time"

// Load is how busy a server says it is. A figure that it does not give is
// negative.
type Load struct {
	Running int     // requests that it works on, whoever sent them
	Waiting int     // requests in its queue
	Cache   float64 // the share of its memory that is in use
	Rate    float64 // tokens a second
}

// Server is the limit of a lane whose server is one's own and tells how busy it
// is, so that nothing has to be refused to find out how much it takes.
//
// A short queue keeps the server at work while answers end; a long one only
// makes each answer take longer. So the limit is raised while the queue is
// empty and lowered while it holds more than a few. But a server can take more
// than does it good without ever queueing, and one that shows nothing has no
// queue to look at: whether a raise was worth while its tokens a second decide.
// One that brought hardly more of them is taken back, and tried again when a
// minute has passed.
//
// It is not safe for concurrent use.
type Server struct {
	max   float64
	limit float64

	before float64   // the limit before the raise that is on trial; 0 when none is
	was    float64   // tokens a second before it
	ran    float64   // requests that the server worked on before it, all there were
	since  time.Time // since when the limit is looked at; zero while it is not used
	seen   window
	hold   time.Time // no raise before
	met    bool      // a bound was met, so that raises are small from then on
}

// window is what was seen of a server while its limit is looked at.
type window struct {
	n, full       int // looks, and those at which all of the limit was used
	rated, worked int // looks that gave a rate, and the number of requests
	rate, running float64
}

func (w *window) add(load Load, full bool) {
	w.n++
	if full {
		w.full++
	}
	if load.Rate >= 0 {
		w.rate += load.Rate
		w.rated++
	}
	if load.Running >= 0 {
		w.running += float64(load.Running)
		w.worked++
	}
}

// mean is the rate and the number of requests that were worked on, over the
// whole window.
func (w *window) mean() (rate, running float64) {
	return w.rate / float64(max(w.rated, 1)), w.running / float64(max(w.worked, 1))
}

const (
	// longQueue and shortQueue are shares of what runs: a queue that is longer
	// lowers the limit, one that is shorter lets it rise.
	longQueue, shortQueue = 0.3, 0.1
	// fullCache is the share of its memory from which on a server begins to
	// throw requests out again.
	fullCache = 0.95
	// worth is how much of its share a raise has to bring: a quarter more
	// requests have to make at least a twentieth more tokens.
	worth = 0.2
	// fast is the share that calls for doubling.
	fast = 0.6
	// watched and watchedBlind are how long the rate is looked at before a
	// raise is judged, where the server shows its figures and where only our own
	// count of ended answers tells.
	watched, watchedBlind = 5 * time.Second, 30 * time.Second
	// plateau is how long a limit is kept whose raise was not worth while.
	plateau = time.Minute
	// firstServer is the first limit.
	firstServer = 16
)

// NewServer returns a limit between 1 and most; start is the first one, and 16
// when it is 0.
func NewServer(start, most int) *Server {
	if start <= 0 {
		start = firstServer
	}
	return &Server{max: float64(max(most, 1)), limit: float64(min(start, max(most, 1)))}
}

// Limit is how many requests may run at once now.
func (s *Server) Limit() int { return int(s.limit) }

// Observe takes in how busy the server is, about once a second. Mine is how
// many requests of this run are out.
func (s *Server) Observe(now time.Time, load Load, mine int) {
	if s.lower(now, load, mine) {
		return
	}
	full := float64(mine) >= 0.9*s.limit-1
	if s.since.IsZero() {
		if full {
			s.since, s.seen = now, window{}
		}
		return // else the limit is not what holds the lane back
	}
	s.seen.add(load, full)
	if now.Sub(s.since) < watchFor(load) {
		return
	}
	if 2*s.seen.full < s.seen.n {
		s.since = time.Time{}
		return
	}
	s.judge(now, load)
}

func watchFor(load Load) time.Duration {
	if load.Running < 0 {
		return watchedBlind
	}
	return watched
}

// lower takes the limit down where the queue is long. What is queued has to be
// worked off first, so that nothing is judged meanwhile.
func (s *Server) lower(now time.Time, load Load, mine int) bool {
	if load.Waiting < 0 || float64(load.Waiting) <= max(1, longQueue*float64(load.Running)) {
		return false
	}
	surplus := float64(load.Waiting) - (longQueue+shortQueue)/2*float64(load.Running)
	s.limit = max(1, min(s.limit, float64(mine)-surplus))
	s.forget()
	s.hold, s.met = now.Add(watched), true
	return true
}

// judge draws the conclusion of a while at the limit: it ends a trial, and
// begins the next one.
func (s *Server) judge(now time.Time, load Load) {
	rate, running := s.seen.mean()
	gain := fast
	if s.met {
		gain = worth
	}
	if s.before > 0 && s.was > 0 {
		gain = (rate/s.was - 1) / (s.more(running) - 1)
		if gain < worth {
			s.limit = s.before
			s.forget()
			s.hold, s.met = now.Add(plateau), true
			return
		}
	}
	s.forget()
	queued := load.Waiting > 0 && float64(load.Waiting) > shortQueue*float64(load.Running)
	if now.Before(s.hold) || queued || load.Cache >= fullCache || s.limit >= s.max {
		return
	}
	s.before, s.was, s.ran = s.limit, rate, running
	step := max(1, s.limit/4)
	if gain >= fast {
		step = s.limit
	}
	s.limit = min(s.limit+step, s.max)
}

// more is by what factor the raise on trial has raised what the server works
// on. Others may use it too; where it does not say, we are taken to be alone.
func (s *Server) more(running float64) float64 {
	if running > 0 && s.ran > 0 {
		return max(running/s.ran, 1.01)
	}
	return s.limit / s.before
}

func (s *Server) forget() { s.before, s.since = 0, time.Time{} }

// Restarted forgets what was learned of a server that was away.
func (s *Server) Restarted(start int) { *s = *NewServer(start, int(s.max)) }
