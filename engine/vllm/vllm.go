package vllm

import (
	"context"
	"errors"
	"iter"
	"net"
	"sync/atomic"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/server"
	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

const engine = "vllm"

// Config says how to reach a server.
type Config struct {
	BaseURL string // http://host:port
	Key     string // when the server wants one; never printed, logged or stored
	// Model is the name that the server knows the model by. When it is empty,
	// [Client.Inspect] finds it.
	Model string
	// IDs sends our own rendered prompt as ids instead of messages, and reads
	// reasoning and tool calls off the ids that come back.
	IDs bool
	// Codec is the model's template and vocabulary. It must be there for IDs.
	Codec eyrie.Codec
	// The time limits of an attempt; zero takes the default: 15s to connect, 5m
	// to the first text of a stream, 2m of silence in it, 1h for the whole.
	Connect, FirstContent, Silence, Whole time.Duration
	// Gather is the longest that text may gather in the kernel between two reads once
	// an answer has begun. Zero reads at once.
	Gather time.Duration
	// MaxStreams is how many requests may be in flight at once.
	MaxStreams int
	UserAgent  string
	// Dial replaces the network, in tests for instance. It must heed ctx.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

func (cfg *Config) server() server.Config {
	return server.Config{
		Engine: engine, BaseURL: cfg.BaseURL, Key: cfg.Key, Model: cfg.Model, Codec: cfg.Codec,
		Limits: stream.Limits{Connect: cfg.Connect, FirstContent: cfg.FirstContent, Silence: cfg.Silence, Whole: cfg.Whole},
		Gather: cfg.Gather, MaxStreams: cfg.MaxStreams, UserAgent: cfg.UserAgent, Dial: cfg.Dial,
	}
}

// Client is a client of one server. It is safe for concurrent use.
type Client struct {
	server  *server.Client
	ids     bool
	whole   atomic.Bool // streams lose ids: ask for answers in one piece
	withIDs atomic.Bool // Inspect has seen that chat returns ids
}

// New returns a client. It makes no request.
func New(cfg Config) (*Client, error) {
	if cfg.IDs && cfg.Codec == nil {
		return nil, errors.New("vllm: a prompt cannot be sent as ids without a codec")
	}
	s, err := server.New(cfg.server(), server.Dialect{
		Metrics: server.Metrics{
			Running: []string{"vllm:num_requests_running"},
			Waiting: []string{"vllm:num_requests_waiting"},
			Cache:   []string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
			Tokens:  []string{"vllm:generation_tokens_total"},
		},
		Health: "/health",
	})
	if err != nil {
		return nil, err
	}
	return &Client{server: s, ids: cfg.IDs}, nil
}

// Stream makes one attempt. The error beside Ended is nil only for an answer
// that is complete and is what was asked for, else an [eyrie.Error].
func (c *Client) Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error] {
	events := len(r.Generation.Tools) == 0 && !c.whole.Load()
	ask := func() (*server.Ask, error) { return c.chat(r, events, c.withIDs.Load()) }
	if c.ids {
		ask = func() (*server.Ask, error) { return c.completion(r, events) }
	}
	return func(yield func(eyrie.Event, error) bool) {
		for ev, err := range c.server.Stream(ctx, r, ask) {
			if e, ok := eyrie.AsError(err); ok && events && (e.Class == "ids" || e.Class == "no ids") {
				c.whole.Store(true)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// chat asks in messages.
func (c *Client) chat(r *eyrie.Request, events, ids bool) (*server.Ask, error) {
	body := c.server.ChatBody(r, events)
	body.ReturnTokenIDs = true
	return &server.Ask{Path: "/v1/chat/completions", Body: body, Stream: events, Frame: server.OpenAI, IDs: ids, PromptIDs: ids}, nil
}

// completion asks in ids.
func (c *Client) completion(r *eyrie.Request, events bool) (*server.Ask, error) {
	prompt, err := c.server.Prompt(r)
	if err != nil {
		return nil, err
	}
	body := c.server.CompletionBody(r, prompt, events)
	body.ReturnTokenIDs = true
	return &server.Ask{Path: "/v1/completions", Body: body, Stream: events, Frame: server.OpenAI, IDs: true, PromptIDs: true, Parse: true}, nil
}

// Facts are what a server says of itself.
type Facts = server.Facts

// Load asks how busy the server is; an error means that it does not answer or
// is not ready.
func (c *Client) Load(ctx context.Context) (eyrie.Load, error) { return c.server.Load(ctx) }

// Close closes idle connections.
func (c *Client) Close() { c.server.Close() }

// Inspect finds out what the server is and whether it can answer for a model:
// that it serves it, under which name, with which context, and whether it
// returns ids. It makes a request of one token.
func (c *Client) Inspect(ctx context.Context, model string) (Facts, error) {
	f, err := c.server.Look(ctx, model)
	if err != nil {
		return f, err
	}
	var version struct {
		Version string `json:"version"`
	}
	if err := c.server.GetJSON(ctx, "/version", &version); err == nil { // it is for people only
		f.Version = version.Version
	}
	ids, err := c.server.Tokenize(ctx, map[string]any{"model": f.Model, "prompt": server.Probe, "add_special_tokens": false})
	if f.Tokenizer, err = c.server.SameTokenizer(ids, err); err != nil {
		return f, err
	}
	if _, err := c.Load(ctx); err != nil {
		return f, err
	}
	f.Metrics = c.server.HasMetrics()
	a, err := c.server.Ask1(ctx, func(r *eyrie.Request) (*server.Ask, error) { return c.chat(r, false, false) })
	if err != nil {
		return f, err
	}
	f.IDs, f.PromptIDs = len(a.CompletionIDs) > 0, len(a.PromptIDs) > 0
	c.withIDs.Store(f.IDs && f.PromptIDs)
	if c.ids && !f.IDs {
		return f, errors.New("vllm: this server returns no ids, so via: ids cannot work; use version 0.11 or later, or via: chat")
	}
	return f, nil
}
