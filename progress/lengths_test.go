package progress_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/progress"
)

// TestLengths compares quantiles and means with those of the lengths themselves.
func TestLengths(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, most := range []int{1, 7, 40, 3000, 1 << 20} {
		s := newStory()
		var want []int
		for i := range int64(2000) {
			n := 1 + rng.IntN(most)
			want = append(want, n)
			set, lane := "x", "a"
			if i%4 == 0 {
				lane = "b"
			}
			end := answered(i, byte(i), set, lane, 5)
			end.Usage = eyrie.Usage{Given: true, CompletionTokens: n}
			end.OK = i%3 > 0
			s.tell(end)
		}
		slices.Sort(want)
		here, all := s.state.Lengths("x", "a")
		if here.Seen() != 1500 || all.Seen() != 2000 {
			t.Fatalf("up to %d: %d and %d were seen", most, here.Seen(), all.Seen())
		}
		for _, q := range []float64{0.01, 0.5, 0.95, 1} {
			got, exact := all.Quantile(q), want[max(0, int(q*2000)-1)]
			if got < exact || got > exact+exact/8 {
				t.Errorf("up to %d: the quantile %v is %d, want %d or an eighth more", most, q, got, exact)
			}
		}
		for _, from := range []int{0, want[1000], want[1990]} {
			i, _ := slices.BinarySearch(want, from)
			sum := 0
			for _, n := range want[i:] {
				sum += n
			}
			mean := sum / len(want[i:])
			longer := all.Beyond(from)
			if got := longer.Mean(); got < mean-mean/8 || got > mean+mean/8+1 {
				t.Errorf("up to %d: beyond %d they come to %d, want about %d", most, from, got, mean)
			}
			if got, exact := longer.Quantile(1), want[1999]; got < exact || got > exact+exact/8 {
				t.Errorf("up to %d: the longest beyond %d is %d, want %d", most, from, got, exact)
			}
		}
		if longer := all.Beyond(4 * most); longer.Seen() != 0 || longer.Mean() != 0 {
			t.Errorf("%d answers had %d tokens", longer.Seen(), 4*most)
		}
	}
	if here, all := progress.New().Lengths("x", "a"); here.Seen()+all.Seen()+all.Quantile(0.9)+all.Mean() != 0 {
		t.Error("something is known of no answers")
	}
}
