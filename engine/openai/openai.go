package openai

import (
	"context"
	"iter"
	"net"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/server"
	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

const engine = "openai"

// Config says how to reach a server.
type Config struct {
	BaseURL string // http://host:port
	Key     string // when the server wants one; never printed, logged or stored
	// Model is the name that the server knows the model by. When it is empty,
	// [Client.Inspect] finds it.
	Model string
	// Codec is the model's template and vocabulary.
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
type Client struct{ server *server.Client }

// New returns a client. It makes no request.
func New(cfg Config) (*Client, error) {
	s, err := server.New(cfg.server(), server.Dialect{
		Metrics: server.Metrics{ // llama.cpp's
			Running: []string{"llamacpp:requests_processing"},
			Waiting: []string{"llamacpp:requests_deferred"},
			Cache:   []string{"llamacpp:kv_cache_usage_ratio"},
			Tokens:  []string{"llamacpp:tokens_predicted_total"},
		},
		Health: "/v1/models",
	})
	if err != nil {
		return nil, err
	}
	return &Client{s}, nil
}

// Stream makes one attempt. The error beside Ended is nil only for an answer
// that is complete and is what was asked for, else an [eyrie.Error].
func (c *Client) Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error] {
	return c.server.Stream(ctx, r, func() (*server.Ask, error) {
		return &server.Ask{Path: "/v1/chat/completions", Body: c.server.ChatBody(r, true), Stream: true, Frame: server.OpenAI}, nil
	})
}

// Facts are what a server says of itself.
type Facts = server.Facts

// Load asks how busy the server is; an error means that it does not answer or
// is not ready.
func (c *Client) Load(ctx context.Context) (eyrie.Load, error) { return c.server.Load(ctx) }

// Close closes idle connections.
func (c *Client) Close() { c.server.Close() }

// Inspect finds out what the server is and whether it can answer for a model:
// that it serves it, under which name and with which context, as far as it
// says.
func (c *Client) Inspect(ctx context.Context, model string) (Facts, error) {
	f, err := c.server.Look(ctx, model)
	if err != nil {
		return f, err
	}
	var props struct { // llama.cpp's
		Build    string `json:"build_info"`
		Slots    int    `json:"total_slots"`
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if err := c.server.GetJSON(ctx, "/props", &props); err == nil { // others have none
		f.Version, f.AtOnce = props.Build, props.Slots
		if f.Context == 0 {
			f.Context = props.Settings.Context
		}
	}
	ids, err := c.server.Tokenize(ctx, map[string]any{"content": server.Probe, "add_special": false, "parse_special": true})
	if f.Tokenizer, err = c.server.SameTokenizer(ids, err); err != nil {
		return f, err
	}
	if _, err := c.Load(ctx); err != nil {
		return f, err
	}
	f.Metrics = c.server.HasMetrics()
	return f, nil
}
