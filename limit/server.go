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
	full   time.Time // since when the raise is used; zero while it is not
	sum    float64   // of the rates seen since then
	n      int
	hold   time.Time // no raise before
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
	firstServer = 32
)

// NewServer returns a limit between 1 and most; start is the first one, and 32
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
	if float64(mine) < 0.9*s.limit-1 {
		s.full = time.Time{} // the limit is not what holds the lane back
		return
	}
	if s.full.IsZero() {
		s.full, s.sum, s.n = now, 0, 0
		return
	}
	if load.Rate >= 0 {
		s.sum += load.Rate
		s.n++
	}
	if now.Sub(s.full) < watchFor(load) {
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
	s.hold = now.Add(watched)
	return true
}

// judge draws the conclusion of a while at the limit: it ends a trial, and
// begins the next one.
func (s *Server) judge(now time.Time, load Load) {
	rate := 0.0
	if s.n > 0 {
		rate = s.sum / float64(s.n)
	}
	gain := fast
	if s.before > 0 && s.was > 0 {
		gain = (rate/s.was - 1) / (s.limit/s.before - 1)
		if gain < worth {
			s.limit = s.before
			s.forget()
			s.hold = now.Add(plateau)
			return
		}
	}
	queued := load.Waiting > 0 && float64(load.Waiting) > shortQueue*float64(load.Running)
	if now.Before(s.hold) || queued || load.Cache >= fullCache || s.limit >= s.max {
		s.before, s.full = 0, time.Time{}
		return
	}
	s.before, s.was, s.full = s.limit, rate, time.Time{}
	step := max(1, s.limit/4)
	if gain >= fast {
		step = s.limit
	}
	s.limit = min(s.limit+step, s.max)
}

func (s *Server) forget() { s.before, s.full = 0, time.Time{} }

// Restarted forgets what was learned of a server that was away.
func (s *Server) Restarted(start int) { *s = *NewServer(start, int(s.max)) }
