package stream

import (
	"context"
	"io"
	"time"
)

// Gatherer reads less often than text comes: between two reads of an answer
// that has begun it lets some time pass, unless the last read filled the
// buffer and more may be waiting. The end of an answer is so found at most one
// period late, and the first text at once.
type Gatherer struct {
	ctx   context.Context
	src   io.Reader
	every time.Duration
	// Gathering is set by the reader once the answer has begun.
	Gathering bool
	// Ready, where there is one, receives when waiting longer is of no use.
	Ready <-chan struct{}
	full  bool
	timer *time.Timer
	water *LowWater
}

// NewGatherer returns a reader of src that gathers for the time of every; zero
// reads at once. water is of the stream's own connection, and nil where it
// shares one.
func NewGatherer(ctx context.Context, src io.Reader, every time.Duration, water *LowWater) *Gatherer {
	return &Gatherer{ctx: ctx, src: src, every: every, water: water}
}

func (g *Gatherer) Read(p []byte) (int, error) {
	if g.every > 0 && g.Gathering && !g.full {
		if err := g.pause(); err != nil {
			return 0, err
		}
	}
	n, err := g.src.Read(p)
	g.full = n == len(p)
	return n, err
}

func (g *Gatherer) pause() error {
	g.water.raise()
	defer g.water.lower()
	if g.timer == nil {
		g.timer = time.NewTimer(g.every)
	} else {
		g.timer.Reset(g.every)
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
