package server

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie"
)

// Dialect names what differs between servers in how they show themselves.
type Dialect struct {
	// Metrics are the names of the figures at /metrics.
	Metrics Metrics
	// Health is where the server says that it is up, asked where it shows no
	// metrics.
	Health string
}

// Metrics names the figures of a server. Each may have had several names, the
// newest first; where it has none, the server does not give it.
type Metrics struct {
	Running, Waiting []string
	Cache            []string // shares of one
	Rate             []string // tokens a second
	Tokens           []string // written in all
}

// meter turns counts into rates, and knows when the server forgot requests.
type meter struct {
	noMetrics bool // the server has none: only its health is asked
	own       int64
	ownAt     time.Time
	ownWas    int64
	tokens    float64
	at        time.Time
	idle      time.Time // since when it works on nothing although requests are out; zero when it does not
	down      time.Time // since when it has not answered; zero when it does
}

// Patience with a server in trouble.
const (
	// lostAfter is how long a server may say that it works on nothing while
	// requests are out that are older than that.
	lostAfter = 10 * time.Second
	// stuckAfter is the same while requests wait in its queue: it may be reading
	// a long prompt.
	stuckAfter = time.Minute
	// goneAfter is how long it may not answer at all before the requests that
	// are out are given up.
	goneAfter = 20 * time.Second
	loadWait  = 5 * time.Second
)

// Load asks how busy the server is. An error means that it does not answer, or
// is not ready. Attempts that it has forgotten, or that it will not answer
// because it is gone, are cut off.
func (c *Client) Load(ctx context.Context) (eyrie.Load, error) {
	ctx, cancel := context.WithTimeout(ctx, loadWait)
	defer cancel()
	load, err := c.load(ctx)
	c.mind(load, err, time.Now())
	return load, err
}

func (c *Client) load(ctx context.Context) (eyrie.Load, error) {
	unknown := eyrie.Load{Running: -1, Waiting: -1, Cache: -1, TokensPerSecond: c.ownRate(time.Now())}
	c.mu.Lock()
	none := c.meter.noMetrics
	c.mu.Unlock()
	if !none {
		doc, err := c.Get(ctx, "/metrics")
		if err == nil {
			return c.read(parseMetrics(doc), unknown), nil
		}
		if !without(err) {
			return unknown, err
		}
		c.mu.Lock()
		c.meter.noMetrics = true
		c.mu.Unlock()
	}
	_, err := c.Get(ctx, c.dialect.Health)
	return unknown, err
}

// HasMetrics reports whether the server has shown its metrics so far. It is
// true before it was asked.
func (c *Client) HasMetrics() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.meter.noMetrics
}

// read picks the figures of the server out of its metrics.
func (c *Client) read(figures map[string]float64, load eyrie.Load) eyrie.Load {
	find := func(names []string) (float64, bool) {
		for _, n := range names {
			if v, ok := figures[n]; ok {
				return v, true
			}
		}
		return 0, false
	}
	m := c.dialect.Metrics
	if v, ok := find(m.Running); ok {
		load.Running = int(v)
	}
	if v, ok := find(m.Waiting); ok {
		load.Waiting = int(v)
	}
	if v, ok := find(m.Cache); ok {
		load.Cache = v
	}
	if v, ok := find(m.Rate); ok {
		load.TokensPerSecond = v
	}
	if v, ok := find(m.Tokens); ok { // a count that rises is better than a gauge
		if rate, ok := c.rate(v, time.Now()); ok {
			load.TokensPerSecond = rate
		}
	}
	return load
}

// rate is how fast a count has risen since it was last read.
func (c *Client) rate(tokens float64, now time.Time) (float64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &c.meter
	was, at := m.tokens, m.at
	m.tokens, m.at = tokens, now
	passed := now.Sub(at).Seconds()
	if at.IsZero() || passed <= 0 || tokens < was { // the server was started again
		return 0, false
	}
	return (tokens - was) / passed, true
}

// count notes what an answer brought, for servers that give no figures.
func (c *Client) count(tokens int) {
	c.mu.Lock()
	c.meter.own += int64(tokens)
	c.mu.Unlock()
}

// ownRate is how fast answers came, by our own count of those that ended.
func (c *Client) ownRate(now time.Time) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &c.meter
	passed := now.Sub(m.ownAt).Seconds()
	rate := -1.0
	if !m.ownAt.IsZero() && passed > 0 {
		rate = float64(m.own-m.ownWas) / passed
	}
	m.ownWas, m.ownAt = m.own, now
	return rate
}

func (c *Client) enter(a *attempt) {
	c.mu.Lock()
	c.flying[a] = struct{}{}
	c.mu.Unlock()
}

func (c *Client) leave(a *attempt) {
	c.mu.Lock()
	delete(c.flying, a)
	c.mu.Unlock()
}

// mind cuts off what a server will not answer any more. It has been seen to
// lose requests while it calls itself healthy.
func (c *Client) mind(load eyrie.Load, err error, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &c.meter
	since := func(at *time.Time, is bool) time.Duration {
		switch {
		case !is:
			*at = time.Time{}
			return 0
		case at.IsZero():
			*at = now
		}
		return now.Sub(*at)
	}
	oldest := time.Duration(0)
	for a := range c.flying {
		oldest = max(oldest, now.Sub(a.began))
	}
	down := since(&m.down, err != nil)
	idle, patience := since(&m.idle, err == nil && load.Running == 0 && oldest > 0), lostAfter
	if load.Waiting > 0 {
		patience = stuckAfter
	}
	for a := range c.flying {
		switch age := now.Sub(a.began); {
		case down >= goneAfter && age >= goneAfter:
			a.cancel(errGone)
		case idle >= patience && age >= idle:
			a.cancel(errLost)
		}
	}
}

// parseMetrics reads Prometheus' text format as far as it is needed: the value
// of every figure by its name. A figure that several engines or data-parallel
// ranks report is their sum, and of what tensor-parallel ranks report alike it
// is one of them.
func parseMetrics(doc []byte) map[string]float64 {
	ranks := map[string]map[string]float64{}
	for line := range bytes.Lines(doc) {
		name, labels, value, ok := parseSample(strings.TrimSpace(string(line)))
		if !ok {
			continue
		}
		if ranks[name] == nil {
			ranks[name] = map[string]float64{}
		}
		rank := labelOf(labels, "engine") + "/" + labelOf(labels, "dp_rank")
		if was, ok := ranks[name][rank]; !ok || value > was {
			ranks[name][rank] = value
		}
	}
	out := make(map[string]float64, len(ranks))
	for name, values := range ranks {
		sum := 0.0
		for v := range maps.Values(values) {
			sum += v
		}
		if isShare(name) {
			sum /= float64(len(values))
		}
		out[name] = sum
	}
	return out
}

// isShare reports whether a figure is a share, so that ranks have a mean and
// not a sum.
func isShare(name string) bool {
	return strings.HasSuffix(name, "_perc") || strings.HasSuffix(name, "_usage") || strings.HasSuffix(name, "_ratio")
}

// parseSample takes one line apart: name{label="value",...} number [time].
func parseSample(line string) (name, labels string, value float64, ok bool) {
	if line == "" || line[0] == '#' {
		return "", "", 0, false
	}
	rest := line
	if i := strings.IndexByte(line, '{'); i >= 0 {
		j := strings.LastIndexByte(line, '}')
		if j < i {
			return "", "", 0, false
		}
		name, labels, rest = line[:i], line[i+1:j], line[j+1:]
	} else {
		name, rest, _ = strings.Cut(line, " ")
	}
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	value, err := strconv.ParseFloat(number, 64)
	return name, labels, value, err == nil && value == value
}

// labelOf finds the value of a label. No value that is looked for has a quote
// in it.
func labelOf(labels, name string) string {
	for part := range strings.SplitSeq(labels, ",") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(part), name+`="`); ok {
			return strings.TrimSuffix(v, `"`)
		}
	}
	return ""
}

// ErrNoTokenize is returned by a server that does not tokenize for others.
var ErrNoTokenize = errors.New("the server has no /tokenize")

// Tokenize asks the server for the ids of a text. body is its form of the
// question.
func (c *Client) Tokenize(ctx context.Context, body any) ([]int32, error) {
	var got struct {
		Tokens []int32 `json:"tokens"`
	}
	err := c.PostJSON(ctx, "/tokenize", body, &got)
	if without(err) {
		return nil, ErrNoTokenize
	}
	return got.Tokens, err
}

// without reports an answer that says the server has no such address, or has it
// switched off.
func without(err error) bool {
	e, ok := eyrie.AsError(err)
	if !ok {
		return false
	}
	switch e.Class {
	case "400", "401", "403", "404", "405", "422", "501":
		return true
	}
	return false
}
