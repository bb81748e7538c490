package tokens_test

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
)

var emulated = flag.Int("emulated", 1400, "how many answers of the emulator TestEmulatedCertificates measures")

// scenarios are ways in which the emulator answers. It renders, tokenises and
// writes by code that shares nothing with this project's own.
var scenarios = []struct {
	name   string
	change func(*emulator.Scenario)
	judge  server // asked for logprobs where it names tokens
}{
	{"emulator", func(s *emulator.Scenario) {}, server{}},
	{"emulator, space kept", func(s *emulator.Scenario) { s.Text.TrailingSpace = 0.05 }, server{}},
	{"emulator, space trimmed", func(s *emulator.Scenario) {
		s.Text.TrailingSpace, s.Text.TrimReasoning = 0.05, true
	}, server{trimReason: true}},
	{"emulator, renames calls", func(s *emulator.Scenario) {
		s.Faults = []emulator.Fault{{Kind: "tool", Value: "native_id"}}
	}, server{rewriteIDs: true}},
	// Half of the calls that leave it open say something before; where that
	// begins, the emulator's text tells and no token does. They stay uncertified.
	{"emulator, leaves reasoning open", func(s *emulator.Scenario) { s.Text.SkipThinkEnd = 0.1 }, server{}},
	{"emulator, arguments as written", func(s *emulator.Scenario) { s.Text.KeepArguments = true }, server{written: true}},
	{"emulator, miscounts", func(s *emulator.Scenario) {
		s.Faults = []emulator.Fault{{Kind: "usage", Value: "undercount", Rate: 0.2}, {Kind: "usage", Value: "overcount", Rate: 0.2}}
	}, server{miscounts: true}},
	{"emulator, repeats call ids", func(s *emulator.Scenario) {
		s.Faults = []emulator.Fault{{Kind: "tool", Value: "duplicate_id"}}
	}, server{repeatsIDs: true}},
	{"emulator, spoils arguments", func(s *emulator.Scenario) {
		s.Faults = []emulator.Fault{{Kind: "tool", Value: "malformed"}}
	}, server{repeatsIDs: true}}, // no such call is certified
	{"emulator, names tokens", func(s *emulator.Scenario) {
		s.Text.TrailingSpace, s.Text.TrimReasoning = 0.05, true
	}, server{names: byBytes}},
	{"emulator, names tokens by text", func(s *emulator.Scenario) {
		s.Text.TrailingSpace, s.Text.TrimReasoning = 0.05, true
		s.Faults = []emulator.Fault{{Kind: "logprobs", Value: "text_bytes"}}
	}, server{names: byText, trimReason: true}},
	{"emulator, names two tokens as one", func(s *emulator.Scenario) {
		s.Faults = []emulator.Fault{{Kind: "logprobs", Value: "merged", Rate: 0.5}}
	}, server{names: merged}},
}

// TestEmulatedCertificates is [TestCertificates] over the emulator: the rows of
// what it answers are held against its books.
func TestEmulatedCertificates(t *testing.T) {
	p := newPopulation(t, 11)
	out := newReport()
	for i, sc := range scenarios {
		src := func(t testing.TB, number, size int) []sample {
			return emulatedBatch(t, p.from(11, uint64(i)<<32|uint64(number)), sc.change, sc.judge.names != noNames, size)
		}
		habits, tallies := measure(t, p.rebuild, src, max(1, *emulated/len(scenarios)))
		out.add(sc.name, habits, tallies)
		sc.judge.name = sc.name
		sc.judge.judge(t, tallies[0], tallies[1], tallies[2])
	}
	out.log(t)
}

// emulatedBatch asks an emulator of its own for size answers.
func emulatedBatch(t testing.TB, p *population, change func(*emulator.Scenario), logprobs bool, size int) []sample {
	sc := emulator.DefaultScenario()
	sc.Text.MedianTokens = 120
	change(&sc)
	s, err := emulator.New(emulator.Config{
		VocabularyPath: filepath.Join(kimiFolder(t), "tiktoken.model"), Seed: p.rng.Uint64(), Scenario: &sc,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	samples := make([]sample, size)
	place := map[string]int{} // of a generation, by its id
	for i := range samples {
		x := &samples[i]
		x.generation, x.thinking = p.generation(), p.chance(0.85)
		x.answer = ask(t, s, x.generation, x.thinking, p.chance(0.05), logprobs)
		place[x.answer.ID] = i
	}
	for _, e := range s.Books() {
		x := &samples[place[e.ID]]
		x.prompt, x.completion, x.canonical = signed(e.PromptIDs), signed(e.CompletionIDs), e.Canonical
		text, err := p.tok.Decode(nil, x.completion)
		if err != nil {
			t.Fatal(err)
		}
		written, _, _ := bytes.Cut(text, []byte("</think>"))
		written, _, _ = bytes.Cut(written, []byte("<|tool_calls_section_begin|>"))
		x.lost = x.thinking && len(bytes.TrimRight(written, " \n")) < len(written) && len(x.answer.Reasoning) < len(written)
	}
	return samples
}

func signed(ids []uint32) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}

// emulatorRequest is the body of a request.
type emulatorRequest struct {
	Model     string            `json:"model"`
	Messages  []emulatorMessage `json:"messages"`
	Tools     jsontext.Value    `json:"tools,omitzero"`
	MaxTokens int               `json:"max_tokens,omitzero"`
	Logprobs  bool              `json:"logprobs,omitzero"`
	Reasoning struct {
		Enabled bool `json:"enabled"`
	} `json:"reasoning"`
	Provider struct {
		RequireParameters bool `json:"require_parameters,omitzero"`
	} `json:"provider,omitzero"`
}

type emulatorMessage struct {
	Role       eyrie.Role     `json:"role"`
	Content    string         `json:"content"`
	Reasoning  string         `json:"reasoning,omitzero"`
	ToolCalls  []emulatorCall `json:"tool_calls,omitzero"`
	ToolCallID string         `json:"tool_call_id,omitzero"`
}

type emulatorCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// emulatorLogprob is a token. Its bytes are a list of numbers, or null.
type emulatorLogprob struct {
	Token   string  `json:"token"`
	Bytes   *[]int  `json:"bytes"`
	Logprob float64 `json:"logprob"`
}

// emulatorReply is a reply in one piece.
type emulatorReply struct {
	ID      string `json:"id"`
	Choices []struct {
		Finish   eyrie.FinishReason `json:"finish_reason"`
		Message  emulatorMessage    `json:"message"`
		Logprobs struct {
			Content []emulatorLogprob `json:"content"`
		} `json:"logprobs"`
	} `json:"choices"`
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
}

// ask has the emulator answer a generation.
func ask(t testing.TB, s http.Handler, g *eyrie.Generation, thinking, short, logprobs bool) *eyrie.Answer {
	t.Helper()
	q := emulatorRequest{Model: "moonshotai/kimi-k2.5", Tools: g.Tools, Logprobs: logprobs}
	q.Reasoning.Enabled = thinking
	q.Provider.RequireParameters = logprobs // not every endpoint has them
	if short {
		q.MaxTokens = 60
	}
	for _, m := range g.Messages {
		out := emulatorMessage{Role: m.Role, Content: m.Content, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			call := emulatorCall{ID: c.ID, Type: "function"}
			call.Function.Name, call.Function.Arguments = c.Name, c.Arguments
			out.ToolCalls = append(out.ToolCalls, call)
		}
		q.Messages = append(q.Messages, out)
	}
	body, err := json.Marshal(&q)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/api/v1/chat/completions", bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer key")
	r.Header.Set("User-Agent", "test")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var reply emulatorReply
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || len(reply.Choices) != 1 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return reply.answer()
}

func (r *emulatorReply) answer() *eyrie.Answer {
	c := &r.Choices[0]
	a := &eyrie.Answer{
		ID: r.ID, Reasoning: c.Message.Reasoning, Content: c.Message.Content, FinishReason: c.Finish,
		Usage: eyrie.Usage{Given: true, PromptTokens: r.Usage.Prompt, CompletionTokens: r.Usage.Completion, ReasoningTokens: r.Usage.Details.Reasoning},
	}
	for _, call := range c.Message.ToolCalls {
		a.ToolCalls = append(a.ToolCalls, eyrie.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	for _, e := range c.Logprobs.Content {
		l := eyrie.TokenLogprob{Token: e.Token, Logprob: e.Logprob}
		if e.Bytes != nil {
			l.Bytes = []byte{}
			for _, b := range *e.Bytes {
				l.Bytes = append(l.Bytes, byte(b))
			}
		}
		a.Logprobs = append(a.Logprobs, l)
	}
	return a
}
