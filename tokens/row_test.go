package tokens_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/tokens"
)

func folder(config string) fstest.MapFS {
	return fstest.MapFS{"config.json": {Data: []byte(config)}}
}

const (
	section = "<|tool_calls_section_begin|>"
	closing = "<|tool_calls_section_end|>"
	begin   = "<|tool_call_begin|>"
	args    = "<|tool_call_argument_begin|>"
	end     = "<|tool_call_end|>"
	imEnd   = "<|im_end|>"
)

// TestRowFromText makes rows of answers whose completion is known as text with
// control tokens.
func TestRowFromText(t *testing.T) {
	call := func(id, arguments string) []eyrie.ToolCall {
		return []eyrie.ToolCall{{ID: id, Name: "f", Arguments: arguments}}
	}
	rows := []struct {
		name       string
		instant    bool // thinking is off
		answer     eyrie.Answer
		completion string // what was sampled, and what is billed
		reasoning  int    // the reasoning count of the bill
		billed     int    // added to the count of tokens
		habits     tokens.Habits
		confidence float64
		known      eyrie.Known
		want       string // the row's completion; the sampled one when empty
		reason     string // a part of the reason
	}{
		{
			name:       "thinking",
			answer:     eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat.</think>The cat." + imEnd,
			reasoning:  -1,
			known:      eyrie.KnownCounted,
		}, {
			name:       "the end of the reasoning counts as reasoning",
			answer:     eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat.</think>The cat." + imEnd,
			reasoning:  5,
			known:      eyrie.KnownCounted,
		}, {
			name:       "the end of the reasoning does not count as reasoning",
			answer:     eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat.</think>The cat." + imEnd,
			reasoning:  4,
			known:      eyrie.KnownCounted,
		}, {
			name:       "the reasoning count disagrees",
			answer:     eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat.</think>The cat." + imEnd,
			reasoning:  6,
			known:      eyrie.KnownMismatch,
			reason:     "completion: reasoning of 5 tokens by our count, 6 billed (+1)",
		}, {
			name:       "a provider that does not count reasoning",
			answer:     eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat.</think>The cat." + imEnd,
			known:      eyrie.KnownCounted,
		}, {
			name:       "instant",
			instant:    true,
			answer:     eyrie.Answer{Content: "The cat.", FinishReason: "stop"},
			completion: "The cat." + imEnd,
			known:      eyrie.KnownCounted,
		}, {
			name:       "nothing but reasoning",
			answer:     eyrie.Answer{Reasoning: "The cat sat.", FinishReason: "stop"},
			completion: "The cat sat.</think>" + imEnd,
			reasoning:  -1,
			known:      eyrie.KnownCounted,
		}, {
			name:       "cut in the reasoning",
			answer:     eyrie.Answer{Reasoning: "The cat", FinishReason: "length"},
			completion: "The cat",
			reasoning:  2,
			known:      eyrie.KnownCounted,
		}, {
			name:       "cut right after the reasoning",
			answer:     eyrie.Answer{Reasoning: "The cat", FinishReason: "length"},
			completion: "The cat</think>",
			reasoning:  -1,
			known:      eyrie.KnownCounted,
		}, {
			name:       "cut in the content",
			answer:     eyrie.Answer{Reasoning: "The cat", Content: "The", FinishReason: "length"},
			completion: "The cat</think>The",
			reasoning:  -1,
			known:      eyrie.KnownCounted,
		}, {
			name:       "cut in the arguments",
			answer:     eyrie.Answer{Reasoning: "The cat", ToolCalls: call("functions.f:0", `{"a"`), FinishReason: "length"},
			completion: "The cat</think>" + section + begin + "functions.f:0" + args + `{"a"`,
			reasoning:  -1,
			known:      eyrie.KnownCounted,
		}, {
			name:       "cut after a call",
			answer:     eyrie.Answer{Reasoning: "The cat", ToolCalls: call("functions.f:0", `{"a"`), FinishReason: "length"},
			completion: "The cat</think>" + section + begin + "functions.f:0" + args + `{"a"` + end,
			reasoning:  -1,
			known:      eyrie.KnownCounted,
		}, {
			name:       "tool call",
			answer:     eyrie.Answer{Reasoning: "The cat", Content: "The", ToolCalls: call("functions.f:0", `{"a": 1}`), FinishReason: "tool_calls"},
			completion: "The cat</think>The" + section + begin + "functions.f:0" + args + `{"a": 1}` + end + closing + imEnd,
			reasoning:  -1,
			known:      eyrie.KnownCounted,
		}, {
			name:       "call id of the server's own",
			answer:     eyrie.Answer{Reasoning: "The cat", ToolCalls: call("call_0815", `{}`), FinishReason: "tool_calls"},
			completion: "The cat</think>" + section + begin + "functions.f:0" + args + `{}` + end + closing + imEnd,
			reasoning:  -1,
			known:      eyrie.KnownCounted,
		}, {
			name:       "arguments that are no JSON",
			answer:     eyrie.Answer{Reasoning: "The cat", ToolCalls: call("functions.f:0", `{"a": 1`), FinishReason: "tool_calls"},
			completion: "The cat</think>" + section + begin + "functions.f:0" + args + `{"a": 1` + end + closing + imEnd,
			reasoning:  -1,
			known:      eyrie.KnownRetokenised,
			reason:     "completion: the arguments of tool call 0 are no JSON: changed on the way, or written so",
		}, {
			name: "calls of one id",
			answer: eyrie.Answer{Reasoning: "The cat", FinishReason: "tool_calls", ToolCalls: []eyrie.ToolCall{
				{ID: "functions.f:0", Name: "f", Arguments: `{}`}, {ID: "functions.f:0", Name: "f", Arguments: `{}`}}},
			completion: "The cat</think>" + section + begin + "functions.f:0" + args + `{}` + end + begin + "functions.f:1" + args + `{}` + end + closing + imEnd,
			reasoning:  -1,
			known:      eyrie.KnownRetokenised,
			reason:     `completion: tool calls 0 and 1 have the same id "functions.f:0": the server's, or the model's`,
		}, {
			name:       "an id of another tool",
			answer:     eyrie.Answer{Reasoning: "The cat", ToolCalls: []eyrie.ToolCall{{ID: "functions.g:0", Name: "f", Arguments: `{}`}}, FinishReason: "tool_calls"},
			completion: "The cat</think>" + section + begin + "functions.f:0" + args + `{}` + end + closing + imEnd,
			reasoning:  -1,
			known:      eyrie.KnownRetokenised,
			reason:     `completion: tool call 0 is of "f" and has the id "functions.g:0"`,
		}, {
			name: "ids of two kinds",
			answer: eyrie.Answer{Reasoning: "The cat", FinishReason: "tool_calls", ToolCalls: []eyrie.ToolCall{
				{ID: "functions.f:0", Name: "f", Arguments: `{}`}, {ID: "call_1", Name: "f", Arguments: `{}`}}},
			completion: "The cat</think>" + section + begin + "functions.f:0" + args + `{}` + end + begin + "functions.f:1" + args + `{}` + end + closing + imEnd,
			reasoning:  -1,
			known:      eyrie.KnownRetokenised,
			reason:     "completion: some ids of its tool calls look like the model's and some do not",
		}, {
			name:       "reasoning left in the content",
			answer:     eyrie.Answer{Content: "The cat sat.</think>The cat.", FinishReason: "stop"},
			completion: "The cat sat.</think>The cat." + imEnd,
			reasoning:  -1,
			known:      eyrie.KnownCounted,
		}, {
			name:       "one token more",
			answer:     eyrie.Answer{Reasoning: "The cat sat", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat</think>The cat." + imEnd,
			reasoning:  -1,
			billed:     7,
			known:      eyrie.KnownMismatch,
			reason:     "completion: 8 tokens by our count, 15 billed (+7)",
		}, {
			name:       "a trimmed line that nothing speaks for",
			answer:     eyrie.Answer{Reasoning: "The cat sat", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat\n</think>The cat." + imEnd,
			reasoning:  5,
			known:      eyrie.KnownMismatch,
			want:       "The cat sat</think>The cat." + imEnd,
			reason:     "8 tokens by our count, 9 billed (+1), perhaps a line's end after the reasoning",
		}, {
			name:       "a trimmed line by habit",
			answer:     eyrie.Answer{Reasoning: "The cat sat", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat\n</think>The cat." + imEnd,
			reasoning:  5,
			habits:     tokens.Habits{tokens.LineAfterReasoning: 0.9, tokens.EndUncounted: 0},
			known:      eyrie.KnownCounted,
			reason:     "completion: assuming a line's end after the reasoning",
		}, {
			name:       "a line that may have been trimmed without a trace",
			answer:     eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat.\n</think>The cat." + imEnd,
			reasoning:  5,
			habits:     tokens.Habits{tokens.LineAfterReasoning: 0.2},
			known:      eyrie.KnownRetokenised,
			want:       "The cat sat.</think>The cat." + imEnd,
			reason:     "completion: 2 likely readings have the length that was billed",
		}, {
			name:       "the same for who wants more rows",
			answer:     eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat.</think>The cat." + imEnd,
			reasoning:  5,
			habits:     tokens.Habits{tokens.LineAfterReasoning: 0.2},
			confidence: 0.7,
			known:      eyrie.KnownCounted,
		}, {
			name:       "before or after the end of the reasoning",
			answer:     eyrie.Answer{Reasoning: "The cat sat", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat\n</think>The cat." + imEnd,
			reasoning:  -1,
			habits:     tokens.Habits{tokens.LineAfterReasoning: 0.5, tokens.LineBeforeContent: 0.4},
			known:      eyrie.KnownRetokenised,
			reason:     "2 likely readings",
		}, {
			name:       "the end token is not billed",
			answer:     eyrie.Answer{Reasoning: "The cat sat", Content: "The cat.", FinishReason: "stop"},
			completion: "The cat sat</think>The cat." + imEnd,
			reasoning:  4,
			billed:     -1,
			habits:     tokens.Habits{tokens.EndUnbilled: 0.98},
			known:      eyrie.KnownCounted,
			reason:     "assuming the end token not billed",
		}, {
			name:       "arguments printed anew",
			answer:     eyrie.Answer{Reasoning: "The cat", ToolCalls: call("functions.f:0", `{"a": 1}`), FinishReason: "tool_calls"},
			completion: "The cat</think>" + section + begin + "functions.f:0" + args + `{"a":1}` + end + closing + imEnd,
			reasoning:  3,
			habits:     tokens.Habits{tokens.ArgumentsCompact: 0.4},
			known:      eyrie.KnownRetokenised, // ": " and ":" are a token each
			want:       "The cat</think>" + section + begin + "functions.f:0" + args + `{"a": 1}` + end + closing + imEnd,
			reason:     "2 likely readings",
		}, {
			name:       "reasoning left open",
			answer:     eyrie.Answer{Reasoning: "The cat", ToolCalls: call("functions.f:0", `{}`), FinishReason: "tool_calls"},
			completion: "The cat" + section + begin + "functions.f:0" + args + `{}` + end + closing + imEnd,
			reasoning:  2,
			habits:     tokens.Habits{tokens.ReasoningOpen: 0.3, tokens.EndUnbilled: 0},
			known:      eyrie.KnownCounted,
			reason:     "assuming reasoning left open",
		}, {
			name:       "lost bytes",
			answer:     eyrie.Answer{Reasoning: "The \uFFFD", Content: "The cat.", FinishReason: "stop"},
			completion: "The \uFFFD</think>The cat." + imEnd,
			reasoning:  -1,
			known:      eyrie.KnownRetokenised,
			reason:     "completion: the text holds replacement characters",
		}, {
			name:       "no ending",
			answer:     eyrie.Answer{Reasoning: "The cat", FinishReason: "content_filter"},
			completion: "The cat</think>",
			reasoning:  -1,
			known:      eyrie.KnownRetokenised,
			reason:     `completion: finish reason "content_filter"`,
		},
	}
	plain := toyRebuilder(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := plain
			if row.habits != nil {
				r = r.With(row.habits)
			}
			if row.confidence > 0 {
				r = r.Confident(row.confidence)
			}
			a := row.answer
			a.Usage = bill(t, r, question, !row.instant, row.completion, row.reasoning)
			a.Usage.CompletionTokens += row.billed
			got, err := r.Row(question, !row.instant, &a)
			if err != nil {
				t.Fatal(err)
			}
			if got.Known != row.known || !strings.Contains(got.Reason, row.reason) || row.reason == "" && got.Reason != "" {
				t.Errorf("%s, %q; want %s, %q", got.Known, got.Reason, row.known, row.reason)
			}
			want := row.want
			if want == "" {
				want = row.completion
			}
			if text, _ := kimiToy.Decode(nil, got.CompletionIDs); string(text) != want {
				t.Errorf("completion %q, want %q", text, want)
			}
			if text, _ := kimiToy.Decode(nil, got.PromptIDs); !strings.HasPrefix(string(text), "<|im_user|>user<|im_middle|>Who sat?<|im_end|>") {
				t.Errorf("prompt %q", text)
			}
		})
	}
}

func TestRowWithoutCounts(t *testing.T) {
	r := toyRebuilder(t)
	a := &eyrie.Answer{Reasoning: "The cat", Content: "The", FinishReason: "stop"}
	row, err := r.Row(question, true, a)
	if err != nil {
		t.Fatal(err)
	}
	const want = "prompt: the server gave no count; completion: the server gave no count"
	if row.Known != eyrie.KnownRetokenised || row.Reason != want {
		t.Errorf("%s, %q", row.Known, row.Reason)
	}
}

// TestRowFromEngine takes ids that the server returned.
func TestRowFromEngine(t *testing.T) {
	r := toyRebuilder(t)
	prompt, err := r.Prompt(nil, chat.Conversation{Messages: question.Messages, Thinking: true})
	if err != nil {
		t.Fatal(err)
	}
	sampled := kimiToy.EncodeSpecial(nil, "T")
	sampled = kimiToy.EncodeSpecial(sampled, "he cat</think>The\uFFFD cat."+imEnd) // not the canonical split
	rows := []struct {
		name       string
		prompt     []int32
		completion []int32
		billed     int
		finish     eyrie.FinishReason
		known      eyrie.Known
		want       []int32
		reason     string
	}{
		{"ids and bill agree", prompt, sampled, len(sampled), "stop", eyrie.KnownEngine, sampled, ""},
		{"no bill", prompt, sampled, 0, "stop", eyrie.KnownEngine, sampled, ""},
		{"end token taken off", prompt, sampled[:len(sampled)-1], len(sampled), "stop", eyrie.KnownEngine, sampled, "left the end token out"},
		{"end token not billed", prompt, sampled, len(sampled) - 1, "stop", eyrie.KnownEngine, sampled, ""},
		{"cut", prompt, sampled[:len(sampled)-1], len(sampled) - 1, "length", eyrie.KnownEngine, sampled[:len(sampled)-1], ""},
		{"more billed", prompt, sampled, len(sampled) + 3, "stop", eyrie.KnownMismatch, sampled, "billed"},
		{"another text", prompt, kimiToy.EncodeSpecial(nil, "The sat</think>"+imEnd), 4, "stop", eyrie.KnownMismatch, nil, "do not spell the answer's reasoning"},
		{"unknown id", prompt, []int32{9999}, 1, "stop", eyrie.KnownMismatch, nil, "id 9999"},
		{"other prompt", prompt[1:], sampled, len(sampled), "stop", eyrie.KnownEngine, sampled, "prompt: the server's ids differ from ours from number 0 on"},
		{"prompt not returned", nil, sampled, len(sampled), "stop", eyrie.KnownCounted, sampled, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			a := &eyrie.Answer{Reasoning: "The cat", Content: "The\uFFFD cat.", FinishReason: row.finish,
				PromptIDs: row.prompt, CompletionIDs: row.completion,
				Usage: eyrie.Usage{Given: row.billed > 0, PromptTokens: len(prompt), CompletionTokens: row.billed, ReasoningTokens: -1}}
			if row.prompt != nil {
				a.Usage.PromptTokens = len(row.prompt)
			}
			got, err := r.Row(question, true, a)
			if err != nil {
				t.Fatal(err)
			}
			if got.Known != row.known || !strings.Contains(got.Reason, row.reason) || row.reason == "" && got.Reason != "" {
				t.Errorf("%s, %q; want %s, %q", got.Known, got.Reason, row.known, row.reason)
			}
			if row.want != nil && !slices.Equal(got.CompletionIDs, row.want) {
				t.Errorf("completion %v, want %v", got.CompletionIDs, row.want)
			}
			if row.prompt != nil && !slices.Equal(got.PromptIDs, row.prompt) {
				t.Errorf("prompt %v, want %v", got.PromptIDs, row.prompt)
			}
		})
	}
}

// TestRowPrompt finds out which of its forms a history was served in.
func TestRowPrompt(t *testing.T) {
	r := toyRebuilder(t)
	history := func(arguments, reasoning string) *eyrie.Generation {
		return &eyrie.Generation{Messages: []eyrie.Message{
			{Role: eyrie.User, Content: "Who sat?"},
			{Role: eyrie.Assistant, Reasoning: reasoning, ToolCalls: []eyrie.ToolCall{{ID: "functions.f:0", Name: "f", Arguments: arguments}}},
			{Role: eyrie.ToolRole, ToolCallID: "functions.f:0", Content: "cat"},
		}}
	}
	rows := []struct {
		name   string
		g      *eyrie.Generation
		served func(*chat.Conversation)
		billed int
		known  eyrie.Known
		reason string
	}{
		{"printed anew", history(`{"a":1,"b":2}`, ""), func(*chat.Conversation) {}, 0, eyrie.KnownCounted, ""},
		{"as written", history(`{"a":1,"b":2}`, ""), func(c *chat.Conversation) { c.Arguments = chat.AsWritten }, 0, eyrie.KnownCounted, ""},
		{"both of a length", history(`{"a":1}`, ""), func(*chat.Conversation) {}, 0, eyrie.KnownRetokenised, "prompt: the history prints in several ways"},
		{"reasoning lost on the way", history(`{}`, "The cat"), func(c *chat.Conversation) {
			c.Messages = slices.Clone(c.Messages)
			c.Messages[1].Reasoning = ""
		}, 0, eyrie.KnownCounted, ""},
		{"thinks unasked", question, func(c *chat.Conversation) { c.Thinking = true }, 0, eyrie.KnownCounted, ""},
		{"something else", history(`{}`, ""), func(*chat.Conversation) {}, 2, eyrie.KnownMismatch, "billed (+2)"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			thinking := row.name != "thinks unasked"
			c := chat.Conversation{Messages: row.g.Messages, Thinking: thinking}
			row.served(&c)
			served, err := r.Prompt(nil, c)
			if err != nil {
				t.Fatal(err)
			}
			a := &eyrie.Answer{Reasoning: "The cat", Content: "The", FinishReason: "stop"}
			a.Usage = bill(t, r, row.g, thinking, "The cat</think>The"+imEnd, -1)
			a.Usage.PromptTokens = len(served) + row.billed
			got, err := r.Row(row.g, thinking, a)
			if err != nil {
				t.Fatal(err)
			}
			if got.Known != row.known || !strings.Contains(got.Reason, row.reason) || row.reason == "" && got.Reason != "" {
				t.Errorf("%s, %q; want %s, %q", got.Known, got.Reason, row.known, row.reason)
			}
			if row.billed == 0 && !slices.Equal(got.PromptIDs, served) {
				t.Errorf("prompt %v, want %v", got.PromptIDs, served)
			}
		})
	}
}

func TestNewRefusesForeignVocabulary(t *testing.T) {
	v := kimiToy
	v.specials = v.specials[:len(v.specials)-1]
	_, err := tokens.New(v, kimiTemplate(t))
	if err == nil || !strings.Contains(err.Error(), `no control token "</think>"`) {
		t.Errorf("error %v", err)
	}
}

// mute is a template that does not say how its model answers.
type mute struct{ chat.Template }

func TestRowWithoutAnswerForm(t *testing.T) {
	r, err := tokens.New(kimiToy, mute{kimiTemplate(t)})
	if err != nil {
		t.Fatal(err)
	}
	a := &eyrie.Answer{Content: "The cat", FinishReason: "stop"}
	if _, err := r.Row(question, false, a); err == nil || !strings.Contains(err.Error(), "only servers that return ids will do") {
		t.Errorf("error %v", err)
	}
	a.CompletionIDs = kimiToy.Encode(nil, "The cat")
	row, err := r.Row(question, false, a)
	if err != nil || !slices.Equal(row.CompletionIDs, a.CompletionIDs) {
		t.Errorf("%+v, %v", row, err)
	}
}
