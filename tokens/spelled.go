package tokens

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// replacement stands in text for bytes that are no UTF-8.
const replacement = "\uFFFD"

// named is a token as the server named it: by bytes.
type named struct {
	bytes []byte
	id    int32 // none where the bytes hold a replacement: the token's own are others
}

// spelled makes the completion from the bytes of its tokens, which some servers
// give with their logprobs. It takes nothing on trust: every entry must be the
// bytes of one token of the vocabulary, their number must be the one billed,
// and between the control tokens they must spell the answer. White space that
// the server took off at a control token stands in the entries all the same.
//
// Servers that print a token as text, and the text as bytes, write a replacement
// character for a part of a character, or the whole character with its last
// token. Such entries name their tokens only if the answer's text leaves no
// other choice.
//
// The error says what is not proven.
func (r *Rebuilder) spelled(thinking bool, a *eyrie.Answer) (finding, error) {
	entries, err := r.named(a.Logprobs)
	if err != nil {
		return finding{}, err
	}
	f := finding{known: eyrie.KnownLogprobs}
	size := len(entries)
	ended := entries[size-1].id == r.form.end
	switch stop := stopped(a.FinishReason); {
	case !a.Usage.Given || a.Usage.CompletionTokens == 0:
		return finding{}, errors.New("there is no bill to hold them against")
	case !stop && a.FinishReason != eyrie.FinishLength:
		return finding{}, fmt.Errorf("finish reason %q does not say how the answer ended", a.FinishReason)
	case ended && !stop:
		return finding{}, fmt.Errorf("the last is the end token, and the finish reason is %q", a.FinishReason)
	case stop && !ended:
		size++
		f.reason = "the server left the end token out of its logprobs"
	}
	if billed := a.Usage.CompletionTokens; size != billed {
		return finding{}, fmt.Errorf("they are %d tokens, and %d were billed", size, billed)
	}
	if i := r.shifted(entries); i >= 0 {
		return finding{}, fmt.Errorf("number %d may be text and not bytes: a part of the next may belong to it", i)
	}
	s := speller{r: r, answer: a, rest: entries}
	s.thinks = r.form.thinks(thinking, a)
	if err := s.completion(); err != nil {
		return finding{}, err
	}
	if f.ids = s.ids; !ended && stopped(a.FinishReason) {
		f.ids = append(f.ids, r.form.end)
	}
	return f, nil
}

// named finds the token of each entry.
func (r *Rebuilder) named(logprobs []eyrie.TokenLogprob) ([]named, error) {
	out := make([]named, len(logprobs))
	for i := range logprobs {
		b := logprobs[i].Bytes
		id := none
		switch {
		case b == nil:
			return nil, fmt.Errorf("number %d has no bytes", i)
		case len(b) == 0:
			return nil, fmt.Errorf("number %d is empty", i)
		case !bytes.Contains(b, []byte(replacement)):
			var ok bool
			if id, ok = r.tok.Lookup(b); !ok {
				return nil, fmt.Errorf("number %d, %.40q, is no token of the vocabulary", i, b)
			}
		}
		out[i] = named{b, id}
	}
	return out, nil
}

// shifted returns the first entry that may be a token with the beginning of a
// character more: a server that prints tokens as text writes that character with
// the token that ends it. It is -1 where no other tokens would be printed like
// this, or some entry is no text, so that the server does give bytes.
func (r *Rebuilder) shifted(entries []named) int {
	if slices.ContainsFunc(entries, func(n named) bool { return !utf8.Valid(n.bytes) }) {
		return -1
	}
	found := -1
	var after, here [utf8.UTFMax]bool // whether entries from the next, or this one, on may be short of so many bytes
	for i := len(entries) - 1; i >= 0; i-- {
		var next []byte
		if i+1 < len(entries) {
			next = entries[i+1].bytes
		}
		_, width := utf8.DecodeRune(entries[i].bytes)
		for skip := range width {
			here[skip] = r.shiftable(entries[i].bytes[skip:], next, skip > 0, &after)
		}
		if entries[i].id != none && here[0] {
			found = i
		}
		after = here
	}
	return found
}

// shiftable reports whether what is left of an entry may be a token, with some
// bytes of the next entry or, where its own beginning went to the one before, as
// it is. after says of how many bytes the next may be short.
func (r *Rebuilder) shiftable(own, next []byte, short bool, after *[utf8.UTFMax]bool) bool {
	if short && len(own) > 0 {
		if _, ok := r.tok.Lookup(own); ok {
			return true
		}
	}
	_, width := utf8.DecodeRune(next)
	for k := 1; k < width; k++ {
		if _, ok := r.tok.Lookup(slices.Concat(own, next[:k])); ok && after[k] {
			return true
		}
	}
	return false
}

// denied says where the server's logprobs name another token than ids have; it
// is false where they do not, or cannot be laid beside them.
func (r *Rebuilder) denied(ids []int32, logprobs []eyrie.TokenLogprob) (at int, ok bool) {
	if len(logprobs) != len(ids) || slices.ContainsFunc(logprobs, func(t eyrie.TokenLogprob) bool { return len(t.Bytes) == 0 }) {
		return 0, false
	}
	for i := range logprobs {
		b := logprobs[i].Bytes
		if bytes.Contains(b, []byte(replacement)) {
			continue
		}
		if own, err := r.tok.Decode(nil, ids[i:i+1]); err != nil || !bytes.Equal(own, b) {
			return i, true
		}
	}
	return 0, false
}

// speller holds entries against an answer, from left to right.
type speller struct {
	r      *Rebuilder
	answer *eyrie.Answer
	thinks bool
	rest   []named
	ids    []int32
}

// completion takes all entries.
func (s *speller) completion() error {
	f, a := s.r.form, s.answer
	if s.thinks && (a.Reasoning != "" || !strings.Contains(a.Content, f.closing)) {
		if err := s.reasoning(); err != nil {
			return err
		}
		if err := s.part("content", a.Content, s.stretch()); err != nil {
			return err
		}
		if err := s.calls(); err != nil {
			return err
		}
	} else if err := s.unparsed(); err != nil {
		return err
	}
	s.take(f.end)
	if len(s.rest) > 0 {
		return fmt.Errorf("%.40q stands where the answer has nothing", s.rest[0].bytes)
	}
	return nil
}

// unparsed takes an answer without reasoning of its own, or one whose reasoning
// the server left in the content, control tokens and all.
func (s *speller) unparsed() error {
	whole := s.rest
	if n := len(whole); n > 0 && whole[n-1].id == s.r.form.end {
		whole = whole[:n-1]
	}
	if i := slices.IndexFunc(whole, func(n named) bool { return n.id != none && n.id == s.r.form.sectionBegin }); i >= 0 {
		whole = whole[:i]
	}
	s.rest = s.rest[len(whole):]
	if err := s.part("content", s.answer.Content, whole); err != nil {
		return err
	}
	return s.calls()
}

func (s *speller) reasoning() error {
	f := s.r.form
	if f.reasoningBegin != none && !s.take(f.reasoningBegin) {
		return errors.New("the token that begins the reasoning is missing")
	}
	if err := s.part("reasoning", s.answer.Reasoning, s.stretch()); err != nil {
		return err
	}
	if !s.take(f.reasoningEnd) && s.answer.Content != "" {
		return errors.New("the token that ends the reasoning is missing")
	}
	return nil
}

// calls takes the tool calls, as far as they came.
func (s *speller) calls() error {
	f, calls := s.r.form, s.answer.ToolCalls
	if len(calls) == 0 {
		return nil
	}
	if !s.take(f.sectionBegin) {
		return errors.New("the token that begins the tool calls is missing")
	}
	for i := range calls {
		if err := s.call(&calls[i], i == len(calls)-1); err != nil {
			return fmt.Errorf("tool call %d: %w", i, err)
		}
	}
	if !s.take(f.sectionEnd) && stopped(s.answer.FinishReason) {
		return errors.New("the token that ends the tool calls is missing")
	}
	return s.part("text behind the tool calls", "", s.stretch())
}

// call takes one tool call. Its id is the model's own, whatever the server calls
// it, and its arguments may have been printed anew.
func (s *speller) call(c *eyrie.ToolCall, last bool) error {
	f := s.r.form
	if !s.take(f.callBegin) {
		return errors.New("the token that begins it is missing")
	}
	id := s.stretch()
	if !namesTool(strings.TrimSpace(string(concat(id))), c.Name) {
		return fmt.Errorf("its id is %.80q, and its name %q", concat(id), c.Name)
	}
	if err := s.part("id", string(concat(id)), id); err != nil {
		return err
	}
	if !s.take(f.argumentsBegin) {
		return errors.New("the token that begins the arguments is missing")
	}
	arguments := s.stretch()
	own := string(concat(arguments))
	if !sameJSON(own, c.Arguments) {
		own = c.Arguments
	}
	if err := s.part("arguments", own, arguments); err != nil {
		return err
	}
	if !s.take(f.callEnd) && (stopped(s.answer.FinishReason) || !last) {
		return errors.New("the token that ends it is missing")
	}
	return nil
}

// sameJSON reports whether two texts are the same JSON value, spaces aside.
func sameJSON(a, b string) bool {
	p, err := chat.AppendJSON(nil, []byte(a), chat.Compact)
	if err != nil {
		return false
	}
	q, err := chat.AppendJSON(nil, []byte(b), chat.Compact)
	return err == nil && bytes.Equal(p, q)
}

// take takes the control token, if it is the next and there is such a one.
func (s *speller) take(id int32) bool {
	if id == none || len(s.rest) == 0 || s.rest[0].id != id {
		return false
	}
	s.ids, s.rest = append(s.ids, id), s.rest[1:]
	return true
}

// stretch takes the entries up to the next control token of the form. They are
// not yet among the ids.
func (s *speller) stretch() []named {
	n := slices.IndexFunc(s.rest, func(n named) bool { return s.r.form.control(n.id) })
	if n < 0 {
		n = len(s.rest)
	}
	out := s.rest[:n]
	s.rest = s.rest[n:]
	return out
}

// part adds the ids of a stretch of entries, which must spell the text up to
// white space at its ends.
func (s *speller) part(what, text string, entries []named) error {
	spelled := concat(entries)
	if bytes.Contains(spelled, []byte(replacement)) {
		ids, ok := s.r.locate(withSpace(entries, text), entries)
		if !ok {
			return fmt.Errorf("they do not tell the tokens of the answer's %s, where parts of characters are replaced", what)
		}
		s.ids = append(s.ids, ids...)
		return nil
	}
	if !sameText(string(spelled), text, s.answer.FinishReason == eyrie.FinishLength) {
		return fmt.Errorf("they do not spell the answer's %s", what)
	}
	for _, n := range entries {
		s.ids = append(s.ids, n.id)
	}
	return nil
}

func concat(entries []named) []byte {
	var out []byte
	for _, n := range entries {
		out = append(out, n.bytes...)
	}
	return out
}

// sameText compares two texts up to white space at their ends and to how
// unreadable bytes were replaced. Of one that was cut, the other may have the
// beginning of a character more.
func sameText(a, b string, cut bool) bool {
	a, b = readable(a), readable(b)
	if cut {
		a, b = strings.TrimRight(a, replacement), strings.TrimRight(b, replacement)
	}
	return strings.TrimSpace(a) == strings.TrimSpace(b)
}

// readable replaces every run of bytes that are no UTF-8, and of replacements
// for such, by one replacement.
func readable(s string) string {
	s = strings.ToValidUTF8(s, replacement)
	if !strings.Contains(s, replacement+replacement) {
		return s
	}
	var b strings.Builder
	last := rune(0)
	for _, c := range s {
		if c != utf8.RuneError || last != utf8.RuneError {
			b.WriteRune(c)
		}
		last = c
	}
	return b.String()
}

// withSpace puts the white space around a text that the entries have there.
func withSpace(entries []named, text string) string {
	spelled := string(concat(entries))
	before := len(spelled) - len(strings.TrimLeft(spelled, " \t\r\n"))
	after := len(strings.TrimRight(spelled, " \t\r\n"))
	return spelled[:before] + strings.Trim(text, " \t\r\n") + spelled[max(after, before):]
}

// locate finds the tokens of entries in the text that they spell, where some
// have replacements in the place of bytes. It is false unless exactly one list
// of tokens fits.
//
// After i entries the text may have been spelled up to several places. Each is
// kept with the number of ways that lead there, of which two are as bad as
// more.
func (r *Rebuilder) locate(text string, entries []named) ([]int32, bool) {
	layers := make([][]place, 1, len(entries)+1)
	layers[0] = []place{{ways: 1}}
	for _, n := range entries {
		var next []place
		for from, p := range layers[len(layers)-1] {
			rest := text[p.end:]
			if n.id != none {
				if strings.HasPrefix(rest, string(n.bytes)) {
					next = reach(next, place{p.end + len(n.bytes), p.ways, from, n.id})
				}
				continue
			}
			for size := 1; size <= min(len(rest), longestPart); size++ {
				id, ok := r.tok.Lookup([]byte(rest[:size]))
				if ok && !utf8.ValidString(rest[:size]) && readable(rest[:size]) == readable(string(n.bytes)) {
					next = reach(next, place{p.end + size, p.ways, from, id})
				}
			}
		}
		if len(next) > maxPlaces {
			return nil, false
		}
		layers = append(layers, next)
	}
	at := slices.IndexFunc(layers[len(entries)], func(p place) bool { return p.end == len(text) })
	if at < 0 || layers[len(entries)][at].ways != 1 {
		return nil, false
	}
	ids := make([]int32, len(entries))
	for i := len(entries); i > 0; i-- {
		p := layers[i][at]
		ids[i-1], at = p.id, p.from
	}
	return ids, true
}

// maxPlaces bounds the work: where entries may end at more places than this,
// they do not tell the tokens.
const maxPlaces = 64

// place is how far a number of entries may have spelled a text, and the last
// step to there.
type place struct {
	end  int
	ways int
	from int // in the layer before
	id   int32
}

// reach adds a way to a place.
func reach(layer []place, p place) []place {
	if i := slices.IndexFunc(layer, func(q place) bool { return q.end == p.end }); i >= 0 {
		layer[i].ways = 2
		return layer
	}
	return append(layer, p)
}

// longestPart is more bytes than any token has that is not whole characters.
const longestPart = 64
