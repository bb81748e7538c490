package main

import (
	"math"
	"os"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/plan"
	"github.com/eyrie-ai/eyrie/progress"
)

// facts is what a run's journal says up to some moment, as far as a forecast
// of the rest can use it.
type facts struct {
	state     *progress.State
	ledger    *ledger.Ledger
	lengths   map[string]*plan.Lengths // by data set
	all       plan.Lengths             // of all of them
	lanes     map[string]*laneFacts
	reasoning map[string]reasoningFacts // by data set
	cut       map[string]int            // answers that were cut off and asked for again, by data set
	open      map[int64]openAttempt
	latest    time.Time
	goesOn    bool  // what is open has not been cut off
	tokens    int64 // of accepted answers
	rows      int
}

// reasoningFacts is how much a set's answers reason, of those that say it.
type reasoningFacts struct {
	answers int
	tokens  int64 // of reasoning
	of      int64 // in all
}

type openAttempt struct {
	set, lane string
	since     time.Time
}

// laneFacts is how a lane has behaved.
type laneFacts struct {
	answers         int
	tokens          int64
	prompt, cached  int64
	wait, writing   time.Duration // to the first tokens, and from there to the ends
	good            eyrie.Money   // what answers cost
	started, wasted int           // attempts, and those that cost or may have cost and brought nothing
	running, peak   int
	refused         bool // it said that it was full
}

func newFacts(budget eyrie.Money) *facts {
	return &facts{
		state: progress.New(), ledger: ledger.New(budget), lengths: map[string]*plan.Lengths{},
		lanes: map[string]*laneFacts{}, reasoning: map[string]reasoningFacts{}, cut: map[string]int{}, open: map[int64]openAttempt{},
	}
}

// readFacts folds a run's journal until enough says so; a nil enough reads all
// of it.
func readFacts(root *os.Root, budget eyrie.Money, enough func(*facts) bool) (*facts, error) {
	f := newFacts(budget)
	for e, err := range journal.Outline(root) {
		if err != nil {
			return nil, err
		}
		f.apply(e)
		if enough != nil && enough(f) {
			f.goesOn = true
			break
		}
	}
	for _, o := range f.open {
		f.going(o.set, f.latest.Sub(o.since))
	}
	if !f.goesOn {
		f.ledger.Abandon()
	}
	f.ledger.SetBudget(budget)
	return f, nil
}

func (f *facts) of(set string) *plan.Lengths {
	l, ok := f.lengths[set]
	if !ok {
		l = new(plan.Lengths)
		f.lengths[set] = l
	}
	return l
}

// going notes an answer that has been under way for a time and has no end.
func (f *facts) going(set string, since time.Duration) {
	f.of(set).Going(since)
	f.all.Going(since)
}

func (f *facts) lane(name string) *laneFacts {
	l, ok := f.lanes[name]
	if !ok {
		l = new(laneFacts)
		f.lanes[name] = l
	}
	return l
}

func (f *facts) apply(e journal.Entry) {
	f.state.Apply(e)
	f.ledger.Apply(e.Record)
	switch r := e.Record.(type) {
	case *eyrie.SessionRecord:
		for a, o := range f.open { // the process before was cut off
			f.going(o.set, f.latest.Sub(o.since))
			f.lane(o.lane).running--
			delete(f.open, a)
		}
	case *eyrie.StartedRecord:
		f.open[r.Attempt] = openAttempt{r.Set, r.Lane, e.Time}
		l := f.lane(r.Lane)
		l.started++
		l.running++
		l.peak = max(l.peak, l.running)
	case *eyrie.EndedRecord:
		if _, ok := f.open[r.Attempt]; ok {
			delete(f.open, r.Attempt)
			f.lane(r.Lane).running--
		}
		f.ended(r)
	}
	f.latest = e.Time
}

func (f *facts) ended(r *eyrie.EndedRecord) {
	l := f.lane(r.Lane)
	first, took := time.Duration(r.FirstContentMS)*time.Millisecond, time.Duration(r.ElapsedMS)*time.Millisecond
	if !r.OK {
		switch {
		case r.Class == eyrie.ClassCut: // has its own place in a forecast
			f.cut[r.Set]++
		case r.Charged != eyrie.ChargedNo:
			l.wasted++
		}
		l.refused = l.refused || r.Class == "429" || r.Class == "in-band 429"
		if first > 0 {
			f.going(r.Set, took)
		}
		return
	}
	f.rows++
	f.tokens += int64(r.Usage.CompletionTokens)
	f.of(r.Set).Ended(took, r.Usage.CompletionTokens)
	f.all.Ended(took, r.Usage.CompletionTokens)
	if n := r.Usage.ReasoningTokens; n >= 0 {
		m := f.reasoning[r.Set]
		f.reasoning[r.Set] = reasoningFacts{m.answers + 1, m.tokens + int64(n), m.of + int64(r.Usage.CompletionTokens)}
	}
	l.answers++
	l.tokens += int64(r.Usage.CompletionTokens)
	l.prompt += int64(r.Usage.PromptTokens)
	l.cached += int64(r.Usage.CachedTokens)
	l.wait += first
	l.writing += max(0, took-first)
	l.good = l.good.Add(r.Cost)
}

// rounds is how many times as many requests as are under way at once a run makes
// until what a lane took tells what it will take.
const rounds = 4

// slots is how many of the requests at once a lane will take: its part of those
// that were made so far, as the order of preference, its limits and its cool-downs
// had it, and no more than it ever had when it has said that it was full.
//
// A run's first requests were made while the limits climbed, and which lane climbed
// faster is chance. As many as are under way at once are therefore added, spread
// evenly over the lanes that were asked, and that a lane was full says nothing yet.
func (f *facts) slots(m *laneFacts, concurrency int) int {
	started, asked := 0, 0
	for _, l := range f.lanes {
		started += l.started
		if l.started > 0 {
			asked++
		}
	}
	part := (float64(m.started) + float64(concurrency)/float64(asked)) / float64(started+concurrency)
	n := int(math.Ceil(part * float64(concurrency)))
	if m.refused && started > rounds*concurrency {
		n = min(n, m.peak)
	}
	return n
}

// waste is the part of attempts that are paid for nothing. A failed one is
// taken to cost as much as an answer; few attempts say less than the prior. Those
// that are under way say nothing yet.
func (l *laneFacts) waste() float64 {
	const prior = 100 // attempts that the prior is worth
	return (float64(l.wasted) + prior*plan.PriorWaste) / float64(l.started-l.running+prior)
}

// enoughAnswers is how many answers a measurement needs to count for more than
// what was taken for granted before.
const enoughAnswers = 20

// length is the mean length of a set's answers, where the run has enough of them.
// It leans towards that of all sets' answers, by less the more there are.
func (f *facts) length(set string) (mean float64, ok bool) {
	const lean = enoughAnswers / 2
	own := f.lengths[set]
	if own == nil || own.N() < enoughAnswers {
		return 0, false
	}
	n := float64(own.N())
	return (n*own.Mean() + lean*f.all.Mean()) / (n + lean), true
}

// shown is how much of an answer of a set later prompts hold, in the mean: what is
// not reasoning. Where the set has few answers, those of all sets tell. It is 0
// where the run does not.
func (f *facts) shown(set string, answer float64) float64 {
	r := f.reasoning[set]
	if r.answers < enoughAnswers {
		r = reasoningFacts{}
		for _, x := range f.reasoning {
			r.answers += x.answers
			r.tokens += x.tokens
			r.of += x.of
		}
	}
	if r.answers < enoughAnswers || r.of == 0 {
		return 0
	}
	return answer * (1 - float64(r.tokens)/float64(r.of))
}

// laneInputs says what is known of the lanes: from the run, once it has enough
// answers and has asked them, or else from the list of endpoints, or nothing. The
// price of a job hangs on which lanes take how much of it, and that shows in what
// each was asked long before the slower ones have many answers.
func (f *facts) laneInputs(lanes []*eyrie.Lane, concurrency int) []plan.LaneInput {
	var out []plan.LaneInput
	for _, l := range lanes {
		in := plan.LaneInput{Lane: l, Speed: l.Health.Throughput, Wait: l.Health.Latency, Source: plan.FromList, Waste: plan.PriorWaste, Slots: l.AtOnce}
		if m := f.lanes[l.Name()]; m != nil && m.started > 0 && f.rows >= enoughAnswers {
			in.Slots, in.Waste = f.slots(m, concurrency), m.waste()+plan.PriorAgain
			if m.prompt > 0 {
				in.Cached = float64(m.cached) / float64(m.prompt)
			}
			if speed, wait := f.pace(m); speed > 0 {
				in.Speed, in.Wait, in.Source = speed, wait, plan.FromRun
			}
		}
		out = append(out, in)
	}
	return out
}

// pace is how many tokens a second an answer of a lane gets, and how long it
// waits for the first. Where the lane has few answers, those of all lanes stand
// for the ones that are missing.
func (f *facts) pace(m *laneFacts) (speed float64, wait time.Duration) {
	var all laneFacts
	for _, l := range f.lanes {
		all.answers += l.answers
		all.tokens += l.tokens
		all.wait += l.wait
		all.writing += l.writing
	}
	few := float64(max(0, enoughAnswers-m.answers)) / float64(max(1, all.answers))
	answers := float64(m.answers) + few*float64(all.answers)
	writing := m.writing.Seconds() + few*all.writing.Seconds()
	if answers == 0 || writing <= 0 {
		return 0, 0
	}
	speed = (float64(m.tokens) + few*float64(all.tokens)) / writing
	return speed, time.Duration((float64(m.wait) + few*float64(all.wait)) / answers)
}

// left is what the budget has left for what is to be done, once the bills that
// can be read are read. What is held for them is their worst case and comes
// back for the most part; the limit itself counts it in full until then. What is
// under way is still to be done.
func (f *facts) left() eyrie.Money {
	rows := 0
	for _, set := range f.state.Sets() {
		rows += set.Rows
	}
	left := f.ledger.Budget() - f.ledger.Spent() // not what is free: the worst cases held may be more than there is
	if !f.goesOn {
		left -= f.ledger.InFlight()
	}
	for _, b := range f.ledger.Bills() {
		switch {
		case b.ID == "":
			left -= b.Held
		case rows > 0:
			left -= min(b.Held, f.ledger.Spent()/eyrie.Money(rows))
		}
	}
	return max(0, left)
}
