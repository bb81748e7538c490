package tokens_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/tokens"
)

// toy is a vocabulary small enough to count by hand: every byte is a token, and
// so are a few words. The longest token that fits is always taken.
type toy struct {
	words    []string // ids from 256 on
	specials []string // ids from 1000 on
}

var kimiToy = toy{
	words: []string{"The", " cat", " sat", ".", ".\n", "\n", "\n\n", " ", "functions", `{"a"`, `: `, `:`, "1", "}"},
	specials: []string{"<|im_end|>", "<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>",
		"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>",
		"<|tool_call_argument_begin|>", "<|tool_call_end|>", "<think>", "</think>"},
}

func (v toy) Encode(dst []int32, text string) []int32 {
	for text != "" {
		best, id := 1, int32(text[0])
		for i, w := range v.words {
			if len(w) >= best && strings.HasPrefix(text, w) {
				best, id = len(w), int32(256+i)
			}
		}
		dst, text = append(dst, id), text[best:]
	}
	return dst
}

func (v toy) EncodeSpecial(dst []int32, text string) []int32 {
	for text != "" {
		at, which := len(text), -1
		for i, s := range v.specials {
			if j := strings.Index(text, s); j >= 0 && j < at {
				at, which = j, i
			}
		}
		dst = v.Encode(dst, text[:at])
		if which < 0 {
			return dst
		}
		dst = append(dst, int32(1000+which))
		text = text[at+len(v.specials[which]):]
	}
	return dst
}

func (v toy) Decode(dst []byte, ids []int32) ([]byte, error) {
	for i, id := range ids {
		switch {
		case id >= 0 && id < 256:
			dst = append(dst, byte(id))
		case id >= 256 && int(id) < 256+len(v.words):
			dst = append(dst, v.words[id-256]...)
		case id >= 1000 && int(id) < 1000+len(v.specials):
			dst = append(dst, v.specials[id-1000]...)
		default:
			return dst, fmt.Errorf("id %d at %d is not in the vocabulary", id, i)
		}
	}
	return dst, nil
}

func (v toy) Special(literal string) (int32, bool) {
	i := slices.Index(v.specials, literal)
	return int32(1000 + i), i >= 0
}

func (v toy) Lookup(token []byte) (int32, bool) {
	t := string(token) // single bytes that are words as well are those
	if i := slices.Index(v.words, t); i >= 0 {
		return int32(256 + i), true
	}
	if len(t) == 1 {
		return int32(t[0]), true
	}
	return v.Special(t)
}

// kimiTemplate is the built-in template of Kimi-K2.5, which a folder that only
// says its model's type gets.
func kimiTemplate(t testing.TB) chat.Template {
	t.Helper()
	tmpl, err := chat.LoadFS(folder(`{"model_type": "kimi_k25"}`), "kimi")
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func toyRebuilder(t testing.TB) *tokens.Rebuilder {
	t.Helper()
	r, err := tokens.New(kimiToy, kimiTemplate(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var question = &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: "Who sat?"}}}

// bill fills in the counts of an answer whose completion is the given text.
func bill(t testing.TB, r *tokens.Rebuilder, g *eyrie.Generation, thinking bool, completion string, reasoning int) eyrie.Usage {
	t.Helper()
	prompt, err := r.Prompt(nil, chat.Conversation{Messages: g.Messages, Tools: g.Tools, Thinking: thinking})
	if err != nil {
		t.Fatal(err)
	}
	return eyrie.Usage{
		Given:            true,
		PromptTokens:     len(prompt),
		CompletionTokens: len(kimiToy.EncodeSpecial(nil, completion)),
		ReasoningTokens:  reasoning,
	}
}
