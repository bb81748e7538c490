package emulator_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/eyrie-ai/eyrie/emulator"
)

// A test asks a vendor whose endpoint turns every prompt away once, and then
// reads in the books what really happened.
func Example() {
	scenario := emulator.DefaultScenario()
	scenario.Faults = []emulator.Fault{{Kind: "rate_limit", RetryAfter: "2", Attempts: 1}}
	vendor, err := emulator.New(emulator.Config{
		Vocabulary: smallVocabulary(), // a test of token ids sets VocabularyPath to the real file
		Seed:       1,
		Balance:    "5.00",
		Scenario:   &scenario,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer vendor.Close()
	web := httptest.NewServer(vendor)
	defer web.Close()

	for range 2 {
		body := `{"model":"moonshotai/kimi-k2.5","max_tokens":40,"provider":{"only":["novita"]},"messages":[{"role":"user","content":"Hello!"}]}`
		request, _ := http.NewRequest("POST", web.URL+"/api/v1/chat/completions", strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer sk-or-v1-any")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			fmt.Println(err)
			return
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}

	for _, e := range vendor.Books() {
		fmt.Println(e.Status, e.Outcome, e.Endpoint, len(e.CompletionIDs), "tokens,", e.Cost, "picodollars")
	}
	// Output:
	// 429 refused novita 0 tokens, 0 picodollars
	// 200 completed novita 40 tokens, 127110000 picodollars
}

// A scenario file changes only what it names.
func ExampleParseScenario() {
	scenario, err := emulator.ParseScenario([]byte(`
timing: {ttft: 800ms, token_rate: 45}
endpoints:
  "*": {rpm: 50}
faults:
  - {kind: eof, after: 30, rate: 0.01}
`))
	fmt.Println(scenario.Timing.TTFT, scenario.Text.MedianTokens, scenario.Faults[0].Kind, err)

	_, err = emulator.ParseScenario([]byte("faults: [{kind: eof, rate: 3}]"))
	fmt.Println(err)
	// Output:
	// 800ms 300 eof <nil>
	// faults[0]: rate is 3, must be between 0 and 1
}
