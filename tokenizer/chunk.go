package tokenizer

import (
	"fmt"
	"unicode/utf8"
)

// ChunkMode says where over-long text is cut before it is tokenized.
//
// Kimi's published tokenizer cuts its input every 400,000 characters, and
// inside each such slice wherever a run of characters that are all white
// space, or all not, would grow past 25,000. The cuts change ids: no token and
// no special literal spans one. Only inputs such as base 64 blobs, minified
// code or Chinese without spaces are long enough to notice. What exactly is
// counted depends on the program that runs the tokenizer, hence the modes;
// they are the same for all shorter inputs. Other vocabularies have no cuts.
type ChunkMode uint8

const (
	// ChunkKimiHF is the default: the text is first cut at the added tokens
	// named by tokenizer_config.json, and the counters start anew in each
	// part. This is what transformers' encode with keyword arguments and
	// apply_chat_template do, and with them vLLM and SGLang.
	// [Tokenizer.Encode], which knows no literals, counts as ChunkKimi does.
	ChunkKimiHF ChunkMode = iota
	// ChunkKimi counts over the whole text, as the tokenizer's plain encode
	// method does.
	ChunkKimi
	// ChunkKimiNone never cuts, as llama.cpp and other ports.
	ChunkKimiNone
)

var chunkNames = [...]string{"kimi-hf", "kimi", "kimi-nochunk"}

// String returns "kimi-hf", "kimi" or "kimi-nochunk".
func (m ChunkMode) String() string {
	if int(m) < len(chunkNames) {
		return chunkNames[m]
	}
	return fmt.Sprintf("ChunkMode(%d)", m)
}

// ParseChunkMode is the inverse of [ChunkMode.String].
func ParseChunkMode(name string) (ChunkMode, error) {
	for i, n := range chunkNames {
		if n == name {
			return ChunkMode(i), nil
		}
	}
	return 0, fmt.Errorf("tokenizer: chunk mode %q: want kimi-hf, kimi or kimi-nochunk", name)
}

// The limits of Kimi's wrapper, in characters.
const (
	maxChunk = 400_000
	maxRun   = 25_000
)

// mayCut reports whether text is long enough, or monotonous enough, to be cut.
// It costs next to nothing, and the answer is nearly always no.
//
// A run that is too long covers at least one of the blocks whose borders are
// multiples of half the limit. So each block is read until it has a character
// of either class, which usually takes a word.
func mayCut(text string) bool {
	if len(text) > maxChunk {
		return true
	}
	const block = maxRun / 2
	for start := 0; start+block <= len(text); start += block {
		if uniform(text, start, start+block) {
			return true
		}
	}
	return false
}

// uniform reports whether all characters that begin in text[i:end] are white
// space or none is.
func uniform(text string, i, end int) bool {
	for i < end && !utf8.RuneStart(text[i]) {
		i++
	}
	if i == end {
		return true
	}
	first, _ := pythonSpace(text, i)
	for i < end {
		blank, w := pythonSpace(text, i)
		if blank != first {
			return false
		}
		i += w
	}
	return true
}

// chunker counts the characters of one text. The zero value is ready for a
// text's start.
type chunker struct {
	total int  // characters since the last cut at maxChunk
	run   int  // characters of the current run since the last cut
	blank bool // whether the run is white space
}

// next returns the end of the chunk that starts at byte i of s. The counters
// carry on from one chunk of a text to the next.
func (c *chunker) next(s string, i int) int {
	for i < len(s) {
		blank, w := pythonSpace(s, i)
		switch {
		case c.total == maxChunk:
			*c = chunker{}
			return i
		case c.run == 0 || blank != c.blank:
			c.run, c.blank = 1, blank
		case c.run == maxRun:
			c.run = 0
			return i
		default:
			c.run++
		}
		c.total++
		i += w
	}
	return len(s)
}

// pythonSpace reports whether the character at s[i] is white space to Python's
// str.isspace, which is White_Space with U+001C to U+001F, and its width.
func pythonSpace(s string, i int) (bool, int) {
	b := s[i]
	if b < utf8.RuneSelf {
		return b == ' ' || b-'\t' <= '\r'-'\t' || b-0x1c <= 0x1f-0x1c, 1
	}
	r, w := utf8.DecodeRuneInString(s[i:])
	return kinds().At(r)&space != 0, w
}
