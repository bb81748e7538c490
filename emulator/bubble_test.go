package emulator_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/internal/memnet"
)

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
	network := memnet.New()
	web := &http.Server{Handler: s}
	go web.Serve(network)
	transport := &http.Transport{DialContext: network.Dial}
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
