package nfc

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNormalize(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"ascii", "plain", "plain"},
		{"already composed", "é漢한", "é漢한"},
		{"composes", "e\u0301", "é"},
		{"composes twice", "a\u0302\u0301", "ấ"},
		{"reorders", "a\u0301\u0323", "ạ\u0301"},
		{"blocked", "a\u0300\u0301", "à\u0301"},
		{"only marks", "\u0301\u0323", "\u0323\u0301"},
		{"singleton", "\u212bngstrom \u2126", "Ångstrom Ω"},
		{"excluded from composition", "\u0958", "\u0915\u093c"},
		{"two starters", "\u09c7\u09be", "\u09cb"},
		{"jamo", "\u1112\u1161\u11ab", "한"},
		{"syllable and tail", "하\u11ab", "한"},
		{"compatibility ideograph", "\uf900", "豈"},
		{"destroys a bracket", ">\u0338", "≯"},
		{"later than 9.0", "a\u0323\u08ca\u0301", "ạ\u08ca\u0301"},
		{"no UTF-8", "\xffe\u0301\xe4", "\xffé\xe4"},
		{"no UTF-8 before a mark", "\xe4\u0301", "\xe4\u0301"},
	} {
		if got := Normalize(row.in); got != row.want {
			t.Errorf("%s: %+q: got %+q, want %+q", row.name, row.in, got, row.want)
		}
	}
}

// TestSegments checks that normalizing piece by piece, as Normalize does, is
// the same as all at once, and that doing it again changes nothing.
func TestSegments(t *testing.T) {
	d := tables()
	alphabet := slices.Sorted(maps.Keys(d.mapping))
	alphabet = slices.AppendSeq(alphabet, maps.Keys(d.class))
	slices.Sort(alphabet)
	rng := rand.New(rand.NewPCG(1, 1))
	common := []rune("aeouAEI >=q한하ᄒ\u1161\u11a8\u0301\u0323\u0338\u0345é")
	for range 20000 {
		var in []rune
		for range 1 + rng.IntN(12) {
			if rng.IntN(2) == 0 {
				in = append(in, common[rng.IntN(len(common))])
			} else {
				in = append(in, alphabet[rng.IntN(len(alphabet))])
			}
		}
		got, want := Normalize(string(in)), string(d.segment(nil, string(in)))
		if got != want {
			t.Fatalf("%+q: got %+q, want %+q", string(in), got, want)
		}
		if again := Normalize(got); again != got {
			t.Fatalf("%+q: %+q became %+q", string(in), got, again)
		}
	}
}

func BenchmarkNormalizeSteady(b *testing.B) {
	text := ""
	for range 100 {
		text += "Plain text, naïve café, 中文 without marks. "
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Normalize(text)
	}
}
