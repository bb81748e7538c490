package dispatch_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/progress"
)

// script is a conversation with the truth about it: which result belongs to
// which call of its every turn.
type script struct {
	prompt *eyrie.Prompt
	calls  [][]eyrie.ToolCall // by turn
	result [][]string         // of each call; empty where it has none
}

var (
	tools     = []string{"f", "g"}
	arguments = []string{`{"a":1}`, `{"a":1,"b":[2]}`, `{}`}
	spelled   = map[string]string{`{"a":1}`: ` {"a": 1}`, `{"a":1,"b":[2]}`: `{"b":[2], "a":1}`, `{}`: ""}
)

// write makes up a conversation.
func write(rng *rand.Rand, n int) *script {
	p := &eyrie.Prompt{Set: "s", ID: fmt.Sprint(n), Ordinal: n, Messages: []eyrie.Message{{Role: eyrie.User, Content: fmt.Sprintf("%d: do it", n)}}}
	s := &script{prompt: p}
	for turn := range rng.IntN(5) {
		said := eyrie.Message{Role: eyrie.Assistant, Content: "the data set says"}
		var results []eyrie.Message
		named := rng.IntN(2) == 0
		outcome := []string(nil)
		for i := range rng.IntN(3) {
			c := eyrie.ToolCall{Name: tools[rng.IntN(2)], Arguments: arguments[rng.IntN(3)]}
			r := eyrie.Message{Role: eyrie.ToolRole, Content: fmt.Sprintf("%d.%d.%d", n, turn, i)}
			if named {
				c.ID = fmt.Sprintf("call_%d", i)
				r.ToolCallID = c.ID
			}
			said.ToolCalls = append(said.ToolCalls, c)
			if named && rng.IntN(12) == 0 {
				outcome = append(outcome, "")
				continue
			}
			outcome = append(outcome, r.Content)
			results = append(results, r)
		}
		if named {
			rng.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
		}
		p.Messages = append(append(p.Messages, said), results...)
		if len(results) == 0 || rng.IntN(3) == 0 {
			p.Messages = append(p.Messages, eyrie.Message{Role: eyrie.User, Content: fmt.Sprintf("%d.%d: go on", n, turn)})
		}
		s.calls, s.result = append(s.calls, said.ToolCalls), append(s.result, outcome)
	}
	return s
}

// answer is what the model says in a turn: mostly what lets it go on.
func (s *script) answer(rng *rand.Rand, turn int) *eyrie.Answer {
	a := &eyrie.Answer{Reasoning: fmt.Sprintf("thought %d", rng.IntN(1000)), Content: fmt.Sprintf("own %d", rng.IntN(1000)), FinishReason: eyrie.FinishStop}
	if rng.IntN(25) == 0 {
		a.FinishReason = eyrie.FinishLength
		return a
	}
	if turn >= len(s.calls) {
		return a
	}
	calls := slices.Clone(s.calls[turn])
	rng.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	switch {
	case rng.IntN(15) == 0:
		calls = append(calls, eyrie.ToolCall{Name: tools[0], Arguments: arguments[0]})
	case len(calls) > 0 && rng.IntN(15) == 0:
		calls = calls[1:]
	case len(calls) > 0 && rng.IntN(8) == 0:
		calls[0].Arguments = `{"a":2}`
	}
	for i := range calls {
		calls[i].ID = fmt.Sprintf("functions.%s:%d", calls[i].Name, rng.IntN(9)*10+i)
		if other, ok := spelled[calls[i].Arguments]; ok && rng.IntN(2) == 0 {
			calls[i].Arguments = other
		}
	}
	if a.ToolCalls = calls; len(calls) > 0 && rng.IntN(2) == 0 {
		a.FinishReason = eyrie.FinishToolCalls
	}
	return a
}

// next is what a conversation says after a turn: the obvious reference. It tries
// every way of giving calls their results, and reports false where there is none.
func (s *script) next(turn int, a *eyrie.Answer) ([]eyrie.Message, bool) {
	if a.FinishReason == eyrie.FinishLength || turn >= len(s.calls) {
		return nil, false
	}
	same := func(c, d eyrie.ToolCall) bool {
		var x, y any
		read := func(text string, v *any) {
			if text == "" {
				text = "{}"
			}
			if err := json.Unmarshal([]byte(text), v); err != nil {
				panic(err)
			}
		}
		read(c.Arguments, &x)
		read(d.Arguments, &y)
		return c.Name == d.Name && reflect.DeepEqual(x, y)
	}
	used := map[int]bool{}
	var out []eyrie.Message
	var try func(i int) bool
	try = func(i int) bool {
		if i == len(a.ToolCalls) {
			for k, r := range s.result[turn] {
				if r != "" && !used[k] {
					return false // a result without a call
				}
			}
			return true
		}
		for k, c := range s.calls[turn] {
			if r := s.result[turn][k]; r != "" && !used[k] && same(c, a.ToolCalls[i]) {
				used[k] = true
				out = append(out, eyrie.Message{Role: eyrie.ToolRole, Content: r, ToolCallID: a.ToolCalls[i].ID})
				if try(i + 1) {
					return true
				}
				used[k], out = false, out[:len(out)-1]
			}
		}
		return false
	}
	if !try(0) {
		return nil, false
	}
	at := -1 // of the message after the turn's answer
	for i, n := 0, 0; i < len(s.prompt.Messages); i++ {
		if s.prompt.Messages[i].Role == eyrie.Assistant {
			if n == turn {
				at = i + 1
			}
			n++
		}
	}
	for _, m := range s.prompt.Messages[at:] {
		if m.Role == eyrie.Assistant {
			break
		}
		if m.Role == eyrie.User {
			out = append(out, m)
		}
	}
	return out, len(out) > 0
}

// asked is what a turn has to be sent, given all the answers before it.
func (s *script) asked(t *testing.T, answers []*eyrie.Answer) []eyrie.Message {
	out := []eyrie.Message{s.prompt.Messages[0]}
	for turn, a := range answers {
		out = append(out, eyrie.Message{Role: eyrie.Assistant, Content: a.Content, Reasoning: a.Reasoning, ToolCalls: a.ToolCalls})
		more, ok := s.next(turn, a)
		if !ok {
			t.Errorf("conversation %s was asked turn %d, and turn %d does not lead there", s.prompt.ID, len(answers), turn)
			return nil
		}
		out = append(out, more...)
	}
	last := -1
	for i, m := range out {
		if m.Role == eyrie.Assistant && len(m.ToolCalls) == 0 {
			last = i
		}
	}
	for i := range out[:last+1] {
		out[i].Reasoning = ""
	}
	return out
}

// turnOf names a generation.
type turnOf struct {
	prompt       string
	sample, turn int
}

// TestConversations runs random conversations through random failures, stops and
// restarts. What was sent is what an obvious reference would send, nothing is
// bought twice, no paid turn is lost, and in the end every conversation has come
// as far as its answers lead.
func TestConversations(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { converse(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func converse(t *testing.T, rng *rand.Rand) {
	const samples = 2
	scripts := map[string]*script{}
	var order []*script
	for n := range 8 {
		s := write(rng, n)
		scripts[s.prompt.ID], order = s, append(order, s)
	}
	var mu sync.Mutex
	sent := map[turnOf][]eyrie.Message{}
	trouble := true
	r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
		mu.Lock()
		defer mu.Unlock()
		g := q.Generation
		sent[turnOf{g.PromptID, g.Sample, g.Turn}] = g.Messages
		took := time.Duration(rng.IntN(3000)) * time.Millisecond
		if trouble && rng.IntN(3) == 0 {
			kind := []eyrie.ErrorKind{eyrie.Again, eyrie.Elsewhere, eyrie.GiveUp}[rng.IntN(3)]
			return &eyrie.Answer{}, took, &eyrie.Error{Kind: kind, Class: "trouble", Err: errors.New("trouble"), Charged: eyrie.ChargedNo}
		}
		a, paid := scripts[g.PromptID].answer(rng, g.Turn), good(q, 20)
		a.Usage, a.Cost, a.CostGiven = paid.Usage, paid.Cost, true
		return a, took, nil
	})
	r.cfg.Sets = []dispatch.Set{{Name: "s", Target: 1 << 40, Samples: samples, Prompts: func(yield func(*eyrie.Prompt, error) bool) {
		for _, s := range order {
			if !yield(s.prompt, nil) {
				return
			}
		}
	}}}
	for session := range 4 {
		trouble = session < 3
		r.session(t, time.Duration(1+rng.IntN(5))*time.Second, !trouble)
	}
	won := map[turnOf]*eyrie.EndedRecord{}
	for e := range r.ended() {
		if !e.OK {
			continue
		}
		g := turnOf{promptID(r, e.Prompt), e.Sample, e.Turn}
		if won[g] != nil {
			t.Errorf("%v was bought twice", g)
		}
		won[g] = e
	}
	for _, s := range order {
		for sample := range samples {
			s.follow(t, sample, won, sent)
		}
	}
	if len(won) != 0 {
		t.Errorf("there are turns behind the end of their conversations: %v", won)
	}
}

// follow walks along a conversation's answers and takes them out of won.
func (s *script) follow(t *testing.T, sample int, won map[turnOf]*eyrie.EndedRecord, sent map[turnOf][]eyrie.Message) {
	var answers []*eyrie.Answer
	for turn := 0; ; turn++ {
		g := turnOf{s.prompt.ID, sample, turn}
		e := won[g]
		if e == nil {
			t.Errorf("%v was not made, and all before it let it go on", g)
			return
		}
		delete(won, g)
		if want := s.asked(t, answers); !reflect.DeepEqual(sent[g], want) {
			t.Errorf("%v was sent\n%+v\nwant\n%+v", g, sent[g], want)
		}
		answers = append(answers, e.Answer())
		_, more := s.next(turn, answers[turn])
		last := turn == s.prompt.Turns()-1
		if (e.Break != "") != (!more && !last) {
			t.Errorf("%v ends for %q; it goes on: %v, it is the last: %v", g, e.Break, more, last)
		}
		if !more {
			return
		}
	}
}

// session runs on the journal so far, as a new process would. One that is not to
// finish is cut off after a while.
func (r *rig) session(t *testing.T, patience time.Duration, finish bool) {
	t.Helper()
	r.cfg.State = progress.New()
	r.cfg.Ledger = ledger.New(eyrie.Dollar)
	if _, err := r.journal.Append(&eyrie.SessionRecord{Budget: eyrie.Dollar}); err != nil {
		t.Fatal(err)
	}
	for i, rec := range r.journal.recs {
		r.cfg.State.Apply(journal.Entry{Ref: journal.Ref{Segment: 1, Offset: int64(i)}, Record: rec})
		r.cfg.Ledger.Apply(rec)
	}
	d, err := dispatch.New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !finish {
		go func() {
			time.Sleep(patience) // of the bubble's time
			d.Drain()
		}()
	}
	if res := d.Run(t.Context()); finish && res.Stop != dispatch.Exhausted {
		t.Errorf("it stopped: %v, %v", res.Stop, res.Err)
	}
	r.check(t)
	time.Sleep(patience)
}

// ended yields the ends in the journal.
func (r *rig) ended() iter.Seq[*eyrie.EndedRecord] {
	return func(yield func(*eyrie.EndedRecord) bool) {
		for _, rec := range r.journal.recs {
			if e, ok := rec.(*eyrie.EndedRecord); ok && !yield(e) {
				return
			}
		}
	}
}

// promptID finds the id of a prompt in the journal.
func promptID(r *rig, d eyrie.Digest) string {
	for _, rec := range r.journal.recs {
		if p, ok := rec.(*eyrie.PromptRecord); ok && p.Prompt == d {
			return p.ID
		}
	}
	return ""
}
