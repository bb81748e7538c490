package main

import "fmt"

// kimiPattern is written out here, not shared with package tokenizer, so that
// a slip there is noticed.
const kimiPattern = `[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// kimiAdded returns the ids of Kimi K2.5's added tokens, and the literals of
// those that have a name.
func kimiAdded() (ids map[string]int, named []string) {
	const first = 163_584
	names := map[int]string{
		0: "[BOS]", 1: "[EOS]", 2: "<|im_end|>", 3: "<|im_user|>", 4: "<|im_assistant|>", 6: "<|start_header_id|>", 7: "<|end_header_id|>",
		9: "[EOT]", 10: "<|im_system|>", 11: "<|tool_calls_section_begin|>", 12: "<|tool_calls_section_end|>", 13: "<|tool_call_begin|>",
		14: "<|tool_call_argument_begin|>", 15: "<|tool_call_end|>", 17: "<|im_middle|>", 18: "<|media_begin|>", 19: "<|media_content|>",
		20: "<|media_end|>", 21: "<|media_pad|>", 22: "<think>", 23: "</think>", 254: "[UNK]", 255: "[PAD]",
	}
	ids = make(map[string]int)
	for slot := range 256 {
		name, ok := names[slot]
		if !ok {
			name = fmt.Sprintf("<|reserved_token_%d|>", first+slot)
		} else {
			named = append(named, name)
		}
		ids[name] = first + slot
	}
	return ids, named
}
