package plan_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/eyrie-ai/eyrie"
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
			if got := plan.Next(tt.sets, tt.ready); got != tt.want {
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
			i := plan.Next(sets, always)
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
		for i := plan.Next(sets, always); i >= 0; i = plan.Next(sets, always) {
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

func lane(t testing.TB, prompt, output, cached string) *eyrie.Lane {
	t.Helper()
	l := &eyrie.Lane{Tag: "lane"}
	for s, p := range map[*string]*eyrie.Price{&prompt: &l.PromptPrice, &output: &l.OutputPrice, &cached: &l.CachedPrice} {
		if *s == "" {
			continue
		}
		v, err := eyrie.ParsePrice(*s)
		if err != nil {
			t.Fatal(err)
		}
		*p = v
	}
	return l
}

func TestForecastOfASet(t *testing.T) {
	l := lane(t, "0.000001", "0.000002", "0.0000001")
	for _, tt := range []struct {
		name string
		in   plan.SetInput
		want plan.SetForecast // without its input
	}{
		{
			"from nothing",
			plan.SetInput{Target: 1000, Generations: 100, PromptTokens: 50, OutputTokens: 100},
			plan.SetForecast{ToGo: 1000, Needed: 10, PromptToGo: 500, Low: 50_000_000 + 2_000_000_000, Expected: 500_000_000 + 2_000_000_000, InBudget: 1000},
		},
		{
			"half way",
			plan.SetInput{Target: 1000, Have: 500, Generations: 100, Done: 5, PromptTokens: 50, OutputTokens: 100},
			plan.SetForecast{ToGo: 500, Needed: 5, PromptToGo: 250, Low: 25_000_000 + 1_000_000_000, Expected: 250_000_000 + 1_000_000_000, InBudget: 500},
		},
		{
			"a part of a generation is one",
			plan.SetInput{Target: 101, Generations: 100, PromptTokens: 0, OutputTokens: 100},
			plan.SetForecast{ToGo: 101, Needed: 2, Low: 202_000_000, Expected: 202_000_000, InBudget: 101},
		},
		{
			"too few prompts",
			plan.SetInput{Target: 1000, Generations: 6, Done: 2, PromptTokens: 50, OutputTokens: 100},
			plan.SetForecast{ToGo: 1000, Needed: 4, Short: 600, PromptToGo: 200, Low: 20_000_000 + 800_000_000, Expected: 200_000_000 + 800_000_000, InBudget: 400},
		},
		{
			"used up",
			plan.SetInput{Target: 1000, Have: 300, Generations: 3, Done: 3, PromptTokens: 50, OutputTokens: 100},
			plan.SetForecast{ToGo: 700, Short: 700},
		},
		{
			"more is done than there are prompts",
			plan.SetInput{Target: 1000, Have: 300, Generations: 3, Done: 5, PromptTokens: 50, OutputTokens: 100},
			plan.SetForecast{ToGo: 700, Short: 700},
		},
		{
			"met",
			plan.SetInput{Target: 1000, Have: 1200, Generations: 100, Done: 12, PromptTokens: 50, OutputTokens: 100},
			plan.SetForecast{},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.SetInput = tt.in
			f := plan.Make([]plan.SetInput{tt.in}, []*eyrie.Lane{l}, eyrie.Dollar, 1000, 10)
			if got := f.Sets[0]; got != tt.want {
				t.Errorf("forecast\n%+v, want\n%+v", got, tt.want)
			}
			if f.Low != tt.want.Low || f.Expected != tt.want.Expected || f.High != tt.want.Expected {
				t.Errorf("in all %s, %s, %s; want %s, %s, and the same again", f.Low, f.Expected, f.High, tt.want.Low, tt.want.Expected)
			}
		})
	}
}

func TestForecastOfSeveralLanes(t *testing.T) {
	cheap := lane(t, "0.000001", "0.000002", "")
	dear := lane(t, "0.000003", "0.000004", "0.000000001")
	sets := []plan.SetInput{
		{Target: 1000, Generations: 100, PromptTokens: 50, OutputTokens: 100},
		{Target: 500, Generations: 100, PromptTokens: 20, OutputTokens: 50},
	}
	f := plan.Make(sets, []*eyrie.Lane{cheap, dear}, eyrie.Dollar, 1000, 10)
	const million = 1_000_000
	if want := eyrie.Money((500 + 200 + 2*1500) * million); f.Expected != want || f.Low != want {
		t.Errorf("expected %s, at least %s; want %s for both: no price of a cached prompt is known", f.Expected, f.Low, want)
	}
	if want := eyrie.Money((3*700 + 4*1500) * million); f.High != want {
		t.Errorf("at most %s, want %s", f.High, want)
	}
}

func TestExposure(t *testing.T) {
	l := lane(t, "0.000001", "0.000002", "")
	dear := lane(t, "0.000010", "0.000020", "")
	sets := []plan.SetInput{
		{Target: 1_000_000, Generations: 1_000_000, PromptTokens: 40, OutputTokens: 100},
		{Target: 1_000_000, Generations: 1_000_000, PromptTokens: 100, OutputTokens: 100},
	}
	one := l.WorstCase(100, 1000)
	for _, tt := range []struct {
		name     string
		left     eyrie.Money
		inFlight int
	}{
		{"money for all", 10 * one, 10},
		{"money for more", 1000 * one, 10},
		{"money for a few", 4*one - 1, 3},
		{"money for none", one - 1, 0},
		{"no money", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := plan.Make(sets, []*eyrie.Lane{dear, l}, tt.left, 1000, 10)
			if f.InFlight != tt.inFlight || f.Exposure != one*eyrie.Money(tt.inFlight) {
				t.Errorf("%d in flight hold %s; want %d holding %s", f.InFlight, f.Exposure, tt.inFlight, one*eyrie.Money(tt.inFlight))
			}
		})
	}
	t.Run("a server of one's own", func(t *testing.T) {
		f := plan.Make(sets, []*eyrie.Lane{lane(t, "0", "0", "")}, 0, 1000, 10)
		if f.InFlight != 10 || f.Exposure != 0 || !f.Affordable() {
			t.Errorf("%d in flight hold %s, affordable %v; want 10 holding nothing", f.InFlight, f.Exposure, f.Affordable())
		}
	})
	t.Run("dearer than any amount", func(t *testing.T) {
		f := plan.Make(sets, []*eyrie.Lane{lane(t, "1e6", "1e6", "")}, eyrie.MaxMoney-1, math.MaxInt, 10)
		if f.InFlight != 0 || f.Exposure != 0 || f.Affordable() {
			t.Errorf("%d in flight hold %s, affordable %v; want none", f.InFlight, f.Exposure, f.Affordable())
		}
	})
}

func TestABudgetIsDividedInProportion(t *testing.T) {
	l := lane(t, "0", "0.000001", "")
	sets := []plan.SetInput{
		{Target: 1_000_000, Generations: 100_000, OutputTokens: 100},
		{Target: 200_000, Have: 100_000, Generations: 100_000, OutputTokens: 100},
	}
	f := plan.Make(sets, []*eyrie.Lane{l}, eyrie.Dollar*11/20, 1000, 10) // half of what it takes
	if f.Affordable() {
		t.Errorf("%s is affordable with %s", f.Expected, f.Left)
	}
	if f.Sets[0].InBudget != 500_000 || f.Sets[1].InBudget != 50_000 {
		t.Errorf("the budget buys %d and %d tokens, want 500000 and 50000", f.Sets[0].InBudget, f.Sets[1].InBudget)
	}
	exact := plan.Make(sets, []*eyrie.Lane{l}, eyrie.Dollar*11/10, 1000, 10)
	if !exact.Affordable() || exact.Sets[0].InBudget != 1_000_000 || exact.Sets[1].InBudget != 100_000 {
		t.Errorf("with exactly enough: affordable %v, %d and %d tokens", exact.Affordable(), exact.Sets[0].InBudget, exact.Sets[1].InBudget)
	}
}
