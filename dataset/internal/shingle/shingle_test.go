package shingle_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/dataset/internal/shingle"
)

// twins are two texts of n words that differ in the given number of words at
// the end of one, and how alike they are by counting shingles.
func twins(rnd *rand.Rand, n, differ int) (a, b string, alike float64) {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", rnd.IntN(1<<30))
	}
	other := append([]string{}, words...)
	for i := range differ {
		other[n-1-i] = fmt.Sprintf("x%d", rnd.IntN(1<<30))
	}
	shingles := n - shingle.Size + 1
	common := shingles - differ
	return strings.Join(words, " "), strings.Join(other, " "), float64(common) / float64(2*shingles-common)
}

// TestIndexFindsByLikeness holds what the index finds against counted shingles.
func TestIndexFindsByLikeness(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	tests := []struct {
		differ      int
		least, most float64 // of 200 pairs, the share that is found
	}{
		{0, 1, 1},      // alike
		{2, 0.97, 1},   // by 0.96
		{20, 0, 0.35},  // by 0.66
		{50, 0, 0.001}, // by 0.33
	}
	for _, tt := range tests {
		found, sum := 0, 0.0
		for range 200 {
			a, b, alike := twins(rnd, 102, tt.differ)
			x := shingle.NewIndex(0.75)
			x.Add(a)
			if _, share, ok := x.Add(b); ok {
				found++
				sum += share - alike
			}
		}
		if share := float64(found) / 200; share < tt.least || share > tt.most {
			t.Errorf("of pairs that differ in %d words %.3f are found, want %.3f to %.3f", tt.differ, share, tt.least, tt.most)
		}
		if found > 100 && (sum/float64(found) > 0.03 || sum/float64(found) < -0.03) {
			t.Errorf("estimates are off by %.3f on average", sum/float64(found))
		}
	}
}

func TestIndex(t *testing.T) {
	x := shingle.NewIndex(0.8)
	for _, tt := range []struct {
		text  string
		like  int
		found bool
	}{
		{"Write a poem about the sea.", 0, false},
		{"write a POEM, about the sea", 0, true},
		{"Write a poem about the mountains.", 1, false},
		{"", 0, false},
		{"!?", 0, false},
		{"Hi", 2, false},
		{"hi!", 2, true},
		{"写一首关于大海的诗", 3, false},
		{"写一首关于大海的诗。", 3, true},
	} {
		if like, _, found := x.Add(tt.text); found != tt.found || like != tt.like {
			t.Errorf("%q: %d, %v; want %d, %v", tt.text, like, found, tt.like, tt.found)
		}
	}
}

func TestSet(t *testing.T) {
	s := shingle.NewSet(8)
	s.Add("one two three four five six seven eight nine ten", 0)
	s.Add("alpha beta gamma delta epsilon zeta", 1)
	s.Add("say hello", 2)
	s.Add("", 3)
	if s.Len() != 3+1+1 {
		t.Errorf("%d runs", s.Len())
	}
	for _, tt := range []struct {
		text   string
		number int
		found  bool
	}{
		{"… TWO three, four five six seven eight nine …", 0, true},
		{"two three four five six seven eight", 0, false}, // seven words
		{"x alpha beta gamma delta epsilon zeta y", 1, true},
		{"alpha beta gamma delta epsilon", 0, false},
		{"Say: hello!", 2, true},
		{"do say hello", 0, false},
		{"", 0, false},
	} {
		if n, found := s.Find(tt.text); found != tt.found || n != tt.number {
			t.Errorf("%q: %d, %v; want %d, %v", tt.text, n, found, tt.number, tt.found)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 10)
	b.SetBytes(int64(len(text)))
	x := shingle.NewIndex(1)
	for b.Loop() {
		x.Add(text)
	}
}
