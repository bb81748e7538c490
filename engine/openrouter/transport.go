package openrouter

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

// streamsPerConnection is how many streams share one HTTP/2 connection.
const streamsPerConnection = 90

// A connection on which nothing comes is asked for a sign of life after
// pingAfter, and dropped when none comes within pingWait: the streams of a dead
// connection fail at once, and no further request is sent into it.
const (
	pingAfter = 30 * time.Second
	pingWait  = 15 * time.Second
)

func newHTTP(cfg *Config, scheme string) *http.Client {
	streams := max(cfg.MaxStreams, 16)
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	t := &http.Transport{
		DialContext:         within(cfg.Limits.Connect, dial),
		TLSClientConfig:     cfg.TLS,
		TLSHandshakeTimeout: cfg.Limits.Connect,
		MaxIdleConns:        streams,
		MaxIdleConnsPerHost: streams,
		IdleConnTimeout:     90 * time.Second,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingWait},
		// A compressed stream would hold text back until a block is full.
		DisableCompression: true,
		ReadBufferSize:     4 << 10,
		WriteBufferSize:    4 << 10,
	}
	if cfg.Dial == nil {
		t.Proxy = http.ProxyFromEnvironment
	}
	if scheme == "https" {
		if cfg.Gather > 0 {
			t.DialContext = gathering(t.DialContext, min(cfg.Gather, stream.ConnGrid))
		}
		// Without a bound, every request that finds no free stream dials a
		// connection of its own: thousands of them, for HTTP/2.
		t.MaxConnsPerHost = 4 + streams/streamsPerConnection
	}
	return &http.Client{
		Transport: t,
		// The key must not follow a redirect to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// within bounds the time of a dial, which the transport cuts loose from the
// request it is made for.
func within(limit time.Duration, dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return dial(ctx, network, addr)
	}
}

// gathering dials connections that many streams share: one read takes what has
// come for all of them.
func gathering(dial dialer, every time.Duration) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return stream.GatherConn(c, every), nil
	}
}

// unpacked returns a response's body as it was meant. Compression is never
// asked for, and comes from a careless proxy all the same. Beside an error the
// body is empty.
func unpacked(resp *http.Response) (io.Reader, error) {
	switch name := strings.ToLower(resp.Header.Get("Content-Encoding")); name {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			return http.NoBody, fmt.Errorf("gzip: %w", err)
		}
		return z, nil
	default:
		return http.NoBody, fmt.Errorf("the body is compressed with %q, which was not asked for", name)
	}
}
