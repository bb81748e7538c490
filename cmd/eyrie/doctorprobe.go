package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/ledger"
)

// laneProbe is what an endpoint really does, as a few requests showed it. A
// field is empty where nothing could be learned.
type laneProbe struct {
	Lane       string      `json:"lane"`
	Provider   string      `json:"provider,omitzero"` // as answers print it
	Model      string      `json:"model,omitzero"`
	Usage      string      `json:"usage,omitzero"`       // where it comes, or "missing"
	Reasoning  string      `json:"reasoning,omitzero"`   // "counted" or "not counted" in the usage
	Cost       string      `json:"cost,omitzero"`        // "as listed", "missing", or what differs
	Thinking   string      `json:"thinking,omitzero"`    // "obeys" or what came instead
	NoThinking string      `json:"no_thinking,omitzero"` // the same, switched off
	Seed       string      `json:"seed,omitzero"`        // "repeats", "does not repeat" or "not taken"
	Stop       string      `json:"stop,omitzero"`        // "obeys", "not taken", or what came instead
	Logprobs   string      `json:"logprobs,omitzero"`    // "with bytes", "without bytes" or "missing", where the job asks for them
	Cut        string      `json:"cut,omitzero"`         // what a stream costs that is left
	Spent      eyrie.Money `json:"spent"`
	Failed     string      `json:"failed,omitzero"` // the first request that brought nothing
}

const (
	// probeTokens bounds the answers of a probe.
	probeTokens = 64
	// cutTokens is asked for where the stream is left after its first text.
	cutTokens = 400
	// probePrompt is more than the prompts of a probe have tokens, for the hold.
	probePrompt = 200
	// billWait is how long a probe waits for a late bill.
	billWait = 90 * time.Second
)

// prober asks endpoints questions from a budget of its own.
type prober struct {
	s      *session
	client *openrouter.Client
	led    *ledger.Ledger
	asked  int64
}

// probe asks every endpoint that may answer.
func (d *doctor) probe(ctx context.Context, budget eyrie.Money) {
	p := &prober{s: d.s, led: ledger.New(budget)}
	answered := 0
	for _, e := range d.s.engines {
		p.client = e.client
		for _, l := range d.s.lanes() {
			if l.Engine != e.name {
				continue
			}
			before := p.led.Spent()
			lp := p.lane(ctx, l)
			lp.Spent = p.led.Spent() - before
			if lp.Provider != "" {
				answered++
			}
			d.report(lp.finding())
		}
	}
	for _, l := range d.s.locals {
		if d.askOwn(ctx, l) {
			answered++
		}
	}
	if answered == 0 {
		d.fail("probe", "", errors.New("no endpoint answered"))
	}
	d.ok("probe", "%s spent of %s, %s held for bills that did not come in time", p.led.Spent(), budget, p.led.Unbilled())
}

// askOwn asks a server of one's own one question, which costs nothing.
func (d *doctor) askOwn(ctx context.Context, l *local) bool {
	if l.away != nil {
		return false // it has been said
	}
	req := &eyrie.Request{
		Generation: &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: "Count to twenty."}}, PromptTokens: probePrompt},
		Model:      d.job.Model, Sampling: eyrie.Sampling{MaxTokens: probeTokens, Thinking: true}, Lane: l.lane, Run: "doctor", Attempt: 1,
	}
	for ev, err := range l.Stream(ctx, req) {
		if ev.Kind != eyrie.Ended {
			continue
		}
		if err != nil {
			d.fail("probe", "", err)
			return false
		}
		a := ev.Answer
		d.ok("probe", "%s: %d tokens in %v, %d ids of them came, %d of the prompt", l.lane.Tag,
			a.Usage.CompletionTokens, a.Elapsed.Round(time.Millisecond), len(a.CompletionIDs), len(a.PromptIDs))
	}
	return true
}

// finding prints a probe.
func (lp *laneProbe) finding() finding {
	f := finding{Check: "probe", State: stateOK, Probe: lp}
	if lp.Failed != "" {
		f.State = stateWarning
	}
	parts := []string{}
	for _, x := range []struct{ what, got, good string }{
		{"provider", lp.Provider, ""}, {"usage", lp.Usage, ""}, {"reasoning", lp.Reasoning, ""}, {"cost", lp.Cost, "as listed"},
		{"thinking", lp.Thinking, "obeys"}, {"thinking off", lp.NoThinking, "obeys"}, {"seed", lp.Seed, ""}, {"stop", lp.Stop, "obeys"},
		{"logprobs", lp.Logprobs, "with bytes"}, {"cut", lp.Cut, ""},
	} {
		if x.got == "" {
			continue
		}
		parts = append(parts, x.what+" "+x.got)
		if x.good != "" && x.got != x.good && x.got != notTaken {
			f.State = stateWarning
		}
	}
	if lp.Failed != "" {
		parts = append(parts, lp.Failed)
	}
	f.Detail = lp.Lane + ": " + strings.Join(parts, ", ")
	return f
}

// notTaken stands for what an endpoint says of itself that it does not do.
const notTaken = "not taken"

// unaffordable is the error of a request whose worst case does not fit.
type unaffordable struct {
	lane        *eyrie.Lane
	worst, free eyrie.Money
	enough      eyrie.Money // a budget that it would fit
}

func (e *unaffordable) Error() string {
	why := ""
	if e.lane.Overruns {
		why = ", since it does not heed max_tokens"
	}
	const cent = eyrie.Dollar / 100
	return fmt.Sprintf("left out: its worst case is %s%s, and the probe has %s left; --probe-budget %s would reach",
		(e.worst + cent - 1).Cents(), why, e.free.Cents(), (e.enough + cent - 1).Cents()[1:])
}

// lane asks one endpoint all there is to ask.
func (p *prober) lane(ctx context.Context, l *eyrie.Lane) *laneProbe {
	lp := &laneProbe{Lane: l.Tag}
	seeded := takes(l, "seed")
	sampling := eyrie.Sampling{MaxTokens: probeTokens, Thinking: true}
	if takes(l, "temperature") {
		sampling.Temperature = new(1.0)
	}
	if seeded {
		sampling.Seed = new(int64(1))
	}
	const question = "Name three birds of prey and where each of them lives."
	first, err := p.ask(ctx, l, question, sampling)
	if lp.failed(err) {
		return lp
	}
	p.describe(lp, l, first)
	lp.Thinking = switched(first, err)

	off := sampling
	off.Thinking = false
	answer, err := p.ask(ctx, l, question, off)
	if !lp.failed(err) {
		lp.NoThinking = switched(answer, err)
	}
	lp.Seed = notTaken
	if seeded {
		again, err := p.ask(ctx, l, question, sampling)
		switch {
		case lp.failed(err):
			lp.Seed = ""
		case again.Reasoning == first.Reasoning && again.Content == first.Content:
			lp.Seed = "repeats"
		default:
			lp.Seed = "does not repeat"
		}
	}
	p.stop(ctx, l, lp, sampling)
	p.cut(ctx, l, lp)
	return lp
}

// takes reports whether an endpoint takes a parameter, or does not say.
func takes(l *eyrie.Lane, parameter string) bool {
	return l.Parameters == nil || slices.Contains(l.Parameters, parameter)
}

// stop asks for an answer of many words that is to end before the second one.
func (p *prober) stop(ctx context.Context, l *eyrie.Lane, lp *laneProbe, s eyrie.Sampling) {
	if !takes(l, "stop") {
		lp.Stop = notTaken
		return
	}
	s.Thinking, s.Stop = false, []string{" "}
	a, err := p.ask(ctx, l, "Write the numbers from one to fifty in words, with a space between them.", s)
	if a.FinishReason != eyrie.FinishStop && lp.failed(err) {
		return
	}
	switch text := strings.TrimSuffix(a.Content, " "); {
	case strings.Contains(text, " "):
		lp.Stop = "is ignored"
	case text != a.Content:
		lp.Stop = "obeys, and leaves the string in the text"
	case text == "" && a.Reasoning != "":
		lp.Stop = "ends the reasoning already"
	case a.FinishReason != eyrie.FinishStop:
		lp.Stop = fmt.Sprintf("not seen: the answer ended with %s", a.FinishReason)
	default:
		lp.Stop = "obeys"
	}
}

// failed notes an error after which there is nothing to be learned from an
// answer, and reports whether it was one.
func (lp *laneProbe) failed(err error) bool {
	e, ok := eyrie.AsError(err)
	if err == nil || ok && (e.Class == "reasoning" || e.Class == "usage" || e.Class == openrouter.ClassOverrun) {
		return false
	}
	if lp.Failed == "" {
		lp.Failed = err.Error()
	}
	return true
}

// describe notes who answered, what was counted and what it cost.
func (p *prober) describe(lp *laneProbe, l *eyrie.Lane, a *eyrie.Answer) {
	lp.Provider, lp.Model = a.Provider, a.Model
	lp.Usage = usagePlace(a)
	if a.Usage.Given && a.Usage.ReasoningTokens > 0 {
		lp.Reasoning = "counted"
	} else if a.Usage.Given && a.Reasoning != "" {
		lp.Reasoning = "not counted"
	}
	if p.client.AsksLogprobs(l) {
		lp.Logprobs = named(a)
	}
	lp.Cost = costWord(l, a)
}

// costWord compares what an answer cost with what the list makes of it. Amounts
// are rounded up to the picodollar.
func costWord(l *eyrie.Lane, a *eyrie.Answer) string {
	now := time.Now()
	least, most := l.Bounds(a.Usage, 0, now.Add(-a.Elapsed), now)
	switch {
	case !a.CostGiven:
		return "missing"
	case a.Cost < least-1:
		return fmt.Sprintf("%s where the list makes it %s", a.Cost, least)
	case a.Cost > most+1:
		return fmt.Sprintf("%s where the list makes it %s", a.Cost, most)
	}
	return "as listed"
}

// named says how an answer names its tokens.
func named(a *eyrie.Answer) string {
	switch {
	case a.Logprobs == nil:
		return "missing"
	case a.Logprobs[0].Bytes == nil:
		return "without bytes"
	}
	return "with bytes"
}

// usagePlace says in which frame of the stream the usage came.
func usagePlace(a *eyrie.Answer) string {
	frames := bytes.Split(bytes.TrimSpace(a.FinalFrame), []byte("\n"))
	last := frames[len(frames)-1]
	switch {
	case !a.Usage.Given:
		return "missing"
	case bytes.Contains(last, []byte(`"choices":[]`)):
		return "in a frame of its own"
	case bytes.Contains(last, []byte(`"finish_reason":"`)):
		return "with the finish reason"
	}
	return "in the last frame"
}

// switched says whether an answer reasoned as asked.
func switched(a *eyrie.Answer, err error) string {
	if e, ok := eyrie.AsError(err); !ok || e.Class != "reasoning" {
		return "obeys"
	}
	if a.Reasoning != "" {
		return "is ignored: it reasoned"
	}
	return "is ignored: it did not reason"
}

// cut leaves a stream after its first text and reads what that cost.
func (p *prober) cut(ctx context.Context, l *eyrie.Lane, lp *laneProbe) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	sampling := eyrie.Sampling{MaxTokens: cutTokens, Thinking: true}
	a, err := p.stream(ctx, l, "Write down the numbers from 1 to 200 in words.", sampling, func() { leave(errLeft) })
	if _, poor := errors.AsType[*unaffordable](err); poor || a.ID == "" {
		lp.failed(err)
		return
	}
	if context.Cause(ctx) != errLeft {
		lp.Cut = "not seen: the answer was over at once"
		return
	}
	cost, err := p.bill(context.WithoutCancel(ctx), a.ID)
	if err != nil {
		lp.Cut = fmt.Sprintf("no bill after %v", billWait)
		return
	}
	text := len(a.Reasoning) + len(a.Content)
	lp.Cut = fmt.Sprintf("%s for %d bytes of text, as much as %d tokens of %d that were asked for", cost, text, outputFor(l, cost), cutTokens)
}

// errLeft is the cause with which a stream is left on purpose.
var errLeft = errors.New("left to see what it costs")

// outputFor is how many tokens of completion a cost would pay, beside the fee.
func outputFor(l *eyrie.Lane, cost eyrie.Money) int {
	million := l.OutputPrice.PerMillion()
	if million == 0 {
		return 0
	}
	return int(float64(max(0, cost-l.RequestPrice.Times(1))) / float64(million) * 1e6)
}

// ask makes one request and takes its answer, whatever it is.
func (p *prober) ask(ctx context.Context, l *eyrie.Lane, question string, s eyrie.Sampling) (*eyrie.Answer, error) {
	return p.stream(ctx, l, question, s, func() {})
}

// stream makes one request and calls progress when text comes. The request's
// worst case is held before and its charge booked after.
func (p *prober) stream(ctx context.Context, l *eyrie.Lane, question string, s eyrie.Sampling, progress func()) (*eyrie.Answer, error) {
	answer := new(eyrie.Answer)
	p.asked++
	if worst := l.WorstCase(probePrompt, s.MaxTokens); !p.led.Reserve(p.asked, worst) {
		free := p.led.Free()
		return answer, &unaffordable{l, worst, free, p.led.Budget().Add(worst) - free}
	}
	req := &eyrie.Request{
		Generation: &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: question}}, PromptTokens: probePrompt},
		Model:      p.s.job.Model, Sampling: s, Lane: l, Run: "doctor", Attempt: int(p.asked),
	}
	var failed error
	for ev, err := range p.client.Stream(ctx, req) {
		switch ev.Kind {
		case eyrie.Opened:
			p.led.Seen(p.asked, ev.ID)
		case eyrie.Progress:
			progress()
		case eyrie.Ended:
			answer, failed = ev.Answer, err
		}
	}
	e, ok := eyrie.AsError(failed)
	switch {
	case answer.CostGiven:
		p.led.Settle(p.asked, answer.Cost)
	case ok && e.Charged == eyrie.ChargedNo:
		p.led.Settle(p.asked, 0)
	default:
		p.led.Unknown(p.asked)
	}
	return answer, failed
}

// bill reads the late bill of the latest request.
func (p *prober) bill(ctx context.Context, id string) (eyrie.Money, error) {
	ctx, cancel := context.WithTimeout(ctx, billWait)
	defer cancel()
	for {
		cost, err := p.client.Bill(ctx, id)
		if err == nil {
			p.led.Settle(p.asked, cost)
			return cost, nil
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(time.Second):
		}
	}
}
