package emulator

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// delta is a piece of a completion as a stream sends it.
type delta struct {
	part   part
	text   string
	call   int // index of the tool call, for callID and arguments
	tokens int // of the completion, this delta included
}

// deltas reads the completion's text off its ids, so many tokens at a time. A
// rune whose bytes are spread over tokens is sent whole, once complete; one
// that a limit cut off becomes U+FFFD. The id of a tool call comes in one
// piece, before its arguments.
func (x *exchange) deltas() []delta {
	var list []delta
	c, chunk := x.c, x.scenario.Stream.ChunkTokens
	call := -1
	var pending []byte
	held := 0
	for i, id := range c.ids {
		p := c.parts[i]
		if p == control {
			continue
		}
		first := i == 0 || c.parts[i-1] != p
		last := i+1 == len(c.ids) || c.parts[i+1] != p
		if first && p == callID {
			call++
		}
		pending = append(pending, x.vocabulary.Token(id)...)
		held++
		if !last && (held < chunk || p == callID) {
			continue
		}
		n := len(pending)
		if !last {
			n -= incomplete(pending)
		}
		text := strings.ToValidUTF8(string(pending[:n]), "\uFFFD")
		pending, held = append(pending[:0], pending[n:]...), 0
		if text != "" {
			list = append(list, delta{p, text, max(call, 0), i + 1})
		}
	}
	return x.parse(list)
}

// incomplete returns how many bytes at the end of b begin a rune that is not
// complete.
func incomplete(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// unsay takes bytes off the end of the answer.
func unsay(list []delta, bytes int) []delta {
	for i := len(list) - 1; i >= 0 && bytes > 0; i-- {
		if list[i].part != content {
			continue
		}
		n := min(bytes, len(list[i].text))
		list[i].text = list[i].text[:len(list[i].text)-n]
		bytes -= n
	}
	return slices.DeleteFunc(list, func(d delta) bool { return d.text == "" })
}

// parse is the work of the engine's reasoning and tool parsers on the deltas.
func (x *exchange) parse(list []delta) []delta {
	list = unsay(list, x.c.unsaid)
	if x.scenario.Text.TrimReasoning {
		list = trimReasoning(list)
	}
	if x.scenario.Text.RewriteToolIDs {
		for i := range list {
			if list[i].part == callID {
				list[i].text = x.ownToolID(list[i].call)
			}
		}
	}
	if x.q.hideReasoning() {
		list = slices.DeleteFunc(list, func(d delta) bool { return d.part == reasoning })
	}
	return x.spoilDeltas(list)
}

// trimReasoning takes trailing white space off the reasoning.
func trimReasoning(list []delta) []delta {
	end := 0
	for end < len(list) && list[end].part == reasoning {
		end++
	}
	kept := list[:end]
	for len(kept) > 0 {
		last := &kept[len(kept)-1]
		if last.text = strings.TrimRight(last.text, " \t\r\n"); last.text != "" {
			break
		}
		kept = kept[:len(kept)-1]
	}
	return append(kept, list[end:]...)
}
