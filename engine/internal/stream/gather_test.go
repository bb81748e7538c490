package stream_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

// TestAStreamGathersAtItsOwnPace sends chunks of ten bytes for half a minute at
// several paces: all of them arrive, none later than the longest pause, and the
// reads are as few as the pace allows.
func TestAStreamGathersAtItsOwnPace(t *testing.T) {
	const most = time.Second
	for _, tt := range []struct {
		name   string
		every  time.Duration
		pause  time.Duration // that is to be expected
		gather bool
	}{
		{"two a second", 500 * time.Millisecond, most, true},
		{"six a second", 160 * time.Millisecond, most, true},
		{"25 a second", 40 * time.Millisecond, 480 * time.Millisecond, true},
		{"250 a second", 4 * time.Millisecond, 200 * time.Millisecond, true},
		{"250 a second, and nothing gathers", 4 * time.Millisecond, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counted{data: make(chan []byte, 1<<16)}
				chunks := int(30 * time.Second / tt.every)
				go func() {
					for i := range chunks {
						time.Sleep(tt.every)
						c.data <- append(make([]byte, 9), byte(i))
					}
					close(c.data)
				}()
				g := stream.NewGatherer(t.Context(), c, most, nil)
				began, got := time.Now(), 0
				buf := make([]byte, 4096)
				for {
					if err := g.Wait(func() {}); err != nil {
						t.Fatal(err)
					}
					n, err := g.Read(buf)
					for at := 9; at < n; at += 10 {
						if buf[at] != byte(got) {
							t.Fatalf("chunk %d is %d", got, buf[at])
						}
						got++
						if late := time.Since(began) - time.Duration(got)*tt.every; late > max(tt.pause*11/10, tt.every) {
							t.Errorf("chunk %d came %v late", got, late)
						}
						g.Came(tt.gather)
					}
					if err != nil {
						break
					}
				}
				if got != chunks {
					t.Errorf("%d of %d chunks came", got, chunks)
				}
				if want := int(30 * time.Second / max(tt.pause, tt.every)); c.reads > want*11/10+5 || c.reads < want*8/10 {
					t.Errorf("%d reads, want about %d", c.reads, want)
				}
			})
		})
	}
}

// TestAPauseEndsWithItsContext: the cause is what the reader gets.
func TestAPauseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counted{data: make(chan []byte, 1)}
		c.data <- make([]byte, 1)
		ctx, stop := context.WithCancelCause(t.Context())
		g := stream.NewGatherer(ctx, c, time.Hour, nil)
		if _, err := g.Read(make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		g.Came(true)
		why := errors.New("why")
		time.AfterFunc(time.Millisecond, func() { stop(why) })
		idle := false
		if err := g.Wait(func() { idle = true }); err != why || !idle {
			t.Errorf("%v, want the cause; idle %v", err, idle)
		}
	})
}
