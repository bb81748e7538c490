// Package h1 speaks HTTP/1.1 to a server that gives its answers slowly, to
// thousands of requests at once, each on a connection of its own.
//
// net/http keeps two goroutines and two buffers for every connection, so that
// it can be used in any way. An answer that is read where it is asked for needs
// neither: the request is written and the head of the response read by the
// caller of [Transport.RoundTrip], in buffers that are taken only while there
// is something in them, and the body is read by its reader straight into its
// own buffer, the framing being taken out there. A connection whose answer was
// read to its end is kept for the next request.
//
// What a Transport does not know, such as https, it leaves to another one.
package h1

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"
)

// Transport makes requests of one server. It is safe for concurrent use, and
// must not be copied.
type Transport struct {
	// Host is the server, as it stands in URLs.
	Host string
	// Dial connects to it. It must heed its context.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Connect bounds the time of a dial; zero does not.
	Connect time.Duration
	// Idle is how long a connection is kept that is not used.
	Idle time.Duration
	// Fallback makes the requests that are not of http or go to other hosts.
	Fallback http.RoundTripper

	mu    sync.Mutex
	idle  []idleConn // the one used last stands last
	sweep *time.Timer
}

type idleConn struct {
	net.Conn
	since time.Time
}

// RoundTrip makes a request. Reading the body of the response and closing it
// is for one goroutine at a time. When the request's context ends, its
// connection is closed.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "http" || req.URL.Host != t.Host {
		return t.Fallback.RoundTrip(req)
	}
	x, err := t.send(req)
	if x == nil {
		return nil, err
	}
	resp, err := x.response(req, err)
	if err != nil {
		x.Close()
		return nil, x.explain(err)
	}
	return resp, nil
}

// send sends a request on a connection that is idle, or on a new one. An error
// beside an exchange is of a request that was sent in part: the response may
// say why.
func (t *Transport) send(req *http.Request) (*exchange, error) {
	out := buffers.Get().(*bytes.Buffer)
	defer release(out)
	if err := req.Write(out); err != nil { // which closes its body
		return nil, err
	}
	ctx := req.Context()
	for {
		c, reused, err := t.conn(ctx, req.URL)
		if err != nil {
			return nil, err
		}
		if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: c, Reused: reused})
		}
		x := &exchange{transport: t, conn: c, ctx: ctx}
		x.stop = context.AfterFunc(ctx, func() { c.Close() })
		n, err := c.Write(out.Bytes())
		if err == nil || n > 0 || !reused || ctx.Err() != nil {
			return x, err
		}
		x.Close() // the server had closed it while it was idle
	}
}

// conn returns an idle connection, or dials.
func (t *Transport) conn(ctx context.Context, u *url.URL) (c net.Conn, reused bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	for {
		c := t.take()
		if c == nil {
			break
		}
		if quiet(c) {
			return c, true, nil
		}
		c.Close()
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	if t.Connect > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.Connect)
		defer cancel()
	}
	// Dialling takes a deep stack, and the caller's is kept as long as its
	// stream lasts.
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err = t.Dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	}()
	<-done
	return c, false, err
}

// take takes the idle connection that was used last, or none.
func (t *Transport) take() net.Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) == 0 {
		return nil
	}
	last := len(t.idle) - 1
	c := t.idle[last].Conn
	t.idle[last] = idleConn{}
	t.idle = t.idle[:last]
	return c
}

// put keeps a connection for the next request.
func (t *Transport) put(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = append(t.idle, idleConn{c, time.Now()})
	if t.sweep == nil {
		t.sweep = time.AfterFunc(t.Idle, t.closeOld)
	} else if len(t.idle) == 1 {
		t.sweep.Reset(t.Idle)
	}
}

// closeOld closes the connections that have been idle for too long.
func (t *Transport) closeOld() {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := 0
	for old < len(t.idle) && time.Since(t.idle[old].since) >= t.Idle {
		t.idle[old].Close()
		old++
	}
	t.idle = append(t.idle[:0], t.idle[old:]...)
	if len(t.idle) > 0 {
		t.sweep.Reset(t.Idle - time.Since(t.idle[0].since))
	}
}

// CloseIdleConnections closes the connections on which nothing runs.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	for _, c := range t.idle {
		c.Close()
	}
	t.idle = nil
	if t.sweep != nil {
		t.sweep.Stop()
	}
	t.mu.Unlock()
	if f, ok := t.Fallback.(interface{ CloseIdleConnections() }); ok {
		f.CloseIdleConnections()
	}
}

// buffers hold what is sent and the heads of responses.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func release(b *bytes.Buffer) {
	if b.Cap() <= 64<<10 {
		b.Reset()
		buffers.Put(b)
	}
}

var _ http.RoundTripper = (*Transport)(nil)
