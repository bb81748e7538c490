package emulator

import (
	"context"
	"errors"
	"time"
)

// localJob is a request that waits for a slot or has one.
type localJob struct {
	tokens int           // that it takes in memory
	placed chan struct{} // closed when it has a slot
	gone   chan struct{} // closed when the server goes down
}

var errDown = errors.New("the server went down")

// place waits for a slot. Leave must be called where it returns no error.
func (l *Local) place(ctx context.Context, tokens int) (*localJob, error) {
	j := &localJob{tokens: tokens, placed: make(chan struct{})}
	l.mu.Lock()
	j.gone = l.stopped
	l.queue = append(l.queue, j)
	l.admit()
	l.mu.Unlock()
	select {
	case <-j.placed:
		return j, nil
	case <-ctx.Done():
		l.leave(j)
		return nil, ctx.Err()
	case <-j.gone:
		l.leave(j)
		return nil, errDown
	}
}

// admit gives slots to those that wait, in order. The caller holds mu.
func (l *Local) admit() {
	for len(l.queue) > 0 && len(l.running) < l.config.Slots && !l.quirk("hang") {
		j := l.queue[0]
		if l.config.Cache > 0 && len(l.running) > 0 && l.cached+j.tokens > l.config.Cache {
			return
		}
		l.queue = l.queue[1:]
		l.running[j] = struct{}{}
		l.cached += j.tokens
		close(j.placed)
	}
}

// leave frees what a request held.
func (l *Local) leave(j *localJob) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.running[j]; ok {
		delete(l.running, j)
		l.cached -= j.tokens
	}
	for i, q := range l.queue {
		if q == j {
			l.queue = append(l.queue[:i:i], l.queue[i+1:]...)
			break
		}
	}
	l.admit()
}

// beat is how often a paced answer goes on.
const beat = 50 * time.Millisecond

// pace calls write with how many of total tokens there are by now, until all
// are there. How fast that goes changes with how many requests there are.
func (l *Local) pace(ctx context.Context, j *localJob, total int, write func(tokens int) error) error {
	done := 0.0
	timer := time.NewTimer(beat)
	defer timer.Stop()
	for {
		l.mu.Lock()
		rate, throughput, n := l.config.Rate, l.config.Throughput, len(l.running)
		l.mu.Unlock()
		if share := throughput / float64(max(n, 1)); throughput > 0 && (rate == 0 || share < rate) {
			rate = share
		}
		before := int(done)
		done += rate * beat.Seconds()
		if rate == 0 || int(done) > total {
			done = float64(total)
		}
		l.mu.Lock()
		l.written += int64(int(done) - before)
		l.mu.Unlock()
		if rate > 0 {
			timer.Reset(beat)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return ctx.Err()
			case <-j.gone:
				return errDown
			}
		}
		if err := write(int(done)); err != nil || int(done) >= total {
			return err
		}
	}
}
