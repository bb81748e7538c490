package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/eyrie-ai/eyrie"
)

// Source says what a number rests on.
type Source string

// The sources of the length of answers and of the speed of lanes, best first.
const (
	FromRun   Source = "this run"        // measured on its answers
	FromSet   Source = "its own answers" // the data set's
	FromList  Source = "list"            // the vendor's list of endpoints
	FromJob   Source = "job file"
	FromPrior Source = "prior" // a stated guess
)

// SetInput is what is known of a data set before it is worked on.
type SetInput struct {
	Name   string `json:"name"`
	Target int64  `json:"target"` // output tokens wanted
	Have   int64  `json:"have"`   // output tokens there are, seeds included
	Seeded int64  `json:"seeded"` // of those, the ones that came from elsewhere
	// Generations is how many the set's prompts can give in all, turns and
	// samples counted, and Done how many of them are made.
	Generations int `json:"generations"`
	Done        int `json:"done"`
	// TooLong is how many more there would be if a lane had room for their
	// prompts. The longest prompt that one takes has LongestPrompt tokens.
	TooLong       int `json:"too_long,omitzero"`
	LongestPrompt int `json:"longest_prompt,omitzero"`
	// PromptTokens and OutputTokens are the means of one generation to come.
	PromptTokens float64 `json:"prompt_tokens"`
	OutputTokens float64 `json:"output_tokens"`
	Source       Source  `json:"output_from"` // of OutputTokens
	// Cut is the part of answers that the cap cuts off, where those are asked for
	// again. It is taken from OutputTokens unless the Source is the run.
	Cut float64 `json:"cut,omitzero"`
}

// LaneInput is a lane with what is known of its ways.
type LaneInput struct {
	Lane *eyrie.Lane
	// Slots is how many requests at once it takes; 0 when nobody knows, and
	// then it is taken to take all there are.
	Slots int
	Speed float64       // output tokens a second of one answer
	Wait  time.Duration // to its first token
	// Cached is the part of prompt tokens that is billed as cached.
	Cached float64
	// Waste is what failed attempts cost, as a part of what answers cost.
	Waste  float64
	Source Source // of Speed and Wait
}

// Input is what a forecast is made from.
type Input struct {
	Sets        []SetInput
	Lanes       []LaneInput // in order of preference; at least one
	Left        eyrie.Money // what the budget has left
	MaxTokens   int
	AskAgain    bool // an answer that MaxTokens cuts off is paid for and asked for again
	Concurrency int
	Fit         Fit
	Deadline    time.Duration // 0: as soon as can be
	// Hold is what is reserved for a request on a lane; nil is the worst case.
	Hold func(l *eyrie.Lane, promptTokens, maxTokens int) eyrie.Money
}

// SetForecast is what a data set will take.
type SetForecast struct {
	SetInput
	ToGo       int64       `json:"to_go"`        // output tokens
	Needed     int         `json:"needed"`       // generations for that
	Short      int64       `json:"short"`        // output tokens that its prompts cannot give
	PromptToGo int64       `json:"prompt_to_go"` // prompt tokens
	Low        eyrie.Money `json:"low"`          // with every prompt cached
	Expected   eyrie.Money `json:"expected"`
	Worst      eyrie.Money `json:"worst"`     // at the dearest lane, nothing cached
	InBudget   int64       `json:"in_budget"` // output tokens that will be had
	Lanes      []Part      `json:"lanes"`     // where they will be made
}

// Part is what one lane does of a set.
type Part struct {
	Lane     string      `json:"lane"`
	Tokens   int64       `json:"tokens"`
	Low      eyrie.Money `json:"low"`
	Expected eyrie.Money `json:"expected"`
	Worst    eyrie.Money `json:"worst"`
}

// LaneForecast is what a lane will do.
type LaneForecast struct {
	LaneInput
	AtOnce   int         // requests in flight
	Hold     eyrie.Money // what each of them may cost at the worst
	Rate     float64     // output tokens a second of all of them
	Tokens   int64       // output tokens it will bring
	Expected eyrie.Money // what they cost
	Works    time.Duration
}

// Binding says what keeps the number of requests in flight where it is.
type Binding string

// What can bind.
const (
	BindsConcurrency Binding = "concurrency"
	BindsMoney       Binding = "budget"
	BindsLanes       Binding = "lanes"
)

// Forecast is what a job will take.
type Forecast struct {
	Input
	Sets  []SetForecast
	Lanes []LaneForecast
	// ToGo is the output tokens that are wanted and that prompts can give, and
	// Tokens is how many of them will be had.
	ToGo, Tokens int64
	// Bought and Made are the parts of Tokens that cost money and that do not.
	Bought, Made int64
	// The money for ToGo: Low with every prompt cached, Worst at the dearest
	// lane. Where lanes that cost nothing take part, it is the money for Bought.
	Low, Expected, Worst eyrie.Money
	// InFlight is how many requests run at once and Exposure what they hold at
	// most; Binds says why there are no more.
	InFlight int
	Exposure eyrie.Money
	Binds    Binding
	// Finish is how long it takes, and Late by how much that misses the deadline.
	Finish, Late time.Duration
}

// Affordable reports whether all that is wanted will be had.
func (f *Forecast) Affordable() bool { return f.Tokens >= f.ToGo }

// Missing is the money that is not there for what is wanted.
func (f *Forecast) Missing() eyrie.Money {
	if f.Affordable() {
		return 0
	}
	return max(0, f.Expected-f.Left)
}

// Make forecasts a job.
func Make(in Input) *Forecast {
	f := &Forecast{Input: in}
	for _, s := range in.Sets {
		if s.Source != FromRun || !in.AskAgain {
			s.Cut = 0
			if in.AskAgain {
				s.Cut = priorCut(s.OutputTokens, in.MaxTokens)
			}
		}
		f.Sets = append(f.Sets, need(s))
		f.ToGo += f.Sets[len(f.Sets)-1].wanted()
	}
	f.fillLanes()
	f.split()
	f.price()
	f.divide()
	return f
}

// need finds what a set lacks and what its prompts can give of that.
func need(in SetInput) SetForecast {
	s := SetForecast{SetInput: in, ToGo: max(0, in.Target-in.Have)}
	if in.OutputTokens > 0 {
		s.Needed = int(math.Ceil(float64(s.ToGo)/in.OutputTokens - 1e-9))
		if most := max(0, in.Generations-in.Done); s.Needed > most {
			s.Short = s.ToGo - int64(float64(most)*in.OutputTokens)
			s.Needed = most
		}
	}
	s.PromptToGo = int64(float64(s.Needed) * in.PromptTokens)
	return s
}

// priorCut is the part of answers that is longer than a cap, by their mean: it
// takes their lengths to be spread as those of things that end by chance.
func priorCut(mean float64, maxTokens int) float64 {
	if mean <= 0 {
		return 0
	}
	return math.Exp(-float64(maxTokens) / mean)
}

// wanted is the output that is lacking and that the prompts can give.
func (s *SetForecast) wanted() int64 { return s.ToGo - s.Short }

// typical is the mean generation of what is to be done, and the longest mean
// prompt of a set.
func (f *Forecast) typical() (prompt, output, longest float64) {
	var n, in, out float64
	for _, s := range f.Sets {
		n += float64(s.Needed)
		in += float64(s.PromptToGo)
		out += float64(s.wanted())
		longest = max(longest, s.PromptTokens)
	}
	if n == 0 {
		return 0, 0, longest
	}
	return in / n, out / n, longest
}

// fillLanes puts requests on the lanes in their order, as many as the job
// wants and the money can be held for.
func (f *Forecast) fillLanes() {
	_, output, longest := f.typical()
	hold := f.Hold
	if hold == nil {
		hold = (*eyrie.Lane).WorstCase
	}
	for _, l := range f.Input.Lanes {
		f.Lanes = append(f.Lanes, LaneForecast{LaneInput: l, Hold: hold(l.Lane, int(longest), f.MaxTokens)})
	}
	// A lane that holds more than its share of the money for a request comes
	// after those that do not, as it does in a run.
	share := f.Left / eyrie.Money(max(1, f.Concurrency))
	order := make([]int, len(f.Lanes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		over := func(i int) eyrie.Money {
			if f.Lanes[i].Hold <= share {
				return 0
			}
			return f.Lanes[i].Hold
		}
		return cmp.Compare(over(a), over(b))
	})
	slots, money := f.Concurrency, f.Left
	f.Binds = BindsLanes
	for _, i := range order {
		l := &f.Lanes[i]
		n := slots
		if l.Slots > 0 {
			n = min(n, l.Slots)
		}
		if l.Hold > 0 && money/l.Hold < eyrie.Money(n) {
			n = int(money / l.Hold)
			f.Binds = BindsMoney
		}
		l.AtOnce = n
		slots -= n
		money -= l.Hold * eyrie.Money(n)
		f.InFlight += n
		l.rate(output)
	}
	f.Exposure = f.Left - money
	if slots == 0 {
		f.Binds = BindsConcurrency
	}
}

// rate finds what the lane brings in a second when answers have a length.
func (l *LaneForecast) rate(output float64) {
	if l.Speed <= 0 {
		l.Speed, l.Source = PriorSpeed, FromPrior
		if l.Wait == 0 {
			l.Wait = PriorWait
		}
	}
	if took := l.Wait.Seconds() + output/l.Speed; took > 0 {
		l.Rate = float64(l.AtOnce) * output / took
	}
}

// split finds how much each lane brings and how long that takes.
func (f *Forecast) split() {
	var free, paid, perToken float64
	for i := range f.Lanes {
		l := &f.Lanes[i]
		if l.Lane.Free() {
			free += l.Rate
			continue
		}
		paid += l.Rate
		perToken += l.Rate * f.perToken(l)
	}
	want := float64(f.ToGo)
	buy, buyable := 0.0, 0.0
	if paid > 0 {
		buy, buyable = want, math.Inf(1)
		if perToken /= paid; perToken > 0 {
			buyable = float64(f.Left) / perToken
		}
		if free > 0 {
			buy = want * paid / (paid + free)
			if f.Deadline > 0 {
				buy = min(buy, max(0, want-free*f.Deadline.Seconds()))
			}
		}
	}
	bought := min(buy, buyable)
	made := 0.0
	if free > 0 {
		made = want - bought
	}
	f.Bought, f.Made = int64(math.Round(bought)), int64(math.Round(made))
	f.Tokens = min(f.ToGo, f.Bought+f.Made)
	seconds, more := 0.0, 1.0
	if all := f.work(); all.brings > 0 { // what is cut off takes its time, too
		more = float64(all.out) / float64(all.brings)
	}
	for i := range f.Lanes {
		l := &f.Lanes[i]
		part, of := bought, paid
		if l.Lane.Free() {
			part, of = made, free
		}
		if of == 0 {
			continue
		}
		l.Tokens = int64(math.Round(part * l.Rate / of))
		l.Works = duration(more * part / of)
		seconds = max(seconds, more*part/of)
	}
	f.Finish = duration(seconds)
	if f.Deadline > 0 {
		f.Late = max(0, f.Finish-f.Deadline)
	}
}

func duration(seconds float64) time.Duration {
	if seconds >= math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(seconds * 1e9)
}

// perToken is what an output token costs on a lane, its prompt included, in
// the smallest unit of money.
func (f *Forecast) perToken(l *LaneForecast) float64 {
	all := f.work()
	if all.brings == 0 {
		return 0
	}
	return float64(f.cost(&l.LaneInput, all, l.Cached, l.Waste)) / float64(all.brings)
}

// work is what is to be paid for: requests, and tokens of prompts and of
// completions, and how many of those it brings.
type work struct{ requests, in, out, brings int64 }

// work is all that the sets lack.
func (f *Forecast) work() (all work) {
	for i := range f.Sets {
		w := f.part(&f.Sets[i], 1)
		all = work{all.requests + w.requests, all.in + w.in, all.out + w.out, all.brings + w.brings}
	}
	return all
}

// part is a part of what a set lacks. What is cut off is paid for once more, at
// the length of the cap.
func (f *Forecast) part(s *SetForecast, share float64) work {
	of := func(n float64) int64 { return int64(share * n) }
	again, wanted := float64(s.Needed)*s.Cut, float64(s.wanted())
	return work{
		of(float64(s.Needed) + again), of(float64(s.PromptToGo) * (1 + s.Cut)), of(wanted + again*float64(f.MaxTokens)), of(wanted),
	}
}

// cost prices work on a lane. How much of it is reasoning nobody knows: where
// that has a price of its own, the dearer one counts for all.
func (f *Forecast) cost(l *LaneInput, w work, cached, waste float64) eyrie.Money {
	prompt, _, _ := f.typical()
	r := l.Lane.Rates(int(prompt))
	hit := int64(float64(w.in) * cached)
	m := r.PromptPrice.Times(int(w.in - hit)).Add(r.CachedPrice.Times(int(hit))).Add(r.CompletionPrice().Times(int(w.out))).
		Add(r.RequestPrice.Times(int(w.requests)))
	return scale(m, 1+waste)
}

func scale(m eyrie.Money, by float64) eyrie.Money {
	if v := float64(m) * by; v < float64(eyrie.MaxMoney) {
		return eyrie.Money(v)
	}
	return eyrie.MaxMoney
}

// price finds the money of each set on each lane.
func (f *Forecast) price() {
	weights := f.weights()
	for i := range f.Sets {
		s := &f.Sets[i]
		for j, w := range weights {
			if w == 0 {
				continue
			}
			l := &f.Lanes[j].LaneInput
			part := f.part(s, w)
			p := Part{
				Lane: l.Lane.Tag, Tokens: part.brings,
				Low: f.cost(l, part, 1, 0), Expected: f.cost(l, part, l.Cached, l.Waste), Worst: f.dearest(l, part),
			}
			p.Low, p.Worst = min(p.Low, p.Expected), max(p.Worst, p.Expected)
			s.Lanes = append(s.Lanes, p)
			s.Low, s.Expected, s.Worst = s.Low.Add(p.Low), s.Expected.Add(p.Expected), s.Worst.Add(p.Worst)
			f.Lanes[j].Expected = f.Lanes[j].Expected.Add(p.Expected)
		}
		f.Low, f.Expected, f.Worst = f.Low.Add(s.Low), f.Expected.Add(s.Expected), f.Worst.Add(s.Worst)
	}
}

// dearest prices work of a lane as the dearest one would, nothing cached. What
// costs nothing stays where it is.
func (f *Forecast) dearest(on *LaneInput, w work) eyrie.Money {
	if on.Lane.Free() {
		return 0
	}
	var worst eyrie.Money
	for i := range f.Lanes {
		l := &f.Lanes[i].LaneInput
		worst = max(worst, f.cost(l, w, 0, max(l.Waste, PriorWaste)))
	}
	return worst
}

// weights are the lanes' parts of what is wanted. When the money allows not
// one request, the lane that holds least stands for all.
func (f *Forecast) weights() []float64 {
	w := make([]float64, len(f.Lanes))
	sum := 0.0
	for i := range f.Lanes {
		w[i] = float64(f.Lanes[i].Tokens)
		sum += w[i]
	}
	if sum == 0 {
		least := 0
		for i := range f.Lanes {
			if f.Lanes[i].Rate > f.Lanes[least].Rate || f.Lanes[i].Rate == f.Lanes[least].Rate && f.Lanes[i].Hold < f.Lanes[least].Hold {
				least = i
			}
		}
		w[least], sum = 1, 1
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// divide says what each set gets of what will be had.
func (f *Forecast) divide() {
	rest := f.Tokens
	if f.Affordable() || f.Fit == FitFail || f.Fit == FitProportion {
		share := 1.0
		if f.ToGo > 0 {
			share = float64(f.Tokens) / float64(f.ToGo)
		}
		for i := range f.Sets {
			f.Sets[i].InBudget = int64(share * float64(f.Sets[i].wanted()))
		}
		return
	}
	shares := make([]Share, len(f.Sets))
	for i := range f.Sets {
		shares[i] = Share{Target: f.Sets[i].Target, Have: f.Sets[i].Target - f.Sets[i].wanted()}
	}
	for rest > 0 {
		i := f.Fit.Next(shares, func(int) bool { return true })
		if i < 0 {
			return
		}
		s := &f.Sets[i]
		s.InBudget = min(rest, s.wanted())
		rest -= s.InBudget
		shares[i].Have = shares[i].Target
	}
}
