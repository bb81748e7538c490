package tokenizer

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/pattern"
	"github.com/go-json-experiment/json"
)

// handWritten are the patterns that have a splitter of their own.
var handWritten = map[string]string{
	"kimi":             kimiPattern,
	"o200k":            o200kPattern,
	"cl100k":           cl100kPattern,
	"qwen":             qwenPattern,
	"deepseek-numbers": deepseekNumbers,
	"deepseek-kana":    deepseekKana,
	"deepseek-words":   deepseekWords,
}

// reference splits s by the definition: each match is a piece, and so is what
// lies between two matches.
func reference(re *pattern.Regexp, s string) []string {
	var out []string
	for len(s) > 0 {
		start, end := re.Find(s, 0)
		if start > 0 {
			out = append(out, s[:start])
		}
		if end > start {
			out = append(out, s[start:end])
		}
		s = s[end:]
	}
	return out
}

// FuzzSplitters compares the hand-written splitters with the pattern matcher.
func FuzzSplitters(f *testing.F) {
	for _, s := range []string{
		"", " ", "a", "I'm y'all'd've DON'T it'\u017f", "word   x", "word   ", "\n\n x\r\n", "1234567", "漢a字 々〇", "e\u0301 \u0301ABC \u0301abc",
		"HTTPServer iPhone15", "⭐️⭐️ !⭐️", "a/b//\n", "\x00\x00a \x00", "¡Hola! «x»", "\u0085\u2028 \u3000漢", "\xff\xe4\xbd", "ǅǆ ªº ˆa", "$foo #BAR !ß",
		"½¼²³ ⅣⅫ", "\U00010d40\U0001c89a", "'S'LL'", " 'x", "\t\t\n\t", "\u00a0a", "ᄒᆞᆫ", "\ufeffBOM",
	} {
		f.Add(s)
	}
	pairs := splitters(f)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 {
			t.Skip("the reference is slow")
		}
		for _, p := range pairs {
			p.compare(t, s)
		}
	})
}

// splitPair is a hand-written splitter and the pattern it stands for.
type splitPair struct {
	name string
	re   *pattern.Regexp
	next splitter
}

func splitters(t testing.TB) []splitPair {
	var pairs []splitPair
	for name, expr := range handWritten {
		re, err := pattern.Compile(expr, pattern.Rust)
		if err != nil {
			t.Fatal(err)
		}
		next, err := newSplitter(expr, pattern.Rust)
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, splitPair{name, re, next})
	}
	return pairs
}

func (p *splitPair) compare(t *testing.T, s string) {
	t.Helper()
	var got []string
	for i := 0; i < len(s); {
		end := p.next(s, i)
		if end <= i || end > len(s) {
			t.Fatalf("%s: %q: piece from %d to %d", p.name, s, i, end)
		}
		got = append(got, s[i:end])
		i = end
	}
	if want := reference(p.re, s); strings.Join(got, "\x00|") != strings.Join(want, "\x00|") {
		t.Fatalf("%s: %q: got %q, want %q", p.name, s, got, want)
	}
}

// TestSplitWords has every byte, and some characters, before and behind words of
// the lengths at which those in ASCII are read differently.
func TestSplitWords(t *testing.T) {
	borders := []string{"", "\u00e9", "\u00c9", "\u0301", "\u017f", "'\u017f", "'S", "'ll", "\u2019", "\u3000", "漢", "カ", "\u0661", "\U00010d50"}
	for b := range 256 {
		borders = append(borders, string([]byte{byte(b)}))
	}
	letters := strings.Repeat("qwertyuiop", 2)
	for _, p := range splitters(t) {
		for _, border := range borders {
			for _, n := range []int{1, 6, 7, 8, 9, 16} {
				word := letters[:n]
				for _, s := range []string{word + border, border + word, border + "A" + word + border + "bc", " " + word + border + word, "A" + border + word, strings.ToUpper(word) + border + word} {
					p.compare(t, s)
				}
			}
		}
	}
}

// TestKimiSplitGolden compares the pieces with those of the Rust engine.
func TestKimiSplitGolden(t *testing.T) {
	dir := os.Getenv("EYRIE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	dir = filepath.Join(dir, "golden")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no reference data: set EYRIE_SHARED to its folder")
	}
	var texts []struct {
		Text string `json:"text"`
	}
	var want []struct {
		Lens []int `json:"lens"`
	}
	readLines(t, filepath.Join(dir, "corpus.jsonl.gz"), &texts)
	readLines(t, filepath.Join(dir, "kimi-split.jsonl.gz"), &want)
	next, err := newSplitter(kimiPattern, pattern.Rust)
	if err != nil {
		t.Fatal(err)
	}
	for n, text := range texts {
		var got []int
		for i := 0; i < len(text.Text); {
			end := next(text.Text, i)
			got = append(got, end-i)
			i = end
		}
		if !slices.Equal(got, want[n].Lens) {
			t.Errorf("string %d %.100q: got %v, want %v", n, text.Text, got, want[n].Lens)
		}
	}
}

// readLines reads a compressed file of one JSON value a line.
func readLines[T any](t *testing.T, name string, to *[]T) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		data, err = gunzip(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		*to = append(*to, v)
	}
}
