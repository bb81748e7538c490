package chat

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// Markup is how the models of a template's family write the parts of an answer
// in text, where the parts have no control tokens of their own as in an
// [AnswerForm]. It reads such an answer; it cannot tell how one was spaced, so
// that nothing may be rebuilt from what it returns.
type Markup struct {
	name string
	// Ends are the control tokens that end an answer.
	Ends   []string
	strays []string // control tokens that may stand in no part
	opens  bool     // the prompt opens the reasoning
	calls  func(text string, cut bool) (content string, calls []eyrie.ToolCall, err error)
}

// Marked is a [Template] whose answers are written in a markup that is known.
type Marked interface {
	Template
	Markup() (*Markup, bool)
}

// Said are the parts of an answer.
type Said struct {
	Reasoning, Content string
	Calls              []eyrie.ToolCall
}

// The words of the markups.
const (
	hermesBegin, hermesEnd     = "<tool_call>", "</tool_call>"
	deepSeekSection            = "<｜tool▁calls▁begin｜>"
	deepSeekSectionEnd         = "<｜tool▁calls▁end｜>"
	deepSeekBegin, deepSeekEnd = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
	deepSeekSep                = "<｜tool▁sep｜>"
	thinkEndTag                = "</think>"
)

// markups tells the families by what stands in their templates, the more
// particular first.
var markups = []struct {
	sign   string
	markup Markup
}{
	{"<arg_key>", Markup{
		name: "GLM", Ends: []string{"<|user|>", "<|observation|>", "<|endoftext|>"}, strays: []string{"<|assistant|>", "<|system|>"}, calls: glmCalls,
	}},
	{deepSeekSection, Markup{
		name: "DeepSeek", Ends: []string{"<｜end▁of▁sentence｜>"}, strays: []string{"<｜User｜>", "<｜Assistant｜>"}, calls: deepSeekCalls,
	}},
	{hermesBegin, Markup{
		name: "Qwen", Ends: []string{"<|im_end|>", "<|endoftext|>"}, strays: []string{"<|im_start|>"}, calls: hermesCalls,
	}},
	{"<|start_header_id|>", Markup{
		name: "Llama", Ends: []string{"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"}, strays: []string{"<|start_header_id|>", "<|end_header_id|>"}, calls: llamaCalls,
	}},
}

// markupOf finds the markup of a template by its source; nil where none is
// known. Prompt is what the template prints for a question.
func markupOf(src, prompt string) *Markup {
	for _, m := range markups {
		if strings.Contains(src, m.sign) {
			out := m.markup
			out.opens = strings.HasSuffix(strings.TrimSpace(prompt), thinkBegin)
			return &out
		}
	}
	return nil
}

// Read takes an answer apart. Text is what its ids decode to, control tokens in
// their literals. Cut says that max_tokens ended it. White space around the
// parts, which templates put there themselves, is dropped.
func (m *Markup) Read(text string, thinking, cut bool) (Said, error) {
	for _, end := range m.Ends {
		if rest, ok := strings.CutSuffix(text, end); ok {
			text = rest
			break
		}
	}
	var out Said
	reasoning, rest, closed := strings.Cut(text, thinkEndTag)
	switch {
	case closed:
		out.Reasoning = strings.Trim(strings.TrimPrefix(strings.TrimLeft(reasoning, "\n"), thinkBegin), "\n")
		text = strings.TrimLeft(rest, "\n")
	case strings.HasPrefix(strings.TrimLeft(text, "\n"), thinkBegin) || m.opens && thinking:
		if !cut {
			return out, errors.New("the reasoning has no end")
		}
		out.Reasoning = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(text, "\n"), thinkBegin), "\n")
		return out, m.clean(out)
	}
	var err error
	if out.Content, out.Calls, err = m.calls(text, cut); err != nil {
		return out, fmt.Errorf("%s's tool calls: %w", m.name, err)
	}
	return out, m.clean(out)
}

// clean refuses parts that hold a control token of the family: no reader could
// tell what it is to mean.
func (m *Markup) clean(s Said) error {
	for _, word := range slices.Concat(m.Ends, m.strays, []string{thinkEndTag}) {
		if strings.Contains(s.Reasoning, word) || strings.Contains(s.Content, word) {
			return fmt.Errorf("a control token %q where text was to be", word)
		}
	}
	return nil
}

// numbered names a call as servers do for families that give it no id.
func numbered(calls []eyrie.ToolCall, name, arguments string) []eyrie.ToolCall {
	return append(calls, eyrie.ToolCall{ID: "call_" + strconv.Itoa(len(calls)), Name: name, Arguments: arguments})
}

// between yields the texts that stand between two words, and what stands before
// the first of them. Nothing but white space may stand elsewhere.
func between(text, begin, end string, cut bool) (before string, inside []string, err error) {
	before, rest, any := strings.Cut(text, begin)
	for any {
		body, after, closed := strings.Cut(rest, end)
		if !closed {
			if cut {
				return before, inside, nil // the call that was cut cannot be read
			}
			return before, inside, fmt.Errorf("%s without %s", begin, end)
		}
		inside = append(inside, body)
		var gap string
		if gap, rest, any = strings.Cut(after, begin); strings.TrimSpace(gap) != "" {
			return before, inside, errors.New("something stands between or after the calls")
		}
	}
	return before, inside, nil
}

// hermesCalls reads <tool_call>{"name": …, "arguments": {…}}</tool_call>.
func hermesCalls(text string, cut bool) (string, []eyrie.ToolCall, error) {
	content, bodies, err := between(text, hermesBegin, hermesEnd, cut)
	if err != nil || bodies == nil {
		return content, nil, err
	}
	var calls []eyrie.ToolCall
	for _, b := range bodies {
		name, arguments, err := namedCall(b, "arguments")
		if err != nil {
			return content, nil, err
		}
		calls = numbered(calls, name, arguments)
	}
	return strings.TrimRight(content, "\n"), calls, nil
}

// deepSeekCalls reads both ways of the family: "function", a separator, the
// name and a fenced block, and since V3.1 the name, the separator and the
// arguments.
func deepSeekCalls(text string, cut bool) (string, []eyrie.ToolCall, error) {
	content, section, any := strings.Cut(text, deepSeekSection)
	if !any {
		return content, nil, nil
	}
	section, after, closed := strings.Cut(section, deepSeekSectionEnd)
	if !closed && !cut || strings.TrimSpace(after) != "" {
		return content, nil, errors.New("the section of calls does not end the answer")
	}
	before, bodies, err := between(section, deepSeekBegin, deepSeekEnd, cut)
	if err == nil && strings.TrimSpace(before) != "" {
		err = errors.New("something stands before the calls")
	}
	var calls []eyrie.ToolCall
	for _, b := range bodies {
		name, arguments, ok := strings.Cut(b, deepSeekSep)
		if ok && name == "function" {
			name, arguments, ok = strings.Cut(arguments, "\n```json\n")
			arguments = strings.TrimSuffix(arguments, "\n```")
		}
		if !ok || name == "" {
			return content, nil, fmt.Errorf("a call that cannot be read: %.60q", b)
		}
		calls = numbered(calls, name, arguments)
	}
	return content, calls, err
}

// glmArgument is a key and a value of GLM's calls.
var glmArgument = regexp.MustCompile(`(?s)\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>\s*`)

// glmCalls reads <tool_call>NAME and pairs of keys and values, which are JSON or
// else plain text.
func glmCalls(text string, cut bool) (string, []eyrie.ToolCall, error) {
	content, bodies, err := between(text, hermesBegin, hermesEnd, cut)
	if err != nil || bodies == nil {
		return content, nil, err
	}
	var calls []eyrie.ToolCall
	for _, b := range bodies {
		name, _, _ := strings.Cut(b, "<arg_key>")
		rest := strings.TrimPrefix(b, name)
		if strings.TrimSpace(glmArgument.ReplaceAllString(rest, "")) != "" || strings.TrimSpace(name) == "" {
			return content, nil, fmt.Errorf("a call that cannot be read: %.60q", b)
		}
		pairs := glmArgument.FindAllStringSubmatch(rest, -1)
		arguments := appendObject(nil, func(yield func(key, value string) bool) {
			for _, p := range pairs {
				if !yield(p[1], p[2]) {
					return
				}
			}
		})
		calls = numbered(calls, strings.TrimSpace(name), string(arguments))
	}
	return strings.TrimRight(content, "\n"), calls, nil
}

// llamaCalls reads an answer that is one object with a name and parameters.
func llamaCalls(text string, _ bool) (string, []eyrie.ToolCall, error) {
	body := strings.TrimPrefix(strings.TrimSpace(text), "<|python_tag|>")
	if !strings.HasPrefix(body, "{") {
		return text, nil, nil
	}
	name, arguments, err := namedCall(body, "parameters")
	if err != nil {
		return text, nil, nil // it only looks like a call
	}
	return "", numbered(nil, name, arguments), nil
}
