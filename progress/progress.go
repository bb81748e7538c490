// Package progress knows how far a run is: which generations are done, what
// each data set and each lane has brought and cost. It is a fold over the
// journal, so a screen that reads a run folder and a process that goes on with
// the run see the same thing.
package progress

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

// State is the progress of a run. Its methods are safe for concurrent use.
type State struct {
	mu      sync.RWMutex
	done    table[place]
	far     map[eyrie.Key]journal.Ref // of done, places that table cannot hold
	gaveUp  map[eyrie.Key]struct{}
	cut     map[eyrie.Key]struct{} // whose answer was cut off, of what is not done
	paid    map[eyrie.Key]int      // attempts that cost or may have cost, of what is not done
	claimed map[eyrie.Key]struct{} // of what is neither done nor given up
	prompts table[struct{}]
	open    map[int64]opened // attempts without an end
	sets    map[string]*Set
	breaks  map[string]map[eyrie.Break]int // of each set
	lanes   map[string]*Lane
	last    int64
	usage   *eyrie.Money
	begun   bool
	first   time.Time
	latest  time.Time
	slowest time.Duration // of an accepted answer
	lengths map[source]*Lengths
}

// opened is an attempt whose charge is not known: it has no end, or no bill.
type opened struct {
	key   eyrie.Key
	set   string
	lane  string
	free  bool // nothing was held for it: it was asked of a server that costs nothing
	ended bool // nothing but its bill will come
	paid  bool // it counts among the paid ones until its bill says it cost nothing
}

// Set is what one data set has.
type Set struct {
	Name             string
	Rows             int // accepted generations
	PromptTokens     int64
	CompletionTokens int64 // of accepted generations
	GaveUp           int
	Dropped          int         // accepted, and no rows
	Cost             eyrie.Money // of every attempt, accepted or not
}

// Lane is what one lane did.
type Lane struct {
	Name             string
	Attempts         int
	Rows             int
	CompletionTokens int64
	Dropped          int // accepted, and no rows
	Cost             eyrie.Money
	Failures         map[string]int // by class
}

// New returns the state of a run that has not begun.
func New() *State {
	return &State{
		far: map[eyrie.Key]journal.Ref{}, gaveUp: map[eyrie.Key]struct{}{}, paid: map[eyrie.Key]int{}, cut: map[eyrie.Key]struct{}{},
		claimed: map[eyrie.Key]struct{}{}, open: map[int64]opened{},
		sets: map[string]*Set{}, breaks: map[string]map[eyrie.Break]int{}, lanes: map[string]*Lane{}, lengths: map[source]*Lengths{},
	}
}

// Apply folds one journal entry.
func (s *State) Apply(e journal.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.IsZero() {
		s.first = e.Time
	}
	s.latest = e.Time
	switch r := e.Record.(type) {
	case *eyrie.SessionRecord:
		s.session(r)
	case *eyrie.PromptRecord:
		s.prompts.add(r.Prompt, struct{}{})
	case *eyrie.StartedRecord:
		s.last = max(s.last, r.Attempt)
		s.open[r.Attempt] = opened{key: r.Key, set: r.Set, lane: r.Lane, free: r.Hold == 0}
		s.lane(r.Lane).Attempts++
	case *eyrie.EndedRecord:
		s.ended(r, e.Ref)
	case *eyrie.SettledRecord:
		s.settled(r)
	case *eyrie.GaveUpRecord:
		s.gaveUp[r.Key] = struct{}{}
		delete(s.claimed, r.Key)
		s.set(r.Set).GaveUp++
	}
}

// session notes that whatever the process before left open will not end: each
// such attempt may have cost. What was given up gets another chance: a person
// has looked, and asked for it again.
func (s *State) session(r *eyrie.SessionRecord) {
	clear(s.gaveUp)
	for _, set := range s.sets {
		set.GaveUp = 0
	}
	if !s.begun {
		s.usage, s.begun = r.AccountUsage, true
	}
	for a, o := range s.open {
		switch {
		case o.ended:
		case o.free:
			delete(s.open, a)
		default:
			s.paid[o.key]++
			o.ended, o.paid = true, true
			s.open[a] = o
		}
	}
}

func (s *State) ended(r *eyrie.EndedRecord, ref journal.Ref) {
	set, lane := s.set(r.Set), s.lane(r.Lane)
	if r.Usage.Given {
		s.length(source{r.Set, r.Lane}, r.Usage.CompletionTokens)
	}
	paid := !r.OK && r.Charged != eyrie.ChargedNo && r.Hold == 0
	if r.Charged == eyrie.ChargedUnknown {
		s.open[r.Attempt] = opened{key: r.Key, set: r.Set, lane: r.Lane, ended: true, paid: paid} // its bill is still to come
	} else {
		delete(s.open, r.Attempt)
		set.Cost = set.Cost.Add(r.Cost)
		lane.Cost = lane.Cost.Add(r.Cost)
	}
	if !r.OK {
		if lane.Failures == nil {
			lane.Failures = map[string]int{}
		}
		lane.Failures[r.Class]++
		if r.Class == eyrie.ClassCut {
			s.cut[r.Key] = struct{}{}
		}
		if _, done := s.done.get(r.Key); paid && !done { // another copy may have been accepted
			s.paid[r.Key]++
		}
		return
	}
	if !s.keep(r.Key, ref) {
		return
	}
	delete(s.paid, r.Key)
	delete(s.cut, r.Key)
	delete(s.claimed, r.Key)
	if r.Break != "" {
		if s.breaks[r.Set] == nil {
			s.breaks[r.Set] = map[eyrie.Break]int{}
		}
		s.breaks[r.Set][r.Break]++
	}
	if r.Drop != "" {
		set.Dropped++
		lane.Dropped++
		return
	}
	set.Rows++
	set.PromptTokens += int64(r.Usage.PromptTokens)
	set.CompletionTokens += int64(r.Usage.CompletionTokens)
	lane.Rows++
	lane.CompletionTokens += int64(r.Usage.CompletionTokens)
	s.slowest = max(s.slowest, time.Duration(r.ElapsedMS)*time.Millisecond)
}

func (s *State) length(from source, tokens int) {
	if s.lengths[from] == nil {
		s.lengths[from] = new(Lengths)
	}
	s.lengths[from].add(tokens)
}

// keep notes where the answer of a generation lies, and reports false where it
// has one already.
func (s *State) keep(k eyrie.Key, ref journal.Ref) bool {
	p, fits := pack(ref)
	if !s.done.add(k, p) {
		return false
	}
	if !fits {
		s.far[k] = ref
	}
	return true
}

// settled books a late bill where its attempt ran. A bill for several attempts
// at once is booked with the first of them that is not billed yet.
func (s *State) settled(r *eyrie.SettledRecord) {
	booked := false
	for _, a := range r.Attempts {
		o, ok := s.open[a]
		if !ok {
			continue
		}
		delete(s.open, a)
		if r.Cost == 0 && o.paid {
			s.unpay(o.key)
		}
		if !booked {
			s.set(o.set).Cost = s.set(o.set).Cost.Add(r.Cost)
			s.lane(o.lane).Cost = s.lane(o.lane).Cost.Add(r.Cost)
			booked = true
		}
	}
}

// unpay takes back that an attempt may have cost.
func (s *State) unpay(k eyrie.Key) {
	if s.paid[k] > 1 {
		s.paid[k]--
	} else {
		delete(s.paid, k)
	}
}

func (s *State) set(name string) *Set {
	if s.sets[name] == nil {
		s.sets[name] = &Set{Name: name}
	}
	return s.sets[name]
}

func (s *State) lane(name string) *Lane {
	if s.lanes[name] == nil {
		s.lanes[name] = &Lane{Name: name}
	}
	return s.lanes[name]
}

// Claim takes a generation for this process and reports whether it still has
// to be made: it is not done, not given up, and nobody else has claimed it.
func (s *State) Claim(k eyrie.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.done.get(k); ok {
		return false
	}
	if _, ok := s.gaveUp[k]; ok {
		return false
	}
	if _, ok := s.claimed[k]; ok {
		return false
	}
	s.claimed[k] = struct{}{}
	return true
}

// Release gives back every claim, for a process that has stopped working on what
// it claimed and begins again.
func (s *State) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.claimed)
}

// Done returns where the answer of a generation lies, if there is one.
func (s *State) Done(k eyrie.Key) (journal.Ref, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, ok := s.done.get(k)
	if !ok {
		return journal.Ref{}, false
	}
	if ref, far := s.far[k]; far {
		return ref, true
	}
	return p.ref(), true
}

// GaveUp reports whether a generation was given up.
func (s *State) GaveUp(k eyrie.Key) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.gaveUp[k]
	return ok
}

// Paid counts the attempts at a generation that cost or may have cost and
// brought nothing that was accepted.
func (s *State) Paid(k eyrie.Key) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.paid[k]
}

// Cut reports whether an answer to a generation that is not done was cut off by
// its cap, and refused for it.
func (s *State) Cut(k eyrie.Key) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.cut[k]
	return ok
}

// HasPrompt reports whether a prompt's record is in the journal, and from now
// on says that it is.
func (s *State) HasPrompt(d eyrie.Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.prompts.add(d, struct{}{})
}

// LastAttempt is the highest attempt number so far.
func (s *State) LastAttempt() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.last
}

// AccountUsage is what the key had used before the run, if that is known.
func (s *State) AccountUsage() (eyrie.Money, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.usage == nil {
		return 0, false
	}
	return *s.usage, true
}

// Slowest is how long the slowest accepted answer took.
func (s *State) Slowest() time.Duration {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.slowest
}

// Begun reports whether any process has worked on the run.
func (s *State) Begun() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.begun
}

// Times are the first and the latest record's.
func (s *State) Times() (first, latest time.Time) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.first, s.latest
}

// Set returns what a data set has; zero for one that has nothing yet.
func (s *State) Set(name string) Set {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if v := s.sets[name]; v != nil {
		return *v
	}
	return Set{Name: name}
}

// Breaks counts the conversations of a set that ended before the data set's did,
// by reason; nil where there are none.
func (s *State) Breaks(set string) map[eyrie.Break]int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.breaks[set])
}

// Sets lists the data sets that have anything, sorted by name.
func (s *State) Sets() []Set {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return sorted(s.sets)
}

// Lanes lists the lanes that were used, sorted by name.
func (s *State) Lanes() []Lane {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := sorted(s.lanes)
	for i := range out {
		out[i].Failures = maps.Clone(out[i].Failures) // ours goes on changing
	}
	return out
}

// sorted copies the values of m in the order of their names. Callers hold mu.
func sorted[T any](m map[string]*T) []T {
	out := make([]T, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, *m[k])
	}
	return out
}
