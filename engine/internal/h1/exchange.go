package h1

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

const (
	// maxHead bounds the head of a response.
	maxHead = 256 << 10
	// lastWords is how long a server that stopped reading the request may take
	// to say why.
	lastWords = 200 * time.Millisecond
)

// exchange is one request with its response on a connection. As an
// [io.ReadCloser] it is the body of the response.
type exchange struct {
	transport *Transport
	conn      net.Conn
	ctx       context.Context
	stop      func() bool // of closing the connection when ctx ends; false when it does so already

	water  *stream.LowWater
	rest   []byte // what was read with the head
	full   bool   // the last read took all that there was room for
	body   framing
	left   int64 // of a body of known length
	chunks dechunker
	keep   bool // the connection can be used again
	err    error
}

// Body is the body of a response of this package's, too.
type Body interface {
	io.ReadCloser
	Full() bool
	Water() *stream.LowWater
}

var _ Body = (*exchange)(nil)

// framing is how the end of a body is found.
type framing uint8

const (
	toEnd framing = iota // of the connection
	sized
	chunked
)

var (
	errClosed = errors.New("the body was closed")
	errSilent = errors.New("the server closed the connection instead of an answer")
	errHead   = fmt.Errorf("the head of the response is longer than %d bytes", maxHead)
)

// response reads the head of the response. The request may have failed to be
// sent: the response then says why, if there is one.
func (x *exchange) response(req *http.Request, sent error) (*http.Response, error) {
	if sent != nil {
		x.conn.SetReadDeadline(time.Now().Add(lastWords))
	}
	// Most of its life a request waits for the first byte, and needs no buffer.
	var first [1]byte
	switch _, err := io.ReadFull(x.conn, first[:]); {
	case err != nil && sent != nil:
		return nil, sent
	case err == io.EOF:
		return nil, errSilent
	case err != nil:
		return nil, err
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer release(buf)
	buf.WriteByte(first[0])
	for {
		resp, err := x.head(req, buf)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue // it is not the response yet
		}
		x.rest = bytes.Clone(buf.Bytes())
		x.frame(req, resp)
		x.keep = x.keep && sent == nil
		resp.Body, x.water = x, stream.NewLowWater(x.conn)
		if x.body == sized && x.left == 0 {
			x.end()
		}
		return resp, nil
	}
}

// head reads one head into buf and takes it out of it again.
func (x *exchange) head(req *http.Request, buf *bytes.Buffer) (*http.Response, error) {
	for {
		if n := headEnd(buf.Bytes()); n > 0 {
			r := readers.Get().(*bufio.Reader)
			defer readers.Put(r)
			r.Reset(bytes.NewReader(buf.Next(n)))
			return http.ReadResponse(r, req)
		}
		if buf.Len() > maxHead {
			return nil, errHead
		}
		buf.Grow(4 << 10)
		room := buf.AvailableBuffer()
		n, err := x.conn.Read(room[:cap(room)])
		buf.Write(room[:n])
		if err != nil && n == 0 {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// headEnd returns the length of the head that b begins with, with the empty
// line that ends it; zero where that has not come.
func headEnd(b []byte) int {
	for i := 0; ; {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return 0
		}
		line := bytes.TrimSuffix(b[i:i+n], []byte("\r"))
		i += n + 1
		if len(line) == 0 {
			return i
		}
	}
}

// frame says where the body ends.
func (x *exchange) frame(req *http.Request, resp *http.Response) {
	x.keep = !resp.Close && resp.StatusCode != http.StatusSwitchingProtocols
	switch code := resp.StatusCode; {
	case req.Method == http.MethodHead || code == http.StatusNoContent || code == http.StatusNotModified:
		x.body = sized
	case len(resp.TransferEncoding) > 0:
		x.body = chunked
	case resp.ContentLength >= 0:
		x.body, x.left = sized, resp.ContentLength
	default:
		x.body, x.keep = toEnd, false
	}
}

// Read reads the body.
func (x *exchange) Read(p []byte) (int, error) {
	for x.err == nil && len(p) > 0 {
		if x.body == sized {
			p = p[:min(int64(len(p)), x.left)]
		}
		n, err := x.raw(p)
		got, over := x.unframed(p[:n])
		switch {
		case over:
			x.end()
		case err == io.EOF && x.body == toEnd:
			x.end()
		case err == io.EOF:
			x.fail(io.ErrUnexpectedEOF)
		case err != nil:
			x.fail(err)
		}
		if got > 0 {
			return got, nil
		}
	}
	return 0, x.err
}

// raw reads bytes of the connection.
func (x *exchange) raw(p []byte) (int, error) {
	if len(x.rest) > 0 {
		n := copy(p, x.rest)
		if x.rest = x.rest[n:]; len(x.rest) == 0 {
			x.rest = nil
		}
		x.full = true // there was more than a head
		return n, nil
	}
	read := x.conn.Read
	if x.water != nil {
		read = x.water.Read
	}
	n, err := read(p)
	x.full = n == len(p)
	return n, err
}

// Full reports whether the next Read need not wait: more may have come than the
// last one had room for, or nothing more comes.
func (x *exchange) Full() bool { return x.full || x.err != nil }

// Water is of the connection, whose bytes may gather while nothing is read.
// There is none where that cannot be had.
func (x *exchange) Water() *stream.LowWater { return x.water }

// unframed moves the bytes of the body to the beginning of what was read, and
// reports whether they were the last.
func (x *exchange) unframed(p []byte) (n int, over bool) {
	switch x.body {
	case sized:
		x.left -= int64(len(p))
		return len(p), x.left == 0
	case toEnd:
		return len(p), false
	}
	n, rest, err := x.chunks.take(p)
	switch {
	case err != nil:
		x.fail(err)
		return n, false
	case x.chunks.over():
		x.keep = x.keep && rest == 0 // more was sent than was asked for
		return n, true
	}
	return n, false
}

// end gives the connection back after the last byte of the body.
func (x *exchange) end() {
	if x.err != nil {
		return
	}
	x.err = io.EOF
	x.water.Rest()
	if x.stop() && x.keep && len(x.rest) == 0 {
		x.transport.put(x.conn)
	} else {
		x.conn.Close()
	}
	x.conn, x.rest = nil, nil
}

// fail ends the exchange badly.
func (x *exchange) fail(err error) {
	if x.err == nil {
		x.Close()
		x.err = x.explain(err)
	}
}

// explain names the reason why a connection was closed on this side.
func (x *exchange) explain(err error) error {
	if cause := context.Cause(x.ctx); cause != nil {
		return cause
	}
	return err
}

// Close ends the exchange. A response that was not read to its end costs its
// connection.
func (x *exchange) Close() error {
	if x.err == nil {
		x.err = errClosed
		x.stop()
		x.conn.Close()
	}
	return nil
}

// readers parse heads.
var readers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}
