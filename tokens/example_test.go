package tokens_test

import (
	"fmt"
	"log"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/tokens"
)

// A row of an answer that came as text. Its ids are certified because both of
// its counts are those of the bill.
func Example() {
	tmpl, err := chat.LoadFS(folder(`{"model_type": "kimi_k25"}`), "kimi")
	if err != nil {
		log.Fatal(err)
	}
	r, err := tokens.New(kimiToy, tmpl) // a *tokenizer.Tokenizer in real life
	if err != nil {
		log.Fatal(err)
	}
	g := &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: "Who sat?"}}}
	a := &eyrie.Answer{
		Reasoning:    "The cat sat.",
		Content:      "The cat.",
		FinishReason: eyrie.FinishStop,
		Usage:        eyrie.Usage{Given: true, PromptTokens: 24, CompletionTokens: 9, ReasoningTokens: -1},
	}
	row, err := r.Row(g, true, a)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(row.Known)
	fmt.Println(row.CompletionIDs)

	a.Usage.CompletionTokens = 12
	row, err = r.Row(g, true, a)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(row.Known, row.Reason)
	// Output:
	// counted
	// [256 257 258 259 1011 256 257 259 1000]
	// mismatch completion: 9 tokens by our count, 12 billed (+3)
}
