package h1_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/eyrie-ai/eyrie/engine/internal/h1"
)

// client returns a client of a server, with a count of its dials.
func client(t *testing.T, base string) (*http.Client, *atomic.Int32) {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	dials := new(atomic.Int32)
	transport := &h1.Transport{
		Host: u.Host, Idle: time.Minute, Connect: time.Minute, Fallback: http.DefaultTransport,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			var d net.Dialer
			return d.DialContext(ctx, network, addr)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, dials
}

func get(t *testing.T, c *http.Client, url string) (*http.Response, string, error) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(iotest.HalfReader(resp.Body))
	return resp, string(body), err
}

// TestAnswers asks a server of net/http for bodies of every kind, one after the
// other, on as few connections as they allow.
func TestAnswers(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 20_000)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Asked", fmt.Sprintf("%s %s %d", r.Method, r.Header.Get("X-Mine"), len(body)))
		rc := http.NewResponseController(w)
		switch r.URL.Path {
		case "/sized":
			w.Header().Set("Content-Length", fmt.Sprint(len(long)))
			io.WriteString(w, long)
		case "/chunked":
			for i := 0; i < len(long); i += 997 {
				io.WriteString(w, long[i:min(i+997, len(long))])
				rc.Flush()
			}
		case "/trailer":
			w.Header().Set("Trailer", "X-End")
			io.WriteString(w, long)
			w.Header().Set("X-End", "1")
		case "/early":
			w.WriteHeader(http.StatusEarlyHints)
			io.WriteString(w, long)
		case "/close":
			w.Header().Set("Connection", "close")
			io.WriteString(w, long)
		case "/nothing":
			w.WriteHeader(http.StatusNoContent)
		case "/empty":
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer srv.Close()
	c, dials := client(t, srv.URL)
	for _, tt := range []struct {
		path   string
		status int
		want   string
		dials  int32
	}{
		{"/sized", 200, long, 1}, {"/chunked", 200, long, 1}, {"/trailer", 200, long, 1}, {"/early", 200, long, 1},
		{"/nothing", 204, "", 1}, {"/empty", 418, "", 1}, {"/close", 200, long, 1}, {"/sized", 200, long, 2},
	} {
		for _, send := range []string{"", long} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+tt.path, strings.NewReader(send))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Mine", "a")
			if tt.path == "/close" && send == "" {
				continue
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", tt.path, err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(body) != tt.want || resp.StatusCode != tt.status {
				t.Errorf("%s: %d, %d bytes, %v; want %d, %d bytes", tt.path, resp.StatusCode, len(body), err, tt.status, len(tt.want))
			}
			if asked := resp.Header.Get("X-Asked"); asked != fmt.Sprintf("POST a %d", len(send)) {
				t.Errorf("%s: the server was asked %q", tt.path, asked)
			}
			if n := dials.Load(); n != tt.dials {
				t.Errorf("%s: %d dials, want %d", tt.path, n, tt.dials)
			}
		}
	}
}

// says starts a server that answers each request of a connection with the next
// of some texts, and closes the connection behind the last.
func says(t *testing.T, answers ...string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for _, a := range answers {
					if _, err := http.ReadRequest(r); err != nil {
						return
					}
					io.WriteString(c, a)
				}
			})
		}
	})
	return "http://" + ln.Addr().String()
}

// TestOddAnswers reads what servers and bad lines send.
func TestOddAnswers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, tt := range []struct{ name, answer, body, err string }{
		{"to the end of the connection", ok + "\r\nabc", "abc", ""},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nabc", "abc", ""},
		{"bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", "abc", ""},
		{"more than was said", ok + "Content-Length: 3\r\n\r\nabcdef", "abc", ""},
		{"less than was said", ok + "Content-Length: 3\r\n\r\nab", "ab", "unexpected EOF"},
		{"a chunk with an extension", ok + "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n", "abc", ""},
		{"a chunk with a space behind its size", ok + "Transfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n", "abc", ""},
		{"a trailer", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\nC: d\r\n\r\n", "abc", ""},
		{"no last chunk", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "abc", "unexpected EOF"},
		{"a torn chunk", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", "abc", "unexpected EOF"},
		{"a chunk without a size", ok + "Transfer-Encoding: chunked\r\n\r\n\r\nabc", "", "framing"},
		{"a size that is none", ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\nabc", "", "framing"},
		{"a size below zero", ok + "Transfer-Encoding: chunked\r\n\r\n-1\r\nabc", "", "framing"},
		{"a size that no body has", ok + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc", "", "framing"},
		{"a chunk longer than its size", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", "ab", "framing"},
		{"an extension without end", ok + "Transfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("x", 1<<20), "", "framing"},
		{"an unknown encoding", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", "", "unsupported transfer encoding"},
		{"two lengths", ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "", "Content-Length"},
		{"no HTTP", "hello\r\n\r\n", "", "malformed"},
		{"a torn head", ok + "Content-", "", "unexpected EOF"},
		{"a head without end", ok + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 400), "", "longer than"},
		{"nothing", "", "", "instead of an answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := says(t, tt.answer)
			c, _ := client(t, base)
			_, body, err := get(t, c, base)
			if body != tt.body || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q, %v; want %q and an error with %q", body, err, tt.body, tt.err)
			}
		})
	}
}

// TestAConnectionThatClosesIsNotUsedAgain: the server has closed it while it
// was idle, or has said more than it was asked.
func TestAConnectionThatClosesIsNotUsedAgain(t *testing.T) {
	for _, rest := range []string{"", "HTTP/1.1 408 Request Timeout\r\n\r\n", "x"} {
		base := says(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"+rest)
		c, dials := client(t, base)
		for range 3 {
			if _, body, err := get(t, c, base); body != "ok" || err != nil {
				t.Fatalf("%q, %v", body, err)
			}
			gone(t, base) // a round trip: the end of the first connection has come, too
		}
		if n := dials.Load(); n != 3 {
			t.Errorf("%d dials for 3 answers followed by %q", n, rest)
		}
	}
}

// gone makes a request on a connection of its own.
func gone(t *testing.T, base string) {
	t.Helper()
	c, _ := client(t, base)
	if _, _, err := get(t, c, base); err != nil {
		t.Fatal(err)
	}
}

// TestAnEndingContextEndsEverything: a dial, the wait for the head, and the
// body.
func TestAnEndingContextEndsEverything(t *testing.T) {
	why := errors.New("why")
	arrived := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			io.WriteString(w, "a")
			http.NewResponseController(w).Flush()
		}
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer srv.Close()
	c, dials := client(t, srv.URL)
	for _, path := range []string{"/head", "/body"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-arrived
			cancel(why)
		}()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if !errors.Is(err, why) {
			t.Errorf("%s: %v, want the cause", path, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(req); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that had ended: %v", err)
	}
	if n := dials.Load(); n != 2 {
		t.Errorf("%d dials, want one for each request that began", n)
	}
}

// TestStreamsNeedNoGoroutines opens many streams and counts what runs for them.
func TestStreamsNeedNoGoroutines(t *testing.T) {
	const streams = 50
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "a")
		http.NewResponseController(w).Flush()
		<-release
	}))
	defer srv.Close()
	c, _ := client(t, srv.URL)
	var open []*http.Response
	for range streams {
		resp, err := c.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, resp)
	}
	buf := make([]byte, 1<<20)
	if stacks := string(buf[:runtime.Stack(buf, true)]); strings.Contains(stacks, "internal/h1.") {
		t.Errorf("something runs for streams that nobody reads:\n%.2000s", stacks)
	}
	close(release)
	for _, resp := range open {
		if body, err := io.ReadAll(resp.Body); string(body) != "a" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
		resp.Body.Close()
	}
}

// TestWhoStopsReadingIsHeard: a server that refuses a request before it has
// read it can still say why.
func TestWhoStopsReadingIsHeard(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
		c.(*net.TCPConn).CloseWrite()
		io.CopyN(io.Discard, c, 32<<20)
		c.Close()
	}()
	c, _ := client(t, "http://"+ln.Addr().String())
	resp, err := c.Post("http://"+ln.Addr().String(), "text/plain", strings.NewReader(strings.Repeat("x", 32<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// TestOtherHostsAreLeftToTheFallback, as is https.
func TestOtherHostsAreLeftToTheFallback(t *testing.T) {
	fallback := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r, Header: http.Header{"X-Url": {r.URL.String()}}}, nil
	})
	c := &http.Client{Transport: &h1.Transport{Host: "here", Fallback: fallback}}
	for _, url := range []string{"https://here/", "http://there/"} {
		resp, _, err := get(t, c, url)
		if err != nil || resp.Header.Get("X-Url") != url {
			t.Errorf("%s: %v", url, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
