package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

// soakLoad are short answers as fast as they go, and very many of them.
func soakLoad(l *load, generations int) {
	l.Requests, l.Tokens, l.Rate, l.Wait = generations, 8, 1e6, 0
	l.Streams = min(l.Streams, 256)
}

// soakEvery is after how many generations memory is looked at.
const soakEvery = 50_000

// soak prints how much memory a long run takes as it goes on.
type soak struct {
	load      *load
	began     time.Time
	first     int    // generations at the first look
	firstLive uint64 // and the memory of live objects
}

func newSoak(l *load) *soak {
	fmt.Fprintf(os.Stderr, "%12s %9s %9s %26s %11s %9s\n", "generations", "RSS MB", "live MB", "bytes more a generation", "goroutines", "a second")
	return &soak{load: l, began: time.Now()}
}

// look is called after so many generations.
func (s *soak) look(generations int) {
	s.load.profileHeap()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	more := "-"
	if s.first == 0 {
		s.first, s.firstLive = generations, m.HeapAlloc
	} else {
		more = fmt.Sprintf("%.1f", (float64(m.HeapAlloc)-float64(s.firstLive))/float64(generations-s.first))
	}
	fmt.Fprintf(os.Stderr, "%12d %9.1f %9.1f %26s %11d %9.0f\n", generations, float64(rssNow())/1e6, float64(m.HeapAlloc)/1e6, more,
		runtime.NumGoroutine(), float64(generations)/time.Since(s.began).Seconds())
}

// rssNow is the memory that this process has at the moment, 0 where the system
// does not say.
func rssNow() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if v, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kb, _ := strconv.ParseInt(string(bytes.Fields(v)[0]), 10, 64)
			return kb * 1024
		}
	}
	return 0
}
