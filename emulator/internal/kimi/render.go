// Package kimi renders chats into the exact prompt text that Kimi-K2.5 is
// served with, written from the model's chat template.
//
// Every message becomes a head, its text and <|im_end|>. Only the assistant
// turns after the last plain answer keep their reasoning; all earlier think
// blocks are emptied. The prompt ends inside an open think block, or behind an
// empty one when thinking is off.
package kimi

import "strings"

// Options are the template's switches.
type Options struct {
	NoThinking bool // close the think block at once
	NoPrompt   bool // do not open the assistant's turn
}

// Render returns the prompt for messages and tools, both JSON arrays; a
// missing list of tools is the zero Value.
func Render(messages, tools Value, opt Options) string {
	var b strings.Builder
	if len(tools.Items) > 0 {
		b.WriteString("<|im_system|>tool_declare<|im_middle|>")
		b.WriteString(declare(tools))
		b.WriteString("<|im_end|>")
	}
	last := lastAnswer(messages)
	for i, m := range messages.Items {
		b.WriteString(head(m))
		body(&b, m, i > last && !opt.NoThinking)
		b.WriteString("<|im_end|>")
	}
	if !opt.NoPrompt {
		b.WriteString("<|im_assistant|>assistant<|im_middle|><think>")
		if opt.NoThinking {
			b.WriteString("</think>")
		}
	}
	return b.String()
}

func declare(tools Value) string {
	if text, err := TypeScript(tools); err == nil && text != "" {
		return text
	}
	return tools.sorted().Dump(",", ":")
}

// lastAnswer is the place of the last assistant message without tool calls, -1
// without one.
func lastAnswer(messages Value) int {
	for i := len(messages.Items) - 1; i >= 0; i-- {
		calls, _ := messages.Items[i].Get("tool_calls")
		if messages.Items[i].Str("role") == "assistant" && !calls.Truthy() {
			return i
		}
	}
	return -1
}

func head(m Value) string {
	role := m.Str("role")
	name := role
	if n := m.Str("name"); n != "" {
		name = n
	}
	switch role {
	case "user":
		return "<|im_user|>" + name + "<|im_middle|>"
	case "assistant":
		return "<|im_assistant|>" + name + "<|im_middle|>"
	}
	return "<|im_system|>" + name + "<|im_middle|>"
}

func body(b *strings.Builder, m Value, keepReasoning bool) {
	switch m.Str("role") {
	case "assistant":
		b.WriteString("<think>")
		if r, ok := m.Get("reasoning_content"); ok && keepReasoning {
			b.WriteString(r.repr()) // a null is printed as None, as Python does
		}
		b.WriteString("</think>")
		content(b, m)
		if calls, _ := m.Get("tool_calls"); calls.Truthy() {
			toolCalls(b, calls)
		}
	case "tool":
		id := ""
		if v, ok := m.Get("tool_call_id"); ok {
			id = v.repr()
		}
		b.WriteString("## Return of " + id + "\n")
		content(b, m)
	default:
		content(b, m)
	}
}

func content(b *strings.Builder, m Value) {
	c, _ := m.Get("content")
	if c.Kind == '"' {
		b.WriteString(c.Text)
		return
	}
	for _, part := range c.Items {
		switch part.Str("type") {
		case "image", "image_url":
			b.WriteString("<|media_begin|>image<|media_content|><|media_pad|><|media_end|>\n")
		case "video", "video_url":
			b.WriteString("<|kimi_k25_video_placeholder|>")
		default:
			if text, ok := part.Get("text"); ok {
				b.WriteString(text.repr())
			}
		}
	}
}

func toolCalls(b *strings.Builder, calls Value) {
	b.WriteString("<|tool_calls_section_begin|>")
	for _, call := range calls.Items {
		id, _ := call.Get("id")
		f, _ := call.Get("function")
		arguments, ok := f.Get("arguments")
		b.WriteString("<|tool_call_begin|>" + id.repr() + "<|tool_call_argument_begin|>")
		switch {
		case arguments.Kind == '"':
			b.WriteString(arguments.Text)
		case ok:
			b.WriteString(arguments.Dump(", ", ": "))
		}
		b.WriteString("<|tool_call_end|>")
	}
	b.WriteString("<|tool_calls_section_end|>")
}
