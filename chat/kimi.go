package chat

import (
	"fmt"
	"strconv"

	"github.com/eyrie-ai/eyrie"
)

// kimi is one of the templates of the Kimi K2 family that share a layout:
//
//	tools      <|im_system|>tool_declare<|im_middle|>DECLARATION<|im_end|>
//	user       <|im_user|>NAME<|im_middle|>TEXT<|im_end|>
//	assistant  <|im_assistant|>NAME<|im_middle|><think>R</think>TEXT[CALLS]<|im_end|>
//	tool       <|im_system|>NAME<|im_middle|>## Return of ID\nTEXT<|im_end|>
//	others     <|im_system|>NAME<|im_middle|>TEXT<|im_end|>
//
// NAME is the message's name, or its role where it has none.
type kimi struct {
	family string
	source string // sha256 of the template this is
	system string // printed when the conversation does not begin with one
	// typeScript declares tools as TypeScript rather than as JSON.
	typeScript bool
	// switchable templates know thinking=false, and open the block in which
	// the model reasons; the others leave that to the model.
	switchable bool
	// preserves is set where preserve_thinking is known.
	preserves bool
}

var _ Answerer = (*kimi)(nil)

// kimis are the built-in templates.
var kimis = [...]*kimi{kimiK25, kimiK26, kimiK2Thinking}

var (
	kimiK25 = &kimi{
		family:     "kimi-k2.5",
		source:     "27f0a184f44c84b6a9b6ded8f16c876896153bd9a7e878c066cf2bdaaa64ee9c",
		typeScript: true,
		switchable: true,
	}
	kimiK26 = &kimi{
		family:     "kimi-k2.6",
		source:     "8bf859698fd4781c0e1e1c63ce74422aab27e53ccc5f47116317c64cda06132f",
		typeScript: true,
		switchable: true,
		preserves:  true,
	}
	kimiK2Thinking = &kimi{
		family: "kimi-k2-thinking",
		source: "833d0c375531149a922a0f2addf9a66cce8e4503c500fe4ca6a95e9d1ed3c75a",
		system: "You are Kimi, an AI assistant created by Moonshot AI.",
	}
)

// The control tokens of the family.
const (
	imEnd        = "<|im_end|>"
	imUser       = "<|im_user|>"
	imAssistant  = "<|im_assistant|>"
	imSystem     = "<|im_system|>"
	imMiddle     = "<|im_middle|>"
	sectionBegin = "<|tool_calls_section_begin|>"
	sectionEnd   = "<|tool_calls_section_end|>"
	callBegin    = "<|tool_call_begin|>"
	callArgs     = "<|tool_call_argument_begin|>"
	callEnd      = "<|tool_call_end|>"
	thinkBegin   = "<think>"
	thinkEnd     = "</think>"
)

func (k *kimi) Family() string { return k.family }

func (k *kimi) Digest() string { return k.source }

func (k *kimi) Answer() AnswerForm {
	f := kimiAnswer()
	if !k.switchable {
		f.ReasoningBegin, f.AlwaysThinks = thinkBegin, true
	}
	return f
}

// kimiAnswer is how a model answers whose prompt opens the reasoning.
func kimiAnswer() AnswerForm {
	return AnswerForm{
		ReasoningEnd:   thinkEnd,
		SectionBegin:   sectionBegin,
		CallBegin:      callBegin,
		ArgumentsBegin: callArgs,
		CallEnd:        callEnd,
		SectionEnd:     sectionEnd,
		End:            imEnd,
		CallID: func(name string, n int) string {
			return "functions." + name + ":" + strconv.Itoa(n)
		},
	}
}

func (k *kimi) Render(dst []byte, c Conversation) ([]byte, error) {
	dst, err := k.appendTools(dst, c.Tools)
	if err != nil {
		return dst, err
	}
	if k.system != "" && (len(c.Messages) == 0 || c.Messages[0].Role != eyrie.System) {
		dst = appendParts(dst, imSystem, "system", imMiddle, k.system, imEnd)
	}
	keep := k.preserves && c.KeepReasoning
	settled := settledBefore(c.Messages)
	for i := range c.Messages {
		m := &c.Messages[i]
		reasoning := m.Reasoning
		if !keep && (i < settled || k.switchable && !c.Thinking) {
			reasoning = ""
		}
		dst = appendMessage(dst, m, reasoning, c.Arguments)
	}
	dst = appendParts(dst, imAssistant, "assistant", imMiddle)
	switch {
	case !k.switchable:
		return dst, nil
	case c.Thinking:
		return append(dst, thinkBegin...), nil
	}
	return appendParts(dst, thinkBegin, thinkEnd), nil
}

// settledBefore returns how many messages come up to and including the last
// plain answer, one without tool calls. What was reasoned for them is not
// shown any more; it is inside a tool loop that is still open.
func settledBefore(messages []eyrie.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := &messages[i]; m.Role == eyrie.Assistant && len(m.ToolCalls) == 0 {
			return i + 1
		}
	}
	return 0
}

func (k *kimi) appendTools(dst, tools []byte) ([]byte, error) {
	declared, err := parseTools(tools)
	if err != nil || len(declared.items) == 0 {
		return dst, err
	}
	declared.sortKeys()
	dst = appendParts(dst, imSystem, "tool_declare", imMiddle)
	if !k.typeScript {
		return append(appendJSON(dst, &declared, Spaced), imEnd...), nil
	}
	n := len(dst)
	dst, err = appendTypeScript(dst, &declared)
	if err != nil || len(dst) == n {
		// The error is not the caller's: a schema that the model's encoder
		// cannot take, or tools of which none is a function, are declared as
		// JSON.
		dst = appendJSON(dst[:n], &declared, Compact)
	}
	return append(dst, imEnd...), nil
}

// parseTools reads a list of tools. No text and null are an empty list.
func parseTools(tools []byte) (value, error) {
	if len(tools) == 0 {
		return value{}, nil
	}
	v, err := parseValue(tools)
	if err != nil {
		return value{}, fmt.Errorf("chat: tools: %w", err)
	}
	if v.kind != list && v.kind != null {
		return value{}, fmt.Errorf("chat: tools: want a JSON array")
	}
	return v, nil
}

func appendMessage(dst []byte, m *eyrie.Message, reasoning string, form Arguments) []byte {
	who := imSystem
	switch m.Role {
	case eyrie.User:
		who = imUser
	case eyrie.Assistant:
		who = imAssistant
	}
	name := m.Name
	if name == "" {
		name = string(m.Role)
	}
	dst = appendParts(dst, who, name, imMiddle)
	switch m.Role {
	case eyrie.Assistant:
		dst = appendParts(dst, thinkBegin, reasoning, thinkEnd, m.Content)
		dst = appendCalls(dst, m.ToolCalls, form)
	case eyrie.ToolRole:
		dst = appendParts(dst, "## Return of ", m.ToolCallID, "\n", m.Content)
	default:
		dst = append(dst, m.Content...)
	}
	return append(dst, imEnd...)
}

func appendCalls(dst []byte, calls []eyrie.ToolCall, form Arguments) []byte {
	if len(calls) == 0 {
		return dst
	}
	dst = append(dst, sectionBegin...)
	for i := range calls {
		dst = appendParts(dst, callBegin, calls[i].ID, callArgs)
		dst = form.append(dst, calls[i].Arguments)
		dst = append(dst, callEnd...)
	}
	return append(dst, sectionEnd...)
}

// append prints arguments in the form.
func (a Arguments) append(dst []byte, arguments string) []byte {
	if a == AsWritten {
		return append(dst, arguments...)
	}
	if arguments == "" {
		return append(dst, "{}"...)
	}
	v, err := parseValue([]byte(arguments))
	switch {
	case err != nil:
		return append(dst, arguments...)
	case v.kind == text: // templates print strings as they are
		return append(dst, v.text...)
	}
	return appendJSON(dst, &v, Spaced)
}

func appendParts(dst []byte, parts ...string) []byte {
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst
}
