package plan_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/eyrie-ai/eyrie/plan"
)

func always(int) bool { return true }

func TestNext(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sets  []plan.Share
		ready func(int) bool
		want  int
	}{
		{"no sets", nil, always, -1},
		{"the one that lags most", []plan.Share{{100, 50, 0}, {100, 40, 0}, {100, 60, 0}}, always, 1},
		{"in proportion to its target", []plan.Share{{1000, 600, 0}, {10, 5, 0}}, always, 1},
		{"the first of two that lag alike", []plan.Share{{100, 50, 0}, {100, 50, 0}}, always, 0},
		{"what is under way counts", []plan.Share{{100, 0, 60}, {100, 50, 0}}, always, 1},
		{"met", []plan.Share{{100, 100, 0}, {100, 200, 0}}, always, -1},
		{"under way may be enough", []plan.Share{{100, 10, 90}}, always, -1},
		{"no target", []plan.Share{{0, 0, 0}, {-5, 0, 0}}, always, -1},
		{"not ready", []plan.Share{{100, 0, 0}, {100, 50, 0}}, func(i int) bool { return i == 1 }, 1},
		{"none ready", []plan.Share{{100, 0, 0}}, func(int) bool { return false }, -1},
		{"ready, and lacks nothing", []plan.Share{{100, 0, 0}, {100, 100, 0}}, func(i int) bool { return i == 1 }, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := plan.FitProportion.Next(tt.sets, tt.ready); got != tt.want {
				t.Errorf("Next = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestMet(t *testing.T) {
	for _, tt := range []struct {
		share plan.Share
		want  bool
	}{
		{plan.Share{Target: 100, Have: 99, Running: 50}, false}, // under way is not there
		{plan.Share{Target: 100, Have: 100}, true},
		{plan.Share{Target: 100, Have: 101}, true},
		{plan.Share{}, true},
	} {
		if got := tt.share.Met(); got != tt.want {
			t.Errorf("%+v is met: %v, want %v", tt.share, got, tt.want)
		}
	}
}

// TestSetsKeepEquallyFar works on sets of any sizes with answers of any length
// and may stop at any moment: then no two sets are further apart than one
// answer of each, as a part of its target.
func TestSetsKeepEquallyFar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := make([]plan.Share, rapid.IntRange(1, 8).Draw(t, "sets"))
		largest := make([]float64, len(sets)) // answer, as a part of the target
		for i := range sets {
			sets[i].Target = rapid.Int64Range(1, 1_000_000).Draw(t, "target")
		}
		for range rapid.IntRange(0, 200).Draw(t, "generations") {
			i := plan.FitProportion.Next(sets, always)
			if i < 0 {
				break
			}
			tokens := rapid.Int64Range(1, 5000).Draw(t, "tokens")
			if rapid.Bool().Draw(t, "under way") {
				sets[i].Running += tokens
			} else {
				sets[i].Have += tokens
			}
			largest[i] = max(largest[i], float64(tokens)/float64(sets[i].Target))
		}
		for i, a := range sets {
			for _, b := range sets {
				if apart := min(1, far(a)) - min(1, far(b)); apart > largest[i]+1e-9 {
					t.Fatalf("one set is at %.4f and another at %.4f, and its largest answer is %.4f of its target", far(a), far(b), largest[i])
				}
			}
		}
	})
}

func far(s plan.Share) float64 { return float64(s.Have+s.Running) / float64(s.Target) }

// TestWorkEndsWhenTheTargetsAreMet: served by Next, every set comes to its
// target and none goes on beyond it.
func TestWorkEndsWhenTheTargetsAreMet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := make([]plan.Share, rapid.IntRange(1, 5).Draw(t, "sets"))
		for i := range sets {
			sets[i].Target = rapid.Int64Range(0, 2000).Draw(t, "target")
		}
		for i := plan.FitProportion.Next(sets, always); i >= 0; i = plan.FitProportion.Next(sets, always) {
			if sets[i].Met() {
				t.Fatalf("set %d is met and is worked on: %+v", i, sets[i])
			}
			sets[i].Have += rapid.Int64Range(1, 900).Draw(t, "tokens")
		}
		for i, s := range sets {
			if !s.Met() {
				t.Fatalf("work ended with set %d at %+v", i, s)
			}
		}
	})
}

// TestSetsAreFilledWhole: the other ways fill one set before the next, and
// work ends with at most one set between empty and full.
func TestSetsAreFilledWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fit := rapid.SampledFrom([]plan.Fit{plan.FitSets, plan.FitLongest}).Draw(t, "fit")
		sets := make([]plan.Share, rapid.IntRange(1, 6).Draw(t, "sets"))
		for i := range sets {
			sets[i].Target = rapid.Int64Range(1, 5000).Draw(t, "target")
		}
		for range rapid.IntRange(0, 60).Draw(t, "generations") {
			i := fit.Next(sets, always)
			if i < 0 {
				break
			}
			sets[i].Have += rapid.Int64Range(1, 900).Draw(t, "tokens")
			for j, other := range sets {
				first := j < i
				if fit == plan.FitLongest {
					first = other.Target > sets[i].Target || other.Target == sets[i].Target && j < i
				}
				if first && !other.Met() {
					t.Fatalf("%s serves set %d of %+v while set %d before it lacks something", fit, i, sets, j)
				}
			}
		}
		begun := 0
		for _, s := range sets {
			if s.Have > 0 && !s.Met() {
				begun++
			}
		}
		if begun > 1 {
			t.Fatalf("%s leaves %d sets half full: %+v", fit, begun, sets)
		}
	})
}

func TestFitsHaveNames(t *testing.T) {
	for _, name := range plan.Fits() {
		f, err := plan.ParseFit(name)
		if err != nil || f.String() != name {
			t.Errorf("%s reads as %s, %v", name, f, err)
		}
	}
	if _, err := plan.ParseFit("longest"); err == nil {
		t.Error("a name there is not reads")
	}
}
