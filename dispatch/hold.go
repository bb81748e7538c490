package dispatch

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/progress"
)

// Hold is how much is reserved for an attempt.
type Hold uint8

const (
	// Strict reserves the most that the attempt can be billed. The budget holds
	// whatever comes back, and near its end most of it is held for answers
	// that will need a tenth of that.
	Strict Hold = iota
	// Expected reserves what hardly an answer passes, as the answers so far
	// teach, and watches the streams: one that takes more has more reserved,
	// and where the answers under way would pass the budget together, some are
	// cut, on lanes that charge a stream that is cut for what came and no more.
	// On other lanes a cut saves nothing, and the budget can be passed, at the
	// very worst by what all answers under way may cost beyond what they hold.
	Expected
)

// What is expected of an answer is the length that this part of the answers of
// its data set on its lane do not pass, or of the data set where the lane has
// too few yet. Before there are so many, the worst case is reserved.
const (
	highQuantile = 0.95
	enoughSeen   = 50
)

// forecastAge is how old the learned lengths may be.
const forecastAge = time.Second

// expectations is what is expected of answers, owned by the scheduler.
type expectations struct {
	learned  map[from]*progress.Lengths // nil where too few are known
	read     time.Time
	cautious bool // a stream had to be cut: from then on the worst case counts
	warned   bool // that the budget may be passed
}

type from struct{ set, lane string }

// holdFor is what is reserved for one attempt in the worst case: the most it
// can be billed. Our own count of the prompt is taken a little larger, for a
// server that wraps it in a few more tokens than its template says.
func holdFor(l *eyrie.Lane, promptTokens, maxTokens int) eyrie.Money {
	return l.WorstCase(wrapped(promptTokens), maxTokens)
}

func wrapped(promptTokens int) int { return promptTokens + promptTokens/50 + 16 }

// priced is the most that a prompt and a completion of so many tokens cost.
func priced(l *eyrie.Lane, promptTokens, tokens int) eyrie.Money {
	exact := *l
	exact.Overruns = false
	return exact.WorstCase(wrapped(promptTokens), tokens)
}

// reservation is what is reserved for a task on a lane, and what it may cost.
// What comes before a cut could arrive is always reserved.
func (s *scheduler) reservation(t *task, l *eyrie.Lane, now time.Time) (hold, worst eyrie.Money) {
	worst = holdFor(l, t.gen.PromptTokens, t.maxTokens())
	if s.cfg.Hold == Strict || s.expect.cautious {
		return worst, worst
	}
	known := s.lengths(t.gen.Set, l.Tag, now)
	if known == nil {
		return worst, worst
	}
	return min(worst, priced(l, t.gen.PromptTokens, max(cutTokens, known.Quantile(highQuantile)))), worst
}

// spareOf is the part of the budget that is kept free for answers that become
// longer than any was expected to: at its end few are left to make up for one.
const spareOf = 250

// spareMoney is what no new attempt is given.
func (s *scheduler) spareMoney() eyrie.Money {
	if s.cfg.Hold == Strict || s.expect.cautious {
		return 0
	}
	return s.cfg.Ledger.Budget() / spareOf
}

// lengths are the known lengths of a data set's answers on a lane, or nil.
func (s *scheduler) lengths(set, lane string, now time.Time) *progress.Lengths {
	x := &s.expect
	if now.Sub(x.read) > forecastAge {
		x.learned, x.read = map[from]*progress.Lengths{}, now
	}
	at := from{set, lane}
	l, read := x.learned[at]
	if !read {
		l = knownLengths(s.cfg.State, set, lane)
		x.learned[at] = l
	}
	return l
}

// HighLength is the length that hardly an answer of a data set passes on any
// lane, and what stands for it before enough of them are known.
func HighLength(st *progress.State, set string, unknown int) int {
	if _, all := st.Lengths(set, ""); all.Seen() >= enoughSeen {
		return max(cutTokens, all.Quantile(highQuantile))
	}
	return max(cutTokens, unknown)
}

func knownLengths(st *progress.State, set, lane string) *progress.Lengths {
	here, all := st.Lengths(set, lane)
	switch {
	case here.Seen() >= enoughSeen:
		return &here
	case all.Seen() >= enoughSeen:
		return &all
	}
	return nil
}

// errBudget cuts a stream whose rest the budget has no room for.
var errBudget = errors.New("the budget has no room for the rest of it")

// classBudget is the class of a stream that was cut for it.
const classBudget = "cut for the budget"

// A stream goes on for a moment after it was decided to cut it: what came was
// read a while ago, and the cut has to arrive.
const (
	cutLag     = 2 * time.Second
	cutTokens  = 200  // at least so many come meanwhile
	fewestByte = 0.75 // of the usual bytes a token, for a text of short tokens
	shortBytes = 2.5  // bytes a token, before this process has counted any
)

// outlook is what a stream that is under way will have cost.
type outlook struct {
	*attempt
	high  eyrie.Money // hardly more, as long as it is now
	final eyrie.Money // on average
	floor eyrie.Money // were it cut now
}

// look looks ahead for one stream.
func (s *scheduler) look(a *attempt, perToken float64, now time.Time) outlook {
	came := float64(a.bytes.Load()) / perToken
	most := came / fewestByte
	if took := now.Sub(a.started); took > 0 {
		most += max(cutTokens, most*cutLag.Seconds()/took.Seconds())
	}
	cost := func(tokens int) eyrie.Money { return min(a.hold, priced(a.on, a.task.gen.PromptTokens, tokens)) }
	floor := cost(int(most))
	o := outlook{a, floor, floor, floor}
	if known := s.lengths(a.task.gen.Set, a.on.Tag, now); known != nil {
		longer := known.Beyond(int(came))
		o.high, o.final = max(floor, cost(longer.Quantile(highQuantile))), max(floor, cost(longer.Mean()))
	}
	return o
}

// keepBudget holds more for streams that are long already, and cuts
// some where the budget has no room for all of them: the youngest, until the
// others can be expected to fit; and all that can be cut at the moment from
// which the vendor might bill more than the budget.
func (s *scheduler) keepBudget(now time.Time) {
	if s.cfg.Hold == Strict || len(s.under.list) == 0 {
		return
	}
	l := s.cfg.Ledger
	likely := l.Spent().Add(s.likelyBills()) - l.Budget()
	certain := l.Spent().Add(l.Unbilled()) - l.Budget()
	perToken := s.bytesPerToken()
	if s.tokens == 0 {
		perToken = shortBytes
	}
	var cuttable []outlook
	for _, a := range s.under.list {
		o := s.look(a, perToken, now)
		l.Raise(a.number, o.high)
		likely = likely.Add(o.final)
		switch {
		case !a.on.Stops:
			certain = certain.Add(o.final)
		default:
			certain = certain.Add(o.floor)
			if !a.cut {
				cuttable = append(cuttable, o)
			}
		}
	}
	if likely <= 0 && certain <= 0 {
		return
	}
	slices.SortFunc(cuttable, func(a, b outlook) int {
		return cmp.Or(cmp.Compare(a.floor, b.floor), cmp.Compare(a.number, b.number))
	})
	for _, o := range cuttable {
		if likely <= 0 && certain <= 0 {
			return
		}
		likely -= o.final - o.floor
		s.cutOff(o)
	}
	if likely > 0 && !s.expect.warned {
		s.expect.warned = true
		s.cfg.Log.Warn("the answers under way may pass the budget, on lanes where a cut saves nothing", "by", likely)
	}
}

// likelyBills is what the bills that are to come make together, if they are
// like others: twice the usual cost for each, where that is less than its hold.
func (s *scheduler) likelyBills() (sum eyrie.Money) {
	rows := 0
	for _, st := range s.sets {
		rows += s.cfg.State.Set(st.Name).Rows
	}
	usual := eyrie.MaxMoney
	if rows > 0 {
		usual = 2 * s.cfg.Ledger.Spent() / eyrie.Money(rows)
	}
	for _, b := range s.cfg.Ledger.Bills() {
		sum = sum.Add(min(b.Held, usual))
	}
	return sum
}

// cutOff cuts a stream. What it is charged at the most is known from now on.
func (s *scheduler) cutOff(o outlook) {
	s.cfg.Log.Warn("a stream is cut: the budget has no room for the rest of it", "lane", o.on.Tag, "cost", o.floor)
	s.expect.cautious = true
	o.cut, o.floorAtCut = true, o.floor
	o.cancel(errBudget)
}

// bytesPerToken is what a token of this run's answers takes.
func (s *scheduler) bytesPerToken() float64 {
	if s.tokens > 0 && s.text > 0 {
		return float64(s.text) / float64(s.tokens)
	}
	return bytesPerToken
}
