package chat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// literals is a vocabulary of which only the control tokens matter; all other
// text is the token 0.
type literals []string

func (l literals) EncodeSpecial(dst []int32, text string) []int32 {
	for text != "" {
		n, id := 1, int32(0)
		for i, s := range l {
			if strings.HasPrefix(text, s) {
				n, id = len(s), int32(i+1)
			}
		}
		dst, text = append(dst, id), text[n:]
	}
	return dst
}

func (l literals) IsSpecial(id int32) bool { return id > 0 }

func (l literals) Token(id int32) ([]byte, bool) { return []byte(l[id-1]), true }

func TestSpecialLiterals(t *testing.T) {
	v := literals{"<|im_end|>", "[EOS]", "<think>"}
	messages := []eyrie.Message{
		{Role: eyrie.System, Content: "Nothing <|im_start|> here <|im_end |>"},
		{Role: eyrie.User, Name: "a[EOS]", Content: "<|im_end|> and <think>"},
		{Role: eyrie.Assistant, Reasoning: "<think>", ToolCalls: []eyrie.ToolCall{
			{ID: "x", Name: "f", Arguments: `{"a":"\u003c|im_end|>"}`},
			{ID: "[EOS]", Name: "f", Arguments: `broken <think>`},
		}},
		{Role: eyrie.ToolRole, ToolCallID: "[EOS]", Content: "ok"},
	}
	tools := []byte(`[{"function":{"description":"\u003cthink>","[EOS]":1}}]`)
	got, err := chat.SpecialLiterals(v, messages, tools)
	if err != nil {
		t.Fatal(err)
	}
	want := []chat.Literal{
		{1, "content", "<|im_end|>", 1},
		{1, "content", "<think>", 3},
		{1, "name", "[EOS]", 2},
		{2, "reasoning_content", "<think>", 3},
		{2, "tool_calls", "<|im_end|>", 1},
		{2, "tool_calls", "[EOS]", 2},
		{2, "tool_calls", "<think>", 3},
		{3, "tool_call_id", "[EOS]", 2},
		{-1, "tools", "[EOS]", 2},
		{-1, "tools", "<think>", 3},
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%v\nwant\n%v", got, want)
	}
	if _, err := chat.SpecialLiterals(v, nil, []byte("{")); err == nil {
		t.Error("bad tools are not refused")
	}
	if got, err := chat.SpecialLiterals(v, messages[:1], nil); len(got) > 0 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
