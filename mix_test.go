package eyrie_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/eyrie-ai/eyrie"
)

func threeParts(seed int64) *eyrie.Mix {
	return &eyrie.Mix{Seed: seed, Parts: []eyrie.Part{
		{Weight: 5, Sampling: eyrie.Sampling{MaxTokens: 100, Thinking: true}},
		{Weight: 2, Sampling: eyrie.Sampling{MaxTokens: 300}},
		{Weight: 3, Sampling: eyrie.Sampling{MaxTokens: 200}},
	}}
}

// TestMix draws for many prompts and samples: each part is taken as often as
// its weight says, whichever of them is counted over.
func TestMix(t *testing.T) {
	m := threeParts(7)
	if m.MaxTokens() != 300 {
		t.Errorf("the longest is %d", m.MaxTokens())
	}
	const n = 20_000
	for name, pick := range map[string]func(i int) eyrie.Sampling{
		"prompts": func(i int) eyrie.Sampling {
			var d eyrie.Digest
			binary.LittleEndian.PutUint64(d[:], uint64(i))
			return m.Pick(d, 0)
		},
		"samples": func(i int) eyrie.Sampling { return m.Pick(eyrie.Digest{1}, i) },
		"seeds":   func(i int) eyrie.Sampling { return threeParts(int64(i)).Pick(eyrie.Digest{1}, 0) },
	} {
		count := map[int]float64{}
		for i := range n {
			count[pick(i).MaxTokens]++
		}
		for i := range m.Parts {
			p := &m.Parts[i]
			want := n * float64(p.Weight) / 10
			if got := count[p.Sampling.MaxTokens]; math.Abs(got-want) > 5*math.Sqrt(want) {
				t.Errorf("over %s, the part of weight %d is taken %v times of %d, want about %v", name, p.Weight, got, n, want)
			}
		}
	}
}

// A run goes on by what it draws: should this change, runs would ask for other
// rows than those they have.
func TestMixStaysWhatItIs(t *testing.T) {
	m := threeParts(-3)
	got := ""
	for i := range 40 {
		got += string("0123"[m.Pick(eyrie.Digest{byte(i)}, i%3).MaxTokens/100])
	}
	if want := "2223121321121132221112111112311211111122"; got != want {
		t.Errorf("it draws %s, and drew %s", got, want)
	}
}

func TestMixOfOne(t *testing.T) {
	m := &eyrie.Mix{Parts: []eyrie.Part{{Weight: 1, Sampling: eyrie.Sampling{MaxTokens: 5}}}}
	if got := m.Pick(eyrie.Digest{1}, 2).MaxTokens; got != 5 {
		t.Errorf("it picks %d", got)
	}
}
