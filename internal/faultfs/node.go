package faultfs

import (
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"time"
)

// sector is what a disk writes whole or not at all.
const sector = 512

// inode is a file, as programs see it and as the disk holds it.
type inode struct {
	data  []byte
	disk  []byte
	dirty []edit // made since the last sync, in order
}

// edit is a write, or a truncation where data is nil.
type edit struct {
	at   int64
	data []byte
}

func (e edit) apply(b []byte) []byte {
	if e.data == nil {
		if e.at <= int64(len(b)) {
			return b[:e.at]
		}
		return append(b, make([]byte, e.at-int64(len(b)))...)
	}
	if end := e.at + int64(len(e.data)); end > int64(len(b)) {
		b = append(b, make([]byte, end-int64(len(b)))...)
	}
	copy(b[e.at:], e.data)
	return b
}

func (n *inode) edit(e edit) {
	n.data = e.apply(n.data)
	n.dirty = append(n.dirty, e)
}

// sync writes everything to the disk.
func (n *inode) sync() {
	for _, e := range n.dirty {
		n.disk = e.apply(n.disk)
	}
	n.dirty = nil
}

// lose writes some of what is dirty to the disk and forgets the rest.
func (n *inode) lose(rng *rand.Rand) {
	for _, e := range n.dirty {
		n.disk = e.some(rng, n.disk)
	}
	n.dirty = nil
}

// some applies an edit whole, in part, or not at all.
func (e edit) some(rng *rand.Rand, b []byte) []byte {
	switch rng.IntN(3) {
	case 0:
		return b
	case 1:
		return e.apply(b)
	}
	if e.data == nil {
		return b
	}
	for from := 0; from < len(e.data); {
		// Sectors are those of the file.
		to := min(len(e.data), int((e.at+int64(from))/sector+1)*sector-int(e.at))
		if rng.IntN(2) == 0 {
			b = edit{e.at + int64(from), e.data[from:to]}.apply(b)
		}
		from = to
	}
	return b
}

// dir is a directory, as programs see it and as the disk holds it.
type dir struct {
	names map[string]*inode
	disk  map[string]*inode
	dirty [][]binding // changes since the last sync, in order
}

// binding gives a name a file, or takes it away.
type binding struct {
	name string
	node *inode
}

func newDir() *dir { return &dir{names: map[string]*inode{}, disk: map[string]*inode{}} }

func (d *dir) change(bs ...binding) {
	bind(d.names, bs)
	d.dirty = append(d.dirty, bs)
}

func bind(names map[string]*inode, bs []binding) {
	for _, b := range bs {
		if b.node == nil {
			delete(names, b.name)
		} else {
			names[b.name] = b.node
		}
	}
}

func (d *dir) sync() {
	for _, bs := range d.dirty {
		bind(d.disk, bs)
	}
	d.dirty = nil
}

// afterCrash returns what the disk holds of the directory and its files.
func (d *dir) afterCrash(rng *rand.Rand) *dir {
	names := maps.Clone(d.disk)
	for _, bs := range d.dirty[:rng.IntN(len(d.dirty)+1)] {
		bind(names, bs)
	}
	next := newDir()
	copies := map[*inode]*inode{} // one file may have two names
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n := names[name]
		if copies[n] == nil {
			left := &inode{disk: slices.Clone(n.disk), dirty: n.dirty}
			left.lose(rng)
			left.data = slices.Clone(left.disk)
			copies[n] = left
		}
		next.names[name], next.disk[name] = copies[n], copies[n]
	}
	return next
}

// handle is an open file.
type handle struct {
	fs     *FS
	name   string
	node   *inode
	closed bool
}

func (h *handle) error(op string, err error) error {
	return &fs.PathError{Op: op, Path: h.name, Err: err}
}

// usable returns why the handle cannot be used. Callers hold the FS's mu.
func (h *handle) usable(op string) error {
	if h.fs.dead {
		return h.error(op, ErrCrashed)
	}
	if h.closed {
		return h.error(op, fs.ErrClosed)
	}
	return nil
}

func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.usable("read"); err != nil {
		return 0, err
	}
	if off >= int64(len(h.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, h.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *handle) WriteAt(p []byte, off int64) (n int, err error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.usable("write"); err != nil {
		return 0, err
	}
	b := slices.Clone(p)
	if b == nil {
		b = []byte{}
	}
	err = h.fs.change(Write, h.name, len(p),
		func(Fault) { h.node.edit(edit{off, b}) },
		func(f Fault) {
			n = min(f.Short, len(b))
			h.node.edit(edit{off, b[:n:n]})
		})
	if err == nil {
		n = len(p)
	}
	return n, err
}

func (h *handle) Truncate(size int64) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.usable("truncate"); err != nil {
		return err
	}
	return h.truncate(size)
}

func (h *handle) truncate(size int64) error {
	return h.fs.change(Truncate, h.name, 0, func(Fault) { h.node.edit(edit{at: size}) }, nil)
}

func (h *handle) Sync() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.usable("sync"); err != nil {
		return err
	}
	return h.fs.change(Sync, h.name, 0,
		func(Fault) { h.node.sync() },
		func(f Fault) {
			if !f.Crash {
				h.node.lose(h.fs.rng)
			}
		})
}

func (h *handle) Close() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return h.error("close", fs.ErrClosed)
	}
	h.closed = true
	return nil
}

func (h *handle) Stat() (fs.FileInfo, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.usable("stat"); err != nil {
		return nil, err
	}
	return info{path.Base(h.name), int64(len(h.node.data))}, nil
}

// info is the little that is known of a file.
type info struct {
	name string
	size int64
}

func (i info) Name() string     { return i.name }
func (i info) Size() int64      { return i.size }
func (info) Mode() fs.FileMode  { return 0o644 }
func (info) ModTime() time.Time { return time.Time{} }
func (info) IsDir() bool        { return false }
func (info) Sys() any           { return nil }
