package journal_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/internal/faultfs"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/progress"
)

// vendor answers requests and keeps books of what it charges. Requests fail in
// pairs too: refused, and cut off although they are charged.
type vendor struct {
	mu     sync.Mutex
	rng    *rand.Rand
	fate   func(call int) fate // what goes wrong; nil leaves it to chance
	calls  int
	billed eyrie.Money
	bills  map[string]eyrie.Money
	sure   map[eyrie.Key]bool // accepted answers that the run was told are durable
	twice  []eyrie.Key        // of those, the ones that were asked for again
}

func newVendor(rng *rand.Rand) *vendor {
	return &vendor{rng: rng, bills: map[string]eyrie.Money{}, sure: map[eyrie.Key]bool{}}
}

// fate is what goes wrong with a request.
type fate struct {
	refused bool // it failed
	cut     bool // it failed, but is charged
	crash   func()
}

// chance lets one request in twelve fail in each way.
func (v *vendor) chance() fate {
	n := v.rng.IntN(12)
	return fate{refused: n == 0, cut: n == 1}
}

// outcome is what becomes of a request.
type outcome struct {
	fate
	id   string
	took time.Duration
	cost eyrie.Money
}

func (v *vendor) request(k eyrie.Key) outcome {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.sure[k] {
		v.twice = append(v.twice, k)
	}
	v.calls++
	o := outcome{
		id: fmt.Sprintf("gen-%d", v.calls), took: time.Duration(v.rng.IntN(4000)) * time.Millisecond,
		cost: eyrie.Money(1000 + v.rng.IntN(9000)),
	}
	if v.fate == nil {
		o.fate = v.chance()
	} else {
		o.fate = v.fate(v.calls)
	}
	if o.refused {
		o.cost = 0
	}
	v.billed += o.cost
	v.bills[o.id] = o.cost
	return o
}

// text is the answer to a generation, the same each time.
func text(k eyrie.Key) string { return fmt.Sprintf("the answer to %s", k) }

func (v *vendor) Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error] {
	return func(yield func(eyrie.Event, error) bool) {
		o := v.request(r.Generation.Key)
		a := &eyrie.Answer{ID: o.id}
		if o.refused {
			yield(eyrie.Event{Kind: eyrie.Ended, Answer: a}, &eyrie.Error{Kind: eyrie.Again, Class: "502", Charged: eyrie.ChargedNo})
			return
		}
		if !yield(eyrie.Event{Kind: eyrie.Opened, ID: o.id}, nil) {
			return
		}
		cut := o.cut
		if o.crash != nil {
			time.Sleep(o.took / 2)
			o.crash()
		}
		select {
		case <-time.After(o.took):
		case <-ctx.Done():
			cut = true
		}
		if cut {
			yield(eyrie.Event{Kind: eyrie.Ended, Answer: a}, &eyrie.Error{Kind: eyrie.Again, Class: "stream cut"})
			return
		}
		a.Content, a.FinishReason = text(r.Generation.Key), eyrie.FinishStop
		a.Usage = eyrie.Usage{Given: true, PromptTokens: 10, CompletionTokens: 10}
		a.Cost, a.CostGiven = o.cost, true
		yield(eyrie.Event{Kind: eyrie.Ended, Answer: a}, nil)
	}
}

func (v *vendor) Bill(_ context.Context, id string) (eyrie.Money, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	m, ok := v.bills[id]
	if !ok {
		return 0, errors.New("no such request")
	}
	return m, nil
}

// listener is a journal that notes which accepted answers are durable.
type listener struct {
	*journal.Journal
	vendor *vendor
	mu     sync.Mutex
	kept   []eyrie.Key // handed in and not acknowledged
	broken func()      // called when something could not be written
}

func (l *listener) Append(recs ...eyrie.Record) (journal.Ref, error) {
	ref, err := l.Journal.Append(recs...)
	for _, r := range recs {
		e, ok := r.(*eyrie.EndedRecord)
		if !ok || !e.OK {
			continue
		}
		if err != nil {
			l.mu.Lock()
			l.kept = append(l.kept, e.Key)
			l.mu.Unlock()
			continue
		}
		l.vendor.mu.Lock()
		l.vendor.sure[e.Key] = true
		l.vendor.mu.Unlock()
	}
	if err != nil {
		l.broken()
	}
	return ref, err
}

// Close counts what was rescued.
func (l *listener) Close() error {
	err := l.Journal.Close()
	if err == nil {
		for _, k := range l.kept {
			l.vendor.sure[k] = true
		}
	}
	return err
}

// conversations are the prompts of a set; every third has two turns.
func conversations(set string, n int) iter.Seq2[*eyrie.Prompt, error] {
	return func(yield func(*eyrie.Prompt, error) bool) {
		for i := range n {
			p := &eyrie.Prompt{Set: set, ID: fmt.Sprint(i), Ordinal: i}
			for turn := range 1 + (i%3)/2 {
				if turn > 0 {
					p.Messages = append(p.Messages, eyrie.Message{Role: eyrie.Assistant, Content: "?"})
				}
				p.Messages = append(p.Messages, eyrie.Message{Role: eyrie.User, Content: fmt.Sprintf("%s %d %d", set, i, turn)})
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// life opens a run's journal, goes on with the run and closes it. It returns
// how the run ended.
func life(t *testing.T, disk *faultfs.FS, v *vendor, kill bool) (dispatch.Stop, error) {
	st, led := progress.New(), ledger.New(eyrie.Dollar)
	j, _, err := journal.OpenIn(disk, smallSegments, func(e journal.Entry) error {
		st.Apply(e)
		led.Apply(e.Record)
		return nil
	})
	if _, ok := errors.AsType[*journal.DamageError](err); ok {
		t.Fatalf("what a crash left is called damage: %v", err)
	}
	if err != nil {
		return dispatch.Broken, err
	}
	led.Abandon()
	for k := range v.sure {
		if _, ok := st.Done(k); !ok {
			t.Fatalf("the answer to %s was durable and is gone", k)
		}
	}
	if led.Spent() > v.billed || v.billed > led.Spent()+led.Unbilled() {
		t.Fatalf("the vendor billed %d; the ledger knows of %d, and of %d that may come", v.billed, led.Spent(), led.Unbilled())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &listener{Journal: j, vendor: v, broken: func() {
		if kill {
			cancel() // as when the process is gone: streams break off
		}
	}}
	defer l.Close() // where the run did not come so far
	if _, err := l.Append(&eyrie.SessionRecord{Version: "test", Budget: eyrie.Dollar}); err != nil {
		return dispatch.Broken, err
	}
	rd := journal.NewReaderIn(disk)
	defer rd.Close()
	var reading sync.Mutex
	price, err := eyrie.ParsePrice("0.0000005")
	if err != nil {
		t.Fatal(err)
	}
	r, err := dispatch.New(dispatch.Config{
		Run: "test", Model: "a/b", Sampling: &eyrie.Mix{Parts: []eyrie.Part{{Weight: 1, Sampling: eyrie.Sampling{MaxTokens: 100}}}}, Concurrency: 12, PaidAttempts: 1000,
		Lanes: []dispatch.Lane{{
			Lane:   &eyrie.Lane{Tag: "one", Provider: "one", PromptPrice: price, OutputPrice: price},
			Engine: v, Limit: limit.Config{Start: 12, Max: 12},
		}},
		Sets: []dispatch.Set{
			{Name: "a", Target: 1 << 40, Prompts: conversations("a", 12)},
			{Name: "b", Target: 1 << 40, Prompts: conversations("b", 9)},
		},
		Journal: l, State: st, Ledger: led,
		Count: func(*eyrie.Generation, eyrie.Sampling) (int, error) { return 10, nil },
		Earlier: func(ref journal.Ref) (*eyrie.EndedRecord, error) {
			reading.Lock()
			defer reading.Unlock()
			rec, err := rd.At(ref)
			if err != nil {
				return nil, err
			}
			return rec.(*eyrie.EndedRecord), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	res := r.Run(ctx)
	return res.Stop, errors.Join(res.Err, l.Close())
}

// finished checks a run that came to its end, and returns its answers.
func finished(t *testing.T, disk *faultfs.FS, v *vendor) map[eyrie.Key]string {
	t.Helper()
	answers := map[eyrie.Key]string{}
	led := ledger.New(eyrie.Dollar)
	unnamed := map[int64]bool{} // attempts without the vendor's id
	for e, err := range journal.ReadIn(disk) {
		if err != nil {
			t.Fatal(err)
		}
		led.Apply(e.Record)
		switch r := e.Record.(type) {
		case *eyrie.StartedRecord:
			unnamed[r.Attempt] = true
		case *eyrie.SeenRecord:
			delete(unnamed, r.Attempt)
		case *eyrie.EndedRecord:
			if _, twice := answers[r.Key]; twice && r.OK {
				t.Errorf("%s was accepted twice", r.Key)
			}
			if r.OK {
				answers[r.Key] = r.Content
			}
		}
	}
	for _, b := range led.Bills() {
		if b.ID != "" {
			t.Errorf("the bill of %s was never read", b.ID)
		}
		if !unnamed[b.Attempt] {
			t.Errorf("attempt %d has a name and is not settled", b.Attempt)
		}
	}
	if led.Spent() > v.billed || v.billed > led.Spent()+led.Unbilled() {
		t.Errorf("the vendor billed %d; the ledger knows of %d, and of %d that may come", v.billed, led.Spent(), led.Unbilled())
	}
	if len(v.twice) > 0 {
		t.Errorf("durable answers were asked for again: %v", v.twice)
	}
	return answers
}

// TestCrashRuns lets whole runs live several lives on failing disks, with a
// vendor whose requests fail too, and wants what an undisturbed run gives.
func TestCrashRuns(t *testing.T) {
	var want map[eyrie.Key]string
	synctest.Test(t, func(t *testing.T) {
		disk, v := faultfs.New(0), newVendor(rand.New(rand.NewPCG(0, 0)))
		if stop, err := life(t, disk, v, false); stop != dispatch.Exhausted || err != nil {
			t.Fatalf("undisturbed: %v, %v", stop, err)
		}
		want = finished(t, disk, v)
		for k, s := range want {
			if s != text(k) {
				t.Fatalf("%s: %q", k, s)
			}
		}
		if len(want) != 28 {
			t.Fatalf("%d generations", len(want))
		}
	})
	n := *rounds
	if n == 0 {
		n = 220
	}
	if testing.Short() {
		n = min(n, 50)
	}
	lives := 0
	for i := range n {
		synctest.Test(t, func(t *testing.T) { lives += crashRun(t, uint64(i), want) })
		if t.Failed() {
			t.Fatalf("round %d", i)
		}
	}
	if n >= 50 && lives < 2*n {
		t.Errorf("%d rounds had only %d lives: nothing went wrong", n, lives)
	}
}

// crashRun is one round. It returns how many lives the run had.
func crashRun(t *testing.T, seed uint64, want map[eyrie.Key]string) (lives int) {
	rng := rand.New(rand.NewPCG(seed, 2))
	disk, v := faultfs.New(seed), newVendor(rand.New(rand.NewPCG(seed, 3)))
	for range 2 + rng.IntN(4) {
		lives++
		disk.Inject(misfortune(rng, 150))
		stop, err := life(t, disk, v, rng.IntN(2) == 0)
		if stop == dispatch.Exhausted && err == nil {
			break
		}
		if disk.Crashed() || rng.IntN(2) == 0 {
			disk = disk.Reboot()
		} else {
			disk = disk.Restart()
		}
	}
	disk.Inject(nil)
	if stop, err := life(t, disk, v, false); stop != dispatch.Exhausted || err != nil {
		t.Fatalf("on a disk that works: %v, %v", stop, err)
	}
	if got := finished(t, disk, v); !maps.Equal(got, want) {
		t.Fatalf("%d answers, and an undisturbed run has %d", len(got), len(want))
	}
	return lives
}

// TestCrashAtEveryRequest lets each request of a run go wrong in each way: it
// fails; it fails but is charged; the machine stops while it is under way.
func TestCrashAtEveryRequest(t *testing.T) {
	ways := map[string]func(*faultfs.FS) fate{
		"refused":             func(*faultfs.FS) fate { return fate{refused: true} },
		"cut, but charged":    func(*faultfs.FS) fate { return fate{cut: true} },
		"the machine stops":   func(disk *faultfs.FS) fate { return fate{crash: disk.Crash} },
		"cut, and it stops":   func(disk *faultfs.FS) fate { return fate{cut: true, crash: disk.Crash} },
		"refused, disk is ro": func(disk *faultfs.FS) fate { disk.Inject(readOnly); return fate{refused: true} },
		"charged, disk is ro": func(disk *faultfs.FS) fate { disk.Inject(readOnly); return fate{cut: true} },
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			for call := 1; call <= 28; call++ {
				synctest.Test(t, func(t *testing.T) {
					disk, v := faultfs.New(uint64(call)), newVendor(rand.New(rand.NewPCG(uint64(call), 4)))
					first := disk
					v.fate = func(n int) (f fate) {
						if n == call {
							f = way(first)
						}
						return f
					}
					stop, err := life(t, disk, v, true)
					if stop != dispatch.Exhausted || err != nil {
						disk.Inject(nil)
						disk = disk.Reboot()
						stop, err = life(t, disk, v, false)
					}
					if stop != dispatch.Exhausted || err != nil {
						t.Fatalf("request %d: %v, %v", call, stop, err)
					}
					if got := finished(t, disk, v); len(got) != 28 {
						t.Fatalf("request %d: %d answers", call, len(got))
					}
				})
			}
		})
	}
}

// readOnly is a disk that takes nothing any more.
func readOnly(faultfs.Op) faultfs.Fault { return faultfs.Fault{Err: syscall.EROFS} }
