package sglang

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

const engine = "sglang"

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
	server *server.Client
	ids    bool
	source atomic.Int32 // an idSource
}

// idSource says how chat returns ids.
type idSource int32

const (
	unknown   idSource = iota // not looked at yet: asked for, and taken if they come
	byField                   // return_token_ids
	byLogprob                 // in meta_info, beside the logprobs
	never
)

// New returns a client. It makes no request.
func New(cfg Config) (*Client, error) {
	if cfg.IDs && cfg.Codec == nil {
		return nil, errors.New("sglang: a prompt cannot be sent as ids without a codec")
	}
	s, err := server.New(cfg.server(), server.Dialect{
		Metrics: server.Metrics{
			Running: []string{"sglang:num_running_reqs"},
			Waiting: []string{"sglang:num_queue_reqs"},
			Cache:   []string{"sglang:token_usage"},
			Rate:    []string{"sglang:gen_throughput"},
			Tokens:  []string{"sglang:generation_tokens_total"},
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
	if c.ids {
		return c.server.Stream(ctx, r, func() (*server.Ask, error) { return c.generate(r) })
	}
	return c.server.Stream(ctx, r, func() (*server.Ask, error) { return c.chat(r, idSource(c.source.Load())) })
}

// chat asks in messages.
func (c *Client) chat(r *eyrie.Request, from idSource) (*server.Ask, error) {
	events := from == never
	body := c.server.ChatBody(r, events)
	if !events {
		body.ReturnTokenIDs, body.ReturnPromptTokenIDs = from != byLogprob, true
		body.ReturnMetaInfo, body.Logprobs = from == byLogprob, from == byLogprob
	}
	known := from == byField || from == byLogprob
	return &server.Ask{Path: "/v1/chat/completions", Body: body, Stream: events, Frame: server.OpenAI, IDs: known}, nil
}

// Facts are what a server says of itself.
type Facts = server.Facts

// Load asks how busy the server is; an error means that it does not answer or
// is not ready.
func (c *Client) Load(ctx context.Context) (eyrie.Load, error) { return c.server.Load(ctx) }

// Close closes idle connections.
func (c *Client) Close() { c.server.Close() }

// Inspect finds out what the server is and whether it can answer for a model:
// that it serves it, under which name, with which context, and which ids it
// returns. It makes a request or two of one token.
func (c *Client) Inspect(ctx context.Context, model string) (Facts, error) {
	f, err := c.server.Look(ctx, model)
	if err != nil {
		return f, err
	}
	if err := c.info(ctx, &f); err != nil {
		return f, err
	}
	ids, err := c.server.Tokenize(ctx, map[string]any{"model": f.Model, "prompt": server.Probe, "add_special_tokens": false})
	if f.Tokenizer, err = c.server.SameTokenizer(ids, err); err != nil {
		return f, err
	}
	if _, err := c.Load(ctx); err != nil {
		return f, err
	}
	f.Metrics = c.server.HasMetrics()
	if c.ids {
		f.IDs, f.PromptIDs = true, true
		return f, nil
	}
	return f, c.findIDs(ctx, &f)
}

// findIDs looks which way of asking brings ids.
func (c *Client) findIDs(ctx context.Context, f *Facts) error {
	for _, from := range []idSource{byField, byLogprob} {
		a, err := c.server.Ask1(ctx, func(r *eyrie.Request) (*server.Ask, error) {
			ask, err := c.chat(r, from)
			ask.IDs = false
			return ask, err
		})
		if err != nil {
			return err
		}
		f.PromptIDs = len(a.PromptIDs) > 0
		if f.IDs = len(a.CompletionIDs) > 0; f.IDs {
			c.source.Store(int32(from))
			return nil
		}
	}
	c.source.Store(int32(never))
	return nil
}

// info reads what the server says of itself. It has moved from one address to
// another; a server that has neither is taken as it is.
func (c *Client) info(ctx context.Context, f *Facts) error {
	var info struct {
		Version    string `json:"version"`
		Context    *int   `json:"context_length"`
		MaxRunning *int   `json:"max_running_requests"`
		States     []struct {
			MaxRunning int `json:"effective_max_running_requests_per_dp"`
		} `json:"internal_states"`
	}
	err := c.server.GetJSON(ctx, "/get_server_info", &info)
	if e, ok := eyrie.AsError(err); ok && e.Class == "404" {
		err = c.server.GetJSON(ctx, "/server_info", &info)
	}
	if e, ok := eyrie.AsError(err); ok && e.Class == "404" {
		return nil
	}
	if err != nil {
		return err
	}
	f.Version = info.Version
	if f.Context == 0 && info.Context != nil {
		f.Context = *info.Context
	}
	if info.MaxRunning != nil {
		f.AtOnce = *info.MaxRunning
	}
	for _, s := range info.States {
		if s.MaxRunning > 0 {
			f.AtOnce = max(f.AtOnce, s.MaxRunning*len(info.States))
		}
	}
	return nil
}
