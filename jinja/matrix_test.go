package jinja_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie/jinja"
)

// matrixValues and matrixUses span the language: every use is tried on every value.
var matrixValues = []string{
	"none", "true", "0", "3", "-7", "2.5", "(-0.0)", "1e16", "1e-5", "10000000000000000000000", "''", "'abc'", "' Hello  wOrld '",
	"'ßd日本😀É'", "'a,b,,c'", `"it's \"q\"\n\tx\r\ny"`, "'%s-%%'", "'{}|{0}'", "'12_3'", "'0x1F'", "'-00.50'", "[]", "[3,1,2]",
	"['b','A','c']", "[1,'a']", "[none,none]", "[[1,2],[0,3]]", "(1,2)", "()", "{}", "{'b':1,'a':[2]}",
	"[{'a':1,'b':'x'},{'a':2,'b':'X'}]", "{1:2,none:3,2.5:4}", "nope", "(['a','b']|map('upper'))", "range(4)", "('<b>'|safe)",
	"messages", "namespace(a=1)", "{'b':1,'a':2}.items()", "{'x':none}.keys()", "(messages|groupby('role'))", "messages[0].nope",
	"[true,1,1.0,0]", "'ŉΣΣ ǆe'", "'a\\u2028b\\x1cc'", "joiner()", "[nan]", "({'a': 1}.items)", "[2.0, 1e100]",
}

var matrixUses = func() []string {
	var uses []string
	for _, u := range []string{
		"abs", "attr('a')", "attr('items')", "batch(2)|list", "batch(2,'x')|list", "capitalize", "center(9)", "d('z')", "default('z',true)",
		"dictsort", "dictsort(true)", "dictsort(by='value')", "dictsort(reverse=true)", "e", "escape", "filesizeformat", "filesizeformat(true)",
		"first", "float", "float(1.5)", "forceescape", "format(1)", "format('a','b')", "groupby('a')|list", "indent", "indent(2,true,true)", "indent('> ')",
		"int", "int(5)", "int(0,16)", "int(0,0)", "items|list", "join", "join('-')", "join(',',attribute='a')", "last", "length", "list", "lower",
		"map('string')|list", "map('upper')|join", "map(attribute='a')|list", "map(attribute='a',default=9)|list", "map('int')|list",
		"map('nope')|list", "map|list", "max", "min", "max(attribute='a')", "reject|list", "rejectattr('a')|list", "reject('none')|list",
		"replace('a','Z')", "replace('',1)", "replace('b','<',1)", "reverse|list", "reverse", "round", "round(1)", "round(-1)", "round(1,'ceil')",
		"round(0,'floor')", "safe", "select|list", "select('odd')|list", "select('string')|list", "select('gt',1)|list", "selectattr('a')|list",
		"selectattr('a','eq',1)|list", "selectattr('b','in',['x'])|list", "slice(2)|list", "slice(3,'f')|list", "sort", "sort(reverse=true)",
		"sort(attribute='a')", "sort(attribute='b,a')", "sort(case_sensitive=true)", "string", "striptags", "sum", "sum(start=1.5)", "sum(attribute='a')", "title",
		"tojson", "tojson(indent=2)", "tojson(sort_keys=true)", "tojson(separators=(',',':'))", "tojson(ensure_ascii=true)", "tojson(indent='\t')",
		"trim", "trim('a ')", "truncate(3)", "truncate(5,true)", "truncate(4,false,'..',0)", "unique|list", "unique(true)|list", "upper",
		"urlencode", "wordcount", "xmlattr", "xmlattr(false)", "nofilter", "trim|length", "tojson|safe|upper", "replace(1,2)", "count",
	} {
		uses = append(uses, "X|"+u)
	}
	for _, m := range []string{
		"capitalize()", "center(7,'*')", "count('a')", "count('')", "endswith('c')", "endswith(('b','c'))", "expandtabs(4)", "find('b')", "find('c',-2)",
		"find('',9)", "format(1,a=2)", "index('b')", "isalnum()", "isalpha()", "isdigit()", "islower()", "isnumeric()", "isspace()", "istitle()", "isupper()",
		"isprintable()", "isidentifier()", "isdecimal()", "isascii()", "join(['1','2'])", "join(X)", "join([1])", "ljust(6,'.')", "lower()", "lstrip()",
		"lstrip(' Ha')", "partition(',')", "partition('')", "removeprefix('a')", "removesuffix('c')", "replace('a','b')", "replace('','-',2)",
		"rfind('b')", "rindex('b',0,2)", "rjust(6)", "rpartition(',')", "rsplit()", "rsplit(',',1)", "rsplit(none,1)", "rstrip()", "split()", "split(',')",
		"split(',',1)", "split(none,1)", "split(sep=',',maxsplit=1)", "split('')", "splitlines()", "splitlines(true)", "startswith('a')", "startswith('b',1)",
		"startswith(1)", "strip()", "strip('ac')", "strip(1)", "swapcase()", "title()", "upper()", "zfill(6)", "upper(1)",
		"get('a')", "get('z')", "get('z',0)", "get([])", "items()", "items()|list", "keys()|list", "values()|list", "copy()", "count(1)", "index(1)", "append(1)",
		"update({})", "real", "imag", "is_integer()", "bit_length()", "a", "b.c", "__class__", "_x", "0", "grouper", "nope.x", "__init__()", "upper is callable", "items is callable",
	} {
		uses = append(uses, "X."+m)
	}
	for _, test := range []string{
		"boolean", "callable", "defined", "divisibleby 3", "escaped", "even", "false", "filter", "float", "in 'abc'", "in [1,'abc',none]", "in {}", "integer",
		"iterable", "lower", "mapping", "none", "number", "odd", "sameas none", "sequence", "string", "test", "true", "undefined", "upper", "eq 3", "ne 3",
		"gt 2", "lt 2", "ge 'a'", "le 'abc'", "not string", "notest", "divisibleby(0)",
	} {
		uses = append(uses, "X is "+test)
	}
	for _, op := range []string{"+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", ">=", "in", "not in", "and", "or"} {
		for _, y := range []string{"2", "0", "-1.5", "'ab'", "[1]", "(1,)", "none", "nope", "true", "{'a':1}", "('<i>'|safe)"} {
			uses = append(uses, "X "+op+" "+y)
			if op != "**" { // Python would compute 2**(10**22)
				uses = append(uses, y+" "+op+" X")
			}
		}
	}
	return append(uses, "X", "-X", "+X", "not X", "X[0]", "X[-1]", "X['a']", "X['upper']", "X[none]", "X[1.0]", "X[true]", "X[[]]", "X()", "X(1)", "X if X else 'n'", "[X, X]", "{'k': X}", "{X: 1}", "dict(X)", "dict(a=X)", "namespace(X)", "range(X)", "[*X]",
		"'%s' % X", "'%r' % X", "'%d' % X", "'%5.1f|' % X", "'%x' % X", "'%-6s|' % (X,)", "'%(a)s' % X", "'%c' % X", "'%g' % X", "'%+08.2e' % X", "'%.3d' % X", "'%a' % X",
		"'{}'.format(X)", "'{:>8}'.format(X)", "'{!r:^20}'.format(X)", "'{:05d}'.format(X)", "'{:,.2f}'.format(X)", "'{:.3}'.format(X)", "'{0.a}{0[0]}'.format(X)", "'{:#x}'.format(X)", "'{:%}'.format(X)", "'{:e}'.format(X)", "'{:_}'.format(X)", "'{:+g}'.format(X)",
		"('%s<' | safe) % X", "('{}<'|safe).format(X)", "('-'|safe).join(X)", "X ~ '<' ~ X|safe", "','.join(X)", "cycler(X).next()", "(X|string)[0:2]|tojson")
}()

// Statements that use a value.
var matrixStatements = []string{
	"{% for a in X %}{{ loop.index }}{{ loop.last }}{{ loop.length }}{{ a }};{% else %}E{% endfor %}",
	"{% for a, b in X %}{{ a }}={{ b }};{% endfor %}",
	"{% for a in X if a %}{{ loop.revindex }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.changed(a) }}{{ loop.cycle(1,2) }}{% endfor %}",
	"{% set v = X %}{{ v[1:] }}|{{ v[:-1] }}|{{ v[::-1] }}|{{ v[::2] }}|{{ v[5:1:-2] }}",
	"{% set v = X %}{{ v[:v] }}", "{% filter length %}{{ X }}{% endfilter %}",
	"{% set a, b = X %}{{ a }}{{ b }}",
	"{% set n = namespace() %}{% set n.x = X %}{{ n.x }}{{ n }}",
	"{% set v = X %}{% set v.q = 1 %}",
	"{% macro m(a, b=X) %}{{ a }}{{ b }}{{ kwargs }}{{ varargs }}{% endmacro %}{{ m(X) }}{{ m(1, 2, X, z=X) }}{{ m }}",
	"{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*X) }}{{ m(**X) }}",
	"{% filter upper|replace('A', '_') %}{{ X }}a{% endfilter %}",
	"{% set s %}{{ X }} <{% endset %}{{ s|length }}{{ s|e }}",
	"{% if X %}1{% elif X is none %}2{% else %}3{% endif %}",
	"{% with a = X, b = a %}{{ a }}|{{ b }}{% endwith %}",
	"{% call(x) (X) %}{{ x }}{% endcall %}",
	"{% for a in X recursive %}{{ loop.depth }}{% if a is iterable and a is not string %}({{ loop(a) }}){% else %}{{ a }}{% endif %}{% endfor %}",
	"{{ raise_exception(X) }}",
	"{% for k, v in X.items() %}{{ k }}:{{ v }}{% if loop.first %}{% continue %}{% endif %}.{% endfor %}",
}

// TestMatrixAsPython tries every use on every value and compares text and refusals
// with real Jinja2. As this takes most of a minute, an ordinary run takes every
// nineteenth template; with EYRIE_MATRIX=all it takes them all.
func TestMatrixAsPython(t *testing.T) {
	var sources []string
	for _, v := range matrixValues {
		for _, u := range matrixUses {
			sources = append(sources, "{{ "+strings.ReplaceAll(u, "X", v)+" }}")
		}
		for _, s := range matrixStatements {
			sources = append(sources, strings.ReplaceAll(s, "X", v))
		}
	}
	if os.Getenv("EYRIE_MATRIX") != "all" {
		kept := sources[:0]
		for i := 0; i < len(sources); i += 19 {
			kept = append(kept, sources[i])
		}
		sources = kept
	}
	compareSources(t, sources)
}

// compareSources renders templates here and in Python and wants no difference.
func compareSources(t *testing.T, sources []string) {
	t.Helper()
	shared := sharedDir(t)
	dir := t.TempDir()
	for i, src := range sources {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.jinja", i)), []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	context := jsontext.Value(`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"nan":1}`)
	cases := filepath.Join(t.TempDir(), "cases.json")
	data, err := json.Marshal([]oracleCase{{"c", context}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cases, data, 0o644); err != nil {
		t.Fatal(err)
	}
	rows := runOracle(t, filepath.Join(shared, "golden", "jinja", "oracle.py"), dir, cases)
	unsupported, rendered := 0, 0
	for i, src := range sources {
		want := rows[fmt.Sprintf("%06d.jinja", i)]["c"]
		switch why := sourceDiff(t, src, context, want); {
		case why == "unsupported":
			unsupported++
		case why != "":
			t.Errorf("%s\n  %s", src, why)
		case want.Text != nil:
			rendered++
		}
	}
	t.Logf("%d templates compared: %d render, the others are refused; %d use what only Python has", len(sources), rendered, unsupported)
}

// pieces of random templates; # stands for a number, S for a whitespace sign.
var pieces = []string{
	"{%S if x# S%}", "{%S endif S%}", "{%S else S%}", "{%S elif x# == # S%}", "{%S for a# in [1, 2, #] S%}", "{%S endfor S%}", "{%S set x# = # S%}",
	"{%S set x# S%}", "{%S endset S%}", "{{S x# S}}", "{{S a# S}}", "{#S note #S#}", "{%S raw S%}", "{%S endraw S%}", " ", "\n", "\n", "  \n", "\t", "word#", "\r\n",
	"{%S macro m#(a, b=x#) S%}", "{%S endmacro S%}", "{{ m#(1) }}", "{{ m#(x#, b=2) }}", "{%S filter upper S%}", "{%S endfilter S%}", "{%S with x# = # S%}", "{%S endwith S%}",
	"{%S call m#(3) S%}", "{%S endcall S%}", "{{ caller() }}", "{%S generation S%}", "{%S endgeneration S%}", "{%S break S%}", "{%S continue S%}", "{{ loop.index }}",
	"{% set n.x# = # %}", "{% set n = namespace(x1=5) %}", "{{ n.x# }}", "{%S block b# S%}", "{%S endblock S%}", "{{ 'é' ~ x# }}", "{{ x# is defined }}", "{% }}", "{{ %}", "{", "%}", "}}",
}

// blocks are balanced, so that random templates often parse.
var blocks = [][2]string{
	{"{%S if x# S%}", "{%S endif S%}"}, {"{%S if not x# S%}", "{%S else S%}b{%S endif S%}"}, {"{%S for a# in [1, 2, #] S%}", "{%S endfor S%}"},
	{"{%S for x# in [1, 2] if x# != # S%}", "{%S else S%} e {%S endfor S%}"}, {"{%S set x# S%}", "{%S endset S%}"}, {"{%S raw S%}", "{%S endraw S%}"},
	{"{%S macro m#(x#, b=x#) S%}", "{%S endmacro S%}"}, {"{%S filter upper S%}", "{%S endfilter S%}"}, {"{%S with x# = # S%}", "{%S endwith S%}"},
	{"{%S call m#(3) S%}", "{%S endcall S%}"}, {"{%S generation S%}", "{%S endgeneration S%}"}, {"{% macro m#(a) %}{{ caller() }}", "{% endmacro %}"},
}

// TestRandomTemplatesAsPython compares templates put together at random, for
// whitespace, scopes and nesting. With EYRIE_MATRIX=all there are more of them, and
// others in every run.
func TestRandomTemplatesAsPython(t *testing.T) {
	n, r := 1500, rand.New(rand.NewPCG(1, 2))
	if os.Getenv("EYRIE_MATRIX") == "all" {
		n, r = 8000, rand.New(rand.NewPCG(rand.Uint64(), 2))
	}
	fill := func(s string) string {
		for strings.Contains(s, "#") && !strings.HasPrefix(s, "{#") {
			s = strings.Replace(s, "#", fmt.Sprint(r.IntN(3)), 1)
		}
		for strings.Contains(s, "S") {
			s = strings.Replace(s, "S", []string{"", "", "-", "+"}[r.IntN(4)], 1)
		}
		return s
	}
	var random func(depth int) string
	random = func(depth int) string {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			if depth > 0 && r.IntN(2) == 0 {
				pair := blocks[r.IntN(len(blocks))]
				b.WriteString(fill(pair[0]) + random(depth-1) + fill(pair[1]))
				continue
			}
			n := len(pieces)
			if r.IntN(8) > 0 {
				n = 22
			}
			if p := pieces[r.IntN(n)]; n == len(pieces) || !strings.HasPrefix(p, "{%") || strings.Contains(p, "set x# =") {
				b.WriteString(fill(p))
			}
		}
		return b.String()
	}
	var sources []string
	for len(sources) < n {
		src := "{% set n = namespace() %}" + random(3)
		// The oracle marks generation blocks inside the text, which makes an empty set
		// block true.
		if !strings.Contains(src, "generation") || !strings.Contains(src, "endset") {
			sources = append(sources, src)
		}
	}
	compareSources(t, sources)
}

// sourceDiff says how a render differs from Python's, or that it uses what this
// package does not support.
func sourceDiff(t *testing.T, src string, context []byte, want oracleRow) string {
	var res jinja.Result
	tmpl, err := jinja.Parse("", src)
	if err == nil {
		res, err = tmpl.Render(vars(t, string(context)), jinja.Options{Now: oracleTime})
	}
	e, _ := errors.AsType[*jinja.Error](err)
	switch {
	case e != nil && e.Kind == jinja.NotSupported:
		return "unsupported"
	case want.Text == nil && e == nil:
		return fmt.Sprintf("got %q, Python raises %s", res.Text, want.Error+want.CompileError)
	case want.Text == nil:
		class, _, _ := strings.Cut(want.Error+want.CompileError, ": ")
		if class == "SyntaxError" { // found by Python's compiler behind Jinja2's
			class = string(jinja.SyntaxError)
		}
		if class != string(e.Kind) {
			return fmt.Sprintf("got %v, Python raises %s", e, want.Error+want.CompileError)
		}
	case e != nil:
		return fmt.Sprintf("got %v, Python renders %q", e, *want.Text)
	case res.Text != *want.Text:
		return fmt.Sprintf("got %q, Python renders %q", res.Text, *want.Text)
	}
	return ""
}
