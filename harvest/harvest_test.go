package harvest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/harvest"
	"github.com/eyrie-ai/eyrie/journal"
)

func openRoot(t testing.TB) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

// write appends records in one session.
func write(t testing.TB, root *os.Root, recs ...eyrie.Record) {
	t.Helper()
	j, _, err := journal.Open(root, func(journal.Entry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(recs...); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, root *os.Root) *harvest.Harvest {
	t.Helper()
	h, err := harvest.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// asked is a generation as it stands in a journal.
type asked struct {
	set          string
	prompt       byte // names the conversation
	sample, turn int
}

func (a asked) key() eyrie.Key { return eyrie.Key{a.prompt, byte(a.sample), byte(a.turn)} }

// text is what the model answers.
func (a asked) text() string { return fmt.Sprintf("answer %d.%d.%d", a.prompt, a.sample, a.turn) }

func (a asked) started(attempt int64) *eyrie.StartedRecord {
	return &eyrie.StartedRecord{
		Attempt: attempt, Key: a.key(), Prompt: eyrie.Digest{a.prompt}, Set: a.set, Turn: a.turn, Sample: a.sample, Lane: "lane",
		PromptTokens: 7, Sampling: eyrie.Sampling{MaxTokens: 16, Thinking: true},
	}
}

func (a asked) ended(attempt int64) *eyrie.EndedRecord {
	return &eyrie.EndedRecord{
		Attempt: attempt, Key: a.key(), Prompt: eyrie.Digest{a.prompt}, Set: a.set, Turn: a.turn, Sample: a.sample, Lane: "lane",
		OK: true, Charged: eyrie.ChargedYes, Cost: 5, Content: a.text(), Reasoning: "thought", FinishReason: eyrie.FinishStop,
	}
}

// prompt is a conversation of three turns.
func prompt(set string, n byte, ordinal int) *eyrie.PromptRecord {
	return &eyrie.PromptRecord{
		Prompt: eyrie.Digest{n}, Set: set, ID: fmt.Sprintf("p-%d", n), Ordinal: ordinal, Tools: []byte(`[{"b":1,"a":2}]`),
		Messages: []eyrie.Message{
			{Role: eyrie.User, Content: "first"},
			{Role: eyrie.Assistant, Content: "of the data set"},
			{Role: eyrie.User, Content: "second"},
			{Role: eyrie.Assistant, Content: "of the data set"},
			{Role: eyrie.User, Content: "third"},
		},
	}
}

// answer journals accepted answers to generations, each with its start.
func answer(gens ...asked) (recs []eyrie.Record) {
	for i, g := range gens {
		recs = append(recs, g.started(int64(i+1)), g.ended(int64(i+1)))
	}
	return recs
}

// rebuilder makes rows whose one id is the length of the answer.
type rebuilder func(g *eyrie.Generation, thinking bool, a *eyrie.Answer) (eyrie.Row, error)

func (f rebuilder) Row(g *eyrie.Generation, thinking bool, a *eyrie.Answer) (eyrie.Row, error) {
	return f(g, thinking, a)
}

var plain = rebuilder(func(_ *eyrie.Generation, _ bool, a *eyrie.Answer) (eyrie.Row, error) {
	return eyrie.Row{CompletionIDs: []int32{int32(len(a.Content))}, Known: eyrie.KnownCounted}, nil
})

// rows collects a set's rows.
func rows(t testing.TB, h *harvest.Harvest, set string) (items []*harvest.Item) {
	t.Helper()
	for it, err := range h.Rows(set, plain) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, it)
	}
	return items
}

// places prints which generations items are of: prompt.sample.turn.
func places(items []*harvest.Item) string {
	var out []string
	for _, it := range items {
		g := &it.Generation
		out = append(out, fmt.Sprintf("%s.%d.%d", strings.TrimPrefix(g.PromptID, "p-"), g.Sample, g.Turn))
	}
	return strings.Join(out, " ")
}

// TestTheOrderIsTheDataSets writes the same answers in several orders and over
// several sessions: the rows come in the order of the data sets each time.
func TestTheOrderIsTheDataSets(t *testing.T) {
	prompts := []eyrie.Record{
		prompt("chat", 1, 0), prompt("code", 9, 0), prompt("code", 3, 1), prompt("code", 5, 2), // ordinals are not in the order of digests
	}
	gens := []asked{
		{"chat", 1, 0, 0},
		{"code", 9, 0, 0}, {"code", 9, 0, 1}, {"code", 9, 0, 2}, {"code", 9, 1, 0}, {"code", 9, 1, 1},
		{"code", 3, 0, 0},
		{"code", 5, 0, 0}, {"code", 5, 1, 0}, {"code", 5, 2, 0},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 5 {
		root, _ := openRoot(t)
		rng.Shuffle(len(prompts), func(i, j int) { prompts[i], prompts[j] = prompts[j], prompts[i] })
		write(t, root, slices.Concat([]eyrie.Record{&eyrie.SessionRecord{}}, prompts)...)
		rng.Shuffle(len(gens), func(i, j int) { gens[i], gens[j] = gens[j], gens[i] })
		recs := answer(gens...)
		write(t, root, recs[:2*n+2]...)
		write(t, root, recs[2*n+2:]...)

		h := open(t, root)
		if got := h.Sets(); !slices.Equal(got, []string{"chat", "code"}) {
			t.Errorf("the sets are %q", got)
		}
		if h.Len("chat") != 1 || h.Len("code") != 9 || h.Len("nothing") != 0 {
			t.Errorf("%d, %d and %d rows; want 1, 9, 0", h.Len("chat"), h.Len("code"), h.Len("nothing"))
		}
		for set, want := range map[string]string{
			"chat":    "1.0.0",
			"code":    "9.0.0 9.0.1 9.0.2 9.1.0 9.1.1 3.0.0 5.0.0 5.1.0 5.2.0",
			"nothing": "",
		} {
			if got := places(rows(t, h, set)); got != want {
				t.Errorf("set %s comes as %s, want %s", set, got, want)
			}
		}
	}
}

// TestMessagesAreThoseThatWereSent: a turn's prompt is rebuilt from the
// conversation and the model's own answers before it.
func TestMessagesAreThoseThatWereSent(t *testing.T) {
	root, _ := openRoot(t)
	write(t, root, prompt("s", 1, 4))
	write(t, root, answer(asked{"s", 1, 0, 1}, asked{"s", 1, 1, 0}, asked{"s", 1, 0, 2}, asked{"s", 1, 0, 0}, asked{"s", 1, 1, 1})...)
	want := map[string]string{
		"1.0.0": "first",
		"1.0.1": "first|answer 1.0.0|second",
		"1.0.2": "first|answer 1.0.0|second|answer 1.0.1|third",
		"1.1.0": "first",
		"1.1.1": "first|answer 1.1.0|second",
	}
	for _, it := range rows(t, open(t, root), "s") {
		var said []string
		for _, m := range it.Generation.Messages {
			said = append(said, m.Content)
			if m.Reasoning != "" {
				t.Errorf("reasoning is sent back: %q", m.Reasoning)
			}
		}
		at := places([]*harvest.Item{it})
		if got := strings.Join(said, "|"); got != want[at] {
			t.Errorf("%s was asked %q, want %q", at, got, want[at])
		}
		delete(want, at)
	}
	if len(want) > 0 {
		t.Errorf("not harvested: %v", want)
	}
}

func TestAnItemHasAllThatIsKnown(t *testing.T) {
	root, _ := openRoot(t)
	gen := asked{"s", 1, 0, 0}
	write(t, root, append([]eyrie.Record{prompt("s", 1, 4)}, answer(gen)...)...)
	var thinking bool
	for it, err := range open(t, root).Rows("s", rebuilder(func(g *eyrie.Generation, think bool, a *eyrie.Answer) (eyrie.Row, error) {
		thinking = think
		return plain(g, think, a)
	})) {
		if err != nil {
			t.Fatal(err)
		}
		g := it.Generation
		if g.Key != gen.key() || g.Set != "s" || g.PromptID != "p-1" || g.Prompt != (eyrie.Digest{1}) || g.PromptTokens != 7 || string(g.Tools) != `[{"b":1,"a":2}]` {
			t.Errorf("the generation is %+v", g)
		}
		if !thinking || !bool(it.Sampling.Thinking) || it.Sampling.MaxTokens != 16 {
			t.Errorf("the sampling is %+v, and thinking was %v", it.Sampling, thinking)
		}
		if it.Record.Content != gen.text() || it.Record.Reasoning != "thought" || it.Record.Cost != 5 {
			t.Errorf("the record is %+v", it.Record)
		}
		if it.Err != nil || len(it.Row.CompletionIDs) != 1 || it.Row.CompletionIDs[0] != int32(len(gen.text())) {
			t.Errorf("the row is %+v, %v", it.Row, it.Err)
		}
	}
}

// TestAStopStringLeavesTheEndOpen: an answer that could have been ended by a
// stop string is not certain, and the others are.
func TestAStopStringLeavesTheEndOpen(t *testing.T) {
	root, _ := openRoot(t)
	recs := []eyrie.Record{prompt("s", 1, 0), prompt("s", 2, 1), prompt("s", 3, 2)}
	for i, finish := range []eyrie.FinishReason{eyrie.FinishStop, eyrie.FinishLength, eyrie.FinishStop} {
		g := asked{"s", byte(i + 1), 0, 0}
		start, end := g.started(int64(i+1)), g.ended(int64(i+1))
		if end.FinishReason = finish; i < 2 {
			start.Sampling.Stop = []string{"END"}
		}
		recs = append(recs, start, end)
	}
	write(t, root, recs...)
	var got []eyrie.Known
	for _, it := range rows(t, open(t, root), "s") {
		got = append(got, it.Row.Known)
	}
	if want := []eyrie.Known{eyrie.KnownRetokenised, eyrie.KnownCounted, eyrie.KnownCounted}; !slices.Equal(got, want) {
		t.Errorf("the rows are %v, want %v", got, want)
	}
}

func TestOnlyAcceptedAnswersAndEachOnce(t *testing.T) {
	root, _ := openRoot(t)
	gen, given, running := asked{"s", 1, 0, 0}, asked{"s", 2, 0, 0}, asked{"s", 3, 0, 0}
	failed := gen.ended(1)
	failed.OK, failed.Content = false, "half an ans"
	second := gen.ended(3)
	second.Content = "another answer"
	write(t, root,
		prompt("s", 1, 0), prompt("s", 2, 1), prompt("s", 3, 2),
		gen.started(1), failed,
		gen.started(2), gen.started(3), gen.ended(2), second,
		given.started(4), &eyrie.GaveUpRecord{Key: given.key(), Prompt: eyrie.Digest{2}, Set: "s"},
		running.started(5),
	)
	got := rows(t, open(t, root), "s")
	if len(got) != 1 || got[0].Record.Attempt != 2 {
		t.Errorf("harvested %s", places(got))
	}
}

func TestALateBillIsTheCost(t *testing.T) {
	root, _ := openRoot(t)
	billed, shared, open1 := asked{"s", 1, 0, 0}, asked{"s", 2, 0, 0}, asked{"s", 3, 0, 0}
	recs := []eyrie.Record{prompt("s", 1, 0), prompt("s", 2, 1), prompt("s", 3, 2)}
	for i, g := range []asked{billed, shared, open1} {
		end := g.ended(int64(i + 1))
		end.Charged, end.Cost = eyrie.ChargedUnknown, 0
		recs = append(recs, g.started(int64(i+1)), end)
	}
	write(t, root, append(recs,
		&eyrie.SettledRecord{Attempts: []int64{1}, Cost: 11},
		&eyrie.SettledRecord{Attempts: []int64{2, 99}, Cost: 22}, // nobody knows whose
	)...)
	items := rows(t, open(t, root), "s")
	for i, want := range []struct {
		charged eyrie.Charged
		cost    eyrie.Money
	}{{eyrie.ChargedYes, 11}, {eyrie.ChargedUnknown, 0}, {eyrie.ChargedUnknown, 0}} {
		if r := items[i].Record; r.Charged != want.charged || r.Cost != want.cost {
			t.Errorf("row %d: charged %s, %d; want %s, %d", i, r.Charged, r.Cost, want.charged, want.cost)
		}
	}
}

// TestSetsMayShareAConversation: two data sets hold the same conversation, and
// its turns were answered for one and for the other.
func TestSetsMayShareAConversation(t *testing.T) {
	root, _ := openRoot(t)
	write(t, root, prompt("x", 1, 0))
	write(t, root, answer(asked{"x", 1, 0, 0}, asked{"w", 1, 0, 1}, asked{"x", 1, 0, 2}, asked{"x", 1, 1, 0}, asked{"w", 1, 1, 1})...)
	h := open(t, root)
	for set, want := range map[string]string{"w": "1.0.1 1.1.1", "x": "1.0.0 1.0.2 1.1.0"} {
		got := rows(t, h, set)
		if places(got) != want {
			t.Errorf("set %s comes as %s, want %s", set, places(got), want)
		}
	}
	if second := rows(t, h, "w")[1].Generation.Messages; len(second) != 3 || second[1].Content != "answer 1.1.0" {
		t.Errorf("the second turn was asked %+v", second)
	}
	third := rows(t, h, "x")[1].Generation.Messages
	if len(third) != 5 || third[1].Content != "answer 1.0.0" || third[3].Content != "answer 1.0.1" {
		t.Errorf("the third turn was asked %+v", third)
	}
}

func TestARowThatCannotBeMadeComesWithItsReason(t *testing.T) {
	root, _ := openRoot(t)
	write(t, root, prompt("s", 1, 0), prompt("s", 2, 1), prompt("s", 3, 2))
	write(t, root, answer(asked{"s", 1, 0, 0}, asked{"s", 2, 0, 0}, asked{"s", 3, 0, 0})...)
	cause := errors.New("the template cannot say this")
	var got []error
	for it, err := range open(t, root).Rows("s", rebuilder(func(g *eyrie.Generation, think bool, a *eyrie.Answer) (eyrie.Row, error) {
		if g.PromptID == "p-2" {
			return eyrie.Row{}, cause
		}
		return plain(g, think, a)
	})) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, it.Err)
	}
	if !slices.Equal(got, []error{nil, cause, nil}) {
		t.Errorf("the rows come with %v", got)
	}
}

// TestToolLoops: what was sent is rebuilt with the results that belong to the
// model's own calls, whatever way of pairing let the conversation go on, and with
// the reasoning of the loop that is open.
func TestToolLoops(t *testing.T) {
	root, _ := openRoot(t)
	call := func(id, arguments string) []eyrie.ToolCall {
		return []eyrie.ToolCall{{ID: id, Name: "f", Arguments: arguments}}
	}
	p := prompt("s", 1, 0)
	p.Messages = []eyrie.Message{
		{Role: eyrie.User, Content: "q"},
		{Role: eyrie.Assistant, ToolCalls: call("1", "{}")}, {Role: eyrie.ToolRole, ToolCallID: "1", Content: "one"},
		{Role: eyrie.Assistant, ToolCalls: call("2", `{"a":1}`)}, {Role: eyrie.ToolRole, ToolCallID: "2", Content: "two"},
	}
	recs := []eyrie.Record{p}
	for turn, id := range []string{"functions.f:0", "functions.f:1", ""} {
		g := asked{"s", 1, 0, turn}
		end := g.ended(int64(turn + 1))
		if end.Content = ""; id != "" {
			end.ToolCalls, end.FinishReason = call(id, "{}"), eyrie.FinishToolCalls
		}
		recs = append(recs, g.started(int64(turn+1)), end)
	}
	write(t, root, recs...)
	var last *harvest.Item
	for _, last = range rows(t, open(t, root), "s") {
		if last.Err != nil {
			t.Fatal(last.Err)
		}
	}
	var got []string
	for _, m := range last.Generation.Messages {
		got = append(got, string(m.Role)+":"+m.Content+m.ToolCallID+m.Reasoning)
	}
	want := "user:q assistant:thought tool:onefunctions.f:0 assistant:thought tool:twofunctions.f:1"
	if strings.Join(got, " ") != want {
		t.Errorf("the third turn was asked\n%s\nwant\n%s", strings.Join(got, " "), want)
	}
}

// TestGivenAnswersAreSentAsTheyStand, and the last turn is a turn like others.
func TestGivenAnswersAreSentAsTheyStand(t *testing.T) {
	root, _ := openRoot(t)
	p := prompt("s", 1, 0)
	p.Given = true
	write(t, root, append([]eyrie.Record{p}, answer(asked{"s", 1, 0, 0})...)...)
	items := rows(t, open(t, root), "s")
	if len(items) != 1 || len(items[0].Generation.Messages) != 5 || items[0].Generation.Messages[1].Content != "of the data set" {
		t.Errorf("it was asked %+v", items[0].Generation.Messages)
	}
}

func TestADroppedAnswerIsNoRow(t *testing.T) {
	root, _ := openRoot(t)
	kept, dropped := asked{"s", 1, 0, 0}, asked{"s", 2, 0, 0}
	recs := append([]eyrie.Record{prompt("s", 1, 0), prompt("s", 2, 1)}, answer(kept, dropped)...)
	recs[len(recs)-1].(*eyrie.EndedRecord).Drop = eyrie.DropLength
	write(t, root, recs...)
	items := rows(t, open(t, root), "s")
	if len(items) != 2 || items[0].Err != nil || items[1].Err == nil || !strings.Contains(items[1].Err.Error(), eyrie.DropLength) {
		t.Errorf("the rows come with %v and %v", items[0].Err, items[1].Err)
	}
}

func TestDamageEndsTheRows(t *testing.T) {
	root, dir := openRoot(t)
	write(t, root, prompt("s", 1, 0), prompt("s", 2, 1))
	write(t, root, answer(asked{"s", 1, 0, 0}, asked{"s", 2, 0, 0})...)
	h := open(t, root)
	name := filepath.Join(dir, "journal", "000001.jsonl")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	damaged := strings.Replace(string(b), asked{"s", 2, 0, 0}.text(), "answer 2.0.X", 1)
	if err := os.WriteFile(name, []byte(damaged), 0o644); err != nil {
		t.Fatal(err)
	}
	n := 0
	var last error
	for _, err := range h.Rows("s", plain) {
		if last != nil {
			t.Fatal("something comes after an error")
		}
		last = err
		n++
	}
	var damage *journal.DamageError
	if n != 2 || !errors.As(last, &damage) {
		t.Errorf("%d items, the last with %v; want one row and the damage", n, last)
	}
}

func TestWorksWhileTheRunGoesOn(t *testing.T) {
	root, _ := openRoot(t)
	j, _, err := journal.Open(root, func(journal.Entry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	more := func(attempt int64, g asked) {
		if _, err := j.Append(prompt("s", g.prompt, int(g.prompt)), g.started(attempt), g.ended(attempt)); err != nil {
			t.Fatal(err)
		}
	}
	more(1, asked{"s", 1, 0, 0})
	h := open(t, root)
	more(2, asked{"s", 2, 0, 0})
	if got := places(rows(t, h, "s")); got != "1.0.0" {
		t.Errorf("what was there when it was opened is %s", got)
	}
	if got := places(rows(t, open(t, root), "s")); got != "1.0.0 2.0.0" {
		t.Errorf("opened again, it is %s", got)
	}
}

// TestBreakingOffLeavesNothingRunning: when the loop is over, no row is being
// rebuilt any more, and the next loop finds everything.
func TestBreakingOffLeavesNothingRunning(t *testing.T) {
	root, _ := openRoot(t)
	var recs []eyrie.Record
	var gens []asked
	for n := range byte(100) {
		recs = append(recs, prompt("s", n, int(n)))
		gens = append(gens, asked{"s", n, 0, 0})
	}
	write(t, root, append(recs, answer(gens...)...)...)
	h := open(t, root)
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Int32
		slow := rebuilder(func(g *eyrie.Generation, think bool, a *eyrie.Answer) (eyrie.Row, error) {
			busy.Add(1)
			defer busy.Add(-1)
			if g.PromptID != "p-0" {
				time.Sleep(time.Minute) // of the bubble's time
			}
			return plain(g, think, a)
		})
		for _, err := range h.Rows("s", slow) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if n := busy.Load(); n != 0 {
			t.Errorf("%d rows are still being rebuilt", n)
		}
	})
	if got := rows(t, h, "s"); len(got) != 100 {
		t.Errorf("the next loop finds %d rows", len(got))
	}
}

// TestWhatARepairLost costs the rows that need it, each with its reason, and no
// others.
func TestWhatARepairLost(t *testing.T) {
	root, _ := openRoot(t)
	recs := answer(asked{"s", 1, 0, 0}, asked{"s", 2, 0, 0}, asked{"s", 3, 0, 0}, asked{"s", 3, 0, 1}, asked{"s", 4, 0, 0})
	recs = slices.Delete(recs, 2*4, 2*4+1) // how the last one was asked
	recs = slices.Delete(recs, 2*2, 2*3)   // the first turn of the third
	write(t, root, prompt("s", 1, 0), prompt("s", 3, 2), prompt("s", 4, 3))
	write(t, root, recs...)
	want := map[string]string{
		"p-1/t0/s0": "", "p-3/t1/s0": "a turn before it was lost", "p-4/t0/s0": "how it was asked was lost",
		eyrie.Digest{2}.String() + "/t0/s0": "its prompt was lost",
	}
	items := rows(t, open(t, root), "s")
	if len(items) != len(want) {
		t.Errorf("%d rows, want %d", len(items), len(want))
	}
	for _, it := range items {
		why, known := want[it.ID()]
		if !known || why == "" && it.Err != nil || why != "" && (it.Err == nil || !strings.Contains(it.Err.Error(), why)) {
			t.Errorf("%s: %v, want %q", it.ID(), it.Err, why)
		}
	}
}

func TestAFolderWithoutAJournal(t *testing.T) {
	root, _ := openRoot(t)
	if _, err := harvest.Open(root); !errors.Is(err, journal.ErrNoJournal) {
		t.Errorf("the error is %v, want ErrNoJournal", err)
	}
}
