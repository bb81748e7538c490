package emulator_test

import (
	"bytes"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
	"github.com/go-json-experiment/json"
)

// novita is an endpoint that lists logprobs; the other pinned one does not.
const novita = `"provider":{"only":["novita"],"allow_fallbacks":false},`

// namedToken is a token as a reply names it. Bytes are numbers there.
type namedToken struct {
	Token   string
	Bytes   []int
	Logprob *float64
}

// namedTokens reads the logprobs of a reply, streamed or not.
func namedTokens(t *testing.T, body []byte) (list []namedToken, given bool) {
	t.Helper()
	for frame := range bytes.SplitSeq(body, []byte("\n\n")) {
		frame = bytes.TrimPrefix(frame, []byte("data: "))
		if !bytes.HasPrefix(frame, []byte("{")) {
			continue
		}
		var reply struct {
			Choices []struct {
				Logprobs *struct{ Content []namedToken }
			}
		}
		if err := json.Unmarshal(frame, &reply, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatalf("%v in %s", err, frame)
		}
		for _, c := range reply.Choices {
			if c.Logprobs != nil {
				list, given = append(list, c.Logprobs.Content...), true
			}
		}
	}
	return list, given
}

// TestLogprobs holds the tokens that a reply names against the books, honest
// and with every unusual way of naming them.
func TestLogprobs(t *testing.T) {
	v := vocabulary(t, smallVocabulary())
	spelled := func(tokens []namedToken) (out []byte) {
		for _, tok := range tokens {
			for _, b := range tok.Bytes {
				out = append(out, byte(b))
			}
		}
		return out
	}
	isControl := func(id bpe.ID) bool { return int(id) >= 256+19 }
	for _, row := range []struct {
		value string
		check func(t *testing.T, got []namedToken, e emulator.Entry)
	}{
		{"", func(t *testing.T, got []namedToken, e emulator.Entry) {
			if len(got) != len(e.CompletionIDs) {
				t.Fatalf("%d tokens named of %d", len(got), len(e.CompletionIDs))
			}
			for i, id := range e.CompletionIDs {
				if string(spelled(got[i:i+1])) != string(v.Token(id)) || got[i].Logprob == nil || *got[i].Logprob > 0 {
					t.Errorf("token %d is %q: named %+v", i, v.Token(id), got[i])
				}
			}
		}},
		{"no_bytes", func(t *testing.T, got []namedToken, e emulator.Entry) {
			if len(got) != len(e.CompletionIDs) || slices.ContainsFunc(got, func(n namedToken) bool { return n.Bytes != nil }) {
				t.Errorf("%d tokens, with bytes", len(got))
			}
		}},
		{"text_bytes", func(t *testing.T, got []namedToken, e emulator.Entry) {
			lost := 0
			for i, id := range e.CompletionIDs {
				want := strings.ToValidUTF8(string(v.Token(id)), "\uFFFD")
				if string(spelled(got[i:i+1])) != want {
					t.Errorf("token %d is %q: named %+v", i, v.Token(id), got[i])
				}
				if want != string(v.Token(id)) {
					lost++
				}
			}
			if lost == 0 {
				t.Error("no token was half a character: the test shows nothing")
			}
		}},
		{"no_control", func(t *testing.T, got []namedToken, e emulator.Entry) {
			if want := v.Decode(slices.DeleteFunc(slices.Clone(e.CompletionIDs), isControl)); !bytes.Equal(spelled(got), want) {
				t.Errorf("named %q, want %q", spelled(got), want)
			}
		}},
		{"no_reasoning", func(t *testing.T, got []namedToken, e emulator.Entry) {
			end := slices.Index(e.CompletionIDs, v.EndThink())
			if want := v.Decode(e.CompletionIDs[end:]); end < 1 || !bytes.Equal(spelled(got), want) {
				t.Errorf("named %q, want %q", spelled(got), want)
			}
		}},
		{"merged", func(t *testing.T, got []namedToken, e emulator.Entry) {
			if !bytes.Equal(spelled(got), v.Decode(e.CompletionIDs)) || len(got) >= len(e.CompletionIDs) {
				t.Errorf("%d tokens named of %d: %q", len(got), len(e.CompletionIDs), spelled(got))
			}
		}},
		{"short", func(t *testing.T, got []namedToken, e emulator.Entry) {
			if !bytes.HasPrefix(v.Decode(e.CompletionIDs), spelled(got)) || len(got) >= len(e.CompletionIDs) || len(got) == 0 {
				t.Errorf("%d tokens named of %d: %q", len(got), len(e.CompletionIDs), spelled(got))
			}
		}},
	} {
		for _, stream := range []string{"", `"stream":true,`} {
			t.Run(row.value+" "+stream, func(t *testing.T) {
				s, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) {
					if row.value != "" {
						s.Faults = []emulator.Fault{{Kind: "logprobs", Value: row.value}}
					}
				})
				got, _ := namedTokens(t, replyTo(t, s, web, ask("hi", novita+`"logprobs":true,`+stream)))
				row.check(t, got, s.Books()[0])
			})
		}
	}
	t.Run("not given", func(t *testing.T) {
		for _, row := range []struct{ more, value string }{
			{novita, ""},                             // not asked for
			{pinned + `"logprobs":true,`, ""},        // not taken: dropped without a word
			{novita + `"logprobs":true,`, "null"},    // asked for in vain
			{novita + `"logprobs":false,`, "merged"}, // nothing to spoil
		} {
			s, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) {
				if row.value != "" {
					s.Faults = []emulator.Fault{{Kind: "logprobs", Value: row.value}}
				}
			})
			if got, given := namedTokens(t, replyTo(t, s, web, ask("hi", row.more))); given || got != nil {
				t.Errorf("%+v: %d tokens named", row, len(got))
			}
		}
	})
}

// replyTo is the body of the reply to a chat request.
func replyTo(t *testing.T, s *emulator.Server, web *httptest.Server, body string) []byte {
	t.Helper()
	res, err := post(t, t.Context(), web, body)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || len(s.Books()) != 1 {
		t.Fatalf("status %d, %v: %s", res.StatusCode, err, data)
	}
	return data
}
