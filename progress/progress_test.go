package progress_test

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/progress"
)

// story folds records as a journal would give them: one a second, each at a
// place of its own.
type story struct {
	state *progress.State
	n     int64
}

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newStory() *story { return &story{state: progress.New()} }

func (s *story) tell(recs ...eyrie.Record) (last journal.Ref) {
	for _, r := range recs {
		last = journal.Ref{Segment: 1, Length: 10, Offset: s.n * 10}
		s.state.Apply(journal.Entry{Ref: last, Time: midnight.Add(time.Duration(s.n) * time.Second), Record: r})
		s.n++
	}
	return last
}

func key(n byte) eyrie.Key { return eyrie.Key{n} }

func started(attempt int64, k byte, set, lane string) *eyrie.StartedRecord {
	return &eyrie.StartedRecord{Attempt: attempt, Key: key(k), Set: set, Lane: lane, Hold: 100}
}

// answered ends an attempt with an accepted answer of 10 × attempt tokens.
func answered(attempt int64, k byte, set, lane string, cost eyrie.Money) *eyrie.EndedRecord {
	return &eyrie.EndedRecord{
		Attempt: attempt, Key: key(k), Set: set, Lane: lane, OK: true, Charged: eyrie.ChargedYes, Cost: cost,
		Usage: eyrie.Usage{Given: true, PromptTokens: 7, CompletionTokens: 10 * int(attempt)},
	}
}

func failed(attempt int64, k byte, set, lane, class string, charged eyrie.Charged, cost eyrie.Money) *eyrie.EndedRecord {
	return &eyrie.EndedRecord{
		Attempt: attempt, Key: key(k), Set: set, Lane: lane, Class: class, Charged: charged, Cost: cost,
		Usage: eyrie.Usage{Given: true, PromptTokens: 7, CompletionTokens: 99},
	}
}

// TestAStory folds a run that was killed once, and compares with what a person
// adds up from the same lines.
func TestAStory(t *testing.T) {
	s := newStory()
	usage := 40 * eyrie.Dollar
	s.tell(
		&eyrie.SessionRecord{Budget: 1000, AccountUsage: &usage},
		&eyrie.PromptRecord{Prompt: eyrie.Digest{1}, Set: "code"},
		started(1, 1, "code", "a"),
		started(2, 2, "code", "a"),
		started(3, 3, "chat", "b"),
		answered(1, 1, "code", "a", 5),
		failed(3, 3, "chat", "b", "429", eyrie.ChargedNo, 0),
		started(4, 3, "chat", "a"),
		failed(4, 3, "chat", "a", "stream cut", eyrie.ChargedUnknown, 0),
		started(5, 3, "chat", "b"),
		// The process is killed: attempts 2 and 5 have no end.
		&eyrie.SessionRecord{Budget: 2000, AccountUsage: new(99 * eyrie.Dollar)},
		&eyrie.SettledRecord{Attempts: []int64{2}, Cost: 11},
		&eyrie.SettledRecord{Attempts: []int64{4}, Cost: 22},
		started(6, 3, "chat", "b"),
		failed(6, 3, "chat", "b", "usage", eyrie.ChargedYes, 33),
	)
	k3 := s.tell(
		started(7, 3, "chat", "b"),
		answered(7, 3, "chat", "b", 44),
	)
	s.tell(
		&eyrie.GaveUpRecord{Key: key(2), Set: "code", Class: "429"},
		&eyrie.SettledRecord{Attempts: []int64{4}, Cost: 22}, // the same bill again
	)

	st := s.state
	wantSets := []progress.Set{
		{Name: "chat", Rows: 1, PromptTokens: 7, CompletionTokens: 70, Cost: 22 + 33 + 44},
		{Name: "code", Rows: 1, PromptTokens: 7, CompletionTokens: 10, GaveUp: 1, Cost: 5 + 11},
	}
	if got := st.Sets(); !reflect.DeepEqual(got, wantSets) {
		t.Errorf("sets\n%+v, want\n%+v", got, wantSets)
	}
	wantLanes := []progress.Lane{
		{Name: "a", Attempts: 3, Rows: 1, CompletionTokens: 10, Cost: 5 + 11 + 22, Failures: map[string]int{"stream cut": 1}},
		{Name: "b", Attempts: 4, Rows: 1, CompletionTokens: 70, Cost: 33 + 44, Failures: map[string]int{"429": 1, "usage": 1}},
	}
	if got := st.Lanes(); !reflect.DeepEqual(got, wantLanes) {
		t.Errorf("lanes\n%+v, want\n%+v", got, wantLanes)
	}
	if got := st.Set("chat"); got != wantSets[0] {
		t.Errorf("set chat is %+v", got)
	}
	if got := st.Set("nothing"); got != (progress.Set{Name: "nothing"}) {
		t.Errorf("a set that has nothing is %+v", got)
	}
	if ref, ok := st.Done(key(3)); !ok || ref != k3 {
		t.Errorf("the answer to 3 lies at %v, %v; want %v", ref, ok, k3)
	}
	if _, ok := st.Done(key(2)); ok || !st.GaveUp(key(2)) || st.GaveUp(key(3)) {
		t.Error("2 was given up, and 3 was not")
	}
	if got := st.LastAttempt(); got != 7 {
		t.Errorf("the last attempt is %d, want 7", got)
	}
	if got, ok := st.AccountUsage(); !ok || got != usage {
		t.Errorf("the account had used %s, %v; want %s, of the first session", got, ok, usage)
	}
	if first, latest := st.Times(); !first.Equal(midnight) || !latest.Equal(midnight.Add(18*time.Second)) {
		t.Errorf("from %v to %v", first, latest)
	}
}

func TestNothingYet(t *testing.T) {
	st := progress.New()
	if _, known := st.AccountUsage(); known || st.Begun() || st.LastAttempt() != 0 || len(st.Sets()) != 0 || len(st.Lanes()) != 0 {
		t.Error("a run that has not begun has something")
	}
	if first, latest := st.Times(); !first.IsZero() || !latest.IsZero() {
		t.Error("a run that has not begun has times")
	}
	s := newStory()
	s.tell(&eyrie.SessionRecord{})
	if _, known := s.state.AccountUsage(); known || !s.state.Begun() {
		t.Error("a session begins a run, and makes up no usage")
	}
}

// TestPaid counts what was spent on a generation in vain, which bounds how
// often it is tried.
func TestPaid(t *testing.T) {
	s := newStory()
	for _, tt := range []struct {
		name string
		recs []eyrie.Record
		want int
	}{
		{"started", []eyrie.Record{started(1, 1, "s", "a")}, 0},
		{"failed for nothing", []eyrie.Record{failed(1, 1, "s", "a", "429", eyrie.ChargedNo, 0)}, 0},
		{"failed for money", []eyrie.Record{started(2, 1, "s", "a"), failed(2, 1, "s", "a", "usage", eyrie.ChargedYes, 5)}, 1},
		{"failed, and who knows", []eyrie.Record{started(3, 1, "s", "a"), failed(3, 1, "s", "a", "cut", eyrie.ChargedUnknown, 0)}, 2},
		{"its bill says that it did", []eyrie.Record{&eyrie.SettledRecord{Attempts: []int64{3}, Cost: 5}}, 2},
		{"another generation", []eyrie.Record{started(4, 2, "s", "a"), failed(4, 2, "s", "a", "usage", eyrie.ChargedYes, 5)}, 2},
		{"killed under way", []eyrie.Record{started(5, 1, "s", "a"), &eyrie.SessionRecord{}}, 3},
		{"killed again, which is no further attempt", []eyrie.Record{&eyrie.SessionRecord{}}, 3},
		{"the one that was killed cost nothing", []eyrie.Record{&eyrie.SettledRecord{Attempts: []int64{5}}}, 2},
		{"cut off", []eyrie.Record{started(7, 1, "s", "a"), failed(7, 1, "s", "a", "cut", eyrie.ChargedUnknown, 0)}, 3},
		{"which cost nothing", []eyrie.Record{&eyrie.SettledRecord{Attempts: []int64{7}}}, 2},
		{"which is said twice", []eyrie.Record{&eyrie.SettledRecord{Attempts: []int64{7}}}, 2},
		{"answered", []eyrie.Record{started(6, 1, "s", "a"), answered(6, 1, "s", "a", 5)}, 0},
	} {
		s.tell(tt.recs...)
		if got := s.state.Paid(key(1)); got != tt.want {
			t.Errorf("%s: %d attempts were paid in vain, want %d", tt.name, got, tt.want)
		}
	}
}

func TestASecondAnswerIsNoSecondRow(t *testing.T) {
	s := newStory()
	s.tell(started(1, 1, "s", "a"), started(2, 1, "s", "b"))
	first := s.tell(answered(1, 1, "s", "a", 5))
	s.tell(answered(2, 1, "s", "b", 6))
	if got, want := s.state.Set("s"), (progress.Set{Name: "s", Rows: 1, PromptTokens: 7, CompletionTokens: 10, Cost: 11}); got != want {
		t.Errorf("the set has %+v, want %+v", got, want)
	}
	if ref, _ := s.state.Done(key(1)); ref != first {
		t.Errorf("the answer is the one at %v, want the first at %v", ref, first)
	}
}

func TestAnAcceptedAnswerMayBeBilledLater(t *testing.T) {
	s := newStory()
	end := answered(1, 1, "s", "a", 0)
	end.Charged = eyrie.ChargedUnknown
	s.tell(started(1, 1, "s", "a"), end)
	if got := s.state.Set("s"); got.Rows != 1 || got.Cost != 0 {
		t.Errorf("before its bill: %+v", got)
	}
	s.tell(&eyrie.SessionRecord{}, &eyrie.SettledRecord{Attempts: []int64{1}, Cost: 8})
	if got := s.state.Set("s"); got.Rows != 1 || got.Cost != 8 {
		t.Errorf("after its bill: %+v", got)
	}
	if got := s.state.Paid(key(1)); got != 0 {
		t.Errorf("%d attempts were paid in vain", got)
	}
}

// TestABillForSeveral is booked once, with the first of them that is open.
func TestABillForSeveral(t *testing.T) {
	s := newStory()
	for n, set := range []string{"x", "y", "z"} {
		a := int64(n + 1)
		s.tell(started(a, byte(a), set, "lane"), failed(a, byte(a), set, "lane", "cut", eyrie.ChargedUnknown, 0))
	}
	s.tell(
		&eyrie.SettledRecord{Attempts: []int64{1}, Cost: 5},
		&eyrie.SettledRecord{Attempts: []int64{1, 2, 3}, Cost: 40},
		&eyrie.SettledRecord{Attempts: []int64{1, 2, 3}, Cost: 40},
	)
	if got := s.state.Lanes()[0].Cost; got != 45 {
		t.Errorf("the lane cost %d, want 45", got)
	}
	for set, want := range map[string]eyrie.Money{"x": 5, "y": 40, "z": 0} {
		if got := s.state.Set(set).Cost; got != want {
			t.Errorf("set %s cost %d, want %d", set, got, want)
		}
	}
}

// TestCostsAddUpToTheLedger folds random runs into both: what the sets cost
// together, and what the lanes did, is what the ledger says was spent.
func TestCostsAddUpToTheLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, l := newStory(), ledger.New(0)
		tell := func(r eyrie.Record) {
			s.tell(r)
			l.Apply(r)
		}
		tell(&eyrie.SessionRecord{Budget: eyrie.Dollar})
		sets, lanes := []string{"x", "y"}, []string{"a", "b", "c"}
		var last int64
		open, unbilled := map[int64]*eyrie.StartedRecord{}, map[int64]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			cost := eyrie.Money(rapid.IntRange(0, 100).Draw(t, "cost"))
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			default:
				last++
				open[last] = started(last, byte(last), rapid.SampledFrom(sets).Draw(t, "set"), rapid.SampledFrom(lanes).Draw(t, "lane"))
				tell(open[last])
			case 0, 1, 2, 3:
				for _, a := range slices.Sorted(maps.Keys(open))[:min(1, len(open))] {
					r := open[a]
					charged := rapid.SampledFrom([]eyrie.Charged{eyrie.ChargedUnknown, eyrie.ChargedYes}).Draw(t, "charged")
					end := failed(a, byte(a), r.Set, r.Lane, "x", charged, 0)
					end.OK = rapid.Bool().Draw(t, "accepted")
					if charged == eyrie.ChargedYes {
						end.Cost = cost
					} else {
						unbilled[a] = true
					}
					tell(end)
					delete(open, a)
				}
			case 4:
				for a := range open {
					unbilled[a] = true
				}
				clear(open)
				tell(&eyrie.SessionRecord{Budget: eyrie.Dollar})
			case 5, 6:
				if last > 0 {
					a := rapid.Int64Range(1, last).Draw(t, "billed")
					if open[a] == nil {
						tell(&eyrie.SettledRecord{Attempts: []int64{a}, Cost: cost})
					}
				}
			case 7:
				tell(&eyrie.SettledRecord{Attempts: slices.Sorted(maps.Keys(unbilled)), Cost: cost})
			}
			var ofSets, ofLanes eyrie.Money
			for _, set := range s.state.Sets() {
				ofSets += set.Cost
			}
			for _, lane := range s.state.Lanes() {
				ofLanes += lane.Cost
			}
			if ofSets != l.Spent() || ofLanes != l.Spent() {
				t.Fatalf("the sets cost %d, the lanes %d, and %d was spent", ofSets, ofLanes, l.Spent())
			}
		}
	})
}

func TestClaim(t *testing.T) {
	s := newStory()
	s.tell(answered(1, 1, "s", "a", 5), &eyrie.GaveUpRecord{Key: key(2), Set: "s"})
	for k, want := range map[byte]bool{1: false, 2: false, 3: true} {
		if got := s.state.Claim(key(k)); got != want {
			t.Errorf("claiming %d: %v, want %v", k, got, want)
		}
	}
	if s.state.Claim(key(3)) {
		t.Error("a generation was claimed twice")
	}
}

func TestHasPrompt(t *testing.T) {
	s := newStory()
	s.tell(&eyrie.PromptRecord{Prompt: eyrie.Digest{1}})
	if !s.state.HasPrompt(eyrie.Digest{1}) {
		t.Error("a prompt of the journal is not there")
	}
	if s.state.HasPrompt(eyrie.Digest{2}) || !s.state.HasPrompt(eyrie.Digest{2}) {
		t.Error("the first to ask for a prompt writes it, and nobody after")
	}
}

// TestAPictureDoesNotMove: what a screen was given stays as it was while the
// run goes on.
func TestAPictureDoesNotMove(t *testing.T) {
	s := newStory()
	s.tell(started(1, 1, "s", "a"), failed(1, 1, "s", "a", "429", eyrie.ChargedNo, 0))
	lanes, sets := s.state.Lanes(), s.state.Sets()
	failures := maps.Clone(lanes[0].Failures)
	s.tell(started(2, 1, "s", "a"), failed(2, 1, "s", "a", "429", eyrie.ChargedYes, 5))
	if !maps.Equal(lanes[0].Failures, failures) || lanes[0].Attempts != 1 || sets[0].Cost != 0 {
		t.Errorf("the picture moved: %+v, %+v", lanes[0], sets[0])
	}
}

// TestManyGenerations holds what is done and claimed against plain maps, with
// keys that are alike and keys that are not, and places near and far.
func TestManyGenerations(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	st := progress.New()
	done, prompts := map[eyrie.Key]journal.Ref{}, map[eyrie.Digest]bool{}
	for i := range 60_000 {
		var k eyrie.Key
		switch i % 3 {
		case 0:
			k = eyrie.Key{byte(i), byte(i >> 8), byte(i >> 16)}
		case 1:
			k[15], k[14], k[13] = byte(i), byte(i>>8), byte(i>>16)
		default:
			binary.LittleEndian.PutUint64(k[:], rng.Uint64())
			binary.LittleEndian.PutUint64(k[8:], rng.Uint64())
		}
		ref := journal.Ref{Segment: rng.Uint32() >> (8 + i%24), Length: rng.Uint32() >> (i % 32), Offset: rng.Int64() >> (1 + i%62)}
		if i%1000 == 0 {
			ref.Segment = 1 << 30
		}
		if _, ok := done[k]; !ok {
			if _, there := st.Done(k); there || !st.Claim(k) || st.Claim(k) {
				t.Fatalf("key %v is done or claimed before anything was said of it", k)
			}
			done[k] = ref
		}
		st.Apply(journal.Entry{Ref: ref, Record: &eyrie.EndedRecord{Key: k, OK: true, Charged: eyrie.ChargedYes}})
		if had := st.HasPrompt(k); had != prompts[k] {
			t.Fatalf("prompt %v: %v, want %v", k, had, prompts[k])
		}
		prompts[k] = true
	}
	for k, want := range done {
		if got, ok := st.Done(k); !ok || got != want || st.Claim(k) {
			t.Fatalf("key %v is at %v, %v, want %v", k, got, ok, want)
		}
	}
}

// BenchmarkMemory is a million generations, each with a prompt of its own. Its
// figure is what the state takes of each of a generation's four records.
func BenchmarkMemory(b *testing.B) {
	const generations = 1_000_000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		st := progress.New()
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range int64(generations) {
			var k, p eyrie.Key
			for _, d := range []*eyrie.Key{&k, &p} {
				binary.LittleEndian.PutUint64(d[:], rng.Uint64())
				binary.LittleEndian.PutUint64(d[8:], rng.Uint64())
			}
			ref := journal.Ref{Segment: uint32(1 + i/1000), Length: 8000, Offset: i % 1000 * 8000}
			st.Apply(journal.Entry{Ref: ref, Record: &eyrie.PromptRecord{Prompt: p, Set: "a"}})
			st.Apply(journal.Entry{Ref: ref, Record: &eyrie.StartedRecord{Attempt: i, Key: k, Prompt: p, Set: "a", Lane: "l"}})
			st.Apply(journal.Entry{Ref: ref, Record: &eyrie.EndedRecord{Attempt: i, Key: k, Set: "a", Lane: "l", OK: true, Charged: eyrie.ChargedYes}})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/generations, "B/generation")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/generations/4, "B/record")
		runtime.KeepAlive(st)
	}
}

// TestWhatIsBoughtAndNoRow: a dropped answer is done and paid for and counts for
// nothing else; a cut one is remembered until another is accepted.
func TestWhatIsBoughtAndNoRow(t *testing.T) {
	s := newStory()
	end := answered(1, 1, "s", "a", 5)
	end.Drop = eyrie.DropLength
	s.tell(started(1, 1, "s", "a"), end)
	if _, done := s.state.Done(key(1)); !done || s.state.Claim(key(1)) {
		t.Error("a dropped answer would be bought again")
	}
	if got, want := s.state.Set("s"), (progress.Set{Name: "s", Dropped: 1, Cost: 5}); got != want {
		t.Errorf("the set has %+v, want %+v", got, want)
	}
	if l := s.state.Lanes()[0]; l.Dropped != 1 || l.Rows != 0 || l.CompletionTokens != 0 || l.Cost != 5 {
		t.Errorf("the lane has %+v", l)
	}
	s.tell(started(2, 2, "s", "a"), failed(2, 2, "s", "a", eyrie.ClassCut, eyrie.ChargedYes, 3))
	if !s.state.Cut(key(2)) || s.state.Cut(key(1)) || s.state.Paid(key(2)) != 1 {
		t.Error("2 was cut off for money, and 1 was not")
	}
	s.tell(started(3, 2, "s", "a"), answered(3, 2, "s", "a", 5))
	if s.state.Cut(key(2)) {
		t.Error("2 has an answer, and is still cut off")
	}
}

func TestBreaks(t *testing.T) {
	s := newStory()
	for i, why := range []eyrie.Break{eyrie.BreakCall, "", eyrie.BreakCall, eyrie.BreakLength} {
		end := answered(int64(i+1), byte(i+1), "s", "a", 1)
		end.Break = why
		s.tell(end, end) // told twice, it counts once
	}
	got := s.state.Breaks("s")
	if want := map[eyrie.Break]int{eyrie.BreakCall: 2, eyrie.BreakLength: 1}; !maps.Equal(got, want) {
		t.Errorf("conversations ended for %v, want %v", got, want)
	}
	if n := len(s.state.Breaks("other")); n != 0 {
		t.Errorf("a set of nothing has %d reasons", n)
	}
	got[eyrie.BreakCall] = 99
	if s.state.Breaks("s")[eyrie.BreakCall] != 2 {
		t.Error("what was given out is the state's own")
	}
}

func TestRelease(t *testing.T) {
	s := newStory()
	s.tell(answered(1, 1, "s", "a", 5))
	if !s.state.Claim(key(2)) || s.state.Claim(key(2)) {
		t.Fatal("2 is claimed once")
	}
	s.state.Release()
	if !s.state.Claim(key(2)) || s.state.Claim(key(1)) {
		t.Error("what is not done can be claimed again, and what is cannot")
	}
}
