package emulator_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/eyrie-ai/eyrie/emulator"
)

// pipes is a network in memory, so that a server and its clients live in one
// bubble of deterministic time.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "memory"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bubble runs a server inside the synctest bubble of the caller.
func bubble(t *testing.T, change func(*emulator.Config, *emulator.Scenario)) (*emulator.Server, *http.Client) {
	t.Helper()
	scenario := emulator.DefaultScenario()
	config := emulator.Config{Vocabulary: smallVocabulary(), Seed: 7, Scenario: &scenario}
	change(&config, &scenario)
	s, err := emulator.New(config)
	if err != nil {
		t.Fatal(err)
	}
	network := &pipes{make(chan net.Conn), make(chan struct{})}
	web := &http.Server{Handler: s}
	go web.Serve(network)
	transport := &http.Transport{DialContext: network.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		web.Close()
		network.Close()
		synctest.Wait()
	})
	return s, &http.Client{Transport: transport}
}

// send asks inside a bubble and reads the reply to its end.
func send(t *testing.T, client *http.Client, body string, header ...string) *heard {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://vendor/api/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-or-v1-test")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(r)
	if err != nil {
		return &heard{err: err}
	}
	defer res.Body.Close()
	return read(t, res)
}

// fetch gets a page inside a bubble.
func fetch(t *testing.T, client *http.Client, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://vendor/api/v1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-or-v1-test")
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
