package emulator

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// exchange is one chat request on its way through the vendor. Only its
// handler's goroutine touches it.
type exchange struct {
	*Server
	Entry    // becomes the books' entry
	scenario Scenario
	ctx      context.Context
	w        http.ResponseWriter

	q        *chatRequest
	key      *apiKey
	funds    funds // at admission
	offer    *model
	prompt   *prompt
	attempt  int       // how often this prompt was asked before
	asked    *endpoint // which took the request
	endpoint *endpoint // which serves it: the same, unless a fault swaps them
	faults   []Fault
	timing   *rand.Rand

	c       *completion
	bill    bill
	named   int           // tokens of the completion that have their logprobs
	price   price         // at admission, of the endpoint that serves
	cached  int           // prompt tokens that the endpoint remembered
	written int           // prompt tokens that it remembers from now on, for money
	free    bool          // answered from the response cache
	entered bool          // in the books
	placed  bool          // has a place at the endpoint
	wait    chan struct{} // closed when it gets one; nil if it has
}

// chat is POST /api/v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	x := &exchange{Server: s, ctx: r.Context(), w: w}
	x.begin(r)
	defer x.abandon()
	if refused := x.admit(r); refused != nil {
		x.refuse(refused)
		return
	}
	if refused := x.queue(); refused != nil {
		x.refuse(refused)
		return
	}
	x.answer()
}

// generate has the model write.
func (x *exchange) generate() {
	if x.free {
		return
	}
	limit, _ := x.q.limit()
	if most := x.endpoint.largest(); limit == 0 || limit > most {
		limit = most
	}
	text := x.scenario.Text
	if k := x.overrun(); k > 0 {
		text.MedianTokens, text.Sigma = int(k*float64(limit)), 0
		limit = x.endpoint.largest()
	}
	o := order{
		thinking: x.Thinking, limit: limit, tools: readTools(x.q.tools),
		forceTool: readToolChoice(x.q.ToolChoice), firstCall: countCalls(x.q.messages),
		parallel: string(x.q.given["parallel_tool_calls"]) != "false", vocabulary: x.vocabulary, text: text,
	}
	if x.endpoint.supports("response_format") && x.variant("content") != "ignore_schema" {
		o.schema = x.q.schema()
	}
	sample := uint64(x.Sample)
	if x.q.Seed != nil && x.endpoint.supports("seed") && x.variant("content") != "ignore_seed" {
		sample = x.mix(drawSeed, uint64(*x.q.Seed))
	}
	x.spoilOrder(&o, &sample)
	x.c = complete(o, x.rng(drawCompletion, x.prompt.key(), hashOf(x.endpoint.tag), sample))
	x.spoilCompletion()
	if x.endpoint.supports("stop") && x.variant("content") != "ignore_stop" {
		x.c.stopAt(x.q.stops(), x.vocabulary)
	}
}

// overrun is the factor by which max_tokens is ignored, 0 when it is obeyed.
func (x *exchange) overrun() float64 {
	if f := x.fault("overrun"); f != nil {
		return max(f.Factor, 2)
	}
	return float64(x.scenario.limits(x.endpoint.tag).Overrun)
}

// billFor bills so many completion tokens.
func (x *exchange) billFor(tokens int) bill {
	thought := min(x.c.reasoningTokens(x.vocabulary, x.Thinking), tokens)
	return newBill(x.price, bill{
		prompt: len(x.prompt.ids), cached: x.cached, written: x.written, completion: tokens, reasoning: thought,
	}, x.scenario.Cache.WriteOnTop)
}

// answer generates, sends, and settles.
func (x *exchange) answer() {
	x.generate()
	x.CompletionIDs, x.Canonical, x.Finish = x.c.ids, x.c.canonical, x.c.finish()
	x.w.Header().Set("X-Generation-Id", x.ID)
	if x.fault("goaway") != nil {
		x.w.Header().Set("Connection", "close")
	}
	if x.variant("frame") == "gzip" {
		z := newZipped(x.w)
		defer z.z.Close()
		x.w = z
	}
	x.Status = http.StatusOK
	if !x.pause(x.scenario.Timing.Header) {
		x.settle(Cancelled, len(x.c.ids))
		return
	}
	if x.spoilBody() {
		return
	}
	if x.q.Stream {
		x.stream()
	} else {
		x.whole()
	}
}

// pause waits for d of scenario time. It reports whether the client is still
// there.
func (x *exchange) pause(d time.Duration) bool {
	d = x.scenario.Timing.scaled(d)
	if d <= 0 {
		return x.ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.ctx.Done():
		return false
	}
}

func (t Timing) scaled(d time.Duration) time.Duration { return time.Duration(float64(d) / t.Speed) }

// fault returns the fault of a kind that struck this exchange, or nil.
func (x *exchange) fault(kind string) *Fault {
	i := slices.IndexFunc(x.faults, func(f Fault) bool { return f.Kind == kind })
	if i < 0 {
		return nil
	}
	return &x.faults[i]
}

// variant returns the variant of the fault of a kind, "" when none struck.
func (x *exchange) variant(kind string) string {
	if f := x.fault(kind); f != nil {
		return f.variant()
	}
	return ""
}
