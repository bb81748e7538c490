// Package dispatch runs generations: it owns the attempts, the retries, the
// money in flight and the shut-down. It is the only place that retries.
//
// # Order
//
// For every attempt, in this order, each arrow a point where the process may
// die:
//
//	reserve money → journal started → request → (id seen) → text arrives
//	→ journal ended → settle → count it
//
// The reservation is made before the request and the end is on disk before it
// counts, so after a crash the journal never knows less than the vendor was
// asked, and never claims what is not on disk.
//
// # Conversations
//
// A conversation goes on turn by turn, each on the model's own answers before it
// ([eyrie.Prompt.Ask]). The goroutine of an accepted answer decides whether its
// conversation goes on and prepares the next turn; where it ends before the data
// set does, the answer's record says why. Nothing that happens to a later turn
// touches an earlier one. How a row is sampled is drawn once for all its turns
// ([eyrie.Mix]).
//
// # Goroutines
//
// One goroutine, the scheduler, owns all changing state: the ledger, the
// limiters, the queues. One feeder per data set reads prompts, renders them and
// counts their tokens. Each attempt and each look-up of a bill runs in a
// goroutine of its own, bounded by the concurrency limit, and so does each
// reading of the list of endpoints, one at a time. All of them report to the
// scheduler over one channel, and [Run] returns only after every one of them has
// ended.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/plan"
	"github.com/eyrie-ai/eyrie/progress"
	"github.com/eyrie-ai/eyrie/route"
)

// Engine makes one attempt as a stream of events, the last of which is Ended.
// The error beside Ended is nil for an answer that is accepted, and else an
// [eyrie.Error].
type Engine interface {
	Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error]
}

// Biller is an engine that can be asked later what a request cost.
type Biller interface {
	// Bill returns the charge of a request by the vendor's id of it. Any error
	// means that it is not known yet.
	Bill(ctx context.Context, id string) (eyrie.Money, error)
}

// Meter is an engine that knows what the account has used in all.
type Meter interface {
	Usage(ctx context.Context) (eyrie.Money, error)
}

// Journal is where records become durable.
type Journal interface {
	Append(...eyrie.Record) (journal.Ref, error)
	Note(eyrie.Record) error
	Failed() <-chan struct{}
	Err() error
}

// Lane is an endpoint with the engine that serves it and its limits.
type Lane struct {
	Lane   *eyrie.Lane
	Engine Engine
	Limit  limit.Config
	// Out says why the lane may not answer at present; empty where it may.
	Out string
}

// Set is a data set with its target.
type Set struct {
	Name    string
	Target  int64 // output tokens
	Seeded  int64 // output tokens that came from elsewhere
	Samples int   // answers per prompt
	// Pairing says how the set's tool results find the model's calls.
	Pairing eyrie.Pairing
	// Prompts yields the set's prompts, the same ones in the same order each
	// time it is ranged over.
	Prompts iter.Seq2[*eyrie.Prompt, error]
}

// Config is a run.
type Config struct {
	Run   string
	Model string
	// Sampling says how each row is sampled.
	Sampling    *eyrie.Mix
	Concurrency int
	// Hold is how much is reserved for an attempt.
	Hold Hold
	// PaidAttempts bounds how often money may be spent on one generation
	// without an accepted answer.
	PaidAttempts int
	// OnLength says what becomes of answers that their cap cut off, and
	// RetryTokens is the larger cap of those that are asked for again.
	OnLength    eyrie.OnLength
	RetryTokens int
	// Lanes are the endpoints there are, in order of preference. Those that
	// are out are here so that they are not taken for new ones later.
	Lanes []Lane
	// Refresh reads the lanes anew, in the same form; nil when they stay as
	// they are. It is called every RefreshEvery, 5m by default, and at once when
	// an endpoint was not found.
	Refresh      func(ctx context.Context) ([]Lane, error)
	RefreshEvery time.Duration
	Sets         []Set
	Fit          plan.Fit // which set comes next
	// Sort is the order in which lanes are filled; for [route.ByCost] that of
	// Lanes. Deadline, from the start of the run, is what [route.ByDeadline] keeps.
	Sort     route.Sort
	Deadline time.Duration

	// JobBudget is the budget of the job file. It is kept beside one that is set
	// while the run goes on, to tell later which of the two is newer.
	JobBudget eyrie.Money

	Journal Journal
	State   *progress.State
	Ledger  *ledger.Ledger
	// Count renders a generation's prompt and returns its length in tokens.
	// An error drops the generation with that reason.
	Count func(g *eyrie.Generation, s eyrie.Sampling) (int, error)
	// Earlier reads an accepted answer again.
	Earlier func(journal.Ref) (*eyrie.EndedRecord, error)

	// Hedge is the share of the budget that second copies of slow answers may
	// use near the end of the run; none are made when it is zero.
	Hedge float64
	// BillPatience is how long the end of a run waits for late bills; 1m.
	BillPatience time.Duration
	// Seed makes the jitter repeatable.
	Seed uint64
	// Log gets one line for every event a person may want to know later.
	Log *slog.Logger
}

// Stop tells how a run came to its end.
type Stop uint8

// The ways a run ends.
const (
	Finished      Stop = iota // every target is met
	Exhausted                 // prompts are used up before the targets are met
	BudgetReached             // the next reservation does not fit the budget
	Interrupted               // a person asked for it
	Refused                   // the vendor refuses the account or every lane is closed
	Broken                    // the journal or a data set failed
)

func (s Stop) String() string {
	return [...]string{"finished", "prompts used up", "budget reached", "interrupted", "refused", "broken"}[s]
}

// Result is what a run came to.
type Result struct {
	Stop     Stop
	Err      error // why, for Refused and Broken
	Snapshot eyrie.Snapshot
}

// Runner is a run that can be watched and stopped.
type Runner struct {
	cfg      Config
	msgs     chan message
	stopping chan struct{}
	drained  atomic.Bool
	cancel   context.CancelCauseFunc
	ctx      context.Context
	snapshot atomic.Pointer[eyrie.Snapshot]
	orders   chan order
	over     chan struct{} // closed when nothing is asked of the run any more
	budgets  sync.Mutex    // held while a budget is set
	bytes    atomic.Int64  // text received in all
}

// ErrCancelled is the cause with which attempts under way are cut off.
var ErrCancelled = errors.New("the run was cancelled")

// New prepares a run.
func New(cfg Config) (*Runner, error) {
	if !slices.ContainsFunc(cfg.Lanes, func(l Lane) bool { return l.Out == "" }) {
		return nil, errors.New("dispatch: no lane may answer")
	}
	if cfg.Concurrency <= 0 {
		return nil, fmt.Errorf("dispatch: concurrency %d", cfg.Concurrency)
	}
	if cfg.PaidAttempts <= 0 {
		cfg.PaidAttempts = 4
	}
	if cfg.BillPatience <= 0 {
		cfg.BillPatience = time.Minute
	}
	if cfg.RefreshEvery <= 0 {
		cfg.RefreshEvery = 5 * time.Minute
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := &Runner{cfg: cfg, msgs: make(chan message, 256), stopping: make(chan struct{}), orders: make(chan order), over: make(chan struct{})}
	r.snapshot.Store(&eyrie.Snapshot{})
	return r, nil
}

// Drain admits nothing new and lets what is under way finish.
func (r *Runner) Drain() {
	if r.drained.CompareAndSwap(false, true) {
		close(r.stopping)
	}
}

// Snapshot returns the latest picture of the run. Callers must not change it.
func (r *Runner) Snapshot() eyrie.Snapshot { return *r.snapshot.Load() }

// Run works until the targets are met, the prompts or the money are used up,
// or it is stopped. Cancelling ctx cuts off the attempts under way; what came
// of them is journaled.
func (r *Runner) Run(ctx context.Context) Result {
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	defer close(r.over)
	s := newScheduler(r)
	return s.run()
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }
