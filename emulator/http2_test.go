package emulator_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/emulator"
)

// http2 runs a server that speaks HTTP/2 over TLS.
func http2(t *testing.T, change func(*emulator.Scenario)) (*emulator.Server, *httptest.Server) {
	t.Helper()
	scenario := emulator.DefaultScenario()
	change(&scenario)
	s, err := emulator.New(emulator.Config{Vocabulary: smallVocabulary(), Seed: 7, Scenario: &scenario})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(s)
	web.EnableHTTP2 = true
	web.StartTLS()
	t.Cleanup(web.Close)
	return s, web
}

// TestGoAway has many streams on one connection when a reply asks to leave it:
// all of them end well, and later requests use another connection.
func TestGoAway(t *testing.T) {
	s, web := http2(t, func(s *emulator.Scenario) {
		s.Timing.TTFT = 50 * time.Millisecond
		s.Faults = []emulator.Fault{{Kind: "goaway", Requests: []int{20}}}
	})
	var mu sync.Mutex
	connections := map[string]bool{}
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		mu.Lock()
		defer mu.Unlock()
		connections[i.Conn.LocalAddr().String()] = true
	}}
	ask40 := func() {
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				res, err := post(t, httptrace.WithClientTrace(t.Context(), trace), web, ask("hello", pinned+`"stream":true,`))
				if err != nil {
					t.Error(err)
					return
				}
				defer res.Body.Close()
				if h := read(t, res); !h.done || h.err != nil || res.ProtoMajor != 2 {
					t.Errorf("HTTP/%d, done %v, %v", res.ProtoMajor, h.done, h.err)
				}
			})
		}
		wg.Wait()
	}
	// The first connection is made before the others want one, so that they share it.
	chat(t, web, ask("first", pinned))
	ask40()
	ask40()
	if n := len(connections); n < 2 {
		t.Errorf("%d connections: nobody left the first", n)
	}
	if got := s.Totals().Outcomes[emulator.Completed]; got != 81 {
		t.Errorf("%d of 81 completed", got)
	}
}

// TestStreamReset resets one HTTP/2 stream; the connection lives on.
func TestStreamReset(t *testing.T) {
	_, web := http2(t, func(s *emulator.Scenario) {
		s.Faults = []emulator.Fault{{Kind: "reset", After: 40, Requests: []int{1}}}
	})
	h := chat(t, web, ask("hello", pinned+`"stream":true,`))
	if h.err == nil || !strings.Contains(h.err.Error(), "stream error") || h.content+h.reasoning == "" {
		t.Errorf("reading ended with %v", h.err)
	}
	if h := chat(t, web, ask("hello", pinned+`"stream":true,`)); !h.done {
		t.Errorf("the next stream: %v", h.err)
	}
}

// TestCleartextHTTP2 shows that the handler needs no TLS for HTTP/2.
func TestCleartextHTTP2(t *testing.T) {
	scenario := emulator.DefaultScenario()
	s, err := emulator.New(emulator.Config{Vocabulary: smallVocabulary(), Scenario: &scenario})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(s)
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	defer web.Close()
	transport := &http.Transport{Protocols: web.Config.Protocols, TLSClientConfig: &tls.Config{}}
	defer transport.CloseIdleConnections()
	web.Client().Transport = transport
	if h := chat(t, web, ask("hello", pinned+`"stream":true,`)); !h.done {
		t.Errorf("status %d: %v", h.status, h.err)
	}
}
