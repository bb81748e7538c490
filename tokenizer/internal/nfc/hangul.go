package nfc

// Hangul syllables are composed by arithmetic: a syllable is a lead consonant,
// a vowel and perhaps a tail consonant, and lies at a place counted from the
// numbers of the three.
const (
	syllables = 0xac00
	leads     = 0x1100
	vowels    = 0x1161
	tails     = 0x11a7 // one before the first, so that 0 is no tail

	numLeads  = 19
	numVowels = 21
	numTails  = 28
)

// isVowelOrTail reports whether r may join the character before it.
func isVowelOrTail(r rune) bool {
	return r >= vowels && r < vowels+numVowels || r > tails && r < tails+numTails
}

// decomposeHangul appends the parts of a syllable, or r if it is none.
func decomposeHangul(dst []rune, r rune) []rune {
	n := r - syllables
	if n < 0 || n >= numLeads*numVowels*numTails {
		return append(dst, r)
	}
	dst = append(dst, leads+n/(numVowels*numTails), vowels+n/numTails%numVowels)
	if n%numTails != 0 {
		dst = append(dst, tails+n%numTails)
	}
	return dst
}

// composeHangul joins a lead and a vowel, or such a syllable and a tail.
func composeHangul(a, b rune) (rune, bool) {
	if l, v := a-leads, b-vowels; l >= 0 && l < numLeads && v >= 0 && v < numVowels {
		return syllables + (l*numVowels+v)*numTails, true
	}
	if s, t := a-syllables, b-tails; s >= 0 && s < numLeads*numVowels*numTails && s%numTails == 0 && t > 0 && t < numTails {
		return a + t, true
	}
	return 0, false
}
