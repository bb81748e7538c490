package bpe

import (
	"fmt"
	"strings"
)

// Special ids as offsets from the first one. The vocabulary reserves 256.
const (
	specialSlots = 256

	imEnd             = 2
	imUser            = 3
	imAssistant       = 4
	imSystem          = 10
	toolSectionBegin  = 11
	toolSectionEnd    = 12
	toolCallBegin     = 13
	toolArgumentBegin = 14
	toolCallEnd       = 15
	imMiddle          = 17
	thinkBegin        = 22
	thinkEnd          = 23
)

// literals names the special tokens that have a name of their own.
var literals = map[ID]string{
	0: "[BOS]", 1: "[EOS]",
	imEnd: "<|im_end|>", imUser: "<|im_user|>", imAssistant: "<|im_assistant|>",
	6: "<|start_header_id|>", 7: "<|end_header_id|>",
	9: "[EOT]", imSystem: "<|im_system|>",
	toolSectionBegin: "<|tool_calls_section_begin|>", toolSectionEnd: "<|tool_calls_section_end|>",
	toolCallBegin: "<|tool_call_begin|>", toolArgumentBegin: "<|tool_call_argument_begin|>", toolCallEnd: "<|tool_call_end|>",
	imMiddle: "<|im_middle|>",
	18:       "<|media_begin|>", 19: "<|media_content|>", 20: "<|media_end|>", 21: "<|media_pad|>",
	thinkBegin: "<think>", thinkEnd: "</think>",
	254: "[UNK]", 255: "[PAD]",
}

func (v *Vocabulary) addSpecials() {
	v.first = ID(len(v.tokens))
	v.special = make(map[string]ID, specialSlots)
	for n := range ID(specialSlots) {
		literal, ok := literals[n]
		if !ok {
			literal = fmt.Sprintf("<|reserved_token_%d|>", v.first+n)
		}
		v.special[literal] = v.first + n
		v.tokens = append(v.tokens, []byte(literal))
	}
}

// EndTurn returns the id with which the model ends a turn, <|im_end|>.
func (v *Vocabulary) EndTurn() ID { return v.first + imEnd }

// EndThink returns the id of </think>.
func (v *Vocabulary) EndThink() ID { return v.first + thinkEnd }

// ToolMarkers are the ids around tool calls.
type ToolMarkers struct{ SectionBegin, SectionEnd, CallBegin, ArgumentBegin, CallEnd ID }

// Tools returns the ids around tool calls.
func (v *Vocabulary) Tools() ToolMarkers {
	return ToolMarkers{
		SectionBegin: v.first + toolSectionBegin, SectionEnd: v.first + toolSectionEnd,
		CallBegin: v.first + toolCallBegin, ArgumentBegin: v.first + toolArgumentBegin, CallEnd: v.first + toolCallEnd,
	}
}

// nextSpecial finds the first special literal in text: where it stands, how
// long it is and its id. Without one, it returns len(text) and 0.
//
// Every literal starts with < or [ and holds its closing > or ] only at the
// end, and none is a prefix of another, so a lookup up to the closing mark
// decides.
func (v *Vocabulary) nextSpecial(text string) (at, n int, id ID) {
	for {
		i := strings.IndexAny(text[at:], "<[")
		if i < 0 {
			return len(text), 0, 0
		}
		at += i
		closing := byte('>')
		if text[at] == '[' {
			closing = ']'
		}
		if end := strings.IndexByte(text[at:], closing); end >= 0 {
			if id, ok := v.special[text[at:at+end+1]]; ok {
				return at, end + 1, id
			}
		}
		at++
	}
}
