package jinja_test

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie/jinja"
)

// FuzzRender feeds arbitrary templates to the engine. Whatever they are, they
// render within the limits or fail with an Error, and twice the same way.
func FuzzRender(f *testing.F) {
	for _, u := range matrixUses {
		f.Add("{{ " + u + " }}")
	}
	for _, s := range matrixStatements {
		f.Add(s)
	}
	for _, p := range pieces {
		f.Add(p)
	}
	f.Add("{% set n = namespace(v=[1]) %}{% for i in range(60) %}{% set n.v = n.v + n.v %}{% endfor %}")
	f.Add("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}")
	f.Add("{{ '%*d' % (10**9, 1) }}{{ '{:>{}}'.format(1, 10**9) }}{{ 'x'.center(10**9) }}")
	f.Add("{% generation %}{% set s %}{% generation %}x{% endgeneration %}{% endset %}{{ s ~ s }}{% endgeneration %}")
	values := vars(f, `{"X":[1,"a",{"k":2.5}],"messages":[{"role":"user","content":"hé"}],"s":"\ud83d"}`)
	opts := jinja.Options{MaxSteps: 50_000, MaxOutput: 1 << 16}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 10_000 {
			t.Skip("longer templates are only slower")
		}
		tmpl, err := jinja.Parse("f", src)
		if err != nil {
			checkError(t, err)
			return
		}
		res, err := tmpl.Render(values, opts)
		if err != nil {
			checkError(t, err)
			return
		}
		if len(res.Text) > opts.MaxOutput || !utf8.ValidString(res.Text) {
			t.Errorf("text of %d bytes, valid %v", len(res.Text), utf8.ValidString(res.Text))
		}
		for _, s := range res.Generation {
			if s[0] < 0 || s[0] > s[1] || s[1] > len(res.Text) {
				t.Errorf("span %v in %d bytes", s, len(res.Text))
			}
		}
		if again, err := tmpl.Render(values, opts); err != nil || again.Text != res.Text {
			t.Errorf("second render: %q, %v; first: %q", again.Text, err, res.Text)
		}
	})
}

func checkError(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*jinja.Error](err); !ok || e.Kind == "" || e.Msg == "" && e.Kind != jinja.RaisedError {
		t.Errorf("error %#v", err)
	}
}

// FuzzJSON wants that what can be read can be written and read again unchanged.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"\ud83d",null,true]}`, `"\u0000\\"`, `[1e400]`, `-0`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := jinja.FromJSON(data)
		if err != nil {
			return
		}
		// Escaped, because half a surrogate pair cannot be read in any other form.
		first, err := jinja.ToJSON(v, jinja.JSONOptions{EnsureASCII: true})
		if err != nil {
			t.Fatal(err)
		}
		w, err := jinja.FromJSON([]byte(first))
		if err != nil {
			t.Skip("holds an infinity, which only Python reads")
		}
		if second, err := jinja.ToJSON(w, jinja.JSONOptions{EnsureASCII: true}); err != nil || second != first {
			t.Errorf("%s became %s, %v", first, second, err)
		}
	})
}
