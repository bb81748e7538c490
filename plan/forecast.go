package plan

import "github.com/eyrie-ai/eyrie"

// SetInput is what is known of a data set before it is worked on.
type SetInput struct {
	Name   string
	Target int64 // output tokens wanted
	Have   int64 // output tokens there are, seeds included
	// Generations is how many the set's prompts can give in all, turns and
	// samples counted, and Done how many of them are made.
	Generations int
	Done        int
	// PromptTokens and OutputTokens are the means of one generation.
	PromptTokens float64
	OutputTokens float64
}

// SetForecast is what a data set will take.
type SetForecast struct {
	SetInput
	ToGo       int64 // output tokens
	Needed     int   // generations for that
	Short      int64 // output tokens that its prompts cannot give
	PromptToGo int64 // prompt tokens
	Low        eyrie.Money
	Expected   eyrie.Money
	InBudget   int64 // output tokens the budget buys for it, in proportion
}

// Forecast is what a job will take. Expected is at the price of the main lane,
// Low the same with every prompt cached, High at the dearest lane.
type Forecast struct {
	Sets     []SetForecast
	Lanes    []*eyrie.Lane
	Main     *eyrie.Lane // the one that most of the work will go to
	Left     eyrie.Money // what the budget has left
	Low      eyrie.Money
	Expected eyrie.Money
	High     eyrie.Money
	// Exposure is what is held at most for requests in flight, and InFlight is
	// how many the money left allows at once on the lane that holds least.
	Exposure eyrie.Money
	InFlight int
}

// Affordable reports whether the expected cost fits what is left.
func (f *Forecast) Affordable() bool { return f.Expected <= f.Left }

// Make forecasts a job on lanes, which stand in order of preference and of
// which there is at least one.
func Make(sets []SetInput, lanes []*eyrie.Lane, left eyrie.Money, maxTokens, concurrency int) *Forecast {
	longest := 0.0
	for _, in := range sets {
		longest = max(longest, in.PromptTokens)
	}
	f := &Forecast{Lanes: lanes, Left: left, Main: mainLane(lanes, int(longest), maxTokens, left/eyrie.Money(max(1, concurrency)))}
	for _, in := range sets {
		s := forecastSet(in, f.Main)
		f.Sets = append(f.Sets, s)
		f.Low = f.Low.Add(s.Low)
		f.Expected = f.Expected.Add(s.Expected)
		high := s.Expected
		for _, l := range lanes {
			high = max(high, cost(l, l.PromptPrice, s.PromptToGo, s.ToGo-s.Short))
		}
		f.High = f.High.Add(high)
	}
	f.exposure(lanes, int(longest), maxTokens, concurrency)
	f.divide()
	return f
}

// mainLane is the lane that most of the work will go to: the first that holds no
// more for a request than its share of the money, or the one that holds least.
func mainLane(lanes []*eyrie.Lane, prompt, maxTokens int, share eyrie.Money) *eyrie.Lane {
	best := lanes[0]
	for _, l := range lanes {
		hold := l.WorstCase(prompt, maxTokens)
		if hold <= share {
			return l
		}
		if hold < best.WorstCase(prompt, maxTokens) {
			best = l
		}
	}
	return best
}

func forecastSet(in SetInput, l *eyrie.Lane) SetForecast {
	s := SetForecast{SetInput: in, ToGo: max(0, in.Target-in.Have)}
	if in.OutputTokens > 0 {
		s.Needed = int(float64(s.ToGo)/in.OutputTokens + 0.999)
		if most := max(0, in.Generations-in.Done); s.Needed > most {
			s.Short = s.ToGo - int64(float64(most)*in.OutputTokens)
			s.Needed = most
		}
	}
	s.PromptToGo = int64(float64(s.Needed) * in.PromptTokens)
	cached := l.CachedPrice
	if !cached.Known() {
		cached = l.PromptPrice
	}
	s.Low = cost(l, cached, s.PromptToGo, s.ToGo-s.Short)
	s.Expected = cost(l, l.PromptPrice, s.PromptToGo, s.ToGo-s.Short)
	return s
}

func cost(l *eyrie.Lane, prompt eyrie.Price, in, out int64) eyrie.Money {
	return prompt.Times(int(in)).Add(l.OutputPrice.Times(int(out)))
}

// exposure finds how many requests the money allows at once on the lane that
// holds least, and what they hold.
func (f *Forecast) exposure(lanes []*eyrie.Lane, prompt, maxTokens, concurrency int) {
	one := eyrie.MaxMoney
	for _, l := range lanes {
		one = min(one, l.WorstCase(prompt, maxTokens))
	}
	f.InFlight = concurrency
	if one > 0 && int64(f.Left/one) < int64(concurrency) {
		f.InFlight = int(f.Left / one)
	}
	f.Exposure = one * eyrie.Money(f.InFlight)
}

// divide says what the budget buys for each set when all keep equally far.
func (f *Forecast) divide() {
	share := 1.0
	if f.Expected > f.Left && f.Expected > 0 {
		share = float64(f.Left) / float64(f.Expected)
	}
	for i := range f.Sets {
		s := &f.Sets[i]
		s.InBudget = int64(share * float64(s.ToGo-s.Short))
	}
}
