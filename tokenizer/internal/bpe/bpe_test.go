package bpe_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/bpe"
)

// naive is the definition of byte-pair encoding, done literally.
type naive struct {
	ids   map[string]int32
	rank  map[[2]string]int // nil: the rank of a pair is its token's id
	whole bool
}

func newNaive(v bpe.Vocabulary) *naive {
	n := &naive{ids: make(map[string]int32), whole: v.WholeFirst}
	for id, text := range v.Tokens {
		if text != "" {
			n.ids[text] = int32(id)
		}
	}
	if v.Merges != nil {
		n.rank = make(map[[2]string]int)
		for i, m := range v.Merges {
			pair := [2]string{v.Tokens[m.Left], v.Tokens[m.Right]}
			if _, dup := n.rank[pair]; !dup {
				n.rank[pair] = i
			}
		}
	}
	return n
}

func (n *naive) encode(s string) []int32 {
	if id, ok := n.ids[s]; ok && n.whole {
		return []int32{id}
	}
	parts := strings.Split(s, "")
	parts = parts[:0]
	for i := range len(s) {
		parts = append(parts, s[i:i+1])
	}
	for {
		best, at := 0, -1
		for i := range len(parts) - 1 {
			r, ok := n.pairRank(parts[i], parts[i+1])
			if ok && (at < 0 || r < best) {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
	out := make([]int32, len(parts))
	for i, p := range parts {
		out[i] = n.ids[p]
	}
	return out
}

func (n *naive) pairRank(l, r string) (int, bool) {
	if n.rank == nil {
		id, ok := n.ids[l+r]
		return int(id), ok
	}
	rank, ok := n.rank[[2]string{l, r}]
	return rank, ok
}

// byteTokens returns the 256 single bytes.
func byteTokens() []string {
	out := make([]string, 256)
	for c := range out {
		out[c] = string([]byte{byte(c)})
	}
	return out
}

// train invents a vocabulary the way training would: it merges tokens it
// already has, at random, over a small alphabet so that everything overlaps.
func train(rng *rand.Rand, alphabet string, n int) bpe.Vocabulary {
	v := bpe.Vocabulary{Tokens: byteTokens()}
	seen := make(map[string]bool)
	have := []int32{}
	for _, c := range []byte(alphabet) {
		have = append(have, int32(c))
	}
	for range n {
		l, r := have[rng.IntN(len(have))], have[rng.IntN(len(have))]
		text := v.Tokens[l] + v.Tokens[r]
		if seen[text] || len(text) > 24 {
			continue
		}
		seen[text] = true
		id := int32(len(v.Tokens))
		v.Tokens = append(v.Tokens, text)
		v.Merges = append(v.Merges, bpe.Merge{Left: l, Right: r, Token: id})
		have = append(have, id)
	}
	return v
}

// trainWide is train for characters of three bytes: most become tokens first, as
// in training, and some merges are of parts of characters.
func trainWide(rng *rand.Rand, chars []string, n int) bpe.Vocabulary {
	v := bpe.Vocabulary{Tokens: byteTokens()}
	seen := make(map[string]bool)
	var have []int32
	merge := func(l, r int32) int32 {
		text := v.Tokens[l] + v.Tokens[r]
		if seen[text] || len(text) > 24 {
			return int32(slices.Index(v.Tokens, text))
		}
		seen[text] = true
		v.Tokens = append(v.Tokens, text)
		id := int32(len(v.Tokens) - 1)
		v.Merges = append(v.Merges, bpe.Merge{Left: l, Right: r, Token: id})
		have = append(have, id)
		return id
	}
	for _, c := range chars {
		switch rng.IntN(6) {
		case 0: // no token of its own
			have = append(have, int32(c[0]), int32(c[2]))
		case 1, 2:
			merge(int32(c[0]), merge(int32(c[1]), int32(c[2])))
		default:
			merge(merge(int32(c[0]), int32(c[1])), int32(c[2]))
		}
	}
	for range n {
		if l, r := have[rng.IntN(len(have))], have[rng.IntN(len(have))]; len(v.Tokens[l])%3 == 0 && len(v.Tokens[r])%3 == 0 || rng.IntN(8) == 0 {
			merge(l, r)
		}
	}
	return v
}

func randomText(rng *rand.Rand, alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[rng.IntN(len(alphabet))])
	}
	return b.String()
}

// rounds is n, or fewer for a short run.
func rounds(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}

// TestAgainstDefinition compares the search with literal merging over many
// invented vocabularies, in every way of reading a vocabulary.
func TestAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range rounds(600) {
		alphabet := "abcd"[:1+rng.IntN(4)]
		byRule := train(rng, alphabet, rng.IntN(60))
		byID := bpe.Vocabulary{Tokens: byRule.Tokens, WholeFirst: rng.IntN(2) == 0}
		byRule.WholeFirst = rng.IntN(2) == 0
		for name, v := range map[string]bpe.Vocabulary{"rule": byRule, "id": byID} {
			m, err := bpe.New(v)
			if err != nil {
				t.Fatal(err)
			}
			want, enc := newNaive(v), m.NewEncoder()
			for range 20 {
				s := randomText(rng, alphabet+"x", 1+rng.IntN(40))
				if got, want := enc.Append(nil, s, 0, len(s)), want.encode(s); !slices.Equal(got, want) {
					t.Fatalf("round %d by %s, %q with %q: got %v, want %v", round, name, s, v.Tokens[256:], got, want)
				}
			}
			for id, s := range v.Tokens {
				if got, want := enc.Append(nil, s, 0, len(s)), want.encode(s); !slices.Equal(got, want) {
					t.Fatalf("round %d by %s, token %d %q: got %v, want %v", round, name, id, s, got, want)
				}
			}
		}
	}
}

// TestWideAgainstDefinition is TestAgainstDefinition for text that is cut at its
// seams: Han and kana, with other bytes in between.
func TestWideAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	alphabet := []string{"\u4e00", "\u4e01", "\u4e40", "\u9fff", "\u3042", "\u3000"}
	strays := []string{"\xe4", "\xe4\xb8", "\x80", "a", "\u2fff", "\ua000", "\uff0c"}
	for round := range rounds(300) {
		chars := alphabet[:2+rng.IntN(len(alphabet)-1)]
		byRule := trainWide(rng, chars, rng.IntN(120))
		byID := bpe.Vocabulary{Tokens: byRule.Tokens, WholeFirst: rng.IntN(2) == 0}
		byRule.WholeFirst = rng.IntN(2) == 0
		for name, v := range map[string]bpe.Vocabulary{"rule": byRule, "id": byID} {
			m, err := bpe.New(v)
			if err != nil {
				t.Fatal(err)
			}
			want, enc := newNaive(v), m.NewEncoder()
			check := func(s string) {
				if got, want := enc.Append(nil, s, 0, len(s)), want.encode(s); !slices.Equal(got, want) {
					t.Fatalf("round %d by %s, %q with %q: got %v, want %v", round, name, s, v.Tokens[256:], got, want)
				}
			}
			for range 30 {
				var b strings.Builder
				for range 1 + rng.IntN(20) {
					from := chars
					if rng.IntN(10) == 0 {
						from = strays
					}
					b.WriteString(from[rng.IntN(len(from))])
				}
				check(b.String())
			}
			for _, s := range v.Tokens[256:] {
				check(s)
			}
			if round%10 == 0 { // longer than what is looked at at once
				for range 2 {
					var b strings.Builder
					for range 60 + rng.IntN(10) {
						b.WriteString(chars[rng.IntN(len(chars))])
					}
					check(b.String())
				}
			}
		}
	}
}

// TestDuplicateRules has two or more rules for a token, as vocabularies
// converted from rank files do.
func TestDuplicateRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		v := train(rng, "abc", 40)
		ids := make(map[string]int32)
		for id, text := range v.Tokens {
			ids[text] = int32(id)
		}
		v.Merges = []bpe.Merge{}
		for id := 256; id < len(v.Tokens); id++ {
			text := v.Tokens[id]
			for k := 1; k < len(text); k++ {
				l, ok1 := ids[text[:k]]
				r, ok2 := ids[text[k:]]
				if ok1 && ok2 {
					v.Merges = append(v.Merges, bpe.Merge{Left: l, Right: r, Token: int32(id)})
				}
			}
		}
		m, err := bpe.New(v)
		if err != nil {
			t.Fatal(err)
		}
		want, enc := newNaive(v), m.NewEncoder()
		for range 20 {
			s := randomText(rng, "abc", 1+rng.IntN(30))
			if got, want := enc.Append(nil, s, 0, len(s)), want.encode(s); !slices.Equal(got, want) {
				t.Fatalf("%q with %v: got %v, want %v", s, v.Merges, got, want)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	bytes := byteTokens()
	for _, row := range []struct {
		name string
		v    bpe.Vocabulary
		want string
	}{
		{"missing byte", bpe.Vocabulary{Tokens: bytes[:255]}, "no token for the single byte 0xff: not a byte-level vocabulary"},
		{"duplicate", bpe.Vocabulary{Tokens: append(bytes[:256:256], "ab", "ab")}, `ids 256 and 257 are both token "ab"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := bpe.New(row.v); err == nil || err.Error() != row.want {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

// TestSubstring checks that bytes outside the piece do not matter.
func TestSubstring(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	v := train(rng, "ab", 60)
	m, err := bpe.New(v)
	if err != nil {
		t.Fatal(err)
	}
	enc, alone := m.NewEncoder(), m.NewEncoder()
	s := randomText(rng, "ab", 60)
	for i := range s {
		for end := i + 1; end <= len(s); end++ {
			part := strings.Clone(s[i:end])
			if got, want := enc.Append(nil, s, i, end), alone.Append(nil, part, 0, len(part)); !slices.Equal(got, want) {
				t.Fatalf("s[%d:%d]: got %v, want %v", i, end, got, want)
			}
		}
	}
}

// TestLate has a token made of one whose own merge ranks higher.
func TestLate(t *testing.T) {
	for _, row := range []struct {
		name string
		v    bpe.Vocabulary
	}{
		{"by id", bpe.Vocabulary{Tokens: append(byteTokens(), "abc", "ab", "abcab", "cab")}},
		{"by rule", bpe.Vocabulary{Tokens: append(byteTokens(), "abc", "ab", "xabc"), Merges: []bpe.Merge{
			{Left: 257, Right: 'c', Token: 256}, {Left: 'a', Right: 'b', Token: 257}, {Left: 'x', Right: 256, Token: 258}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, err := bpe.New(row.v)
			if err != nil {
				t.Fatal(err)
			}
			want, enc := newNaive(row.v), m.NewEncoder()
			rng := rand.New(rand.NewPCG(7, 8))
			for range 2000 {
				s := randomText(rng, "abcx", 1+rng.IntN(30))
				if got, want := enc.Append(nil, s, 0, len(s)), want.encode(s); !slices.Equal(got, want) {
					t.Fatalf("%q: got %v, want %v", s, got, want)
				}
			}
		})
	}
}

// TestHighIDs has ids beyond those that the encoder's memory has room for in its
// smallest entries.
func TestHighIDs(t *testing.T) {
	v := bpe.Vocabulary{Tokens: make([]string, 1<<20+100)}
	copy(v.Tokens, byteTokens())
	v.Tokens[1<<20-1], v.Tokens[1<<20], v.Tokens[1<<20+1] = "ab", "cd", "abcd"
	m, err := bpe.New(v)
	if err != nil {
		t.Fatal(err)
	}
	enc := m.NewEncoder()
	for _, row := range []struct {
		text string
		want []int32
	}{{"ab", []int32{1<<20 - 1}}, {"cd", []int32{1 << 20}}, {"abcd", []int32{1<<20 + 1}}, {"cdab", []int32{1 << 20, 1<<20 - 1}}} {
		for range 2 { // the second time from memory
			if got := enc.Append(nil, row.text, 0, len(row.text)); !slices.Equal(got, row.want) {
				t.Errorf("%q: got %v, want %v", row.text, got, row.want)
			}
		}
	}
}

// TestLongPiece would not end if the time were not linear.
func TestLongPiece(t *testing.T) {
	v := bpe.Vocabulary{Tokens: byteTokens()}
	for n := 2; n <= 64; n *= 2 {
		v.Tokens = append(v.Tokens, strings.Repeat("a", n))
	}
	m, err := bpe.New(v)
	if err != nil {
		t.Fatal(err)
	}
	enc := m.NewEncoder()
	s := strings.Repeat("a", 4_000_000) + "b"
	if got := len(enc.Append(nil, s, 0, len(s))); got != 4_000_000/64+1 {
		t.Errorf("got %d tokens", got)
	}
}

func ExampleEncoder_Append() {
	tokens := append(byteTokens(), "lo", "low", "er")
	m, err := bpe.New(bpe.Vocabulary{Tokens: tokens})
	if err != nil {
		panic(err)
	}
	enc := m.NewEncoder()
	for _, id := range enc.Append(nil, "lower", 0, 5) {
		fmt.Printf("%d %s\n", id, tokens[id])
	}
	// Output:
	// 257 low
	// 258 er
}
