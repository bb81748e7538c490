package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/h1"
	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

// Config says how to reach a server.
type Config struct {
	Engine    string // its kind, for messages: "sglang"
	BaseURL   string // http://host:port; "/v1" at its end is dropped
	Key       string // never printed, logged or stored; may be empty
	UserAgent string
	Limits    stream.Limits
	Gather    time.Duration // see [stream.Gatherer]
	// MaxStreams is how many requests may be in flight at once.
	MaxStreams int
	// Model is the name that the server knows the model by. Without one,
	// [Client.Look] finds it.
	Model string
	// Codec is the model's template and vocabulary. Without it ids are taken as
	// they come.
	Codec eyrie.Codec
	// Dial replaces the network, in tests for instance. It must heed ctx.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Client is a client of one server. It is safe for concurrent use.
type Client struct {
	Config
	dialect Dialect
	http    *http.Client

	mu     sync.Mutex
	model  string                // the name it is asked for
	flying map[*attempt]struct{} // attempts under way
	meter  meter
}

// New returns a client. It makes no request.
func New(cfg Config, d Dialect) (*Client, error) {
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: base_url %q: want http(s)://host:port", cfg.Engine, cfg.BaseURL)
	}
	if strings.ContainsFunc(cfg.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("%s: the API key holds white space or characters that no key has; copy it again", cfg.Engine)
	}
	cfg.BaseURL = strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1")
	if cfg.UserAgent == "" {
		cfg.UserAgent = "eyrie"
	}
	cfg.Limits = cfg.Limits.WithDefaults()
	return &Client{Config: cfg, dialect: d, http: newHTTP(&cfg, u), model: cfg.Model, flying: map[*attempt]struct{}{}}, nil
}

// newHTTP makes a connection for every request that runs at once: these
// servers speak HTTP/1.1.
func newHTTP(cfg *Config, origin *url.URL) *http.Client {
	streams := max(cfg.MaxStreams, 16)
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext
	}
	connect := cfg.Limits.Connect
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, connect)
			defer cancel()
			return dial(ctx, network, addr)
		},
		TLSHandshakeTimeout: connect,
		MaxIdleConns:        streams,
		MaxIdleConnsPerHost: streams,
		// Servers of this kind close idle connections after five seconds; a
		// request sent into a closing one would fail.
		IdleConnTimeout:    4 * time.Second,
		DisableCompression: true,
		ReadBufferSize:     4 << 10,
		WriteBufferSize:    4 << 10,
	}
	if cfg.Dial == nil {
		t.Proxy = http.ProxyFromEnvironment
	}
	var slow http.RoundTripper = &h1.Transport{Host: origin.Host, Dial: dial, Connect: connect, Idle: t.IdleConnTimeout, Fallback: t}
	if t.Proxy != nil {
		if p, err := t.Proxy(&http.Request{URL: origin}); p != nil || err != nil {
			slow = t // which knows how to talk to proxies
		}
	}
	return &http.Client{
		Transport: slow,
		// The key must not follow a redirect to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, r)
	if err != nil {
		return nil, err
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	req.Header.Set("User-Agent", c.UserAgent)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

const (
	maxBody = 64 << 20 // of a document that is read whole
	askWait = 10 * time.Second
)

// Get reads a document that the server has at once.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	return c.ask(ctx, http.MethodGet, path, nil)
}

// GetJSON reads a JSON document.
func (c *Client) GetJSON(ctx context.Context, path string, into any) error {
	doc, err := c.Get(ctx, path)
	if err != nil {
		return err
	}
	return c.unpack(path, doc, into)
}

// PostJSON asks for something that the server has at once.
func (c *Client) PostJSON(ctx context.Context, path string, ask, into any) error {
	body, err := json.Marshal(ask)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", c.Engine, path, err)
	}
	doc, err := c.ask(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	return c.unpack(path, doc, into)
}

func (c *Client) unpack(path string, doc []byte, into any) error {
	if err := json.Unmarshal(doc, into, lenient); err != nil {
		return &eyrie.Error{
			Op: c.Engine + ": " + path, Subject: c.BaseURL, Kind: eyrie.Elsewhere, Charged: eyrie.ChargedNo, LaneWide: true,
			Class: "bad frame", Err: fmt.Errorf("%w in %.100q", err, doc), Hint: "is this a server of this kind?",
		}
	}
	return nil
}

// ask makes a short request.
func (c *Client) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askWait, fmt.Errorf("no answer in %v", askWait))
	defer cancel()
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, c.failure(path, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
		return nil, c.unreachable(path, err)
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, c.unreachable(path, err)
	}
	if resp.StatusCode != http.StatusOK {
		e := c.statusError(resp, doc)
		e.Op, e.Subject = c.Engine+": "+path, c.BaseURL
		return nil, e
	}
	return doc, nil
}
