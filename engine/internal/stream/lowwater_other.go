//go:build !linux

package stream

import (
	"errors"
	"net"
)

// LowWater does nothing here: what gathers wakes the poller.
type LowWater struct{}

// NewLowWater returns nil.
func NewLowWater(net.Conn) *LowWater { return nil }

// Read is for connections that have a LowWater.
func (*LowWater) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// Rest leaves the connection as it was.
func (*LowWater) Rest() {}

func (*LowWater) raise() {}
func (*LowWater) lower() {}
