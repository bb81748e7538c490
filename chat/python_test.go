package chat_test

import (
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/chat"
)

// TestAppendJSON compares with what json.dumps(json.loads(…),
// ensure_ascii=False) prints.
func TestAppendJSON(t *testing.T) {
	for _, x := range []struct{ in, spaced, compact string }{
		{`{"b":1,"a":[1,2]}`, `{"b": 1, "a": [1, 2]}`, `{"b":1,"a":[1,2]}`},
		{` [ ] `, `[]`, `[]`},
		{`{}`, `{}`, `{}`},
		{`[true,false,null]`, `[true, false, null]`, `[true,false,null]`},
		{`[2.0, 1e5, 1E+16, 1e15, 0.0001, 0.00001, 1.5e-7, -0.0, 123456789012345680000.0]`,
			`[2.0, 100000.0, 1e+16, 1000000000000000.0, 0.0001, 1e-05, 1.5e-07, -0.0, 1.2345678901234568e+20]`, ""},
		{`[1e400, -1e400]`, `[Infinity, -Infinity]`, ""},
		{`[-0, 10000000000000000000000001]`, `[0, 10000000000000000000000001]`, ""},
		{`"\u00e9\ud83d\ude42\/\u0007\u2028\u007f"`, "\"é🙂/\\u0007\u2028\x7f\"", ""},
		{`"\"\\\b\f\n\r\t"`, `"\"\\\b\f\n\r\t"`, ""},
		{`"\ud800x"`, "\"\uFFFDx\"", ""},
		{`{"a":1,"b":2,"a":3}`, `{"a": 3, "b": 2}`, ""},
		{`"<|im_end|>"`, `"<|im_end|>"`, ""},
	} {
		got, err := chat.AppendJSON([]byte("x"), []byte(x.in), chat.Spaced)
		if err != nil || string(got) != "x"+x.spaced {
			t.Errorf("%s: %s, %v; want x%s", x.in, got, err, x.spaced)
		}
		if x.compact == "" {
			continue
		}
		if got, err := chat.AppendJSON(nil, []byte(x.in), chat.Compact); err != nil || string(got) != x.compact {
			t.Errorf("%s: %s, %v; want %s", x.in, got, err, x.compact)
		}
	}
}

func TestAppendJSONManyKeys(t *testing.T) {
	var in, want strings.Builder
	in.WriteString(`{"k0":0`)
	want.WriteString(`{"k0":99`)
	for i := range 100 {
		k := `,"k` + strings.Repeat("1", i+1) + `":`
		in.WriteString(k + "1")
		want.WriteString(k + "1")
	}
	in.WriteString(`,"k0":99}`)
	want.WriteString(`}`)
	got, err := chat.AppendJSON(nil, []byte(in.String()), chat.Compact)
	if err != nil || string(got) != want.String() {
		t.Errorf("%s, %v", got, err)
	}
}

func TestAppendJSONRefuses(t *testing.T) {
	for _, in := range []string{"", " ", "{", "[1,]", `{"a"}`, "1 2", `{"a":1}}`, "NaN", "01", "\"a\nb\"", "nul"} {
		if got, err := chat.AppendJSON(nil, []byte(in), chat.Spaced); err == nil {
			t.Errorf("%q: %s", in, got)
		}
	}
}

// FuzzAppendJSON prints what it printed once more.
func FuzzAppendJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.50,"\u00e9",null,{"b":-0}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := chat.AppendJSON(nil, in, chat.Spaced)
		if err != nil || strings.Contains(string(once), "Infinity") {
			return
		}
		compact, err := chat.AppendJSON(nil, once, chat.Compact)
		if err != nil {
			t.Fatalf("%q became %q: %v", in, once, err)
		}
		twice, err := chat.AppendJSON(nil, compact, chat.Spaced)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("%q, then %q by way of %q, %v", once, twice, compact, err)
		}
	})
}
