package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

// startProfile profiles this process until stop is called: its CPU time, and
// once, when the load has run half its time, its memory. A soak looks at its
// memory more often, and the last profile stays.
func startProfile(file string, l *load) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	runtime.MemProfileRate = 16 << 10
	l.Profile = file + ".heap"
	heap := time.AfterFunc(l.time()/2, l.profileHeap)
	return func() {
		heap.Stop()
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}

// profileHeap writes the profile of what is live, if there is to be one.
func (l *load) profileHeap() {
	if l.Profile == "" {
		return
	}
	if h, err := os.Create(l.Profile); err == nil {
		runtime.GC()
		pprof.Lookup("heap").WriteTo(h, 0)
		h.Close()
	}
}
