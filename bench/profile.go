package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

// startProfile profiles this process until stop is called: its CPU time, and
// once, when the load has run half its time, its memory.
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
	heap := time.AfterFunc(l.time()/2, func() {
		if h, err := os.Create(file + ".heap"); err == nil {
			runtime.GC()
			pprof.Lookup("heap").WriteTo(h, 0)
			h.Close()
		}
	})
	return func() {
		heap.Stop()
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}
