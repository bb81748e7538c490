package tokens_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/tokens"
)

// FuzzRow holds every row of text against what its class promises: the ids
// spell the answer, and those of a counted row have the counts of the bill.
func FuzzRow(f *testing.F) {
	f.Add("The cat", "The", "functions.f:0", `{"a": 1}`, 20, 3, uint8(2), true)
	f.Add("The cat.", "", "", "", 4, -1, uint8(0), true)
	f.Add("", "The</think>\ufffd", "", "", 0, 0, uint8(1), false)
	habits := tokens.Habits{tokens.LineAfterReasoning: 0.3, tokens.ReasoningOpen: 0.2, tokens.EndUnbilled: 0.4}
	f.Fuzz(func(t *testing.T, reasoning, content, id, arguments string, billed, counted int, finish uint8, thinking bool) {
		reasons := []eyrie.FinishReason{eyrie.FinishStop, eyrie.FinishLength, eyrie.FinishToolCalls}
		a := &eyrie.Answer{Reasoning: reasoning, Content: content, FinishReason: reasons[int(finish)%len(reasons)]}
		if id != "" {
			a.ToolCalls = []eyrie.ToolCall{{ID: id, Name: "f", Arguments: arguments}}
		}
		base := toyRebuilder(t)
		a.Usage = bill(t, base, question, thinking, "", counted)
		a.Usage.CompletionTokens = billed
		for _, r := range []*tokens.Rebuilder{base, base.With(habits).Confident(0.3)} {
			row, err := r.Row(question, thinking, a)
			if err != nil {
				t.Fatal(err)
			}
			spelled, err := kimiToy.Decode(nil, row.CompletionIDs)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(spelled, []byte(reasoning)) || !bytes.Contains(spelled, []byte(content)) {
				t.Fatalf("%q does not spell %+v", spelled, a)
			}
			ended := bytes.HasSuffix(spelled, []byte(imEnd))
			if stopped := a.FinishReason != eyrie.FinishLength; stopped && !ended {
				t.Fatalf("%q has no end", spelled)
			}
			if row.Known != eyrie.KnownCounted {
				continue
			}
			n := len(row.CompletionIDs)
			if n != billed && !(ended && n == billed+1 && strings.Contains(row.Reason, tokens.EndUnbilled.String())) {
				t.Fatalf("counted, but %d ids where %d were billed", n, billed)
			}
		}
	})
}
