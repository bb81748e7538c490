package tokens

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// maxAssumed is how many assumptions a reading may make at once. With more,
// almost any count can be explained.
const maxAssumed = 2

// reading is one guess at what a server did between the model's tokens and the
// answer it sent.
type reading struct {
	held     set
	closed   bool // the token that ends the reasoning was written
	calls    []eyrie.ToolCall
	cut      cut
	controls bool // literals in the text are control tokens
	space    space
}

// cut says where in its last tool call an answer broke off.
type cut uint8

const (
	uncut cut = iota
	inArguments
	afterCall
	afterSection
)

// space is white space that a server took off.
type space struct {
	held           set
	afterReasoning string
	beforeContent  string
	afterContent   string
}

// builder tries readings of one answer.
type builder struct {
	r        *Rebuilder
	shares   *shares
	answer   *eyrie.Answer
	thinks   bool
	unparsed bool      // the content holds the reasoning, control tokens and all
	could    set       // the assumptions that could apply
	readings []reading // the first assumes nothing
	spaces   []space   // the first is none
	encoded  map[string][]int32
}

func newBuilder(r *Rebuilder, g *eyrie.Generation, thinking bool, a *eyrie.Answer) *builder {
	b := &builder{
		r:       r,
		shares:  &r.shares,
		answer:  a,
		thinks:  r.form.thinks(thinking, a),
		encoded: map[string][]int32{},
	}
	b.unparsed = b.thinks && a.Reasoning == "" && strings.Contains(a.Content, r.form.closing)
	b.readings = b.allReadings(callsBefore(g.Messages))
	b.spaces = b.allSpaces()
	for i := range b.readings {
		b.could |= b.readings[i].held
	}
	for i := range b.spaces {
		b.could |= b.spaces[i].held
	}
	if stopped(a.FinishReason) {
		b.could = b.could.with(EndUnbilled)
	}
	if b.reasoningCounted() {
		b.could = b.could.with(EndUncounted)
	}
	return b
}

// reasoningCounted reports whether the bill says how long the reasoning was. A
// provider that does not count it says nothing, or zero.
func (b *builder) reasoningCounted() bool {
	n := b.answer.Usage.ReasoningTokens
	return b.thinks && !b.unparsed && (n > 0 || n == 0 && b.answer.Reasoning == "")
}

func callsBefore(messages []eyrie.Message) int {
	n := 0
	for i := range messages {
		n += len(messages[i].ToolCalls)
	}
	return n
}

// plain is the reading that takes the answer as it came.
func (b *builder) plain() reading { return b.readings[0] }

func (b *builder) allReadings(history int) []reading {
	rds := b.endings()
	if len(b.answer.ToolCalls) > 0 {
		rds = b.callForms(rds, history)
		rds = b.argumentForms(rds)
	}
	if b.spellsControls() && !b.unparsed {
		rds = vary(rds, ControlsInText, func(rd *reading) bool { rd.controls = true; return true })
	}
	return rds
}

// vary adds to the readings what becomes of each under an assumption. A change
// that reports false is none.
func vary(rds []reading, a Assumption, change func(*reading) bool) []reading {
	for _, rd := range slices.Clone(rds) {
		if change(&rd) {
			rd.held = rd.held.with(a)
			rds = append(rds, rd)
		}
	}
	return rds
}

// endings are the readings that differ in whether the reasoning was closed and
// in where a cut answer broke off.
func (b *builder) endings() []reading {
	a := b.answer
	silent := a.Content == "" && len(a.ToolCalls) == 0
	var rds []reading
	switch {
	case !b.thinks:
		rds = []reading{{}}
	case b.unparsed:
		rds = []reading{{controls: true}}
	case a.FinishReason == eyrie.FinishLength && silent:
		// Cut while it reasoned. That the cut came right after the end of the
		// reasoning is as good a reading; the bill tells them apart.
		return []reading{{}, {closed: true}}
	case a.Content != "":
		rds = []reading{{closed: true}}
	default:
		// Kimi may go from its reasoning straight to the tool section.
		rds = vary([]reading{{closed: true}}, ReasoningOpen, func(rd *reading) bool { rd.closed = false; return true })
	}
	return b.cuts(rds)
}

// cuts crosses readings of an answer that was cut in its tool calls with every
// place where that may have been. They differ in length, so that the bill tells
// them apart.
func (b *builder) cuts(rds []reading) []reading {
	if b.answer.FinishReason != eyrie.FinishLength || len(b.answer.ToolCalls) == 0 {
		return rds
	}
	var out []reading
	for _, rd := range rds {
		for _, rd.cut = range []cut{inArguments, afterCall, afterSection} {
			out = append(out, rd)
		}
	}
	return out
}

// callForms crosses readings with the ways in which the model may have named
// its calls: as the server says, or by its own numbering over the conversation
// or over the answer. An id of another kind is most likely the server's own, and
// so are ids of which two are the same.
func (b *builder) callForms(rds []reading, history int) []reading {
	given := b.answer.ToolCalls
	overall, local := b.numbered(history), b.numbered(0)
	first := given
	if mixedIDs(given) != "" || !nativeID(given[0].ID) {
		first = overall
	}
	for i := range rds {
		rds[i].calls = first
	}
	forms := [][]eyrie.ToolCall{first}
	for _, other := range []struct {
		a     Assumption
		calls []eyrie.ToolCall
	}{{CallsRenumbered, overall}, {CallsRenumbered, local}, {CallsAsGiven, given}} {
		if slices.ContainsFunc(forms, func(f []eyrie.ToolCall) bool { return slices.Equal(f, other.calls) }) {
			continue
		}
		forms = append(forms, other.calls)
		rds = vary(rds, other.a, func(rd *reading) bool {
			changed := !rd.held.has(CallsRenumbered)
			rd.calls = other.calls
			return changed
		})
	}
	return rds
}

func (b *builder) numbered(from int) []eyrie.ToolCall {
	calls := slices.Clone(b.answer.ToolCalls)
	for i := range calls {
		calls[i].ID = b.r.form.callID(calls[i].Name, from+i)
	}
	return calls
}

// nativeID reports whether an id ends in a colon and a number, as the model
// writes it.
func nativeID(id string) bool {
	i := strings.LastIndexByte(id, ':')
	if i <= 0 || i == len(id)-1 {
		return false
	}
	return strings.Trim(id[i+1:], "0123456789") == ""
}

// argumentForms crosses readings with the ways in which the model may have
// spaced its arguments.
func (b *builder) argumentForms(rds []reading) []reading {
	plain := rds
	for _, form := range []struct {
		a     Assumption
		style chat.JSONStyle
	}{{ArgumentsSpaced, chat.Spaced}, {ArgumentsCompact, chat.Compact}} {
		rds = append(rds, vary(plain, form.a, func(rd *reading) bool { return respace(rd, form.style) })[len(plain):]...)
	}
	return rds
}

// respace prints the arguments of a reading's calls anew. It reports whether
// that changes any.
func respace(rd *reading, style chat.JSONStyle) bool {
	calls := slices.Clone(rd.calls)
	for i := range calls {
		if p, err := chat.AppendJSON(nil, []byte(calls[i].Arguments), style); err == nil {
			calls[i].Arguments = string(p)
		}
	}
	if slices.Equal(calls, rd.calls) {
		return false
	}
	rd.calls = calls
	return true
}

// spellsControls reports whether the text spells a control token that servers
// leave in it.
func (b *builder) spellsControls() bool {
	return slices.ContainsFunc(b.r.form.literals, func(l string) bool {
		return strings.Contains(b.answer.Reasoning, l) || strings.Contains(b.answer.Content, l)
	})
}

// allSpaces lists what white space may have been taken off. Text that still
// has some at a place was not trimmed there.
func (b *builder) allSpaces() []space {
	a := b.answer
	spaces := []space{{}}
	if b.thinks && !b.unparsed && !endsInSpace(a.Reasoning) {
		spaces = pad(spaces, LineAfterReasoning, SpaceAfterReasoning, func(s *space, w string) { s.afterReasoning = w })
	}
	calls := len(a.ToolCalls) > 0
	if (a.Content != "" || calls) && !beginsInSpace(a.Content) {
		spaces = pad(spaces, LineBeforeContent, SpaceBeforeContent, func(s *space, w string) { s.beforeContent = w })
	}
	if a.Content != "" && calls && !endsInSpace(a.Content) {
		spaces = pad(spaces, LineAfterContent, SpaceAfterContent, func(s *space, w string) { s.afterContent = w })
	}
	return spaces
}

func pad(spaces []space, line, blank Assumption, put func(*space, string)) []space {
	for _, s := range slices.Clone(spaces) {
		for _, w := range []struct {
			a    Assumption
			text string
		}{{line, "\n"}, {blank, " "}} {
			p := s
			p.held = s.held.with(w.a)
			if p.held.size() > maxAssumed {
				continue
			}
			put(&p, w.text)
			spaces = append(spaces, p)
		}
	}
	return spaces
}

func endsInSpace(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsSpace(r)
}

func beginsInSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

// assemble puts the answer together as rd reads it.
func (b *builder) assemble(rd reading) draft {
	f, a := b.r.form, b.answer
	var d draft
	if b.thinks && !b.unparsed {
		if f.reasoningBegin != none {
			d.token(f.reasoningBegin)
			d.around++
		}
		ids := b.encode(a.Reasoning+rd.space.afterReasoning, rd.controls)
		d.pieces = append(d.pieces, ids)
		d.reasoning = len(ids)
	}
	if rd.closed {
		d.token(f.reasoningEnd)
		d.around++
	}
	content := rd.space.beforeContent + a.Content + rd.space.afterContent
	d.pieces = append(d.pieces, b.encode(content, rd.controls))
	b.assembleCalls(&d, rd)
	if stopped(a.FinishReason) {
		d.token(f.end)
	}
	return d
}

func (b *builder) assembleCalls(d *draft, rd reading) {
	if len(rd.calls) == 0 {
		return
	}
	f := b.r.form
	d.token(f.sectionBegin)
	for i := range rd.calls {
		d.token(f.callBegin)
		d.pieces = append(d.pieces, b.encode(rd.calls[i].ID, false))
		d.token(f.argumentsBegin)
		d.pieces = append(d.pieces, b.encode(rd.calls[i].Arguments, false))
		if i < len(rd.calls)-1 || rd.cut != inArguments {
			d.token(f.callEnd)
		}
	}
	if rd.cut == uncut || rd.cut == afterSection {
		d.token(f.sectionEnd)
	}
}

// encode returns the ids of text, which stands alone between control tokens.
// The result is kept for the next reading and must not be changed.
func (b *builder) encode(text string, controls bool) []int32 {
	if text == "" {
		return nil
	}
	key := text
	if controls {
		key = "\x00" + text
	}
	ids, ok := b.encoded[key]
	if !ok {
		if controls {
			ids = b.r.tok.EncodeSpecial(nil, text)
		} else {
			ids = b.r.tok.Encode(nil, text)
		}
		b.encoded[key] = ids
	}
	return ids
}
