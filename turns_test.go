package eyrie_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/eyrie-ai/eyrie"
)

// ask returns the messages of a turn that there has to be.
func ask(t testing.TB, p *eyrie.Prompt, turn int, answers []*eyrie.Answer) []eyrie.Message {
	t.Helper()
	ms, err := p.Ask(turn, answers)
	if err != nil {
		t.Fatalf("turn %d: %v", turn, err)
	}
	return ms
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
			ask, err := p.Ask(i, answers)
			if err != nil {
				return // the data set's results have no calls
			}
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
	answers := []*eyrie.Answer{
		{Content: "A", Reasoning: "not sent back"},
		{Content: "B", Reasoning: "nor this"},
	}
	for turn, want := range []string{"s:s u:a", "s:s u:a a:A u:b", "s:s u:a a:A u:b a:B u:c"} {
		got := ask(t, p, turn, answers[:turn])
		if saying(got) != want {
			t.Errorf("turn %d asks %q, want %q", turn, saying(got), want)
		}
		for _, m := range got {
			if m.Reasoning != "" {
				t.Errorf("turn %d sends reasoning back", turn)
			}
		}
	}
	ask(t, p, 0, nil)[0].Content = "changed"
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
		want     eyrie.Break
	}{
		{"complete answer", two, 0, complete, ""},
		{"last turn", two, 1, complete, "no more"},
		{"cut by its length", two, 0, eyrie.Answer{FinishReason: eyrie.FinishLength}, eyrie.BreakLength},
		{"no finish", two, 0, eyrie.Answer{}, eyrie.BreakLength},
		{"finished with tool calls", two, 0, eyrie.Answer{FinishReason: eyrie.FinishToolCalls}, eyrie.BreakLength},
		{"stopped, with tool calls", two, 0, eyrie.Answer{FinishReason: eyrie.FinishStop, ToolCalls: []eyrie.ToolCall{{}}}, eyrie.BreakResult},
		{"a tool's result follows", []eyrie.Message{user("a"), assistant("x"), toolResult("r")}, 0, complete, eyrie.BreakCall},
		{"a tool's result is among what follows", []eyrie.Message{user("a"), assistant("x"), user("b"), toolResult("r")}, 0, complete, eyrie.BreakCall},
		{"nothing stands between two answers", []eyrie.Message{user("a"), assistant("x"), assistant("y")}, 0, complete, eyrie.BreakNothing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &eyrie.Prompt{Messages: tt.messages}
			more, why := p.Continues(tt.turn, &tt.answer)
			if !more && why == "" {
				why = "no more"
			}
			if more != (why == "") || why != tt.want {
				t.Errorf("Continues = %v, %q, want %q", more, why, tt.want)
			}
		})
	}
}

func TestOnly(t *testing.T) {
	long := []eyrie.Message{system("s"), user("a"), assistant("x"), user("b"), assistant("y"), user("c"), assistant("z")}
	for _, tt := range []struct {
		name     string
		messages []eyrie.Message
		turns    eyrie.Turns
		want     string // what is asked first
		count    int
	}{
		{"all", long, eyrie.AllTurns, "s:s u:a", 3},
		{"nothing said", long, "", "s:s u:a", 3},
		{"first", long, eyrie.FirstTurn, "s:s u:a", 1},
		{"last", long, eyrie.LastTurn, "s:s u:a a:x u:b a:y u:c", 1},
		{"last, not answered", long[:6], eyrie.LastTurn, "s:s u:a a:x u:b a:y u:c", 1},
		{"last of one", long[:3], eyrie.LastTurn, "s:s u:a", 1},
		{"first of one", long[:2], eyrie.FirstTurn, "s:s u:a", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole := &eyrie.Prompt{ID: "p", Messages: slices.Clone(tt.messages), Tools: []byte("[]")}
			p := whole.Only(tt.turns)
			if got := saying(ask(t, p, 0, nil)); got != tt.want || p.Turns() != tt.count {
				t.Errorf("%d turns, the first asks %q; want %d, %q", p.Turns(), got, tt.count, tt.want)
			}
			if p.ID != "p" || string(p.Tools) != "[]" || saying(whole.Messages) != saying(tt.messages) || whole.Given {
				t.Errorf("the prompt became %+v of %+v", p, whole)
			}
			if more, why := p.Continues(tt.count-1, &eyrie.Answer{FinishReason: eyrie.FinishStop}); more || why != "" {
				t.Errorf("it goes on after its last turn: %v, %q", more, why)
			}
		})
	}
}

// TestOnlyAndDigests: the same question has the same digest however a
// conversation came to ask just that, and given answers are part of a prompt.
func TestOnlyAndDigests(t *testing.T) {
	p := &eyrie.Prompt{Messages: []eyrie.Message{user("a"), assistant("x"), user("b"), assistant("y")}}
	of := func(turns eyrie.Turns, ms ...eyrie.Message) eyrie.Digest {
		return (&eyrie.Prompt{Messages: ms}).Only(turns).Digest()
	}
	if p.Only(eyrie.FirstTurn).Digest() != of(eyrie.AllTurns, user("a")) {
		t.Error("the first turn is another prompt than its question alone")
	}
	if of(eyrie.LastTurn, user("a"), assistant("x")) != of(eyrie.AllTurns, user("a")) {
		t.Error("the last turn of one is another prompt than its question alone")
	}
	last := p.Only(eyrie.LastTurn).Digest()
	if last != of(eyrie.LastTurn, p.Messages[:3]...) {
		t.Error("what the data set answers in the end is part of the last turn's prompt")
	}
	seen := map[eyrie.Digest]string{last: "nothing", p.Digest(): "all turns", of(eyrie.AllTurns, p.Messages[:3]...): "all turns, not answered"}
	call := eyrie.ToolCall{ID: "1", Name: "f", Arguments: "{}"}
	for what, change := range map[string]func(m *eyrie.Message){
		"text":      func(m *eyrie.Message) { m.Content = "X" },
		"reasoning": func(m *eyrie.Message) { m.Reasoning = "x" },
		"name":      func(m *eyrie.Message) { m.Name = "x" },
		"a call":    func(m *eyrie.Message) { m.ToolCalls = []eyrie.ToolCall{call} },
		"two calls": func(m *eyrie.Message) { m.ToolCalls = []eyrie.ToolCall{call, call} },
	} {
		q := &eyrie.Prompt{Messages: slices.Clone(p.Messages)}
		change(&q.Messages[1])
		d := q.Only(eyrie.LastTurn).Digest()
		if other, twice := seen[d]; twice {
			t.Errorf("changing %s of a given answer is like changing %s", what, other)
		}
		seen[d] = what
	}
}

// TestGivenAnswersAreWellFormed: calls and results of the data set get the ids
// that a server wants, and reasoning stands only in a loop that is still open.
func TestGivenAnswersAreWellFormed(t *testing.T) {
	p := (&eyrie.Prompt{Messages: []eyrie.Message{
		user("a"),
		{Role: eyrie.Assistant, Reasoning: "old", ToolCalls: []eyrie.ToolCall{{Name: "f"}, {Name: "g"}}},
		{Role: eyrie.ToolRole, Name: "g", Content: "of g"},
		{Role: eyrie.ToolRole, Content: "of f"},
		{Role: eyrie.Assistant, Reasoning: "old too", Content: "x"},
		user("b"),
		{Role: eyrie.Assistant, Reasoning: "new", ToolCalls: []eyrie.ToolCall{{ID: "own", Name: "f"}}},
		{Role: eyrie.ToolRole, ToolCallID: "own", Content: "of own"},
		assistant("never seen"),
	}}).Only(eyrie.LastTurn)
	ms := ask(t, p, 0, nil)
	var got []string
	for _, m := range ms {
		line := string(m.Role[0]) + ":" + m.Content + m.ToolCallID + m.Reasoning
		for _, c := range m.ToolCalls {
			line += "(" + c.ID + ")"
		}
		got = append(got, line)
	}
	want := "u:a a:(functions.f:0)(functions.g:1) t:of gfunctions.g:1 t:of ffunctions.f:0 a:x u:b a:new(own) t:of ownown"
	if strings.Join(got, " ") != want {
		t.Errorf("it asks\n%s\nwant\n%s", strings.Join(got, " "), want)
	}
	if p.Messages[1].Reasoning != "old" {
		t.Error("asking changes the prompt")
	}
}
