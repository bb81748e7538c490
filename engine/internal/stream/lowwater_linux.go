package stream

import (
	"net"
	"syscall"
)

// LowWater keeps the kernel from reporting a socket readable while text
// gathers: without it every token that arrives in a pause wakes the runtime's
// poller for nothing.
type LowWater struct{ raw syscall.RawConn }

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
	return &LowWater{raw}
}

// raise and lower change what counts as readable. A failure leaves things as
// they were, which only costs time.
func (l *LowWater) raise() { l.set(gatherBytes) }
func (l *LowWater) lower() { l.set(1) }

func (l *LowWater) set(n int) {
	if l != nil {
		l.raw.Control(func(fd uintptr) {
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, n)
		})
	}
}
