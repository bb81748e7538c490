package stream

import (
	"context"
	"io"
	"time"
)

// A pause is as long as it takes for some chunks to come: for each of them to
// be read on its own is what costs, and more of them make little difference.
const (
	enough     = 12
	leastPause = 200 * time.Millisecond
)

// Gatherer reads less often than text comes: between two reads of an answer
// that has begun it lets some time pass, unless the last read filled the
// buffer and more may be waiting. How much follows from the stream's own pace,
// so a slow one is read about once a second and a fast one five times. Chunks
// are so read at most one pause late, and the first text and the end of an
// answer, once its reader has seen that it comes, at once.
type Gatherer struct {
	// Ready, where there is one, receives when waiting longer is of no use.
	Ready <-chan struct{}
	// Full, where there is one, says whether the last read of src found more
	// than there was room for; else one that filled its buffer did.
	Full func() bool

	ctx    context.Context
	src    io.Reader
	most   time.Duration
	on     bool
	begun  time.Time // when it was first on
	chunks int       // since then
	full   bool
	timer  *time.Timer
	water  *LowWater
}

// NewGatherer returns a reader of src that never pauses longer than most; zero
// reads at once. water is of the stream's own connection, and nil where it
// shares one.
func NewGatherer(ctx context.Context, src io.Reader, most time.Duration, water *LowWater) *Gatherer {
	return &Gatherer{ctx: ctx, src: src, most: most, water: water}
}

// Came notes a chunk, and says whether those to come may gather: not before
// the answer has begun, and not any more when only its end is to come.
func (g *Gatherer) Came(gather bool) {
	g.on = gather
	if !gather {
		return
	}
	if g.chunks++; g.chunks == 1 {
		g.begun = time.Now()
	}
}

// Wait lets text gather before the next Read, calling idle first. Where text is
// not to gather it does nothing.
func (g *Gatherer) Wait(idle func()) error {
	if g.most <= 0 || !g.on || g.full {
		return nil
	}
	idle()
	return g.wait(g.pause())
}

// Read reads what has gathered. It is called after Wait.
func (g *Gatherer) Read(p []byte) (int, error) {
	n, err := g.src.Read(p)
	g.full = n == len(p)
	if g.Full != nil {
		g.full = g.Full()
	}
	return n, err
}

// pause is how long enough chunks take at the pace that they came so far.
func (g *Gatherer) pause() time.Duration {
	pause := time.Since(g.begun) * enough / time.Duration(g.chunks)
	return min(max(pause, leastPause), g.most)
}

func (g *Gatherer) wait(pause time.Duration) error {
	g.water.raise()
	defer g.water.lower()
	if g.timer == nil {
		g.timer = time.NewTimer(pause)
	} else {
		g.timer.Reset(pause)
	}
	select {
	case <-g.timer.C:
		return nil
	case <-g.Ready:
		g.timer.Stop()
		return nil
	case <-g.ctx.Done():
		g.timer.Stop()
		return context.Cause(g.ctx)
	}
}
