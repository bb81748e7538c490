// Package shingle compares texts by the runs of words they have in common.
//
// A text becomes words: runs of letters and digits in lower case, where every
// Chinese, Japanese or Korean character is a word of its own, for those scripts
// put no space between words. A shingle is a run of so many words.
//
// An [Index] finds texts that are nearly alike. How alike two texts are is the
// share of their shingles that both have (the Jaccard index). It is estimated by
// MinHash: of [Hashes] hash functions each keeps the least value it gives a
// shingle of the text, and two texts agree in as large a share of these as of
// their shingles, give or take one part in twenty. Candidates are found by
// locality-sensitive hashing: the values are cut into [Bands] bands of [Rows],
// and texts that agree in a whole band are compared. Two texts that are alike
// by 0.8 are compared with a probability of 0.99, by 0.9 of 0.9999, by 0.5 of
// 0.32. A text in the index takes about 400 bytes.
//
// A [Set] holds the runs of words of some texts and finds others that contain
// one.
package shingle

import (
	"math"
	"unicode"
	"unicode/utf8"
)

// The parameters of the index.
const (
	Size   = 3 // words of a shingle
	Bands  = 12
	Rows   = 5
	Hashes = Bands * Rows
)

// words hashes the words of a text.
func words(dst []uint64, text string) []uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h, in := uint64(offset), false
	flush := func() {
		if in {
			dst = append(dst, mix(h))
			h, in = offset, false
		}
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c >= 'A' && c <= 'Z':
				c += 'a' - 'A'
				fallthrough
			case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
				h, in = (h^uint64(c))*prime, true
			default:
				flush()
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case wordless(r):
			flush()
			h, in = (h^uint64(r))*prime, true
			flush()
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r):
			h, in = (h^uint64(unicode.ToLower(r)))*prime, true
		default:
			flush()
		}
	}
	flush()
	return dst
}

// wordless reports whether a character belongs to a script that puts no space
// between words.
func wordless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// mix spreads the bits of a hash.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// run hashes a run of words. Their number counts, and their order.
func run(words []uint64) uint64 {
	h := uint64(len(words))
	for _, w := range words {
		h = mix(h*31 + w)
	}
	return h
}

// signature is what MinHash keeps of a text: the least values, of which the
// low bits are enough to tell agreement.
type signature [Hashes]uint32

// sign makes the signature of words. A text of fewer words than a shingle has
// is one shingle.
func sign(words []uint64) (s signature) {
	var least [Hashes]uint64
	for i := range least {
		least[i] = math.MaxUint64
	}
	for start := 0; start == 0 || start+Size <= len(words); start++ {
		h := run(words[start:min(start+Size, len(words))])
		// Two hashes give as many as are wanted: h1 + i*h2.
		step := mix(h) | 1
		for i := range least {
			h += step
			if v := mix(h); v < least[i] {
				least[i] = v
			}
		}
	}
	for i, v := range least {
		s[i] = uint32(v)
	}
	return s
}

// Index holds texts and finds those that are nearly alike. It is the same in
// every process: what it answers depends on the texts and their order alone.
type Index struct {
	least float64
	texts []signature
	bands [Bands]map[uint32]int32 // the latest text of each band's value
	words []uint64
}

// NewIndex returns an empty index in which texts are nearly alike from the
// given share of common shingles on.
func NewIndex(least float64) *Index {
	x := &Index{least: least}
	for i := range x.bands {
		x.bands[i] = map[uint32]int32{}
	}
	return x
}

// Add looks for a text that is nearly alike, and returns its number and how
// alike it is. Where there is none the text is added and gets the next number.
func (x *Index) Add(text string) (like int, share float64, found bool) {
	x.words = words(x.words[:0], text)
	if len(x.words) == 0 {
		return 0, 0, false
	}
	s := sign(x.words)
	var keys [Bands]uint32
	for b := range x.bands {
		keys[b] = s.band(b)
		if i, ok := x.bands[b][keys[b]]; ok {
			if share := s.agreement(&x.texts[i]); share >= x.least {
				return int(i), share, true
			}
		}
	}
	n := int32(len(x.texts))
	x.texts = append(x.texts, s)
	for b, key := range keys {
		x.bands[b][key] = n
	}
	return int(n), 0, false
}

// band hashes one band of a signature.
func (s *signature) band(b int) uint32 {
	h := uint64(b)
	for _, v := range s[b*Rows : (b+1)*Rows] {
		h = mix(h ^ uint64(v))
	}
	return uint32(h >> 32)
}

// agreement estimates how alike two texts are.
func (s *signature) agreement(t *signature) float64 {
	n := 0
	for i := range s {
		if s[i] == t[i] {
			n++
		}
	}
	return float64(n) / Hashes
}

// Set holds the runs of words of texts.
type Set struct {
	size  int
	runs  map[uint64]int32
	sizes [64]bool // the sizes of texts shorter than a run
	whole map[uint64]int32
	words []uint64
}

// MinRun is the fewest words of a text that is looked for inside others. A
// shorter one is found only where it is all there is.
const MinRun = 6

// NewSet returns an empty set of runs of so many words.
func NewSet(size int) *Set {
	return &Set{size: min(max(size, MinRun), 63), runs: map[uint64]int32{}, whole: map[uint64]int32{}}
}

// Len counts the runs.
func (s *Set) Len() int { return len(s.runs) + len(s.whole) }

// Add adds a text under a number.
func (s *Set) Add(text string, number int) {
	s.words = words(s.words[:0], text)
	n := len(s.words)
	switch {
	case n == 0:
	case n < MinRun:
		put(s.whole, run(s.words), number)
	case n < s.size:
		s.sizes[n] = true
		put(s.runs, run(s.words), number)
	default:
		for i := range n - s.size + 1 {
			put(s.runs, run(s.words[i:i+s.size]), number)
		}
	}
}

// put keeps the first number of a run.
func put(m map[uint64]int32, key uint64, number int) {
	if _, ok := m[key]; !ok {
		m[key] = int32(number)
	}
}

// Find returns the number of a text that has a run in common with this one.
func (s *Set) Find(text string) (number int, found bool) {
	s.words = words(s.words[:0], text)
	n := len(s.words)
	if n > 0 && n < MinRun {
		i, ok := s.whole[run(s.words)]
		return int(i), ok
	}
	for size := MinRun; size <= min(s.size, n); size++ {
		if size < s.size && !s.sizes[size] {
			continue
		}
		for i := range n - size + 1 {
			if number, ok := s.runs[run(s.words[i:i+size])]; ok {
				return int(number), true
			}
		}
	}
	return 0, false
}
