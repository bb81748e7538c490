package tokenizer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie/tokenizer"
)

func ExampleTokenizer() {
	// In earnest: tokenizer.Load("path/to/model").
	tok, err := tokenizer.LoadFS(kimiFiles("he", "ll", "hell", "hello", " w", "or", "ld", " wor", " world"))
	if err != nil {
		panic(err)
	}
	ids := tok.EncodeSpecial(nil, "hello world<|im_end|>")
	for piece, err := range tok.Pieces(ids) {
		if err != nil {
			panic(err)
		}
		text, _ := tok.Token(piece.ID)
		fmt.Printf("%3d %2d-%2d %q\n", piece.ID, piece.Start, piece.End, text)
	}
	// Output:
	// 259  0- 5 "hello"
	// 264  5-11 " world"
	// 267 11-21 "<|im_end|>"
}

func TestEncode(t *testing.T) {
	tok := smallKimi(t)
	for _, row := range []struct {
		text              string
		ordinary, special []int32
	}{
		{"", nil, nil},
		{"hello", []int32{259}, []int32{259}},
		{"hello world", []int32{259, 264}, []int32{259, 264}},
		{"hellold", []int32{259, 262}, []int32{259, 262}},
		{"漢", []int32{267, 0xa2}, []int32{267, 0xa2}},
		{"xxxxx", []int32{266, 'x'}, []int32{266, 'x'}},
		{"he[EOS]he", []int32{256, '[', 'E', 'O', 'S', ']', 256}, []int32{256, 269, 256}},
		{"[EOS", []int32{'[', 'E', 'O', 'S'}, []int32{'[', 'E', 'O', 'S'}},
		{"[EOS][EOS]", []int32{'[', 'E', 'O', 'S', ']', '[', 'E', 'O', 'S', ']'}, []int32{269, 269}},
		{"<think>", []int32{'<', 't', 'h', 'i', 'n', 'k', '>'}, []int32{290}},
		{"<|reserved_token_273|>he", nil, []int32{273, 256}},
		{"\xff\xe6", []int32{0xff, 0xe6}, []int32{0xff, 0xe6}},
	} {
		if got := tok.Encode(nil, row.text); row.ordinary != nil && !slices.Equal(got, row.ordinary) {
			t.Errorf("Encode(%q): got %v, want %v", row.text, got, row.ordinary)
		}
		if got := tok.EncodeSpecial(nil, row.text); !slices.Equal(got, row.special) {
			t.Errorf("EncodeSpecial(%q): got %v, want %v", row.text, got, row.special)
		}
	}
	if got := tok.Encode([]int32{7}, "he"); !slices.Equal(got, []int32{7, 256}) {
		t.Errorf("Encode does not append: %v", got)
	}
}

func TestVocabulary(t *testing.T) {
	tok := smallKimi(t)
	if got := tok.VocabSize(); got != 268+256 {
		t.Errorf("VocabSize: %d", got)
	}
	if got := tok.Family(); got != "kimi" {
		t.Errorf("Family: %q", got)
	}
	for _, row := range []struct {
		id              int32
		text            string
		ok              bool
		special, hidden bool
	}{
		{0, "\x00", true, false, false},
		{259, "hello", true, false, false},
		{267, "\xe6\xbc", true, false, false},
		{268, "[BOS]", true, true, true},
		{290, "<think>", true, true, false},
		{273, "<|reserved_token_273|>", true, true, false},
		{523, "[PAD]", true, true, true},
		{524, "", false, false, false},
		{-1, "", false, false, false},
	} {
		text, ok := tok.Token(row.id)
		if string(text) != row.text || ok != row.ok {
			t.Errorf("Token(%d): %q, %t", row.id, text, ok)
		}
		if got := tok.IsSpecial(row.id); got != row.special {
			t.Errorf("IsSpecial(%d): %t", row.id, got)
		}
		if got := tok.Hidden(row.id); got != row.hidden {
			t.Errorf("Hidden(%d): %t", row.id, got)
		}
		if id, ok := tok.Special(row.text); ok != row.special || ok && id != row.id {
			t.Errorf("Special(%q): %d, %t", row.text, id, ok)
		}
		if id, ok := tok.Lookup([]byte(row.text)); ok != row.ok || ok && id != row.id {
			t.Errorf("Lookup(%q): %d, %t", row.text, id, ok)
		}
	}
}

func TestDecodeUnknown(t *testing.T) {
	tok := smallKimi(t)
	const want = "tokenizer: index 1: id 900 has no token in this vocabulary of 524 ids"
	ids := []int32{259, 900}
	if _, err := tok.Decode(nil, ids); err == nil || err.Error() != want {
		t.Errorf("Decode: %v", err)
	}
	if _, err := tok.DecodeString(ids); err == nil || err.Error() != want {
		t.Errorf("DecodeString: %v", err)
	}
	d := tok.NewDecoder()
	if text, err := d.Add(259); text != "hello" || err != nil {
		t.Errorf("Add: %q, %v", text, err)
	}
	if _, err := d.Add(900); err == nil || err.Error() != want {
		t.Errorf("Add: %v", err)
	}
	var last error
	for _, err := range tok.Pieces(ids) {
		last = err
	}
	if last == nil || last.Error() != want {
		t.Errorf("Pieces: %v", last)
	}
}

// TestDecodeString has one replacement character for each maximal ill-formed
// part.
func TestDecodeString(t *testing.T) {
	tok := smallKimi(t)
	for in, want := range map[string]string{
		"\xe6\xbc":             "\ufffd",
		"\xe6\xbc\xe6\xbc\xa2": "\ufffd漢",
		"\xff\xfe":             "\ufffd\ufffd",
		"\xf0\x9f\x98":         "\ufffd",
		"\xf0\x9f\x98x":        "\ufffdx",
		"\xf0\x80\x80":         "\ufffd\ufffd\ufffd",
		"\xed\xa0\x80":         "\ufffd\ufffd\ufffd",
		"\xe0\x80a":            "\ufffd\ufffda",
		"\xf4\x90\x80\x80":     "\ufffd\ufffd\ufffd\ufffd",
		"\xf4\x8f\xbf":         "\ufffd",
		"\xc2":                 "\ufffd",
		"\xc0\x80":             "\ufffd\ufffd",
		"a\ufffdb":             "a\ufffdb",
	} {
		got, err := tok.DecodeString(tok.Encode(nil, in))
		if err != nil || got != want {
			t.Errorf("%+q: got %+q, %v, want %+q", in, got, err, want)
		}
	}
}

// FuzzDecoder checks that decoding id by id gives the text of all ids at once,
// and nothing but whole characters.
func FuzzDecoder(f *testing.F) {
	for _, s := range []string{"", "hello", "\xe6\xbc", "\xf0\x9f\x98\x80", "\xf0\x9f\xe6\xbc\xa2\xff", "\xe0\x80", "\xed\xa0\x80\xf4\x90"} {
		f.Add([]byte(s))
	}
	tok := smallKimi(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		ids := make([]int32, len(data))
		for i, b := range data {
			ids[i] = int32(b)
		}
		want, err := tok.DecodeString(ids)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		d := tok.NewDecoder()
		for _, id := range ids {
			text, err := d.Add(id)
			if err != nil {
				t.Fatal(err)
			}
			if !utf8.ValidString(text) {
				t.Fatalf("%+q: Add returned %+q", data, text)
			}
			got.WriteString(text)
		}
		got.WriteString(d.Flush())
		if got.String() != want {
			t.Fatalf("%+q: got %+q, want %+q", data, got.String(), want)
		}
		if rest := d.Flush(); rest != "" {
			t.Fatalf("second Flush: %q", rest)
		}
	})
}

// checkRoundTrip checks that ids decode to text and that their places cover it.
func checkRoundTrip(t *testing.T, tok *tokenizer.Tokenizer, text string) {
	t.Helper()
	for _, encode := range []func([]int32, string) []int32{tok.Encode, tok.EncodeSpecial} {
		ids := encode(nil, text)
		back, err := tok.Decode(nil, ids)
		if err != nil || string(back) != text {
			t.Fatalf("%.200q became %.200q, %v", text, back, err)
		}
		at := 0
		for piece, err := range tok.Pieces(ids) {
			if err != nil || piece.Start != at || piece.End <= at {
				t.Fatalf("%.200q: piece %v at %d, %v", text, piece, at, err)
			}
			at = piece.End
		}
		if at != len(text) {
			t.Fatalf("%.200q: pieces end at %d of %d", text, at, len(text))
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{"", "hello world", "漢字かな", "a\u0301 \r\n\r\n x", "<|im_end|>[EOS]<think>", "\xff\xfe\xe6\xbc", "I'm 12345 '\u017f"} {
		f.Add(s)
	}
	small := smallKimi(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, mode := range []tokenizer.ChunkMode{tokenizer.ChunkKimiHF, tokenizer.ChunkKimi, tokenizer.ChunkKimiNone} {
			checkRoundTrip(t, small.WithChunks(mode), text)
		}
	})
}

// TestChunks has texts at the limits of the cuts. Two x are a token, so a cut
// between them shows.
func TestChunks(t *testing.T) {
	tok := smallKimi(t)
	run := func(n int) string { return strings.Repeat("x", n) }
	// ids counts the tokens of runs that are encoded on their own.
	ids := func(runs ...int) int {
		n := 0
		for _, r := range runs {
			n += r/4 + r%4/2 + r%2
		}
		return n
	}
	words := strings.Repeat("xxx ", 100_000) // 400,000 characters; " xxx" is three tokens
	for _, row := range []struct {
		name              string
		text              string
		none, kimi, viaHF int
	}{
		{"at the limit", run(25_000), ids(25_000), ids(25_000), ids(25_000)},
		{"one more", run(25_001), ids(25_001), ids(25_000, 1), ids(25_000, 1)},
		{"two cuts", run(50_003), ids(50_003), ids(25_000, 25_000, 3), ids(25_000, 25_000, 3)},
		{"two classes", run(25_000) + " " + run(3), ids(25_000) + 1 + 2, ids(25_000) + 1 + 2, ids(25_000) + 1 + 2},
		{"counted from the literal", run(24_000) + "[EOS]" + run(1_001), ids(24_000, 1_001) + 1, ids(24_000, 995, 6) + 1, ids(24_000, 1_001) + 1},
		{"literal cut in two", run(24_998) + "[EOS]", ids(24_998) + 1, ids(24_998) + 5, ids(24_998) + 1},
		{"400,000 characters", " " + words[:399_999] + "x", 299_999, 300_001, 300_001},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, mode := range []struct {
				mode tokenizer.ChunkMode
				want int
			}{{tokenizer.ChunkKimiNone, row.none}, {tokenizer.ChunkKimi, row.kimi}, {tokenizer.ChunkKimiHF, row.viaHF}} {
				got := tok.WithChunks(mode.mode).EncodeSpecial(nil, row.text)
				if len(got) != mode.want {
					t.Errorf("%s: %d ids, want %d", mode.mode, len(got), mode.want)
				}
			}
		})
	}
}

func TestChunkModeNames(t *testing.T) {
	for _, m := range []tokenizer.ChunkMode{tokenizer.ChunkKimiHF, tokenizer.ChunkKimi, tokenizer.ChunkKimiNone} {
		if got, err := tokenizer.ParseChunkMode(m.String()); got != m || err != nil {
			t.Errorf("%s: got %v, %v", m, got, err)
		}
	}
	const want = `tokenizer: chunk mode "none": want kimi-hf, kimi or kimi-nochunk`
	if _, err := tokenizer.ParseChunkMode("none"); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestDigest(t *testing.T) {
	load := func(fsys fstest.MapFS) string {
		t.Helper()
		tok, err := tokenizer.LoadFS(fsys)
		if err != nil {
			t.Fatal(err)
		}
		return tok.Digest()
	}
	seen := map[string]string{}
	for name, fsys := range map[string]fstest.MapFS{
		"one":    kimiFiles("ab"),
		"two":    kimiFiles("ab", "cd"),
		"config": {"tiktoken.model": {Data: tiktokenFile("ab")}, "tokenizer_config.json": {Data: []byte(`{"added_tokens_decoder":{"257":{"content":"<s>"}}}`)}},
		"json":   {"tokenizer.json": {Data: hfFile(t, nil)}},
	} {
		d := load(fsys)
		if len(d) != 64 || d != load(fsys) {
			t.Errorf("%s: digest %q is not stable", name, d)
		}
		if other, dup := seen[d]; dup {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[d] = name
	}
	tok := smallKimi(t)
	if tok.Digest() == tok.WithChunks(tokenizer.ChunkKimi).Digest() {
		t.Error("the digest does not depend on the chunk mode")
	}
}

// TestAllocations checks that nothing is allocated for single tokens.
func TestAllocations(t *testing.T) {
	tok := smallKimi(t)
	text := strings.Repeat("hello world, 漢字 xxxxxxx hellold worldor\n", 500)
	ids := tok.Encode(nil, text)
	allocs := testing.AllocsPerRun(20, func() { ids = tok.Encode(ids[:0], text) })
	if allocs > 5 {
		t.Errorf("%.0f allocations for %d ids", allocs, len(ids))
	}
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	tok := smallKimi(t)
	text := strings.Repeat("hello world, 漢字 xxxxxxx hellold worldor\n", 50)
	want := tok.EncodeSpecial(nil, text)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if got := tok.EncodeSpecial(nil, text); !slices.Equal(got, want) {
					t.Error("ids differ between goroutines")
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestKimiTokens encodes each of Kimi's tokens. All but two, which the split
// pattern cuts, come back as themselves.
func TestKimiTokens(t *testing.T) {
	tok := loadKimi(t)
	var others []int32
	for id := range int32(tok.VocabSize()) {
		text, ok := tok.Token(id)
		if !ok {
			t.Fatalf("no token %d", id)
		}
		if got := tok.EncodeSpecial(nil, string(text)); utf8.Valid(text) && (len(got) != 1 || got[0] != id) {
			others = append(others, id)
		}
	}
	if want := []int32{4154, 139611}; !slices.Equal(others, want) {
		t.Errorf("tokens %v do not encode to themselves, want %v", others, want)
	}
}

// TestKimiLongPiece would take hours if the time were quadratic.
func TestKimiLongPiece(t *testing.T) {
	tok := loadKimi(t).WithChunks(tokenizer.ChunkKimiNone)
	for _, unit := range []string{"a", "的", " ", "=", "ab"} {
		checkRoundTrip(t, tok, strings.Repeat(unit, 1_000_000))
	}
}

// TestKimiRoundTrip encodes random mixtures of tokens and broken characters.
func TestKimiRoundTrip(t *testing.T) {
	tok := loadKimi(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var b strings.Builder
		for range 1 + rng.IntN(30) {
			text, _ := tok.Token(rng.Int32N(int32(tok.VocabSize())))
			b.Write(text[rng.IntN(len(text)):])
		}
		checkRoundTrip(t, tok, b.String())
	}
}
