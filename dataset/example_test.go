package dataset_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/eyrie-ai/eyrie/dataset"
)

func Example() {
	const file = `{"id":"greet","conversations":[{"from":"human","value":"Say hello."},{"from":"gpt","value":"Hello."}]}
{"conversations":[{"from":"narrator","value":"Night fell."}]}
{"id":"sum","conversations":[{"from":"human","value":"What is 2+2?"}]}
`
	set, err := dataset.Open(dataset.Source{
		Set:  "small",
		Path: "small.jsonl",
		// Without this function Path is opened.
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(file)), nil },
	}, dataset.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for p, err := range set.Prompts() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s asks for %d answers, first to %q\n", p.ID, p.Turns(), p.Messages[0].Content)
	}
	fmt.Print(set.Report())
	// Output:
	// greet asks for 1 answers, first to "Say hello."
	// sum asks for 1 answers, first to "What is 2+2?"
	// small: 2 of 3 rows kept, 2 turns, layout sharegpt
	//   1 left out: role
	//     small.jsonl:2: conversations[0]: unknown role "narrator"
}
