package h2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2"
)

// Body is the body of a response. Its reader may let text gather: until it reads,
// nothing wakes it.
type Body interface {
	io.ReadCloser
	// Ready receives when the end has come, or so much that its reader should
	// not wait longer. It may receive for nothing.
	Ready() <-chan struct{}
}

// much is how much of a stream may wait before its reader should come.
const much = streamWindow / 4

var errNoHead = errors.New("the server sent a body before its headers")

// streamState is one request and its response.
type streamState struct {
	c   *conn
	id  uint32
	ctx context.Context
	req *http.Request

	uploading atomic.Bool // a part of the request is still to be sent
	window    int64       // what may be sent; guarded by the connection's lock

	ready chan struct{} // see Body.Ready; also while waiting

	mu      sync.Mutex
	waiting bool           // the reader sleeps until something comes
	resp    *http.Response // once the headers are there
	queue   queue          // came and was not read
	room    int            // what the server may still send
	taken   int            // read, and not yet allowed again
	left    int64          // of the length that the headers promise; -1 without one
	err     error          // after the queue; io.EOF at the end of a whole response
}

func newStream(c *conn, req *http.Request) *streamState {
	return &streamState{c: c, ctx: req.Context(), req: req, ready: make(chan struct{}, 1), room: streamWindow, left: -1}
}

func (s *streamState) Ready() <-chan struct{} { return s.ready }

// wake tells the reader to look.
func (s *streamState) wake() {
	select {
	case s.ready <- struct{}{}:
	default: // it was told already
	}
}

// headers takes the head of the response, or what may follow its body.
func (s *streamState) headers(f *http2.MetaHeadersFrame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resp != nil { // trailers, which say nothing here
		if !f.StreamEnded() {
			return errors.New("the server sent headers twice")
		}
		return nil
	}
	status := f.PseudoValue("status")
	code, err := strconv.Atoi(status)
	if err != nil || len(status) != 3 || code < 100 {
		return fmt.Errorf("the server sent the status %q", status)
	}
	if code < 200 { // more is to come
		if f.StreamEnded() {
			return fmt.Errorf("the server sent nothing after the status %q", status)
		}
		return nil
	}
	h := make(http.Header, len(f.RegularFields()))
	for _, field := range f.RegularFields() {
		h.Add(field.Name, field.Value)
	}
	s.resp = &http.Response{
		Status: status + " " + http.StatusText(code), StatusCode: code,
		Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: h, Body: s, ContentLength: -1, Request: s.req,
	}
	if n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		s.resp.ContentLength, s.left = n, n
	}
	s.wake()
	return nil
}

// receive takes a part of the body, which counts size bytes with its padding.
func (s *streamState) receive(data []byte, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resp == nil {
		return errNoHead
	}
	if s.room -= size; s.room < 0 {
		return errors.New("the server sent more than it was allowed to")
	}
	s.taken += size - len(data)
	s.queue.add(data)
	if s.left >= 0 {
		s.left -= int64(len(data))
	}
	if s.waiting && len(data) > 0 || s.queue.size >= much {
		s.waiting = false
		s.wake()
	}
	return nil
}

// end says that nothing more comes.
func (s *streamState) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if err == io.EOF && (s.resp == nil || s.left > 0) {
		err = io.ErrUnexpectedEOF
	}
	s.err, s.waiting = err, false
	s.wake()
}

// response waits for the head of the response.
func (s *streamState) response() (*http.Response, error) {
	for {
		s.mu.Lock()
		resp, err := s.resp, s.err
		s.mu.Unlock()
		if resp != nil {
			return resp, nil
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-s.ready:
		case <-s.ctx.Done():
			s.Close()
			return nil, context.Cause(s.ctx)
		}
	}
}

// Read returns what has come, and waits for something where nothing has.
func (s *streamState) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, allow, err := s.read(p)
		if allow > 0 {
			s.c.write(func() error { return s.c.frames.WriteWindowUpdate(s.id, uint32(allow)) })
		}
		if n > 0 || err != nil {
			return n, err
		}
		select {
		case <-s.ready:
		case <-s.ctx.Done():
			return 0, context.Cause(s.ctx)
		}
	}
}

// read takes what is there. allow is what the server may be allowed to send
// for it.
func (s *streamState) read(p []byte) (n, allow int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = s.queue.take(p)
	s.taken += n
	if n == 0 {
		s.waiting = s.err == nil
		return 0, 0, s.err
	}
	if s.taken >= streamWindow/2 && s.err == nil {
		allow, s.taken = s.taken, 0
		s.room += allow
	}
	return n, allow, nil
}

// Close ends a stream that is not over, and drops what was not read.
func (s *streamState) Close() error {
	s.c.reset(s.id, http2.ErrCodeCancel, errClosed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.drop()
	s.err = errClosed
	return nil
}

// errClosed is what reading a closed body gives.
var errClosed = errors.New("h2: read of a closed body")
