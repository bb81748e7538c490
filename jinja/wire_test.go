package jinja_test

import (
	"math"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/jinja"
)

// TestJSON reads JSON and writes it again, as Python's json.loads and json.dumps
// would.
func TestJSON(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"order", `{"b":1,"a":{"z":0,"y":0}}`, `{"b": 1, "a": {"z": 0, "y": 0}}`},
		{"last of equal keys wins, first keeps its place", `{"b":1,"a":2,"b":3}`, `{"b": 3, "a": 2}`},
		{"numbers", `[1, 1.0, -0, -0.0, 1e3, 1E400, 2.50, 1e16, 1e-5, 0.0001]`, `[1, 1.0, 0, -0.0, 1000.0, Infinity, 2.5, 1e+16, 1e-05, 0.0001]`},
		{"integers of any size", `[9007199254740993, 9223372036854775808, -123456789012345678901234567890]`, `[9007199254740993, 9223372036854775808, -123456789012345678901234567890]`},
		{"literals", `[null,true,false]`, `[null, true, false]`},
		{"escapes", `"\"\\\/\b\f\n\r\t\u0001\u00e9\ud83d\ude00"`, `"\"\\/\b\f\n\r\t\u0001é😀"`},
		{"no HTML escaping", `"<a href='x'>&\u2028"`, "\"<a href='x'>&\u2028\""},
		{"empty", `{"a":[],"b":{}}`, `{"a": [], "b": {}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, err := jinja.FromJSON([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			got, err := jinja.ToJSON(v, jinja.JSONOptions{})
			if err != nil || got != tt.want {
				t.Errorf("got %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestJSONOptions(t *testing.T) {
	v := vars(t, `{"b":[1,2],"é":"😀","a":null}`)
	for _, tt := range []struct {
		opts jinja.JSONOptions
		want string
	}{
		{jinja.JSONOptions{SortKeys: true}, `{"a": null, "b": [1, 2], "é": "😀"}`},
		{jinja.JSONOptions{Compact: true}, `{"b":[1,2],"é":"😀","a":null}`},
		{jinja.JSONOptions{EnsureASCII: true}, `{"b": [1, 2], "\u00e9": "\ud83d\ude00", "a": null}`},
	} {
		if got, err := jinja.ToJSON(v, tt.opts); err != nil || got != tt.want {
			t.Errorf("%+v: got %s, %v, want %s", tt.opts, got, err, tt.want)
		}
	}
}

// TestHalfSurrogates keeps half a surrogate pair through reading, counting and
// writing.
func TestHalfSurrogates(t *testing.T) {
	const in = `{"s":"a\ud83db\ude00\ud83d\ud83d\ude00"}`
	res, err := render(t, "{{ s|length }}{{ s[1:2] == '\\ud83d' }}{{ [s[1]] }}{{ s|tojson(ensure_ascii=true) }}", in, jinja.Options{})
	if want := `6True['\ud83d']"a\ud83db\ude00\ud83d\ud83d\ude00"`; err != nil || res.Text != want {
		t.Errorf("got %s, %v\nwant %s", res.Text, err, want)
	}
}

func TestBadJSON(t *testing.T) {
	deep := strings.Repeat("[", 2000)
	for _, in := range []string{
		"", "{", `{"a"}`, "[1,]", "nul", "1 2", "NaN", "\"\xff\"", `"\x"`, "'a'", "{1:2}", deep, deep + strings.Repeat("]", 2000),
		strings.Repeat("9", 5000),
	} {
		if v, err := jinja.FromJSON([]byte(in)); err == nil {
			t.Errorf("%.20q is read as %v", in, v)
		} else if !strings.HasPrefix(err.Error(), "jinja: JSON ") {
			t.Errorf("%.20q: %v", in, err)
		}
	}
}

func TestToJSONRefusals(t *testing.T) {
	if _, err := jinja.ToJSON(jinja.NewList(nestedList(5000)), jinja.JSONOptions{}); err == nil {
		t.Error("a list nested 5000 deep is written")
	}
	if got, err := jinja.ToJSON(jinja.Float(math.NaN()), jinja.JSONOptions{}); err != nil || got != "NaN" {
		t.Errorf("NaN is written as %s, %v", got, err)
	}
}

func nestedList(depth int) jinja.Value {
	v := jinja.Value(jinja.None)
	for range depth {
		v = jinja.NewList(v)
	}
	return v
}
