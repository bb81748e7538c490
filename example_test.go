package eyrie_test

import (
	"fmt"

	"github.com/eyrie-ai/eyrie"
)

// What 60 million output tokens cost, exactly, and what one request holds.
func Example() {
	prompt, err := eyrie.ParsePrice("0.0000004")
	if err != nil {
		panic(err)
	}
	output, err := eyrie.ParsePrice("0.00000225")
	if err != nil {
		panic(err)
	}
	lane := &eyrie.Lane{Tag: "north/int4", PromptPrice: prompt, OutputPrice: output}

	fmt.Println(output.Times(60_000_000))
	fmt.Println(lane.WorstCase(1200, 8192))
	fmt.Println(lane.Cost(eyrie.Usage{Given: true, PromptTokens: 1187, CompletionTokens: 640}))

	// Output:
	// $135.00
	// $0.018912
	// $0.0019148
}

// A conversation of two questions is two generations; the second is built on
// what the model itself answered to the first.
func ExamplePrompt_Ask() {
	p := &eyrie.Prompt{Messages: []eyrie.Message{
		{Role: eyrie.User, Content: "Name a bird."},
		{Role: eyrie.Assistant, Content: "(the data set's answer, which is not used)"},
		{Role: eyrie.User, Content: "Where does it nest?"},
	}}
	fmt.Println(p.Turns(), "turns")
	ask, err := p.Ask(1, []*eyrie.Answer{{Content: "An eagle."}})
	if err != nil {
		panic(err)
	}
	for _, m := range ask {
		fmt.Printf("%s: %s\n", m.Role, m.Content)
	}

	// Output:
	// 2 turns
	// user: Name a bird.
	// assistant: An eagle.
	// user: Where does it nest?
}
