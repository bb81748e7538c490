package openrouter_test

import (
	"net/http/httptest"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/internal/enginetest"
)

func TestContract(t *testing.T) {
	vocabulary, _ := enginetest.Kimi(t)
	vendor, err := emulator.New(emulator.Config{Vocabulary: vocabulary, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(vendor)
	defer server.Close()
	client := func(url string) *openrouter.Client {
		c, err := openrouter.New(openrouter.Config{BaseURL: url + "/api/v1", Key: testKey, MaxStreams: 32})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	c := client(server.URL)
	cat, err := c.Endpoints(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	var lane *eyrie.Lane
	for _, l := range cat.Lanes {
		if l.Tag == atlas {
			lane = l
		}
	}
	enginetest.Run(t, enginetest.Subject{Engine: c, Model: model, Lane: lane, Unreachable: client(enginetest.Nowhere(t))})
}
