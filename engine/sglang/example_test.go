package sglang_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/sglang"
)

// One attempt. The server here is a stand-in that always says the same.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"id":"a1","model":"kimi","choices":[{"index":0,"message":{"content":"Four."},"finish_reason":"stop","token_ids":[14397,163586],"prompt_token_ids":[163587,2482]}],"usage":{"prompt_tokens":2,"completion_tokens":2}}`)
	}))
	defer server.Close()
	client, err := sglang.New(sglang.Config{BaseURL: server.URL, Model: "kimi"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	request := &eyrie.Request{
		Generation: &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: "Two and two?"}}},
		Sampling:   eyrie.Sampling{MaxTokens: 64},
		Lane:       &eyrie.Lane{Tag: "rack1", PromptPrice: eyrie.Free, OutputPrice: eyrie.Free},
	}
	for ev, err := range client.Stream(context.Background(), request) {
		if ev.Kind != eyrie.Ended {
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.Answer.Content, ev.Answer.Usage.CompletionTokens, "tokens")
		fmt.Println(ev.Answer.CompletionIDs)
	}
	// Output:
	// Four. 2 tokens
	// [14397 163586]
}
