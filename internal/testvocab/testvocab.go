// Package testvocab finds Kimi's vocabulary for tests: in the shared data when
// that is there, else in the Go module that carries it.
package testvocab

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

const (
	module = "github.com/daulet/tokenizers@v1.24.0"
	inside = "test/data/kimi-k2-instruct/tiktoken.model"
	digest = "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103"
)

var find = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", err
	}
	path := filepath.Join(m.Dir, inside)
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != digest {
		return "", fmt.Errorf("%s: sha256 %x, want %s", path, sum, digest)
	}
	return path, nil
})

// Path returns the path of tiktoken.model, whose digest has been checked. A
// test that cannot have it is skipped, unless CI is set: there it fails.
func Path(t testing.TB) string {
	t.Helper()
	p, err := find()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the vocabulary is needed: %v", err)
		}
		t.Skipf("no vocabulary: %v", err)
	}
	return p
}

// Folder returns a model folder that holds just the vocabulary.
func Folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	b, err := os.ReadFile(Path(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tiktoken.model"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
