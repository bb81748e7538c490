package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestMayCut checks that the quick answer is never wrong: a text it lets pass
// is one chunk.
func TestMayCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	units := []string{"x", "的", "🙂", " ", "\u3000", "\xe4", "\xff", "\u001c", "é"}
	passed, cut := 0, 0
	for range 400 {
		var b strings.Builder
		for range 1 + rng.IntN(4) {
			b.WriteString(strings.Repeat("a b\u3000的", rng.IntN(4000)))
			unit := units[rng.IntN(len(units))]
			n := maxRun - 30 + rng.IntN(60)
			if rng.IntN(3) == 0 {
				n = rng.IntN(maxRun)
			}
			b.WriteString(strings.Repeat(unit, n))
		}
		text := b.String()
		whole := new(chunker).next(text, 0) == len(text)
		switch {
		case mayCut(text):
			cut++
		case !whole:
			t.Fatalf("a text of %d bytes is cut", len(text))
		default:
			passed++
		}
	}
	if passed == 0 || cut == 0 {
		t.Errorf("%d texts passed, %d did not: want some of both", passed, cut)
	}
}
