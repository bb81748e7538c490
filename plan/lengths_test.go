package plan_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/plan"
)

// TestLengthsEarlyInARun looks at a run at moments when most of its answers
// are still being written: the mean of those that have ended is far too low,
// and the estimate is near the truth.
func TestLengthsEarlyInARun(t *testing.T) {
	const speed = 40.0 // tokens a second
	for _, tt := range []struct {
		name    string
		seconds float64                  // into the run
		draw    func(*rand.Rand) float64 // seconds
	}{
		{"exponential", 60, func(r *rand.Rand) float64 { return 20 * r.ExpFloat64() }},
		{"exponential, in the first round", 25, func(r *rand.Rand) float64 { return 20 * r.ExpFloat64() }},
		{"log-normal", 60, func(r *rand.Rand) float64 { return 20 * math.Exp(0.7*r.NormFloat64()) }},
		{"log-normal, in the first round", 25, func(r *rand.Rand) float64 { return 20 * math.Exp(0.5*r.NormFloat64()) }},
		{"two kinds", 60, func(r *rand.Rand) float64 {
			if r.IntN(2) == 0 {
				return 5 + r.Float64()
			}
			return 40 + 10*r.Float64()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			const slots = 500
			truth, n := 0.0, 200_000
			for range n {
				truth += tt.draw(r) * speed / float64(n)
			}
			var l plan.Lengths
			naive, ended := 0.0, 0
			for range slots { // each slot writes one answer after the other
				for at := 0.0; at < tt.seconds; {
					took := tt.draw(r)
					if at+took > tt.seconds {
						l.Going(span(tt.seconds - at))
						break
					}
					at += took
					l.Ended(span(took), int(took*speed))
					naive += took * speed
					ended++
				}
			}
			naive /= float64(ended)
			if off := l.Mean()/truth - 1; math.Abs(off) > 0.06 {
				t.Errorf("estimated %.0f tokens where it is %.0f: off by %.1f %%", l.Mean(), truth, 100*off)
			}
			if naive > 0.95*truth {
				t.Errorf("the mean of those that ended is %.0f of %.0f: this test shows nothing", naive, truth)
			}
		})
	}
}

func span(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func TestLengths(t *testing.T) {
	var l plan.Lengths
	if l.Mean() != 0 || l.N() != 0 {
		t.Errorf("nothing has a mean of %v", l.Mean())
	}
	l.Going(time.Second)
	if l.Mean() != 0 {
		t.Errorf("nothing that ended has a mean of %v", l.Mean())
	}
	l = plan.Lengths{}
	l.Ended(time.Second, 10)
	l.Ended(3*time.Second, 50)
	if l.Mean() != 30 || l.N() != 2 {
		t.Errorf("the mean of 10 and 50 is %v", l.Mean())
	}
	l.Ended(0, 0)
	l.Going(0)
	if m := l.Mean(); math.IsNaN(m) || m < 0 {
		t.Errorf("with times of nothing the mean is %v", m)
	}
}
