package stream

import (
	"net"
	"sync"
	"time"
)

// ConnGrid is the longest that a shared connection lets bytes gather. It is
// short, because the first text of an answer waits for it as well: the time to
// the first token is at most that much too long.
const ConnGrid = 50 * time.Millisecond

// connBuffer holds what gathers on a connection that carries a hundred streams.
const connBuffer = 64 << 10

// gatheringConn is a connection that many streams share. Every event of every
// stream would wake its reader: it lets some time pass between two reads, and
// takes all that has come at once. A read that filled the buffer is followed by
// the next without a pause, since more may be waiting.
type gatheringConn struct {
	net.Conn
	every  time.Duration
	water  *LowWater
	buf    []byte // read and not yet taken
	store  []byte
	full   bool
	begun  time.Time
	timer  *time.Timer
	closed chan struct{}
	once   sync.Once
}

// GatherConn makes a connection gather for the time of every between two reads,
// once it is older than a second: until then hands are being shaken.
func GatherConn(c net.Conn, every time.Duration) net.Conn {
	return &gatheringConn{Conn: c, every: every, water: NewLowWater(c), begun: time.Now(), closed: make(chan struct{})}
}

// Read is called by one reader at a time, as that of a connection always is.
func (g *gatheringConn) Read(p []byte) (int, error) {
	if len(g.buf) == 0 {
		if err := g.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, g.buf)
	g.buf = g.buf[n:]
	return n, nil
}

func (g *gatheringConn) fill() error {
	if g.store == nil {
		g.store = make([]byte, connBuffer)
	}
	if !g.full && time.Since(g.begun) > time.Second {
		if err := g.pause(); err != nil {
			return err
		}
	}
	n, err := g.Conn.Read(g.store)
	g.full = n == len(g.store)
	g.buf = g.store[:n]
	if n > 0 {
		return nil // an error comes again
	}
	return err
}

func (g *gatheringConn) pause() error {
	g.water.raise()
	defer g.water.lower()
	if g.timer == nil {
		g.timer = time.NewTimer(g.every)
	} else {
		g.timer.Reset(g.every)
	}
	select {
	case <-g.timer.C:
		return nil
	case <-g.closed:
		g.timer.Stop()
		return net.ErrClosed
	}
}

func (g *gatheringConn) Close() error {
	g.once.Do(func() { close(g.closed) })
	return g.Conn.Close()
}
