package dispatch

import (
	"fmt"
	"strings"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/limit"
)

// policy is what a class of failure means for the lane that it happened on, and
// how often one generation is tried in its face.
type policy struct {
	class string // a class, or the end of one behind a "*"
	// lane is what the limiter hears.
	lane limit.Outcome
	// tries is how many attempts at one generation may end so, 0 for as many as
	// it takes: those that cost something are bounded by the paid attempts, and
	// those that the limiter paces by time.
	tries int
	// closes is how many attempts in a row may end so before the lane is closed;
	// 0 never.
	closes int
	// slow is set where the lane was waited for in vain: such a failure weighs
	// twice on its retry budget.
	slow bool
}

// policies is the table. The first row that fits counts.
var policies = []policy{
	// The lane has enough to do. It is paced, and nothing is given up for it.
	{class: "429", lane: limit.Refused},
	{class: "in-band 429", lane: limit.Refused},

	// The lane fails, or the way to it. Nothing is said of the prompt.
	{class: "connection", lane: limit.Trouble},
	{class: "stream cut", lane: limit.Trouble, tries: 8},
	{class: "no first content", lane: limit.Trouble, tries: 8, slow: true},
	{class: "silence", lane: limit.Trouble, tries: 8, slow: true},
	{class: "too long", lane: limit.Neutral, tries: 2, slow: true}, // the answer was, most likely
	{class: "*page", lane: limit.Trouble, tries: 8},
	{class: "empty body", lane: limit.Trouble, tries: 8},
	{class: "not a stream", lane: limit.Trouble, tries: 8},

	// The lane may not answer, for terms, a region or its own quarrel with the
	// vendor: it would refuse the next prompt too.
	{class: "401", lane: limit.Neutral, tries: 8, closes: 3},
	{class: "402", lane: limit.Neutral, tries: 8, closes: 3},
	{class: "403", lane: limit.Neutral, tries: 8, closes: 3},
	{class: "in-band 403", lane: limit.Neutral, tries: 8, closes: 3},

	// The lane answered, and with something else than was asked for.
	{class: "wrong provider", lane: limit.Neutral, closes: 20},
	{class: "wrong model", lane: limit.Neutral, closes: 20},
	{class: "usage", lane: limit.Neutral, closes: 20},
	{class: "reasoning", lane: limit.Neutral, closes: 20},
	{class: "pipeline", lane: limit.Neutral, closes: 20},
	{class: "overrun", lane: limit.Neutral, closes: 20},
	{class: "tool call", lane: limit.Neutral, closes: 20},
	{class: "cached answer", lane: limit.Neutral, closes: 20},
	{class: "no logprobs", lane: limit.Neutral, closes: 20},
	{class: "bad frame", lane: limit.Neutral, closes: 20},

	// The answer is no row. Another attempt may be.
	{class: "empty answer", lane: limit.Neutral, tries: 3},
	{class: "no finish reason", lane: limit.Neutral, tries: 3},
	{class: "finish reason", lane: limit.Neutral, tries: 3},
}

// policyOf finds the row of a failure. One that is not in the table troubles the
// lane where its engine says that it is about the lane, as a server error is.
func policyOf(e *eyrie.Error) policy {
	p := policy{lane: limit.Neutral}
	if e.LaneWide {
		p.lane = limit.Trouble
	}
	for _, row := range policies {
		if end, any := strings.CutPrefix(row.class, "*"); row.class == e.Class || any && strings.HasSuffix(e.Class, end) {
			p = row
			break
		}
	}
	if e.Kind == eyrie.Pause || e.Class == classOutrun { // it says nothing about the lane
		return policy{lane: limit.Neutral}
	}
	return p
}

// A retry budget keeps a lane that half fails from being asked everything
// several times over: failures use it up faster than answers fill it. While it is
// empty, the lane gets one retry at a time, and other lanes get the rest.
const (
	retriesAtMost = 500
	retryCost     = 5
	slowCost      = 10
)

// retries is the retry budget of a lane. The zero value is full.
type retries struct {
	used    int
	running int
}

func (r *retries) failed(p policy) {
	cost := retryCost
	if p.slow {
		cost = slowCost
	}
	r.used = min(r.used+cost, retriesAtMost)
}

func (r *retries) answered() { r.used = max(0, r.used-1) }

func (r *retries) empty() bool { return r.used >= retriesAtMost }

// room is how many of so many places a retry may have.
func (r *retries) room(room int) int {
	if r.empty() {
		return min(room, max(0, 1-r.running))
	}
	return room
}

// judge draws the conclusions of a failure for its lane, beside those of its
// limiter.
func (s *scheduler) judge(a *attempt, p policy) {
	l, e := a.lane, a.err
	l.failure = describeFailure(e)
	if p.lane == limit.Trouble || p.slow {
		l.retries.failed(p)
	}
	switch {
	case e.Class == "404" && l.server != nil: // its server is looked at again
	case e.Class == "404":
		s.notFound(a)
	case e.Class == "overrun" && !l.Overruns:
		longer := *l.Lane
		longer.Overruns = true
		l.Lane = &longer
		s.cfg.Log.Warn("the lane does not enforce max_tokens; its own maximum is reserved from now on", "lane", l.Tag)
	}
	if p.closes == 0 || e.Kind == eyrie.GiveUp { // of which the prompt is the cause
		return
	}
	if l.struck != p.closes {
		l.struck, l.strikes = p.closes, 0 // another kind of failure
	}
	if l.strikes++; l.strikes < p.closes {
		return
	}
	if p.closes > 3 {
		s.closeLane(l, fmt.Sprintf("%d answers in a row were not what was asked for; the last: %v", l.strikes, e))
		return
	}
	s.closeLane(l, fmt.Sprintf("it refused %d requests in a row: %v", l.strikes, e))
}

// describeFailure names a failure in a few words.
func describeFailure(e *eyrie.Error) string {
	if e.Err == nil || strings.Contains(e.Err.Error(), e.Class) {
		return fmt.Sprintf("%.100s", causeOf(e))
	}
	return fmt.Sprintf("%s: %.100s", e.Class, causeOf(e))
}

func causeOf(e *eyrie.Error) string {
	if e.Err == nil {
		return e.Class
	}
	return e.Err.Error()
}
