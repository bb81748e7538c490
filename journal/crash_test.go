package journal_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/faultfs"
	"github.com/eyrie-ai/eyrie/journal"
)

var rounds = flag.Int("rounds", 0, "how many rounds the crash tests make; 0 is their own number")

// smallSegments makes a journal rotate and seal every few records.
var smallSegments = journal.Options{SegmentSize: 3 << 10}

// witness knows what a journal has promised.
type witness struct {
	mu     sync.Mutex
	given  map[int64]bool        // handed in, acknowledged or not
	sure   map[int64]journal.Ref // acknowledged, or seen by a replay; the Ref where it is known
	closed map[int64]bool        // handed in since the journal was opened
}

func newWitness() *witness {
	return &witness{given: map[int64]bool{}, sure: map[int64]journal.Ref{}, closed: map[int64]bool{}}
}

// answer is a record of some length that can be told by its number.
func answer(n int64) *eyrie.EndedRecord {
	r := ended(int(n))
	r.Content = strings.Repeat(fmt.Sprintf("%d is the answer. ", n), int(n*7%90))
	return r
}

// append hands in a record and notes what came of it.
func (w *witness) append(j *journal.Journal, n int64) {
	w.mu.Lock()
	w.given[n], w.closed[n] = true, true
	w.mu.Unlock()
	ref, err := j.Append(answer(n))
	if err == nil {
		w.mu.Lock()
		w.sure[n] = ref
		w.mu.Unlock()
	}
}

// note hands in a record that nobody waits for.
func (w *witness) note(j *journal.Journal, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.given[n], w.closed[n] = true, true
	j.Note(answer(n)) // an error shows in Close
}

// close closes the journal; when that succeeds, everything is sure.
func (w *witness) close(j *journal.Journal) error {
	err := j.Close()
	if err == nil {
		for n := range w.closed {
			if _, ok := w.sure[n]; !ok {
				w.sure[n] = journal.Ref{}
			}
		}
	}
	clear(w.closed)
	return err
}

// open opens the journal and compares what it folds with what was promised.
func (w *witness) open(t *testing.T, fsys journal.FS) (*journal.Journal, error) {
	t.Helper()
	var found []journal.Entry
	j, _, err := journal.OpenIn(fsys, smallSegments, func(e journal.Entry) error {
		found = append(found, e)
		return nil
	})
	if err != nil {
		if _, ok := errors.AsType[*journal.DamageError](err); ok {
			t.Fatalf("what a crash left is called damage: %v", err)
		}
		return nil, err
	}
	w.check(t, found)
	return j, nil
}

func (w *witness) check(t *testing.T, found []journal.Entry) {
	t.Helper()
	have := map[int64]bool{}
	for _, e := range found {
		r := e.Record.(*eyrie.EndedRecord)
		if have[r.Attempt] {
			t.Fatalf("record %d is there twice", r.Attempt)
		}
		have[r.Attempt] = true
		if !w.given[r.Attempt] {
			t.Fatalf("record %d was never handed in", r.Attempt)
		}
		if !reflect.DeepEqual(r, outline(answer(r.Attempt))) {
			t.Fatalf("record %d came back as %+v", r.Attempt, r)
		}
		if ref := w.sure[r.Attempt]; ref != (journal.Ref{}) && ref != e.Ref {
			t.Fatalf("record %d is at %v and was at %v", r.Attempt, e.Ref, ref)
		}
		w.sure[r.Attempt] = e.Ref // the run builds on it from now on
	}
	for n := range w.sure {
		if !have[n] {
			t.Fatalf("record %d was acknowledged and is gone", n)
		}
	}
}

// finish opens the journal once more and reads every record whole, in each way
// there is.
func (w *witness) finish(t *testing.T, fsys journal.FS) {
	t.Helper()
	j, err := w.open(t, fsys)
	if err != nil {
		t.Fatalf("on a disk that works: %v", err)
	}
	w.append(j, 1<<20)
	if err := w.close(j); err != nil {
		t.Fatalf("closing on a disk that works: %v", err)
	}
	rd := journal.NewReaderIn(fsys)
	defer rd.Close()
	n := 0
	for e, err := range journal.ReadIn(fsys) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		again, err := rd.At(e.Ref)
		want := answer(e.Record.(*eyrie.EndedRecord).Attempt)
		if err != nil || !reflect.DeepEqual(e.Record, eyrie.Record(want)) || !reflect.DeepEqual(again, eyrie.Record(want)) {
			t.Fatalf("at %v: read %+v and %+v (%v), want %+v", e.Ref, e.Record, again, err, want)
		}
	}
	if n != len(w.sure) {
		t.Fatalf("read %d records, want %d", n, len(w.sure))
	}
}

// faults are the ways in which one operation goes wrong: it failed, and it
// failed but had happened.
var faults = map[string]faultfs.Fault{
	"EIO":              {Err: syscall.EIO},
	"EIO, happened":    {Err: syscall.EIO, Happened: true},
	"ENOSPC":           {Err: syscall.ENOSPC, Short: 7},
	"ENOSPC, happened": {Err: syscall.ENOSPC, Happened: true},
	"crash before":     {Crash: true, Short: 100},
	"crash after":      {Crash: true, Happened: true},
}

// story is one short life of a journal.
func (w *witness) story(j *journal.Journal, from int64, records int) {
	for i := range int64(records) {
		if i%4 == 3 {
			w.note(j, from+i)
			continue
		}
		w.append(j, from+i)
	}
}

// TestCrashAtEveryOperation goes through a story again and again; each time
// another of its operations goes wrong, in each of the ways.
func TestCrashAtEveryOperation(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, more := 0, true; more; at++ {
				synctest.Test(t, func(t *testing.T) { more = goWrongAt(t, at, fault) })
			}
		})
	}
}

// goWrongAt tells the story with one operation failing, and reports whether
// the story came to that operation.
func goWrongAt(t *testing.T, at int, fault faultfs.Fault) (reached bool) {
	w, disk := newWitness(), faultfs.New(uint64(at))
	j, err := w.open(t, disk)
	if err != nil {
		t.Fatal(err)
	}
	w.story(j, 0, 6)
	w.close(j)
	disk = disk.Restart()
	disk.Inject(func(op faultfs.Op) faultfs.Fault {
		if op.N == at {
			reached = true
			return fault
		}
		return faultfs.Fault{}
	})
	if j, err = w.open(t, disk); err == nil {
		w.story(j, 1000, 10)
		err = w.close(j)
	}
	if err != nil && !fault.Crash && !errors.Is(err, fault.Err) {
		t.Errorf("operation %d failed with %v, and the journal says %v", at, fault.Err, err)
	}
	disk.Inject(nil)
	w.finish(t, disk.Reboot())
	return reached
}

// TestKilledAtEveryOperation kills the process at each of its operations, while
// the machine goes on: the next process builds on names and bytes that are seen
// and may not be on the disk, and must not acknowledge what a power failure
// after that takes away.
func TestKilledAtEveryOperation(t *testing.T) {
	for _, happened := range []bool{false, true} {
		for at, more := 0, true; more; at++ {
			synctest.Test(t, func(t *testing.T) {
				w, disk := newWitness(), faultfs.New(uint64(at))
				more = false
				disk.Inject(func(op faultfs.Op) faultfs.Fault {
					if op.N != at {
						return faultfs.Fault{}
					}
					more = true
					return faultfs.Fault{Crash: true, Happened: happened, Short: 100}
				})
				if j, err := w.open(t, disk); err == nil {
					w.story(j, 0, 12)
					w.close(j)
				}
				disk = disk.Restart()
				j, err := w.open(t, disk)
				if err != nil {
					t.Fatalf("killed at operation %d: %v", at, err)
				}
				w.append(j, 1000)
				disk = disk.Reboot()
				w.close(j) // of the process that is gone
				w.finish(t, disk)
			})
		}
	}
}

// TestCrashSchedules lets journals live several lives, each with its own
// misfortune, on disks that lose what was not synced.
func TestCrashSchedules(t *testing.T) {
	n := *rounds
	if n == 0 {
		n = 300
	}
	if testing.Short() {
		n = min(n, 100)
	}
	for i := range n {
		synctest.Test(t, func(t *testing.T) { schedule(t, uint64(i)) })
		if t.Failed() {
			t.Fatalf("round %d", i)
		}
	}
}

func schedule(t *testing.T, seed uint64) {
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	rng := rand.New(rand.NewPCG(seed, 1))
	w, disk := newWitness(), faultfs.New(seed)
	next := int64(1)
	for range 1 + rng.IntN(5) {
		disk.Inject(misfortune(rng, 120))
		j, err := w.open(t, disk)
		if err == nil {
			var wg sync.WaitGroup
			for range 1 + rng.IntN(3) {
				from, records := next, rng.IntN(16)
				next += int64(records)
				wg.Go(func() { w.story(j, from, records) })
			}
			wg.Wait()
			if rng.IntN(2) == 0 {
				disk.Inject(nil) // the disk has room again
			}
			w.close(j)
		}
		if disk.Crashed() || rng.IntN(2) == 0 {
			disk = disk.Reboot()
		} else {
			disk = disk.Restart()
		}
	}
	disk.Inject(nil)
	w.finish(t, disk)
}

// misfortune decides what goes wrong in one life: nothing, one operation, or
// everything from one operation on, which is among the first so many.
func misfortune(rng *rand.Rand, ops int) func(faultfs.Op) faultfs.Fault {
	at := rng.IntN(ops)
	var chosen faultfs.Fault
	switch rng.IntN(6) {
	case 0:
		return nil
	case 1, 2:
		chosen = faultfs.Fault{Crash: true, Happened: rng.IntN(2) == 0, Short: rng.IntN(2000)}
	default:
		chosen = faultfs.Fault{Err: []error{syscall.EIO, syscall.ENOSPC, syscall.EROFS}[rng.IntN(3)], Happened: rng.IntN(2) == 0, Short: rng.IntN(2000)}
	}
	lasting := rng.IntN(2) == 0
	kind := []faultfs.Kind{"", "", faultfs.Sync, faultfs.Write, faultfs.Rename, faultfs.SyncDir}[rng.IntN(6)]
	done := false
	return func(op faultfs.Op) faultfs.Fault {
		if op.N < at || kind != "" && op.Kind != kind || done && !lasting {
			return faultfs.Fault{}
		}
		done = true
		return chosen
	}
}
