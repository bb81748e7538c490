package tokens_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/eyrie-ai/eyrie"
)

// TestRowConcurrently makes the same rows from many goroutines; the race
// detector watches.
func TestRowConcurrently(t *testing.T) {
	r := toyRebuilder(t)
	a := &eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"}
	a.Usage = bill(t, r, question, true, "The cat sat.</think>The cat."+imEnd, 5)
	want, err := r.Row(question, true, a)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				got, err := r.Row(question, true, a)
				if err != nil || got.Known != want.Known || !slices.Equal(got.CompletionIDs, want.CompletionIDs) {
					t.Errorf("%+v, %v; want %+v", got, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}
