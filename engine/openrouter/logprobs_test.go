package openrouter_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// novita lists logprobs, atlas does not.
const novita = "novita"

// TestLogprobs asks for the tokens' bytes. An answer is accepted whatever came
// of them, and they are handed on as they came.
func TestLogprobs(t *testing.T) {
	for _, row := range []struct {
		name, lane, fault string
		asked             bool
		tokens, bytes     bool // whether tokens, and whether their bytes, are to be there
	}{
		{"honest", novita, "", true, true, true},
		{"no bytes", novita, "no_bytes", true, true, false},
		{"bytes of the text", novita, "text_bytes", true, true, true},
		{"P92 null though asked", novita, "null", true, false, false},
		{"not asked", novita, "", false, false, false},
		{"not listed", atlas, "", true, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var faults []emulator.Fault
				if row.fault != "" {
					faults = append(faults, fault("logprobs", row.fault))
				}
				w := newWorld(t, func(_ *emulator.Scenario, c *openrouter.Config) { c.Logprobs = row.asked }, faults...)
				h := ask(t, t.Context(), w.client, request(w.lanes[row.lane]))
				if h.err != nil {
					t.Fatal(h.err)
				}
				e := w.Books()[0]
				if got := len(h.Logprobs); row.tokens != (got == len(e.CompletionIDs)) || !row.tokens && got != 0 {
					t.Fatalf("%d tokens named of %d", got, len(e.CompletionIDs))
				}
				for i, l := range h.Logprobs {
					if (l.Bytes != nil) != row.bytes || l.Token == "" || l.Logprob > 0 {
						t.Fatalf("token %d: %+v", i, l)
					}
				}
				if row.fault == "" && row.tokens {
					sameTokens(t, h.Logprobs, e)
				}
				if len(e.Dropped) > 0 {
					t.Errorf("the vendor dropped %v", e.Dropped)
				}
			})
		})
	}
}

// TestP92LogprobsThatMustCome: where a job lets only those answer that name their
// tokens, an answer without is paid for and not taken.
func TestP92LogprobsThatMustCome(t *testing.T) {
	for _, row := range []struct{ lane, fault, says string }{
		{novita, "", ""},
		{novita, "text_bytes", ""},
		{novita, "null", "asked for logprobs and none came"},
		{novita, "no_bytes", "the bytes of no token"},
		{atlas, "", "none came"}, // it lists no logprobs, and no policy has kept it out
	} {
		synctest.Test(t, func(t *testing.T) {
			var faults []emulator.Fault
			if row.fault != "" {
				faults = append(faults, fault("logprobs", row.fault))
			}
			w := newWorld(t, func(_ *emulator.Scenario, c *openrouter.Config) { c.NeedLogprobs = true }, faults...)
			h := ask(t, t.Context(), w.client, request(w.lanes[row.lane]))
			if row.says == "" {
				if h.err != nil || len(h.Logprobs) == 0 {
					t.Errorf("%+v: %d named, %v", row, len(h.Logprobs), h.err)
				}
				return
			}
			if h.class() != "no logprobs" || h.kind() != elsewhere || h.charged() != yes || h.Cost != eyrie.Money(w.Books()[0].Cost) || h.Cost == 0 ||
				!strings.Contains(h.err.Error(), row.says) {
				t.Errorf("%+v: %v, charged %v, %s", row, h.err, h.charged(), h.Cost)
			}
		})
	}
}

// TestLogprobsOfALaneThatSaysNothing: one that lists no parameters at all is asked
// only where logprobs must come.
func TestLogprobsOfALaneThatSaysNothing(t *testing.T) {
	silent := &eyrie.Lane{Tag: "a/int4"}
	for need, want := range map[bool]bool{false: false, true: true} {
		c, err := openrouter.New(openrouter.Config{Logprobs: true, NeedLogprobs: need})
		if err != nil || c.AsksLogprobs(silent) != want {
			t.Errorf("needed %v: asked %v, %v", need, c.AsksLogprobs(silent), err)
		}
	}
}

// sameTokens compares the bytes with the ids in the books.
func sameTokens(t *testing.T, got []eyrie.TokenLogprob, e emulator.Entry) {
	t.Helper()
	for i, id := range e.CompletionIDs {
		switch {
		case id < 256:
			if string(got[i].Bytes) != string([]byte{byte(id)}) {
				t.Fatalf("token %d is byte %d: %+v", i, id, got[i])
			}
		case int(id) < 256+len(words):
			if string(got[i].Bytes) != words[id-256] || got[i].Token != words[id-256] {
				t.Fatalf("token %d is %q: %+v", i, words[id-256], got[i])
			}
		}
	}
}

// TestOddLogprobs reads accounts of tokens as no server should write them.
func TestOddLogprobs(t *testing.T) {
	const token = `{"token":"a","bytes":[97],"logprob":-0.5,"top_logprobs":[]}`
	for _, row := range []struct{ name, logprobs, want string }{
		{"a token", `{"content":[` + token + `],"refusal":null}`, "a[97]-0.5"},
		{"none", `{"content":[]}`, ""},
		{"null", `null`, ""},
		{"a number", `7`, ""},
		{"content null", `{"content":null}`, ""},
		{"content an object", `{"content":{}}`, ""},
		{"tokens of another kind", `{"content":[null,"a",[97],` + token + `]}`, "a[97]-0.5"},
		{"bytes null", `{"content":[{"token":"a","bytes":null,"logprob":-0.5}]}`, "a-0.5"},
		{"bytes empty", `{"content":[{"token":"","bytes":[],"logprob":-0.5}]}`, "[]-0.5"},
		{"bytes too large", `{"content":[{"token":"a","bytes":[97,256],"logprob":0}]}`, "a0"},
		{"bytes below zero", `{"content":[{"token":"a","bytes":[-1],"logprob":0}]}`, "a0"},
		{"bytes with a fraction", `{"content":[{"token":"a","bytes":[9.5],"logprob":0}]}`, "a0"},
		{"bytes as text", `{"content":[{"token":"a","bytes":"YQ==","logprob":0}]}`, "a0"},
		{"logprob null", `{"content":[{"token":"a","bytes":[97],"logprob":null}]}`, "a[97]0"},
		{"logprob in words", `{"content":[{"token":"a","bytes":[97],"logprob":"-Inf"}]}`, "a[97]0"},
		{"half a character", `{"content":[{"token":"` + "\ufffd" + `","bytes":[228,189],"logprob":-1}]}`, "\ufffd[228 189]-1"},
		{"more than there can be", `{"content":[` + strings.Repeat(token+",", 20000) + token + `]}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, "data: %s\n\n", `{"provider":"P","model":"m/x","choices":[{"index":0,"delta":{"reasoning":"r","content":"a"},"logprobs":`+row.logprobs+`}]}`)
					fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`)
				}), func(c *openrouter.Config) { c.Logprobs = true })
				lane := &eyrie.Lane{Tag: "p", Provider: "P", Parameters: []string{"logprobs"}}
				r := request(lane)
				r.Model = "m/x"
				h := ask(t, t.Context(), c, r)
				got := ""
				for _, l := range h.Logprobs {
					got += l.Token
					if l.Bytes != nil {
						got += fmt.Sprint(l.Bytes)
					}
					got += fmt.Sprint(l.Logprob)
				}
				if h.err != nil || h.Content != "a" || got != row.want {
					t.Errorf("%q, content %q, %v; want %q", got, h.Content, h.err, row.want)
				}
			})
		})
	}
}
