package e2e

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/internal/memnet"
	"github.com/eyrie-ai/eyrie/internal/testvocab"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/progress"
	"github.com/eyrie-ai/eyrie/route"
	"github.com/eyrie-ai/eyrie/tokenizer"
)

const kimi = "moonshotai/kimi-k2.5"

// vocabulary is Kimi's, as a file and as a tokenizer; read once for all tests,
// outside of their bubbles.
type vocabulary struct {
	file []byte
	tok  *tokenizer.Tokenizer
}

var loaded struct {
	sync.Mutex
	*vocabulary
}

func loadVocabulary(t *testing.T) *vocabulary {
	t.Helper()
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.vocabulary == nil {
		file, err := os.ReadFile(testvocab.Path(t))
		if err != nil {
			t.Fatal(err)
		}
		tok, err := tokenizer.Load(testvocab.Folder(t))
		if err != nil {
			t.Fatal(err)
		}
		loaded.vocabulary = &vocabulary{file, tok}
	}
	return loaded.vocabulary
}

// setting is what a whole job in a bubble is made of.
type setting struct {
	scenario    string // built in
	change      func(*emulator.Scenario)
	only        []string // tags of the endpoints that may answer; nil: all
	prompts     int
	concurrency int
	budget      eyrie.Money
	keyLimit    string
	secure      bool // HTTP/2 over TLS
	limits      openrouter.Limits
	patience    time.Duration // for late bills; 1m
}

// world is a job, its vendor, and the run folder between them. Each call of run
// is a process that goes on with the run.
type world struct {
	t      *testing.T
	vocab  *vocabulary
	set    setting
	vendor *emulator.Server
	client *openrouter.Client
	root   *os.Root

	state  *progress.State // of the latest run
	ledger *ledger.Ledger
}

// bubble plays a whole job in a bubble.
func bubble(t *testing.T, set setting, play func(t *testing.T, w *world)) {
	vocab := loadVocabulary(t)
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, vocab: vocab, set: set}
		w.open()
		play(t, w)
	})
}

func (w *world) open() {
	t := w.t
	t.Helper()
	scenario, err := emulator.NamedScenario(w.set.scenario)
	if err != nil {
		t.Fatal(err)
	}
	if w.set.change != nil {
		w.set.change(&scenario)
	}
	w.vendor, err = emulator.New(emulator.Config{Vocabulary: w.vocab.file, Seed: 5, Scenario: &scenario, KeyLimit: w.set.keyLimit})
	if err != nil {
		t.Fatal(err)
	}
	w.connect()
	if w.root, err = os.OpenRoot(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.root.Close() })
}

// connect puts the vendor on the network and makes a client of it.
func (w *world) connect() {
	network := memnet.New()
	web := httptest.NewUnstartedServer(w.vendor)
	web.Listener.Close()
	web.Listener = network
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	cfg := openrouter.Config{BaseURL: "http://vendor.test/api/v1", Key: key, Dial: network.Dial, MaxStreams: w.set.concurrency, Gather: 500 * time.Millisecond, Limits: w.set.limits}
	if w.set.secure {
		web.EnableHTTP2 = true
		web.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(web.Certificate())
		cfg.BaseURL, cfg.TLS = "https://example.com/api/v1", &tls.Config{RootCAs: roots}
	} else {
		web.Start()
	}
	var err error
	if w.client, err = openrouter.New(cfg); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		w.client.Close()
		web.Config.Close()
		network.Close()
		synctest.Wait()
	})
}

// account gives the client the account's usage as one number.
type account struct{ *openrouter.Client }

func (a account) Usage(ctx context.Context) (eyrie.Money, error) {
	acc, err := a.Account(ctx)
	if err != nil {
		return 0, err
	}
	if acc.Usage == nil {
		return 0, errors.New("no usage given")
	}
	return *acc.Usage, nil
}

// lanes are the vendor's endpoints as they are now, cheapest first.
func (w *world) lanes(ctx context.Context) ([]dispatch.Lane, error) {
	cat, err := w.client.Endpoints(ctx, kimi)
	if err != nil {
		return nil, err
	}
	route.ByPrice(cat.Lanes)
	var out []dispatch.Lane
	for _, l := range cat.Lanes {
		why := l.Closed
		if w.set.only != nil && !slices.Contains(w.set.only, l.Tag) {
			why = "not wanted"
		}
		out = append(out, dispatch.Lane{Lane: l, Engine: account{w.client}, Limit: limit.Config{Max: w.set.concurrency}, Out: why})
	}
	return out, nil
}

// prompts are the job's, all different.
func (w *world) prompts() iter.Seq2[*eyrie.Prompt, error] {
	return func(yield func(*eyrie.Prompt, error) bool) {
		for i := range w.set.prompts {
			p := &eyrie.Prompt{Set: "set", ID: fmt.Sprint(i), Ordinal: i, Messages: []eyrie.Message{
				{Role: eyrie.User, Content: fmt.Sprintf("Tell me what you know about asteroid number %d.", i)},
			}}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// run is one process's work on the job, up to its end.
func (w *world) run(ctx context.Context) dispatch.Result {
	t := w.t
	t.Helper()
	w.state, w.ledger = progress.New(), ledger.New(w.set.budget)
	j, _, err := journal.Open(w.root, func(e journal.Entry) error {
		w.state.Apply(e)
		w.ledger.Apply(e.Record)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	w.ledger.Abandon()
	w.ledger.SetBudget(w.set.budget)
	w.begin(j)
	lanes, err := w.lanes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := dispatch.New(dispatch.Config{
		Run: "e2e", Model: kimi, Sampling: &eyrie.Mix{Parts: []eyrie.Part{{Weight: 1, Sampling: eyrie.Sampling{MaxTokens: 2048, Thinking: true}}}},
		Concurrency: w.set.concurrency, PaidAttempts: 12, Lanes: lanes, Refresh: w.lanes,
		Sets:    []dispatch.Set{{Name: "set", Target: 1 << 40, Prompts: w.prompts()}},
		Journal: j, State: w.state, Ledger: w.ledger, BillPatience: w.set.patience, Seed: 3,
		// No prompt has more tokens than bytes, and the template adds a few.
		Count: func(g *eyrie.Generation, _ eyrie.Sampling) (int, error) { return len(g.Messages[0].Content) + 32, nil },
		Earlier: func(ref journal.Ref) (*eyrie.EndedRecord, error) {
			rec, err := journal.ReadAt(w.root, ref)
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
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return res
}

// begin notes the session, and in the first one what the key had used.
func (w *world) begin(j *journal.Journal) {
	rec := &eyrie.SessionRecord{Version: "e2e", Budget: w.set.budget}
	if !w.state.Begun() {
		usage, err := account{w.client}.Usage(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		rec.AccountUsage = &usage
	}
	ref, err := j.Append(rec)
	if err != nil {
		w.t.Fatal(err)
	}
	w.state.Apply(journal.Entry{Ref: ref, Time: time.Now(), Record: rec})
}

// finish runs the job and wants it to come to its end.
func (w *world) finish() dispatch.Result {
	w.t.Helper()
	res := w.run(w.t.Context())
	if res.Stop != dispatch.Exhausted {
		w.t.Fatalf("the run ended: %v %v", res.Stop, res.Err)
	}
	return res
}

// check holds at the end of every job: every prompt is done or given up with a
// reason, the ledger is the books, the vendor was never paid more than the
// budget, what was accepted is what the model wrote, and the vendor has nothing
// to complain about.
func (w *world) check() {
	w.t.Helper()
	w.checkPrompts()
	w.checkBooks()
	w.checkRows()
	w.checkManners()
}

func (w *world) checkPrompts() {
	t := w.t
	t.Helper()
	set := w.state.Set("set")
	if set.Rows+set.GaveUp != w.set.prompts {
		t.Errorf("%d rows and %d given up of %d prompts", set.Rows, set.GaveUp, w.set.prompts)
	}
	ends := map[eyrie.Key]int{}
	for rec := range w.records() {
		switch rec := rec.(type) {
		case *eyrie.EndedRecord:
			if rec.OK {
				ends[rec.Key]++
			}
		case *eyrie.GaveUpRecord:
			ends[rec.Key]++
			if rec.Class == "" || rec.Detail == "" {
				t.Errorf("prompt given up without a reason: %+v", rec)
			}
		}
	}
	for k, n := range ends {
		if n != 1 {
			t.Errorf("generation %s came to %d ends", k, n)
		}
	}
}

// checkBooks compares the ledger, and the fold of the journal, with the books.
func (w *world) checkBooks() {
	t := w.t
	t.Helper()
	spend := eyrie.Money(w.vendor.Totals().Spend)
	if w.ledger.Spent() != spend || w.ledger.Unbilled() != 0 || w.ledger.InFlight() != 0 {
		t.Errorf("the ledger has %s spent, %s unbilled, %s in flight; the books %s", w.ledger.Spent(), w.ledger.Unbilled(), w.ledger.InFlight(), spend)
	}
	if spend > w.set.budget {
		t.Errorf("the vendor billed %s of a budget of %s", spend, w.set.budget)
	}
	if w.ledger.Spent() != spend {
		w.explainMoney()
	}
	again := ledger.New(w.set.budget)
	for rec := range w.records() {
		again.Apply(rec)
	}
	if again.Spent() != w.ledger.Spent() || again.Unbilled() != w.ledger.Unbilled() {
		t.Errorf("the journal folds to %s spent, %s unbilled", again.Spent(), again.Unbilled())
	}
}

// explainMoney lists the attempts whose charge in the journal is not that of
// the books.
func (w *world) explainMoney() {
	truth := map[string]emulator.Entry{}
	for _, e := range w.vendor.Books() {
		truth[e.ID] = e
	}
	ids := map[int64]string{}
	charges := map[string]eyrie.Money{}
	for rec := range w.records() {
		switch r := rec.(type) {
		case *eyrie.EndedRecord:
			ids[r.Attempt] = r.ID
			if r.Charged == eyrie.ChargedYes {
				charges[r.ID] = r.Cost
			}
		case *eyrie.SettledRecord:
			if len(r.Attempts) > 1 {
				w.t.Logf("%d attempts were settled together for %s by %s", len(r.Attempts), r.Cost, r.Source)
				continue
			}
			charges[ids[r.Attempts[0]]] = r.Cost
		}
	}
	for id, cost := range charges {
		if e := truth[id]; eyrie.Money(e.Cost) != cost {
			w.t.Logf("%s: noted %s, charged %s: %s, faults %v", id, cost, eyrie.Money(e.Cost), e.Outcome, e.Faults)
		}
	}
}

// checkRows compares every accepted answer with what the emulator generated.
func (w *world) checkRows() {
	t := w.t
	t.Helper()
	books := map[string]emulator.Entry{}
	for _, e := range w.vendor.Books() {
		books[e.ID] = e
	}
	for rec := range w.records() {
		r, ok := rec.(*eyrie.EndedRecord)
		if !ok || !r.OK {
			continue
		}
		truth, ok := books[r.ID]
		if !ok {
			t.Fatalf("the vendor has no generation %q", r.ID)
		}
		if truth.Endpoint != r.Lane {
			t.Errorf("%s: noted for %s, served by %s", r.ID, r.Lane, truth.Endpoint)
		}
		if r.Charged == eyrie.ChargedYes && r.Cost != eyrie.Money(truth.Cost) {
			t.Errorf("%s: noted %s, charged %s", r.ID, r.Cost, eyrie.Money(truth.Cost))
		}
		if got, want := spoken(r), w.written(truth); got != want {
			t.Errorf("%s (faults %v): accepted %q, the model wrote %q", r.ID, truth.Faults, got, want)
		}
	}
}

// written is the text of a completion.
func (w *world) written(e emulator.Entry) string {
	ids := make([]int32, len(e.CompletionIDs))
	for i, id := range e.CompletionIDs {
		ids[i] = int32(id)
	}
	text, err := w.vocab.tok.DecodeString(ids)
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSuffix(text, "<|im_end|>")
}

// spoken is an answer as the model must have written it.
func spoken(r *eyrie.EndedRecord) string {
	if r.Content == "" && r.FinishReason == eyrie.FinishLength {
		return r.Reasoning
	}
	return r.Reasoning + "</think>" + r.Content
}

// checkManners asks the books for the client's mistakes: a request that the
// journal does not know, a second charge of a prompt whose first attempt had not
// failed, a request after the money was said to be gone, or too soon after a
// refusal.
func (w *world) checkManners() {
	t := w.t
	t.Helper()
	started, failed := map[string]int{}, map[string]int{}
	for rec := range w.records() {
		switch r := rec.(type) {
		case *eyrie.StartedRecord:
			started[r.Key.String()]++
		case *eyrie.EndedRecord:
			if !r.OK {
				failed[r.Key.String()]++
			}
		}
	}
	books := w.vendor.Books()
	asked, charged := map[string]int{}, map[string]int{}
	for _, e := range books {
		if e.Body == nil {
			continue // refused before it was read
		}
		k := generationOf(t, e)
		asked[k]++
		if e.Billed {
			charged[k]++
		}
	}
	for k, n := range asked {
		if n > started[k] {
			t.Errorf("%s was asked for %d times, and the journal has %d attempts", k, n, started[k])
		}
		if charged[k] > failed[k]+1 {
			t.Errorf("%s was charged %d times, and %d attempts failed", k, charged[k], failed[k])
		}
	}
	f := emulator.Examine(books, nil)
	if len(f.AfterStop) > 0 {
		t.Errorf("asked after the vendor said that the money is gone: %v", f.AfterStop)
	}
	if len(f.TooSoon) > 0 {
		t.Errorf("asked too soon after a refusal: %v", f.TooSoon)
	}
}

// generationOf is the key of the generation that a request was for.
func generationOf(t *testing.T, e emulator.Entry) string {
	t.Helper()
	var body struct {
		Metadata struct {
			Generation string `json:"generation"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(e.Body, &body); err != nil || body.Metadata.Generation == "" {
		t.Fatalf("request %d does not say what it is for: %v", e.Number, err)
	}
	return body.Metadata.Generation
}

// checkBoughtOnce: what was accepted was not asked for again, whatever happened
// in between.
func (w *world) checkBoughtOnce() {
	w.t.Helper()
	done := map[eyrie.Key]bool{}
	for rec := range w.records() {
		switch rec := rec.(type) {
		case *eyrie.StartedRecord:
			if done[rec.Key] {
				w.t.Errorf("generation %s was asked for again", rec.Key)
			}
		case *eyrie.EndedRecord:
			done[rec.Key] = done[rec.Key] || rec.OK
		}
	}
}

// served counts the answers of an endpoint that began between two moments after
// the first request.
func (w *world) served(tag string, from, to time.Duration) (n int) {
	books := w.vendor.Books()
	for _, e := range books {
		if at := e.Began.Sub(books[0].Began); e.Endpoint == tag && e.Outcome == emulator.Completed && at >= from && at < to {
			n++
		}
	}
	return n
}

// together is how many requests were in flight at once at most.
func (w *world) together() (most int) {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, e := range w.vendor.Books() {
		changes = append(changes, change{e.Began, 1}, change{e.Ended, -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	now := 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}

// records are the journal's, in order.
func (w *world) records() iter.Seq[eyrie.Record] {
	return func(yield func(eyrie.Record) bool) {
		for e, err := range journal.Read(w.root) {
			if err != nil {
				w.t.Fatal(err)
			}
			if !yield(e.Record) {
				return
			}
		}
	}
}

// census says what came of a job, for people.
func (w *world) census() string {
	totals := w.vendor.Totals()
	set := w.state.Set("set")
	classes := map[string]int{}
	for rec := range w.records() {
		if r, ok := rec.(*eyrie.EndedRecord); ok && !r.OK {
			classes[r.Class]++
		}
	}
	return fmt.Sprintf("%d rows, %d given up, %d requests, %s; outcomes %v, faults %v; attempts that failed %v; up to %d in flight, %v",
		set.Rows, set.GaveUp, totals.Requests, eyrie.Money(totals.Spend), totals.Outcomes, totals.Faults, classes, w.together(), w.elapsed())
}

// elapsed is the time from the first request to the last.
func (w *world) elapsed() time.Duration {
	books := w.vendor.Books()
	if len(books) == 0 {
		return 0
	}
	return books[len(books)-1].Ended.Sub(books[0].Began).Round(time.Second)
}
