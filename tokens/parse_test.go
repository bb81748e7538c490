package tokens_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/tokens"
)

func TestParse(t *testing.T) {
	call := func(id, name, arguments string) eyrie.ToolCall {
		return eyrie.ToolCall{ID: id, Name: name, Arguments: arguments}
	}
	for _, row := range []struct {
		name    string
		text    string // with the control tokens that are sampled
		instant bool   // thinking is off
		cut     bool   // max_tokens ended it
		want    eyrie.Answer
		err     string // a part of it
	}{
		{name: "thinking", text: "The cat.</think> sat." + imEnd, want: eyrie.Answer{Reasoning: "The cat.", Content: " sat."}},
		{name: "nothing is trimmed", text: "The\n\n </think>\n sat \n" + imEnd, want: eyrie.Answer{Reasoning: "The\n\n ", Content: "\n sat \n"}},
		{name: "the end left out", text: "The</think>cat", want: eyrie.Answer{Reasoning: "The", Content: "cat"}},
		{name: "thinking off", text: "The cat." + imEnd, instant: true, want: eyrie.Answer{Content: "The cat."}},
		{name: "thought nothing", text: "</think>The cat." + imEnd, want: eyrie.Answer{Content: "The cat."}},
		{name: "cut in the reasoning", text: "The cat", cut: true, want: eyrie.Answer{Reasoning: "The cat"}},
		{name: "cut in the text", text: "The</think>The c", cut: true, want: eyrie.Answer{Reasoning: "The", Content: "The c"}},
		{
			name: "calls", text: "I</think>ask" + section + begin + "functions.f:0" + args + `{"a": 1}` + end + begin + "functions.g_h:1" + args + "{}" + end + closing + imEnd,
			want: eyrie.Answer{Reasoning: "I", Content: "ask", ToolCalls: []eyrie.ToolCall{call("functions.f:0", "f", `{"a": 1}`), call("functions.g_h:1", "g_h", "{}")}},
		},
		{
			name: "straight to the calls", text: "I must" + section + begin + "functions.f:0" + args + "{}" + end + closing + imEnd,
			want: eyrie.Answer{Reasoning: "I must", ToolCalls: []eyrie.ToolCall{call("functions.f:0", "f", "{}")}},
		},
		{
			name: "an id of another form", text: "</think>" + section + begin + "call_7" + args + "{}" + end + closing + imEnd,
			want: eyrie.Answer{ToolCalls: []eyrie.ToolCall{call("call_7", "call_7", "{}")}},
		},
		{
			name: "white space in a call is the model's", text: "</think>" + section + begin + " functions.f:0 " + args + "\n{}\n" + end + closing + imEnd,
			want: eyrie.Answer{ToolCalls: []eyrie.ToolCall{call(" functions.f:0 ", "f", "\n{}\n")}},
		},
		{
			name: "cut in the arguments", text: "</think>" + section + begin + "functions.f:0" + args + `{"a`, cut: true,
			want: eyrie.Answer{ToolCalls: []eyrie.ToolCall{call("functions.f:0", "f", `{"a`)}},
		},
		{
			name: "cut between calls", text: "</think>" + section + begin + "functions.f:0" + args + "{}" + end, cut: true,
			want: eyrie.Answer{ToolCalls: []eyrie.ToolCall{call("functions.f:0", "f", "{}")}},
		},

		{name: "reasoning without an end", text: "The cat" + imEnd, err: "the reasoning has no end"},
		{name: "a control token in the text", text: "</think>The" + begin + "cat" + imEnd, err: `control token "<|tool_call_begin|>"`},
		{name: "thought twice", text: "a</think>b</think>c" + imEnd, err: `control token "</think>"`},
		{name: "ended twice", text: "</think>a" + imEnd + imEnd, err: `control token "<|im_end|>"`},
		{name: "text between calls", text: "</think>" + section + begin + "f" + args + "{}" + end + "x" + closing + imEnd, err: "something stands between two tool calls"},
		{name: "text after the calls", text: "</think>" + section + begin + "f" + args + "{}" + end + closing + "x" + imEnd, err: "something follows the tool calls"},
		{name: "an empty section", text: "</think>" + section + closing + imEnd, err: "without a call"},
		{name: "a call without arguments", text: "</think>" + section + begin + "f" + end + closing + imEnd, err: "without arguments"},
		{name: "a call without an end", text: "</think>" + section + begin + "f" + args + "{}" + closing + imEnd, err: "without an end"},
		{name: "a call without a name", text: "</think>" + section + begin + "functions.:0" + args + "{}" + end + closing + imEnd, err: "without a name"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := toyRebuilder(t)
			a := eyrie.Answer{CompletionIDs: kimiToy.EncodeSpecial(nil, row.text), FinishReason: eyrie.FinishStop}
			if row.cut {
				a.FinishReason = eyrie.FinishLength
			}
			err := r.Parse(!row.instant, &a)
			switch {
			case row.err != "":
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Fatalf("got %v, want %q", err, row.err)
				}
				return
			case err != nil:
				t.Fatal(err)
			}
			if a.Reasoning != row.want.Reasoning || a.Content != row.want.Content || !reflect.DeepEqual(a.ToolCalls, row.want.ToolCalls) {
				t.Errorf("got %q, %q, %+v", a.Reasoning, a.Content, a.ToolCalls)
			}
		})
	}
}

// What is read off ids is put together again as the same ids.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"The</think>cat" + imEnd, section + begin + "functions.f:0" + args + "{}" + end + closing, "</think></think>", "\xff\xfe</think>" + imEnd} {
		f.Add(text, true)
		f.Add(text, false)
	}
	r := toyRebuilder(f)
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		ids := kimiToy.EncodeSpecial(nil, text)
		a := &eyrie.Answer{CompletionIDs: ids, FinishReason: eyrie.FinishStop}
		if cut {
			a.FinishReason = eyrie.FinishLength
		}
		if r.Parse(true, a) != nil || len(ids) == 0 {
			return
		}
		a.Usage = eyrie.Usage{Given: true, CompletionTokens: len(ids), ReasoningTokens: -1}
		row, err := r.Row(question, true, a)
		if err != nil {
			t.Fatal(err)
		}
		if row.Known == eyrie.KnownMismatch {
			t.Errorf("%q is read as %+v, and then: %s", text, a, row.Reason)
		}
	})
}

func TestCodec(t *testing.T) {
	c := tokens.Codec{Rebuilder: toyRebuilder(t)}
	s := eyrie.Sampling{Thinking: true}
	prompt, err := c.Prompt(question, s)
	if err != nil {
		t.Fatal(err)
	}
	ids := kimiToy.EncodeSpecial(nil, "The</think>cat"+imEnd)
	good := func() *eyrie.Answer {
		return &eyrie.Answer{
			Reasoning: "The", Content: "cat", FinishReason: eyrie.FinishStop, PromptIDs: prompt, CompletionIDs: ids,
			Usage: eyrie.Usage{Given: true, PromptTokens: len(prompt), CompletionTokens: len(ids), ReasoningTokens: -1},
		}
	}
	for _, row := range []struct {
		name   string
		change func(a *eyrie.Answer)
		err    string
	}{
		{"all agrees", func(*eyrie.Answer) {}, ""},
		{"no ids of the prompt", func(a *eyrie.Answer) { a.PromptIDs = nil }, ""},
		{"no ids at all", func(a *eyrie.Answer) { a.PromptIDs, a.CompletionIDs = nil, nil }, ""},
		{"another text", func(a *eyrie.Answer) { a.Content = "dog" }, "do not spell the answer's content"},
		{"another count", func(a *eyrie.Answer) { a.Usage.CompletionTokens++ }, "returned 6 ids and billed 7"},
		{"another prompt", func(a *eyrie.Answer) { a.PromptIDs = append([]int32{65}, prompt[1:]...) }, "differ from ours from number 0 on"},
		{"another count of the prompt", func(a *eyrie.Answer) { a.Usage.PromptTokens++ }, "prompt: the server returned"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := good()
			row.change(a)
			err := c.Check(question, s, a)
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("got %v, want %q", err, row.err)
			}
		})
	}
	if stops := c.Stops(); len(stops) != 1 || stops[0] != ids[len(ids)-1] {
		t.Errorf("stops at %v", stops)
	}
}

// An answer that a stop string ended has no end token, and is given none.
func TestRowOfAStopString(t *testing.T) {
	r := toyRebuilder(t)
	ids := kimiToy.EncodeSpecial(nil, "The</think>cat")
	a := &eyrie.Answer{
		Reasoning: "The", Content: "ca", FinishReason: eyrie.FinishStop, CompletionIDs: ids,
		Usage: eyrie.Usage{Given: true, CompletionTokens: len(ids), ReasoningTokens: -1},
	}
	for _, row := range []struct {
		native string
		want   int
	}{{"stop", len(ids) + 1}, {eyrie.StopString, len(ids)}} {
		a.NativeFinish = row.native
		got, err := r.Row(question, true, a)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.CompletionIDs) != row.want {
			t.Errorf("%q: %d ids, want %d", row.native, len(got.CompletionIDs), row.want)
		}
	}
}
