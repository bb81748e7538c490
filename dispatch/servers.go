package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/limit"
)

// Servers of one's own are watched: once a second each is asked how busy it is.
// The answer sets how many requests it gets. A server that does not answer is
// away: its lane gets nothing, what it was working on is asked elsewhere, and
// when it answers again it gets work again. A run whose lanes are all away
// waits for one to come back, but not for ever.

// Loader is an engine whose server can be asked how busy it is. An error means
// that the server is not there, or is not the one that is wanted.
type Loader interface {
	Load(ctx context.Context) (eyrie.Load, error)
}

const (
	loadEvery = time.Second
	// missed is how many questions in a row a server may leave unanswered: one
	// that is busy answers late at times.
	missed = 3
	// awayPatience is how long a run waits for servers when there is nobody else.
	awayPatience = 10 * time.Minute
)

// server is what is known of the server behind a lane.
type server struct {
	limit  *limit.Server
	start  int
	away   string // why it gets nothing; empty while it is there
	since  time.Time
	seen   bool // it was there before
	misses int
}

// notLookedAt is why a lane gets nothing before its server has answered.
const notLookedAt = "its server has not answered yet"

// newServer returns nil for engines whose servers do not tell.
func newServer(n *Lane) *server {
	if _, ok := n.Engine.(Loader); !ok {
		return nil
	}
	return &server{limit: limit.NewServer(n.Limit.Start, n.Limit.Max), start: n.Limit.Start, away: notLookedAt, since: time.Now()}
}

// watchServers asks the servers until ctx ends.
func (s *scheduler) watchServers(ctx context.Context) {
	for _, l := range s.lanes {
		if l.server != nil {
			s.wg.Go(func() { s.watchServer(ctx, l, l.engine.(Loader)) })
		}
	}
}

func (s *scheduler) watchServer(ctx context.Context, l *lane, e Loader) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		load, err := e.Load(ctx)
		if ctx.Err() != nil {
			return
		}
		s.send(message{kind: loaded, lane: l, load: load, err: err})
		wait.Reset(loadEvery)
	}
}

// loaded takes in what a server said, or that it said nothing.
func (s *scheduler) loaded(m message) {
	l, sv, now := m.lane, m.lane.server, time.Now()
	if m.err != nil {
		s.unheard(l, m.err, now)
		return
	}
	sv.misses = 0
	if sv.away != "" {
		if sv.seen {
			s.cfg.Log.Info("server is back", "lane", l.Tag, "after", now.Sub(sv.since).Round(time.Second))
			sv.limit.Restarted(sv.start)
		}
		sv.away, sv.seen = "", true
	}
	sv.limit.Observe(now, limit.Load{
		Running: m.load.Running, Waiting: m.load.Waiting, Cache: m.load.Cache, Rate: m.load.TokensPerSecond,
	}, l.limiter.Running())
}

// unheard notes that a server did not answer. One that refuses the connection
// is away; one that is slow may be busy.
func (s *scheduler) unheard(l *lane, err error, now time.Time) {
	sv := l.server
	sv.misses++
	gone := sv.misses >= missed
	if e, ok := eyrie.AsError(err); ok && e.Class == "connection" && !errors.Is(err, context.DeadlineExceeded) {
		gone = true
	}
	switch {
	case sv.away != "":
		sv.away = err.Error()
	case gone:
		sv.away, sv.since = err.Error(), now
		s.cfg.Log.Warn("server is away; what it was asked goes elsewhere, or waits for it", "lane", l.Tag, "err", err)
	}
}

// away says why the lane's server gets nothing at present, or "".
func (l *lane) away() string {
	if l.server == nil {
		return ""
	}
	return l.server.away
}

// room is how many more requests the lane may get now.
func (l *lane) room(now time.Time) int {
	room := l.takes(now)
	if l.cap > 0 {
		room = min(room, max(0, l.cap-l.limiter.Running()))
	}
	return room
}

// roomFor is how many more requests the lane may get of those that are tried
// again, or for the first time.
func (l *lane) roomFor(t *task, now time.Time) int {
	if t.tries > 0 {
		return l.retries.room(l.room(now))
	}
	return l.room(now)
}

// takes is how many more the lane would take.
func (l *lane) takes(now time.Time) int {
	if l.server == nil {
		return l.limiter.Room(now)
	}
	if l.limiter.State(now) != limit.Open {
		return l.limiter.Room(now)
	}
	return max(0, l.server.limit.Limit()-l.limiter.Running())
}

// most is how many requests the lane may have at once now.
func (l *lane) most() int {
	if l.server == nil {
		return l.limiter.Limit()
	}
	return l.server.limit.Limit()
}

// inTurn are the lanes in the order in which they are filled: that of
// preference, but servers of one's own, which all cost nothing, evenly by how
// full they are. So none is idle while another has a queue.
func (s *scheduler) inTurn() []*lane {
	var own []*lane
	for _, l := range s.lanes {
		if l.server != nil {
			own = append(own, l)
		}
	}
	if len(own) < 2 {
		return s.lanes
	}
	slices.SortStableFunc(own, func(a, b *lane) int {
		return a.limiter.Running()*b.most() - b.limiter.Running()*a.most()
	})
	lanes := slices.Clone(s.lanes)
	next := 0
	for i, l := range lanes {
		if l.server != nil {
			lanes[i] = own[next]
			next++
		}
	}
	return lanes
}

// awaited reports whether a lane is away that may still come back in time.
func (s *scheduler) awaited(now time.Time) bool {
	return slices.ContainsFunc(s.lanes, func(l *lane) bool {
		return l.closed == "" && l.away() != "" && now.Sub(l.server.since) < awayPatience
	})
}

// allAway reports whether every open lane is one whose server is away.
func (s *scheduler) allAway() bool {
	return s.openLanes() > 0 && !slices.ContainsFunc(s.lanes, func(l *lane) bool { return l.closed == "" && l.away() == "" })
}

// whoIsAway says why no lane is there.
func (s *scheduler) whoIsAway() error {
	errs := []error{errors.New("every server is away")}
	for _, l := range s.lanes {
		if l.closed == "" && l.away() != "" {
			errs = append(errs, fmt.Errorf("%s: %s", l.Tag, l.away()))
		}
	}
	return errors.Join(errs...)
}

// besides reports whether there are lanes that another engine serves than the
// one that is refused, so that the run can go on with them.
func (s *scheduler) besides(e Engine) bool {
	return slices.ContainsFunc(s.lanes, func(l *lane) bool { return l.closed == "" && l.engine != e })
}

// closeEngine closes the lanes of an engine that refuses everything, so that
// the others go on alone.
func (s *scheduler) closeEngine(e Engine, why string) {
	for _, l := range s.lanes {
		if l.engine == e {
			s.closeLane(l, why)
		}
	}
}
