package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/plan"
	"github.com/eyrie-ai/eyrie/route"
)

// lane is a lane with its state, owned by the scheduler.
type lane struct {
	*eyrie.Lane
	engine  Engine
	limiter *limit.Limiter
	closed  string // why it takes no more work
	strikes int    // failures in a row that close it when there are struck of them
	struck  int
	failure string // the latest, in a few words
	retries retries

	// recalled is set while it is closed until a list of endpoints brings it
	// back, gone when it is since a list had it not, or not to answer.
	recalled, gone bool

	refusals refusals
	server   *server // of one's own; nil of a vendor
	paced    lanePace
	paused   bool // by hand
	cap      int  // by hand; 0 none
}

// maxFree bounds the attempts at one generation that failed without a charge
// and not because the lane was full.
const maxFree = 25

// set is a data set with its state, owned by the scheduler.
type set struct {
	Set
	feed    chan *task
	fed     bool      // its feeder is through
	hungry  time.Time // since when it had no task although more will come
	ready   []*task   // to be tried again, and next turns
	running int
	mean    float64 // completion tokens of an answer, learned
	seen    float64
	paces   paces
}

// priorTokens is what an answer is taken to be long before any was seen.
const priorTokens = 600

func (s *set) learn(tokens int) {
	s.seen++
	s.mean += (float64(tokens) - s.mean) / s.seen
}

// scheduler is the state of one Run, owned by its goroutine.
type scheduler struct {
	*Runner
	sets     []*set
	lanes    []*lane
	shares   []plan.Share
	rng      *rand.Rand
	wg       sync.WaitGroup
	feedCtx  context.Context
	stopFeed context.CancelFunc
	// Servers are watched to the very end: what they have forgotten is cut off.
	watchCtx  context.Context
	stopWatch context.CancelFunc
	running   int
	last      int64 // attempt number
	idle      string
	phase     string
	stop      Stop
	err       error
	ending    bool // admit nothing more
	bills     billQueue
	meter     meterState
	began     time.Time
	hand      hand
	spared    []*lane // with a deadline, those that are not needed to keep it
	under     flights
	hedged    hedging
	drift     drift
	pause     pause
	expect    expectations
	rate      rateMeter
	tokens    int64 // of accepted answers, with their bytes, for the rate
	text      int64
}

func newScheduler(r *Runner) *scheduler {
	s := &scheduler{Runner: r, began: time.Now(), rng: newRand(r.cfg.Seed), last: r.cfg.State.LastAttempt(), phase: "running"}
	s.feedCtx, s.stopFeed = context.WithCancel(r.ctx)
	s.watchCtx, s.stopWatch = context.WithCancel(r.ctx)
	for i := range r.cfg.Lanes {
		if l := &r.cfg.Lanes[i]; l.Out == "" {
			s.lanes = append(s.lanes, l.open())
		}
	}
	s.drift.list(r.cfg.Lanes)
	s.drift.due = time.Now().Add(r.cfg.RefreshEvery)
	for i := range r.cfg.Sets {
		st := &set{Set: r.cfg.Sets[i], feed: make(chan *task, queued), mean: priorTokens}
		have := r.cfg.State.Set(st.Name)
		if have.Rows > 0 {
			st.mean, st.seen = float64(have.CompletionTokens)/float64(have.Rows), float64(min(have.Rows, 1000))
		}
		s.sets = append(s.sets, st)
	}
	s.shares = make([]plan.Share, len(s.sets))
	for _, b := range r.cfg.Ledger.Bills() {
		if b.Held == 0 {
			r.cfg.Ledger.Settle(b.Attempt, 0) // it was cut off at a server that costs nothing
			continue
		}
		s.bills.add(b, time.Now())
	}
	return s
}

// run is the scheduler's loop.
func (s *scheduler) run() Result {
	for i, st := range s.sets {
		f := &feeder{run: s.Runner, index: i, set: &st.Set, out: st.feed}
		s.wg.Go(func() { f.feed(s.feedCtx) })
	}
	s.watchServers(s.watchCtx)
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	wake := time.NewTimer(time.Hour)
	defer wake.Stop()
	stopping, failed, cancelled := s.stopping, s.cfg.Journal.Failed(), s.ctx.Done()
	for {
		if cancelled != nil && s.ctx.Err() != nil {
			cancelled = nil // before assign, which would start what must not start
			s.phase = "cancelling"
			s.end(Interrupted, nil)
		}
		now := time.Now()
		s.probe(now)
		s.assign(now)
		s.hedge(now)
		s.askBills(now)
		s.refresh(now)
		if s.through(now) {
			break
		}
		wake.Reset(s.nextWake(now))
		select {
		case m := <-s.msgs:
			s.handle(m)
			s.handleMore()
		case <-tick.C:
			s.keepBudget(time.Now())
			s.publish(time.Now())
		case o := <-s.orders:
			s.obey(o)
		case <-wake.C:
		case <-stopping:
			stopping = nil
			s.end(Interrupted, nil)
		case <-failed:
			failed = nil
			s.end(Broken, s.cfg.Journal.Err())
		case <-cancelled:
		}
	}
	s.shutDown()
	s.publish(time.Now())
	return Result{Stop: s.stop, Err: s.err, Snapshot: s.Snapshot()}
}

// handleMore takes the messages that are already there, so that a busy run
// does not assign after every one of them.
func (s *scheduler) handleMore() {
	for range cap(s.msgs) {
		select {
		case m := <-s.msgs:
			s.handle(m)
		default:
			return
		}
	}
}

// shutDown ends the feeders and waits for every goroutine.
func (s *scheduler) shutDown() {
	s.stopFeed()
	s.stopWatch()
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	for {
		select {
		case m := <-s.msgs:
			s.handle(m)
		case o := <-s.orders:
			s.obey(o)
		case <-done:
			return
		}
	}
}

// end admits nothing more. The first reason stands, unless a graver one comes.
func (s *scheduler) end(stop Stop, err error) {
	if !s.ending || stop > s.stop {
		s.stop, s.err = stop, err
	}
	s.ending = true
	if s.phase == "running" {
		s.phase = "draining"
	}
	s.stopFeed()
}

// through reports whether the run is over: nothing runs, nothing can be
// started, and the bills are read or not worth waiting for.
func (s *scheduler) through(now time.Time) bool {
	if s.running > 0 {
		return false
	}
	if !s.ending && !s.exhausted(now) {
		return false
	}
	if s.ctx.Err() != nil || s.stop == Broken || s.stop == Interrupted {
		return !s.bills.asking() && !s.meter.running
	}
	s.phase = "settling"
	return s.bills.idle(now, s.cfg.BillPatience) && !s.readMeter()
}

// exhausted decides how a run ends that nobody stopped, when nothing runs and
// nothing was assigned.
func (s *scheduler) exhausted(now time.Time) bool {
	met, left := true, false
	for i, st := range s.sets {
		if s.shares[i].Met() {
			continue
		}
		met = false
		if !st.fed || len(st.feed) > 0 || len(st.ready) > 0 {
			left = true
		}
	}
	switch {
	case met:
		s.end(Finished, nil)
	case !left:
		s.releaseAllRefused()
		s.end(Exhausted, nil)
	case s.openLanes() == 0 && s.mayReopen():
		return false
	case s.openLanes() == 0:
		s.end(Refused, s.closedLanes())
	case (s.allAway() || s.idle == idleMoney) && s.awaited(now):
		return false
	case s.allAway():
		s.end(Refused, s.whoIsAway())
	case s.idle == idleMoney && (!s.bills.idle(now, s.cfg.BillPatience) || s.readMeter()):
		return false // a bill may free what is held
	case s.idle == idleMoney:
		s.end(BudgetReached, nil)
	default:
		return false
	}
	return true
}

// assign starts all that can be started now.
func (s *scheduler) assign(now time.Time) {
	s.share()
	s.idle = ""
	if s.hand.paused && !s.ending {
		s.idle = idlePaused
		return
	}
	for !s.ending && s.running < s.cfg.Concurrency {
		if s.idle = s.pause.holds(); s.idle != "" && !s.besides(s.pause.engine) {
			return
		}
		i := s.cfg.Fit.Next(s.shares, func(i int) bool { return s.sets[i].waitFor(now) })
		if i < 0 {
			s.idle = s.whyNoTask()
			return
		}
		st := s.sets[i]
		if !st.hasTask() {
			s.idle = idleFeed
			return
		}
		t := st.peek()
		if err := s.fitsNone(t); err != nil {
			st.ready = st.ready[1:]
			t.reason, t.detail = "prompt", err.Error()
			s.giveUpTask(t)
			continue
		}
		l, held, reason := s.pick(t, now)
		if l == nil {
			if small := s.tooSmall(t, now); len(small) > 0 {
				if other, at, r := s.fitting(st, small, now); other != nil {
					t, l, held = other, at, r
				} else if !st.fed && len(st.ready) < lookAhead {
					s.idle = idleFeed // one of the next may be shorter
					return
				}
			}
		}
		if l != nil && t.avoid[l.Tag] && !s.nowhere(t) && len(st.feed) > 0 {
			// Another lane will have room for it; this one takes a fresh prompt.
			t = <-st.feed
			st.ready = slices.Insert(st.ready, 0, t)
			l, held, reason = s.pick(t, now)
		}
		if l == nil {
			switch {
			case s.pause.holds() != "":
				s.idle = s.pause.holds()
			case reason == route.NoMoney:
				s.idle = idleMoney
			case reason == route.NoLanes && s.allPaused():
				s.idle = idleLanePaused
			case reason == route.NoLanes && s.allAway():
				s.idle = idleAway
			default:
				s.idle = s.whyLanes(now)
			}
			return
		}
		st.ready = st.ready[1:]
		s.start(t, l, held, false, now)
	}
}

// share brings the sets' shares up to date.
func (s *scheduler) share() {
	for i, st := range s.sets {
		have := s.cfg.State.Set(st.Name)
		s.shares[i] = plan.Share{
			Target: st.Target, Have: st.Seeded + have.CompletionTokens,
			Running: int64(float64(st.running) * st.mean),
		}
	}
}

func (s *scheduler) whyNoTask() string {
	for i, st := range s.sets {
		if !s.shares[i].Met() && !st.fed && len(st.feed) == 0 {
			return idleFeed
		}
	}
	return idleDone
}

// feedPatience is how long a set that lags most is waited for while its feeder
// prepares prompts. Without it the others would take its share whenever many
// slots open at once; with more of it a slow feeder would hold them up.
const feedPatience = 200 * time.Millisecond

// waitFor reports whether the set has a task, or will have one in a moment.
func (st *set) waitFor(now time.Time) bool {
	if st.hasTask() || st.fed {
		st.hungry = time.Time{}
		return st.hasTask()
	}
	if st.hungry.IsZero() {
		st.hungry = now
	}
	return now.Sub(st.hungry) < feedPatience
}

// hasTask reports whether peek would return a task.
func (st *set) hasTask() bool { return len(st.ready) > 0 || len(st.feed) > 0 }

// peek returns the next task, which stays first in ready.
func (st *set) peek() *task {
	if len(st.ready) == 0 {
		st.ready = append(st.ready, <-st.feed)
	}
	return st.ready[0]
}

// reserved is what is reserved for an attempt, and what it costs at the worst.
type reserved struct{ hold, worst eyrie.Money }

// pick chooses a lane for a task.
func (s *scheduler) pick(t *task, now time.Time) (*lane, reserved, route.Reason) {
	return s.pickBut(t, nil, now)
}

// pickBut chooses a lane other than one.
func (s *scheduler) pickBut(t *task, but *lane, now time.Time) (*lane, reserved, route.Reason) {
	cands := make([]route.Candidate, 0, len(s.lanes))
	at := make([]*lane, 0, len(s.lanes))
	worst := make([]eyrie.Money, 0, len(s.lanes))
	for _, l := range s.lanesFor(t, now) {
		if l == but {
			continue
		}
		hold, most := s.reservation(t, l.Lane, now)
		cands = append(cands, route.Candidate{Lane: l.Lane, Room: l.roomFor(t, now), Hold: hold})
		at, worst = append(at, l), append(worst, most)
	}
	free := max(0, s.cfg.Ledger.Free()-s.spareMoney())
	money := route.Money{Free: free, Share: free / eyrie.Money(max(1, s.cfg.Concurrency-s.running))}
	i, reason := route.Pick(cands, money, func(l *eyrie.Lane) bool { return t.avoid[l.Tag] })
	if i < 0 {
		return nil, reserved{}, reason
	}
	return at[i], reserved{cands[i].Hold, worst[i]}, reason
}

// lanesFor are the lanes that may be asked for a task now, in their order: those
// that have room for its prompt and answer. Where none of them has that are
// needed, those do that are spared.
func (s *scheduler) lanesFor(t *task, now time.Time) []*lane {
	short := func(l *lane) bool { return !l.fits(t) }
	if fit := slices.DeleteFunc(s.inOrder(now), short); len(fit) > 0 {
		return fit
	}
	return slices.DeleteFunc(slices.Clone(s.spared), short)
}

// fits reports whether the lane has room for a task's prompt and answer.
func (l *lane) fits(t *task) bool { return t.gen.PromptTokens <= l.LongestPrompt(t.maxTokens()) }

// fitsNone says why no lane that is open can take a task. Where none is open at
// all that is not about the task.
func (s *scheduler) fitsNone(t *task) error {
	if s.openLanes() == 0 {
		return nil
	}
	most := 0
	for _, l := range s.lanes {
		if l.closed == "" {
			most = max(most, l.LongestPrompt(t.maxTokens()))
		}
	}
	return tooLong(t, most)
}

// lookAhead is how many of a set's tasks are looked at for one that fits a lane
// with room, where the first does not.
const lookAhead = 1024

// fitting looks behind a set's first task, which waits for a lane that has room
// for it, for one that can start on those that have room for less, and puts it
// first.
func (s *scheduler) fitting(st *set, small []*lane, now time.Time) (*task, *lane, reserved) {
	for i := 1; i < lookAhead && (i < len(st.ready) || len(st.feed) > 0); i++ {
		if i == len(st.ready) {
			st.ready = append(st.ready, <-st.feed)
		}
		t := st.ready[i]
		if !slices.ContainsFunc(small, func(l *lane) bool { return l.fits(t) }) {
			continue
		}
		if l, held, _ := s.pick(t, now); l != nil && !t.avoid[l.Tag] {
			st.ready = slices.Insert(slices.Delete(st.ready, i, i+1), 0, t)
			return t, l, held
		}
	}
	return nil, nil, reserved{}
}

// tooSmall are the lanes that could take more work, but not what a task asks.
func (s *scheduler) tooSmall(t *task, now time.Time) []*lane {
	return slices.DeleteFunc(s.inOrder(now), func(l *lane) bool { return l.fits(t) || l.room(now) <= 0 })
}

// start reserves the money and starts the attempt.
func (s *scheduler) start(t *task, l *lane, r reserved, hedge bool, now time.Time) {
	s.last++
	if !s.cfg.Ledger.Expect(s.last, r.hold, r.worst) {
		panic("dispatch: the reservation does not fit what was free") // pick has compared them
	}
	t.tries++
	a := &attempt{number: s.last, task: t, lane: l, on: l.Lane, hold: r.worst, asked: t.sampling(), started: now, try: t.tries, hedge: hedge}
	a.slot = l.limiter.Start()
	a.slot.Again = t.refusedBy == l
	if a.try > 1 {
		l.retries.running++
	}
	s.pause.started(a)
	s.running++
	s.sets[t.set].running++
	s.shares[t.set].Running += int64(s.sets[t.set].mean)
	t.copies++
	s.under.add(a)
	ctx, cancel := context.WithCancelCause(s.ctx)
	a.cancel = cancel
	s.wg.Go(func() {
		defer cancel(nil)
		s.attempt(ctx, a)
	})
}

// handle takes one message.
func (s *scheduler) handle(m message) {
	switch m.kind {
	case fed:
		s.sets[m.set].fed = true
		if m.err != nil && s.feedCtx.Err() == nil {
			s.end(Broken, m.err)
		}
	case accepted:
		m.attempt.lane.limiter.Accepted(time.Now(), m.attempt.slot)
		s.taken(m.attempt)
	case ended:
		s.ended(m)
	case billed:
		s.billed(m)
	case metered:
		s.metered(m)
	case refreshed:
		s.refreshed(m)
	case probed:
		s.probed(m.err)
	case loaded:
		s.loaded(m)
	}
}

// ended books an attempt that is over.
func (s *scheduler) ended(m message) {
	a := m.attempt
	s.running--
	s.sets[m.set].running--
	s.under.remove(a)
	s.release(a)
	if m.err != nil { // the journal: what it cost is not known to be on disk
		s.cfg.Ledger.Unknown(a.number)
		s.end(Broken, m.err)
		return
	}
	s.settle(a)
	if a.err == nil || a.err.Kind != eyrie.Pause {
		s.taken(a)
	}
	other := s.hedgeEnded(a)
	switch {
	case a.err == nil && !a.lost:
		s.accept(m)
	case a.err == nil:
		a.lane.strikes = 0
	case other:
		s.judge(a, policyOf(a.err))
	default:
		s.failed(a)
	}
}

// release gives the attempt's place on its lane free and tells the limiter how
// it went.
func (s *scheduler) release(a *attempt) {
	l, e := a.lane, a.err
	if a.try > 1 {
		l.retries.running--
	}
	a.task.refusedBy = nil
	if e == nil {
		l.retries.answered()
		l.limiter.End(time.Now(), a.slot, limit.Answered, 0, 0)
		return
	}
	p := policyOf(e)
	if p.lane == limit.Refused {
		a.task.refusedBy = l
	}
	l.limiter.End(time.Now(), a.slot, p.lane, e.RetryAfter, s.rng.Float64())
}

func (s *scheduler) settle(a *attempt) {
	charged, cost := a.charge()
	if charged != eyrie.ChargedUnknown {
		s.cfg.Ledger.Settle(a.number, cost)
		return
	}
	s.meter.done = false
	s.cfg.Ledger.Seen(a.number, a.answer.ID)
	if rest := a.rest(); rest > 0 {
		s.cfg.Ledger.Lower(a.number, rest)
	}
	s.bills.add(s.cfg.Ledger.Unknown(a.number), time.Now())
}

func (s *scheduler) accept(m message) {
	a := m.attempt
	a.lane.strikes = 0
	a.lane.paced.learn(a, time.Now())
	if a.lane.closed == "" {
		s.releaseRefused(a.lane)
	}
	if a.dropped {
		s.sets[m.set].learn(0) // of what counts
	} else {
		s.sets[m.set].learn(a.answer.Usage.CompletionTokens)
	}
	s.tokens += int64(a.answer.Usage.CompletionTokens)
	s.text += int64(len(a.answer.Reasoning) + len(a.answer.Content))
	s.sets[m.set].paces.learn(a, time.Now())
	if m.next != nil {
		s.sets[m.set].ready = append(s.sets[m.set].ready, m.next)
	}
}

// failed decides what becomes of a generation whose attempt failed.
func (s *scheduler) failed(a *attempt) {
	t, e, p := a.task, a.err, policyOf(a.err)
	s.judge(a, p)
	repeated := s.noteRefusal(a)
	ended := t.count(e.Class)
	t.reason, t.detail = e.Class, clip(e.Error())
	if e.Class == eyrie.ClassCut {
		t.raised = s.cfg.RetryTokens
	}
	switch e.Kind {
	case eyrie.StopRun:
		if s.besides(a.lane.engine) {
			s.closeEngine(a.lane.engine, e.Error())
			s.again(t)
			return
		}
		s.cfg.Log.Error("stopping", "lane", a.lane.Tag, "err", e)
		s.end(Refused, e)
		return
	case eyrie.GiveUp:
		if !s.spare(a) {
			s.giveUpTask(t)
		}
		return
	case eyrie.Pause:
		s.refuse(a)
	case eyrie.Elsewhere:
		s.elsewhere(t, a.lane)
		if repeated && s.nowhere(t) && s.spare(a) {
			return
		}
	}
	if e.PromptOnly || e.Charged == eyrie.ChargedNo && !e.LaneWide {
		t.free++
	}
	if s.ctx.Err() != nil {
		return
	}
	if s.cfg.State.Paid(t.gen.Key) >= s.cfg.PaidAttempts || t.free >= maxFree || p.tries > 0 && ended >= p.tries {
		s.giveUpTask(t)
		return
	}
	s.again(t)
}

// elsewhere keeps a task from a lane as long as there is another.
func (s *scheduler) elsewhere(t *task, l *lane) {
	if t.avoid == nil {
		t.avoid = map[string]bool{}
	}
	t.avoid[l.Tag] = true
}

// again puts a task first in the queue of its set.
func (s *scheduler) again(t *task) {
	st := s.sets[t.set]
	st.ready = slices.Insert(st.ready, 0, t)
}

func (s *scheduler) giveUpTask(t *task) {
	s.cfg.Log.Warn("given up", "set", t.gen.Set, "prompt", t.gen.PromptID, "class", t.reason, "detail", t.detail)
	// The journal is slow and the scheduler must not be.
	s.wg.Go(func() {
		if err := s.giveUp(t, t.reason, t.detail); err != nil {
			s.cfg.Log.Error("giving up", "err", err)
		}
	})
}

func (s *scheduler) closeLane(l *lane, why string) {
	if l.closed == "" {
		l.closed = why
		s.cfg.Log.Error("lane closed", "lane", l.Tag, "why", why)
	}
}

func (s *scheduler) openLanes() (n int) {
	for _, l := range s.lanes {
		if l.closed == "" {
			n++
		}
	}
	return n
}

func (s *scheduler) closedLanes() error {
	errs := []error{errors.New("every lane is closed")}
	for _, l := range s.lanes {
		errs = append(errs, fmt.Errorf("%s: %s", l.Tag, l.closed))
	}
	return errors.Join(errs...)
}

// nextWake is how long nothing can change but by a message.
func (s *scheduler) nextWake(now time.Time) time.Duration {
	next := now.Add(time.Minute)
	earlier := func(t time.Time) {
		if t.After(now) && t.Before(next) {
			next = t
		}
	}
	for _, l := range s.lanes {
		if l.closed == "" {
			earlier(l.limiter.Opens())
		}
	}
	for _, st := range s.sets {
		if !st.hungry.IsZero() {
			earlier(st.hungry.Add(feedPatience))
		}
	}
	if s.pause.state == waiting {
		earlier(s.pause.until)
	}
	if !s.billsWait() {
		earlier(s.bills.next(now))
	}
	if s.cfg.Refresh != nil {
		earlier(s.drift.due)
	}
	return max(next.Sub(now), time.Millisecond)
}
