package openrouter

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

// DefaultBaseURL is where OpenRouter's API lives.
const DefaultBaseURL = "https://openrouter.ai/api/v1"

// Limits are the four time limits of an attempt. Comments reset none of them.
type Limits struct {
	Connect      time.Duration // dialling, and again the TLS handshake; 15s
	FirstContent time.Duration // from the request to the first text; 5m
	Silence      time.Duration // between two pieces of text; 2m
	Whole        time.Duration // from the request to the end; 1h
}

// Config says how to reach the API.
type Config struct {
	BaseURL string // DefaultBaseURL when empty
	Key     string // never printed, logged or stored; the catalogue can be read without
	Limits  Limits
	// Gather is the longest that text may gather in the kernel between two reads once
	// an answer has begun: a wake-up for every token is what costs. Zero reads
	// at once.
	Gather time.Duration
	// MaxStreams is how many requests may be in flight at once.
	MaxStreams int
	// MaxPrompt and MaxOutput are the most that a million tokens may cost; zero
	// is no bound. A request for which a lane's price is higher, because the
	// prompt is long or by the hour, is not made.
	MaxPrompt, MaxOutput eyrie.Money
	// MaxRequest is the most that a request may cost by itself; zero is no bound.
	MaxRequest eyrie.Money
	// DataCollection is "allow" or "deny"; empty is not sent.
	DataCollection string
	// ZDR lets only endpoints answer that retain nothing, Distillable only a
	// model whose author allows distillation.
	ZDR, Distillable bool
	// Logprobs asks the lanes that list the parameter for the bytes of each
	// token ([eyrie.Answer.Logprobs]). It makes streams several times as long.
	Logprobs bool
	// NeedLogprobs asks every lane that does not say it cannot, and refuses an
	// answer that comes without the bytes of a single token. Its cost counts.
	NeedLogprobs bool
	// UserAgent names the program.
	UserAgent string
	// Dial replaces the network, in tests for instance. It must heed ctx.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS replaces the defaults of https, for a root certificate of one's own.
	TLS *tls.Config
}

// Client is a client of one API with one key. It is safe for concurrent use.
type Client struct {
	cfg   Config
	base  string
	http  *http.Client
	names modelNames
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
	if strings.ContainsFunc(cfg.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("openrouter: the API key holds white space or characters that no key has; copy it again")
	}
	cfg.Limits = Limits(stream.Limits(cfg.Limits).WithDefaults())
	return &Client{cfg: cfg, base: strings.TrimRight(cfg.BaseURL, "/"), http: newHTTP(&cfg, u)}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("openrouter: %w", err)
	}
	if c.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Key)
	}
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// maxBody bounds the JSON bodies that are read whole.
const maxBody = 64 << 20

// get reads a JSON document. Nothing that it asks for costs money.
func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	body, _, err := c.fetch(ctx, path)
	return body, err
}

// fetch is get with the head of the response.
func (c *Client) fetch(ctx context.Context, path string) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, nil, err
	}
	op := "openrouter: GET " + path
	failed := func(err error) error {
		return &eyrie.Error{Op: op, Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "connection", Err: c.tidy(err)}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, nil, failed(err)
	}
	defer resp.Body.Close()
	plain, err := unpacked(resp)
	if err != nil {
		return nil, nil, failed(err)
	}
	body, err := io.ReadAll(io.LimitReader(plain, maxBody))
	if err != nil {
		return nil, nil, failed(err)
	}
	if resp.StatusCode != http.StatusOK {
		e := c.statusError(resp, body)
		e.Op, e.Charged = op, eyrie.ChargedNo
		return nil, nil, e
	}
	return body, resp.Header, nil
}

// hiddenKey stands where the key was in a text that is not ours.
const hiddenKey = "[key]"

// maxText bounds the text of an error that holds words of the vendor.
const maxText = 600

// tidy makes an error fit to be shown and kept: without the key, and not
// longer than a person will read. The key goes first, or a half of it could
// stay.
func (c *Client) tidy(err error) error {
	text := err.Error()
	clean := text
	if c.cfg.Key != "" {
		clean = strings.ReplaceAll(text, c.cfg.Key, hiddenKey)
	}
	if len(clean) > maxText {
		clean = strings.ToValidUTF8(clean[:maxText], "") + "..."
	}
	if clean == text {
		return err
	}
	return errors.New(clean)
}

// scrub removes the key from what the vendor sent.
func (c *Client) scrub(b []byte) []byte {
	if c.cfg.Key == "" || !bytes.Contains(b, []byte(c.cfg.Key)) {
		return b
	}
	return bytes.ReplaceAll(b, []byte(c.cfg.Key), []byte(hiddenKey))
}
