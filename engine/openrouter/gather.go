package openrouter

import (
	"context"
	"io"
	"time"
)

// gatherer reads less often than text comes: between two reads of an answer
// that has begun it lets some time pass, unless the last read filled the
// buffer and more may be waiting. The end of an answer is so found at most one
// period late, and the first text at once.
type gatherer struct {
	ctx       context.Context
	src       io.Reader
	every     time.Duration
	gathering bool
	full      bool
	timer     *time.Timer
	water     *lowWater // of the stream's own connection; nil where it shares one
}

func (g *gatherer) Read(p []byte) (int, error) {
	if g.every > 0 && g.gathering && !g.full {
		if err := g.pause(); err != nil {
			return 0, err
		}
	}
	n, err := g.src.Read(p)
	g.full = n == len(p)
	return n, err
}

func (g *gatherer) pause() error {
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
	case <-g.ctx.Done():
		g.timer.Stop()
		return context.Cause(g.ctx)
	}
}
