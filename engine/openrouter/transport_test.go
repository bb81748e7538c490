package openrouter_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/internal/memnet"
)

func TestNew(t *testing.T) {
	for _, row := range []struct {
		name string
		cfg  openrouter.Config
		want string // is part of the error; "" for none
	}{
		{"defaults", openrouter.Config{Key: testKey}, ""},
		{"no scheme", openrouter.Config{BaseURL: "vendor.test/api"}, "base_url"},
		{"another scheme", openrouter.Config{BaseURL: "ftp://vendor.test"}, "base_url"},
		{"a key with a line break", openrouter.Config{Key: testKey + "\n"}, "API key"},
		{"a key with a space", openrouter.Config{Key: "Bearer " + testKey}, "API key"},
	} {
		c, err := openrouter.New(row.cfg)
		switch {
		case row.want == "" && err != nil, row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		case err != nil && strings.Contains(err.Error(), testKey):
			t.Errorf("%s: the key shows in %v", row.name, err)
		case err == nil:
			c.Close()
		}
	}
}

// TestRedirect holds that the key goes nowhere but to the base URL.
func TestRedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		c, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, r.Host)
			http.Redirect(w, r, "http://elsewhere.test"+r.URL.Path, http.StatusTemporaryRedirect)
		}), nil)
		h := ask(t, t.Context(), c, request(recordedLane()))
		if h.kind() != stopRun || h.charged() != no || !strings.Contains(h.err.Error(), "elsewhere.test") || !strings.Contains(h.err.Hint, "base_url") {
			t.Errorf("%v, charged %v", h.err, h.charged())
		}
		if _, err := c.Account(t.Context()); err == nil {
			t.Error("the account was read from elsewhere")
		}
		for _, host := range seen {
			if host != "vendor.test" {
				t.Errorf("a request went to %s", host)
			}
		}
	})
}

// TestReuse makes requests in turn, which share one connection however they
// end.
func TestReuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, emulator.Fault{Kind: "rate_limit", Requests: []int{2}}, emulator.Fault{Kind: "error_body", Requests: []int{3}},
			emulator.Fault{Kind: "drip", Requests: []int{4}}, emulator.Fault{Kind: "done", Value: "missing", Requests: []int{5}})
		for i, want := range []string{"", "429", "in-band 429", "", "", ""} {
			if h := ask(t, t.Context(), w.client, request(w.lanes[atlas])); h.class() != want {
				t.Errorf("request %d: %v, want %q", i+1, h.err, want)
			}
		}
		if w.memory.Dials.Load() != 1 {
			t.Errorf("%d connections were dialled", w.memory.Dials.Load())
		}
	})
}

// secure runs a handler behind TLS and HTTP/2 in the bubble of the caller.
func secure(t *testing.T, h http.Handler, wrap func(net.Conn) net.Conn, change func(*openrouter.Config)) (*openrouter.Client, *memnet.Network) {
	t.Helper()
	network := memnet.New()
	web := httptest.NewUnstartedServer(h)
	web.Listener.Close()
	web.Listener, web.EnableHTTP2 = network, true
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	cfg := openrouter.Config{BaseURL: "https://example.com/api/v1", Key: testKey, TLS: &tls.Config{RootCAs: roots}}
	cfg.Dial = func(ctx context.Context, n, addr string) (net.Conn, error) {
		c, err := network.Dial(ctx, n, addr)
		if err == nil && wrap != nil {
			c = wrap(c)
		}
		return c, err
	}
	if change != nil {
		change(&cfg)
	}
	c, err := openrouter.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		web.Config.Close()
		network.Close()
		synctest.Wait()
	})
	return c, network
}

// recorded answers with a good stream, in two halves with a pause between.
func recorded(pause func(r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Generation-Id", "gen-1")
		io.WriteString(w, delta(thinks))
		w.(http.Flusher).Flush()
		pause(r)
		io.WriteString(w, delta(says)+finish("stop", "")+billed()+done)
	}
}

// together makes n attempts at once.
func together(t *testing.T, c *openrouter.Client, n int) []*heard {
	t.Helper()
	all := make([]*heard, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { all[i] = ask(t, t.Context(), c, request(recordedLane())) })
	}
	wg.Wait()
	return all
}

// TestHTTP2 keeps more streams open at once than one connection carries: all of
// them run, over few connections.
func TestHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 300
		var open atomic.Int32
		all := make(chan struct{})
		c, network := secure(t, recorded(func(r *http.Request) {
			if r.ProtoMajor != 2 {
				t.Errorf("HTTP/%d", r.ProtoMajor)
			}
			if open.Add(1) == n {
				close(all)
			}
			select {
			case <-all:
			case <-r.Context().Done():
			}
		}), nil, func(cfg *openrouter.Config) { cfg.MaxStreams = n })
		for i, h := range together(t, c, n) {
			if h.err != nil || h.Content != "Final" {
				t.Fatalf("stream %d of %d, %d open: %v", i, n, open.Load(), h.err)
			}
		}
		if network.Dials.Load() > n/10 {
			t.Errorf("%d connections for %d streams", network.Dials.Load(), n)
		}
	})
}

// TestGoAway has the server say goodbye on a shared connection: what is under
// way ends well, and what follows takes another connection.
func TestGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Int32
		c, network := secure(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if seen.Add(1) == 20 {
				w.Header().Set("Connection", "close") // HTTP/2: a GOAWAY
			}
			recorded(func(*http.Request) { time.Sleep(time.Minute) })(w, r)
		}), nil, nil)
		for round := range 2 {
			for i, h := range together(t, c, 40) {
				if h.err != nil {
					t.Errorf("round %d, stream %d: %v", round, i, h.err)
				}
			}
		}
		if network.Dials.Load() < 2 {
			t.Error("the connection that was said goodbye on was used again")
		}
	})
}

// TestReset has the server reset streams, and then the whole connection.
func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, network := secure(t, recorded(func(*http.Request) { panic(http.ErrAbortHandler) }), nil, nil)
		for range 3 {
			h := ask(t, t.Context(), c, request(recordedLane()))
			if h.class() != "stream cut" || h.kind() != again || h.charged() != unknown || h.Reasoning != "First " || h.ID != "gen-1" {
				t.Errorf("RST_STREAM: %v, charged %v, kept %q", h.err, h.charged(), h.Reasoning)
			}
		}
		if network.Dials.Load() != 1 {
			t.Errorf("%d connections were dialled", network.Dials.Load())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, _ := secure(t, recorded(func(r *http.Request) { <-r.Context().Done() }), func(c net.Conn) net.Conn {
			time.AfterFunc(time.Minute, func() { c.Close() })
			return c
		}, nil)
		for _, h := range together(t, c, 3) {
			if h.class() != "stream cut" || h.charged() != unknown || h.took != time.Minute {
				t.Errorf("connection closed: %v after %v, charged %v", h.err, h.took, h.charged())
			}
		}
	})
}

// frozen is a connection that dies without a word, as behind a NAT that forgot
// it.
type frozen struct {
	net.Conn
	dead atomic.Bool
}

func (f *frozen) Read(p []byte) (int, error) {
	for {
		n, err := f.Conn.Read(p)
		if !f.dead.Load() || err != nil {
			return n, err
		}
	}
}

func (f *frozen) Write(p []byte) (int, error) {
	if f.dead.Load() {
		return len(p), nil
	}
	return f.Conn.Write(p)
}

// TestDeadConnection finds a connection dead before the first text is due, and
// sends what follows over another one.
func TestDeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var conns []*frozen
		c, network := secure(t, recorded(func(*http.Request) {}), func(c net.Conn) net.Conn {
			conns = append(conns, &frozen{Conn: c})
			return conns[len(conns)-1]
		}, nil)
		attempt := func() *heard { return ask(t, t.Context(), c, request(recordedLane())) }
		if h := attempt(); h.err != nil {
			t.Fatal(h.err)
		}
		conns[0].dead.Store(true)
		if h := attempt(); h.class() != "connection" || h.charged() != unknown || h.took > time.Minute {
			t.Errorf("%v after %v, charged %v", h.err, h.took, h.charged())
		}
		if h := attempt(); h.err != nil || network.Dials.Load() != 2 {
			t.Errorf("after it: %v, %d connections", h.err, network.Dials.Load())
		}
	})
}

// TestAnEndedStreamLeavesItsConnection ends answers in ways that leave the
// reader of events with more to read, and has the next request on the same
// connection: its few bytes are read when they come.
func TestAnEndedStreamLeavesItsConnection(t *testing.T) {
	var requests atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Generation-Id", "gen-1")
		if requests.Add(1)%2 == 1 { // text, and nothing more
			io.WriteString(w, delta(thinks))
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
			io.WriteString(w, delta(says))
			return
		}
		for _, part := range []string{delta(thinks), delta(says), finish("stop", "") + billed() + done} {
			time.Sleep(20 * time.Millisecond)
			io.WriteString(w, part)
			w.(http.Flusher).Flush()
		}
	}))
	defer web.Close()
	c, err := openrouter.New(openrouter.Config{BaseURL: web.URL + "/api/v1", Key: testKey, Gather: 300 * time.Millisecond, Limits: openrouter.Limits{Silence: 20 * time.Second, FirstContent: 20 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 4 {
		if h := ask(t, t.Context(), c, request(recordedLane())); h.class() != "stream cut" {
			t.Fatalf("an answer without an end: %v", h.err)
		}
		if h := ask(t, t.Context(), c, request(recordedLane())); h.err != nil || h.Content != "Final" {
			t.Fatalf("the next one: %v", h.err)
		}
	}
}
