// Package memnet is a network in memory, for tests: a server and its clients
// live in one bubble of deterministic time. As in a kernel, what one end writes
// waits at the other until it is read, and the writer goes on.
package memnet

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Network is a listener, and what dials it.
type Network struct {
	// Dials counts the connections that were asked for.
	Dials atomic.Int32

	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// New returns a network on which nobody listens yet.
func New() *Network { return &Network{conns: make(chan net.Conn), done: make(chan struct{})} }

// Accept waits for the next connection.
func (n *Network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

// Close refuses all connections from now on.
func (n *Network) Close() error {
	n.once.Do(func() { close(n.done) })
	return nil
}

// Addr is of no use but to satisfy [net.Listener].
func (n *Network) Addr() net.Addr { return addr{} }

// Dial connects, whatever the address. It waits for someone who accepts.
func (n *Network) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.Dials.Add(1)
	here, there := Pipe()
	select {
	case n.conns <- there:
		return here, nil
	case <-n.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Pipe returns the two ends of a connection.
func Pipe() (net.Conn, net.Conn) {
	a, b := newHalf(), newHalf()
	return &conn{in: a, out: b}, &conn{in: b, out: a}
}

type conn struct{ in, out *half }

func (c *conn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.out.write(p) }

// Close lets the other end read what was written, and then the end.
func (c *conn) Close() error {
	c.in.close(net.ErrClosed, io.ErrClosedPipe)
	c.out.close(io.EOF, net.ErrClosed)
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.expire(t)
	return nil
}

// SetWriteDeadline does nothing: no write waits.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

func (c *conn) LocalAddr() net.Addr  { return addr{} }
func (c *conn) RemoteAddr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return "memory:1" }

// half is one direction.
type half struct {
	mu       sync.Mutex
	more     sync.Cond
	buf      []byte
	readErr  error // after buf
	writeErr error
	late     bool
	clock    *time.Timer
	deadline int // counts them
}

func newHalf() *half {
	h := new(half)
	h.more.L = &h.mu
	return h
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.buf) == 0 && h.readErr == nil && !h.late && len(p) > 0 {
		h.more.Wait()
	}
	switch {
	case h.readErr == net.ErrClosed: // closed at this end
		return 0, h.readErr
	case h.late:
		return 0, os.ErrDeadlineExceeded
	case len(h.buf) == 0 && len(p) > 0:
		return 0, h.readErr
	}
	n := copy(p, h.buf)
	h.buf = h.buf[n:]
	return n, nil
}

func (h *half) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.writeErr != nil {
		return 0, h.writeErr
	}
	h.buf = append(h.buf, p...)
	h.more.Broadcast()
	return len(p), nil
}

func (h *half) close(read, write error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readErr == nil || read == net.ErrClosed {
		h.readErr = read
	}
	if h.writeErr == nil {
		h.writeErr = write
	}
	if h.clock != nil {
		h.clock.Stop()
	}
	h.more.Broadcast()
}

func (h *half) expire(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clock != nil {
		h.clock.Stop()
	}
	h.late = false
	h.deadline++
	if t.IsZero() || h.readErr != nil {
		return
	}
	wait := time.Until(t)
	if wait <= 0 {
		h.late = true
		h.more.Broadcast()
		return
	}
	mine := h.deadline
	h.clock = time.AfterFunc(wait, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.deadline == mine { // it may have been moved meanwhile
			h.late = true
			h.more.Broadcast()
		}
	})
}
