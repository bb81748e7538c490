//go:build !linux

package stream

import "net"

// LowWater does nothing here: what gathers wakes the poller.
type LowWater struct{}

// NewLowWater returns nil.
func NewLowWater(net.Conn) *LowWater { return nil }

func (*LowWater) raise() {}
func (*LowWater) lower() {}
