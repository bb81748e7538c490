package dispatch

import (
	"fmt"
	"slices"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/limit"
)

// A run can outlive its price list: endpoints come and go within weeks, and
// prices change within days. So the list is read again now and then, and at
// once when an endpoint is not found. Attempts under way keep the lane as it was
// when their money was reserved; only what starts later meets the new one. A
// lane that is no longer wanted or no longer there takes no more work, and takes
// it again when it comes back. A list that cannot be read changes nothing.

const (
	// refreshAgain is the pause after a reading that failed, or that left no
	// lane open.
	refreshAgain = 30 * time.Second
	// refreshTries is how many such readings in a row end a run whose lanes are
	// all closed: a vendor that is being restarted lists nothing for a moment.
	refreshTries = 3
)

// drift is where the reading of the lanes stands.
type drift struct {
	due     time.Time
	running bool
	asked   bool // by a lane that was not found, since the latest reading began
	// fruitless counts the readings in a row that failed or left no lane open.
	fruitless int
	// listed are the endpoints of the latest list, whether or not they may answer.
	listed []*eyrie.Lane
}

// refresh starts reading the lanes when that is due.
func (s *scheduler) refresh(now time.Time) {
	d := &s.drift
	if s.cfg.Refresh == nil || s.ending || d.running || now.Before(d.due) {
		return
	}
	d.running, d.asked = true, false
	s.wg.Go(func() {
		lanes, err := s.cfg.Refresh(s.feedCtx)
		s.send(message{kind: refreshed, lanes: lanes, err: err})
	})
}

// refreshed takes the lanes as they are now.
func (s *scheduler) refreshed(m message) {
	d, now := &s.drift, time.Now()
	d.running = false
	d.due = now.Add(s.cfg.RefreshEvery)
	switch {
	case m.err != nil && s.feedCtx.Err() != nil:
		return // the run ends, and has cut the reading off
	case m.err != nil:
		s.cfg.Log.Warn("the list of endpoints could not be read; the last one stays in force", "err", m.err)
	default:
		s.adopt(m.lanes)
	}
	if m.err == nil && s.openLanes() > 0 {
		d.fruitless = 0
	} else {
		d.fruitless++
		d.due = now.Add(min(refreshAgain, s.cfg.RefreshEvery))
	}
	if d.asked {
		d.due = now
	}
}

// mayReopen reports whether lanes that are closed may still be opened by a
// reading that is under way or will be made soon.
func (s *scheduler) mayReopen() bool {
	d := &s.drift
	return s.cfg.Refresh != nil && (d.running || d.asked || d.fruitless > 0) && d.fruitless < refreshTries
}

// adopt makes the lanes those of the list, in its order. Lanes that are not in
// it are closed and come last: attempts on them may be under way, and the
// record of them stays on the screen.
func (s *scheduler) adopt(list []Lane) {
	lost := s.lanes
	s.lanes = nil
	var fresh []*Lane
	for i := range list {
		n := &list[i]
		l := take(&lost, n.Lane)
		if l == nil && !s.drift.has(n.Lane) {
			fresh = append(fresh, n)
		}
		switch {
		case l != nil:
			s.update(l, n)
		case n.Out == "":
			l = n.open()
			s.cfg.Log.Info("a new lane", "lane", l.Tag, "quantization", l.Quantization, "prices", prices(l.Lane))
		default:
			continue // it never was a lane of this run
		}
		s.lanes = append(s.lanes, l)
	}
	for _, l := range lost {
		s.recall(l, whyLost(l, lost, fresh), true)
	}
	s.lanes = append(s.lanes, lost...)
	s.drift.list(list)
}

// list remembers what the latest list holds.
func (d *drift) list(lanes []Lane) {
	d.listed = nil
	for _, l := range lanes {
		d.listed = append(d.listed, l.Lane)
	}
}

func (d *drift) has(e *eyrie.Lane) bool {
	return slices.ContainsFunc(d.listed, func(o *eyrie.Lane) bool { return sameEndpoint(o, e) })
}

func sameEndpoint(a, b *eyrie.Lane) bool { return a.Tag == b.Tag && a.Engine == b.Engine }

// open makes the lane of an endpoint that may answer.
func (n *Lane) open() *lane {
	return &lane{Lane: n.Lane, engine: n.Engine, limiter: limit.New(n.Limit), server: newServer(n)}
}

// whyLost says what became of a lane that is in the list no more. A provider
// that has lost one endpoint and got one has most likely given it another tag.
func whyLost(l *lane, lost []*lane, fresh []*Lane) string {
	const gone = "it is no longer in the list of endpoints"
	if l.gone {
		return l.closed // it has been said
	}
	for _, o := range lost {
		if o != l && o.Provider == l.Provider && !o.gone {
			return gone
		}
	}
	var now *Lane
	for _, n := range fresh {
		if n.Lane.Provider != l.Provider || n.Lane.Engine != l.Lane.Engine {
			continue
		}
		if now != nil {
			return gone
		}
		now = n
	}
	switch {
	case now == nil:
		return gone
	case now.Out != "":
		return fmt.Sprintf("it seems to be %s now, which may not answer: %s", now.Lane.Tag, now.Out)
	}
	return fmt.Sprintf("it seems to be %s now", now.Lane.Tag)
}

// take removes the lane that stands for an endpoint from the list and returns
// it; nil when none does.
func take(from *[]*lane, e *eyrie.Lane) *lane {
	i := slices.IndexFunc(*from, func(l *lane) bool { return sameEndpoint(l.Lane, e) })
	if i < 0 {
		return nil
	}
	l := (*from)[i]
	*from = slices.Concat((*from)[:i], (*from)[i+1:])
	return l
}

// update gives a lane its new terms, and closes or opens it by what they are.
func (s *scheduler) update(l *lane, n *Lane) {
	was, is := l.Lane, n.Lane
	if was.Overruns && !is.Overruns { // learned in this run
		longer := *is
		longer.Overruns = true
		is = &longer
	}
	l.Lane = is
	if n.Out != "" {
		s.recall(l, n.Out, true)
		return
	}
	changed := !sameTerms(was, is)
	if changed {
		s.cfg.Log.Warn("the terms of a lane changed; the new ones hold for what is asked from now on", "lane", l.Tag,
			"was", was.Quantization+" at "+prices(was), "is", is.Quantization+" at "+prices(is))
	}
	if l.recalled && (l.gone || changed) {
		l.closed, l.recalled, l.gone = "", false, false
		s.cfg.Log.Info("lane open again", "lane", l.Tag)
	}
}

// recall closes a lane until a list brings it back. The newest reason stands;
// a lane that is closed for good stays so.
func (s *scheduler) recall(l *lane, why string, gone bool) {
	if l.recalled && l.closed != why {
		l.closed = ""
	}
	if l.closed == "" {
		s.closeLane(l, why)
		l.recalled = true
	}
	l.gone = gone
}

// notFound closes a lane whose endpoint was not found, and asks for the list.
// The lane opens again when a list shows it on other terms, or shows it after
// one that did not: as it stands now it would not be found again. An attempt on
// terms that have changed since says nothing of the new ones.
func (s *scheduler) notFound(a *attempt) {
	l := a.lane
	switch {
	case s.cfg.Refresh == nil:
		s.closeLane(l, a.err.Error())
	case l.closed == "" && sameTerms(a.on, l.Lane):
		s.recall(l, a.err.Error(), false)
		s.drift.asked, s.drift.due, s.drift.fruitless = true, time.Now(), 0
	}
}

// sameTerms reports whether the vendor would serve a request pinned to a on
// the terms of b.
func sameTerms(a, b *eyrie.Lane) bool {
	return a.PromptPrice == b.PromptPrice && a.OutputPrice == b.OutputPrice && a.CachedPrice == b.CachedPrice && a.WritePrice == b.WritePrice &&
		a.ReasoningPrice == b.ReasoningPrice && a.RequestPrice == b.RequestPrice && slices.Equal(a.Tiers, b.Tiers) && a.Quantization == b.Quantization
}

// prices prints what a lane costs.
func prices(l *eyrie.Lane) string {
	text := l.PromptPrice.PerMillion().String() + "/M in, " + l.OutputPrice.PerMillion().String() + "/M out"
	if l.CachedPrice.Known() {
		text += ", " + l.CachedPrice.PerMillion().String() + "/M cached"
	}
	if l.ReasoningPrice.Known() {
		text += ", " + l.ReasoningPrice.PerMillion().String() + "/M reasoning"
	}
	if !l.RequestPrice.IsZero() {
		text += ", " + l.RequestPrice.Times(1).String() + " a request"
	}
	return text
}
