package dispatch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/route"
)

// The last answers of a run can hold it up: one stream that crawls, or is
// silent, while everything else is done. When places are free because little is
// left to do, such an answer is asked for once more on another lane: it is
// hedged. Money is held for both. The first that is accepted counts, the other
// is cut off and its bill settled like that of any stream that was cut. Should it
// end well all the same it is journaled and paid for, and no second row.
//
// An answer is a straggler when it has taken, or is, far longer than nearly all
// that came of its set on its lane, or when no text has come for long. Nothing is
// hedged before enough answers have come to tell.

const (
	// enough is how many answers tell how long the next ones may be.
	enough = 20
	// beyond is how many times as long as the longest but a twentieth an answer
	// must be to be a straggler.
	beyond = 1.5
	// mute is how long at least no text has come from a stream that is silent.
	mute = 20 * time.Second
)

// errOutrun is the cause with which the slower of two copies is cut off.
var errOutrun = errors.New("another copy was faster")

// classOutrun is the class of an attempt that was cut off because another
// copy's answer was accepted.
const classOutrun = "outrun"

// recent keeps the latest values of something.
type recent struct {
	values [128]float64
	n      int
}

func (r *recent) add(v float64) {
	r.values[r.n%len(r.values)] = v
	r.n++
}

// quantile is the value that a share of the latest ones does not pass; it needs
// enough of them.
func (r *recent) quantile(share float64) (float64, bool) {
	n := min(r.n, len(r.values))
	if n < enough {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(r.values[:n]))
	return sorted[int(share*float64(n-1))], true
}

// pace is how long the answers of a set were, in seconds and in bytes.
type pace struct{ took, long recent }

// paces are those of a set: on each lane, and on all.
type paces struct {
	all    pace
	byLane map[*lane]*pace
}

func (p *paces) learn(a *attempt, now time.Time) {
	if p.byLane == nil {
		p.byLane = map[*lane]*pace{}
	}
	if p.byLane[a.lane] == nil {
		p.byLane[a.lane] = new(pace)
	}
	for _, x := range []*pace{&p.all, p.byLane[a.lane]} {
		x.took.add(now.Sub(a.started).Seconds())
		x.long.add(float64(a.bytes.Load()))
	}
}

// bounds says from when on an answer is a straggler.
type bounds struct {
	took, silent time.Duration
	bytes        float64
}

// of returns the bounds of answers on a lane; those of the set where the lane
// has given too few.
func (p *paces) of(l *lane) (bounds, bool) {
	for _, x := range []*pace{p.byLane[l], &p.all} {
		if x == nil {
			continue
		}
		took, ok := x.took.quantile(0.95)
		if !ok {
			continue
		}
		typical, _ := x.took.quantile(0.5)
		long, _ := x.long.quantile(0.95)
		return bounds{
			took: seconds(beyond * took), silent: max(mute, seconds(typical)), bytes: beyond * long,
		}, true
	}
	return bounds{}, false
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// straggles reports whether an attempt holds the run up.
func (b bounds) straggles(a *attempt, now time.Time) bool {
	heard := max(a.heard.Load(), a.started.UnixNano())
	return now.Sub(a.started) > b.took || float64(a.bytes.Load()) > b.bytes ||
		now.Sub(time.Unix(0, heard)) > b.silent
}

// hedging is what hedges have cost, and may.
type hedging struct {
	held    eyrie.Money // for hedges under way
	spent   eyrie.Money // by the copies that lost, as far as it is known, and else what was held
	started int
	won     int // by the second copy
}

// hedge starts second copies of stragglers, when nothing else is left to start.
func (s *scheduler) hedge(now time.Time) {
	if s.cfg.Hedge <= 0 || s.ending || s.idle != idleDone && s.idle != idleFeed {
		return
	}
	for _, a := range s.under.oldest() {
		if s.running >= s.cfg.Concurrency {
			return
		}
		t := a.task
		b, known := s.sets[t.set].paces.of(a.lane)
		if t.over || t.copies > 1 || !known || !b.straggles(a, now) {
			continue
		}
		l, r := s.second(a, now)
		if l == nil {
			continue
		}
		s.cfg.Log.Info("a slow answer is asked for once more", "set", t.gen.Set, "prompt", t.gen.PromptID,
			"lane", a.lane.Tag, "second", l.Tag, "after", now.Sub(a.started).Round(time.Second))
		s.hedged.started++
		s.hedged.held = s.hedged.held.Add(r.worst)
		s.start(t, l, r, true, now)
	}
}

// second picks the lane for a second copy: another one, with room, whose
// reservation fits the budget and the share of it that hedges may use.
func (s *scheduler) second(a *attempt, now time.Time) (*lane, reserved) {
	l, r, reason := s.pickBut(a.task, a.lane, now)
	if reason != route.Picked || a.task.avoid[l.Tag] {
		return nil, reserved{}
	}
	if used := s.hedged.held.Add(s.hedged.spent).Add(r.worst); r.worst > 0 && used > s.hedgeMoney() {
		return nil, reserved{}
	}
	return l, r
}

// hedgeMoney is what hedges may use in all.
func (s *scheduler) hedgeMoney() eyrie.Money {
	return eyrie.Money(float64(s.cfg.Ledger.Budget()) * s.cfg.Hedge)
}

// hedgeEnded books the end of one of two copies. It reports whether another
// copy decides what becomes of the generation.
func (s *scheduler) hedgeEnded(a *attempt) (other bool) {
	t := a.task
	t.copies--
	if a.hedge {
		s.hedged.held -= a.hold
	}
	if a.err == nil && !a.lost {
		if a.hedge {
			s.hedged.won++
		}
		t.over = true
		for _, o := range s.under.oldest() {
			if o.task == t {
				o.cancel(errOutrun)
			}
		}
		return false
	}
	if t.over {
		s.hedged.spent = s.hedged.spent.Add(a.mayCost())
		return true
	}
	return t.copies > 0
}

// mayCost is what the attempt cost, or may have.
func (a *attempt) mayCost() eyrie.Money {
	if charged, cost := a.charge(); charged != eyrie.ChargedUnknown {
		return cost
	}
	return a.hold
}

// outrun names the failure of a copy that was cut off for the other one.
func outrun(ctx context.Context, e *eyrie.Error) *eyrie.Error {
	if e == nil || context.Cause(ctx) != errOutrun {
		return e
	}
	named := *e
	named.Class, named.Kind, named.Err, named.LaneWide = classOutrun, eyrie.Again, errOutrun, false
	return &named
}

// flights are the attempts under way, in the order in which they started.
type flights struct {
	list []*attempt
}

func (f *flights) add(a *attempt) { f.list = append(f.list, a) }

func (f *flights) remove(a *attempt) {
	if i, ok := slices.BinarySearchFunc(f.list, a.number, func(x *attempt, n int64) int { return int(x.number - n) }); ok {
		f.list = slices.Delete(f.list, i, i+1)
	}
}

// oldest are all of them, the oldest first; callers may start and end some
// while they range over them.
func (f *flights) oldest() []*attempt { return slices.Clone(f.list) }
