package dispatch

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/limit"
)

// message is what goroutines tell the scheduler.
type message struct {
	kind    messageKind
	set     int
	attempt *attempt
	bill    int64
	cost    eyrie.Money
	next    *task // the conversation's next turn, prepared
	lanes   []Lane
	lane    *lane
	load    eyrie.Load
	err     error
}

type messageKind uint8

const (
	queuedOne messageKind = iota + 1 // a feeder has queued a task
	fed                              // a feeder is through
	accepted                         // a lane took a request
	ended                            // an attempt is over and journaled
	billed                           // a bill was asked for
	metered                          // the account was read
	probed                           // the account was probed during a pause
	refreshed                        // the list of endpoints was read
	loaded                           // a server was asked how busy it is
)

func (r *Runner) send(m message) { r.msgs <- m }

// apply folds a record that is durable into the progress.
func (r *Runner) apply(ref journal.Ref, rec eyrie.Record) {
	r.cfg.State.Apply(journal.Entry{Ref: ref, Time: time.Now(), Record: rec})
}

// attempt is one request under way.
type attempt struct {
	number  int64
	task    *task
	lane    *lane
	on      *eyrie.Lane // the lane as it was when the money was reserved
	hold    eyrie.Money // the most it can be billed
	asked   eyrie.Sampling
	started time.Time
	taken   bool // the lane accepted it
	slot    *limit.Request
	try     int  // of how many at the generation it is, in this process
	hedge   bool // it is the second copy
	cancel  context.CancelCauseFunc
	bytes   atomic.Int64 // of text that came
	heard   atomic.Int64 // when the last of it came, in Unix nanoseconds

	// cut is set by the scheduler, before it stops the attempt with errBudget.
	cut        bool
	floorAtCut eyrie.Money // the most that a lane charges that stops there

	// Set when it is over.
	answer *eyrie.Answer
	err    *eyrie.Error
	more   bool // the conversation goes on after it
	lost   bool // it was accepted after another copy had been

	dropped  bool // it was accepted and is no row
	cutShort bool // the cut is what ended it
}

// run makes the attempt and journals it. It runs in a goroutine of its own and
// reports once, with ended.
func (r *Runner) attempt(ctx context.Context, a *attempt) {
	m := message{kind: ended, set: a.task.set, attempt: a}
	m.err = r.journaled(ctx, a)
	if m.err == nil && a.more && !a.lost {
		m.next = r.nextTurn(a)
	}
	r.send(m)
}

// journaled makes the attempt between its two records. Its error is the
// journal's; what the engine says is in the attempt.
func (r *Runner) journaled(ctx context.Context, a *attempt) error {
	g := &a.task.gen
	started := &eyrie.StartedRecord{
		Attempt: a.number, Key: g.Key, Prompt: g.Prompt, Set: g.Set, Turn: g.Turn, Sample: g.Sample,
		Try: a.try, Lane: a.on.Name(), Hold: a.hold, PromptTokens: g.PromptTokens, Sampling: a.asked,
	}
	ref, err := r.cfg.Journal.Append(started)
	if err != nil {
		return err
	}
	r.apply(ref, started)

	r.request(ctx, a)
	a.err = outrun(ctx, a.err)
	drop := r.judgeLength(a)

	rec := &eyrie.EndedRecord{
		Attempt: a.number, Key: g.Key, Prompt: g.Prompt, Set: g.Set, Turn: g.Turn, Sample: g.Sample, Lane: a.on.Name(),
		OK: a.err == nil, Charged: eyrie.ChargedUnknown,
	}
	rec.SetAnswer(a.answer)
	rec.Charged, rec.Cost = a.charge()
	if rec.Charged == eyrie.ChargedUnknown {
		rec.Hold = a.rest()
	}
	if a.err != nil {
		rec.Class, rec.Detail = a.err.Class, clip(a.err.Error())
	} else {
		rec.Drop = drop
		a.more, rec.Break = a.task.conv.prompt.Continues(g.Turn, a.answer)
	}
	ref, err = r.cfg.Journal.Append(rec)
	if err != nil {
		return err
	}
	r.apply(ref, rec)
	if a.err == nil {
		kept, ok := r.cfg.State.Done(g.Key)
		a.lost = ok && kept != ref
	}
	return nil
}

// judgeLength decides what becomes of an answer that its cap cut off, be it
// before any text came: it is refused, to be asked for again with a larger cap
// if any lane has room for that, or it is dropped for the reason that is returned, or it stays.
func (r *Runner) judgeLength(a *attempt) (drop string) {
	if a.answer.FinishReason != eyrie.FinishLength || a.err != nil && a.err.Class != eyrie.ClassEmpty {
		return ""
	}
	switch r.cfg.OnLength {
	case eyrie.DropCut:
		if a.dropped = a.err == nil; a.dropped {
			return eyrie.DropLength
		}
	case eyrie.RetryCut:
		if r.cfg.RetryTokens > a.asked.MaxTokens && a.task.gen.PromptTokens <= r.longestPrompt(r.cfg.RetryTokens) {
			charged := eyrie.ChargedUnknown
			if a.err != nil {
				charged = a.err.Charged
			}
			a.err = &eyrie.Error{
				Op: "dispatch", Subject: a.on.Name(), Kind: eyrie.Again, Class: eyrie.ClassCut, Charged: charged,
				Err: fmt.Errorf("cut off at %d tokens, and asked for again with %d", a.asked.MaxTokens, r.cfg.RetryTokens),
			}
		}
	}
	return ""
}

// request streams the answer.
func (r *Runner) request(ctx context.Context, a *attempt) {
	req := &eyrie.Request{
		Generation: &a.task.gen, Model: r.cfg.Model, Sampling: a.asked, Lane: a.on,
		Run: r.cfg.Run, Attempt: a.try,
	}
	text := 0
	for ev, err := range a.lane.engine.Stream(ctx, req) {
		switch ev.Kind {
		case eyrie.Opened:
			if err := r.cfg.Journal.Note(&eyrie.SeenRecord{Attempt: a.number, ID: ev.ID}); err != nil {
				continue // the next Append says so
			}
			r.take(a)
		case eyrie.Progress:
			r.bytes.Add(int64(ev.Bytes - text))
			text = ev.Bytes
			a.bytes.Store(int64(text))
			a.heard.Store(time.Now().UnixNano())
			r.take(a)
		case eyrie.Ended:
			a.answer, a.err = ev.Answer, nil
			if err != nil {
				a.err = asError(err)
			}
		}
	}
	if a.answer == nil {
		a.answer = new(eyrie.Answer)
		a.err = &eyrie.Error{Op: "dispatch", Subject: a.on.Name(), Kind: eyrie.Again, Class: "no end"}
	}
	if a.err != nil && context.Cause(ctx) == errBudget && !a.answer.CostGiven {
		a.err = &eyrie.Error{Op: "dispatch", Subject: a.on.Name(), Kind: eyrie.Again, Class: classBudget, Charged: a.err.Charged, Err: errBudget}
		a.cutShort = true
	}
}

// take tells the scheduler once that the lane accepted the request.
func (r *Runner) take(a *attempt) {
	if !a.taken {
		a.taken = true
		r.send(message{kind: accepted, attempt: a})
	}
}

// charge is what is known of the attempt's cost.
func (a *attempt) charge() (eyrie.Charged, eyrie.Money) {
	switch {
	case a.answer.CostGiven:
		return eyrie.ChargedYes, a.answer.Cost
	case a.err != nil && a.err.Charged == eyrie.ChargedNo:
		return eyrie.ChargedNo, 0
	case a.on.Free():
		return eyrie.ChargedNo, 0
	}
	return eyrie.ChargedUnknown, 0
}

// rest is what stays held for an attempt whose charge is unknown, when that is
// less than what was reserved, and else 0.
func (a *attempt) rest() eyrie.Money {
	switch {
	case a.cutShort:
		return max(1, a.floorAtCut)
	case a.err != nil && a.err.PromptOnly:
		return max(1, priced(a.on, a.task.gen.PromptTokens, 0))
	}
	return 0
}

// nextTurn prepares the conversation's next generation, or journals why there
// is none.
func (r *Runner) nextTurn(a *attempt) *task {
	c := *a.task.conv
	c.answers = append(c.answers[:len(c.answers):len(c.answers)], a.answer)
	turn := a.task.gen.Turn + 1
	if !r.cfg.State.Claim(c.key(r.cfg.Model, turn)) {
		return nil
	}
	t, err := r.prepare(a.task.set, &c, turn)
	if err != nil {
		if err := r.giveUp(t, "prompt", err.Error()); err != nil {
			r.cfg.Log.Error("giving up", "err", err)
		}
		return nil
	}
	return t
}

func asError(err error) *eyrie.Error {
	if e, ok := eyrie.AsError(err); ok {
		return e
	}
	return &eyrie.Error{Op: "dispatch", Kind: eyrie.Again, Class: "engine", Err: err}
}

// clip bounds the text of a failure in the journal.
func clip(s string) string { return fmt.Sprintf("%.500s", s) }
