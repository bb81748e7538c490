package plan

import (
	"math"
	"slices"
	"time"
)

// Lengths learns how long answers are while many of them are still being
// written.
//
// The mean of those that have ended is wrong early in a run, and always in the
// same direction: short answers end first. What has been under way for a while
// without an end tells that it is longer than that. Lengths takes both into
// account: it estimates how many answers last longer than any given time (the
// product-limit estimator of Kaplan and Meier), and takes those that outlast
// all that have ended to go on ending as the distribution does that fits best: a
// log-normal one, which is what most lengths of answers are like, or a Weibull
// one, which knows of rates that stand still or rise.
//
// Times are turned to tokens by the mean speed of the answers that have ended.
type Lengths struct {
	ended   []time.Duration
	going   []time.Duration
	tokens  float64
	seconds float64
}

// Ended notes an answer that is complete.
func (l *Lengths) Ended(took time.Duration, tokens int) {
	l.ended = append(l.ended, took)
	l.tokens += float64(tokens)
	l.seconds += took.Seconds()
}

// Going notes an answer that has been under way for a time and has no end: it
// is still going on, or was cut off.
func (l *Lengths) Going(since time.Duration) { l.going = append(l.going, since) }

// N is how many answers have ended.
func (l *Lengths) N() int { return len(l.ended) }

// Mean is the mean number of tokens of an answer; 0 when none has ended.
func (l *Lengths) Mean() float64 {
	if len(l.ended) == 0 {
		return 0
	}
	if len(l.going) == 0 || l.seconds == 0 {
		return l.tokens / float64(len(l.ended))
	}
	return l.duration() * l.tokens / l.seconds
}

// duration is the mean time that an answer takes, in seconds: the area under
// the curve of those that last longer than a time.
func (l *Lengths) duration() float64 {
	slices.Sort(l.ended)
	slices.Sort(l.going)
	atRisk, lasting, mean, before := float64(len(l.ended)+len(l.going)), 1.0, 0.0, 0.0
	g := 0
	for _, d := range l.ended {
		at := d.Seconds()
		for g < len(l.going) && l.going[g] < d {
			atRisk--
			g++
		}
		mean += lasting * (at - before)
		lasting *= 1 - 1/atRisk
		before = at
		atRisk--
	}
	if lasting > 1e-12 {
		mean += lasting * l.shape().beyond(before)
	}
	return math.Max(mean, 0)
}
