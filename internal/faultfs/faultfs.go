// Package faultfs is a file system in memory that fails the way disks do, for
// tests of what must survive that.
//
// It keeps apart what programs see and what the disk holds. A write is seen at
// once and lies on the disk when the file was synced; a name when its directory
// was. [FS.Reboot] gives the file system that a power failure leaves: of what
// was not synced, any part may be there, in pieces of a sector and in any order;
// of the names in a directory, the changes up to some moment. [FS.Restart]
// gives the one that a killed process leaves, which is everything it wrote.
//
// A sync that fails loses what it could not write and forgets it, as Linux
// does: programs go on seeing it, a later sync succeeds, and a power failure
// shows that it never was on the disk.
//
// Every change can be made to fail, see [Fault]: as if it had not happened, or
// although it has.
package faultfs

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"sync"

	"github.com/eyrie-ai/eyrie/internal/durable"
)

// ErrCrashed is what every operation returns after a crash.
var ErrCrashed = errors.New("the machine has stopped")

// Kind names what an operation does.
type Kind string

// The operations that change something.
const (
	Create   Kind = "create"
	Mkdir    Kind = "mkdir"
	Write    Kind = "write"
	Truncate Kind = "truncate"
	Sync     Kind = "sync"
	SyncDir  Kind = "syncdir"
	Rename   Kind = "rename"
	Remove   Kind = "remove"
)

// Op is an operation that is about to change something.
type Op struct {
	N    int // counts them, from 0
	Kind Kind
	Name string
	Size int // of a write
}

// Fault is what becomes of an operation. The zero Fault lets it succeed.
type Fault struct {
	// Err is what the caller is told.
	Err error
	// Happened is set where the operation is done all the same.
	Happened bool
	// Short is how much of a write is done that does not happen.
	Short int
	// Crash stops the machine before the operation, or after it if it Happened.
	Crash bool
}

// FS is the file system. Its methods are safe for concurrent use.
type FS struct {
	mu     sync.Mutex
	rng    *rand.Rand
	dirs   map[string]*dir
	locks  map[string]bool
	ops    int
	inject func(Op) Fault
	dead   bool
}

var _ durable.FS = (*FS)(nil)

// New returns an empty file system. The seed decides what crashes leave.
func New(seed uint64) *FS {
	return &FS{
		rng:  rand.New(rand.NewPCG(seed, seed)),
		dirs: map[string]*dir{".": newDir()}, locks: map[string]bool{},
	}
}

// Inject makes f decide about every operation from now on; nil lets all
// succeed. f must not use the file system.
func (f *FS) Inject(decide func(Op) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inject = decide
}

// Ops counts the operations that were to change something.
func (f *FS) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

// Crash stops the machine: from now on every operation fails.
func (f *FS) Crash() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

// Crashed reports whether the machine has stopped.
func (f *FS) Crashed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// Reboot stops the machine and returns what the disk holds afterwards.
func (f *FS) Reboot() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
	next := New(f.rng.Uint64())
	clear(next.dirs)
	for name, d := range f.dirs {
		next.dirs[name] = d.afterCrash(f.rng)
	}
	for name := range next.dirs {
		if name == "." {
			continue
		}
		if _, there := next.dirs["."].names[name]; !there {
			delete(next.dirs, name) // its own name was never synced
		}
	}
	return next
}

// Restart ends the process and returns the file system as it is: nothing is
// lost that was written, and nothing became more durable.
func (f *FS) Restart() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
	next := New(f.rng.Uint64())
	next.dirs = f.dirs
	return next
}

// change asks what becomes of an operation and does it accordingly. Callers
// hold mu.
func (f *FS) change(kind Kind, name string, size int, do, failed func(Fault)) error {
	if f.dead {
		return &fs.PathError{Op: string(kind), Path: name, Err: ErrCrashed}
	}
	var fault Fault
	if f.inject != nil {
		fault = f.inject(Op{f.ops, kind, name, size})
	}
	f.ops++
	if fault.Err == nil && !fault.Crash || fault.Happened {
		do(fault)
	} else if failed != nil {
		failed(fault)
	}
	if fault.Crash {
		f.dead = true
		return &fs.PathError{Op: string(kind), Path: name, Err: ErrCrashed}
	}
	if fault.Err != nil {
		return &fs.PathError{Op: string(kind), Path: name, Err: fault.Err}
	}
	return nil
}

// Name says that this is no disk.
func (f *FS) Name() string { return "memory" }

// OpenFile opens or makes a file.
func (f *FS) OpenFile(name string, flag int, _ fs.FileMode) (durable.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrCrashed}
	}
	d, base := f.dirs[path.Dir(name)], path.Base(name)
	if d == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	node, there := d.names[base]
	if !there {
		if flag&os.O_CREATE == 0 {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		node = new(inode)
		if err := f.change(Create, name, 0, func(Fault) { d.change(binding{base, node}) }, nil); err != nil {
			return nil, err
		}
	}
	h := &handle{fs: f, name: name, node: node}
	if there && flag&os.O_TRUNC != 0 && len(node.data) > 0 {
		if err := h.truncate(0); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Mkdir makes a directory in the topmost one.
func (f *FS) Mkdir(name string, _ fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dirs[name] != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	return f.change(Mkdir, name, 0, func(Fault) {
		f.dirs[name] = newDir()
		f.dirs["."].change(binding{name, new(inode)})
	}, nil)
}

// Rename gives a file another name in the same directory.
func (f *FS) Rename(from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.entry("rename", from)
	if err != nil {
		return err
	}
	return f.change(Rename, to, 0, func(Fault) {
		d.change(binding{path.Base(to), d.names[path.Base(from)]}, binding{path.Base(from), nil})
	}, nil)
}

// Remove takes a file away; who has it open can go on reading it.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.entry("remove", name)
	if err != nil {
		return err
	}
	return f.change(Remove, name, 0, func(Fault) { d.change(binding{path.Base(name), nil}) }, nil)
}

// entry finds the directory that holds a name.
func (f *FS) entry(op, name string) (*dir, error) {
	if f.dead {
		return nil, &fs.PathError{Op: op, Path: name, Err: ErrCrashed}
	}
	if d := f.dirs[path.Dir(name)]; d != nil && d.names[path.Base(name)] != nil {
		return d, nil
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// ReadDir lists a directory.
func (f *FS) ReadDir(name string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: ErrCrashed}
	}
	d := f.dirs[name]
	if d == nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Sorted(maps.Keys(d.names)), nil
}

// SyncDir makes the names in a directory durable.
func (f *FS) SyncDir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.dirs[name]
	if d == nil && !f.dead {
		return &fs.PathError{Op: "syncdir", Path: name, Err: fs.ErrNotExist}
	}
	return f.change(SyncDir, name, 0, func(Fault) { d.sync() }, nil)
}

// Lock takes a lock, which ends with the FS.
func (f *FS) Lock(name string) (func() error, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locks[name] {
		return nil, durable.ErrLocked
	}
	f.locks[name] = true
	return func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.locks, name)
		return nil
	}, nil
}
