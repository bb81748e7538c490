//go:build !linux

package openrouter

import "net"

// lowWater does nothing here: what gathers wakes the poller.
type lowWater struct{}

func newLowWater(net.Conn) *lowWater { return nil }

func (*lowWater) raise() {}
func (*lowWater) lower() {}
