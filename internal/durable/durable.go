// Package durable makes small files appear whole: a reader sees the old
// content or the new one, never a part, also after the power failed.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// WriteFile replaces the file name under root by what write produces: it is
// written aside, synced, renamed into place, and the directory is synced. When
// write fails, or the disk does, the old file is still there untouched.
func WriteFile(root *os.Root, name string, write func(io.Writer) error) error {
	return WriteFileIn(Root(root), name, write)
}

// WriteFileIn is [WriteFile] for any file system. After an error the new file
// may be there all the same, whole, where only its name could not be synced.
func WriteFileIn(fsys FS, name string, write func(io.Writer) error) (err error) {
	tmp := name + ".partial"
	f, err := fsys.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if err != nil && !renamed {
			f.Close()
			fsys.Remove(tmp)
		}
	}()
	if err := write(io.NewOffsetWriter(f, 0)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return err
	}
	renamed = true
	return fsys.SyncDir(path.Dir(name))
}

// WriteBytes is [WriteFile] for content at hand.
func WriteBytes(root *os.Root, name string, b []byte) error {
	return WriteFile(root, name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// MkdirAll makes a directory and those above it that are missing, durably: the
// name of each is on the disk when it returns. That of the last one is so also
// where it was there already, for whoever made it may have died before that.
func MkdirAll(name string) error {
	name = filepath.Clean(name)
	above := filepath.Dir(name)
	switch _, err := os.Stat(name); {
	case errors.Is(err, fs.ErrNotExist) && above != name:
		if err := MkdirAll(above); err != nil {
			return err
		}
		if err := os.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	case err != nil:
		return err
	}
	root, err := os.OpenRoot(above)
	if errors.Is(err, fs.ErrPermission) {
		return nil // it is not ours, and was not made now
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return SyncDir(root, ".")
}

// SyncDir makes the names in the directory dir under root durable.
func SyncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	// Some file systems cannot sync a directory and need not.
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// ErrLocked is returned by [Lock] when another process holds the lock.
var ErrLocked = errors.New("another process is using it")

// Lock takes the advisory lock file name under root for this process and
// returns what releases it. The lock goes with the process, however it ends.
func Lock(root *os.Root, name string) (release func() error, err error) {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 64))
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			if len(holder) > 0 {
				return nil, fmt.Errorf("%w (process %s)", ErrLocked, holder)
			}
			return nil, ErrLocked
		}
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	if err := f.Truncate(0); err == nil {
		fmt.Fprintf(f, "%d", os.Getpid())
	}
	return f.Close, nil
}
