package tokens_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/tokens"
)

// entries are logprobs with the given bytes.
func entries(parts ...string) []eyrie.TokenLogprob {
	var out []eyrie.TokenLogprob
	for _, s := range parts {
		out = append(out, eyrie.TokenLogprob{Token: s, Bytes: []byte(s)})
	}
	return out
}

// bytesOf names the toy's tokens of a text by their bytes.
func bytesOf(t testing.TB, text string) []eyrie.TokenLogprob {
	t.Helper()
	var parts []string
	for _, id := range kimiToy.EncodeSpecial(nil, text) {
		b, err := kimiToy.Decode(nil, []int32{id})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(b))
	}
	return entries(parts...)
}

// TestRowFromLogprobs makes rows of answers whose tokens the server named.
func TestRowFromLogprobs(t *testing.T) {
	call := func(id, name, arguments string) []eyrie.ToolCall {
		return []eyrie.ToolCall{{ID: id, Name: name, Arguments: arguments}}
	}
	const called = section + begin + "functions.f:0" + args + `{"a": 1}` + end + closing
	rows := []struct {
		name    string
		instant bool
		answer  eyrie.Answer
		sampled []eyrie.TokenLogprob // what the model sampled
		sent    []eyrie.TokenLogprob // what the server sent; nil is the same
		known   eyrie.Known
		reason  string
	}{
		{
			name:    "the vocabulary's own tokens",
			answer:  eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			sampled: bytesOf(t, "The cat sat.</think>The cat."+imEnd),
			known:   eyrie.KnownLogprobs,
		}, {
			name:    "other tokens of the same number",
			answer:  eyrie.Answer{Content: "The cat.", FinishReason: "stop", Reasoning: "T"},
			sampled: entries("T", "</think>", "The", " cat", ".", imEnd),
			known:   eyrie.KnownLogprobs,
		}, {
			name:    "more tokens than the vocabulary would use",
			instant: true,
			answer:  eyrie.Answer{Content: "The cat.", FinishReason: "stop"},
			sampled: entries("T", "h", "e", " cat", ".", imEnd),
			known:   eyrie.KnownLogprobs,
		}, {
			name:    "white space that the server took off",
			answer:  eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			sampled: bytesOf(t, "The cat sat.\n</think>\n\nThe cat.\n"+imEnd),
			known:   eyrie.KnownLogprobs,
		}, {
			name:    "the end token left out",
			answer:  eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			sampled: bytesOf(t, "The cat sat.</think>The cat."+imEnd),
			sent:    bytesOf(t, "The cat sat.</think>The cat."),
			known:   eyrie.KnownLogprobs,
			reason:  "completion: the server left the end token out of its logprobs",
		}, {
			name:    "cut inside a character",
			answer:  eyrie.Answer{Reasoning: "The cat sat.", Content: "caf", FinishReason: "length"},
			sampled: entries("The", " cat", " sat", ".", "</think>", "c", "a", "f", "\xc3"),
			known:   eyrie.KnownLogprobs,
		}, {
			name:    "bytes that the text lost",
			instant: true,
			answer:  eyrie.Answer{Content: "caf\uFFFD.", FinishReason: "stop"},
			sampled: entries("c", "a", "f", "\xc3", ".", imEnd),
			known:   eyrie.KnownLogprobs,
		}, {
			name:    "a call under another name, printed anew",
			answer:  eyrie.Answer{Reasoning: "The cat", ToolCalls: call("call_0815", "f", `{"a":1}`), FinishReason: "tool_calls"},
			sampled: bytesOf(t, "The cat</think>\n"+called+imEnd),
			known:   eyrie.KnownLogprobs,
		}, {
			name:    "reasoning left open",
			answer:  eyrie.Answer{Reasoning: "The cat", ToolCalls: call("functions.f:0", "f", `{"a": 1}`), FinishReason: "tool_calls"},
			sampled: bytesOf(t, "The cat"+called+imEnd),
			known:   eyrie.KnownLogprobs,
		}, {
			name:    "reasoning left in the content",
			answer:  eyrie.Answer{Content: "The cat sat.</think>The cat.", FinishReason: "stop"},
			sampled: bytesOf(t, "The cat sat.</think>The cat."+imEnd),
			known:   eyrie.KnownLogprobs,
		}, {
			name:    "a control token that the answer spells",
			instant: true,
			answer:  eyrie.Answer{Content: "The </think>.", FinishReason: "stop"},
			sampled: entries("The", " ", "<", "/", "t", "h", "i", "n", "k", ">", ".", imEnd),
			known:   eyrie.KnownLogprobs,
		}, {
			name:    "parts of characters replaced, and no doubt",
			instant: true,
			answer:  eyrie.Answer{Content: "caf\u00e9.", FinishReason: "stop"},
			sampled: entries("c", "a", "f", "\xc3", "\xa9", ".", imEnd),
			sent:    entries("c", "a", "f", "\uFFFD", "\uFFFD", ".", imEnd),
			known:   eyrie.KnownLogprobs,
		}, {
			name:    "parts of characters left out",
			instant: true,
			answer:  eyrie.Answer{Content: "caf\u00e9.", FinishReason: "stop"},
			sampled: entries("c", "a", "f", "\xc3", "\xa9", ".", imEnd),
			sent:    entries("c", "a", "f", "", "\u00e9", ".", imEnd),
			known:   eyrie.KnownCounted,
			reason:  "the logprobs are not used: number 3 is empty",
		}, {
			name:    "no bytes",
			answer:  eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			sampled: bytesOf(t, "The cat sat.</think>The cat."+imEnd),
			sent:    []eyrie.TokenLogprob{{Token: "The"}, {Token: " cat"}},
			known:   eyrie.KnownCounted,
			reason:  "number 0 has no bytes",
		}, {
			name:    "no tokens of the vocabulary",
			answer:  eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			sampled: bytesOf(t, "The cat sat.</think>The cat."+imEnd),
			sent:    entries("The cat", " sat.", "</think>", "The", " cat", ".", imEnd),
			known:   eyrie.KnownCounted,
			reason:  `number 0, "The cat", is no token of the vocabulary`,
		}, {
			name:    "two as one",
			answer:  eyrie.Answer{Reasoning: "T\n\n", Content: "The cat.", FinishReason: "stop"},
			sampled: entries("T", "\n", "\n", "</think>", "The", " cat", ".", imEnd),
			sent:    entries("T", "\n\n", "</think>", "The", " cat", ".", imEnd),
			known:   eyrie.KnownMismatch,
			reason:  "they are 7 tokens, and 8 were billed",
		}, {
			name:    "control tokens left out",
			answer:  eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			sampled: bytesOf(t, "The cat sat.</think>The cat."+imEnd),
			sent:    bytesOf(t, "The cat sat.The cat."),
			known:   eyrie.KnownCounted,
			reason:  "they are 8 tokens, and 9 were billed",
		}, {
			name:    "a control token left out, and another token for it",
			answer:  eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			sampled: bytesOf(t, "The cat sat.</think>The cat."+imEnd),
			sent:    bytesOf(t, "The cat sat.\n\nThe cat."+imEnd),
			known:   eyrie.KnownRetokenised,
			reason:  "the logprobs name another token at number 3; the logprobs are not used: they do not spell the answer's reasoning",
		}, {
			name:    "another text",
			answer:  eyrie.Answer{Reasoning: "The cat sat.", Content: "The cat.", FinishReason: "stop"},
			sampled: bytesOf(t, "The cat sat.</think>The cat."+imEnd),
			sent:    bytesOf(t, "The cat sat.</think>The sat."+imEnd),
			known:   eyrie.KnownRetokenised,
			reason:  "the logprobs name another token at number 6; the logprobs are not used: they do not spell the answer's content",
		}, {
			name:    "more text than the answer has",
			answer:  eyrie.Answer{Reasoning: "The cat", ToolCalls: call("functions.f:0", "f", `{"a": 1}`), FinishReason: "tool_calls"},
			sampled: bytesOf(t, "The cat</think>"+called+"The"+imEnd),
			known:   eyrie.KnownMismatch,
			reason:  "they do not spell the answer's text behind the tool calls",
		}, {
			name:    "other arguments",
			answer:  eyrie.Answer{Reasoning: "The cat", ToolCalls: call("functions.f:0", "f", `{"a": 2}`), FinishReason: "tool_calls"},
			sampled: bytesOf(t, "The cat</think>"+called+imEnd),
			known:   eyrie.KnownRetokenised,
			reason:  "tool call 0: they do not spell the answer's arguments",
		}, {
			name:    "another tool",
			answer:  eyrie.Answer{Reasoning: "The cat", ToolCalls: call("functions.g:0", "g", `{"a": 1}`), FinishReason: "tool_calls"},
			sampled: bytesOf(t, "The cat</think>"+called+imEnd),
			known:   eyrie.KnownRetokenised,
			reason:  `tool call 0: its id is "functions.f:0", and its name "g"`,
		}, {
			name:    "fewer calls than were written",
			answer:  eyrie.Answer{Reasoning: "The cat", ToolCalls: call("functions.f:0", "f", `{"a": 1}`), FinishReason: "tool_calls"},
			sampled: bytesOf(t, "The cat</think>"+section+begin+"functions.f:0"+args+`{"a": 1}`+end+begin+"functions.f:1"+args+`{"a": 1}`+end+closing+imEnd),
			known:   eyrie.KnownMismatch,
			reason:  "the token that ends the tool calls is missing",
		}, {
			name:    "an end where there was none",
			answer:  eyrie.Answer{Reasoning: "The cat", Content: "The", FinishReason: "length"},
			sampled: bytesOf(t, "The cat</think>The"+imEnd),
			known:   eyrie.KnownMismatch,
			reason:  `the last is the end token, and the finish reason is "length"`,
		},
	}
	r := toyRebuilder(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var want []int32
			for _, e := range row.sampled {
				id, ok := kimiToy.Lookup(e.Bytes)
				if !ok {
					t.Fatalf("%q is no token", e.Bytes)
				}
				want = append(want, id)
			}
			a := row.answer
			a.Usage = bill(t, r, question, !row.instant, "", -1)
			a.Usage.CompletionTokens = len(want)
			if a.Logprobs = row.sent; a.Logprobs == nil {
				a.Logprobs = row.sampled
			}
			got, err := r.Row(question, !row.instant, &a)
			if err != nil {
				t.Fatal(err)
			}
			if got.Known != row.known || !strings.Contains(got.Reason, row.reason) || row.reason == "" && got.Reason != "" {
				t.Errorf("%s, %q; want %s, %q", got.Known, got.Reason, row.known, row.reason)
			}
			if got.Known == eyrie.KnownLogprobs && !slices.Equal(got.CompletionIDs, want) {
				t.Errorf("completion %v, want %v", got.CompletionIDs, want)
			}
		})
	}
}

// TestRowFromLogprobsShifted does not take text for bytes: a server that prints
// a character with the token that ends it makes "T\xc3", "\xa9" look like "T",
// "é", which are tokens too.
func TestRowFromLogprobsShifted(t *testing.T) {
	v := kimiToy
	v.words = append(slices.Clone(v.words), "\u00e9", "T\xc3")
	r, err := tokens.New(v, kimiTemplate(t))
	if err != nil {
		t.Fatal(err)
	}
	a := &eyrie.Answer{Content: "T\u00e9.", FinishReason: eyrie.FinishStop, Logprobs: entries("T", "\u00e9", ".", imEnd)}
	a.Usage = bill(t, r, question, false, "", -1)
	a.Usage.CompletionTokens = len(a.Logprobs)
	row, err := r.Row(question, false, a)
	if err != nil {
		t.Fatal(err)
	}
	if row.Known == eyrie.KnownLogprobs || !strings.Contains(row.Reason, "number 0 may be text and not bytes") {
		t.Errorf("%s, %q", row.Known, row.Reason)
	}
	// Elsewhere a part of a character shows that these are bytes.
	a.Content += "\uFFFD"
	a.Logprobs = entries("T", "\u00e9", ".", "\xc3", imEnd)
	a.Usage.CompletionTokens = len(a.Logprobs)
	if row, err = r.Row(question, false, a); err != nil || row.Known != eyrie.KnownLogprobs {
		t.Errorf("%s, %q, %v", row.Known, row.Reason, err)
	}
}

// TestRowFromLogprobsAmbiguous does not guess between two lists of tokens that
// print alike.
func TestRowFromLogprobsAmbiguous(t *testing.T) {
	v := kimiToy
	v.words = append(slices.Clone(v.words), "\xf0\x9f", "\x99\x82", "\xf0", "\x9f\x99\x82")
	r, err := tokens.New(v, kimiTemplate(t))
	if err != nil {
		t.Fatal(err)
	}
	a := &eyrie.Answer{Content: "\U0001f642", FinishReason: eyrie.FinishStop, Logprobs: entries("\uFFFD", "\uFFFD\uFFFD", imEnd)}
	a.Usage = bill(t, r, question, false, "", -1)
	a.Usage.CompletionTokens = len(a.Logprobs)
	row, err := r.Row(question, false, a)
	if err != nil {
		t.Fatal(err)
	}
	if row.Known == eyrie.KnownLogprobs || !strings.Contains(row.Reason, "they do not tell the tokens of the answer's content") {
		t.Errorf("%s, %q", row.Known, row.Reason)
	}
}

// TestRowFromLogprobsHostile would not end if the work were not bounded.
func TestRowFromLogprobsHostile(t *testing.T) {
	v := kimiToy
	v.words = append(slices.Clone(v.words), "\xa9\xc3", "\xc3\xa9\xc3", "\u00e9", "\xe2\x82", "\x82\xac")
	r, err := tokens.New(v, kimiTemplate(t))
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	for name, parts := range map[string][]string{
		"shifts":       slices.Repeat([]string{"\u00e9"}, n),
		"replacements": slices.Repeat([]string{"\uFFFD"}, n),
	} {
		text := strings.Repeat("\u20ac", n/2)
		if name == "shifts" {
			text = strings.Repeat("\u00e9", n)
		}
		a := &eyrie.Answer{Content: text, FinishReason: eyrie.FinishStop, Logprobs: append(entries(parts...), entries(imEnd)...)}
		a.Usage = bill(t, r, question, false, "", -1)
		a.Usage.CompletionTokens = len(a.Logprobs)
		row, err := r.Row(question, false, a)
		if err != nil || row.Known == eyrie.KnownLogprobs {
			t.Errorf("%s: %s, %v", name, row.Known, err)
		}
	}
}

// FuzzLogprobs holds rows of the class logprobs against what it promises,
// whatever a server sends as logprobs: every entry is its token's bytes, or the
// text leaves no choice, and their number is the one billed.
func FuzzLogprobs(f *testing.F) {
	f.Add("The cat", "The", "The| cat|</think>|The|<|im_end|>", 5, true, true)
	f.Add("", "caf\u00e9", "c|a|f|\uFFFD|\uFFFD|<|im_end|>", 6, false, true)
	f.Add("T", "", "T|\xc3", 2, true, false)
	f.Fuzz(func(t *testing.T, reasoning, content, list string, billed int, thinking, stops bool) {
		if !utf8.ValidString(reasoning) || !utf8.ValidString(content) {
			t.Skip("no text that a server can send")
		}
		r := toyRebuilder(t)
		a := &eyrie.Answer{Reasoning: reasoning, Content: content, FinishReason: eyrie.FinishLength}
		if stops {
			a.FinishReason = eyrie.FinishStop
		}
		a.Logprobs = entries(strings.Split(list, "|")...)
		// The control tokens have bars of their own.
		for i := 0; i+2 < len(a.Logprobs); i++ {
			if string(a.Logprobs[i].Bytes) == "<" && string(a.Logprobs[i+2].Bytes) == ">" {
				whole := "<|" + string(a.Logprobs[i+1].Bytes) + "|>"
				a.Logprobs = slices.Replace(a.Logprobs, i, i+3, entries(whole)...)
			}
		}
		a.Usage = bill(t, r, question, thinking, "", -1)
		a.Usage.CompletionTokens = billed
		row, err := r.Row(question, thinking, a)
		if err != nil {
			t.Fatal(err)
		}
		if row.Known != eyrie.KnownLogprobs {
			return
		}
		if len(row.CompletionIDs) != billed {
			t.Fatalf("%d ids, %d billed", len(row.CompletionIDs), billed)
		}
		for i, e := range a.Logprobs {
			own, err := kimiToy.Decode(nil, row.CompletionIDs[i:i+1])
			if err != nil {
				t.Fatal(err)
			}
			if string(own) != string(e.Bytes) && !strings.Contains(string(e.Bytes), "\uFFFD") {
				t.Fatalf("entry %d is %q, its token %q", i, e.Bytes, own)
			}
		}
		spelled, err := kimiToy.Decode(nil, row.CompletionIDs)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{reasoning, content} {
			if text = strings.TrimSpace(text); !strings.Contains(text, "\uFFFD") && !strings.Contains(string(spelled), text) {
				t.Fatalf("%q does not spell %q", spelled, text)
			}
		}
	})
}
