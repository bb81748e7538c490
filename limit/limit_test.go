package limit_test

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/limit"
)

// world plays a lane that takes a hidden number of requests at once, in a time
// of its own that costs none.
type world struct {
	rng      *rand.Rand
	now      time.Time
	begun    time.Time
	events   events
	lim      *limit.Limiter
	capacity func(since time.Duration) int
	wait     time.Duration // what the lane advises with a refusal; 0 none
	noise    float64       // share of the requests that is refused for no reason
	wanted   int           // how many requests there would be at once at most
	rtt      time.Duration // until a request is taken or refused
	answer   time.Duration // mean length of an answer

	serving int
	started int
	refused int
	cuts    int
	busy    float64 // seconds of the lane's places that were used
	could   float64 // seconds that there were
	biggest int
}

type event struct {
	at time.Time
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}

func newWorld(cfg limit.Config, capacity func(time.Duration) int) *world {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &world{
		rng: rand.New(rand.NewPCG(1, 2)), now: now, begun: now, lim: limit.New(cfg), capacity: capacity,
		wanted: 10_000, rtt: 200 * time.Millisecond, answer: 20 * time.Second,
	}
}

func steady(n int) func(time.Duration) int { return func(time.Duration) int { return n } }

func (w *world) after(d time.Duration, do func()) { heap.Push(&w.events, event{w.now.Add(d), do}) }

// run plays for a while and measures only that while.
func (w *world) run(d time.Duration) {
	w.started, w.refused, w.cuts, w.busy, w.could = 0, 0, 0, 0, 0
	end := w.now.Add(d)
	for {
		w.admit()
		next := end
		if len(w.events) > 0 && w.events[0].at.Before(next) {
			next = w.events[0].at
		}
		if o := w.lim.Opens(); o.After(w.now) && o.Before(next) {
			next = o
		}
		s := next.Sub(w.now).Seconds()
		c := w.capacity(w.now.Sub(w.begun))
		w.busy += s * float64(min(w.serving, c))
		w.could += s * float64(min(c, w.wanted))
		w.now = next
		if !next.Before(end) {
			return
		}
		for len(w.events) > 0 && !w.events[0].at.After(w.now) {
			heap.Pop(&w.events).(event).do()
		}
	}
}

func (w *world) admit() {
	for w.lim.Running() < w.wanted && w.lim.Room(w.now) > 0 {
		r := w.lim.Start()
		w.started++
		w.biggest = max(w.biggest, w.lim.Running())
		if w.serving >= w.capacity(w.now.Sub(w.begun)) || w.rng.Float64() < w.noise {
			w.after(w.rtt, func() { w.refuse(r) })
			continue
		}
		w.serving++
		w.after(w.rtt, func() { w.lim.Accepted(w.now, r) })
		w.after(w.rtt+time.Duration((0.5+w.rng.Float64())*float64(w.answer)), func() {
			w.serving--
			w.lim.End(w.now, r, limit.Answered, 0, 0)
		})
	}
}

func (w *world) refuse(r *limit.Request) {
	w.refused++
	before := w.lim.Limit()
	w.lim.End(w.now, r, limit.Refused, w.wait, w.rng.Float64())
	if w.lim.Limit() < before {
		w.cuts++
	}
}

func (w *world) used() float64   { return w.busy / w.could }
func (w *world) wasted() float64 { return float64(w.refused) / float64(w.started) }

// TestUsesALane plays half an hour on lanes of several sizes: after ten minutes,
// most of their places are used and few requests are refused.
func TestUsesALane(t *testing.T) {
	for _, tt := range []struct {
		name     string
		capacity int
		answer   time.Duration
		noise    float64
		used     float64 // at least
		wasted   float64 // at most
	}{
		{"few places", 5, 20 * time.Second, 0, 0.95, 0.05},
		{"some places", 50, 20 * time.Second, 0, 0.95, 0.03},
		{"many places, short answers", 300, 5 * time.Second, 0, 0.95, 0.03},
		{"many places, long answers", 300, time.Minute, 0, 0.95, 0.03},
		{"very many places, long answers", 1500, time.Minute, 0, 0.95, 0.03},
		{"refusals for no reason", 300, 20 * time.Second, 0.01, 0.9, 0.04},
		{"refusals for no reason, very many places", 1500, 20 * time.Second, 0.01, 0.9, 0.04},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(limit.Config{}, steady(tt.capacity))
			w.answer, w.noise = tt.answer, tt.noise
			w.run(10 * time.Minute)
			w.run(20 * time.Minute)
			w.check(t, tt.used, tt.wasted)
		})
	}
}

func (w *world) check(t *testing.T, used, wasted float64) {
	t.Helper()
	t.Logf("%.3f of the lane used, %.4f of %d requests refused, %d cuts, limit %d", w.used(), w.wasted(), w.started, w.cuts, w.lim.Limit())
	if w.used() < used {
		t.Errorf("%.3f of the lane is used, want %.3f", w.used(), used)
	}
	if w.wasted() > wasted {
		t.Errorf("%.4f of the requests are refused, want at most %.4f", w.wasted(), wasted)
	}
}

// TestFollowsALaneThatChanges takes most of a lane's places away and gives
// them back.
func TestFollowsALaneThatChanges(t *testing.T) {
	w := newWorld(limit.Config{}, func(since time.Duration) int {
		if since >= 10*time.Minute && since < 20*time.Minute {
			return 200
		}
		return 1000
	})
	w.run(10 * time.Minute)
	w.check(t, 0.9, 0.03)
	w.run(10 * time.Minute) // fewer places
	w.check(t, 0.9, 0.04)
	w.run(10 * time.Minute) // more again: found out on the way
	w.check(t, 0.9, 0.03)
	w.run(10 * time.Minute)
	w.check(t, 0.95, 0.03)
}

// TestAnEarlyRefusalIsOvercome: what a lane refused in its first second, when
// little was running, is not taken for its size for the rest of the run.
func TestAnEarlyRefusalIsOvercome(t *testing.T) {
	w := newWorld(limit.Config{}, func(since time.Duration) int {
		if since < time.Second {
			return 20
		}
		return 1000
	})
	w.run(10 * time.Minute)
	w.run(10 * time.Minute)
	w.check(t, 0.95, 0.03)
}

// TestObeysAdvice: a lane that says how long to wait is not asked before.
func TestObeysAdvice(t *testing.T) {
	w := newWorld(limit.Config{}, steady(100))
	w.wait = 15 * time.Second
	w.run(10 * time.Minute)
	w.run(20 * time.Minute)
	w.check(t, 0.9, 0.05)
}

func TestNeverOverItsMaximum(t *testing.T) {
	w := newWorld(limit.Config{Max: 150}, steady(1_000_000))
	w.run(10 * time.Minute)
	if w.biggest != 150 || w.lim.Limit() != 150 {
		t.Errorf("at most %d ran at once, the limit is %d; want 150", w.biggest, w.lim.Limit())
	}
}

// noon is a moment to count from.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// bench is a limiter with the requests that run on it.
type bench struct {
	*limit.Limiter
	now     time.Time
	waiting []*limit.Request // not taken yet
	taken   []*limit.Request
}

func newBench(cfg limit.Config) *bench { return &bench{Limiter: limit.New(cfg), now: noon} }

// fill starts all that there is room for.
func (b *bench) fill() (n int) {
	for b.Room(b.now) > 0 {
		b.waiting = append(b.waiting, b.Start())
		n++
	}
	return n
}

// take has n of the requests that wait taken, the oldest first.
func (b *bench) take(n int) {
	for range n {
		r := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.Accepted(b.now, r)
		b.taken = append(b.taken, r)
	}
}

// round has as many requests taken as run, and starts others in their wake.
func (b *bench) round() {
	b.fill()
	b.pass(time.Second)
	for range len(b.waiting) {
		b.take(1)
		b.fill()
	}
}

// fail ends n of the requests that wait.
func (b *bench) fail(n int, o limit.Outcome, wait time.Duration, jitter float64) {
	for range n {
		r := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.End(b.now, r, o, wait, jitter)
	}
}

// end ends n of the requests that were taken.
func (b *bench) end(n int, o limit.Outcome) {
	for range n {
		r := b.taken[0]
		b.taken = b.taken[1:]
		b.End(b.now, r, o, 0, 0)
	}
}

func (b *bench) pass(d time.Duration) { b.now = b.now.Add(d) }

func TestStartsModestly(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  limit.Config
		want int
	}{
		{"by default", limit.Config{}, 16},
		{"as configured", limit.Config{Start: 7}, 7},
		{"not over the maximum", limit.Config{Max: 9}, 9},
		{"nonsense", limit.Config{Start: -1, Max: -1, Cut: 7}, 16},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := limit.New(tt.cfg)
			if l.Limit() != tt.want || l.Room(noon) != tt.want || l.Running() != 0 {
				t.Errorf("limit %d, room %d, running %d; want %d, as much, 0", l.Limit(), l.Room(noon), l.Running(), tt.want)
			}
		})
	}
}

func TestRoom(t *testing.T) {
	l := limit.New(limit.Config{Start: 4})
	var rs []*limit.Request
	for range 3 {
		rs = append(rs, l.Start())
	}
	if l.Room(noon) != 1 {
		t.Errorf("room %d, want 1", l.Room(noon))
	}
	for range 2 { // one too many: the caller may
		rs = append(rs, l.Start())
	}
	if l.Room(noon) != 0 || l.Running() != 5 {
		t.Errorf("room %d, running %d; want 0, 5", l.Room(noon), l.Running())
	}
	for _, r := range rs[:2] {
		l.End(noon, r, limit.Neutral, 0, 0)
	}
	if l.Room(noon) != 1 {
		t.Errorf("room %d, want 1", l.Room(noon))
	}
}

func TestGrowsFasterWhileClean(t *testing.T) {
	b := newBench(limit.Config{Start: 10})
	for _, want := range []int{21, 33, 46, 61} {
		b.round()
		if b.Limit() != want {
			t.Fatalf("the limit is %d, want %d", b.Limit(), want)
		}
	}
}

func TestGrowsOnlyWhenFull(t *testing.T) {
	b := newBench(limit.Config{Start: 64})
	for range 1000 {
		for range 32 {
			b.waiting = append(b.waiting, b.Start())
		}
		b.pass(time.Second)
		b.take(32)
		b.end(32, limit.Answered)
	}
	if b.Limit() != 64 {
		t.Errorf("the limit of a lane that is half used grew to %d", b.Limit())
	}
}

// TestTakenAfterARefusalIsNeutral: a request that the lane has refused before
// does not raise the limit when it is taken.
func TestTakenAfterARefusalIsNeutral(t *testing.T) {
	b := newBench(limit.Config{Start: 10})
	b.fill()
	for _, r := range b.waiting {
		r.Again = true
	}
	b.pass(time.Second)
	b.take(10)
	if b.Limit() != 10 {
		t.Errorf("the limit is %d, want 10", b.Limit())
	}
}

// TestOneCutPerEpisode: of the many requests that a full lane refuses at once,
// one cuts its limit.
func TestOneCutPerEpisode(t *testing.T) {
	for name, between := range map[string]time.Duration{"one after another": time.Millisecond, "in the same instant": 0} {
		t.Run(name, func(t *testing.T) {
			b := newBench(limit.Config{Start: 100, Cut: 0.5})
			b.fill()
			b.pass(time.Second)
			b.take(100)
			b.fill()
			b.pass(time.Second)
			for len(b.waiting) > 0 {
				b.fail(1, limit.Refused, 0, 0.5)
				b.pass(between)
			}
			if b.Limit() != 50 { // of the hundred that it holds
				t.Errorf("the limit is %d, want half of what the lane holds, once", b.Limit())
			}
			if b.Room(b.now) != 0 || !b.Opens().After(b.now) {
				t.Error("the lane is not closed for a while")
			}
		})
	}
}

// TestARefusalNowAndThenIsNoise: on a lane with many places, one refusal in a
// hundred takes little away.
func TestARefusalNowAndThenIsNoise(t *testing.T) {
	w := newWorld(limit.Config{Start: 300, Max: 300}, steady(100_000))
	w.noise = 0.01
	w.run(30 * time.Minute)
	if w.cuts > 0 && w.lim.Limit() < 280 {
		t.Errorf("the limit is %d after %d cuts; want about 300", w.lim.Limit(), w.cuts)
	}
}

func TestALimitIsNeverLessThanOne(t *testing.T) {
	b := newBench(limit.Config{Start: 4})
	for range 20 {
		b.pass(time.Hour)
		b.fill()
		b.pass(time.Second)
		b.fail(len(b.waiting), limit.Refused, 0, 0.5)
	}
	b.pass(time.Hour)
	if b.Limit() < 1 || b.Room(b.now) != 1 {
		t.Errorf("the limit is %d, room %d; want at least one, and one", b.Limit(), b.Room(b.now))
	}
}

func TestAdviceClosesTheLane(t *testing.T) {
	b := newBench(limit.Config{Start: 10})
	b.fill()
	b.pass(time.Second)
	b.fail(1, limit.Refused, time.Minute, 0.5)
	b.fail(1, limit.Refused, 10*time.Second, 0.5) // does not open it earlier
	if want := b.now.Add(time.Minute); !b.Opens().Equal(want) {
		t.Fatalf("it opens at %v, want %v", b.Opens(), want)
	}
	b.fail(1, limit.Trouble, 2*time.Minute, 0.5) // belongs to the same episode, but it counts
	opens := b.now.Add(2 * time.Minute)
	if !b.Opens().Equal(opens) {
		t.Fatalf("it opens at %v, want %v", b.Opens(), opens)
	}
	b.fail(len(b.waiting), limit.Neutral, time.Hour, 0) // says nothing of the lane
	if b.Room(opens.Add(-1)) != 0 || b.Room(opens) == 0 {
		t.Errorf("room %d before it opens, %d after", b.Room(opens.Add(-1)), b.Room(opens))
	}
}

// TestCoolDownLengthens: while one trial after another is refused, the pauses
// grow to their longest, and the lane is broken after some; one request that is
// taken mends it.
func TestCoolDownLengthens(t *testing.T) {
	for _, o := range []limit.Outcome{limit.Refused, limit.Trouble} {
		b := newBench(limit.Config{Start: 10, CoolDown: time.Second, MaxCool: 5 * time.Second})
		b.fill()
		b.pass(time.Millisecond)
		b.fail(10, o, 0, 0.5)
		for i, want := range []time.Duration{1, 2, 4, 5, 5} {
			if got := b.Opens().Sub(b.now); got != want*time.Second {
				t.Errorf("outcome %d: pause %d lasts %v, want %ds", o, i, got, want)
			}
			if broken := b.State(b.now) == limit.Broken; broken != (i >= 2) {
				t.Errorf("outcome %d: pause %d finds the lane %v", o, i, b.State(b.now))
			}
			b.pass(want * time.Second)
			if n := b.fill(); n != 1 {
				t.Fatalf("outcome %d: %d requests after pause %d, want one on trial", o, n, i)
			}
			b.pass(time.Millisecond)
			if i < 4 {
				b.fail(1, o, 0, 0.5)
			}
		}
		b.take(1)
		if b.State(b.now) != limit.Open || b.Room(b.now) == 0 {
			t.Errorf("outcome %d: after a request was taken the lane is %v with room %d; want it open, with room", o, b.State(b.now), b.Room(b.now))
		}
	}
}

func TestJitterSpreadsThePauses(t *testing.T) {
	for jitter, want := range map[float64]time.Duration{0: 500 * time.Millisecond, 0.5: time.Second, 0.9: 1400 * time.Millisecond} {
		b := newBench(limit.Config{Start: 10})
		b.fill()
		b.pass(time.Second)
		b.fail(10, limit.Refused, 0, jitter)
		if got := b.Opens().Sub(b.now); got != want {
			t.Errorf("jitter %v closes the lane for %v, want %v", jitter, got, want)
		}
	}
}

// TestFullLaneIsTriedWhenItHasDrained: a lane that refuses because it holds too
// much is tried again as soon as it holds less, and not only after a pause that
// grew long.
func TestFullLaneIsTriedWhenItHasDrained(t *testing.T) {
	b := newBench(limit.Config{Start: 100})
	b.fill()
	b.pass(time.Second)
	b.take(100)
	b.fill()
	b.pass(time.Second)
	b.fail(len(b.waiting), limit.Refused, 0, 0.5)
	for range 4 { // trials that are refused
		b.pass(30 * time.Second)
		b.end(12, limit.Answered)
		b.fill()
		b.pass(time.Millisecond)
		b.fail(len(b.waiting), limit.Refused, 0, 0.5)
	}
	b.pass(2 * time.Second)
	if b.Room(b.now) != 0 {
		t.Fatal("there is room before anything has drained, in the midst of a long pause")
	}
	b.end(10, limit.Answered)
	if b.Room(b.now) != 1 {
		t.Errorf("room %d after a tenth has drained, want one on trial", b.Room(b.now))
	}
}

// TestTroubleIsNoRefusal: server errors never cut the limit. Now and then they
// change nothing; many of them stop its growth.
func TestTroubleIsNoRefusal(t *testing.T) {
	b := newBench(limit.Config{Start: 64})
	b.fill()
	b.pass(time.Second)
	b.fail(1, limit.Trouble, 0, 0)
	if b.Opens().After(b.now) {
		t.Errorf("one error closes the lane until %v", b.Opens())
	}
	b.fill()
	b.take(1)
	if b.Limit() != 65 {
		t.Errorf("after one error the limit is %d, want it to grow", b.Limit())
	}
	b.fail(3, limit.Trouble, 0, 0)
	b.fill()
	b.take(1)
	if b.Limit() != 65 || b.Opens().After(b.now) {
		t.Errorf("with some errors the limit is %d; want it to stand still, and the lane open", b.Limit())
	}
	b.fail(10, limit.Trouble, 0, 0)
	if b.Limit() != 65 || !b.Opens().After(b.now) {
		t.Errorf("when most fails, the limit is %d and the lane opens at %v; want 65 and a rest", b.Limit(), b.Opens())
	}
}

// TestFailingAfterTaking: a lane that takes requests and fails them is not
// mended by taking one, but by answering it.
func TestFailingAfterTaking(t *testing.T) {
	b := newBench(limit.Config{Start: 20})
	for range 3 {
		b.pass(time.Minute)
		b.fill()
		b.pass(time.Second)
		b.take(len(b.waiting))
		b.pass(time.Second)
		b.end(len(b.taken), limit.Trouble)
	}
	b.pass(time.Minute)
	if n := b.fill(); n != 1 {
		t.Fatalf("%d requests on trial, want 1", n)
	}
	b.take(1)
	if b.Room(b.now) != 0 {
		t.Errorf("room %d while the trial is not answered, want 0", b.Room(b.now))
	}
	b.end(1, limit.Answered)
	if b.State(b.now) != limit.Open || b.Room(b.now) == 0 {
		t.Errorf("after an answer the lane is %v with room %d", b.State(b.now), b.Room(b.now))
	}
}
