// Package enginetest is the contract that every engine keeps, as tests.
//
// An engine's own tests call [Run] with a [Subject]: how to reach a server that
// answers, and what is known of it. What holds for one engine then holds for
// all: the order of events, what an accepted answer has in it, what becomes of a
// request that is left or cancelled, and that nothing is charged where nothing
// was sent.
//
// # Against a real server
//
// The suites of engine/sglang, engine/vllm and engine/openai also run against a
// server of yours, when these variables of the environment say where it is:
//
//	EYRIE_SGLANG_URL, EYRIE_VLLM_URL, EYRIE_OPENAI_URL   http://host:port
//	EYRIE_SERVER_TOKENIZER   the folder with its model's tokenizer and template
//	EYRIE_SERVER_MODEL       author/slug, as a job file names it; Kimi-K2.5's when unset
//	EYRIE_SERVER_KEY         the key it wants, if it wants one
//
// for example
//
//	EYRIE_VLLM_URL=http://127.0.0.1:8000 EYRIE_SERVER_TOKENIZER=./model go test -run Real ./engine/vllm
package enginetest

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie"
)

// Engine is what is tested: it makes one attempt as a stream of events.
type Engine interface {
	Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error]
}

// Subject is an engine with a server behind it that answers.
type Subject struct {
	Engine Engine
	Model  string
	Lane   *eyrie.Lane
	// Codec is the model's template and vocabulary. With it the ids of answers
	// are held against their text.
	Codec eyrie.Codec
	// IDs says that answers must come with ids.
	IDs bool
	// Free says that no attempt may leave a charge unknown.
	Free bool
	// NoTools leaves out the requests with tools, for servers without a parser.
	NoTools bool
	// Unreachable is the same engine with nothing behind it; nil leaves that
	// test out.
	Unreachable Engine
}

const tools = `[{"type":"function","function":{"name":"get_weather","description":"Get the weather of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`

// request is a question to the subject.
func (s *Subject) request(text string, change ...func(*eyrie.Request)) *eyrie.Request {
	one, top := 1.0, 0.95
	r := &eyrie.Request{
		Generation: &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: text}}, PromptTokens: 50},
		Model:      s.Model, Lane: s.Lane, Run: "enginetest", Attempt: 1,
		Sampling: eyrie.Sampling{MaxTokens: 1024, Thinking: true, Temperature: &one, TopP: &top},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

// outcome is what an attempt came to.
type outcome struct {
	events []eyrie.Event
	answer *eyrie.Answer
	err    error
}

func drain(ctx context.Context, e Engine, r *eyrie.Request) outcome {
	var o outcome
	for ev, err := range e.Stream(ctx, r) {
		o.events = append(o.events, ev)
		if ev.Kind == eyrie.Ended {
			o.answer, o.err = ev.Answer, err
		}
	}
	return o
}

// Run tests that the engine keeps the contract.
func Run(t *testing.T, s Subject) {
	t.Run("answers", s.answers)
	t.Run("thinking off", s.thinkingOff)
	t.Run("max_tokens", s.maxTokens)
	if !s.NoTools {
		t.Run("tools", s.tools)
		t.Run("history", s.history)
	}
	t.Run("samples", s.samples)
	t.Run("many at once", s.many)
	t.Run("left", s.left)
	t.Run("cancelled", s.cancelled)
	t.Run("cancelled before", s.cancelledBefore)
	if s.Unreachable != nil {
		t.Run("unreachable", s.unreachable)
	}
}

// accepted fails unless the attempt was accepted and keeps to the contract.
func (s *Subject) accepted(t *testing.T, r *eyrie.Request, o outcome) {
	t.Helper()
	s.ordered(t, o)
	if o.err != nil {
		t.Fatalf("refused: %v", o.err)
	}
	a := o.answer
	switch {
	case a.FinishReason != eyrie.FinishStop && a.FinishReason != eyrie.FinishLength && a.FinishReason != eyrie.FinishToolCalls:
		t.Errorf("accepted with the finish reason %q", a.FinishReason)
	case a.Content == "" && len(a.ToolCalls) == 0 && a.FinishReason != eyrie.FinishLength:
		t.Error("accepted without anything in it")
	case a.Usage.Given && (a.Usage.CompletionTokens <= 0 || a.Usage.CompletionTokens > r.Sampling.MaxTokens):
		t.Errorf("accepted with %d completion tokens of at most %d", a.Usage.CompletionTokens, r.Sampling.MaxTokens)
	case a.Elapsed <= 0 || a.FirstContent <= 0 || a.FirstContent > a.Elapsed:
		t.Errorf("first text after %v, end after %v", a.FirstContent, a.Elapsed)
	case len(a.FinalFrame) == 0:
		t.Error("the last frames are not kept")
	case a.Provider == "":
		t.Error("nobody is named who answered")
	}
	s.ids(t, r, a)
}

// ids holds the ids against everything that they must agree with.
func (s *Subject) ids(t *testing.T, r *eyrie.Request, a *eyrie.Answer) {
	t.Helper()
	if !s.IDs {
		return
	}
	if len(a.CompletionIDs) == 0 || len(a.PromptIDs) == 0 {
		t.Fatalf("%d ids of the completion, %d of the prompt", len(a.CompletionIDs), len(a.PromptIDs))
	}
	if s.Codec == nil {
		return
	}
	if err := s.Codec.Check(r.Generation, r.Sampling, a); err != nil {
		t.Errorf("accepted, and %v", err)
	}
	again := *a
	if err := s.Codec.Read(r.Generation, r.Sampling, &again); err != nil {
		t.Errorf("accepted, and %v", err)
	}
	if strings.TrimSpace(again.Reasoning) != strings.TrimSpace(a.Reasoning) || strings.TrimSpace(again.Content) != strings.TrimSpace(a.Content) {
		t.Errorf("the ids read as %q and %q, the answer is %q and %q", again.Reasoning, again.Content, a.Reasoning, a.Content)
	}
}

// ordered checks the order of events, which holds for every attempt.
func (s *Subject) ordered(t *testing.T, o outcome) {
	t.Helper()
	if len(o.events) == 0 || o.answer == nil || o.events[len(o.events)-1].Kind != eyrie.Ended {
		t.Fatal("the last event is not the end with an answer")
	}
	last, bytes := eyrie.EventKind(0), 0
	for _, ev := range o.events {
		if ev.Kind < last || ev.Kind == last && ev.Kind != eyrie.Progress {
			t.Fatalf("%v after %v", ev.Kind, last)
		}
		if ev.Kind == eyrie.Opened && ev.ID == "" {
			t.Error("opened without an id")
		}
		if ev.Kind == eyrie.Progress && ev.Bytes <= bytes {
			t.Errorf("progress from %d to %d bytes", bytes, ev.Bytes)
		}
		if ev.Kind == eyrie.Progress {
			bytes = ev.Bytes
		}
		last = ev.Kind
	}
	if o.err == nil {
		return
	}
	e, ok := eyrie.AsError(o.err)
	switch {
	case !ok:
		t.Fatalf("%T is no error of an attempt: %v", o.err, o.err)
	case e.Kind == 0 || e.Class == "":
		t.Errorf("an error without a decision: %+v", e)
	case s.Free && e.Charged != eyrie.ChargedNo:
		t.Errorf("an attempt that costs nothing has the charge %v: %v", e.Charged, e)
	}
}

func (s *Subject) answers(t *testing.T) {
	r := s.request("Say something about rivers, and count to twelve.")
	o := drain(t.Context(), s.Engine, r)
	s.accepted(t, r, o)
	if o.answer.Reasoning == "" {
		t.Error("thinking is on and there is no reasoning")
	}
}

func (s *Subject) thinkingOff(t *testing.T) {
	r := s.request("What is two and two?", func(r *eyrie.Request) { r.Sampling.Thinking = false })
	o := drain(t.Context(), s.Engine, r)
	s.accepted(t, r, o)
	if o.answer.Reasoning != "" {
		t.Errorf("thinking is off and reasoning came: %q", o.answer.Reasoning)
	}
}

func (s *Subject) maxTokens(t *testing.T) {
	r := s.request("Write a long story about an eyrie.", func(r *eyrie.Request) { r.Sampling.MaxTokens = 16 })
	o := drain(t.Context(), s.Engine, r)
	s.accepted(t, r, o)
	if o.answer.FinishReason != eyrie.FinishLength {
		t.Errorf("16 tokens were enough: %q", o.answer.FinishReason)
	}
}

// tools asks until a tool is called: models may also answer without.
func (s *Subject) tools(t *testing.T) {
	for i := range 12 {
		r := s.request("What is the weather in Bergen? Use the tool. Attempt "+string(rune('a'+i)), func(r *eyrie.Request) { r.Generation.Tools = []byte(tools) })
		o := drain(t.Context(), s.Engine, r)
		if e, ok := eyrie.AsError(o.err); ok && e.Class == "tool call" {
			continue // the model's fault, and found
		}
		s.accepted(t, r, o)
		if len(o.answer.ToolCalls) == 0 {
			continue
		}
		for _, c := range o.answer.ToolCalls {
			if c.Name != "get_weather" || c.ID == "" {
				t.Errorf("accepted a call of %+v", c)
			}
		}
		if o.answer.FinishReason != eyrie.FinishToolCalls && o.answer.FinishReason != eyrie.FinishLength {
			t.Errorf("calls, and the finish reason %q", o.answer.FinishReason)
		}
		return
	}
	t.Error("no tool was called in twelve answers")
}

// history goes on with a conversation in which a tool was called.
func (s *Subject) history(t *testing.T) {
	r := s.request("", func(r *eyrie.Request) {
		r.Generation.Tools = []byte(tools)
		r.Generation.Messages = []eyrie.Message{
			{Role: eyrie.System, Content: "You are terse."},
			{Role: eyrie.User, Content: "Weather in Bergen?"},
			{Role: eyrie.Assistant, Reasoning: "I need the tool.\n", Content: "", ToolCalls: []eyrie.ToolCall{{ID: "functions.get_weather:0", Name: "get_weather", Arguments: `{"city":"Bergen"}`}}},
			{Role: eyrie.ToolRole, ToolCallID: "functions.get_weather:0", Content: "rain, 8 °C"},
		}
	})
	o := drain(t.Context(), s.Engine, r)
	if e, ok := eyrie.AsError(o.err); ok && e.Class == "tool call" {
		t.Skip("the model called a tool badly, and that was found")
	}
	s.accepted(t, r, o)
}

// samples asks the same twice: answers are sampled, not repeated.
func (s *Subject) samples(t *testing.T) {
	r := s.request("Invent a name for a village.")
	one, two := drain(t.Context(), s.Engine, r), drain(t.Context(), s.Engine, r)
	s.accepted(t, r, one)
	s.accepted(t, r, two)
	if one.answer.Reasoning+one.answer.Content == two.answer.Reasoning+two.answer.Content {
		t.Error("two samples are the same")
	}
}

func (s *Subject) many(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			r := s.request("Tell me fact number " + string(rune('A'+i)) + " about the sea.")
			o := drain(t.Context(), s.Engine, r)
			if o.err != nil {
				t.Errorf("request %d: %v", i, o.err)
			}
		})
	}
	wg.Wait()
}

// left breaks out of the loop at the first event; the engine must be as good
// as before.
func (s *Subject) left(t *testing.T) {
	for range 4 {
		for range s.Engine.Stream(t.Context(), s.request("Count to a thousand.")) {
			break
		}
	}
	r := s.request("And now an answer.")
	s.accepted(t, r, drain(t.Context(), s.Engine, r))
}

// errStop is a cause that must come back.
var errStop = errors.New("stopped on purpose")

func (s *Subject) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(time.Millisecond, func() { cancel(errStop) })
	defer timer.Stop()
	o := drain(ctx, s.Engine, s.request("Count to ten thousand."))
	s.ordered(t, o)
	if o.err != nil && !errors.Is(o.err, errStop) {
		t.Errorf("cancelled with a cause, and ended with %v", o.err)
	}
}

func (s *Subject) cancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	o := drain(ctx, s.Engine, s.request("Never."))
	s.ordered(t, o)
	if !errors.Is(o.err, errStop) {
		t.Fatalf("ended with %v", o.err)
	}
	if e, _ := eyrie.AsError(o.err); e.Charged != eyrie.ChargedNo {
		t.Errorf("nothing was sent, and the charge is %v", e.Charged)
	}
}

func (s *Subject) unreachable(t *testing.T) {
	o := drain(t.Context(), s.Unreachable, s.request("Anybody there?"))
	s.ordered(t, o)
	e, ok := eyrie.AsError(o.err)
	if !ok {
		t.Fatal("an answer from nowhere")
	}
	if !e.LaneWide || e.Charged != eyrie.ChargedNo || e.Kind != eyrie.Again {
		t.Errorf("nothing is there, and the error says %v, charged %v, lane-wide %v: %v", e.Kind, e.Charged, e.LaneWide, e)
	}
}
