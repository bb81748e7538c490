package openrouter_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// One attempt at one answer, against a server that plays the vendor.
func ExampleClient_Stream() {
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Generation-Id", "gen-1")
		io.WriteString(w, ": OPENROUTER PROCESSING\n\n")
		for _, members := range []string{
			`"choices":[{"index":0,"delta":{"content":"","reasoning":"Rayleigh."}}]`,
			`"choices":[{"index":0,"delta":{"content":"It scatters."}}]`,
			`"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]`,
			`"choices":[],"usage":{"prompt_tokens":14,"completion_tokens":8,"cost":0.0000268}`,
		} {
			fmt.Fprintf(w, "data: {\"model\":\"moonshotai/kimi-k2.5\",\"provider\":\"AtlasCloud\",%s}\n\n", members)
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer vendor.Close()

	client, err := openrouter.New(openrouter.Config{BaseURL: vendor.URL, Key: "sk-or-v1-example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	catalogue, err := openrouter.ParseEndpoints([]byte(`{"data":{"id":"moonshotai/kimi-k2.5","endpoints":[{
		"name":"AtlasCloud | moonshotai/kimi-k2.5-0127","provider_name":"AtlasCloud","tag":"atlas-cloud/int4","quantization":"int4",
		"pricing":{"prompt":"0.00000049","completion":"0.0000025"}}]}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &eyrie.Request{
		Generation: &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: "Why is the sky blue?"}}},
		Model:      catalogue.Model, Lane: catalogue.Lanes[0],
		Sampling: eyrie.Sampling{MaxTokens: 4096, Thinking: true},
	}
	for event, err := range client.Stream(context.Background(), request) {
		switch event.Kind {
		case eyrie.Opened:
			fmt.Println("opened", event.ID)
		case eyrie.Ended:
			a := event.Answer
			fmt.Printf("%q after %q, for %s, error: %v\n", a.Content, a.Reasoning, a.Cost, err)
		}
	}
	// Output:
	// opened gen-1
	// "It scatters." after "Rayleigh.", for $0.0000268, error: <nil>
}
