package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/progress"
)

// reopen writes a run of so many answers, with all records that belong to them,
// and opens it again after the system has forgotten its files.
func reopen(dir string, load *workload, answers int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	begin := time.Now()
	bytes, err := writeRun(root, load, answers)
	if err != nil {
		return err
	}
	wrote := time.Since(begin)
	j, _, err := journal.Open(root, nil)
	if err != nil {
		return err
	}
	waitSealed(dir)
	if err := j.Close(); err != nil {
		return err
	}
	disk, err := onDisk(dir)
	if err != nil {
		return err
	}
	fmt.Printf("\nA run of %d answers, %d records, %.1f GB: written in %v, sealed after %v, %.2f bytes on disk per byte.\n",
		answers, 4*answers, float64(bytes)/1e9, wrote.Round(time.Second), time.Since(begin).Round(time.Second), float64(disk)/float64(bytes))
	for _, how := range []string{"cold", "warm"} {
		if how == "cold" {
			syscall.Sync()
			if err := dropCaches(dir); err != nil {
				return err
			}
		}
		before := heap()
		begin, used := time.Now(), cpu()
		st, led := progress.New(), ledger.New(0)
		j, _, err := journal.Open(root, func(e journal.Entry) error {
			st.Apply(e)
			led.Apply(e.Record)
			return nil
		})
		if err != nil {
			return err
		}
		took, worked := time.Since(begin), cpu()-used
		kept := heap() - before
		fmt.Printf("Reopened %s in %.2f s (%.2f s of CPU); %.1f bytes of memory a record, %.0f an answer.\n",
			how, took.Seconds(), worked.Seconds(), float64(kept)/float64(4*answers), float64(kept)/float64(answers))
		runtime.KeepAlive(st)
		if err := j.Close(); err != nil {
			return err
		}
	}
	return nil
}

// writeRun writes the run with some hundred answers under way at once, and
// returns the bytes of its records.
func writeRun(root *os.Root, load *workload, answers int) (int64, error) {
	j, _, err := journal.Open(root, nil)
	if err != nil {
		return 0, err
	}
	if _, err := j.Append(&eyrie.SessionRecord{Version: "bench", Budget: 1000 * eyrie.Dollar}); err != nil {
		return 0, err
	}
	type generation struct {
		p *eyrie.PromptRecord
		s *eyrie.StartedRecord
		n *eyrie.SeenRecord
		e *eyrie.EndedRecord
	}
	work := make(chan generation, 64)
	var wg sync.WaitGroup
	for range 400 {
		wg.Go(func() {
			for g := range work {
				j.Note(g.p)
				j.Append(g.s)
				j.Note(g.n)
				j.Append(g.e) // whatever fails shows in Close
			}
		})
	}
	var bytes int64
	for i := range answers {
		p, s, n, e := load.generation(i)
		if i%100 == 0 {
			bytes += 100 * int64(size(p)+size(s)+size(n)+size(e)) // a sample is enough
		}
		work <- generation{p, s, n, e}
	}
	close(work)
	wg.Wait()
	return bytes, j.Close()
}

// heap is how many bytes are in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpu is what the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
