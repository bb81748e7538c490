package h2

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

// perConnection is how many streams share a connection, if its server allows
// that many. More would save little, and fall together when it breaks.
const perConnection = 100

// maxTries is how often a request is sent whose stream the server says that it
// has not looked at.
const maxTries = 5

// Transport is an [http.RoundTripper] for one origin. It must not be copied.
type Transport struct {
	Host string // of the origin, as in its URL; other requests go to Fallback
	// Dial makes the connections below TLS. It must heed its context.
	Dial Dialer
	// TLS holds the roots, for instance; nil is the default.
	TLS *tls.Config
	// Connect bounds dialling, then the TLS handshake, then the wait for the
	// server's settings.
	Connect time.Duration
	// Gather is how long bytes gather on a connection between two reads; zero
	// reads at once.
	Gather time.Duration
	// Fallback takes the requests of a server that does not speak HTTP/2.
	Fallback http.RoundTripper

	mu      sync.Mutex
	conns   []*conn
	dialing int
	waiting []chan grant
	plain   bool // the server does not speak HTTP/2
	places  int  // of a connection, as the server last said; 0 before it did
}

// grant gives one waiting request a place on a connection, or the reason why
// there is none.
type grant struct {
	conn *conn
	err  error
}

// errPlain is why there is no connection to a server that does not speak
// HTTP/2.
var errPlain = errors.New("h2: the server does not speak HTTP/2")

// RoundTrip sends a request. The body of the response is also a [Body]. A request that the
// server has not looked at is sent again.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != t.Host {
		return t.Fallback.RoundTrip(req)
	}
	for try := 1; ; try++ {
		c, err := t.acquire(req.Context())
		if errors.Is(err, errPlain) {
			return t.Fallback.RoundTrip(req)
		}
		if err != nil {
			closeBody(req)
			return nil, err
		}
		if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: c.net, Reused: true})
		}
		resp, err := c.roundTrip(req)
		if err == nil {
			return resp, nil
		}
		if try == maxTries || !errors.Is(err, errUnseen) || !rewind(&req) {
			return nil, err
		}
	}
}

// rewind makes a request ready to be sent once more, if it can be.
func rewind(req **http.Request) bool {
	if (*req).Body == nil || (*req).Body == http.NoBody {
		return true
	}
	if (*req).GetBody == nil {
		return false
	}
	body, err := (*req).GetBody()
	if err != nil {
		return false
	}
	again := *(*req)
	again.Body = body
	*req = &again
	return true
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// CloseIdleConnections closes the connections that no stream is on.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	var idle []*conn
	for _, c := range t.conns {
		if c.taken == 0 {
			c.leaving = true
			idle = append(idle, c)
		}
	}
	t.mu.Unlock()
	for _, c := range idle {
		c.die(net.ErrClosed)
	}
	if f, ok := t.Fallback.(interface{ CloseIdleConnections() }); ok {
		f.CloseIdleConnections()
	}
}

// acquire takes a place on a connection. A new one is dialled when those there
// are, and those that are being dialled, do not have enough places for all who
// wait.
func (t *Transport) acquire(ctx context.Context) (*conn, error) {
	t.mu.Lock()
	if t.plain {
		t.mu.Unlock()
		return nil, errPlain
	}
	if i := slices.IndexFunc(t.conns, (*conn).hasRoom); i >= 0 {
		c := t.conns[i]
		c.taken++
		t.mu.Unlock()
		return c, nil
	}
	w := make(chan grant, 1)
	t.waiting = append(t.waiting, w)
	t.dialMore()
	t.mu.Unlock()
	select {
	case g := <-w:
		return g.conn, g.err
	case <-ctx.Done():
	}
	t.mu.Lock()
	if i := slices.Index(t.waiting, w); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		t.mu.Unlock()
		return nil, context.Cause(ctx)
	}
	t.mu.Unlock()
	if g := <-w; g.conn != nil {
		t.release(g.conn)
	}
	return nil, context.Cause(ctx)
}

// dialMore is called with the lock held.
func (t *Transport) dialMore() {
	for t.dialing*t.perConn() < len(t.waiting) {
		t.dialing++
		go t.dial()
	}
}

// perConn is how many streams a new connection will carry, as far as is known.
func (t *Transport) perConn() int { return cmp.Or(t.places, perConnection) }

// dial makes a connection and gives its places to those who wait.
func (t *Transport) dial() {
	c, err := t.connect()
	t.mu.Lock()
	t.dialing--
	if c != nil && !c.leaving {
		t.conns = append(t.conns, c)
		t.grant(c)
		t.dialMore()
		t.mu.Unlock()
		return
	}
	if c != nil { // it went as it came
		err = c.failure()
	}
	// Those fail for whom no other connection is on its way; those who have
	// waited longest may still get one.
	lost := t.waiting[min(t.dialing*t.perConn(), len(t.waiting)):]
	if errors.Is(err, errPlain) {
		t.plain = true
		lost = t.waiting
	}
	t.waiting = t.waiting[:len(t.waiting)-len(lost)]
	for _, w := range lost {
		w <- grant{err: err}
	}
	t.mu.Unlock()
}

// grant gives the free places of a connection to those who wait. It is called
// with the lock held.
func (t *Transport) grant(c *conn) {
	for len(t.waiting) > 0 && c.hasRoom() {
		c.taken++
		t.waiting[0] <- grant{conn: c}
		t.waiting = t.waiting[1:]
	}
}

// release gives a place back.
func (t *Transport) release(c *conn) {
	t.mu.Lock()
	c.taken--
	t.grant(c)
	over := c.leaving && c.taken == 0
	t.mu.Unlock()
	if over {
		c.die(net.ErrClosed)
	}
}

// leave lets no further stream onto a connection, because of err.
func (t *Transport) leave(c *conn, err error) {
	t.mu.Lock()
	c.leaving = true
	t.conns = slices.DeleteFunc(t.conns, func(o *conn) bool { return o == c })
	over := c.taken == 0
	t.mu.Unlock()
	if over {
		c.die(err)
	}
}

// allow notes how many streams a connection's server takes at once.
func (t *Transport) allow(c *conn, streams int) {
	t.mu.Lock()
	c.limit, t.places = streams, streams
	t.grant(c)
	t.mu.Unlock()
}

// idle reports whether no stream is on a connection.
func (t *Transport) idle(c *conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.taken == 0
}

// connect dials, shakes hands, and waits for the server's settings.
func (t *Transport) connect() (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), t.Connect, fmt.Errorf("no connection within %v", t.Connect))
	defer cancel()
	raw, err := t.Dial(ctx, "tcp", withPort(t.Host))
	if err != nil {
		return nil, err
	}
	if t.Gather > 0 {
		raw = stream.GatherConn(raw, t.Gather)
	}
	cfg := &tls.Config{}
	if t.TLS != nil {
		cfg = t.TLS.Clone()
	}
	cfg.NextProtos = []string{"h2", "http/1.1"}
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(withPort(t.Host))
	}
	secure := tls.Client(raw, cfg)
	hands, done := context.WithTimeoutCause(context.Background(), t.Connect, fmt.Errorf("no TLS handshake within %v", t.Connect))
	defer done()
	if err := secure.HandshakeContext(hands); err != nil {
		raw.Close()
		if cause := context.Cause(hands); cause != nil {
			err = cause
		}
		return nil, err
	}
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		secure.Close()
		return nil, errPlain
	}
	return t.greet(secure)
}

func withPort(host string) string {
	u := url.URL{Host: host}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443"))
}
