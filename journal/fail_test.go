package journal_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/faultfs"
	"github.com/eyrie-ai/eyrie/journal"
)

// failing returns a journal with answer 1 in it, on a disk that refuses writes
// of a kind from now on.
func failing(t *testing.T, kind faultfs.Kind, cause error) (*faultfs.FS, *journal.Journal) {
	t.Helper()
	disk := faultfs.New(1)
	j, _, err := journal.OpenIn(disk, journal.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(answer(1)); err != nil {
		t.Fatal(err)
	}
	disk.Inject(func(op faultfs.Op) faultfs.Fault {
		if op.Kind == kind {
			return faultfs.Fault{Err: cause, Short: 40}
		}
		return faultfs.Fault{}
	})
	return disk, j
}

func TestAfterAFailureNothingIsAcknowledged(t *testing.T) {
	for _, tt := range []struct {
		cause error
		hint  string
	}{
		{syscall.ENOSPC, "free some space and run again"},
		{syscall.EDQUOT, "free some space and run again"},
		{syscall.EROFS, "read-only"},
		{syscall.EIO, "copy the run folder to another one"},
	} {
		for _, kind := range []faultfs.Kind{faultfs.Write, faultfs.Sync} {
			t.Run(string(kind)+" "+tt.cause.Error(), func(t *testing.T) {
				disk, j := failing(t, kind, tt.cause)
				_, err := j.Append(answer(2))
				if !errors.Is(err, tt.cause) || !strings.Contains(err.Error(), tt.hint) || !strings.Contains(err.Error(), "segment 000001") {
					t.Errorf("the first one after it: %v; want %v, where, and %q", err, tt.cause, tt.hint)
				}
				select {
				case <-j.Failed():
				default:
					t.Error("Failed is not closed")
				}
				disk.Inject(nil)
				if _, again := j.Append(answer(3)); again == nil || again.Error() != err.Error() {
					t.Errorf("although the disk works again: %v, want the first failure", again)
				}
				if err := j.Note(answer(4)); err == nil {
					t.Error("a note was taken as if nothing were wrong")
				}
				if _, err := j.Append(); err == nil {
					t.Error("Append of nothing does not say that the journal failed")
				}
				if err := j.Close(); err != nil {
					t.Fatalf("the disk works again, and Close says %v", err)
				}
				got := whole(t, disk.Reboot())
				for n := range int64(4) {
					if _, ok := got[n+1]; !ok {
						t.Errorf("record %d was handed in before Close and is lost", n+1)
					}
				}
			})
		}
	}
}

func TestWhatCannotBeKeptIsCounted(t *testing.T) {
	disk, j := failing(t, faultfs.Write, syscall.ENOSPC)
	j.Append(answer(2))
	j.Append(answer(3))
	j.Append(&eyrie.StartedRecord{Attempt: 4}) // nobody sends this request
	for range 2 {
		err := j.Close()
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "2 records") || !strings.Contains(err.Error(), "free some space") {
			t.Errorf("Close says %v", err)
		}
	}
	disk.Inject(nil)
	if got := whole(t, disk.Reboot()); len(got) != 1 {
		t.Errorf("%d records, want the acknowledged one", len(got))
	}
}

// TestAPromiseIsNotWrittenLater: whoever is told that a start could not be
// written sends no request, so nothing must be held for it.
func TestAPromiseIsNotWrittenLater(t *testing.T) {
	for _, happened := range []bool{false, true} {
		disk := faultfs.New(1)
		j, _, err := journal.OpenIn(disk, journal.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		disk.Inject(func(op faultfs.Op) faultfs.Fault {
			if op.Kind == faultfs.Sync {
				return faultfs.Fault{Err: syscall.EIO, Happened: happened}
			}
			return faultfs.Fault{}
		})
		if _, err := j.Append(&eyrie.StartedRecord{Attempt: 1}); err == nil {
			t.Fatal("acknowledged")
		}
		disk.Inject(nil)
		j.Append(&eyrie.StartedRecord{Attempt: 2})
		j.Append(&eyrie.StartedRecord{Attempt: 3}, answer(3))
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		var attempts []int64
		for e, err := range journal.OutlineIn(disk.Restart()) {
			if err != nil {
				t.Fatal(err)
			}
			if s, ok := e.Record.(*eyrie.StartedRecord); ok {
				attempts = append(attempts, s.Attempt)
			}
		}
		if len(attempts) != 1 || attempts[0] != 3 {
			t.Errorf("happened %v: the starts of %v are in the journal, want that of 3", happened, attempts)
		}
	}
}

func TestAppendOfNothing(t *testing.T) {
	disk := faultfs.New(1)
	j, _, err := journal.OpenIn(disk, journal.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if ref, err := j.Append(); err != nil || ref != (journal.Ref{}) {
		t.Errorf("%v, %v", ref, err)
	}
}

// TestSealingThatFailsLosesNothing: the segment stays as it was.
func TestSealingThatFailsLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, disk := newWitness(), faultfs.New(1)
		j, err := w.open(t, disk)
		if err != nil {
			t.Fatal(err)
		}
		disk.Inject(func(op faultfs.Op) faultfs.Fault {
			if strings.Contains(op.Name, ".zst") || strings.Contains(op.Name, ".idx") {
				return faultfs.Fault{Err: syscall.ENOSPC}
			}
			return faultfs.Fault{}
		})
		w.story(j, 0, 40)
		synctest.Wait() // for the sealer
		if err := w.close(j); err != nil {
			t.Errorf("everything is durable, and Close says %v", err)
		}
		if err := j.Unsealed(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "sealing segment 000001") || !strings.Contains(err.Error(), "nothing is lost") {
			t.Errorf("Unsealed says %v", err)
		}
		disk.Inject(nil)
		w.finish(t, disk.Reboot())
	})
}
