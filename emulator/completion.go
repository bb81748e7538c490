package emulator

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
	"github.com/eyrie-ai/eyrie/emulator/internal/kimi"
)

// completion is what the model wrote, as token ids, with the part that each id
// belongs to. The text that a client sees is read off the ids and never made
// any other way.
type completion struct {
	ids       []bpe.ID
	parts     []part // as long as ids
	ended     bool   // with <|im_end|>, not by a limit
	canonical bool   // every text between control tokens is split as the encoder would
	calls     []toolName
	stopped   bool // by a stop string
	unsaid    int  // bytes at the end that the stop string hides
}

// toolName is the id and function of a tool call.
type toolName struct{ id, function string }

// part says what an id is for.
type part uint8

const (
	control   part = iota // a control token, no text
	reasoning             // text before </think>
	content               // text after it
	callID                // id of a tool call
	arguments             // its arguments
)

// order is what a completion is asked to be.
type order struct {
	thinking   bool
	limit      int // of tokens; 0: none
	tools      []tool
	forceTool  string // "" as the model likes, "*" some tool, else its name; "-" none
	firstCall  int    // number of calls earlier in the conversation
	parallel   bool
	schema     *kimi.Value // of a structured answer; nil for free text
	vocabulary *bpe.Vocabulary
	text       Text
}

// complete writes a completion. Everything in it comes from rng.
func complete(o order, rng *rand.Rand) *completion {
	w := &writer{order: o, composer: composer{rng}, c: &completion{canonical: true, ended: true}}
	w.write()
	w.respell()
	w.c.truncate(o.limit, o.vocabulary)
	return w.c
}

// writer builds a completion part by part.
type writer struct {
	order
	composer
	c      *completion
	budget int // JSON values that the tool call being written may still hold
}

func (w *writer) write() {
	target := w.length()
	calling := w.callsTool()
	answer, open := target, false
	if w.thinking {
		thought := int(float64(target) * w.text.ReasoningShare)
		answer = target - thought
		w.put(reasoning, w.compose(max(thought, 1), w.musing)+w.gap())
		if open = calling && w.Float64() < w.text.SkipThinkEnd; !open {
			w.mark(w.vocabulary.EndThink())
		}
	}
	switch {
	case !calling && w.schema != nil:
		w.put(content, w.structured(*w.schema))
	case !calling:
		w.put(content, w.compose(max(answer, 1), w.paragraph))
	case w.IntN(2) == 0 && !open: // half of the tool turns say something first
		w.put(content, w.sentence()+w.gap())
	}
	if calling {
		w.callTools()
	}
	w.mark(w.vocabulary.EndTurn())
}

// length draws the number of tokens to aim at.
func (w *writer) length() int {
	n := float64(w.text.MedianTokens) * math.Exp(w.text.Sigma*w.NormFloat64())
	return int(min(max(n, 8), 400_000))
}

// compose joins blocks until there are about so many tokens.
func (w *writer) compose(tokens int, block func() string) string {
	var b strings.Builder
	var scratch []bpe.ID
	for n := 0; n < tokens; {
		if n > 0 {
			b.WriteString("\n\n")
		}
		text := block()
		scratch = w.vocabulary.Encode(scratch[:0], text)
		n += len(scratch) + 1
		b.WriteString(text)
	}
	return b.String()
}

// gap is the white space that some turns leave before a marker.
func (w *writer) gap() string {
	if w.Float64() >= w.text.TrailingSpace {
		return ""
	}
	return pick(w.composer, []string{"\n", " ", "\n\n"})
}

func (w *writer) put(p part, text string) {
	before := len(w.c.ids)
	w.c.ids = w.vocabulary.Encode(w.c.ids, text)
	for range len(w.c.ids) - before {
		w.c.parts = append(w.c.parts, p)
	}
}

func (w *writer) mark(id bpe.ID) {
	w.c.ids = append(w.c.ids, id)
	w.c.parts = append(w.c.parts, control)
}

// truncate cuts the completion at a limit of tokens, as an engine does: in the
// middle of whatever it is at. What is left may split in a way that the
// encoder, not knowing the rest, would not choose.
func (c *completion) truncate(limit int, v *bpe.Vocabulary) {
	if limit <= 0 || len(c.ids) <= limit {
		return
	}
	c.ids, c.parts, c.ended = c.ids[:limit], c.parts[:limit], false
	c.canonical = c.isCanonical(v)
}

// stopAt ends the completion where its answer first contains one of the
// strings. The token that completes the string is generated and paid for; the
// string itself is not sent.
func (c *completion) stopAt(stops []string, v *bpe.Vocabulary) {
	var said []byte
	for i, id := range c.ids {
		if c.parts[i] != content {
			continue
		}
		said = append(said, v.Token(id)...)
		for _, stop := range stops {
			if at := bytes.Index(said, []byte(stop)); stop != "" && at >= 0 {
				c.ids, c.parts, c.ended, c.stopped = c.ids[:i+1], c.parts[:i+1], false, true
				c.unsaid = len(said) - at
				c.canonical = c.isCanonical(v)
				return
			}
		}
	}
}

// isCanonical reports whether every text between control tokens is split as
// the encoder splits it.
func (c *completion) isCanonical(v *bpe.Vocabulary) bool {
	for begin := 0; begin < len(c.ids); {
		end := begin + 1
		for end < len(c.ids) && c.parts[end] == c.parts[begin] && c.parts[begin] != control {
			end++
		}
		text := c.ids[begin:end]
		if c.parts[begin] != control && !slices.Equal(v.Encode(nil, string(v.Decode(text))), text) {
			return false
		}
		begin = end
	}
	return true
}

// reasoningTokens counts the ids up to and including </think>, all of them when
// it never came: the count that inference engines report.
func (c *completion) reasoningTokens(v *bpe.Vocabulary, thinking bool) int {
	if !thinking {
		return 0
	}
	if i := slices.Index(c.ids, v.EndThink()); i >= 0 {
		return i + 1
	}
	if i := slices.Index(c.ids, v.Tools().SectionBegin); i >= 0 {
		return i
	}
	return len(c.ids)
}

// finish is the reason for which the completion ended.
func (c *completion) finish() string {
	switch {
	case c.stopped:
		return "stop"
	case !c.ended:
		return "length"
	case len(c.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// respell gives a share of completions another split of the same bytes in a
// few places, as a sampling model does now and then.
func (w *writer) respell() {
	if w.Float64() >= w.text.NonCanonical {
		return
	}
	for range 1 + w.IntN(3) {
		w.respellOne()
	}
	w.c.canonical = w.c.isCanonical(w.vocabulary)
}

// respellOne finds a place, starting anywhere, where one token splits in two
// or where the border between two tokens can move. The latter keeps the count.
func (w *writer) respellOne() {
	n := len(w.c.ids)
	sameLength := w.IntN(3) == 0
	start := w.IntN(n)
	for k := range n {
		i := (start + k) % n
		if w.c.parts[i] == control {
			continue
		}
		if sameLength && i+1 < n && w.c.parts[i+1] == w.c.parts[i] && w.moveBorder(i) {
			return
		}
		if !sameLength && w.splitToken(i) {
			return
		}
	}
}

func (w *writer) splitToken(i int) bool {
	token := w.vocabulary.Token(w.c.ids[i])
	for cut := 1; cut < len(token); cut++ {
		left, ok1 := w.vocabulary.Lookup(token[:cut])
		right, ok2 := w.vocabulary.Lookup(token[cut:])
		if ok1 && ok2 {
			w.c.ids[i] = right
			w.c.ids = slices.Insert(w.c.ids, i, left)
			w.c.parts = slices.Insert(w.c.parts, i, w.c.parts[i])
			return true
		}
	}
	return false
}

func (w *writer) moveBorder(i int) bool {
	both := w.vocabulary.Decode(w.c.ids[i : i+2])
	border := len(w.vocabulary.Token(w.c.ids[i]))
	for cut := 1; cut < len(both); cut++ {
		if cut == border {
			continue
		}
		left, ok1 := w.vocabulary.Lookup(both[:cut])
		right, ok2 := w.vocabulary.Lookup(both[cut:])
		if ok1 && ok2 {
			w.c.ids[i], w.c.ids[i+1] = left, right
			return true
		}
	}
	return false
}
