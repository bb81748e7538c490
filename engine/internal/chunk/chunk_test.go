package chunk_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie/engine/internal/chunk"
)

// learned makes a template of a frame in which holes stand between angle
// brackets.
func learned(t testing.TB, marked string) *chunk.Template {
	t.Helper()
	var frame []byte
	var holes []chunk.Hole
	for i, part := range strings.FieldsFunc(marked, func(r rune) bool { return r == '<' || r == '>' }) {
		if i%2 == 1 {
			h := chunk.Hole{Start: len(frame), End: len(frame) + len(part), Field: uint8(i / 2)}
			if part[0] == '[' {
				h.Kind = chunk.IDs
			}
			holes = append(holes, h)
		}
		frame = append(frame, part...)
	}
	tpl := new(chunk.Template)
	tpl.Learn(frame, holes)
	return tpl
}

func show(p *chunk.Parts) string {
	var out []string
	for _, part := range p.List() {
		if part.Value[0] == '[' {
			out = append(out, fmt.Sprint(part.Field, chunk.AppendIDs(nil, part.Value)))
		} else {
			out = append(out, fmt.Sprint(part.Field, " ", string(chunk.AppendText(nil, part.Value))))
		}
	}
	return strings.Join(out, "; ")
}

func TestMatch(t *testing.T) {
	const none = "no match"
	for _, tt := range []struct{ name, template, frame, want string }{
		{"another text", `{"a":<"x">}`, `{"a":"yes"}`, "0 yes"},
		{"the same text", `{"a":<"x">}`, `{"a":"x"}`, "0 x"},
		{"an empty text", `{"a":<"x">}`, `{"a":""}`, "0 "},
		{"escapes", `{"a":<"x">}`, `{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}`, "0 \"\\/\b\f\n\r\té\U0001f600"},
		{"two texts", `{"a":<"x">,"b":<"x">}`, `{"a":"y","b":"z"}`, "0 y; 1 z"},
		{"ids", `{"a":<"x">,"b":<[1]>}`, `{"a":"y","b":[0,2147483647, 3]}`, "0 y; 1 [0 2147483647 3]"},
		{"another frame", `{"a":<"x">}`, `{"b":"x"}`, none},
		{"a member more", `{"a":<"x">}`, `{"a":"x","b":1}`, none},
		{"a member less", `{"a":<"x">,"b":1}`, `{"a":"x"}`, none},
		{"torn in the string", `{"a":<"x">}`, `{"a":"x`, none},
		{"torn in an escape", `{"a":<"x">}`, `{"a":"x\`, none},
		{"torn before the string", `{"a":<"x">}`, `{"a":`, none},
		{"torn behind it", `{"a":<"x">}`, `{"a":"x"`, none},
		{"something behind it", `{"a":<"x">}`, `{"a":"x"}}`, none},
		{"no string", `{"a":<"x">}`, `{"a":null}`, none},
		{"the end of the template inside the string", `{"a":<"x">}`, `{"a":"x\"}`, none},
		{"a control character", `{"a":<"x">}`, "{\"a\":\"\n\"}", none},
		{"half a rune", `{"a":<"x">}`, "{\"a\":\"\xe4\xbd\"}", none},
		{"half a surrogate pair", `{"a":<"x">}`, `{"a":"\ud83d"}`, none},
		{"an escape that is none", `{"a":<"x">}`, `{"a":"\x"}`, none},
		{"an escape that is too short", `{"a":<"x">}`, `{"a":"\u12"}`, none},
		{"no ids", `{"b":<[1]>}`, `{"b":[]}`, none},
		{"ids that are none", `{"b":<[1]>}`, `{"b":[-1]}`, none},
		{"ids too large", `{"b":<[1]>}`, `{"b":[2147483648]}`, none},
		{"ids of more digits than a number has", `{"b":<[1]>}`, `{"b":[18446744073709551617]}`, none},
		{"a zero before an id", `{"b":<[1]>}`, `{"b":[01]}`, none},
		{"a fraction", `{"b":<[1]>}`, `{"b":[1.0]}`, none},
		{"torn ids", `{"b":<[1]>}`, `{"b":[1,`, none},
		{"a comma too much", `{"b":<[1]>}`, `{"b":[1,]}`, none},
		{"nothing", `{"a":<"x">}`, ``, none},
		{"five holes", `<"a">,<"b">,<"c">,<"d">,<"e">`, `"a","b","c","d","e"`, none},
		{"no hole", `{"a":"x"}`, `{"a":"x"}`, none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := none
			var parts chunk.Parts
			if learned(t, tt.template).Match([]byte(tt.frame), &parts) {
				got = show(&parts)
			}
			if got != tt.want {
				t.Errorf("%s beside %s: %q, want %q", tt.frame, tt.template, got, tt.want)
			}
		})
	}
}

func TestATemplateIsBounded(t *testing.T) {
	frame := func(n int) []byte {
		return []byte(`{"a":"x","b":"` + strings.Repeat("y", n-len(`{"a":"x","b":""}`)) + `"}`)
	}
	hole := []chunk.Hole{{Start: 5, End: 8}}
	var tpl chunk.Template
	var parts chunk.Parts
	if tpl.Learn(frame(chunk.MaxFrame), hole); !tpl.Match(frame(chunk.MaxFrame), &parts) {
		t.Error("a frame of the greatest length makes no template")
	}
	if tpl.Learn(frame(chunk.MaxFrame+1), hole); tpl.Match(frame(chunk.MaxFrame+1), &parts) || tpl.Match(frame(chunk.MaxFrame), &parts) {
		t.Error("a frame that is too long makes a template, or leaves the one before")
	}
}

func TestAStreamThatNeverRepeatsItselfIsLeftAlone(t *testing.T) {
	var tpl chunk.Template
	var parts chunk.Parts
	hole := []chunk.Hole{{Start: 1, End: 4}}
	learned := 0
	for ; tpl.Worthwhile() && learned < 1000; learned++ {
		tpl.Learn([]byte(`["a"]`), hole)
	}
	if learned < 2 || learned == 1000 {
		t.Errorf("%d templates were learned in vain", learned)
	}
	if !tpl.Match([]byte(`["b"]`), &parts) || !tpl.Worthwhile() {
		t.Error("a match gives no new hope")
	}
}

// FuzzMatch compares what is found with what a JSON parser finds.
func FuzzMatch(f *testing.F) {
	for _, text := range []string{"x", `a\nb`, `\u00e9`, "\u4f60", `\ud800`, "\xff", "\x01", `\`, `"`} {
		f.Add([]byte(`{"t":"`+text+`","i":[1,20]}`), []byte(`{"t":"x","i":[1]}`))
	}
	f.Add([]byte(`{"t":"x","i":[1, 2]}`), []byte(` {"t": "x","i":[0] }`))
	strict := jsontext.AllowDuplicateNames(true)
	f.Fuzz(func(t *testing.T, frame, first []byte) {
		type doc struct {
			T string  `json:"t"`
			I []int32 `json:"i"`
		}
		var want, is doc
		if json.Unmarshal(first, &is, strict) != nil {
			return
		}
		text, ids := bytes.Index(first, []byte(`"x"`)), bytes.LastIndexByte(first, '[')
		if text < 0 || bytes.Count(first, []byte(`"t"`)) != 1 || bytes.Count(first, []byte(`"i"`)) != 1 || bytes.Count(first, []byte(`"x"`)) != 1 ||
			is.T != "x" || ids < text || len(is.I) == 0 || bytes.Count(first, []byte(`[`)) != 1 || bytes.Contains(first, []byte(`\`)) {
			return // the places of the holes are not this easily found
		}
		var tpl chunk.Template
		tpl.Learn(first, []chunk.Hole{{Start: text, End: text + 3}, {Start: ids, End: bytes.IndexByte(first, ']') + 1, Kind: chunk.IDs, Field: 1}})
		var parts chunk.Parts
		if !tpl.Match(frame, &parts) {
			if bytes.Equal(frame, first) && len(first) <= chunk.MaxFrame && !bytes.ContainsAny(first[ids:], " \t\r\n.eE-") {
				t.Errorf("%q does not match itself", frame)
			}
			return
		}
		if err := json.Unmarshal(frame, &want, strict); err != nil {
			t.Fatalf("%q matches %q and is no JSON: %v", frame, first, err)
		}
		list := parts.List()
		if got := string(chunk.AppendText(nil, list[0].Value)); got != want.T {
			t.Errorf("%q: text %q, want %q", frame, got, want.T)
		}
		if got := chunk.AppendIDs(nil, list[1].Value); !slices.Equal(got, want.I) {
			t.Errorf("%q: ids %v, want %v", frame, got, want.I)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	const around = `{"id":"gen-1769490011-Qx7Zp2Qx7Zp2Qx7Zp2Qx","object":"chat.completion.chunk","created":1769490011,"model":"a/b","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}`
	tpl := learned(b, fmt.Sprintf(around, `<"x">`))
	frame := fmt.Appendf(nil, around, `" token"`)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		var parts chunk.Parts
		if !tpl.Match(frame, &parts) {
			b.Fatal("no match")
		}
	}
}
