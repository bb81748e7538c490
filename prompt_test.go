package eyrie_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/eyrie-ai/eyrie"
)

func system(s string) eyrie.Message     { return eyrie.Message{Role: eyrie.System, Content: s} }
func user(s string) eyrie.Message       { return eyrie.Message{Role: eyrie.User, Content: s} }
func assistant(s string) eyrie.Message  { return eyrie.Message{Role: eyrie.Assistant, Content: s} }
func toolResult(s string) eyrie.Message { return eyrie.Message{Role: eyrie.ToolRole, Content: s} }

// saying prints what messages say, to compare them at a glance.
func saying(ms []eyrie.Message) string {
	var parts []string
	for _, m := range ms {
		parts = append(parts, string(m.Role[0])+":"+m.Content)
	}
	return strings.Join(parts, " ")
}

// full is a prompt with something in every field.
func full() *eyrie.Prompt {
	return &eyrie.Prompt{
		Set: "code", ID: "p-1", Ordinal: 3,
		Messages: []eyrie.Message{
			{Role: eyrie.System, Name: "n", Content: "be brief"},
			{Role: eyrie.Assistant, Content: "c", Reasoning: "r", ToolCalls: []eyrie.ToolCall{{ID: "f:0", Name: "f", Arguments: `{"a":1}`}}},
			{Role: eyrie.ToolRole, Content: "out", ToolCallID: "f:0"},
		},
		Tools: []byte(`[{"b":1,"a":2}]`),
	}
}

func TestDigestIsOfWhatAPromptAsks(t *testing.T) {
	of := full().Digest()
	same := full()
	same.Set, same.ID, same.Ordinal = "chat", "q-2", 99
	if same.Digest() != of {
		t.Error("the digest depends on where the prompt stands")
	}
	afresh := full()
	afresh.Messages[1] = assistant("something else, and no call")
	if afresh.Digest() != of {
		t.Error("the digest depends on an answer of the data set, which is not asked for")
	}
	seen := map[eyrie.Digest]string{of: "nothing"}
	for what, change := range map[string]func(*eyrie.Prompt){
		"role":                 func(p *eyrie.Prompt) { p.Messages[0].Role = eyrie.User },
		"name":                 func(p *eyrie.Prompt) { p.Messages[0].Name = "m" },
		"content":              func(p *eyrie.Prompt) { p.Messages[0].Content = "be brief " },
		"tool call id":         func(p *eyrie.Prompt) { p.Messages[2].ToolCallID = "" },
		"tools":                func(p *eyrie.Prompt) { p.Tools = nil },
		"key order of tools":   func(p *eyrie.Prompt) { p.Tools = []byte(`[{"a":2,"b":1}]`) },
		"a message less":       func(p *eyrie.Prompt) { p.Messages = p.Messages[:2] },
		"order of messages":    func(p *eyrie.Prompt) { slices.Reverse(p.Messages) },
		"no assistant message": func(p *eyrie.Prompt) { p.Messages = slices.Delete(p.Messages, 1, 2) },
		"text in another part": func(p *eyrie.Prompt) { p.Messages[2].Content, p.Messages[2].ToolCallID = "", "outf:0" },
	} {
		p := full()
		change(p)
		if other, twice := seen[p.Digest()]; twice {
			t.Errorf("changing %s and changing %s give the same digest", what, other)
		}
		seen[p.Digest()] = what
	}
}

func TestDigestsTellPromptsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := conversations().Draw(t, "p"), conversations().Draw(t, "q")
		same := slices.EqualFunc(p.Messages, q.Messages, func(a, b eyrie.Message) bool {
			return a.Role == b.Role && (a.Role == eyrie.Assistant || a.Content == b.Content)
		})
		if got := p.Digest() == q.Digest(); got != same {
			t.Fatalf("equal digests: %v, equal prompts: %v", got, same)
		}
	})
}

func fullSampling() eyrie.Sampling {
	return eyrie.Sampling{
		Temperature: new(0.7), TopP: new(0.95), TopK: new(40), MinP: new(0.01), Seed: new(int64(7)),
		MaxTokens: 4096, Thinking: true,
	}
}

func TestSamplingDigest(t *testing.T) {
	seen := map[eyrie.Digest]string{fullSampling().Digest(): "nothing"}
	for what, change := range map[string]func(*eyrie.Sampling){
		"temperature":      func(s *eyrie.Sampling) { s.Temperature = new(0.7000000000000001) },
		"no temperature":   func(s *eyrie.Sampling) { s.Temperature = nil },
		"zero temperature": func(s *eyrie.Sampling) { s.Temperature = new(0.0) },
		"top_p":            func(s *eyrie.Sampling) { s.TopP = nil },
		"top_p and min_p":  func(s *eyrie.Sampling) { s.TopP, s.MinP = s.MinP, s.TopP },
		"top_k":            func(s *eyrie.Sampling) { s.TopK = nil },
		"zero top_k":       func(s *eyrie.Sampling) { s.TopK = new(0) },
		"min_p":            func(s *eyrie.Sampling) { s.MinP = nil },
		"seed":             func(s *eyrie.Sampling) { s.Seed = nil },
		"zero seed":        func(s *eyrie.Sampling) { s.Seed = new(int64(0)) },
		"top_k and seed":   func(s *eyrie.Sampling) { s.TopK, s.Seed = new(7), new(int64(40)) },
		"max_tokens":       func(s *eyrie.Sampling) { s.MaxTokens++ },
		"thinking":         func(s *eyrie.Sampling) { s.Thinking = false },
		"effort":           func(s *eyrie.Sampling) { s.Effort = "high" },
		"another effort":   func(s *eyrie.Sampling) { s.Effort = "stop" },
		"stop":             func(s *eyrie.Sampling) { s.Stop = []string{"high"} },
		"two stops":        func(s *eyrie.Sampling) { s.Stop = []string{"high", "low"} },
		"joined stops":     func(s *eyrie.Sampling) { s.Stop = []string{"highlow"} },
		"effort and stop":  func(s *eyrie.Sampling) { s.Effort, s.Stop = "high", []string{"low"} },
	} {
		s := fullSampling()
		change(&s)
		if other, twice := seen[s.Digest()]; twice {
			t.Errorf("changing %s and changing %s give the same digest", what, other)
		}
		seen[s.Digest()] = what
	}
}

func TestGenerationKey(t *testing.T) {
	key := func(prompt byte, turn, sample int, model string, sampling byte) eyrie.Key {
		return eyrie.GenerationKey(eyrie.Digest{prompt}, turn, sample, model, eyrie.Digest{sampling})
	}
	seen := map[eyrie.Key]string{key(1, 2, 3, "m", 4): "nothing"}
	for what, k := range map[string]eyrie.Key{
		"prompt":          key(9, 2, 3, "m", 4),
		"turn":            key(1, 9, 3, "m", 4),
		"sample":          key(1, 2, 9, "m", 4),
		"turn and sample": key(1, 3, 2, "m", 4),
		"model":           key(1, 2, 3, "n", 4),
		"sampling":        key(1, 2, 3, "m", 9),
	} {
		if other, twice := seen[k]; twice {
			t.Errorf("changing %s and changing %s give the same key", what, other)
		}
		seen[k] = what
	}
}

// A run goes on by its keys: should one of these change, every run that was
// begun before would buy its answers again.
func TestDigestsStayWhatTheyAre(t *testing.T) {
	prompt, sampling := full().Digest(), fullSampling().Digest()
	for _, tt := range []struct {
		name string
		got  eyrie.Digest
		want string
	}{
		{"prompt", prompt, "c1c25eff1a4b8a8102cc19c7a7989f98"},
		{"plain prompt", (&eyrie.Prompt{Messages: []eyrie.Message{user("hi")}}).Digest(), "20f86b4acbb06c433b9ea9e4241c4b99"},
		{"sampling", sampling, "2e1bff8a7bb542075aae0b59e0fe4131"},
		{"plain sampling", eyrie.Sampling{MaxTokens: 16}.Digest(), "b9b673f5cb55c3c7736b5da7f27e95a6"},
		{"generation", eyrie.GenerationKey(prompt, 1, 2, "moonshotai/kimi-k2.5", sampling), "dc8c25a8083360a219aa823a5e3898d7"},
	} {
		if tt.got.String() != tt.want {
			t.Errorf("the digest of the %s is %s, and was %s", tt.name, tt.got, tt.want)
		}
	}
}

func TestDigestAsText(t *testing.T) {
	want := full().Digest()
	var got eyrie.Digest
	roundTrip(t, want, &got)
	if got != want {
		t.Errorf("%s came back as %s", want, got)
	}
	for _, bad := range []string{"", "00", strings.Repeat("0", 31), strings.Repeat("0", 33), strings.Repeat("g", 32)} {
		if err := new(eyrie.Digest).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was read as a digest", bad)
		}
	}
}
