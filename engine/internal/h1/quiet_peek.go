//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package h1

import (
	"net"
	"syscall"
)

// quiet reports whether an idle connection is still there, and nothing has come
// on it that nobody asked for.
func quiet(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	var none error
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, none = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	return err == nil && (none == syscall.EAGAIN || none == syscall.EWOULDBLOCK)
}
