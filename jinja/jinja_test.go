package jinja_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/jinja"
)

// vars reads the variables of a render from JSON.
func vars(t testing.TB, data string) *jinja.Dict {
	t.Helper()
	v, err := jinja.FromJSON([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*jinja.Dict)
}

// render runs a template over JSON variables.
func render(t testing.TB, src, data string, opts jinja.Options) (jinja.Result, error) {
	t.Helper()
	tmpl, err := jinja.Parse("t", src)
	if err != nil {
		return jinja.Result{}, err
	}
	return tmpl.Render(vars(t, data), opts)
}

const conversation = `{"messages":[
	{"role":"user","content":"hi","n":1},
	{"role":"assistant","content":null,"tool_calls":[{"b":1.0,"a":[1e20,"é<\""]}]}],
	"big":123456789012345678901234567890,"e":[],"nested":[1,[2,[3]]]}`

// TestText holds expected output, taken from Python, for each part of the language.
func TestText(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"text", "a{{ 'b' }}c", "abc"},
		{"one newline at the end is dropped", "a\n\n", "a\n"},
		{"line ends", "a\r\nb\rc", "a\nb\nc"},
		{"trim blocks", "{% if true %}\nx\n{% endif %}\ny", "x\ny"},
		{"lstrip blocks", "a\n  {% if true %}\n  b\n  {% endif %}", "a\n  b\n"},
		{"lstrip leaves expressions", "  {{ 1 }}", "  1"},
		{"minus", "a \n {%- if true -%} \n b \n {%- endif %}", "ab"},
		{"plus", "  {%+ if true +%}\nx{% endif %}", "  \nx"},
		{"comment", "a\n  {# {{ x }} #}\nb", "a\nb"},
		{"raw", "{% raw %}{{ x }}{%- endraw %}", "{{ x }}"},
		{"brackets do not end a tag", "{{ {'a': {'b': 1}}}}", "{'a': {'b': 1}}"},

		{"float and int apart", "{{ 1.0 }} {{ 1 }} {{ 1e16 }} {{ 1e-5 }} {{ 3/1 }} {{ 7//2 }} {{ -7//2 }} {{ -7 % 3 }}", "1.0 1 1e+16 1e-05 3.0 3 -4 2"},
		{"big integers", "{{ big }} {{ big * big }} {{ 2**64 }}", "123456789012345678901234567890 15241578753238836750495351562536198787501905199875019052100 18446744073709551616"},
		{"power binds left and after the sign", "{{ -2**2 }} {{ 2**3**2 }}", "4 64"},
		{"concatenation binds tighter than plus", "{{ 1 ~ 2 + '3' }}", "123"},
		{"chained comparison", "{{ 1 < 2 < 2 }} {{ 1 in [1] == true }}", "False False"},
		{"and, or return operands", "{{ 0 or 'x' }}{{ '' and 1 }}{{ not none }}", "xTrue"},
		{"repr", `{{ ['a', "it's", 1.5, none, true, {'k': (1,)}] }}`, `['a', "it's", 1.5, None, True, {'k': (1,)}]`},
		{"repr escapes", `{{ ['\n\x00é\u200b'] }}`, `['\n\x00é\u200b']`},
		{"slices", "{{ 'abcdef'[1:-1] }}{{ '日本語'[::-1] }}{{ [1,2,3][:1] }}", "bcde語本日[1]"},
		{"equal keys are one", "{{ {1: 'a', 1.0: 'b', true: 'c'} }}", "{1: 'c'}"},
		{"key order", "{{ messages[1].tool_calls[0] }}", `{'b': 1.0, 'a': [1e+20, 'é<"']}`},
		{"attribute before item, item before attribute", "{% set d = {'items': 1} %}{{ d['items'] }}{{ d.items is callable }}", "1True"},
		{"undefined prints nothing", "[{{ nope }}{{ messages[0].nope }}]", "[]"},
		{"undefined is empty", "{% for x in nope %}x{% endfor %}{{ nope is defined }}{{ nope|length }}", "False0"},

		{"loop variable", "{% for x in 'ab' %}{{ loop.index }}{{ loop.first }}{{ loop.last }}{{ loop.revindex0 }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}", "1TrueFalse1b;2FalseTrue0a;"},
		{"loop filter and else", "{% for x in [1,2,3] if x > 5 %}{{ x }}{% else %}none{% endfor %}", "none"},
		{"loop unpacking", "{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}", "a1"},
		{"break and continue", "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}", "02"},
		{"else after cut passes", "{% for i in [1] %}{% continue %}{% else %}else{% endfor %}", "else"},
		{"recursive loop", "{% for x in nested recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{{ loop.depth }}{% endif %}{% endfor %}", "11(22(33))"},
		{"loop scope", "{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{{ x }}{% endfor %}{{ x }}", "21"},
		{"if has no scope", "{% if true %}{% set x = 2 %}{% endif %}{{ x }}", "2"},
		{"namespace", "{% set n = namespace(a=1) %}{% for i in [1,2] %}{% set n.a = n.a + i %}{% endfor %}{{ n.a }}", "4"},
		{"macro", "{% macro f(a, b='x') %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1) }}{{ f(1, 2, 3, z=4) }}", "1x(){}12(3,){'z': 4}"},
		{"macro defaults see earlier parameters", "{% macro f(a, b=a) %}{{ b }}{% endmacro %}{{ f(1) }}", "1"},
		{"macro sees later globals", "{% macro f() %}{{ v }}{% endmacro %}{% set v = 1 %}{{ f() }}", "1"},
		{"recursive macro", "{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "3210"},
		{"call block", "{% macro f() %}<{{ caller(1) }}>{% endmacro %}{% call(x) f() %}in{{ x }}{% endcall %}", "<in1>"},
		{"filter block", "{% filter upper|replace('B', '-') %}abc{% endfilter %}", "A-C"},
		{"set block", "{% set x | trim %}  a {% endset %}[{{ x }}]", "[a]"},
		{"with", "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}", "211"},
		{"inline if without else", "[{{ 'a' if false }}]", "[]"},
		{"cycler and joiner", "{% set c = cycler(1, 2) %}{% set j = joiner() %}{% for i in 'abc' %}{{ j() }}{{ c.next() }}{% endfor %}", "1, 2, 1"},

		{"tojson", "{{ messages[1].tool_calls|tojson }}", `[{"b": 1.0, "a": [1e+20, "é<\""]}]`},
		{"tojson options", "{{ {'b': [], 'a': 'é'}|tojson(indent=1, sort_keys=true, ensure_ascii=true) }}", "{\n \"a\": \"\\u00e9\",\n \"b\": []\n}"},
		{"map and select", "{{ messages|selectattr('role', 'eq', 'user')|map(attribute='content')|list }}", "['hi']"},
		{"sort ignores case", "{{ ['b', 'A']|sort }}{{ {'b': 1, 'A': 2}|dictsort }}", "['A', 'b'][('A', 2), ('b', 1)]"},
		{"groupby", "{% for g in messages|groupby('role') %}{{ g.grouper }}{{ g.list|length }}{% endfor %}", "assistant1user1"},
		{"indent", "{{ 'a\n\nb'|indent(2) }}", "a\n\n  b"},
		{"int and float", "{{ '42.9'|int }}{{ 'x'|int(7) }}{{ '0x1f'|int(0, 16) }}{{ '1_0'|float }}", "4273110.0"},
		{"round halves to even", "{{ 2.5|round }} {{ 0.125|round(2) }} {{ 25|round(-1) }}", "2.0 0.12 20"},
		{"printf", "{{ '%05.1f|%-3s|%+d|%x|%r' % (2.25, 'a', 3, 255, 'q') }}", "002.2|a  |+3|ff|'q'"},
		{"str.format", "{{ '{:>4}|{0}|{a[b].c}'.replace('{0}', '{}').format('x', 1, a={'b': {'c': 2}}) }}", "   x|1|2"},
		{"string methods", "{{ ' a b '.split() }}{{ 'a,b,c'.rsplit(',', 1) }}{{ 'xxa'.lstrip('x') }}{{ 'ß'.upper() }}{{ 'ΑΣ'.lower() }}", "['a', 'b']['a,b', 'c']aSSας"},
		{"safe strings escape what joins them", "{{ ('<b>'|safe) + '<' }}{{ '<'|e }}", "<b>&lt;&lt;"},
		{"tests", "{{ 1 is number }}{{ true is integer }}{{ {} is mapping }}{{ 'a' is in 'abc' }}{{ 4 is divisibleby 2 }}{{ nope is callable }}", "TrueFalseTrueTrueTrueTrue"},
		{"unicode", "{{ 'é😀'|length }}{{ 'é😀'[1] }}{{ 'é😀'|tojson(ensure_ascii=true) }}", `2😀"\u00e9\ud83d\ude00"`},
		{"string escapes", `{{ 'a\tb\u00e9\x41\101\q' }}`, "a\tbéAA\\q"},
		{"unknown filter not reached", "{% if false %}{{ 1|nope }}{% endif %}ok", "ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := render(t, tt.src, conversation, jinja.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if res.Text != tt.want {
				t.Errorf("%s\n got %q\nwant %q", tt.src, res.Text, tt.want)
			}
		})
	}
}

// TestRefusals holds what Python refuses, with its class of error and its words.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		src  string
		kind jinja.Kind
		line int
		msg  string
	}{
		{"\n{{ messages[9]['role'] }}", jinja.UndefinedError, 2, "list object has no element 9"},
		{"{{ nope.x }}", jinja.UndefinedError, 1, "'nope' is undefined"},
		{"{{ messages[0].nope.x }}", jinja.UndefinedError, 1, "'dict object' has no attribute 'nope'"},
		{"{{ 'a' + nope }}", jinja.UndefinedError, 1, "'nope' is undefined"},
		{"{{ 'a' + 1 }}", jinja.TypeError, 1, `can only concatenate str (not "int") to str`},
		{"{{ messages[1].content + 'a' }}", jinja.TypeError, 1, "unsupported operand type(s) for +: 'NoneType' and 'str'"},
		{"{{ 1 < 'a' }}", jinja.TypeError, 1, "'<' not supported between instances of 'int' and 'str'"},
		{"{{ 1 / 0 }}", jinja.ZeroDivisionError, 1, "division by zero"},
		{"{% for x in none %}{% endfor %}", jinja.TypeError, 1, "'NoneType' object is not iterable"},
		{"{{ 'a' in none }}", jinja.TypeError, 1, "argument of type 'NoneType' is not iterable"},
		{"{% for a, b in [[1]] %}{% endfor %}", jinja.ValueError, 1, "not enough values to unpack (expected 2, got 1)"},
		{"{{ {[]: 1} }}", jinja.TypeError, 1, "unhashable type: 'list'"},
		{"{% set d = {} %}{% set d.a = 1 %}", jinja.RuntimeError, 1, "cannot assign attribute on non-namespace object"},
		{"{% set _ = e.append(1) %}", jinja.SecurityError, 1, "access to attribute 'append' of 'list' object is unsafe."},
		{"{{ ''.__class__.x }}", jinja.SecurityError, 1, "access to attribute '__class__' of 'str' object is unsafe."},
		{"{{ range(100001) }}", jinja.OverflowError, 1, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)."},
		{"{{ e|map('upper')|tojson }}", jinja.TypeError, 1, "Object of type generator is not JSON serializable"},
		{"{{ [1]|items|list }}", jinja.TypeError, 1, "Can only get item pairs from a mapping."},
		{"a\n{{ raise_exception('no ' ~ 1) }}", jinja.RaisedError, 2, "no 1"},
		{"{{ strftime_now('%Y') }}", jinja.RuntimeError, 1, "strftime_now is used, but no time was given to the render"},
		{"{% macro f() %}{% endmacro %}{{ f(1) }}", jinja.TypeError, 1, "macro 'f' takes not more than 0 argument(s)"},
		{"{% macro f() %}{% endmacro %}{% call f() %}{% endcall %}", jinja.TypeError, 1, "macro 'f' was invoked with two values for the special caller argument. This is most likely a bug."},
		{"{% include 'x' %}", jinja.TypeError, 1, "no loader for this environment specified"},
		{"{{ 10**5000 }}", jinja.ValueError, 1, "Exceeds the limit (4300 digits) for integer string conversion"},
		{"{{ '\\ud83d' }}", jinja.EncodeError, 0, "the text contains half of a surrogate pair, or bytes that are not UTF-8"},
		{"{{ [].copy }}", jinja.NotSupported, 1, "printing a builtin_function_or_method, which Python shows with its memory address"},

		{"a\n{{ 1|nope }}", jinja.AssertionError, 2, "No filter named 'nope'."},
		{"{% if x %}{% for a in b %}{{ a is nope }}{% endfor %}{% endif %}", jinja.AssertionError, 1, "No test named 'nope'."},
		{"\n\n{% do x %}", jinja.SyntaxError, 3, "Encountered unknown tag 'do'."},
		{"\n{% if x %}", jinja.SyntaxError, 2, "Unexpected end of template. Jinja was looking for the following tags: 'elif' or 'else' or 'endif'."},
		{"{{ (1 }}", jinja.SyntaxError, 1, "unexpected '}', expected ')'"},
		{"{{ a b }}", jinja.SyntaxError, 1, "expected token 'end of print statement', got 'b'"},
		{"{{ }}", jinja.SyntaxError, 1, "Expected an expression, got 'end of print statement'"},
		{"{{ 'a", jinja.SyntaxError, 1, `unexpected char "'" at 3`},
		{"{% set 1 = 2 %}", jinja.SyntaxError, 1, "can't assign to 'const'"},
		{"{% break %}", jinja.SyntaxError, 1, "'break' outside loop"},
		{"{# a", jinja.SyntaxError, 1, "Missing end of comment tag"},
		{"{% for x in y %}{% set loop = 1 %}{% endfor %}", jinja.AssertionError, 1, "Can't assign to special loop variable in for-loop target"},
	} {
		t.Run(tt.src, func(t *testing.T) {
			res, err := render(t, tt.src, conversation, jinja.Options{})
			want := jinja.Error{Name: "t", Line: tt.line, Kind: tt.kind, Msg: tt.msg}
			if e, ok := errors.AsType[*jinja.Error](err); !ok || *e != want {
				t.Errorf("got %q, %v\nwant %v", res.Text, err, &want)
			}
			if res.Text != "" || res.Generation != nil {
				t.Errorf("an error came with the result %+v", res)
			}
		})
	}
}

func TestErrorNamesPlace(t *testing.T) {
	_, err := jinja.Parse("kimi.jinja", "a\n{% endif %}")
	const want = "jinja: kimi.jinja: line 2: TemplateSyntaxError: Encountered unknown tag 'endif'."
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestGenerationSpans(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		want      []string // the text of each span
		lost      bool
	}{
		{"in place", "é{% generation %}bé{{ 'c' }}{% endgeneration %}d", []string{"béc"}, false},
		{"in a loop", "{% for x in 'ab' %}<{% generation %}{{ x }}{% endgeneration %}>{% endfor %}", []string{"a", "b"}, false},
		{"empty", "a{% generation %}{% endgeneration %}", []string{""}, false},
		{"inside out", "{% generation %}a{% generation %}b{% endgeneration %}{% endgeneration %}", []string{"b", "ab"}, false},
		{"through a macro", "{% macro m() %}<{% generation %}x{% endgeneration %}>{% endmacro %}1{{ m() }}", []string{"x"}, false},
		{"joined to text", "{% set s %}{% generation %}x{% endgeneration %}{% endset %}1{{ 'é' + s ~ '2' }}{{ ['-', s]|join }}", []string{"x", "x"}, false},
		{"through a filter", "{% set s %}{% generation %} x {% endgeneration %}{% endset %}{{ s|trim }}", nil, true},
		{"looked at and printed", "{% set s %}{% generation %}x{% endgeneration %}{% endset %}{% if s and s == 'x' and s|length == 1 %}{{ s }}{% endif %}", []string{"x"}, false},
		{"through a method", "{% set s %}{% generation %}x{% endgeneration %}{% endset %}{{ s.upper() }}", nil, true},
		{"through a slice", "{% set s %}{% generation %}xy{% endgeneration %}{% endset %}{{ s[1:] }}", nil, true},
		{"through JSON", "{% set s %}{% generation %}xy{% endgeneration %}{% endset %}{{ [s]|tojson }}", nil, true},
		{"variables stay inside", "{% set v = 1 %}{% generation %}{% set v = 2 %}{{ v }}{% endgeneration %}{{ v }}", []string{"2"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := render(t, tt.src, "{}", jinja.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range res.Generation {
				got = append(got, res.Text[s[0]:s[1]])
			}
			if !slices.Equal(got, tt.want) || res.GenerationLost != tt.lost {
				t.Errorf("spans %q of %q, lost %v; want %q, lost %v", got, res.Text, res.GenerationLost, tt.want, tt.lost)
			}
		})
	}
}

func TestStrftime(t *testing.T) {
	now := time.Date(2024, 12, 30, 3, 4, 5, 6000, time.FixedZone("x", 3600))
	const src = "{{ strftime_now('%a %A %b %B %d %e %H %I %j %m %M %p %S %f %y %Y %U %W %u %w %V %G %D %F %T %c %% %q %Z|%z|') }}"
	const want = "Mon Monday Dec December 30 30 03 03 365 12 04 AM 05 000006 24 2024 52 53 1 1 01 2025 12/30/24 2024-12-30 03:04:05 Mon Dec 30 03:04:05 2024 % %q ||"
	res, err := render(t, src, "{}", jinja.Options{Now: now})
	if err != nil || res.Text != want {
		t.Errorf("got %q, %v\nwant %q", res.Text, err, want)
	}
}

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		kind      jinja.Kind
	}{
		{"runaway macro", "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", jinja.RecursionError},
		{"runaway loop", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", jinja.RecursionError},
		{"runaway caller", "{% macro f() %}{% call f() %}{% endcall %}{{ caller() }}{% endmacro %}{% call f() %}{% endcall %}", jinja.RecursionError},
		{"deep value", "{% set n = namespace(v=1) %}{% for i in range(5000) %}{% set n.v = [n.v] %}{% endfor %}{{ n.v }}", jinja.RecursionError},
		{"deep JSON", "{% set n = namespace(v=1) %}{% for i in range(5000) %}{% set n.v = [n.v] %}{% endfor %}{{ n.v|tojson }}", jinja.RecursionError},
		{"deep comparison", "{% set n = namespace(v=1, w=1) %}{% for i in range(99999) %}{% set n.v = [n.v] %}{% set n.w = [n.w] %}{% endfor %}{{ n.v == n.w }}", jinja.RecursionError},
		{"deep brackets", "{{ " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + " }}", jinja.RecursionError},
		{"deep blocks", strings.Repeat("{% if 1 %}", 5000) + strings.Repeat("{% endif %}", 5000), jinja.RecursionError},
		{"long sum", "{{ 1" + strings.Repeat("+1", 30_000) + " }}", jinja.RecursionError},
		{"endless work", "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}", jinja.StepLimit},
		{"work in a filter", "{% for i in range(100000) %}{% set x = range(100000)|sum %}{% endfor %}", jinja.StepLimit},
		{"work on text", "{% set x = 'a' * 9999999 %}{% for i in range(100000) %}{% set y = x|upper %}{% endfor %}", jinja.StepLimit},
		{"work on shared lists", "{% set n = namespace(v=[1]) %}{% for i in range(60) %}{% set n.v = [n.v, n.v] %}{% endfor %}{{ n.v == n.v|list }}", jinja.StepLimit},
		{"much output", "{% set x = 'a' * 999999 %}{% for i in range(100000) %}{{ x }}{% endfor %}", jinja.OutputLimit},
		{"long string", "{{ 'a' * 10**12 }}", jinja.OutputLimit},
		{"doubling", "{% set n = namespace(v='ab') %}{% for i in range(60) %}{% set n.v = n.v ~ n.v %}{% endfor %}", jinja.OutputLimit},
		{"doubling lists", "{% set n = namespace(v=[1]) %}{% for i in range(60) %}{% set n.v = n.v + n.v %}{% endfor %}", jinja.OutputLimit},
		{"padding", "{{ 'a'.ljust(10**11) }}", jinja.OutputLimit},
		{"printf padding", "{{ '%99999999999d' % 1 }}", jinja.ValueError},
		{"printing shared lists", "{% set n = namespace(v=[1]) %}{% for i in range(60) %}{% set n.v = [n.v, n.v] %}{% endfor %}{{ n.v }}", jinja.OutputLimit},
		{"large powers", "{{ 10**(10**10) }}", jinja.OverflowError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			opts := jinja.Options{MaxSteps: 5_000_000, MaxOutput: 16 << 20}
			if tt.kind == jinja.StepLimit {
				opts.MaxSteps = 300_000
			}
			_, err := render(t, tt.src, "{}", opts)
			if e, ok := errors.AsType[*jinja.Error](err); !ok || e.Kind != tt.kind {
				t.Errorf("got %v, want %s", err, tt.kind)
			}
		})
	}
}

func TestDepthIsCounted(t *testing.T) {
	const src = "{% macro f(n) %}{% if n > 1 %}{{ f(n - 1) }}{% else %}end{% endif %}{% endmacro %}{{ f(n) }}"
	for _, tt := range []struct {
		vars string
		opts jinja.Options
		ok   bool
	}{
		{`{"n":200}`, jinja.Options{}, true},
		{`{"n":201}`, jinja.Options{}, false},
		{`{"n":3}`, jinja.Options{MaxDepth: 3}, true},
		{`{"n":4}`, jinja.Options{MaxDepth: 3}, false},
	} {
		if _, err := render(t, src, tt.vars, tt.opts); (err == nil) != tt.ok {
			t.Errorf("%s with %+v: %v", tt.vars, tt.opts, err)
		}
	}
}

// TestNamespaceInItself prints an object that contains itself.
func TestNamespaceInItself(t *testing.T) {
	res, err := render(t, "{% set n = namespace() %}{% set n.n = [n] %}{{ n }}", "{}", jinja.Options{})
	if want := "<Namespace {'n': [<Namespace {...}>]}>"; err != nil || res.Text != want {
		t.Errorf("got %q, %v, want %q", res.Text, err, want)
	}
}

func TestConcurrentRenders(t *testing.T) {
	tmpl, err := jinja.Parse("t", "{% macro f(x) %}{{ x }}{% endmacro %}{% for m in messages %}{{ f(m.role) }}{{ loop.index }}{% endfor %}{{ n }}")
	if err != nil {
		t.Fatal(err)
	}
	shared := vars(t, conversation)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				res, err := tmpl.Render(shared, jinja.Options{})
				if want := "user1assistant2"; err != nil || res.Text != want {
					t.Errorf("got %q, %v, want %q", res.Text, err, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestValuesFromGo(t *testing.T) {
	huge, _ := new(big.Int).SetString("99999999999999999999", 10)
	d := jinja.NewDict().
		Set("z", jinja.NewList(jinja.Int(1), jinja.Float(math.Inf(1)), jinja.None)).
		Set("a", jinja.BigInt(huge)).
		Set("i", jinja.BigInt(big.NewInt(7))).
		Set("z", jinja.NewList(jinja.Bool(true), jinja.String("s")))
	tmpl, err := jinja.Parse("t", "{{ z }} {{ a + 1 }} {{ i }}")
	if err != nil {
		t.Fatal(err)
	}
	res, err := tmpl.Render(d, jinja.Options{})
	if want := "[True, 's'] 100000000000000000000 7"; err != nil || res.Text != want {
		t.Errorf("got %q, %v, want %q", res.Text, err, want)
	}
	if v, _ := d.Get("i"); v != jinja.Int(7) {
		t.Errorf("a small BigInt is %#v", v)
	}
	var keys []string
	for k := range d.All() {
		keys = append(keys, string(k.(jinja.String)))
	}
	if want := []string{"z", "a", "i"}; !slices.Equal(keys, want) {
		t.Errorf("keys in order %q, want %q", keys, want)
	}
}

func TestNilIsNone(t *testing.T) {
	tmpl, err := jinja.Parse("t", "{{ a }}{{ l }}")
	if err != nil {
		t.Fatal(err)
	}
	res, err := tmpl.Render(jinja.NewDict().Set("a", nil).Set("l", jinja.NewList(nil, jinja.Int(1))), jinja.Options{})
	if want := "None[None, 1]"; err != nil || res.Text != want {
		t.Errorf("got %q, %v, want %q", res.Text, err, want)
	}
}

// TestLargeDict crosses the size at which a dictionary starts to use a map.
func TestLargeDict(t *testing.T) {
	d := jinja.NewDict()
	for i := range 100 {
		d.Set(strings.Repeat("k", i+1), jinja.Int(i))
	}
	d.Set("kkk", jinja.Int(-1))
	if v, ok := d.Get("kkk"); !ok || v != jinja.Int(-1) || d.Len() != 100 {
		t.Errorf("kkk is %v among %d keys", v, d.Len())
	}
	if _, ok := d.Get("none"); ok {
		t.Error("found a key that is not there")
	}
}

func TestRenderWithoutVariables(t *testing.T) {
	tmpl, err := jinja.Parse("", "{{ x is defined }}")
	if err != nil {
		t.Fatal(err)
	}
	if res, err := tmpl.Render(nil, jinja.Options{}); err != nil || res.Text != "False" {
		t.Errorf("got %q, %v", res.Text, err)
	}
}
