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
		w.lim.Start()
		w.started++
		w.biggest = max(w.biggest, w.lim.Running())
		began := w.now
		if w.serving >= w.capacity(w.now.Sub(w.begun)) || w.rng.Float64() < w.noise {
			w.after(w.rtt, func() { w.refuse(began) })
			continue
		}
		w.serving++
		w.after(w.rtt, func() { w.lim.Accepted(w.now) })
		w.after(w.rtt+time.Duration((0.5+w.rng.Float64())*float64(w.answer)), func() {
			w.serving--
			w.lim.Done()
		})
	}
}

func (w *world) refuse(began time.Time) {
	w.refused++
	w.lim.Done()
	before := w.lim.Limit()
	w.lim.Refused(w.now, began, w.wait, w.rng.Float64())
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
		{"few places", 5, 20 * time.Second, 0, 0.85, 0.12},
		{"some places", 50, 20 * time.Second, 0, 0.9, 0.05},
		{"many places, short answers", 300, 5 * time.Second, 0, 0.9, 0.01},
		{"many places, long answers", 300, time.Minute, 0, 0.9, 0.03},
		{"very many places, long answers", 1500, time.Minute, 0, 0.9, 0.01},
		{"refusals for no reason", 300, 20 * time.Second, 0.01, 0.9, 0.05},
		{"refusals for no reason, very many places", 1500, 20 * time.Second, 0.01, 0.9, 0.05},
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
	w.check(t, 0.9, 0.02)
	w.run(10 * time.Minute) // fewer places
	w.check(t, 0.8, 0.15)
	w.run(10 * time.Minute) // more again: found out on the way
	w.check(t, 0.65, 0.01)
	w.run(10 * time.Minute)
	w.check(t, 0.9, 0.01)
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
	w.check(t, 0.9, 0.01)
}

// TestObeysAdvice: a lane that says how long to wait is not asked before.
func TestObeysAdvice(t *testing.T) {
	w := newWorld(limit.Config{}, steady(100))
	w.wait = 15 * time.Second
	w.run(10 * time.Minute)
	w.run(20 * time.Minute)
	w.check(t, 0.7, 0.06)
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

// running returns a limiter with n requests running.
func running(n int, cfg limit.Config) *limit.Limiter {
	l := limit.New(cfg)
	for range n {
		l.Start()
	}
	return l
}

func TestStartsModestly(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  limit.Config
		want int
	}{
		{"by default", limit.Config{}, 64},
		{"as configured", limit.Config{Start: 7}, 7},
		{"not over the maximum", limit.Config{Max: 9}, 9},
		{"nonsense", limit.Config{Start: -1, Max: -1, Cut: 7}, 64},
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
	l := running(3, limit.Config{Start: 4})
	if l.Room(noon) != 1 {
		t.Errorf("room %d, want 1", l.Room(noon))
	}
	l.Start()
	l.Start() // one too many: the caller may
	if l.Room(noon) != 0 || l.Running() != 5 {
		t.Errorf("room %d, running %d; want 0, 5", l.Room(noon), l.Running())
	}
	l.Done()
	l.Done()
	if l.Room(noon) != 1 {
		t.Errorf("room %d, want 1", l.Room(noon))
	}
}

// refuse has requests refused that were sent before now, until the lane is
// closed: it takes a few refusals for that, which may be noise.
func refuse(t *testing.T, l *limit.Limiter, now time.Time, jitter float64) {
	t.Helper()
	for range 20 {
		l.Refused(now, now.Add(-time.Second), 0, jitter)
		if l.Opens().After(now) {
			return
		}
	}
	t.Fatal("the limit is not cut by 20 refusals in a row")
}

func TestDoublesUntilTheFirstCut(t *testing.T) {
	l := limit.New(limit.Config{Start: 10})
	for _, want := range []int{20, 40, 80} {
		acceptRound(l, noon)
		if l.Limit() != want {
			t.Fatalf("the limit is %d, want %d", l.Limit(), want)
		}
	}
	refuse(t, l, noon, 0)
	later := noon.Add(time.Hour)
	for range 3 {
		before := l.Limit()
		acceptRound(l, later)
		if l.Limit() <= before || l.Limit() >= 2*before {
			t.Errorf("after a cut, the limit went from %d to %d; want it to grow and not to double", before, l.Limit())
		}
	}
}

// acceptRound has as many requests accepted as the limit is, while all of it
// is in use.
func acceptRound(l *limit.Limiter, now time.Time) {
	for range l.Limit() {
		for l.Room(now) > 0 {
			l.Start()
		}
		l.Accepted(now)
	}
}

func TestGrowsOnlyWhenFull(t *testing.T) {
	l := running(32, limit.Config{Start: 64})
	for range 1000 {
		l.Accepted(noon)
	}
	if l.Limit() != 64 {
		t.Errorf("the limit of a lane that is half used grew to %d", l.Limit())
	}
}

// TestOneCutPerEpisode: of the many requests that a full lane refuses at once,
// one cuts its limit.
func TestOneCutPerEpisode(t *testing.T) {
	for name, between := range map[string]time.Duration{"one after another": time.Millisecond, "in the same instant": 0} {
		t.Run(name, func(t *testing.T) {
			l := running(100, limit.Config{Start: 100, Cut: 0.5})
			for i := range 100 {
				l.Done()
				l.Refused(noon.Add(time.Duration(i)*between), noon, 0, 0.5)
			}
			if l.Limit() < 40 || l.Limit() > 50 { // another cut would be to 25
				t.Errorf("the limit is %d, want it cut in half once", l.Limit())
			}
			before := l.Limit()
			refuse(t, l, noon.Add(time.Hour), 0)
			if l.Limit() >= before {
				t.Errorf("the limit is %d after another episode", l.Limit())
			}
		})
	}
}

// TestARefusalNowAndThenIsNoise: on a lane with many places, one refusal in a
// hundred changes nothing.
func TestARefusalNowAndThenIsNoise(t *testing.T) {
	l := limit.New(limit.Config{Start: 300, Max: 300})
	for l.Room(noon) > 0 {
		l.Start()
	}
	for i := range 10_000 {
		if i%100 == 50 {
			l.Refused(noon.Add(time.Duration(i)*time.Second), noon.Add(time.Duration(i-1)*time.Second), 0, 0)
			continue
		}
		l.Accepted(noon.Add(time.Duration(i) * time.Second))
	}
	if l.Limit() != 300 || l.Opens().After(noon) {
		t.Errorf("the limit is %d, it opens at %v; want 300 and never closed", l.Limit(), l.Opens())
	}
}

func TestALimitIsNeverLessThanOne(t *testing.T) {
	l := running(4, limit.Config{Start: 4})
	for i := range 20 {
		refuse(t, l, noon.Add(time.Duration(i)*time.Hour), 0)
	}
	for range 4 {
		l.Done()
	}
	if l.Limit() != 1 || l.Room(noon.Add(100*time.Hour)) != 1 {
		t.Errorf("the limit is %d, want 1", l.Limit())
	}
}

func TestAdviceClosesTheLane(t *testing.T) {
	l := running(10, limit.Config{Start: 64})
	began := noon.Add(-time.Second)
	l.Refused(noon, began, time.Minute, 0.5)
	l.Refused(noon, began, 10*time.Second, 0.5) // does not open it earlier
	if want := noon.Add(time.Minute); !l.Opens().Equal(want) {
		t.Fatalf("it opens at %v, want %v", l.Opens(), want)
	}
	l.Refused(noon, began, 2*time.Minute, 0.5) // nor is it a cut, but it counts
	opens := noon.Add(2 * time.Minute)
	if !l.Opens().Equal(opens) {
		t.Fatalf("it opens at %v, want %v", l.Opens(), opens)
	}
	for range 10 {
		l.Done()
	}
	if l.Room(opens.Add(-1)) != 0 || l.Room(opens) == 0 {
		t.Errorf("room %d before it opens, %d after", l.Room(opens.Add(-1)), l.Room(opens))
	}
}

func TestCoolDownLengthensWhileRefusalsGoOn(t *testing.T) {
	l := running(1000, limit.Config{Start: 1000, CoolDown: time.Second, MaxCool: 5 * time.Second})
	at := noon
	closed := func(jitter float64) time.Duration {
		at = at.Add(time.Hour)
		refuse(t, l, at, jitter)
		return l.Opens().Sub(at)
	}
	for i, want := range []time.Duration{1, 2, 4, 5, 5} {
		if got := closed(0.5); got != want*time.Second {
			t.Errorf("cut %d closes the lane for %v, want %ds", i, got, want)
		}
	}
	if got := closed(0); got != 2500*time.Millisecond {
		t.Errorf("without jitter it is closed for %v, want half of 5s", got)
	}
	if got := closed(0.999); got < 7*time.Second || got > 7500*time.Millisecond {
		t.Errorf("with all jitter it is closed for %v, want about 1.5 times 5s", got)
	}
	for n := 0; n <= l.Limit(); n++ {
		l.Accepted(at)
	}
	if got := closed(0.5); got != time.Second {
		t.Errorf("after a limit's worth of accepted requests it is closed for %v, want 1s", got)
	}
}

// TestTroubleIsNoRefusal: server errors never cut the limit. Now and then they
// change nothing; many of them stop its growth, and let the lane rest.
func TestTroubleIsNoRefusal(t *testing.T) {
	l := running(64, limit.Config{Start: 64})
	l.Trouble(noon, 0)
	if l.Room(noon) != 0 || l.Opens().After(noon) {
		t.Errorf("one error closes the lane until %v", l.Opens())
	}
	l.Accepted(noon)
	if l.Limit() != 65 {
		t.Errorf("after one error the limit is %d, want it to grow", l.Limit())
	}
	for range 100 {
		l.Trouble(noon, 0)
	}
	l.Accepted(noon)
	if l.Limit() != 65 || !l.Opens().After(noon) {
		t.Errorf("when most fails, the limit is %d and the lane opens at %v; want 65 and a rest", l.Limit(), l.Opens())
	}
}

func TestTroubleWithAdviceClosesTheLane(t *testing.T) {
	l := running(10, limit.Config{Start: 64})
	l.Trouble(noon, 10*time.Second)
	l.Trouble(noon, time.Second)
	if want := noon.Add(10 * time.Second); !l.Opens().Equal(want) {
		t.Errorf("it opens at %v, want %v", l.Opens(), want)
	}
	if l.Room(noon) != 0 || l.Limit() != 64 {
		t.Errorf("room %d, limit %d; want 0, 64", l.Room(noon), l.Limit())
	}
}
