package durable_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/internal/durable"
)

func openRoot(t testing.TB) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	return rootOf(t, dir), dir
}

func rootOf(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	ents, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range ents {
		names = append(names, e.Name())
	}
	return names
}

func content(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWriteFile(t *testing.T) {
	root, dir := openRoot(t)
	for _, text := range []string{"first", "second, and longer", "3rd", ""} {
		if err := durable.WriteBytes(root, "f", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, dir, "f"); got != text {
			t.Errorf("the file holds %q, want %q", got, text)
		}
	}
	if got := list(t, dir); !slices.Equal(got, []string{"f"}) {
		t.Errorf("the folder holds %q", got)
	}
}

// TestAFileIsOldUntilItIsWhole looks at the file from inside the write.
func TestAFileIsOldUntilItIsWhole(t *testing.T) {
	root, dir := openRoot(t)
	if err := durable.WriteBytes(root, "f", []byte("old")); err != nil {
		t.Fatal(err)
	}
	err := durable.WriteFile(root, "f", func(w io.Writer) error {
		for range 3 {
			if _, err := io.WriteString(w, "new"); err != nil {
				return err
			}
			if got := content(t, dir, "f"); got != "old" {
				t.Errorf("while it is written, a reader sees %q", got)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, dir, "f"); got != "newnewnew" {
		t.Errorf("the file holds %q", got)
	}
}

func TestAFailedWriteLeavesTheOldFile(t *testing.T) {
	cause := errors.New("no more rows")
	for _, old := range []string{"", "old"} {
		t.Run("before: "+old, func(t *testing.T) {
			root, dir := openRoot(t)
			var want []string
			if old != "" {
				want = []string{"f"}
				if err := durable.WriteBytes(root, "f", []byte(old)); err != nil {
					t.Fatal(err)
				}
			}
			err := durable.WriteFile(root, "f", func(w io.Writer) error {
				io.WriteString(w, "half of ")
				return cause
			})
			if !errors.Is(err, cause) {
				t.Errorf("the error is %v, want %v", err, cause)
			}
			if got := list(t, dir); !slices.Equal(got, want) {
				t.Errorf("the folder holds %q, want %q", got, want)
			}
			if old != "" && content(t, dir, "f") != old {
				t.Errorf("the file holds %q", content(t, dir, "f"))
			}
		})
	}
}

func TestAFileThatCannotBePutInPlaceIsTakenAway(t *testing.T) {
	root, dir := openRoot(t)
	if err := os.MkdirAll(filepath.Join(dir, "f", "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteBytes(root, "f", []byte("x")); err == nil {
		t.Error("a file took the place of a folder")
	}
	if got := list(t, dir); !slices.Equal(got, []string{"f"}) {
		t.Errorf("the folder holds %q", got)
	}
}

func TestWhatAKilledWriteLeftIsReplaced(t *testing.T) {
	root, dir := openRoot(t)
	if err := os.WriteFile(filepath.Join(dir, "f.partial"), []byte("something longer, half written"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteBytes(root, "f", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir); !slices.Equal(got, []string{"f"}) || content(t, dir, "f") != "new" {
		t.Errorf("the folder holds %q", got)
	}
}

func TestWriteFileBelowTheRoot(t *testing.T) {
	root, dir := openRoot(t)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteBytes(root, "sub/f", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, dir, "sub", "f"); got != "x" {
		t.Errorf("the file holds %q", got)
	}
	for _, name := range []string{"../f", "nowhere/f"} {
		if err := durable.WriteBytes(root, name, []byte("x")); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}

func TestSyncDir(t *testing.T) {
	root, _ := openRoot(t)
	if err := durable.SyncDir(root, "."); err != nil {
		t.Error(err)
	}
	if err := durable.SyncDir(root, "nowhere"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the error is %v, want ErrNotExist", err)
	}
}

func TestLock(t *testing.T) {
	root, dir := openRoot(t)
	release, err := durable.Lock(root, "lock")
	if err != nil {
		t.Fatal(err)
	}
	// Also this process may not have it twice.
	_, err = durable.Lock(rootOf(t, dir), "lock")
	if !errors.Is(err, durable.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("the error is %v, want ErrLocked and who holds it", err)
	}
	if other, err := durable.Lock(root, "another"); err != nil {
		t.Errorf("another lock: %v", err)
	} else if err := other(); err != nil {
		t.Error(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	again, err := durable.Lock(root, "lock")
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	again()
	if _, err := durable.Lock(root, "nowhere/lock"); err == nil || errors.Is(err, durable.ErrLocked) {
		t.Errorf("where no file can be, the error is %v", err)
	}
}

// lockIn names the folder in which this test binary, run once more, takes the
// lock and waits.
const lockIn = "EYRIE_TEST_LOCK_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(lockIn); dir != "" {
		holdLock(dir)
		return
	}
	m.Run()
}

func holdLock(dir string) {
	root, err := os.OpenRoot(dir)
	if err == nil {
		_, err = durable.Lock(root, "lock")
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("locked")
	io.Copy(io.Discard, os.Stdin) // until it is killed
}

func TestALockGoesWithItsProcess(t *testing.T) {
	root, dir := openRoot(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), lockIn+"="+dir)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(stdout).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q", line)
	}
	_, err = durable.Lock(root, "lock")
	if !errors.Is(err, durable.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", cmd.Process.Pid)) {
		t.Errorf("while another process holds it, the error is %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	release, err := durable.Lock(root, "lock")
	if err != nil {
		t.Fatalf("after that process was killed: %v", err)
	}
	release()
}

func TestMkdirAll(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"a", "a", "a/b/../b/c/d", "a/b", "."} {
		if err := durable.MkdirAll(filepath.Join(base, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if info, err := os.Stat(filepath.Join(base, "a/b/c/d")); err != nil || !info.IsDir() {
		t.Errorf("a/b/c/d: %v, %v", info, err)
	}
	if err := os.WriteFile(filepath.Join(base, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := durable.MkdirAll(filepath.Join(base, "file/below")); err == nil {
		t.Error("a directory was made below a file")
	}
}
