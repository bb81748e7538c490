package plan_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/plan"
)

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

// job makes a forecast on lanes of which nothing but the price is known.
func job(left eyrie.Money, sets []plan.SetInput, lanes ...*eyrie.Lane) plan.Input {
	in := plan.Input{Sets: sets, Left: left, MaxTokens: 1000, Concurrency: 10, Fit: plan.FitProportion}
	for _, l := range lanes {
		in.Lanes = append(in.Lanes, plan.LaneInput{Lane: l})
	}
	return in
}

func TestForecastOfASet(t *testing.T) {
	l := lane(t, "0.000001", "0.000002", "0.0000001")
	for _, tt := range []struct {
		name string
		in   plan.SetInput
		want plan.SetForecast // without its input and its lanes
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
			f := plan.Make(job(eyrie.Dollar, []plan.SetInput{tt.in}, l))
			got := f.Sets[0]
			if got.Worst < got.Expected {
				t.Errorf("at most %s, and expected are %s", got.Worst, got.Expected)
			}
			parts := eyrie.Money(0)
			for _, p := range got.Lanes {
				parts += p.Expected
			}
			if parts != got.Expected || f.Expected != got.Expected || f.Low != got.Low || f.Worst != got.Worst {
				t.Errorf("the sums do not agree: %+v", f)
			}
			got.SetInput, got.Lanes, got.Worst = plan.SetInput{}, nil, 0
			if a, b := got, tt.want; a.ToGo != b.ToGo || a.Needed != b.Needed || a.Short != b.Short || a.PromptToGo != b.PromptToGo ||
				a.Low != b.Low || a.Expected != b.Expected || a.InBudget != b.InBudget {
				t.Errorf("forecast\n%+v, want\n%+v", a, b)
			}
		})
	}
}

// TestWorstIsAtTheDearestLane: the first lane takes all, and the worst is what
// the dearest would take, with what failures cost.
func TestWorstIsAtTheDearestLane(t *testing.T) {
	cheap, dear := lane(t, "0.000001", "0.000002", ""), lane(t, "0.000003", "0.000004", "0.000000001")
	sets := []plan.SetInput{
		{Target: 1000, Generations: 100, PromptTokens: 50, OutputTokens: 100},
		{Target: 500, Generations: 100, PromptTokens: 20, OutputTokens: 50},
	}
	f := plan.Make(job(eyrie.Dollar, sets, cheap, dear))
	const million = 1_000_000
	if want := eyrie.Money((500 + 200 + 2*1500) * million); f.Expected != want || f.Low != want {
		t.Errorf("expected %s, at least %s; want %s for both: no price of a cached prompt is known", f.Expected, f.Low, want)
	}
	if want := eyrie.Money((3*700+4*1500)*million) * 101 / 100; f.Worst != want {
		t.Errorf("at most %s, want %s", f.Worst, want)
	}
}

// TestTiersPriceLongPrompts: a prompt beyond a tier costs that tier's price.
func TestTiersPriceLongPrompts(t *testing.T) {
	l := lane(t, "0.000001", "0.000002", "")
	high := lane(t, "0.000003", "0.000005", "")
	l.Tiers = []eyrie.Tier{{MinPrompt: 200, PromptPrice: high.PromptPrice, OutputPrice: high.OutputPrice}}
	set := plan.SetInput{Target: 1000, Generations: 100, PromptTokens: 300, OutputTokens: 100}
	f := plan.Make(job(eyrie.Dollar, []plan.SetInput{set}, l))
	if want := eyrie.Money((3*3000 + 5*1000) * 1_000_000); f.Expected != want {
		t.Errorf("expected %s, want %s", f.Expected, want)
	}
}

// TestFeesAndReasoningArePriced: a request's own price counts for every one, and
// of the prices of reasoning and answer the dearer one.
func TestFeesAndReasoningArePriced(t *testing.T) {
	l := lane(t, "0", "0.000001", "")
	l.ReasoningPrice, l.RequestPrice = lane(t, "0.000003", "", "").PromptPrice, lane(t, "0.01", "", "").PromptPrice
	f := plan.Make(job(100*eyrie.Dollar, []plan.SetInput{{Target: 1000, Generations: 100, PromptTokens: 50, OutputTokens: 100}}, l))
	if want := 10*eyrie.Dollar/100 + 3*eyrie.Dollar/1000; f.Expected != want {
		t.Errorf("expected %s, want %s", f.Expected, want)
	}
	fee := lane(t, "0", "0", "")
	fee.RequestPrice = l.RequestPrice
	f = plan.Make(job(eyrie.Dollar/20, []plan.SetInput{{Target: 1000, Generations: 100, PromptTokens: 50, OutputTokens: 100}}, fee))
	if f.Made != 0 || f.Affordable() || f.Tokens != 500 || f.Missing() != eyrie.Dollar/20 {
		t.Errorf("a lane that charges for nothing but requests: %d made, %d of %d tokens, %s missing", f.Made, f.Tokens, f.ToGo, f.Missing())
	}
}

// TestAnswersAskedForAgain are paid for twice, once at the length of the cap, and
// take the time of it.
func TestAnswersAskedForAgain(t *testing.T) {
	l := lane(t, "0.000001", "0.000002", "")
	for _, tt := range []struct {
		name string
		in   plan.SetInput
		cut  float64
	}{
		{"by their mean", plan.SetInput{OutputTokens: 500}, math.Exp(-2)},
		{"as measured", plan.SetInput{OutputTokens: 500, Source: plan.FromRun, Cut: 0.25}, 0.25},
		{"a guess is no measurement", plan.SetInput{OutputTokens: 500, Source: plan.FromSet, Cut: 0.25}, math.Exp(-2)},
		{"none is cut", plan.SetInput{OutputTokens: 500, Source: plan.FromRun}, 0},
	} {
		tt.in.Target, tt.in.Generations, tt.in.PromptTokens = 500_000, 2000, 100
		in := job(100*eyrie.Dollar, []plan.SetInput{tt.in}, l)
		once := plan.Make(in)
		in.AskAgain = true
		again := plan.Make(in)
		if s := again.Sets[0]; math.Abs(s.Cut-tt.cut) > 1e-9 || once.Sets[0].Cut != 0 || s.Needed != 1000 || again.Tokens != 500_000 || again.Lanes[0].Tokens != 500_000 {
			t.Errorf("%s: cut %v, then %v; %d needed for %d tokens", tt.name, once.Sets[0].Cut, s.Cut, s.Needed, again.Tokens)
		}
		// 1000 prompts of 100 tokens, and 1000 completions at the cap, for each cut.
		more := eyrie.Money(tt.cut * (1000*100*1 + 1000*1000*2) * 1_000_000)
		if got := again.Expected - once.Expected; got < more*99/100 || got > more*102/100 {
			t.Errorf("%s: %s more, want %s", tt.name, got, more)
		}
		if tt.cut > 0 && (again.Finish <= once.Finish || again.Worst <= once.Worst) {
			t.Errorf("%s: done in %v after %v, at worst %s after %s", tt.name, again.Finish, once.Finish, again.Worst, once.Worst)
		}
		in.Left = once.Expected
		if short := plan.Make(in); tt.cut > 0 && (short.Affordable() || short.Missing() == 0) {
			t.Errorf("%s: the money for once is taken to reach", tt.name)
		}
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
		binds    plan.Binding
	}{
		{"money for all", 10 * one, 10, plan.BindsConcurrency},
		{"money for more, not for the dear lane first", 1000 * one, 10, plan.BindsConcurrency},
		{"money for a few", 4*one - 1, 3, plan.BindsMoney},
		{"money for none", one - 1, 0, plan.BindsMoney},
		{"no money", 0, 0, plan.BindsMoney},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := plan.Make(job(tt.left, sets, l, dear))
			if f.InFlight != tt.inFlight || f.Exposure != one*eyrie.Money(tt.inFlight) || f.Binds != tt.binds {
				t.Errorf("%d in flight hold %s, bound by %s; want %d holding %s, bound by %s", f.InFlight, f.Exposure, f.Binds, tt.inFlight, one*eyrie.Money(tt.inFlight), tt.binds)
			}
		})
	}
	t.Run("a lane that holds more than its share comes later", func(t *testing.T) {
		f := plan.Make(job(10*one, sets, dear, l))
		if f.Lanes[0].AtOnce != 0 || f.Lanes[1].AtOnce != 10 {
			t.Errorf("%d at once on the dear lane and %d on the other", f.Lanes[0].AtOnce, f.Lanes[1].AtOnce)
		}
	})
	t.Run("lanes that are known to take less", func(t *testing.T) {
		in := job(1000*one, sets, l, dear)
		in.Lanes[0].Slots, in.Lanes[1].Slots = 3, 2
		f := plan.Make(in)
		if f.Lanes[0].AtOnce != 3 || f.Lanes[1].AtOnce != 2 || f.Binds != plan.BindsLanes {
			t.Errorf("%d and %d at once, bound by %s", f.Lanes[0].AtOnce, f.Lanes[1].AtOnce, f.Binds)
		}
	})
	t.Run("a server of one's own", func(t *testing.T) {
		f := plan.Make(job(0, sets, lane(t, "0", "0", "")))
		if f.InFlight != 10 || f.Exposure != 0 || !f.Affordable() || f.Expected != 0 {
			t.Errorf("%d in flight hold %s, affordable %v; want 10 holding nothing", f.InFlight, f.Exposure, f.Affordable())
		}
	})
	t.Run("dearer than any amount", func(t *testing.T) {
		in := job(eyrie.MaxMoney-1, sets, lane(t, "1e6", "1e6", ""))
		in.MaxTokens = math.MaxInt
		f := plan.Make(in)
		if f.InFlight != 0 || f.Exposure != 0 || f.Affordable() {
			t.Errorf("%d in flight hold %s, affordable %v; want none", f.InFlight, f.Exposure, f.Affordable())
		}
	})
}

func TestABudgetIsDivided(t *testing.T) {
	l := lane(t, "0", "0.000001", "")
	sets := []plan.SetInput{
		{Target: 1_000_000, Generations: 100_000, OutputTokens: 100},
		{Target: 1_400_000, Have: 1_200_000, Generations: 100_000, OutputTokens: 100},
	}
	for _, tt := range []struct {
		fit         plan.Fit
		left        eyrie.Money
		first, next int64
	}{
		{plan.FitFail, eyrie.Dollar * 6 / 10, 500_000, 100_000},
		{plan.FitProportion, eyrie.Dollar * 6 / 10, 500_000, 100_000},
		{plan.FitSets, eyrie.Dollar * 6 / 10, 600_000, 0},
		{plan.FitLongest, eyrie.Dollar * 6 / 10, 400_000, 200_000},
		{plan.FitSets, eyrie.Dollar * 11 / 10, 1_000_000, 100_000},
		{plan.FitProportion, eyrie.Dollar * 12 / 10, 1_000_000, 200_000},
	} {
		in := job(tt.left, sets, l)
		in.Fit = tt.fit
		f := plan.Make(in)
		if f.Sets[0].InBudget != tt.first || f.Sets[1].InBudget != tt.next {
			t.Errorf("%s with %s buys %d and %d tokens, want %d and %d", tt.fit, tt.left, f.Sets[0].InBudget, f.Sets[1].InBudget, tt.first, tt.next)
		}
		if enough := tt.left == eyrie.Dollar*12/10; f.Affordable() != enough || f.Missing() > 0 == enough {
			t.Errorf("%s with %s: affordable %v, %s missing", tt.fit, tt.left, f.Affordable(), f.Missing())
		}
	}
}

// TestTogether is a job for a server of one's own and an API: all is done
// soonest, for no more than the budget, and with a deadline for no more than
// it takes.
func TestTogether(t *testing.T) {
	own := plan.LaneInput{Lane: lane(t, "0", "0", ""), Slots: 100, Speed: 10, Wait: 1} // 1,000 tokens a second
	api := plan.LaneInput{Lane: lane(t, "0", "0.000002", ""), Slots: 1000, Speed: 9, Wait: 1}
	own.Lane.Tag, api.Lane.Tag = "own", "api"
	const million = 1_000_000
	in := plan.Input{
		Sets:  []plan.SetInput{{Target: 60 * million, Generations: million, OutputTokens: 1000}},
		Lanes: []plan.LaneInput{own, api}, Left: 100 * eyrie.Dollar, MaxTokens: 2000, Concurrency: 2000,
	}
	for _, tt := range []struct {
		name         string
		budget       eyrie.Money
		deadline     time.Duration
		bought, made int64 // in millions
		finish, late time.Duration
	}{
		{"money for all that is wanted", 1000 * eyrie.Dollar, 0, 54, 6, 6000 * time.Second, 0},
		{"the money ends first", 80 * eyrie.Dollar, 0, 40, 20, 20000 * time.Second, 0},
		{"no money", 0, 0, 0, 60, 60000 * time.Second, 0},
		{"a deadline that needs a part", 1000 * eyrie.Dollar, 20000 * time.Second, 40, 20, 20000 * time.Second, 0},
		{"a deadline that needs nothing", 1000 * eyrie.Dollar, 70000 * time.Second, 0, 60, 60000 * time.Second, 0},
		{"a deadline beyond the money", 80 * eyrie.Dollar, 10000 * time.Second, 40, 20, 20000 * time.Second, 10000 * time.Second},
		{"a deadline beyond the lanes", 1000 * eyrie.Dollar, 3000 * time.Second, 54, 6, 6000 * time.Second, 3000 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := in
			in.Left, in.Deadline = tt.budget, tt.deadline
			f := plan.Make(in)
			near := func(a, b time.Duration) bool { return (a - b).Abs() < time.Second }
			if f.Bought != tt.bought*million || f.Made != tt.made*million || !near(f.Finish, tt.finish) || !near(f.Late, tt.late) {
				t.Errorf("%d bought, %d made in %s, late by %s; want %dM, %dM, %s, %s", f.Bought, f.Made, f.Finish, f.Late, tt.bought, tt.made, tt.finish, tt.late)
			}
			if want := eyrie.Money(tt.bought) * 2 * eyrie.Dollar; f.Expected != want || f.Expected > tt.budget {
				t.Errorf("expected %s, want %s", f.Expected, want)
			}
			if !f.Affordable() {
				t.Error("a lane that costs nothing finishes any job")
			}
		})
	}
}

// TestForecastsAddUp: whatever is asked, the parts are the whole, nothing is
// negative, and no more is planned than there is money for.
func TestForecastsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in plan.Input
		for range rapid.IntRange(1, 5).Draw(t, "sets") {
			in.Sets = append(in.Sets, plan.SetInput{
				Target: rapid.Int64Range(0, 50_000_000).Draw(t, "target"), Have: rapid.Int64Range(0, 10_000_000).Draw(t, "have"),
				Generations: rapid.IntRange(0, 100_000).Draw(t, "generations"), Done: rapid.IntRange(0, 1000).Draw(t, "done"),
				PromptTokens: rapid.Float64Range(0, 5000).Draw(t, "prompt"), OutputTokens: rapid.Float64Range(0, 5000).Draw(t, "output"),
			})
		}
		prices := []string{"0", "0.0000001", "0.000001", "0.00002"}
		for range rapid.IntRange(1, 4).Draw(t, "lanes") {
			l := new(eyrie.Lane)
			for _, p := range []*eyrie.Price{&l.PromptPrice, &l.OutputPrice} {
				v, err := eyrie.ParsePrice(rapid.SampledFrom(prices).Draw(t, "price"))
				if err != nil {
					t.Fatal(err)
				}
				*p = v
			}
			in.Lanes = append(in.Lanes, plan.LaneInput{
				Lane: l, Slots: rapid.IntRange(0, 500).Draw(t, "slots"), Speed: rapid.Float64Range(0, 100).Draw(t, "speed"),
				Cached: rapid.Float64Range(0, 1).Draw(t, "cached"), Waste: rapid.Float64Range(0, 0.5).Draw(t, "waste"),
			})
		}
		in.Left = eyrie.Money(rapid.Int64Range(0, int64(100*eyrie.Dollar)).Draw(t, "left"))
		in.MaxTokens = rapid.IntRange(1, 10_000).Draw(t, "max_tokens")
		in.Concurrency = rapid.IntRange(1, 3000).Draw(t, "concurrency")
		in.Fit = plan.Fit(rapid.IntRange(0, 3).Draw(t, "fit"))
		in.Deadline = time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "deadline"))
		f := plan.Make(in)

		var toGo, inBudget, tokens, inFlight int64
		for _, s := range f.Sets {
			toGo += s.ToGo - s.Short
			inBudget += s.InBudget
			if s.InBudget < 0 || s.InBudget > s.ToGo || s.Short < 0 || s.Low > s.Expected || s.Expected > s.Worst {
				t.Fatalf("a set's forecast does not hold together: %+v", s)
			}
		}
		for i := range f.Lanes {
			tokens += f.Lanes[i].Tokens
			inFlight += int64(f.Lanes[i].AtOnce)
		}
		if f.ToGo != toGo || f.Tokens > toGo || inBudget > f.Tokens || f.Tokens-inBudget > int64(len(f.Sets)) {
			t.Fatalf("%d to go by sets and %d in all; %d in budget by sets and %d in all", toGo, f.ToGo, inBudget, f.Tokens)
		}
		if d := tokens - f.Tokens; d < -8 || d > 8 {
			t.Fatalf("the lanes bring %d and the job has %d", tokens, f.Tokens)
		}
		if f.Exposure > f.Left || inFlight != int64(f.InFlight) || f.InFlight > in.Concurrency || f.Finish < 0 || f.Late < 0 {
			t.Fatalf("%d in flight of %d hold %s of %s, done in %s", f.InFlight, in.Concurrency, f.Exposure, f.Left, f.Finish)
		}
		if f.Low > f.Expected || f.Expected > f.Worst {
			t.Fatalf("low %s, expected %s, worst %s", f.Low, f.Expected, f.Worst)
		}
	})
}
