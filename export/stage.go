package export

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie/internal/durable"
)

// The files that every export has beside its rows.
const (
	metaFile     = "meta.jsonl"
	refusedFile  = "refused.jsonl"
	freqFile     = "token_freq.json"
	cardFile     = "README.md"
	manifestFile = "manifest.json"
)

// stage is the folder that an export is written into. It stands beside the
// folder whose place it takes, under a hidden name: .SET.partial. While the one
// is renamed for the other, the one that was there is .SET.old.
type stage struct {
	root     *os.Root
	dir      string // where the export goes
	tmp, old string
	unlock   func() error
	open     []*file
}

// newStage makes an empty stage, and puts things in order where an export was
// killed.
func newStage(root *os.Root, dir string) (*stage, error) {
	parent, base := path.Split(path.Clean(dir))
	if err := root.MkdirAll(path.Clean(parent+"."), 0o755); err != nil {
		return nil, err
	}
	s := &stage{root: root, dir: path.Clean(dir), tmp: parent + "." + base + ".partial", old: parent + "." + base + ".old"}
	lock := parent + "." + base + ".lock"
	release, err := durable.Lock(root, lock)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.dir, err)
	}
	s.unlock = func() error {
		return errors.Join(root.Remove(lock), release())
	}
	if err := s.recover(); err != nil {
		s.unlock()
		return nil, err
	}
	if err := root.Mkdir(s.tmp, 0o755); err != nil {
		s.unlock()
		return nil, err
	}
	return s, nil
}

// recover undoes what a killed export left half done.
func (s *stage) recover() error {
	if _, err := s.root.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		if err := s.root.Rename(s.old, s.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(s.root.RemoveAll(s.old), s.root.RemoveAll(s.tmp))
}

// before reads the manifest of the export that is there; it is nil where there
// is none.
func (s *stage) before() (*Manifest, error) {
	b, err := fs.ReadFile(s.root.FS(), path.Join(s.dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	old, err := parseManifest(b)
	if err != nil {
		return nil, fmt.Errorf("%s of the export that is there: %w (move the folder away, or use --force)", manifestFile, err)
	}
	return old, nil
}

// foreign refuses a folder with something in it that no export wrote, which
// would be lost with the folder.
func (s *stage) foreign() error {
	ours := map[string]bool{manifestFile: true}
	if b, err := fs.ReadFile(s.root.FS(), path.Join(s.dir, manifestFile)); err == nil {
		if m, err := parseManifest(b); err == nil {
			for _, f := range m.Files {
				ours[f.Name] = true
			}
		}
	}
	err := fs.WalkDir(s.root.FS(), s.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel := strings.TrimPrefix(name, s.dir+"/")
		if ours[rel] || oldPartial(rel) {
			return nil
		}
		return fmt.Errorf("%s is not of the export that is there, and would be lost: move it away, or export elsewhere with --out", name)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// oldPartial tells of files that exports left behind when they were killed,
// before exports had a stage.
func oldPartial(name string) bool {
	return slices.Contains([]string{"train.jsonl.partial", "meta.jsonl.partial", "refused.jsonl.partial", "manifest.json.partial"}, name)
}

// file is a file of a stage being written.
type file struct {
	name string
	f    *os.File
	buf  *bufio.Writer
	sum  hash.Hash
	size int64
	line []byte
}

// create makes a file, and the folder it is in.
func (s *stage) create(name string) (*file, error) {
	full := path.Join(s.tmp, name)
	if err := s.root.MkdirAll(path.Dir(full), 0o755); err != nil {
		return nil, err
	}
	f, err := s.root.OpenFile(full, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	out := &file{name: name, f: f, sum: sha256.New(), buf: bufio.NewWriterSize(f, 1<<16)}
	s.open = append(s.open, out)
	return out, nil
}

func (f *file) Write(b []byte) (int, error) {
	f.size += int64(len(b))
	f.sum.Write(b)
	return f.buf.Write(b)
}

// close makes the file durable and tells what it holds.
func (f *file) close() (File, error) {
	err := f.buf.Flush()
	if err == nil {
		err = f.f.Sync()
	}
	err = errors.Join(err, f.f.Close())
	f.buf = nil
	return File{Name: f.name, Bytes: f.size, SHA256: hex.EncodeToString(f.sum.Sum(nil))}, err
}

// write makes a small file that no manifest lists.
func (s *stage) write(name string, content []byte) error {
	f, err := s.create(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	_, err = f.close()
	return err
}

func (s *stage) rename(from, to string) error {
	if err := s.root.MkdirAll(path.Dir(path.Join(s.tmp, to)), 0o755); err != nil {
		return err
	}
	return s.root.Rename(path.Join(s.tmp, from), path.Join(s.tmp, to))
}

// publish puts the stage in the place of the folder that was there.
func (s *stage) publish() error {
	if err := s.syncDirs(); err != nil {
		return err
	}
	err := s.root.Rename(s.dir, s.old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.root.Rename(s.tmp, s.dir); err != nil {
		return errors.Join(err, s.recover())
	}
	if err := durable.SyncDir(s.root, path.Dir(s.dir)); err != nil {
		return err
	}
	return errors.Join(s.root.RemoveAll(s.old), s.unlock())
}

// syncDirs makes the names in the stage durable.
func (s *stage) syncDirs() error {
	return fs.WalkDir(s.root.FS(), s.tmp, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return durable.SyncDir(s.root, name)
	})
}

// discard takes the stage away.
func (s *stage) discard() {
	for _, f := range s.open {
		f.f.Close() // a second Close does nothing
	}
	s.root.RemoveAll(s.tmp)
	s.unlock()
}
