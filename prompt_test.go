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

func TestTurns(t *testing.T) {
	for _, tt := range []struct {
		name     string
		messages []eyrie.Message
		turns    []string // what is new before each answer
	}{
		{"one question", []eyrie.Message{user("a")}, []string{"u:a"}},
		{"system and question", []eyrie.Message{system("s"), user("a")}, []string{"s:s u:a"}},
		{"answered question", []eyrie.Message{user("a"), assistant("x")}, []string{"u:a"}},
		{"two questions", []eyrie.Message{user("a"), assistant("x"), user("b")}, []string{"u:a", "u:b"}},
		{"two answered questions", []eyrie.Message{user("a"), assistant("x"), user("b"), assistant("y")}, []string{"u:a", "u:b"}},
		{"tool result", []eyrie.Message{user("a"), assistant("x"), toolResult("r"), assistant("y"), user("b")}, []string{"u:a", "t:r", "u:b"}},
		{"answer after answer", []eyrie.Message{user("a"), assistant("x"), assistant("y"), user("b")}, []string{"u:a", "", "u:b"}},
		{"two messages in a turn", []eyrie.Message{user("a"), assistant("x"), system("s"), user("b")}, []string{"u:a", "s:s u:b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &eyrie.Prompt{Messages: tt.messages}
			if got := p.Turns(); got != len(tt.turns) {
				t.Fatalf("%d turns, want %d", got, len(tt.turns))
			}
			for i, want := range tt.turns {
				if got := saying(p.Turn(i)); got != want {
					t.Errorf("turn %d: %q, want %q", i, got, want)
				}
			}
			for _, i := range []int{len(tt.turns), len(tt.turns) + 1} {
				if got := p.Turn(i); len(got) != 0 {
					t.Errorf("there is a turn %d: %v", i, got)
				}
			}
		})
	}
}

// conversations draws prompts of any order of roles.
func conversations() *rapid.Generator[*eyrie.Prompt] {
	message := rapid.Custom(func(t *rapid.T) eyrie.Message {
		return eyrie.Message{
			Role:    rapid.SampledFrom([]eyrie.Role{eyrie.System, eyrie.User, eyrie.Assistant, eyrie.ToolRole}).Draw(t, "role"),
			Content: rapid.StringN(0, 3, -1).Draw(t, "content"),
		}
	})
	return rapid.Map(rapid.SliceOfN(message, 1, 8), func(ms []eyrie.Message) *eyrie.Prompt { return &eyrie.Prompt{Messages: ms} })
}

func TestTurnsAreTheWholeConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := conversations().Draw(t, "prompt")
		var got []eyrie.Message
		for i := range p.Turns() {
			got = append(got, p.Turn(i)...)
		}
		want := slices.DeleteFunc(slices.Clone(p.Messages), func(m eyrie.Message) bool { return m.Role == eyrie.Assistant })
		if saying(got) != saying(want) {
			t.Fatalf("the turns together say %q, want %q", saying(got), saying(want))
		}
		answers := make([]*eyrie.Answer, p.Turns())
		for i := range answers {
			answers[i] = &eyrie.Answer{Content: "own"}
		}
		for i := range p.Turns() {
			ask := p.Ask(i, answers)
			own := 0
			for _, m := range ask {
				if m.Role == eyrie.Assistant {
					own++
					if m.Content != "own" {
						t.Fatalf("turn %d sends an answer of the data set: %q", i, m.Content)
					}
				}
			}
			if own != i {
				t.Fatalf("turn %d sends %d answers", i, own)
			}
		}
	})
}

func TestAskBuildsOnTheModelsOwnAnswers(t *testing.T) {
	p := &eyrie.Prompt{Messages: []eyrie.Message{system("s"), user("a"), assistant("of the data set"), user("b"), assistant("of the data set"), user("c")}}
	call := eyrie.ToolCall{ID: "f:0", Name: "f", Arguments: "{}"}
	answers := []*eyrie.Answer{
		{Content: "A", Reasoning: "not sent back"},
		{Content: "B", ToolCalls: []eyrie.ToolCall{call}},
	}
	for turn, want := range []string{"s:s u:a", "s:s u:a a:A u:b", "s:s u:a a:A u:b a:B u:c"} {
		got := p.Ask(turn, answers[:turn])
		if saying(got) != want {
			t.Errorf("turn %d asks %q, want %q", turn, saying(got), want)
		}
		for _, m := range got {
			if m.Reasoning != "" {
				t.Errorf("turn %d sends reasoning back", turn)
			}
		}
	}
	if got := p.Ask(2, answers)[4].ToolCalls; !slices.Equal(got, []eyrie.ToolCall{call}) {
		t.Errorf("the calls of an answer are sent as %v", got)
	}
	p.Ask(0, nil)[0].Content = "changed"
	if p.Messages[0].Content != "s" {
		t.Error("what Ask returns is the prompt's own memory")
	}
}

func TestContinues(t *testing.T) {
	two := []eyrie.Message{user("a"), assistant("x"), user("b"), assistant("y")}
	complete := eyrie.Answer{FinishReason: eyrie.FinishStop}
	for _, tt := range []struct {
		name     string
		messages []eyrie.Message
		turn     int
		answer   eyrie.Answer
		want     bool
	}{
		{"complete answer", two, 0, complete, true},
		{"last turn", two, 1, complete, false},
		{"cut by its length", two, 0, eyrie.Answer{FinishReason: eyrie.FinishLength}, false},
		{"no finish", two, 0, eyrie.Answer{}, false},
		{"finished with tool calls", two, 0, eyrie.Answer{FinishReason: eyrie.FinishToolCalls}, false},
		{"stopped, with tool calls", two, 0, eyrie.Answer{FinishReason: eyrie.FinishStop, ToolCalls: []eyrie.ToolCall{{}}}, false},
		{"a tool's result follows", []eyrie.Message{user("a"), assistant("x"), toolResult("r")}, 0, complete, false},
		{"a tool's result is among what follows", []eyrie.Message{user("a"), assistant("x"), user("b"), toolResult("r")}, 0, complete, false},
		{"nothing stands between two answers", []eyrie.Message{user("a"), assistant("x"), assistant("y")}, 0, complete, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &eyrie.Prompt{Messages: tt.messages}
			if got := p.Continues(tt.turn, &tt.answer); got != tt.want {
				t.Errorf("Continues = %v, want %v", got, tt.want)
			}
		})
	}
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
