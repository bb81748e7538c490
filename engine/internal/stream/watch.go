package stream

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Limits are the four time limits of an attempt. Comments reset none of them.
type Limits struct {
	Connect      time.Duration // dialling, and again the TLS handshake; 15s
	FirstContent time.Duration // from the request to the first text; 5m
	Silence      time.Duration // between two pieces of text; 2m
	Whole        time.Duration // from the request to the end; 1h
}

// WithDefaults returns the limits with those filled in that are not set.
func (l Limits) WithDefaults() Limits {
	or := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	or(&l.Connect, 15*time.Second)
	or(&l.FirstContent, 5*time.Minute)
	or(&l.Silence, 2*time.Minute)
	or(&l.Whole, time.Hour)
	return l
}

// Causes with which an attempt's context is cancelled by its own clocks.
var (
	ErrFirstContent = errors.New("no text came in time")
	ErrSilence      = errors.New("the stream went silent")
	ErrWhole        = errors.New("the answer took too long")
	ErrEnd          = errors.New("nothing more was to come")
)

// Watch cancels an attempt that breaks a time limit. Only text resets it.
type Watch struct {
	limits Limits
	began  time.Time
	last   atomic.Int64 // time of the last text since began; 0 before the first
	timer  *time.Timer
	end    *time.Timer // runs when the rest of the stream is not worth more waiting
	cancel context.CancelCauseFunc
}

// NewWatch starts the clocks of an attempt. Stop must be called.
func NewWatch(l Limits, cancel context.CancelCauseFunc) *Watch {
	w := &Watch{limits: l, began: time.Now(), cancel: cancel}
	w.timer = time.AfterFunc(min(l.FirstContent, l.Whole), w.check)
	return w
}

// Progress notes that text came.
func (w *Watch) Progress() {
	now := max(time.Since(w.began), 1)
	if w.last.Swap(int64(now)) == 0 {
		// From here on silence is what is waited for, and it may be due before
		// the first text was.
		w.timer.Reset(max(0, min(w.limits.Silence, w.limits.Whole-now)))
	}
}

// Ending gives the rest of the stream some time to come. A later call shortens
// or lengthens it.
func (w *Watch) Ending(wait time.Duration) {
	if w.end == nil {
		w.end = time.AfterFunc(wait, func() { w.cancel(ErrEnd) })
		return
	}
	w.end.Reset(wait)
}

// Stop stops the clocks.
func (w *Watch) Stop() {
	w.timer.Stop()
	if w.end != nil {
		w.end.Stop()
	}
}

// check runs when the earliest limit could have been broken; text that came in
// between moves it.
func (w *Watch) check() {
	now := time.Since(w.began)
	last := time.Duration(w.last.Load())
	due, cause := w.limits.FirstContent, ErrFirstContent
	if last > 0 {
		due, cause = last+w.limits.Silence, ErrSilence
	}
	if w.limits.Whole < due {
		due, cause = w.limits.Whole, ErrWhole
	}
	if now >= due {
		w.cancel(cause)
		return
	}
	w.timer.Reset(due - now)
}
