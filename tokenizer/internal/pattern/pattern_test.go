package pattern_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/pattern"
)

func ExampleRegexp_Find() {
	re, err := pattern.Compile(`\s+(?!\S)|\s+|\S+`, pattern.Rust)
	if err != nil {
		panic(err)
	}
	for s := "two   words"; s != ""; {
		start, end := re.Find(s, 0)
		fmt.Printf("%q\n", s[start:end])
		s = s[end:]
	}
	// Output:
	// "two"
	// "  "
	// " "
	// "words"
}

// TestMatch has one row for each thing the syntax can say; end is where the
// match at the start of the text ends, -1 if there is none.
func TestMatch(t *testing.T) {
	for _, row := range []struct {
		expr, text string
		end        int
	}{
		{``, "a", 0},
		{`abc`, "abcd", 3},
		{`abc`, "abd", -1},
		{`a|ab`, "ab", 1},
		{`(?:a|ab)c`, "abc", 3},
		{`(a|ab)(c|bcd)`, "abcd", 4},
		{`a*ab`, "aaab", 4},
		{`a*+ab`, "aaab", -1},
		{`a++b`, "aab", 3},
		{`a?ab`, "ab", 2},
		{`a?+ab`, "ab", -1},
		{`(?:ab)*+a`, "ababa", 5},
		{`(?:a|ab)++c`, "abc", -1},
		{`(?:ab){2}`, "ababab", 4},
		{`(?:ab){1,2}`, "ababab", 4},
		{`(?:ab){2,}`, "ababab", 6},
		{`a{2}`, "a", -1},
		{`a{2,3}a`, "aaa", 3},
		{`\d{1,3}`, "1234", 3},
		{`\d\D`, "1x", 2},
		{`\s\S`, "\u3000x", 4},
		{`\s`, "\u200b", -1},
		{`[a-c]+`, "abcd", 3},
		{`[^a-c]+`, "xyza", 3},
		{`[]a]+`, "]a", 2},
		{`[a\-z]+`, "-za", 3},
		{`[a-]+`, "a-b", 2},
		{`[\p{L}&&[^\p{Lu}]]+`, "abC", 2},
		{`[\p{L}&&[^a]&&[^b]]+`, "cab", 1},
		{`[[ab][cd]]+`, "abcde", 4},
		{`[\r\n\t\f\v]+`, "\r\n\t\f\v", 5},
		{`\p{Han}+`, "漢字か", 6},
		{`\p{Script=Han}`, "々", 3},
		{`\P{Han}`, "a", 1},
		{`\p{^Han}`, "a", 1},
		{`\P{^Han}`, "a", -1},
		{`\pL+`, "aé漢1", 6},
		{`\p{Letter}\p{Number}`, "a1", 2},
		{`\p{gc=Lu}`, "A", 1},
		{`\p{Nd}+`, "1٣½", 3},
		{`\x41\x{1F642}\u0042`, "A🙂B", 6},
		{`[\u4e00-\u9fa5]`, "中", 3},
		{`.`, "\n", -1},
		{`.`, "漢", 3},
		{`(?i:'s|K)`, "'S", 2},
		{`(?i:'s|K)`, "'\u017f", 3},
		{`(?i:k)`, "\u212a", 3},
		{`(?i:[a-c])b`, "Bb", 2},
		{`(?i:a)b`, "AB", -1},
		{`a(?=b)`, "ab", 1},
		{`a(?=b)`, "ac", -1},
		{`a(?!b)`, "ac", 1},
		{`a(?!b)`, "ab", -1},
		{`^a$`, "a", 1},
		{`a$`, "a\n", -1},
		{`\S`, "\xff", 1},
		{`\p{So}+`, "\xff\ufffd", 4},
	} {
		re, err := pattern.Compile(row.expr, pattern.Rust)
		if err != nil {
			t.Errorf("%s: %v", row.expr, err)
			continue
		}
		if got := re.Match(row.text, 0); got != row.end {
			t.Errorf("%s on %q: got %d, want %d", row.expr, row.text, got, row.end)
		}
	}
}

// TestAnchors has the anchors, which the engines disagree about.
func TestAnchors(t *testing.T) {
	for _, row := range []struct {
		expr, text string
		i          int
		rust, onig int
	}{
		{`a$`, "a\nb", 0, -1, 1},
		{`\s+$`, " \n ", 0, 3, 3},
		{`^b`, "a\nb", 2, -1, 3},
		{`^b`, "ab", 1, -1, -1},
		{`^a`, "a", 0, 1, 1},
		{`^`, "a\n", 2, -1, -1},
	} {
		for d, want := range map[pattern.Dialect]int{pattern.Rust: row.rust, pattern.Oniguruma: row.onig} {
			re, err := pattern.Compile(row.expr, d)
			if err != nil {
				t.Fatal(err)
			}
			if got := re.Match(row.text, row.i); got != want {
				t.Errorf("%s at %d of %q in dialect %d: got %d, want %d", row.expr, row.i, row.text, d, got, want)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for expr, want := range map[string]string{
		`a(?<=b)`:     `byte 2 of "a(?<=b)": group (?<=b is not supported`,
		`(?<n>a)`:     `group (?<n> is not supported`,
		`(?x)a`:       `group (?x)a is not supported`,
		`a*?`:         `lazy quantifiers are not supported`,
		`a{1,3}+`:     `{n,m}+ is not supported: engines read it differently`,
		`a**`:         `a quantifier behind a quantifier is not supported`,
		`(a*)*`:       `repeating what can be empty is not supported`,
		`^*`:          `repeating what can be empty is not supported`,
		`*a`:          `quantifier '*' without anything before it`,
		`a{,3}`:       `count {,3} is not supported`,
		`a{3,1}`:      `count {3,1} is not supported`,
		`a{9999}`:     `count {9999} is not supported`,
		`a{1`:         `unmatched {`,
		`(a`:          `unmatched (`,
		`a)`:          `unmatched ')'`,
		`[a`:          `unmatched [`,
		`[z-a]`:       `range from U+007A to U+0061`,
		`[[:alpha:]]`: `[:name:] is not supported`,
		`[a--b]`:      `class operator -- is not supported`,
		`\p{Greek}`:   `property \p{Greek} is not supported`,
		`\p{L`:        `unmatched {`,
		`\w`:          `escape \w is not supported`,
		`\b`:          `escape \b is not supported`,
		`\1`:          `escape \1 is not supported`,
		`\xZZ`:        `\x without a code point in hexadecimal`,
		`\x{110000}`:  `\x without a code point in hexadecimal`,
		`a\`:          `nothing behind the last backslash`,
	} {
		if _, err := pattern.Compile(expr, pattern.Rust); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", expr, err, want)
		}
	}
}

// FuzzAgainstRegexp compares with the standard library where both know the
// syntax and agree on classes, which for ASCII they do.
func FuzzAgainstRegexp(f *testing.F) {
	f.Add(`a|ab|[^b-d]+c?`, "abc")
	f.Add(`(?:a|b)*a{1,2}`, "ababaab")
	f.Add(`(?i:'s|x)$`, "'S")
	f.Add(`^\s*[\r\n]+`, " \n\n a")
	f.Add(`[\d\s]{2,}\.`, "1 2.")
	f.Add(`\x41?(b(c|d)+)+`, "Abcdbd")
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) > 40 || len(text) > 16 || strings.ContainsAny(expr, "QEAzZCUsSdDpP&~[:") && strings.Contains(expr, `\`) {
			return // escapes and class syntax that mean different things
		}
		for _, s := range []string{expr, text} {
			for i := range len(s) {
				if s[i] >= utf8.RuneSelf {
					return
				}
			}
		}
		if strings.Contains(expr, "&&") || strings.Contains(expr, "[[") || strings.Count(expr, "[") > 1 {
			return
		}
		re, err := pattern.Compile(expr, pattern.Rust)
		if err != nil {
			return
		}
		std, err := regexp.Compile(`\A(?:` + expr + `)`)
		if err != nil {
			return
		}
		want := -1
		if loc := std.FindStringIndex(text); loc != nil {
			want = loc[1]
		}
		if got := re.Match(text, 0); got != want {
			t.Fatalf("%s on %q: got %d, want %d", expr, text, got, want)
		}
	})
}
