package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// FS is what durable files need of a file system. [Root] gives the disk's;
// tests give one that fails. Names are slash-separated and stay below the FS.
type FS interface {
	// Name tells a person where the file system is.
	Name() string
	// OpenFile opens as os.OpenFile does.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Mkdir makes a directory; one that is there is fs.ErrExist.
	Mkdir(name string, perm fs.FileMode) error
	// Rename puts a file in the place of another, at once.
	Rename(from, to string) error
	// Remove takes a file away.
	Remove(name string) error
	// ReadDir lists the names in a directory.
	ReadDir(name string) ([]string, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// Lock takes the lock file name for this process; see [Lock].
	Lock(name string) (release func() error, err error)
}

// File is an open file of an [FS]. What was written is durable when Sync has
// returned without an error.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
}

// Root is the file system below root.
func Root(root *os.Root) FS { return disk{root} }

type disk struct{ root *os.Root }

func (d disk) Name() string { return d.root.Name() }

func (d disk) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := d.root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // and not a File that holds nil
	}
	return f, nil
}

func (d disk) Mkdir(name string, perm fs.FileMode) error { return d.root.Mkdir(name, perm) }
func (d disk) Rename(from, to string) error              { return d.root.Rename(from, to) }
func (d disk) Remove(name string) error                  { return d.root.Remove(name) }
func (d disk) SyncDir(name string) error                 { return SyncDir(d.root, name) }
func (d disk) Lock(name string) (func() error, error)    { return Lock(d.root, name) }

func (d disk) ReadDir(name string) ([]string, error) {
	dir, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// Hint says what a person can do about an error of the disk, or "".
func Hint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space and run again: it goes on where it was"
	case errors.Is(err, syscall.EROFS):
		return "the disk has become read-only, which is what systems do when it fails: look at the system's log, make it writable and run again"
	case errors.Is(err, syscall.EIO):
		return "the disk does not work: copy the run folder to another one and run again there"
	}
	return ""
}

// Explain adds the hint that an error of the disk has.
func Explain(err error) error {
	if h := Hint(err); h != "" {
		return fmt.Errorf("%w (%s)", err, h)
	}
	return err
}
