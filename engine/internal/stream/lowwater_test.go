package stream_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

// TestAConnectionThatIsAnothersIsLeftAlone lets one stream go on with the low
// water of a connection after it is over, while the next stream waits for its
// first byte on the same connection.
func TestAConnectionThatIsAnothersIsLeftAlone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	first := stream.NewLowWater(here)
	if first == nil {
		t.Skip("there is no low water here")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read := func(w *stream.LowWater) {
		t.Helper()
		if _, err := there.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Read(make([]byte, 9)); err != nil {
			t.Fatal(err)
		}
	}
	read(first)
	first.Rest()
	second := stream.NewLowWater(here)
	read(second)
	g := stream.NewGatherer(ctx, nil, time.Hour, first)
	g.Came(true)
	cancel()
	g.Wait(func() {}) // which raised the mark, once, and left it
	time.AfterFunc(50*time.Millisecond, func() { there.Write([]byte("y")) })
	here.SetReadDeadline(time.Now().Add(30 * time.Second))
	if n, err := second.Read(make([]byte, 9)); n != 1 || err != nil {
		t.Errorf("a byte for the second stream: %d, %v", n, err)
	}
}
