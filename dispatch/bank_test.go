package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

// tariff is an endpoint's price list in whole picodollars a token, and what it
// does that a price list does not say.
type tariff struct {
	Tag            string
	Prompt, Output int64
	Cached         int64 // of a cached prompt token; -1: not listed
	Tier           int   // prompts of so many tokens cost twice as much; 0: none
	Fee            int64 // for a request by itself
	Thought        int64 // of a token of reasoning, a third of a completion; 0: not listed
	MaxOutput      int
	Overruns       bool // max_tokens is nothing to it, and that is known
	Stops          bool // a stream that is cut is charged for what came, and no more
	DearerAt       time.Duration
	Dearer         int64 // what an output token costs more from then on
}

// at is the price list at a moment of the run.
func (f tariff) at(since time.Duration) tariff {
	if f.Dearer != 0 && since >= f.DearerAt {
		f.Output += f.Dearer
	}
	return f
}

// lane is the price list as the program reads it.
func (f tariff) lane() *eyrie.Lane {
	perToken := func(pico int64) eyrie.Price { return price(fmt.Sprintf("%d.%012d", pico/1e12, pico%1e12)) }
	l := &eyrie.Lane{
		Tag: f.Tag, Provider: f.Tag, PromptPrice: perToken(f.Prompt), OutputPrice: perToken(f.Output),
		MaxOutput: f.MaxOutput, Overruns: f.Overruns, Stops: f.Stops,
	}
	if f.Cached >= 0 {
		l.CachedPrice = perToken(f.Cached)
	}
	if f.Thought > 0 {
		l.ReasoningPrice = perToken(f.Thought)
	}
	if f.Fee > 0 {
		l.RequestPrice = perToken(f.Fee)
	}
	if f.Tier > 0 {
		l.Tiers = []eyrie.Tier{{MinPrompt: f.Tier, PromptPrice: perToken(2 * f.Prompt), OutputPrice: perToken(2 * f.Output)}}
	}
	return l
}

// charge is what a request costs, by a way that shares nothing with the
// program's own.
func (f tariff) charge(prompt, cached, completion int) int64 {
	in, out, hit := f.Prompt, f.Output, f.Cached
	if f.Tier > 0 && prompt >= f.Tier {
		in, out = 2*in, 2*out
	}
	if hit < 0 {
		hit = in
	}
	thought, think := completion/3, f.Thought
	if think == 0 {
		think = out
	}
	return f.Fee + int64(prompt-cached)*in + int64(cached)*hit + int64(completion-thought)*out + int64(thought)*think
}

// habits are how often, of a hundred requests, a vendor does what.
type habits struct {
	Refused  int // fails, and is not charged
	Error    int // fails with an error, and the prompt may be charged
	Cut      int // breaks off, and is charged in full, in part or not at all
	Nameless int // breaks off before the vendor has named it, and is charged all the same
	Useless  int // comes whole, is charged, and cannot be accepted
	Crawl    int // arrives at a thirtieth of the usual speed
	NoBill   int // of those that break off: their bill never appears
}

// entry is a request in the bank's books.
type entry struct {
	visible time.Time // when its bill appears
	cost    int64
	never   bool // its bill does not
}

// bank is a vendor that keeps books of what it charges.
type bank struct {
	seed    uint64
	habits  habits
	tariffs map[string]tariff
	began   time.Time
	length  func(rng *rand.Rand, limit int) int // tokens of a completion
	lag     time.Duration                       // of bills and of the account
	others  bool                                // use the account too

	moment func() // is called at every step of a request; the process may die there

	mu      sync.Mutex
	calls   int
	books   map[string]*entry
	asking  map[eyrie.Key]int // requests under way
	foreign int64             // what others have used
	events  map[string]int
}

func newBank(seed uint64, tariffs ...tariff) *bank {
	b := &bank{seed: seed, tariffs: map[string]tariff{}, books: map[string]*entry{}, events: map[string]int{}, asking: map[eyrie.Key]int{}, began: time.Now(), moment: func() {}}
	for _, f := range tariffs {
		b.tariffs[f.Tag] = f
	}
	b.length = func(rng *rand.Rand, limit int) int { return 1 + rng.IntN(limit) }
	return b
}

// total is all that the bank has charged or will, for whatever was asked.
func (b *bank) total() (sum eyrie.Money) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.books {
		sum += eyrie.Money(e.cost)
	}
	return sum
}

const (
	tokenRate  = 50 // tokens a second
	tokenBytes = 4
)

// order is one request as the bank sees it.
type order struct {
	id                         string
	rng                        *rand.Rand
	terms                      tariff
	prompt, cached, completion int
}

func (b *bank) order(r *eyrie.Request) *order {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	o := &order{id: fmt.Sprintf("gen-%d", b.calls), rng: rand.New(rand.NewPCG(b.seed, uint64(b.calls)))}
	o.terms = b.tariffs[r.Lane.Tag].at(time.Since(b.began))
	// The server may wrap the prompt in some more tokens than its template says.
	n := r.Generation.PromptTokens
	o.prompt = max(1, n-n/10+o.rng.IntN(n/10+n/50+17))
	if o.rng.IntN(2) == 0 {
		o.cached = o.rng.IntN(o.prompt + 1)
	}
	limit := r.Sampling.MaxTokens
	if o.terms.Overruns && o.rng.IntN(3) == 0 {
		limit = o.terms.MaxOutput
	}
	o.completion = b.length(o.rng, limit)
	return o
}

// book charges a request.
func (b *bank) book(o *order, cost int64, after time.Duration, never bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.books[o.id] = &entry{cost: cost, visible: time.Now().Add(after + b.lag), never: never}
}

func (b *bank) count(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events[what]++
}

// under counts the requests for a generation that are under way.
func (b *bank) under(k eyrie.Key, more int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asking[k] += more; b.asking[k] > 1 {
		b.events["hedged"]++
	}
}

// Stream serves a request as the bank's habits want it.
func (b *bank) Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error] {
	return func(yield func(eyrie.Event, error) bool) {
		b.moment()
		if ctx.Err() != nil {
			yield(eyrie.Event{Kind: eyrie.Ended, Answer: new(eyrie.Answer)}, &eyrie.Error{Kind: eyrie.Again, Class: "cancelled", Charged: eyrie.ChargedNo})
			return
		}
		o := b.order(r)
		b.under(r.Generation.Key, 1)
		defer b.under(r.Generation.Key, -1)
		a, err := b.serve(ctx, o, r, func(e eyrie.Event) { yield(e, nil) })
		b.moment()
		if err != nil {
			yield(eyrie.Event{Kind: eyrie.Ended, Answer: a}, err)
			return
		}
		yield(eyrie.Event{Kind: eyrie.Ended, Answer: a}, nil)
	}
}

func (b *bank) serve(ctx context.Context, o *order, r *eyrie.Request, tell func(eyrie.Event)) (*eyrie.Answer, *eyrie.Error) {
	h, dice := b.habits, o.rng.IntN(100)
	happens := func(rate int) bool {
		dice -= rate
		return dice < 0 && dice >= -rate
	}
	a := new(eyrie.Answer)
	if o.terms.Output > b.pinned(r) {
		b.count("refused for its price")
		return a, &eyrie.Error{Kind: eyrie.Elsewhere, Class: "404", Charged: eyrie.ChargedNo, LaneWide: true}
	}
	switch {
	case happens(h.Refused):
		b.count("refused")
		return a, &eyrie.Error{Kind: eyrie.Again, Class: "502", Charged: eyrie.ChargedNo}
	case happens(h.Nameless):
		b.count("nameless")
		b.breakOff(ctx, o, 0)
		return a, &eyrie.Error{Kind: eyrie.Again, Class: "connection"}
	}
	a.ID = o.id
	tell(eyrie.Event{Kind: eyrie.Opened, ID: o.id})
	b.moment()
	if happens(h.Error) {
		b.count("error")
		b.book(o, o.terms.charge(o.prompt, o.cached, 0)*int64(o.rng.IntN(2)), 0, false)
		return a, &eyrie.Error{Kind: eyrie.Again, Class: "in-band 502", PromptOnly: true}
	}
	end := o.completion
	breaks := happens(h.Cut)
	slow := time.Duration(1)
	if happens(h.Crawl) {
		b.count("slow")
		slow = 30
	}
	if breaks {
		end = o.rng.IntN(o.completion + 1)
	}
	if came := b.write(ctx, end, slow, tell); breaks || came < end {
		b.count("cut")
		b.breakOff(ctx, o, came)
		return a, &eyrie.Error{Kind: eyrie.Again, Class: "stream cut", Err: context.Cause(ctx)}
	}
	cost := o.terms.charge(o.prompt, o.cached, o.completion)
	b.book(o, cost, 0, false)
	a.Content, a.FinishReason = strings.Repeat("yes ", o.completion), eyrie.FinishStop
	a.Usage = eyrie.Usage{Given: true, PromptTokens: o.prompt, CachedTokens: o.cached, CompletionTokens: o.completion}
	a.Cost, a.CostGiven = eyrie.Money(cost), true
	if o.completion == r.Sampling.MaxTokens {
		a.FinishReason = eyrie.FinishLength
	}
	a.Elapsed = b.toGo(o, 0)
	if happens(h.Useless) {
		b.count("useless")
		return a, &eyrie.Error{Kind: eyrie.Again, Class: "empty answer", Charged: eyrie.ChargedYes}
	}
	b.count("whole")
	return a, nil
}

// pinned is the most for an output token that the request allows.
func (b *bank) pinned(r *eyrie.Request) int64 { return int64(r.Lane.OutputPrice.Times(1)) }

// toGo is how long the rest of a completion takes.
func (b *bank) toGo(o *order, came int) time.Duration {
	return time.Duration(o.completion-came) * time.Second / tokenRate
}

// write streams so many tokens, and returns how many it came to.
func (b *bank) write(ctx context.Context, tokens int, slow time.Duration, tell func(eyrie.Event)) (came int) {
	for came < tokens {
		n := min(tokenRate/2, tokens-came)
		select {
		case <-time.After(slow * time.Duration(n) * time.Second / tokenRate):
		case <-ctx.Done():
			return came
		}
		came += n
		tell(eyrie.Event{Kind: eyrie.Progress, Bytes: came * tokenBytes})
	}
	return came
}

// breakOff charges a stream that ended after so many tokens. One that stops
// has produced half a second more than arrived; others go on to their end.
func (b *bank) breakOff(ctx context.Context, o *order, came int) {
	tokens, after := o.completion, b.toGo(o, came)
	if o.terms.Stops {
		tokens, after = min(o.completion, came+tokenRate/2), 0
	}
	cost := o.terms.charge(o.prompt, o.cached, tokens)
	if ctx.Err() == nil && o.rng.IntN(3) == 0 {
		cost = 0 // the vendor's own failure
	}
	b.book(o, cost, after, o.rng.IntN(100) < b.habits.NoBill)
}

func (b *bank) Bill(_ context.Context, id string) (eyrie.Money, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.books[id]
	if !ok || e.never || time.Now().Before(e.visible) {
		return 0, errors.New("no bill yet")
	}
	return eyrie.Money(e.cost), nil
}

// Usage is what the account shows.
func (b *bank) Usage(context.Context) (eyrie.Money, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rng := rand.New(rand.NewPCG(b.seed, uint64(time.Since(b.began))))
	if b.others {
		b.foreign += int64(rng.IntN(2)) * int64(rng.IntN(3_000_000_000))
	}
	sum := eyrie.Money(1_000_000 + b.foreign)
	for _, e := range b.books {
		if !time.Now().Before(e.visible) {
			sum += eyrie.Money(e.cost)
		}
	}
	return sum, nil
}

var errDead = errors.New("the process is gone")

// mortal is a journal whose process may die at any of its steps.
type mortal struct {
	mu     sync.Mutex
	disk   []eyrie.Record // survives
	notes  []eyrie.Record // goes with the process, or with the next append
	dead   bool
	failed chan struct{}
	before func() // a step is about to be done; the process may die
	after  func() // it is done
}

func (m *mortal) Append(rs ...eyrie.Record) (journal.Ref, error) {
	m.before()
	m.mu.Lock()
	if m.dead {
		m.mu.Unlock()
		return journal.Ref{}, errDead
	}
	m.disk = append(append(m.disk, m.notes...), rs...)
	m.notes = nil
	ref := journal.Ref{Segment: 1, Offset: int64(len(m.disk) - 1)}
	m.mu.Unlock()
	m.after()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead { // it failed, but had happened
		return journal.Ref{}, errDead
	}
	return ref, nil
}

func (m *mortal) Note(r eyrie.Record) error {
	m.before()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	m.notes = append(m.notes, r)
	return nil
}

func (m *mortal) Failed() <-chan struct{} { return m.failed }

func (m *mortal) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	return nil
}

// die loses the notes but for the first few, and takes nothing more.
func (m *mortal) die(notes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return
	}
	m.dead = true
	m.disk = append(m.disk, m.notes[:min(notes, len(m.notes))]...)
	close(m.failed)
}

func (m *mortal) earlier(ref journal.Ref) (*eyrie.EndedRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.disk[ref.Offset].(*eyrie.EndedRecord), nil
}
