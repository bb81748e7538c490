package faultfs_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/eyrie-ai/eyrie/internal/durable"
	"github.com/eyrie-ai/eyrie/internal/faultfs"
)

const size = 4096

// letter is a file's content that is easily told.
func letter(c byte) []byte { return []byte(strings.Repeat(string(c), size)) }

func create(t *testing.T, f *faultfs.FS, name string) durable.File {
	t.Helper()
	h, err := f.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// write gives b to WriteFileIn.
func write(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// content reads a file, or "absent".
func content(t *testing.T, f *faultfs.FS, name string) string {
	t.Helper()
	h, err := f.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "absent"
	}
	if err != nil {
		t.Fatal(err)
	}
	info, err := h.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size())
	if len(b) > 0 {
		if _, err := h.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	return string(b)
}

// TestReboot tells the same story on many disks and looks at what is left.
func TestReboot(t *testing.T) {
	const rounds = 300
	left := map[string]map[string]int{}
	count := func(what, s string) {
		kind := "torn"
		switch s {
		case "absent", "":
			kind = s
		case string(letter('a')), string(letter('b')):
			kind = s[:1]
		}
		if left[what] == nil {
			left[what] = map[string]int{}
		}
		left[what][kind]++
	}
	for seed := range uint64(rounds) {
		f := faultfs.New(seed)
		// Synced, and its name too.
		h := create(t, f, "synced")
		h.WriteAt(letter('a'), 0)
		h.Sync()
		f.SyncDir(".")
		// Written over, and not synced again.
		h = create(t, f, "over")
		h.WriteAt(letter('a'), 0)
		h.Sync()
		f.SyncDir(".")
		h.WriteAt(letter('b'), 0)
		// Renamed, and the directory not synced.
		h = create(t, f, "from")
		h.WriteAt(letter('b'), 0)
		h.Sync()
		f.SyncDir(".")
		f.Rename("from", "to")
		// Synced, and its name not.
		h = create(t, f, "nameless")
		h.WriteAt(letter('a'), 0)
		h.Sync()

		if got := content(t, f, "over"); got != string(letter('b')) {
			t.Fatal("programs do not see what was written")
		}
		g := f.Reboot()
		if _, err := f.OpenFile("synced", os.O_RDONLY, 0); !errors.Is(err, faultfs.ErrCrashed) {
			t.Fatalf("the machine that stopped goes on: %v", err)
		}
		for _, name := range []string{"synced", "over", "nameless"} {
			count(name, content(t, g, name))
		}
		from, to := content(t, g, "from"), content(t, g, "to")
		if (from == "absent") == (to == "absent") {
			t.Fatal("a rename is half done")
		}
		count("to", to)
	}
	if n := left["synced"]["a"]; n != rounds {
		t.Errorf("what was synced is left in %d of %d rounds", n, rounds)
	}
	for what, kinds := range map[string][]string{"over": {"a", "b", "torn"}, "nameless": {"a", "absent"}, "to": {"b", "absent"}} {
		for _, k := range kinds {
			if left[what][k] == 0 {
				t.Errorf("%s is never %s: %v", what, k, left[what])
			}
		}
	}
}

func TestARestartLosesNothing(t *testing.T) {
	f := faultfs.New(1)
	create(t, f, "f").WriteAt(letter('a'), 0)
	release, err := f.Lock("lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Lock("lock"); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	g := f.Restart()
	if content(t, g, "f") != string(letter('a')) {
		t.Error("what was written is gone")
	}
	if _, err := g.Lock("lock"); err != nil {
		t.Errorf("the lock outlives its process: %v", err)
	}
	release()
}

// TestAFailedSyncIsForgotten: the next one succeeds and the data is not there.
func TestAFailedSyncIsForgotten(t *testing.T) {
	lost := 0
	for seed := range uint64(50) {
		f := faultfs.New(seed)
		h := create(t, f, "f")
		f.SyncDir(".")
		h.WriteAt(letter('a'), 0)
		f.Inject(func(op faultfs.Op) faultfs.Fault {
			if op.Kind == faultfs.Sync {
				return faultfs.Fault{Err: syscall.EIO}
			}
			return faultfs.Fault{}
		})
		if err := h.Sync(); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
		f.Inject(nil)
		if err := h.Sync(); err != nil || content(t, f, "f") != string(letter('a')) {
			t.Fatalf("afterwards: %v", err)
		}
		if content(t, f.Reboot(), "f") != string(letter('a')) {
			lost++
		}
	}
	if lost == 0 {
		t.Error("nothing was ever lost")
	}
}

func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		fault faultfs.Fault
		want  string
	}{
		"it failed":                  {faultfs.Fault{Err: syscall.ENOSPC}, ""},
		"it failed in the middle":    {faultfs.Fault{Err: syscall.ENOSPC, Short: 3}, "aaa"},
		"it failed but had happened": {faultfs.Fault{Err: syscall.EIO, Happened: true}, string(letter('a'))},
	} {
		t.Run(name, func(t *testing.T) {
			f := faultfs.New(1)
			h := create(t, f, "f")
			f.Inject(func(op faultfs.Op) faultfs.Fault {
				if op.Kind != faultfs.Write || op.Name != "f" || op.Size != size {
					t.Errorf("unexpected operation %+v", op)
				}
				return tt.fault
			})
			if _, err := h.WriteAt(letter('a'), 0); !errors.Is(err, tt.fault.Err) {
				t.Errorf("the error is %v", err)
			}
			if got := content(t, f, "f"); got != tt.want {
				t.Errorf("the file holds %q", got)
			}
		})
	}
}

func TestWriteFileIsWholeOrNot(t *testing.T) {
	for at := range 6 {
		for _, happened := range []bool{false, true} {
			f := faultfs.New(uint64(at))
			if err := durable.WriteFileIn(f, "f", write(letter('a'))); err != nil {
				t.Fatal(err)
			}
			first := f.Ops()
			f.Inject(func(op faultfs.Op) faultfs.Fault {
				return faultfs.Fault{Crash: op.N == first+at, Happened: happened}
			})
			err := durable.WriteFileIn(f, "f", write(letter('b')))
			got := content(t, f.Reboot(), "f")
			if got != string(letter('a')) && got != string(letter('b')) || err == nil && got != string(letter('b')) {
				t.Errorf("crashed at %d: %v, and the file holds %.20q", at, err, got)
			}
		}
	}
}
