package dataset

import (
	"bytes"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// The tags that Hermes and its kin put around tools, calls and results in
// plain text.
const (
	callOpen, callClose     = "<tool_call>", "</tool_call>"
	resultOpen, resultClose = "<tool_response>", "</tool_response>"
	toolsOpen, toolsClose   = "<tools>", "</tools>"
)

// cutTag cuts text at a pair of tags.
func cutTag(text, open, end string) (before, inside, after string, ok bool) {
	before, rest, ok := strings.Cut(text, open)
	if !ok {
		return text, "", "", false
	}
	inside, after, ok = strings.Cut(rest, end)
	return before, inside, after, ok
}

// taggedCalls takes the calls out of what the assistant says. Where one is not
// a call after all, everything stays as it is.
func taggedCalls(w *walker, text string) (string, []eyrie.ToolCall) {
	if !strings.Contains(text, callOpen) {
		return text, nil
	}
	var calls []eyrie.ToolCall
	var said strings.Builder
	rest := text
	for {
		before, inside, after, ok := cutTag(rest, callOpen, callClose)
		if !ok {
			break
		}
		found, err := callsIn(w, inside)
		if err != nil {
			return text, nil
		}
		calls = append(calls, found...)
		said.WriteString(before)
		rest = after
	}
	if calls == nil {
		return text, nil
	}
	said.WriteString(rest)
	return strings.TrimSpace(said.String()), calls
}

// taggedResults returns the results that a message consists of, or nil.
func taggedResults(text string) []string {
	var results []string
	rest := text
	for strings.TrimSpace(rest) != "" {
		before, inside, after, ok := cutTag(rest, resultOpen, resultClose)
		if !ok || strings.TrimSpace(before) != "" {
			return nil
		}
		results = append(results, strings.Trim(inside, "\r\n"))
		rest = after
	}
	return results
}

// taggedTools returns the tools that a system prompt declares, or nil. Some
// prompts name the tags before they use them.
func taggedTools(text string) []byte {
	for {
		_, rest, ok := strings.Cut(text, toolsOpen)
		if !ok {
			return nil
		}
		if inside, _, ok := strings.Cut(rest, toolsClose); ok {
			if tools := declarations(inside); tools != nil {
				return tools
			}
		}
		text = rest
	}
}

// declarations reads text that is a list of tools, or one tool after the other.
func declarations(text string) []byte {
	var w walker
	text = strings.TrimSpace(text)
	if in, ok := w.literal(text); ok {
		if tools, err := parseTools(in); err == nil {
			return tools
		}
	}
	tools, rest := leadingTools(text)
	if strings.TrimSpace(rest) != "" {
		return nil
	}
	return tools
}

// leadingTools reads the tools that text begins with, one object after the
// other, and returns what follows them.
func leadingTools(text string) (tools []byte, rest string) {
	var all [][]byte
	rest = text
	for {
		trimmed := strings.TrimLeft(rest, " \t\r\n,")
		raw, ok := leadingObject(trimmed)
		if !ok {
			break
		}
		var w walker
		w.reset([]byte(raw))
		tool, err := readTool(&w)
		if err != nil {
			break
		}
		all = append(all, tool)
		rest = trimmed[len(raw):]
	}
	if all == nil {
		return nil, text
	}
	return append(append([]byte("["), bytes.Join(all, []byte(","))...), ']'), rest
}

// leadingObject returns the JSON object that text begins with.
func leadingObject(text string) (string, bool) {
	if !strings.HasPrefix(text, "{") {
		return "", false
	}
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return text[:i+1], true
			}
		}
	}
	return "", false
}
