package dispatch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/progress"
	"github.com/eyrie-ai/eyrie/route"
)

// This file plays vendors whose lanes hold a number of requests at once that
// nobody tells and that changes while a run goes on, and compares the tokens
// that a run gets out of them with those of an optimum that knows every
// capacity in advance and fills it at every moment. Time is virtual.

// curve is something that changes in the course of a run.
type curve func(at time.Duration) float64

func flat(v float64) curve { return func(time.Duration) float64 { return v } }

// step is one change of a curve.
type step struct {
	at time.Duration
	to float64
}

// stairs begins at a value and jumps.
func stairs(from float64, steps ...step) curve {
	return func(at time.Duration) float64 {
		v := from
		for _, s := range steps {
			if at >= s.at {
				v = s.to
			}
		}
		return v
	}
}

// wave drifts up and down around a middle.
func wave(middle, swing float64, period time.Duration) curve {
	return func(at time.Duration) float64 {
		return middle + swing*math.Sin(2*math.Pi*at.Seconds()/period.Seconds())
	}
}

// slope goes from one value to another in a straight line.
func slope(from, to float64, during time.Duration) curve {
	return func(at time.Duration) float64 {
		return from + (to-from)*min(1, at.Seconds()/during.Seconds())
	}
}

// neighbours is what others leave of a lane: they come and go, some at a time,
// around a share of it.
func neighbours(all, share, swing float64, seed uint64) curve {
	rng := rand.New(rand.NewPCG(seed, 1))
	var left []float64 // by every two seconds
	taken := all * share
	for range 3600 {
		taken += (all*share-taken)*0.05 + swing*rng.NormFloat64()
		left = append(left, math.Round(all-min(max(0, taken), all*0.8)))
	}
	return func(at time.Duration) float64 { return left[int(at/(2*time.Second))%len(left)] }
}

// spell is a part of a run.
type spell struct{ from, to time.Duration }

func (s spell) holds(at time.Duration) bool { return at >= s.from && at < s.to }

// lane is a lane of a played vendor.
type playedLane struct {
	tag      string
	price    string        // of an output token
	capacity curve         // requests at once
	speed    curve         // tokens a second of each of them
	rtt      time.Duration // until a request is taken or refused
	wait     time.Duration // what it advises with a refusal
	perMin   float64       // requests a minute it takes; 0 any
	noise    float64       // share of the requests it refuses for no reason
	storm    spell         // in which it refuses everything
	sick     spell         // in which everything fails with a server error
	dead     spell         // in which nothing gets through, and what was under way breaks

	serving int
	bucket  float64
	filled  time.Duration
	asked   int
	most    int
}

// vendor plays lanes.
type vendor struct {
	mu    sync.Mutex
	began time.Time
	rng   *rand.Rand
	lanes map[string]*playedLane
	mean  float64 // tokens of an answer
	calls int
	good  int
	got   []float64 // tokens of good answers, by the seconds in which they came
	paid  map[string]eyrie.Money
}

const tick = 5 * time.Second

func (v *vendor) now() time.Duration { return time.Since(v.began) }

// length draws the tokens of an answer.
func (v *vendor) length() float64 {
	return max(20, v.mean*math.Exp(0.5*v.rng.NormFloat64()-0.125))
}

var errStorm = errors.New("too many requests")

// admit decides whether a lane takes a request, and how long its answer is.
func (v *vendor) admit(l *playedLane) (float64, *eyrie.Error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := v.now()
	l.bucket = min(max(1, l.perMin/12), l.bucket+(at-l.filled).Minutes()*l.perMin)
	l.filled = at
	full := l.serving >= int(l.capacity(at)) || l.perMin > 0 && l.bucket < 1
	switch {
	case l.dead.holds(at):
		return 0, &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "connection", LaneWide: true, Err: errors.New("connection refused")}
	case l.sick.holds(at):
		return 0, &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "503", LaneWide: true, Err: errors.New("no instances")}
	case full, l.storm.holds(at), v.rng.Float64() < l.noise:
		return 0, &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "429", LaneWide: true, RetryAfter: l.wait, Err: errStorm}
	}
	l.bucket--
	l.serving++
	l.most = max(l.most, l.serving)
	return v.length(), nil
}

func (v *vendor) Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error] {
	return func(yield func(eyrie.Event, error) bool) {
		v.mu.Lock()
		v.calls++
		id := fmt.Sprintf("gen-%d", v.calls)
		l := v.lanes[r.Lane.Tag]
		l.asked++
		rtt := time.Duration((0.7 + 0.6*v.rng.Float64()) * float64(l.rtt))
		v.mu.Unlock()
		if !pass(ctx, rtt) {
			yield(eyrie.Event{Kind: eyrie.Ended, Answer: &eyrie.Answer{}}, &eyrie.Error{Kind: eyrie.Again, Class: "cancelled", Err: context.Cause(ctx)})
			return
		}
		length, e := v.admit(l)
		if e != nil {
			yield(eyrie.Event{Kind: eyrie.Ended, Answer: &eyrie.Answer{}}, e)
			return
		}
		v.serve(ctx, r, l, id, length, yield)
	}
}

// serve streams an answer at the lane's speed.
func (v *vendor) serve(ctx context.Context, r *eyrie.Request, l *playedLane, id string, length float64, yield func(eyrie.Event, error) bool) {
	yield(eyrie.Event{Kind: eyrie.Opened, ID: id}, nil)
	first := v.now()
	var parts []float64
	came := 0.0
	var failed error
	for came < length && failed == nil {
		at := v.now()
		speed := max(l.speed(at), 0.01)
		d := min(tick, time.Duration((length-came)/speed*float64(time.Second))+time.Millisecond)
		if !pass(ctx, d) {
			failed = &eyrie.Error{Kind: eyrie.Again, Class: "cancelled", Err: context.Cause(ctx)}
		} else if l.dead.holds(v.now()) {
			failed = &eyrie.Error{Kind: eyrie.Again, Class: "stream cut", LaneWide: true, Err: errors.New("connection reset")}
		}
		n := min(length-came, speed*d.Seconds())
		came += n
		parts = append(parts, n)
		yield(eyrie.Event{Kind: eyrie.Progress, Bytes: int(4 * came)}, nil)
	}
	a := good(r, int(came))
	a.ID, a.Elapsed = id, v.now()-first
	v.mu.Lock()
	l.serving--
	v.paid[id] = a.Cost
	if failed == nil {
		v.good++
		for i, n := range parts {
			v.credit(first+time.Duration(i)*tick, n)
		}
	}
	v.mu.Unlock()
	a.CostGiven = failed == nil
	yield(eyrie.Event{Kind: eyrie.Ended, Answer: a}, failed)
}

func (v *vendor) credit(at time.Duration, tokens float64) {
	i := int(at / time.Second)
	for len(v.got) <= i {
		v.got = append(v.got, 0)
	}
	v.got[i] += tokens
}

func (v *vendor) Bill(_ context.Context, id string) (eyrie.Money, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.paid[id], nil
}

// pass waits, and reports false when ctx ends before.
func pass(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// best is what an optimum gets in a part of the run: it fills the lanes in
// their order, as far as the ceiling reaches.
func (v *vendor) best(lanes []*playedLane, ceiling int, mean float64, by route.Sort, part spell) (tokens float64) {
	lanes = slices.Clone(lanes)
	for at := part.from; at < part.to; at += time.Second {
		if by == route.ByThroughput {
			slices.SortFunc(lanes, func(a, b *playedLane) int { return cmp.Compare(b.speed(at), a.speed(at)) })
		}
		room := float64(ceiling)
		for _, l := range lanes {
			if l.dead.holds(at) || l.sick.holds(at) || l.storm.holds(at) {
				continue
			}
			n := min(room, math.Floor(l.capacity(at)))
			if l.perMin > 0 {
				n = min(n, l.perMin/60*mean/l.speed(at))
			}
			room -= n
			tokens += n * l.speed(at)
		}
	}
	return tokens
}

func (v *vendor) useful(part spell) (tokens float64) {
	for i := int(part.from.Seconds()); i < int(part.to.Seconds()) && i < len(v.got); i++ {
		tokens += v.got[i]
	}
	return tokens
}

// capacityScenario is a run on played lanes.
type capacityScenario struct {
	name    string
	short   bool // played with -short, too
	lanes   []*playedLane
	ceiling int // 2000
	sort    route.Sort
	mean    float64 // tokens of an answer; 1000
	lasts   time.Duration
	changes []time.Duration // the moments of sudden changes
	wasted  float64         // share of the attempts at most; 0.05
}

func fast(tag string, capacity curve) *playedLane {
	return &playedLane{tag: tag, price: "0.0000025", capacity: capacity, speed: flat(40), rtt: 700 * time.Millisecond}
}

func with(l *playedLane, change func(*playedLane)) *playedLane {
	change(l)
	return l
}

const (
	settles = 60 * time.Second // after a change the run has so long to be back
	aim     = 0.90
)

func capacityScenarios() []capacityScenario {
	min := time.Minute
	return []capacityScenario{
		{name: "three steady lanes", lanes: []*playedLane{fast("a", flat(60)), fast("b", flat(250)), fast("c", flat(120))}},
		{name: "one large lane", lanes: []*playedLane{fast("a", flat(1300))}, lasts: 10 * min},
		{name: "small lanes", short: true, lanes: []*playedLane{fast("a", flat(6)), fast("b", flat(15)), fast("c", flat(9))}, lasts: 60 * min},
		{name: "capacity steps", short: true, changes: []time.Duration{5 * min, 10 * min, 15 * min},
			lanes: []*playedLane{fast("a", stairs(150, step{5 * min, 600}, step{10 * min, 200}, step{15 * min, 450}))}},
		{name: "capacity steps, long answers", changes: []time.Duration{6 * min, 12 * min, 18 * min}, mean: 3000, lasts: 24 * min,
			lanes: []*playedLane{fast("a", stairs(150, step{6 * min, 600}, step{12 * min, 200}, step{18 * min, 450})), fast("b", flat(100))}},
		{name: "capacity steps, with advice", changes: []time.Duration{5 * min, 10 * min, 15 * min},
			lanes: []*playedLane{with(fast("a", stairs(150, step{5 * min, 600}, step{10 * min, 200}, step{15 * min, 450})), func(l *playedLane) { l.wait = 5 * time.Second })}},
		{name: "capacity drifts", lanes: []*playedLane{fast("a", wave(300, 120, 8*min)), fast("b", wave(150, 60, 5*min))}},
		{name: "capacity drifts, with advice", lanes: []*playedLane{
			with(fast("a", wave(300, 120, 8*min)), func(l *playedLane) { l.wait = 3 * time.Second }), fast("b", wave(150, 60, 5*min))}},
		{name: "shared with others", lanes: []*playedLane{fast("a", neighbours(500, 0.4, 6, 1)), fast("b", neighbours(200, 0.3, 4, 2))}},
		{name: "refusals for no reason", lanes: []*playedLane{with(fast("a", flat(300)), func(l *playedLane) { l.noise = 0.01 })}},
		{name: "requests a minute", lanes: []*playedLane{with(fast("a", flat(10000)), func(l *playedLane) { l.perMin = 600 })}},
		{name: "a storm of refusals on one of two", changes: []time.Duration{5 * min, 8 * min}, lanes: []*playedLane{
			with(fast("a", flat(300)), func(l *playedLane) { l.storm = spell{5 * min, 8 * min} }), fast("b", flat(150))}},
		{name: "a storm of refusals everywhere", short: true, changes: []time.Duration{9 * min}, lanes: []*playedLane{
			with(fast("a", flat(300)), func(l *playedLane) { l.storm = spell{6 * min, 9 * min} }),
			with(fast("b", flat(150)), func(l *playedLane) { l.storm = spell{6 * min, 9 * min} })}},
		{name: "a storm of server errors", changes: []time.Duration{5 * min, 10 * min}, lanes: []*playedLane{
			with(fast("a", flat(300)), func(l *playedLane) { l.sick = spell{5 * min, 10 * min} }), fast("b", flat(150))}},
		{name: "a lane dies and returns", short: true, changes: []time.Duration{5 * min, 12 * min}, lanes: []*playedLane{
			with(fast("a", flat(300)), func(l *playedLane) { l.dead = spell{5 * min, 12 * min} }), fast("b", flat(150))}},
		{name: "slower and slower", lanes: []*playedLane{
			with(fast("a", flat(300)), func(l *playedLane) { l.speed = slope(40, 4, 20*min) }), fast("b", flat(150))}},
		{name: "slower and slower, and a ceiling, the fastest first", ceiling: 300, sort: route.ByThroughput, lanes: []*playedLane{
			with(fast("a", flat(400)), func(l *playedLane) { l.speed = slope(60, 6, 20*min) }),
			with(fast("b", flat(400)), func(l *playedLane) { l.speed = flat(30) })}},
	}
}

func TestUsefulTokensOfTheOptimum(t *testing.T) {
	for _, sc := range capacityScenarios() {
		if (testing.Short() || raced) && !sc.short {
			continue
		}
		t.Run(sc.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { sc.play(t) }) })
	}
}

func (sc capacityScenario) play(t *testing.T) {
	if sc.ceiling == 0 {
		sc.ceiling = 2000
	}
	if sc.mean == 0 {
		sc.mean = 1000
	}
	if sc.lasts == 0 {
		sc.lasts = 20 * time.Minute
	}
	if sc.wasted == 0 {
		sc.wasted = 0.05
	}
	v := &vendor{began: time.Now(), rng: rand.New(rand.NewPCG(1, 2)), lanes: map[string]*playedLane{}, mean: sc.mean, paid: map[string]eyrie.Money{}}
	j := newMemory()
	cfg := dispatch.Config{
		Run: "test", Model: "a/b", Sampling: mixOf(eyrie.Sampling{MaxTokens: 8000}), Concurrency: sc.ceiling,
		Sort: sc.sort, Journal: j, State: progress.New(), Ledger: ledger.New(1_000_000 * eyrie.Dollar), Earlier: j.earlier,
		Count: func(*eyrie.Generation, eyrie.Sampling) (int, error) { return 100, nil }, Seed: 1,
		Sets: []dispatch.Set{{Name: "a", Target: 1 << 50, Prompts: prompts("a", 1<<30)}},
	}
	for i, l := range sc.lanes {
		v.lanes[l.tag] = l
		l.bucket = l.perMin / 12
		e := testLane(l.tag)
		e.OutputPrice = price(fmt.Sprintf("0.00000%d", 200+i))
		cfg.Lanes = append(cfg.Lanes, dispatch.Lane{Lane: e, Engine: v})
	}
	d, err := dispatch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(sc.lasts, d.Drain)
	res := d.Run(t.Context())
	if res.Stop != dispatch.Interrupted {
		t.Fatalf("stopped: %v %v", res.Stop, res.Err)
	}
	sc.judge(t, v)
}

// judge compares the run with the optimum, as a whole and where it should have
// found its way after each change.
func (sc capacityScenario) judge(t *testing.T, v *vendor) {
	whole := spell{0, sc.lasts}
	ratio := func(part spell) float64 { return v.useful(part) / v.best(sc.lanes, sc.ceiling, sc.mean, sc.sort, part) }
	wasted := float64(v.calls-v.good) / float64(v.calls)
	line := fmt.Sprintf("%.3f of the optimum, %.4f of %d attempts wasted", ratio(whole), wasted, v.calls)
	if r := ratio(whole); r < aim {
		t.Errorf("%.3f of the optimum's tokens over the run, want %.2f", r, aim)
	}
	ends := append(slices.Clone(sc.changes), sc.lasts)
	for i, at := range sc.changes {
		r := ratio(spell{at + settles, ends[i+1]})
		line += fmt.Sprintf("; %.3f after %v", r, at)
		if r < aim {
			t.Errorf("%.3f of the optimum's tokens a minute after the change at %v, want %.2f", r, at, aim)
		}
	}
	if wasted > sc.wasted {
		t.Errorf("%.4f of the attempts were wasted, want at most %.2f", wasted, sc.wasted)
	}
	t.Log(line)
}
