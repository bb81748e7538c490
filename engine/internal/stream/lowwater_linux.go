package stream

import (
	"io"
	"net"
	"syscall"
)

// LowWater keeps the kernel from reporting a socket readable while text
// gathers: without it every token that arrives in a pause wakes the runtime's
// poller for nothing.
type LowWater struct {
	raw    syscall.RawConn
	raised bool
	lazy   bool // it is lowered by Read, where that has to wait
	over   bool // the connection may be another's by now

	// Of a Read under way.
	try func(fd uintptr) bool
	p   []byte
	n   int
	err error
}

// gatherBytes is how much may gather before the socket counts as readable in a
// pause; more than any pause brings.
const gatherBytes = 32 << 10

// NewLowWater returns nil for connections that are no plain TCP sockets of this
// stream alone.
func NewLowWater(c net.Conn) *LowWater {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = t.NetConn()
	}
	s, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return &LowWater{raw: raw}
}

// Read reads from the connection, in place of its own Read. What has gathered
// it takes without lowering what counts as readable; only where nothing has,
// and so it has to wait, it does.
func (l *LowWater) Read(p []byte) (int, error) {
	if l.try == nil {
		l.try, l.lazy = l.read, true
	}
	l.p = p
	err := l.raw.Read(l.try)
	l.p = nil
	if err != nil {
		return 0, err
	}
	if l.err != nil {
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: l.err}
	}
	if l.n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return l.n, nil
}

// read tries to read, and reports whether it is not worth waiting to try again.
func (l *LowWater) read(fd uintptr) bool {
	for {
		l.n, l.err = syscall.Read(int(fd), l.p)
		switch {
		case l.err == syscall.EINTR:
		case l.err != syscall.EAGAIN:
			l.n = max(l.n, 0)
			return true
		case !l.raised:
			return false
		default: // more may have come meanwhile, and nobody would say so
			l.setAt(fd, 1)
		}
	}
}

// Rest leaves the connection as it was, for good: whoever still holds l cannot
// change a connection that is used for something else.
func (l *LowWater) Rest() {
	if l == nil {
		return
	}
	if l.raised {
		l.set(1)
	}
	l.over = true
}

// raise and lower stand around a pause. A failure leaves things as they were,
// which only costs time.
func (l *LowWater) raise() {
	if l != nil && !l.raised && !l.over {
		l.set(gatherBytes)
	}
}

func (l *LowWater) lower() {
	if l != nil && !l.lazy && !l.over {
		l.set(1)
	}
}

func (l *LowWater) set(n int) {
	l.raw.Control(func(fd uintptr) { l.setAt(fd, n) })
}

func (l *LowWater) setAt(fd uintptr, n int) {
	syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n)
	l.raised = n > 1
}
