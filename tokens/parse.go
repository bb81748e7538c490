package tokens

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// Parse reads the parts of an answer off its completion ids and fills in its
// reasoning, content and tool calls. Nothing is trimmed and nothing is
// corrected: the parts are what stands between the control tokens, so that the
// same ids come back when they are put together again. Thinking says whether
// the prompt asked for reasoning. An answer that is not written in the form of
// the model's template is an error, unless max_tokens cut it off.
func (r *Rebuilder) Parse(thinking bool, a *eyrie.Answer) error {
	if r.markup != nil {
		return r.parseMarkup(thinking, a)
	}
	if r.form == nil {
		return fmt.Errorf("tokens: the written form of %s's answers is not known, so its ids cannot be taken apart; use via: chat", r.tmpl.Family())
	}
	p := parser{r: r, f: r.form, rest: a.CompletionIDs, cut: a.FinishReason == eyrie.FinishLength}
	parts, err := p.answer(thinking || r.form.alwaysThinks)
	if err != nil {
		return fmt.Errorf("tokens: the answer's ids: %w", err)
	}
	a.Reasoning, a.Content, a.ToolCalls = parts.reasoning, parts.content, parts.calls
	return nil
}

// parseMarkup reads an answer of a model that writes its parts as text.
func (r *Rebuilder) parseMarkup(thinking bool, a *eyrie.Answer) error {
	b, err := r.tok.Decode(nil, a.CompletionIDs)
	if err != nil {
		return fmt.Errorf("tokens: the answer's ids: %w", err)
	}
	said, err := r.markup.Read(strings.ToValidUTF8(string(b), "\uFFFD"), thinking, a.FinishReason == eyrie.FinishLength)
	if err != nil {
		return fmt.Errorf("tokens: the answer's ids: %w", err)
	}
	a.Reasoning, a.Content, a.ToolCalls = said.Reasoning, said.Content, said.Calls
	return nil
}

// parts are what an answer is made of.
type parts struct {
	reasoning, content string
	calls              []eyrie.ToolCall
}

// parser takes ids apart from the front.
type parser struct {
	r    *Rebuilder
	f    *form
	rest []int32
	cut  bool // the answer may break off anywhere
}

func (p *parser) answer(thinks bool) (parts, error) {
	var out parts
	if n := len(p.rest); n > 0 && p.rest[n-1] == p.f.end {
		p.rest = p.rest[:n-1]
	}
	if thinks && p.f.reasoningEnd != none {
		over, err := p.reasoning(&out)
		if err != nil || over {
			return out, err
		}
	}
	text, _ := p.until(p.f.sectionBegin)
	var err error
	if out.content, err = p.text(text); err != nil {
		return out, err
	}
	out.calls, err = p.calls()
	return out, err
}

// reasoning takes the reasoning. It ends with its token, or with the first tool
// call, to which models go straight at times. It reports whether the answer
// broke off in it.
func (p *parser) reasoning(out *parts) (over bool, err error) {
	if p.f.reasoningBegin != none && len(p.rest) > 0 && p.rest[0] == p.f.reasoningBegin {
		p.rest = p.rest[1:]
	}
	end := slices.Index(p.rest, p.f.reasoningEnd)
	section := -1
	if p.f.sectionBegin != none {
		section = slices.Index(p.rest, p.f.sectionBegin)
	}
	var ids []int32
	switch {
	case end >= 0 && (section < 0 || end < section):
		ids, p.rest = p.rest[:end], p.rest[end+1:]
	case section >= 0:
		ids, p.rest = p.rest[:section], p.rest[section:]
	case p.cut:
		ids, p.rest, over = p.rest, nil, true
	default:
		return false, errors.New("the reasoning has no end")
	}
	out.reasoning, err = p.text(ids)
	return over, err
}

// calls takes the tool calls.
func (p *parser) calls() ([]eyrie.ToolCall, error) {
	if len(p.rest) == 0 || !p.take(p.f.sectionBegin) {
		return nil, nil
	}
	var calls []eyrie.ToolCall
	for !p.take(p.f.sectionEnd) {
		if len(p.rest) == 0 && p.cut {
			return calls, nil
		}
		if !p.take(p.f.callBegin) {
			return nil, errors.New("something stands between two tool calls")
		}
		c, err := p.call()
		if err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
	if len(p.rest) > 0 {
		return nil, errors.New("something follows the tool calls")
	}
	if len(calls) == 0 {
		return nil, errors.New("a section of tool calls without a call")
	}
	return calls, nil
}

// call takes one call behind its first token.
func (p *parser) call() (eyrie.ToolCall, error) {
	var c eyrie.ToolCall
	id, named := p.until(p.f.argumentsBegin)
	if !named && !p.cut {
		return c, errors.New("a tool call without arguments")
	}
	p.take(p.f.argumentsBegin)
	args, closed := p.until(p.f.callEnd)
	if !closed && !p.cut {
		return c, errors.New("a tool call without an end")
	}
	p.take(p.f.callEnd)
	var err error
	if c.ID, err = p.text(id); err != nil {
		return c, err
	}
	c.Name = nameOf(c.ID)
	if c.Name == "" && !p.cut {
		return c, fmt.Errorf("a tool call without a name: %q", c.ID)
	}
	c.Arguments, err = p.text(args)
	return c, err
}

// take passes over an id if it comes next.
func (p *parser) take(id int32) bool {
	if id == none || len(p.rest) == 0 || p.rest[0] != id {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// until takes what stands before an id, which it leaves; all there is where it
// does not come.
func (p *parser) until(id int32) (before []int32, found bool) {
	i := -1
	if id != none {
		i = slices.Index(p.rest, id)
	}
	if i < 0 {
		before, p.rest = p.rest, nil
		return before, false
	}
	before, p.rest = p.rest[:i], p.rest[i:]
	return before, true
}

// text decodes ids between two control tokens. One among them is a fault: no
// parser could tell what it is to mean.
func (p *parser) text(ids []int32) (string, error) {
	f := p.f
	for _, id := range ids {
		switch id {
		case none:
		case f.reasoningBegin, f.reasoningEnd, f.sectionBegin, f.callBegin, f.argumentsBegin, f.callEnd, f.sectionEnd, f.end:
			b, _ := p.r.tok.Decode(nil, []int32{id})
			return "", fmt.Errorf("a control token %q where text was to be", b)
		}
	}
	b, err := p.r.tok.Decode(nil, ids)
	return strings.ToValidUTF8(string(b), "\uFFFD"), err
}

// nameOf reads the function's name out of the id of a call, as the model writes
// it: functions.NAME:NUMBER.
func nameOf(id string) string {
	name := strings.TrimSpace(id)
	if nativeID(name) {
		name = name[:strings.LastIndexByte(name, ':')]
	}
	return strings.TrimPrefix(name, "functions.")
}
