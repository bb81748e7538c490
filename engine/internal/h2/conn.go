package h2

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// streamWindow bounds what a server may send on a stream before it was
	// read. Half of it is ten times what a fast answer brings while text
	// gathers, and most answers are shorter and need no update.
	streamWindow = 256 << 10
	// connWindow bounds nothing that streamWindow does not; it is large, so
	// that updates are rare.
	connWindow = 32 << 20
	// maxHeaders bounds the headers of one response.
	maxHeaders = 256 << 10
	// writeWait is how long the kernel may refuse to take what is written.
	writeWait = 30 * time.Second
)

// A connection looks every tick whether anything has come. After pingTicks of
// silence it asks for a sign of life, and after one more it is dead: its
// streams fail at once, and no further request is sent into it. One that no
// stream was on for idleTicks is closed.
const (
	tick      = 15 * time.Second
	pingTicks = 2
	idleTicks = 6
)

// errUnseen is in the error of a stream that the server says it has not looked
// at: the request can be sent again without being done twice.
var errUnseen = errors.New("the server did not take the request")

// conn is one connection.
type conn struct {
	t   *Transport
	net net.Conn

	// Guarded by the transport's lock.
	taken   int // streams on it or about to be
	limit   int // how many it carries at once
	leaving bool

	heard atomic.Int64 // frames that came
	clock *time.Timer

	mu      sync.Mutex
	streams map[uint32]*streamState
	next    uint32 // id of the next stream
	err     error  // why it is over
	goodbye error  // why it takes no new streams
	// What may be sent.
	window    int64         // on the connection
	newWindow int64         // on a new stream
	maxFrame  int           // in one frame
	opened    chan struct{} // closed when a window opens, if anyone waits for that
	settled   chan struct{} // closed, and nil, when the server's settings are there

	out    sync.Mutex // held while frames are written; taken before mu
	buf    bytes.Buffer
	frames *http2.Framer // writes into buf
	enc    *hpack.Encoder
	head   bytes.Buffer // enc writes into it
	credit int          // bytes that came and were not yet allowed again; of the reading goroutine
}

// greet begins to speak HTTP/2 on a connection.
func (t *Transport) greet(nc net.Conn) (*conn, error) {
	c := &conn{
		t: t, net: nc, limit: perConnection,
		streams: map[uint32]*streamState{}, next: 1,
		window: 65535, newWindow: 65535, maxFrame: 16 << 10,
		settled: make(chan struct{}),
	}
	c.frames = http2.NewFramer(&c.buf, nil)
	c.enc = hpack.NewEncoder(&c.head)
	err := c.write(func() error {
		c.buf.WriteString(http2.ClientPreface)
		c.frames.WriteSettings(
			http2.Setting{ID: http2.SettingEnablePush, Val: 0},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
			http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHeaders},
		)
		return c.frames.WriteWindowUpdate(0, connWindow-65535)
	})
	if err != nil {
		nc.Close()
		return nil, err
	}
	settled := c.settled
	go c.run()
	late := time.NewTimer(t.Connect)
	defer late.Stop()
	select {
	case <-settled:
	case <-late.C:
		c.die(fmt.Errorf("no HTTP/2 settings within %v", t.Connect))
	}
	if err := c.failure(); err != nil {
		return nil, err
	}
	return c, nil
}

// hasRoom is called with the transport's lock held.
func (c *conn) hasRoom() bool { return !c.leaving && c.taken < c.limit }

// failure is why the connection is over, nil while it is not.
func (c *conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// die ends the connection and all that is on it.
func (c *conn) die(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	lost := c.streams
	c.streams = map[uint32]*streamState{}
	if c.settled != nil {
		close(c.settled)
		c.settled = nil
	}
	if c.clock != nil {
		c.clock.Stop()
	}
	c.opening()
	c.mu.Unlock()
	c.net.Close()
	for _, s := range lost {
		s.end(err)
	}
	c.t.leave(c, err)
	for range lost {
		c.t.release(c)
	}
}

// run reads the connection to its end.
func (c *conn) run() {
	c.mu.Lock()
	if c.err == nil {
		c.clock = time.AfterFunc(tick, c.look(0, 0, 0))
	}
	c.mu.Unlock()
	err := c.read()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	c.die(err)
}

// look returns what the clock does next: heard is how many frames had come at
// the last tick, silent and idle are the ticks without one and without a
// stream.
func (c *conn) look(heard int64, silent, idle int) func() {
	return func() {
		now := c.heard.Load()
		silent, idle := silent+1, idle+1
		if now != heard {
			silent = 0
		}
		if !c.t.idle(c) {
			idle = 0
		}
		switch {
		case idle >= idleTicks:
			c.t.leave(c, net.ErrClosed) // which closes it, if still nothing is on it
		case idle > 0:
			silent = 0
		case silent > pingTicks:
			c.die(errors.New("the connection is dead: nothing came, not even the answer to a ping"))
		case silent == pingTicks:
			c.write(func() error { return c.frames.WritePing(false, [8]byte{'e', 'y', 'r', 'i', 'e'}) })
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.clock = time.AfterFunc(tick, c.look(now, silent, idle))
		}
	}
}

// read takes frames until something is wrong with the connection.
func (c *conn) read() error {
	in := http2.NewFramer(nil, bufio.NewReaderSize(c.net, 16<<10))
	in.SetReuseFrames()
	in.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	in.MaxHeaderListSize = maxHeaders
	in.SetMaxReadFrameSize(16 << 10) // no larger ones were asked for
	for first := true; ; first = false {
		f, err := in.ReadFrame()
		if bad, ok := errors.AsType[http2.StreamError](err); ok {
			c.reset(bad.StreamID, bad.Code, err)
			continue
		}
		if err != nil {
			return err
		}
		c.heard.Add(1)
		if _, ok := f.(*http2.SettingsFrame); first && !ok {
			return http2.ConnectionError(http2.ErrCodeProtocol)
		}
		if err := c.take(f); err != nil {
			return err
		}
	}
}

// take does what a frame says.
func (c *conn) take(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.DataFrame:
		return c.data(f)
	case *http2.MetaHeadersFrame:
		return c.headers(f)
	case *http2.RSTStreamFrame:
		err := fmt.Errorf("the server reset the stream: %v", f.ErrCode)
		if f.ErrCode == http2.ErrCodeRefusedStream {
			err = fmt.Errorf("%w: %v", errUnseen, f.ErrCode)
		}
		if f.ErrCode == http2.ErrCodeNo {
			err = io.ErrUnexpectedEOF // it wants no more of the request; its answer is over
		}
		c.finish(f.StreamID, err)
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			data := f.Data
			return c.write(func() error { return c.frames.WritePing(true, data) })
		}
	case *http2.GoAwayFrame:
		c.goAway(f)
	case *http2.WindowUpdateFrame:
		return c.open(f)
	case *http2.PushPromiseFrame:
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return nil
}

// stream returns the stream of an id that is under way; nil for one that is
// over.
func (c *conn) stream(id uint32) (*streamState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id%2 == 0 || id >= c.next {
		return nil, http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return c.streams[id], nil
}

// remove takes a stream off the connection and returns it, if it was on it.
func (c *conn) remove(id uint32) *streamState {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[id]
	delete(c.streams, id)
	c.opening()
	return s
}

// finish ends a stream from the server's side.
func (c *conn) finish(id uint32, err error) {
	if s := c.remove(id); s != nil {
		s.end(err)
		c.t.release(c)
	}
}

// reset ends a stream from this side.
func (c *conn) reset(id uint32, code http2.ErrCode, err error) {
	if s := c.remove(id); s != nil {
		s.end(err)
		c.write(func() error { return c.frames.WriteRSTStream(id, code) })
		c.t.release(c)
	}
}

func (c *conn) data(f *http2.DataFrame) error {
	size := int(f.Length)
	if c.credit += size; c.credit >= connWindow/2 {
		n := c.credit
		c.credit = 0
		if err := c.write(func() error { return c.frames.WriteWindowUpdate(0, uint32(n)) }); err != nil {
			return err
		}
	}
	s, err := c.stream(f.StreamID)
	if s == nil {
		return err
	}
	switch over, code := s.receive(f.Data(), size), http2.ErrCodeFlowControl; {
	case over == nil:
	case errors.Is(over, errNoHead):
		code = http2.ErrCodeProtocol
		fallthrough
	default:
		c.reset(f.StreamID, code, over)
		return nil
	}
	if f.StreamEnded() {
		c.over(f.StreamID, s)
	}
	return nil
}

// over takes the end of a response.
func (c *conn) over(id uint32, s *streamState) {
	if s.uploading.Load() { // the server has said all, and may not hear the rest
		c.reset(id, http2.ErrCodeCancel, io.EOF)
		return
	}
	c.finish(id, io.EOF)
}

func (c *conn) headers(f *http2.MetaHeadersFrame) error {
	s, err := c.stream(f.StreamID)
	if s == nil {
		return err
	}
	if f.Truncated {
		c.reset(f.StreamID, http2.ErrCodeEnhanceYourCalm, fmt.Errorf("the response's headers are longer than %d bytes", maxHeaders))
		return nil
	}
	if err := s.headers(f); err != nil {
		c.reset(f.StreamID, http2.ErrCodeProtocol, err)
		return nil
	}
	if f.StreamEnded() {
		c.over(f.StreamID, s)
	}
	return nil
}

func (c *conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	streams, table := 0, int64(-1)
	c.mu.Lock()
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return err
		}
		switch s.ID {
		case http2.SettingMaxConcurrentStreams:
			streams = int(max(1, min(s.Val, perConnection)))
		case http2.SettingHeaderTableSize:
			table = int64(min(s.Val, 4096))
		case http2.SettingMaxFrameSize:
			c.maxFrame = int(min(s.Val, 64<<10))
		case http2.SettingInitialWindowSize:
			grown := int64(s.Val) - c.newWindow
			c.newWindow = int64(s.Val)
			for _, s := range c.streams {
				s.window += grown
			}
			c.opening()
		}
		return nil
	})
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if streams > 0 {
		c.t.allow(c, streams)
	}
	err = c.write(func() error {
		if table >= 0 {
			c.enc.SetMaxDynamicTableSize(uint32(table))
		}
		return c.frames.WriteSettingsAck()
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled != nil {
		close(c.settled)
		c.settled = nil
	}
	return err
}

// goAway lets what the server has looked at go on, and nothing else.
func (c *conn) goAway(f *http2.GoAwayFrame) {
	err := fmt.Errorf("%w: it is closing the connection (%v)", errUnseen, f.ErrCode)
	c.t.leave(c, err)
	c.mu.Lock()
	c.goodbye = err
	var unseen []uint32
	for id := range c.streams {
		if id > f.LastStreamID {
			unseen = append(unseen, id)
		}
	}
	c.mu.Unlock()
	for _, id := range unseen {
		c.finish(id, err)
	}
}

// open opens a window for sending.
func (c *conn) open(f *http2.WindowUpdateFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	window := &c.window
	if f.StreamID != 0 {
		s := c.streams[f.StreamID]
		if s == nil {
			return nil
		}
		window = &s.window
	}
	if *window += int64(f.Increment); *window > 1<<31-1 {
		return http2.ConnectionError(http2.ErrCodeFlowControl)
	}
	c.opening()
	return nil
}

// opening wakes those who wait for a window. It is called with the lock held.
func (c *conn) opening() {
	if c.opened != nil {
		close(c.opened)
		c.opened = nil
	}
}

// write sends the frames that build makes. A connection that does not take them
// is over.
func (c *conn) write(build func() error) error {
	c.out.Lock()
	defer c.out.Unlock()
	c.buf.Reset()
	if err := build(); err != nil {
		return err
	}
	return c.flush()
}

// flush is called with out held.
func (c *conn) flush() error {
	c.net.SetWriteDeadline(time.Now().Add(writeWait))
	_, err := c.net.Write(c.buf.Bytes())
	if c.buf.Cap() > 64<<10 {
		c.buf = bytes.Buffer{}
	}
	if err != nil {
		go c.die(fmt.Errorf("writing: %w", err)) // the caller may be what die waits for
	}
	return err
}

var _ http.RoundTripper = (*Transport)(nil)
