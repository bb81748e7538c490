package eyrie_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// callsOf reads "f{} g{1}" as calls of f and g, and "x=f{}" as one with the id x.
func callsOf(text string) []eyrie.ToolCall {
	var out []eyrie.ToolCall
	for word := range strings.FieldsSeq(text) {
		id, call, named := strings.Cut(word, "=")
		if !named {
			id, call = "", word
		}
		name, arguments, _ := strings.Cut(call, "{")
		out = append(out, eyrie.ToolCall{ID: id, Name: name, Arguments: "{" + arguments})
	}
	return out
}

// resultsOf reads "x:one :two g:three" as results: of the call x, of nobody
// named, and of the tool g where it is in brackets, "[g]:three".
func resultsOf(text string) []eyrie.Message {
	var out []eyrie.Message
	for word := range strings.FieldsSeq(text) {
		of, content, _ := strings.Cut(word, ":")
		m := eyrie.Message{Role: eyrie.ToolRole, ToolCallID: of, Content: content}
		if name, ok := strings.CutPrefix(of, "["); ok {
			m.Name, m.ToolCallID = strings.TrimSuffix(name, "]"), ""
		}
		out = append(out, m)
	}
	return out
}

// TestPairing asks which result each call of the model gets.
func TestPairing(t *testing.T) {
	for _, tt := range []struct {
		name    string
		known   string // calls of the data set
		results string
		made    string // calls of the model
		exact   string // what is sent back, or why not
		byName  string // the same, where it differs
	}{
		{"one call", "x=f{}", "x:r", "a=f{}", "a:r", ""},
		{"ids are the model's", "1=f{1} 2=f{2}", "1:one 2:two", "2=f{1} 1=f{2}", "2:one 1:two", ""},
		{"in another order", "1=f{1} 2=g{} 3=f{2}", "1:one 2:two 3:three", "c=f{2} a=f{1} b=g{}", "c:three a:one b:two", ""},
		{"results in another order", "1=f{1} 2=f{2}", "2:two 1:one", "a=f{1} b=f{2}", "a:one b:two", ""},
		{"results without ids", "f{1} f{2}", ":one :two", "a=f{2} b=f{1}", "a:two b:one", ""},
		{"results by tool", "f{} g{}", "[g]:G [f]:F", "a=f{} b=g{}", "a:F b:G", ""},
		{"results by tool and place", "f{1} g{} f{2}", "[g]:G [f]:one [f]:two", "a=f{2} b=f{1} c=g{}", "a:two b:one c:G", ""},
		{"ids only on the results", "f{1} f{2}", "1:one 2:two", "a=f{1} b=f{2}", "a:one b:two", ""},
		{"the same call twice", "1=f{} 2=f{}", "1:one 2:two", "a=f{} b=f{}", "a:one b:two", ""},
		{"arguments spaced", `1=f{"a":1,"b":[1,2]}`, "1:r", `a=f{"b":[1,2],"a":1}`, "a:r", ""},
		{"arguments escaped", `1=f{"a":"\u0041/"}`, "1:r", `a=f{"a":"A\/"}`, "a:r", ""},
		{"numbers written otherwise", `1=f{"a":1.0,"b":1e2}`, "1:r", `a=f{"a":1,"b":100}`, "a:r", ""},
		{"numbers too long for a float", `1=f{"a":9007199254740993}`, "1:r", `a=f{"a":9007199254740992}`, "other calls", "a:r"},
		{"arguments that are no JSON", "1=f{oops", "1:r", "a=f{oops", "a:r", ""},

		{"other arguments", "1=f{1}", "1:r", "a=f{2}", "other calls", "a:r"},
		{"case counts", `1=f{"a":"X"}`, "1:r", `a=f{"a":"x"}`, "other calls", "a:r"},
		{"other arguments beside fitting ones", "1=f{1} 2=g{}", "1:one 2:two", "a=g{} b=f{9}", "other calls", "a:two b:one"},
		{"other arguments, and two of a name", "1=f{1} 2=f{2}", "1:one 2:two", "a=f{1} b=f{3}", "other calls", ""},
		{"one of a name here, two there", "1=f{1} 2=f{2}", "1:one 2:two", "a=f{3}", "other calls", ""},
		{"two of a name here, one there", "1=f{1}", "1:one", "a=f{2} b=f{3}", "other calls", ""},
		{"another tool", "1=f{}", "1:r", "a=g{}", "other calls", ""},
		{"a call less", "1=f{} 2=g{}", "1:one 2:two", "a=f{}", "result without call", ""},
		{"no call", "1=f{}", "1:r", "", "result without call", ""},
		{"a call more", "1=f{}", "1:r", "a=f{} b=g{}", "call without result", ""},
		{"the same call once more", "1=f{}", "1:r", "a=f{} b=f{}", "call without result", ""},
		{"a call of the data set without a result", "1=f{} 2=g{}", "1:r", "a=f{} b=g{}", "call without result", ""},
		{"the model leaves out what has no result", "1=f{} 2=g{}", "1:r", "a=f{}", "a:r", ""},
		{"a result of no call", "1=f{}", "1:r 9:s", "a=f{}", "result without call", ""},
		{"two results of a call", "1=f{}", "1:r 1:s", "a=f{}", "result without call", ""},
		{"a result of another tool", "f{}", "[g]:r", "a=f{}", "other calls", ""},
	} {
		for _, by := range []eyrie.Pairing{eyrie.PairExact, eyrie.PairByName} {
			t.Run(tt.name+"/"+string(by), func(t *testing.T) {
				want := tt.exact
				if by == eyrie.PairByName && tt.byName != "" {
					want = tt.byName
				}
				p := &eyrie.Prompt{Pairing: by, Messages: slices.Concat(
					[]eyrie.Message{user("q"), {Role: eyrie.Assistant, ToolCalls: callsOf(tt.known)}}, resultsOf(tt.results))}
				answer := &eyrie.Answer{FinishReason: eyrie.FinishToolCalls, ToolCalls: callsOf(tt.made), Reasoning: "why"}
				if tt.made == "" {
					answer.FinishReason = eyrie.FinishStop
				}
				more, why := p.Continues(0, answer)
				if !more {
					if string(why) != want {
						t.Errorf("it ends: %q, want %q", why, want)
					}
					return
				}
				var got []string
				ms := ask(t, p, 1, []*eyrie.Answer{answer})
				for _, m := range ms[2:] {
					got = append(got, m.ToolCallID+":"+m.Content)
				}
				if strings.Join(got, " ") != want {
					t.Errorf("it sends %q, want %q", got, want)
				}
				if !slices.Equal(ms[1].ToolCalls, answer.ToolCalls) || ms[1].Reasoning != "why" {
					t.Errorf("the answer is sent back as %+v", ms[1])
				}
			})
		}
	}
}

// TestPairingInPlace: what else the data set says between two turns stays where
// it was, and the results keep the places that results have.
func TestPairingInPlace(t *testing.T) {
	p := &eyrie.Prompt{Messages: slices.Concat(
		[]eyrie.Message{user("q"), {Role: eyrie.Assistant, ToolCalls: callsOf("1=f{1} 2=f{2}")}},
		resultsOf("1:one"), []eyrie.Message{system("s")}, resultsOf("2:two"), []eyrie.Message{user("go on")})}
	ms := ask(t, p, 1, []*eyrie.Answer{{FinishReason: eyrie.FinishToolCalls, ToolCalls: callsOf("a=f{2} b=f{1}")}})
	if got, want := saying(ms), "u:q a: t:two s:s t:one u:go on"; got != want {
		t.Errorf("it asks %q, want %q", got, want)
	}
}

// TestAgentLoop: reasoning is sent back from one call to the next, and no more
// once an answer has closed the loop.
func TestAgentLoop(t *testing.T) {
	p := &eyrie.Prompt{Messages: []eyrie.Message{
		user("q"), {Role: eyrie.Assistant, ToolCalls: callsOf("f{1}")}, toolResult("one"),
		{Role: eyrie.Assistant, ToolCalls: callsOf("f{2}")}, toolResult("two"),
		assistant("x"), user("r"), {Role: eyrie.Assistant, ToolCalls: callsOf("f{3}")}, toolResult("three"),
	}}
	answers := []*eyrie.Answer{
		{FinishReason: eyrie.FinishToolCalls, Reasoning: "A", ToolCalls: callsOf("functions.f:0=f{1}")},
		{FinishReason: eyrie.FinishStop, Reasoning: "B", ToolCalls: callsOf("functions.f:1=f{2}")},
		{FinishReason: eyrie.FinishStop, Reasoning: "C", Content: "done"},
		{FinishReason: eyrie.FinishToolCalls, Reasoning: "D", ToolCalls: callsOf("functions.f:2=f{3}")},
	}
	for turn, want := range []string{"", "A", "AB", "", "D"} {
		var got strings.Builder
		for _, m := range ask(t, p, turn, answers[:turn]) {
			got.WriteString(m.Reasoning)
		}
		if got.String() != want {
			t.Errorf("turn %d sends back the reasoning %q, want %q", turn, got.String(), want)
		}
		if more, why := p.Continues(turn, slices.Concat(answers, answers[:1])[turn]); more != (turn < 4) {
			t.Errorf("turn %d: %v, %q", turn, more, why)
		}
	}
	if n := p.Turns(); n != 5 {
		t.Errorf("%d turns", n)
	}
}

// TestCallsWithoutIDs: results need an id to name their call by.
func TestCallsWithoutIDs(t *testing.T) {
	p := &eyrie.Prompt{Messages: []eyrie.Message{
		user("q"), {Role: eyrie.Assistant, ToolCalls: callsOf("f{1} f{2} g{}")}, toolResult("one"), toolResult("two"), toolResult("three"),
	}}
	for given, want := range map[string]string{
		"f{1} f{2} g{}":                             "functions.f:0:one functions.f:1:two functions.g:2:three",
		"x=f{1} x=f{2} x=g{}":                       "x:one functions.f:1:two functions.g:2:three",
		"functions.f:1=f{1} functions.f:1=f{2} g{}": "functions.f:1:one functions.f:2:two functions.g:2:three",
	} {
		answer := &eyrie.Answer{FinishReason: eyrie.FinishToolCalls, ToolCalls: callsOf(given)}
		ms := ask(t, p, 1, []*eyrie.Answer{answer})
		var got []string
		for i, m := range ms[2:] {
			got = append(got, m.ToolCallID+":"+m.Content)
			if id := ms[1].ToolCalls[i].ID; id != m.ToolCallID {
				t.Errorf("%s: call %d is %q and its result is of %q", given, i, id, m.ToolCallID)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", given, got, want)
		}
		if !slices.Equal(answer.ToolCalls, callsOf(given)) {
			t.Errorf("the answer itself became %v", answer.ToolCalls)
		}
	}
}

func TestATurnThatDoesNotFollow(t *testing.T) {
	p := &eyrie.Prompt{Messages: []eyrie.Message{user("q"), {Role: eyrie.Assistant, ToolCalls: callsOf("f{}")}, toolResult("r")}}
	_, err := p.Ask(1, []*eyrie.Answer{{FinishReason: eyrie.FinishStop, Content: "no call"}})
	if err == nil || !strings.Contains(fmt.Sprint(err), "result without call") {
		t.Errorf("the error is %v", err)
	}
}

// FuzzPairing holds the pairing of arguments against encoding/json: texts that
// read as the same value are the same arguments, and others are not.
func FuzzPairing(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":1,"b":[true,null]}`, `{ "b": [true, null], "a": 1.0 }`}, {`{"a":"\u00e9"}`, `{"a":"é"}`}, {`{"a":1}`, `{"a":2}`},
		{"", "{}"}, {`{"a":1e3}`, `{"a":1000}`}, {"oops", "oops"}, {`{"a":0.1}`, `{"a":0.10}`}, {`{"a":{}}`, `{"a":[]}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		p := &eyrie.Prompt{Messages: []eyrie.Message{
			user("q"), {Role: eyrie.Assistant, ToolCalls: []eyrie.ToolCall{{ID: "1", Name: "f", Arguments: a}}},
			{Role: eyrie.ToolRole, ToolCallID: "1", Content: "r"},
		}}
		got, why := p.Continues(0, &eyrie.Answer{FinishReason: eyrie.FinishToolCalls, ToolCalls: []eyrie.ToolCall{{ID: "2", Name: "f", Arguments: b}}})
		if got != (why == "") || !got && why != eyrie.BreakOther {
			t.Fatalf("%q and %q: %v, %q", a, b, got, why)
		}
		var x, y map[string]any
		if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil || x == nil || y == nil {
			return // not two objects
		}
		if same := reflect.DeepEqual(x, y); got && !same {
			t.Fatalf("%q and %q are taken for the same", a, b)
		} else if same && !got && plain(a) && plain(b) {
			t.Fatalf("%q and %q are not taken for the same", a, b)
		}
	})
}

// plain reports whether a text has nothing that the two readers disagree about
// on purpose: doubled names, half runes, and whole numbers that a float cannot
// hold or tells from fractions, as -0.
func plain(s string) bool {
	v := jsontext.Value(s)
	if v.Canonicalize() != nil {
		return false
	}
	digits := 0
	for _, r := range s {
		if digits++; r < '0' || r > '9' {
			digits = 0
		}
		if digits > 15 || r > 0x7f || r == '\\' || r == '-' || r == 'e' || r == 'E' {
			return false
		}
	}
	return true
}
