package openrouter

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie/engine/internal/h1"
	"github.com/eyrie-ai/eyrie/engine/internal/h2"
	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

// newHTTP returns a client whose streams share connections where the server
// speaks HTTP/2, and have one each where it does not.
func newHTTP(cfg *Config, origin *url.URL) *http.Client {
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
		// A compressed stream would hold text back until a block is full.
		DisableCompression: true,
		ReadBufferSize:     4 << 10,
		WriteBufferSize:    4 << 10,
	}
	if cfg.Dial == nil {
		t.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Transport: slow(cfg, origin, dial, t),
		// The key must not follow a redirect to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// slow returns a transport that is made for thousands of slow answers. It leaves
// to t what such a one does not do: plain http through a proxy, settings of a
// proxy that make no sense, which t explains, and servers that do not speak
// HTTP/2.
func slow(cfg *Config, origin *url.URL, dial h2.Dialer, t *http.Transport) http.RoundTripper {
	if t.Proxy != nil {
		p, err := t.Proxy(&http.Request{URL: origin})
		if err != nil || p != nil && origin.Scheme == "http" {
			return t
		}
		if p != nil {
			if dial, err = h2.Via(p, dial); err != nil {
				return t
			}
		}
	}
	if origin.Scheme == "http" {
		return &h1.Transport{Host: origin.Host, Dial: dial, Connect: cfg.Limits.Connect, Idle: t.IdleConnTimeout, Fallback: t}
	}
	return &h2.Transport{
		Host: origin.Host, Dial: dial, TLS: cfg.TLS, Connect: cfg.Limits.Connect,
		Gather: min(cfg.Gather, stream.ConnGrid), Fallback: t,
	}
}

// within bounds the time of a dial, which the transport cuts loose from the
// request it is made for.
func within(limit time.Duration, dial h2.Dialer) h2.Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return dial(ctx, network, addr)
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
