package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/eyrie-ai/eyrie"
)

type ack struct{ p50, p99, max time.Duration }

// paced hands a store so many records a second, each by a goroutine of its own,
// and measures how long they wait. A record that comes late because the ones
// before it were slow counts from when it was due.
func paced(dir string, s store, load *workload, rate int, d time.Duration) (ack, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return ack{}, err
	}
	add, closeStore, err := s.open(dir)
	if err != nil {
		return ack{}, err
	}
	n := rate * int(d/time.Second)
	waited := make([]time.Duration, n)
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range n {
		r := load.answer(i)
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		wg.Go(func() {
			if err := add(r); err != nil {
				failed.Store(&err)
			}
			waited[i] = time.Since(due)
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return ack{}, *err
	}
	if err := closeStore(); err != nil {
		return ack{}, err
	}
	slices.Sort(waited)
	return ack{waited[n/2], waited[n*99/100], waited[n-1]}, os.RemoveAll(dir)
}

type push struct {
	took  time.Duration
	bytes int64 // of records
	disk  int64
}

// pushed lets producers hand a store records as fast as it acknowledges them.
func pushed(dir string, s store, load *workload, n, producers int) (push, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return push{}, err
	}
	add, closeStore, err := s.open(dir)
	if err != nil {
		return push{}, err
	}
	recs := make([]*eyrie.EndedRecord, n)
	var p push
	for i := range recs {
		recs[i] = load.answer(i)
		p.bytes += int64(size(recs[i]))
	}
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	begin := time.Now()
	for range producers {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				if err := add(recs[i]); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	p.took = time.Since(begin)
	if err := failed.Load(); err != nil {
		return push{}, *err
	}
	if s.name == "journal" {
		waitSealed(dir)
	}
	if err := closeStore(); err != nil {
		return push{}, err
	}
	p.disk, err = onDisk(dir)
	if err != nil {
		return push{}, err
	}
	return p, os.RemoveAll(dir)
}

// onDisk adds up the bytes of the files below dir.
func onDisk(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// waitSealed waits until all but the last segment are sealed.
func waitSealed(dir string) {
	for {
		plain, _ := filepath.Glob(filepath.Join(dir, "journal", "??????.jsonl"))
		if len(plain) <= 1 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// dropCaches makes the system forget the content of the files below dir.
func dropCaches(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		const dontNeed = 4 // POSIX_FADV_DONTNEED
		if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); errno != 0 {
			return errno
		}
		return nil
	})
}
