package openrouter

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Causes with which an attempt's context is cancelled by its own clocks.
var (
	errFirstContent = errors.New("no text came in time")
	errSilence      = errors.New("the stream went silent")
	errWhole        = errors.New("the answer took too long")
	errEnd          = errors.New("nothing more was to come")
)

// watch cancels an attempt that breaks a time limit. Only text resets it.
type watch struct {
	limits Limits
	began  time.Time
	last   atomic.Int64 // time of the last text since began; 0 before the first
	timer  *time.Timer
	end    *time.Timer // runs when the rest of the stream is not worth more waiting
	cancel context.CancelCauseFunc
}

func newWatch(l Limits, cancel context.CancelCauseFunc) *watch {
	w := &watch{limits: l, began: time.Now(), cancel: cancel}
	w.timer = time.AfterFunc(min(l.FirstContent, l.Whole), w.check)
	return w
}

// progress notes that text came.
func (w *watch) progress() {
	now := max(time.Since(w.began), 1)
	if w.last.Swap(int64(now)) == 0 {
		// From here on silence is what is waited for, and it may be due before
		// the first text was.
		w.timer.Reset(max(0, min(w.limits.Silence, w.limits.Whole-now)))
	}
}

// ending gives the rest of the stream some time to come. A later call shortens
// or lengthens it.
func (w *watch) ending(wait time.Duration) {
	if w.end == nil {
		w.end = time.AfterFunc(wait, func() { w.cancel(errEnd) })
		return
	}
	w.end.Reset(wait)
}

func (w *watch) stop() {
	w.timer.Stop()
	if w.end != nil {
		w.end.Stop()
	}
}

// check runs when the earliest limit could have been broken; text that came in
// between moves it.
func (w *watch) check() {
	now := time.Since(w.began)
	last := time.Duration(w.last.Load())
	due, cause := w.limits.FirstContent, errFirstContent
	if last > 0 {
		due, cause = last+w.limits.Silence, errSilence
	}
	if w.limits.Whole < due {
		due, cause = w.limits.Whole, errWhole
	}
	if now >= due {
		w.cancel(cause)
		return
	}
	w.timer.Reset(due - now)
}
