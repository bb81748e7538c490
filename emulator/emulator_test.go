package emulator_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// smallVocabulary is all bytes and a few words, in Kimi's file format.
var smallVocabulary = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	words := []string{"th", "he", "the", " th", " the", "er", "in", " in", "re", " s", "an", " an", "es", "ou", " a", "问", "题", "的", "\n\n"}
	for i, w := range words {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(w)), 256+i)
	}
	return b.Bytes()
})

// reference returns a path in the reference data, or skips the test.
func reference(t testing.TB, elem ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{cmp.Or(os.Getenv("EYRIE_SHARED"), filepath.Join("..", "..", "shared"))}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("reference data absent (set EYRIE_SHARED to its folder): %v", err)
	}
	return path
}

// kimiVocabulary finds the real vocabulary in the reference data, or in a
// public Go module that ships it among its test data.
func kimiVocabulary(t testing.TB) string {
	t.Helper()
	path := filepath.Join(cmp.Or(os.Getenv("EYRIE_SHARED"), filepath.Join("..", "..", "shared")), "models", "kimi-k2.5", "tiktoken.model")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/daulet/tokenizers@v1.24.0")
	cmd.Dir = t.TempDir() // outside the module, whose go.sum it would miss in
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no vocabulary: neither reference data nor the module that holds it: %v", err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(module.Dir, "test", "data", "kimi-k2-instruct", "tiktoken.model")
}

// start runs a server with the small vocabulary; change may alter its
// configuration and scenario.
func start(t testing.TB, change func(*emulator.Config, *emulator.Scenario)) (*emulator.Server, *httptest.Server) {
	t.Helper()
	scenario := emulator.DefaultScenario()
	config := emulator.Config{Vocabulary: smallVocabulary(), Seed: 7, Scenario: &scenario}
	if change != nil {
		change(&config, &scenario)
	}
	if config.VocabularyPath != "" {
		config.Vocabulary = nil
	}
	s, err := emulator.New(config)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, web
}

// faulty runs a server with one fault.
func faulty(t testing.TB, f emulator.Fault) (*emulator.Server, *httptest.Server) {
	return start(t, func(_ *emulator.Config, s *emulator.Scenario) { s.Faults = []emulator.Fault{f} })
}

const pinned = `"provider":{"only":["atlas-cloud/int4"],"allow_fallbacks":false},`

// ask builds a chat body around a prompt; more is further members, each with a
// comma behind it.
func ask(prompt, more string) string {
	return `{"model":"moonshotai/kimi-k2.5",` + more + `"messages":[{"role":"user","content":"` + prompt + `"}]}`
}

func post(t testing.TB, ctx context.Context, web *httptest.Server, body string, header ...string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/api/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-or-v1-test")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return web.Client().Do(r)
}

// chunk is one event of a stream, or a whole reply.
type chunk struct {
	ID       string `json:"id"`
	Model    string `json:"model"`
	Provider string `json:"provider"`
	Choices  []struct {
		Delta   message        `json:"delta"`
		Message message        `json:"message"`
		Finish  *string        `json:"finish_reason"`
		Error   jsontext.Value `json:"error"`
	} `json:"choices"`
	Usage *usage         `json:"usage"`
	Error jsontext.Value `json:"error"`
}

type message struct {
	Content          *string `json:"content"`
	Reasoning        string  `json:"reasoning"`
	ReasoningContent string  `json:"reasoning_content"`
	Details          []struct {
		Text string `json:"text"`
	} `json:"reasoning_details"`
	Calls []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type usage struct {
	Prompt     int            `json:"prompt_tokens"`
	Completion int            `json:"completion_tokens"`
	Cost       jsontext.Value `json:"cost"`
	Details    struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	PromptDetails struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
}

// heard is what a client makes of a reply.
type heard struct {
	status                      int
	header                      http.Header
	raw                         string
	reasoning, content          string
	calls                       []call
	finish                      string
	usage                       *usage
	done                        bool
	model, provider, id, failed string
	chunks, comments            int
	err                         error // of reading the body
	closed                      bool  // the connection is not to be used again
}

type call struct{ id, name, arguments string }

func (h *heard) take(c chunk) {
	h.id, h.model, h.provider = cmp.Or(c.ID, h.id), cmp.Or(c.Model, h.model), cmp.Or(c.Provider, h.provider)
	if c.Usage != nil {
		h.usage = c.Usage
	}
	if c.Error != nil {
		h.failed = string(c.Error)
	}
	for _, choice := range c.Choices {
		if choice.Error != nil {
			h.failed = string(choice.Error)
		}
		if choice.Finish != nil && *choice.Finish != "" {
			h.finish = *choice.Finish
		}
		for _, m := range []message{choice.Delta, choice.Message} {
			h.reasoning += m.Reasoning
			if m.Content != nil {
				h.content += *m.Content
			}
			for _, tc := range m.Calls {
				for tc.Index >= len(h.calls) {
					h.calls = append(h.calls, call{})
				}
				k := &h.calls[tc.Index]
				k.id, k.name, k.arguments = k.id+tc.ID, k.name+tc.Function.Name, k.arguments+tc.Function.Arguments
			}
		}
	}
}

// chat asks and reads the reply to its end, whatever it is.
func chat(t testing.TB, web *httptest.Server, body string, header ...string) *heard {
	t.Helper()
	res, err := post(t, t.Context(), web, body, header...)
	if err != nil {
		return &heard{err: err}
	}
	defer res.Body.Close()
	return read(t, res)
}

func read(t testing.TB, res *http.Response) *heard {
	t.Helper()
	h := &heard{status: res.StatusCode, header: res.Header, closed: res.Close}
	data, err := io.ReadAll(res.Body)
	h.raw, h.err = string(data), err
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		var c chunk
		if json.Unmarshal(bytes.TrimSpace(data), &c) == nil {
			h.take(c)
		}
		return h
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 64<<20)
	event := ""
	for lines.Scan() {
		line := strings.TrimSuffix(lines.Text(), "\r")
		value, isData := strings.CutPrefix(line, "data:")
		switch {
		case strings.HasPrefix(line, ":"):
			h.comments++
		case isData:
			event += strings.TrimPrefix(value, " ") + "\n"
		case line == "" && strings.TrimSpace(event) == "[DONE]":
			h.done, event = true, ""
		case line == "" && event != "":
			var c chunk
			if err := json.Unmarshal([]byte(event), &c); err != nil {
				t.Errorf("event %q: %v", event, err)
			}
			h.take(c)
			h.chunks++
			event = ""
		}
	}
	return h
}

// vocabulary opens the vocabulary that a server was given.
func vocabulary(t testing.TB, data []byte) *bpe.Vocabulary {
	t.Helper()
	v, err := bpe.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// agrees checks what a client heard against the books.
func agrees(t *testing.T, v *bpe.Vocabulary, h *heard, e emulator.Entry) {
	t.Helper()
	want := string(v.Decode(e.CompletionIDs))
	got := h.reasoning
	if e.Thinking && slices.Contains(e.CompletionIDs, v.EndThink()) {
		got += "</think>"
	}
	got += h.content
	if len(h.calls) > 0 {
		got += "<|tool_calls_section_begin|>"
		for _, c := range h.calls {
			got += "<|tool_call_begin|>" + c.id + "<|tool_call_argument_begin|>" + c.arguments + "<|tool_call_end|>"
		}
		got += "<|tool_calls_section_end|>"
	}
	if e.Finish != "length" {
		got += "<|im_end|>"
	}
	if got != want {
		t.Errorf("client heard\n%q\nthe model wrote\n%q", got, want)
	}
	if h.usage == nil {
		t.Fatal("no usage")
	}
	if h.usage.Completion != len(e.CompletionIDs) || h.usage.Prompt != len(e.PromptIDs) {
		t.Errorf("usage %+v, books have %d prompt and %d completion ids", h.usage, len(e.PromptIDs), len(e.CompletionIDs))
	}
	if h.finish != e.Finish {
		t.Errorf("finish %q, the model's was %q", h.finish, e.Finish)
	}
	if h.id != e.ID || h.header.Get("X-Generation-Id") != e.ID {
		t.Errorf("id %q, header %q, books %q", h.id, h.header.Get("X-Generation-Id"), e.ID)
	}
}

const weatherTool = `"tools":[{"type":"function","function":{"name":"get_weather","description":"Weather.","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":7},"unit":{"enum":["C","F"]}},"required":["city","days"]}}}],`

func TestReplySaysWhatTheModelWrote(t *testing.T) {
	v := vocabulary(t, smallVocabulary())
	for _, row := range []struct{ name, more string }{
		{"plain", ""},
		{"not thinking", `"reasoning":{"enabled":false},`},
		{"effort none", `"reasoning_effort":"none",`},
		{"tools", weatherTool},
		{"forced tool", weatherTool + `"tool_choice":"required",`},
		{"forced tool, not thinking", weatherTool + `"tool_choice":{"type":"function","function":{"name":"get_weather"}},"reasoning":{"enabled":false},`},
		{"cut by max_tokens", `"max_tokens":50,`},
	} {
		for _, stream := range []string{"true", "false"} {
			t.Run(row.name+" stream "+stream, func(t *testing.T) {
				s, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) {
					s.Text.NonCanonical, s.Text.ParallelCalls, s.Text.TrailingSpace = 0.5, 0.5, 0.5
				})
				for range 10 {
					h := chat(t, web, ask("hello", pinned+row.more+`"stream":`+stream+`,`))
					books := s.Books()
					e := books[len(books)-1]
					if h.status != 200 || e.Outcome != emulator.Completed {
						t.Fatalf("status %d, outcome %s: %s", h.status, e.Outcome, h.raw)
					}
					if stream == "true" && !h.done {
						t.Error("no [DONE]")
					}
					agrees(t, v, h, e)
				}
			})
		}
	}
}

func TestKimiVocabulary(t *testing.T) {
	path := kimiVocabulary(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := vocabulary(t, data)
	s, web := start(t, func(c *emulator.Config, s *emulator.Scenario) {
		c.VocabularyPath = path
		s.Text.NonCanonical, s.Text.ParallelCalls, s.Text.OddToolIDs = 0.5, 0.5, 0.2
	})
	odd, sameLength := 0, 0
	for i := range 60 {
		more := `"stream":true,`
		if i%2 == 0 {
			more += weatherTool
		}
		h := chat(t, web, ask("天气 don't 12345", pinned+more))
		e := s.Books()[i]
		agrees(t, v, h, e)
		again := v.EncodePrompt(nil, string(v.Decode(e.CompletionIDs)))
		if slices.Equal(again, e.CompletionIDs) != e.Canonical {
			t.Errorf("sample %d: canonical %v, but the encoder disagrees", i, e.Canonical)
		}
		if !e.Canonical {
			odd++
			if len(again) == len(e.CompletionIDs) {
				sameLength++
			}
		}
	}
	if odd < 10 || odd > 50 {
		t.Errorf("%d of 60 samples are non-canonical, want about half", odd)
	}
	if sameLength == 0 || sameLength == odd {
		t.Errorf("%d of %d non-canonical samples are as long as the canonical split, want some", sameLength, odd)
	}
}

func TestSameSeedSameWorld(t *testing.T) {
	run := func(seed uint64) []emulator.Entry {
		s, web := start(t, func(c *emulator.Config, _ *emulator.Scenario) { c.Seed = seed })
		for i := range 6 {
			chat(t, web, ask(fmt.Sprint("prompt ", i%2), pinned))
		}
		return s.Books()
	}
	a, b, c := run(1), run(1), run(2)
	same := 0
	for i := range a {
		if !slices.Equal(a[i].CompletionIDs, b[i].CompletionIDs) {
			t.Errorf("request %d differs under the same seed", i)
		}
		if slices.Equal(a[i].CompletionIDs, c[i].CompletionIDs) {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d requests are the same under another seed", same)
	}
	if slices.Equal(a[0].CompletionIDs, a[2].CompletionIDs) || a[2].Sample != 1 {
		t.Error("the second sample of a prompt is the first again")
	}
}

// TestSeeds: the same seed gets the same answer where an endpoint takes seeds,
// and only there.
func TestSeeds(t *testing.T) {
	for _, row := range []struct {
		name, more string
		fault      []emulator.Fault
		again      bool
	}{
		{"taken", pinned, nil, true},
		{"not listed", `"provider":{"only":["siliconflow"]},`, nil, false},
		{"ignored", pinned, []emulator.Fault{{Kind: "content", Value: "ignore_seed"}}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) { s.Faults = row.fault })
			for _, seed := range []string{"7", "7", "8"} {
				chat(t, web, ask("hi", row.more+`"seed":`+seed+","))
			}
			b := s.Books()
			if got := slices.Equal(b[0].CompletionIDs, b[1].CompletionIDs); got != row.again {
				t.Errorf("the same seed repeats: %v", got)
			}
			if slices.Equal(b[0].CompletionIDs, b[2].CompletionIDs) {
				t.Error("another seed gives the same answer")
			}
		})
	}
}

func TestStopStrings(t *testing.T) {
	s, web := start(t, nil)
	for i := range 10 {
		h := chat(t, web, ask(fmt.Sprint("hello ", i), `"stop":["e","问"],"provider":{"only":["novita"]},`))
		e := s.Books()[i]
		if strings.ContainsAny(h.content, "e问") || h.finish != "stop" {
			t.Errorf("%q came through, finish %q", h.content, h.finish)
		}
		if h.usage.Completion != len(e.CompletionIDs) || e.CompletionTokens != h.usage.Completion {
			t.Errorf("usage %d, books %d", h.usage.Completion, len(e.CompletionIDs))
		}
	}
	if h := chat(t, web, ask("hello", pinned+`"stop":"e",`)); !strings.Contains(h.content, "e") {
		t.Error("an endpoint without stop strings stopped")
	}
}

func TestParserKnobs(t *testing.T) {
	_, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) {
		s.Text.TrailingSpace, s.Text.TrimReasoning = 1, true
		s.Text.OddToolIDs, s.Text.RewriteToolIDs = 1, true
	})
	earlier := `{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"functions.get_weather:0","type":"function","function":{"name":"get_weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"functions.get_weather:0","content":"sunny"}`
	for _, stream := range []string{"true", "false"} {
		h := chat(t, web, `{"model":"moonshotai/kimi-k2.5",`+pinned+weatherTool+`"tool_choice":"required","stream":`+stream+`,"messages":[`+earlier+`]}`)
		if h.reasoning == "" || strings.TrimRight(h.reasoning, " \n") != h.reasoning {
			t.Errorf("reasoning ends in white space: %q", h.reasoning)
		}
		if len(h.calls) == 0 || h.calls[0].id != "functions.get_weather:1" {
			t.Errorf("calls %v, want them numbered from 1", h.calls)
		}
	}
}

func TestHiddenReasoningIsPaid(t *testing.T) {
	for _, more := range []string{`"reasoning":{"exclude":true},`, `"include_reasoning":false,`} {
		_, web := start(t, nil)
		h := chat(t, web, ask("hello", more))
		if h.reasoning != "" || h.usage.Details.Reasoning == 0 {
			t.Errorf("%s: reasoning %q, %d tokens of it", more, h.reasoning, h.usage.Details.Reasoning)
		}
	}
}
