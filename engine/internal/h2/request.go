package h2

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// pieces holds buffers for parts of requests.
var pieces = sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}

// roundTrip sends a request on a place that was taken for it, and waits for the
// head of the response.
func (c *conn) roundTrip(req *http.Request) (*http.Response, error) {
	defer closeBody(req)
	s := newStream(c, req)
	if err := s.send(); err != nil {
		s.Close()
		return nil, err
	}
	return s.response()
}

// send sends the request, or as much of it as the server wants.
func (s *streamState) send() error {
	body := s.req.Body
	if body == nil {
		body = http.NoBody
	}
	piece := pieces.Get().(*[]byte)
	defer pieces.Put(piece)
	n, last, err := fill(body, *piece)
	if err != nil {
		s.c.t.release(s.c)
		return fmt.Errorf("the request's body: %w", err)
	}
	rest, err := s.begin((*piece)[:n], last)
	if err != nil {
		return err
	}
	for {
		if err := s.upload(rest, last); err != nil || last || !s.wanted() {
			return err
		}
		if n, last, err = fill(body, *piece); err != nil {
			return fmt.Errorf("the request's body: %w", err)
		}
		rest = (*piece)[:n]
	}
}

// fill reads a part of a body, and reports whether it was the last.
func fill(body io.Reader, p []byte) (n int, last bool, err error) {
	if body == http.NoBody {
		return 0, true, nil
	}
	n, err = io.ReadFull(body, p)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return n, true, nil
	}
	return n, false, err
}

// wanted reports whether the server wants the rest of the request: it may have
// refused it already.
func (s *streamState) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err == nil && (s.resp == nil || s.resp.StatusCode < 300)
}

// begin sends the headers and as much of the first part of the body as goes
// without waiting. It returns the rest. The place on the connection is given
// back if the stream does not begin.
func (s *streamState) begin(first []byte, last bool) (rest []byte, err error) {
	c := s.c
	c.out.Lock()
	defer c.out.Unlock()
	c.mu.Lock()
	switch {
	case c.err != nil:
		err = fmt.Errorf("%w: %w", errUnseen, c.err)
	case c.goodbye != nil:
		err = c.goodbye
	case c.next > 1<<30:
		err = fmt.Errorf("%w: the connection has no ids left", errUnseen)
	}
	if err != nil {
		c.mu.Unlock()
		c.t.leave(c, err)
		c.t.release(c)
		return nil, err
	}
	s.id = c.next
	c.next += 2
	s.window = c.newWindow
	s.uploading.Store(true)
	c.streams[s.id] = s
	n := c.spend(s, len(first))
	frame := c.maxFrame
	c.mu.Unlock()

	c.buf.Reset()
	ended := last && n == len(first)
	c.encode(s.req)
	head := c.head.Bytes()
	c.frames.WriteHeaders(http2.HeadersFrameParam{
		StreamID: s.id, BlockFragment: head[:min(len(head), frame)],
		EndHeaders: len(head) <= frame, EndStream: ended && n == 0,
	})
	for head = head[min(len(head), frame):]; len(head) > 0; head = head[min(len(head), frame):] {
		c.frames.WriteContinuation(s.id, len(head) <= frame, head[:min(len(head), frame)])
	}
	if n > 0 {
		c.frames.WriteData(s.id, ended, first[:n])
	}
	if ended {
		s.uploading.Store(false)
	}
	return first[n:], c.flush()
}

// spend takes as much of the windows as a frame of up to n bytes can have. It is
// called with the lock held.
func (c *conn) spend(s *streamState, n int) int {
	n = max(0, min(n, c.maxFrame, int(min(c.window, s.window, 1<<30))))
	c.window -= int64(n)
	s.window -= int64(n)
	return n
}

// upload sends a part of the body as the windows allow, to its end or until the
// server wants no more.
func (s *streamState) upload(p []byte, last bool) error {
	for len(p) > 0 || last && s.uploading.Load() {
		n, opened := s.c.share(s, len(p))
		if opened != nil {
			if err := s.await(opened); err != nil {
				return err
			}
			if !s.wanted() {
				return nil
			}
			continue
		}
		part, ended := p[:n], last && n == len(p)
		if ended {
			s.uploading.Store(false)
		}
		if err := s.c.write(func() error { return s.c.frames.WriteData(s.id, ended, part) }); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// share returns how much of n bytes may be sent now. Where nothing may be, it
// returns what is closed when there is news.
func (c *conn) share(s *streamState, n int) (int, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams[s.id] != s { // it is over
		news := make(chan struct{})
		close(news)
		return 0, news
	}
	if m := c.spend(s, n); m > 0 || n == 0 {
		return m, nil
	}
	if c.opened == nil {
		c.opened = make(chan struct{})
	}
	return 0, c.opened
}

// await waits for a window, a refusal or the end.
func (s *streamState) await(opened <-chan struct{}) error {
	ready := s.ready
	for {
		select {
		case <-opened:
			return nil
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		case <-ready:
			s.wake() // for who waits for the response
			if !s.wanted() {
				return nil
			}
			ready = nil
		}
	}
}

// encode writes the headers of a request. It is called with out held.
func (c *conn) encode(req *http.Request) {
	c.head.Reset()
	field := func(name, value string) { c.enc.WriteField(hpack.HeaderField{Name: name, Value: value}) }
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	field(":authority", host)
	field(":method", req.Method)
	field(":path", req.URL.RequestURI())
	field(":scheme", "https")
	for name, values := range req.Header {
		name = strings.ToLower(name)
		switch name {
		case "host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "content-length":
			continue
		}
		for _, v := range values {
			field(name, v)
		}
	}
	if req.ContentLength > 0 || req.Method == http.MethodPost && req.ContentLength == 0 {
		field("content-length", strconv.FormatInt(req.ContentLength, 10))
	}
}
