package export_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/export"
)

// exportIn names the folder in which this test binary, run once more, exports,
// and exportHow what happens to it there.
const (
	exportIn  = "EYRIE_TEST_EXPORT_IN"
	exportHow = "EYRIE_TEST_EXPORT_HOW"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(exportIn); dir != "" {
		if err := exportHere(dir, os.Getenv(exportHow)); err != nil {
			fmt.Println(err)
		}
		return
	}
	m.Run()
}

// exportHere exports in a process of its own: again and again until it is
// killed, or with a disk that takes no more than 64 kB a file.
func exportHere(dir, how string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	f, err := export.Lookup(os.Getenv(exportHow + "_FORMAT"))
	if err != nil {
		return err
	}
	if how == "full" {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 16, Max: 1 << 16}); err != nil {
			return err
		}
		_, err := export.Write(root, "code", "code", manyRows(3000), export.Options{Format: f})
		return err
	}
	fmt.Println("ready")
	for n := 60; ; n++ {
		if _, err := export.Write(root, "code", "code", manyRows(n), export.Options{Format: f, ShardRows: 20}); err != nil {
			return err
		}
	}
}

func manyRows(n int) iter.Seq2[*export.Row, error] {
	return func(yield func(*export.Row, error) bool) {
		for i := range n {
			if !yield(row(fmt.Sprintf("p-%d/t0/s0", i), eyrie.KnownEngine, 20, 60), nil) {
				return
			}
		}
	}
}

// again runs this test binary as exportHere.
func again(t *testing.T, dir, how, format string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), exportIn+"="+dir, exportHow+"="+how, exportHow+"_FORMAT="+format)
	return cmd
}

// TestKilledAtAnyMoment: whatever is there under the export's name is whole, and
// the next export goes on from it.
func TestKilledAtAnyMoment(t *testing.T) {
	rounds := 24
	if testing.Short() {
		rounds = 6
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range rounds {
		name := []string{"specforge", "parquet", "arrow"}[i%3]
		root, dir := openRoot(t)
		before, err := export.Write(root, "code", "code", manyRows(50), export.Options{Format: format(t, name)})
		if err != nil {
			t.Fatal(err)
		}
		cmd := again(t, dir, "kill", name)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("the process says %q, %v", line, err)
		}
		timer := time.NewTimer(time.Duration(rng.IntN(60_000)) * time.Microsecond)
		<-timer.C
		cmd.Process.Kill()
		cmd.Wait()
		// A reader that comes now finds nothing or a whole export.
		v, err := export.Verify(root, "code", manyRows(4000), export.Options{}, nil)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%s: after a kill: %v", name, err)
		}
		if err == nil && v.Rows < before.Rows {
			t.Errorf("%s: after a kill there are %d rows, and before there were %d", name, v.Rows, before.Rows)
		}
		// One of fewer rows is refused, also where the kill came between the names.
		if _, err := export.Write(root, "code", "code", manyRows(10), export.Options{Format: format(t, name)}); !errors.Is(err, export.ErrFewer) {
			t.Errorf("%s: after a kill, fewer rows: %v", name, err)
		}
		if ents, _ := os.ReadDir(dir); len(ents) != 1 {
			t.Errorf("%s: left behind: %v", name, ents)
		}
	}
}

// TestTheDiskIsFull: the export that was there stays, and nothing else.
func TestTheDiskIsFull(t *testing.T) {
	for _, name := range []string{"specforge", "arrow", "messages"} {
		root, dir := openRoot(t)
		if _, err := export.Write(root, "code", "code", manyRows(5), export.Options{Format: format(t, name)}); err != nil {
			t.Fatal(err)
		}
		before := folder(t, dir)
		cmd := again(t, dir, "full", name)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(out)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, said)
		}
		if !strings.Contains(string(said), "file too large") {
			t.Errorf("%s: it says %s", name, said)
		}
		if after := folder(t, dir); !maps.Equal(before, after) {
			t.Errorf("%s: the folder is %q, want %q", name, names(after), names(before))
		}
		if ents, _ := os.ReadDir(dir); len(ents) != 1 {
			t.Errorf("%s: left behind: %v", filepath.Base(dir), ents)
		}
	}
}
