package bpe_test

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
	"github.com/go-json-experiment/json"
)

// shared returns a path in the reference data, or skips the test.
func shared(t testing.TB, elem ...string) string {
	t.Helper()
	root := cmp.Or(os.Getenv("EYRIE_SHARED"), filepath.Join("..", "..", "..", "..", "shared"))
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("reference data absent (set EYRIE_SHARED to its folder): %v", err)
	}
	return path
}

func kimi(t testing.TB) *bpe.Vocabulary {
	t.Helper()
	f, err := os.Open(shared(t, "models", "kimi-k2.5", "tiktoken.model"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := bpe.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// golden decodes every line of a reference file.
func golden[T any](t testing.TB, name string) []T {
	t.Helper()
	f, err := os.Open(shared(t, "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var row T
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatalf("%s: line %d: %v", name, len(rows)+1, err)
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

type text struct {
	Text string `json:"text"`
}

type tokens struct {
	IDs []bpe.ID `json:"ids"`
}

func TestEncodeMatchesReference(t *testing.T) {
	v := kimi(t)
	texts := golden[text](t, "corpus.jsonl.gz")
	for _, mode := range []struct {
		file   string
		encode func([]bpe.ID, string) []bpe.ID
		limit  int // bytes
	}{
		{"kimi-ordinary.jsonl.gz", v.Encode, 1 << 30},
		// The reference cut long texts before it looked for specials; engines,
		// and so EncodePrompt, do it the other way round. Short texts tell no difference.
		{"kimi.jsonl.gz", v.EncodePrompt, 25_000},
	} {
		checked := 0
		for i, want := range golden[tokens](t, mode.file) {
			if len(texts[i].Text) > mode.limit {
				continue
			}
			checked++
			got := mode.encode(nil, texts[i].Text)
			if !slices.Equal(got, want.IDs) {
				t.Errorf("%s row %d: %d ids, want %d; text starts %.60q", mode.file, i, len(got), len(want.IDs), texts[i].Text)
			}
			if string(v.Decode(got)) != texts[i].Text {
				t.Errorf("%s row %d: decode(encode) changed the text", mode.file, i)
			}
		}
		if checked < 1900 {
			t.Errorf("%s: only %d rows checked", mode.file, checked)
		}
	}
}

func TestDecodeMatchesReference(t *testing.T) {
	v := kimi(t)
	for i, row := range golden[struct {
		IDs   []bpe.ID `json:"ids"`
		Bytes string   `json:"bytes_b64"`
	}](t, "kimi-decode.jsonl.gz") {
		if got := base64.StdEncoding.EncodeToString(v.Decode(row.IDs)); got != row.Bytes {
			t.Errorf("row %d: decoded %s, want %s", i, got, row.Bytes)
		}
	}
}

func TestEncodeFindsCanonicalSplit(t *testing.T) {
	v := kimi(t)
	for i, row := range golden[struct {
		Text      string   `json:"text"`
		IDs       []bpe.ID `json:"ids"`
		Canonical []bpe.ID `json:"canonical"`
	}](t, "kimi-noncanonical.jsonl.gz") {
		if got := v.Encode(nil, row.Text); !slices.Equal(got, row.Canonical) {
			t.Errorf("row %d: %v, want %v", i, got, row.Canonical)
		}
		if got := string(v.Decode(row.IDs)); got != row.Text {
			t.Errorf("row %d: the other split decodes to %q", i, got)
		}
	}
}

// model writes a vocabulary of all bytes and then words.
func model(words ...string) string {
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	for i, w := range words {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(w)), 256+i)
	}
	return b.String()
}

func TestMergeOrder(t *testing.T) {
	v, err := bpe.Read(strings.NewReader(model("ab", "bc", "abc", "aa", " a")))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		text string
		want []bpe.ID
	}{
		{"", nil},
		{"ab", []bpe.ID{256}},
		{"abc", []bpe.ID{258}},
		{"bcab", []bpe.ID{257, 256}},
		{"aaa", []bpe.ID{259, 'a'}}, // leftmost of equals
		{" a a", []bpe.ID{260, 260}},
		{"a  a", []bpe.ID{'a', ' ', 260}},
	} {
		if got := v.Encode(nil, row.text); !slices.Equal(got, row.want) {
			t.Errorf("%q: %v, want %v", row.text, got, row.want)
		}
	}
}

// plainMerge is the definition of merging, slow and without a queue.
func plainMerge(v *bpe.Vocabulary, piece string) []bpe.ID {
	if id, ok := v.Lookup([]byte(piece)); ok {
		return []bpe.ID{id}
	}
	var ids []bpe.ID
	for i := range len(piece) {
		ids = append(ids, bpe.ID(piece[i]))
	}
	for {
		at, best := -1, bpe.ID(0)
		for i := range len(ids) - 1 {
			if id, ok := v.Lookup(v.Decode(ids[i : i+2])); ok && (at < 0 || id < best) {
				at, best = i, id
			}
		}
		if at < 0 {
			return ids
		}
		ids = slices.Replace(ids, at, at+2, best)
	}
}

// FuzzMerge holds the merge against its definition, on words of few letters
// so that many pairs compete.
func FuzzMerge(f *testing.F) {
	v, err := bpe.Read(strings.NewReader(model("ab", "ba", "aa", "bb", "aba", "abab", "bab", "aab", "baa", "bbb", "aaaa", "abba")))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1, 0})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, letters []byte) {
		var word strings.Builder
		for _, b := range letters[:min(len(letters), 300)] {
			word.WriteByte('a' + b%2)
		}
		if word.Len() == 0 {
			return
		}
		got, want := v.Encode(nil, word.String()), plainMerge(v, word.String())
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", word.String(), got, want)
		}
	})
}

func TestSpecialLiterals(t *testing.T) {
	v, err := bpe.Read(strings.NewReader(model()))
	if err != nil {
		t.Fatal(err)
	}
	text := "<a[EOS]<think>[x<|im_end|>"
	want := []bpe.ID{'<', 'a', 257, 278, '[', 'x', 258}
	if got := v.EncodePrompt(nil, text); !slices.Equal(got, want) {
		t.Errorf("prompt: %v, want %v", got, want)
	}
	if got := v.Encode(nil, text); len(got) != len(text) {
		t.Errorf("ordinary text: %d ids, want one a byte", len(got))
	}
	if got := string(v.Decode(want)); got != text {
		t.Errorf("decoded %q", got)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, row := range []struct{ name, file, want string }{
		{"no space", "QQ==\n", "line 1"},
		{"bad base64", "?? 0\n", "line 1"},
		{"id out of turn", "QQ== 1\n", "id 1 where 0 was due"},
		{"twice", "QQ== 0\nQQ== 1\n", "twice"},
		{"bytes missing", "QQ== 0\n", "byte 0x00"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := bpe.Read(strings.NewReader(row.file))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}

func FuzzEncodeKeepsText(f *testing.F) {
	v, err := bpe.Read(strings.NewReader(model("he", "ll", "llo", " w", "é")))
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"hello world", "I'm  here\r\n\r\n x", "漢字 'ſ ⭐️", "\x00\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := string(v.Decode(v.Encode(nil, s))); got != s {
			t.Errorf("%q became %q", s, got)
		}
		if got := string(v.Decode(v.EncodePrompt(nil, s))); got != s {
			t.Errorf("%q became %q", s, got)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	v := kimi(b)
	s := strings.Repeat("The quick brown fox jumps over the lazy dog, 1234 times. 敏捷的棕色狐狸。\n", 100)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	var ids []bpe.ID
	for b.Loop() {
		ids = v.Encode(ids[:0], s)
	}
}
