// Package openrouter speaks to OpenRouter: one attempt at one chat completion
// as a stream of events, the list of endpoints, the key's account, and late
// bills.
//
// Decoding is lenient and success is strict. Fields that are not known are
// passed over, numbers may be strings, errors may stand where answers should;
// but an attempt succeeds only with a real finish reason, no error anywhere,
// an answer in it, the pinned provider and the asked model on it, and a cost
// that the price list explains. Everything else is an [eyrie.Error] that says
// what to do and whether money may have been spent. The answer of a failed
// attempt is kept as far as it came.
//
// One call is one attempt. The package never retries.
package openrouter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie"
)

// DefaultBaseURL is where OpenRouter's API lives.
const DefaultBaseURL = "https://openrouter.ai/api/v1"

// Limits are the four time limits of an attempt. Comments reset none of them.
type Limits struct {
	Connect      time.Duration // dialling and the TLS handshake; 15s
	FirstContent time.Duration // from the request to the first text; 5m
	Silence      time.Duration // between two pieces of text; 2m
	Whole        time.Duration // from the request to the end; 1h
}

func (l Limits) withDefaults() Limits {
	or := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	or(&l.Connect, 15*time.Second)
	or(&l.FirstContent, 5*time.Minute)
	or(&l.Silence, 2*time.Minute)
	or(&l.Whole, time.Hour)
	return l
}

// Config says how to reach the API.
type Config struct {
	BaseURL string // DefaultBaseURL when empty
	Key     string // never printed, logged or stored
	Limits  Limits
	// Gather is how long text may gather in the kernel between two reads once
	// an answer has begun: a wake-up for every token is what costs. Zero reads
	// at once.
	Gather time.Duration
	// MaxStreams is how many requests may be in flight at once.
	MaxStreams int
	// DataCollection is "allow" or "deny"; empty is not sent.
	DataCollection string
	// Dial replaces the network in tests.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// UserAgent names the program.
	UserAgent string
}

// Client is a client of one API with one key. It is safe for concurrent use.
type Client struct {
	cfg    Config
	base   string
	http   *http.Client
	models modelNames
}

// New returns a client. It makes no request.
func New(cfg Config) (*Client, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "eyrie"
	}
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("openrouter: base_url %q: want http(s)://host/path", cfg.BaseURL)
	}
	cfg.Limits = cfg.Limits.withDefaults()
	return &Client{cfg: cfg, base: strings.TrimRight(cfg.BaseURL, "/"), http: newHTTP(&cfg, u.Scheme)}, nil
}

// streamsPerConnection is how many streams share one HTTP/2 connection.
const streamsPerConnection = 90

func newHTTP(cfg *Config, scheme string) *http.Client {
	streams := max(cfg.MaxStreams, 16)
	t := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: cfg.Limits.Connect, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   cfg.Limits.Connect,
		ResponseHeaderTimeout: cfg.Limits.FirstContent,
		MaxIdleConns:          streams,
		MaxIdleConnsPerHost:   streams,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
		// A compressed stream would hold text back until a block is full.
		DisableCompression: true,
		Proxy:              http.ProxyFromEnvironment,
		ReadBufferSize:     4 << 10,
		WriteBufferSize:    4 << 10,
	}
	if scheme == "https" {
		// Without a bound, every request that finds no free stream dials a
		// connection of its own: thousands of them, for HTTP/2.
		t.MaxConnsPerHost = 4 + streams/streamsPerConnection
	}
	if cfg.Dial != nil {
		t.DialContext = cfg.Dial
		t.Proxy = nil
	}
	return &http.Client{
		Transport: t,
		// The key must not follow a redirect to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// maxBody bounds the JSON bodies that are read whole.
const maxBody = 64 << 20

func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("openrouter: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.cfg.Key)
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// get reads a JSON document.
func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	op := "openrouter: GET " + path
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &eyrie.Error{Op: op, Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "connection", Err: c.scrub(err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, &eyrie.Error{Op: op, Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "connection", Err: c.scrub(err)}
	}
	if resp.StatusCode != http.StatusOK {
		e := c.statusError(resp, body)
		e.Op, e.Charged = op, eyrie.ChargedNo
		return nil, e
	}
	return body, nil
}

// scrub removes the key from an error's text, should it ever get there.
func (c *Client) scrub(err error) error {
	if c.cfg.Key == "" || !strings.Contains(err.Error(), c.cfg.Key) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), c.cfg.Key, "[key]"))
}
