package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

// A run can be changed while it goes on: paused and resumed as a whole or lane
// by lane, given another budget, more or less at once. The methods of [Runner]
// that do so are safe for concurrent use, and return when the change is in force;
// nothing starts any more that it forbids. None of them touches what is under
// way. A budget is in the journal before it counts, so that it also holds for the
// process that goes on with the run; the rest is forgotten with the process.

// ErrOver is returned by what would change a run that is over.
var ErrOver = errors.New("the run is over")

// hand is what a person has set, owned by the scheduler.
type hand struct {
	paused bool
}

const (
	idlePaused     = "paused by hand"
	idleLanePaused = "paused by hand: every lane that may answer"
)

// MaxConcurrency is the most requests at once that a run may be set to.
const MaxConcurrency = 100_000

// PauseRun starts nothing new until [Runner.ResumeRun].
func (r *Runner) PauseRun() error {
	return r.ask(func(s *scheduler) error { s.hand.paused = true; return s.begins() })
}

// ResumeRun ends a pause by hand. It does not end one that the vendor caused.
func (r *Runner) ResumeRun() error {
	return r.ask(func(s *scheduler) error { s.hand.paused = false; return s.begins() })
}

// EndRun drains the run as [Runner.Drain] does, and returns when nothing new
// starts any more.
func (r *Runner) EndRun() error {
	return r.ask(func(s *scheduler) error { s.end(Interrupted, nil); return nil })
}

// SetConcurrency changes how many requests may be under way in all.
func (r *Runner) SetConcurrency(n int) error {
	if n < 1 || n > MaxConcurrency {
		return fmt.Errorf("concurrency %d: want 1 to %d (pause stops everything)", n, MaxConcurrency)
	}
	return r.ask(func(s *scheduler) error { s.cfg.Concurrency = n; return s.begins() })
}

// SetBudget changes the budget. One below what is spent and held means that
// nothing new starts.
func (r *Runner) SetBudget(m eyrie.Money) error {
	if m <= 0 {
		return fmt.Errorf("budget %s: want dollars above zero (pause stops everything)", m)
	}
	r.budgets.Lock() // the order of the journal is the one in which they are set
	defer r.budgets.Unlock()
	if err := r.ask((*scheduler).begins); err != nil {
		return err // before anything is written of a run that is over
	}
	rec := &eyrie.BudgetRecord{Budget: m, Job: r.cfg.JobBudget}
	ref, err := r.cfg.Journal.Append(rec)
	if err != nil {
		return err
	}
	return r.ask(func(s *scheduler) error {
		s.cfg.State.Apply(journal.Entry{Ref: ref, Time: time.Now(), Record: rec})
		s.cfg.Ledger.SetBudget(m)
		return nil
	})
}

// PauseLane gives a lane nothing new until [Runner.ResumeLane].
func (r *Runner) PauseLane(tag string) error {
	return r.askLane(tag, func(l *lane) { l.paused = true })
}

// ResumeLane ends the pause of a lane. It does not open a lane that is closed
// for what it did.
func (r *Runner) ResumeLane(tag string) error {
	return r.askLane(tag, func(l *lane) { l.paused = false })
}

// LimitLane bounds how many requests a lane gets at once, beside what it is
// found to take; 0 is no bound.
func (r *Runner) LimitLane(tag string, n int) error {
	if n < 0 || n > MaxConcurrency {
		return fmt.Errorf("lane %s: a limit of %d: want 1 to %d, or 0 for none", tag, n, MaxConcurrency)
	}
	return r.askLane(tag, func(l *lane) { l.cap = n })
}

// askLane has the scheduler change a lane.
func (r *Runner) askLane(tag string, change func(*lane)) error {
	return r.ask(func(s *scheduler) error {
		i := slices.IndexFunc(s.lanes, func(l *lane) bool { return l.Tag == tag })
		if i < 0 {
			var tags []string
			for _, l := range s.lanes {
				tags = append(tags, l.Tag)
			}
			return fmt.Errorf("no lane %q; the lanes are %s", tag, strings.Join(tags, ", "))
		}
		change(s.lanes[i])
		return nil
	})
}

// order is a change that is asked for.
type order struct {
	do    func(*scheduler) error
	reply chan error
}

// ask has the scheduler do something between two steps. It returns when that has
// had its effect and shows in the snapshot.
func (r *Runner) ask(do func(*scheduler) error) error {
	o := order{do, make(chan error, 1)}
	select {
	case r.orders <- o:
		return <-o.reply
	case <-r.over:
		return ErrOver
	}
}

// obey carries out what was asked.
func (s *scheduler) obey(o order) {
	err := o.do(s)
	now := time.Now()
	s.assign(now)
	s.publish(now)
	o.reply <- err
}

// begins refuses what would have more started of a run that is ending.
func (s *scheduler) begins() error {
	if s.ending {
		return fmt.Errorf("the run is %s and starts nothing more; run it again to go on", s.phase)
	}
	return nil
}
