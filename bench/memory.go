package main

import (
	"fmt"
	"runtime/metrics"
	"time"
)

// memory is what the runtime says it has from the system, in bytes, at the
// moment when it had most.
type memory struct {
	Objects    uint64 // live, or not yet known to be dead
	Free       uint64 // held for objects to come
	Stacks     uint64
	Other      uint64 // the runtime's own
	Goroutines uint64
}

func (m memory) total() uint64 { return m.Objects + m.Free + m.Stacks + m.Other }

// String says where it is, in KB for each of some streams.
func (m memory) String() string {
	return fmt.Sprintf("%.1f MB: objects %.1f, free for objects %.1f, stacks %.1f, the runtime %.1f; %d goroutines",
		float64(m.total())/1e6, float64(m.Objects)/1e6, float64(m.Free)/1e6, float64(m.Stacks)/1e6, float64(m.Other)/1e6, m.Goroutines)
}

// now reads it.
func readMemory() memory {
	s := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/total:bytes"},
		{Name: "/sched/goroutines:goroutines"},
	}
	metrics.Read(s)
	v := func(i int) uint64 { return s[i].Value.Uint64() }
	m := memory{Objects: v(0), Free: v(1) + v(2), Stacks: v(3), Goroutines: v(6)}
	m.Other = v(5) - v(4) - m.Objects - m.Free - m.Stacks
	return m
}

// watchMemory looks five times a second until stop is called, which returns the
// greatest it has seen.
func watchMemory() (stop func() memory) {
	done, peak := make(chan struct{}), make(chan memory)
	go func() {
		var most memory
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			if m := readMemory(); m.total() > most.total() {
				most = m
			}
			select {
			case <-tick.C:
			case <-done:
				peak <- most
				return
			}
		}
	}()
	return func() memory {
		close(done)
		return <-peak
	}
}
