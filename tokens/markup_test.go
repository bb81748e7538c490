package tokens_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/tokens"
)

// hermesToy is a vocabulary of a model that writes its calls as text.
var hermesToy = toy{words: kimiToy.words, specials: []string{"<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"}}

const hermesTemplate = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{{ "<tool_call>" if false }}<|im_start|>assistant
`

func TestParseMarkup(t *testing.T) {
	tmpl, err := chat.Parse(hermesTemplate)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tokens.New(hermesToy, tmpl)
	if err != nil {
		t.Fatal(err)
	}
	c := tokens.Codec{Rebuilder: r}
	s := eyrie.Sampling{Thinking: true}
	text := "<think>\nThe cat.\n</think>\n\nIt sat.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call><|im_end|>"
	prompt, err := c.Prompt(question, s)
	if err != nil {
		t.Fatal(err)
	}
	ids := hermesToy.EncodeSpecial(nil, text)
	a := &eyrie.Answer{
		PromptIDs: prompt, CompletionIDs: ids, FinishReason: eyrie.FinishStop,
		Usage: eyrie.Usage{Given: true, PromptTokens: len(prompt), CompletionTokens: len(ids), ReasoningTokens: -1},
	}
	if err := c.Read(question, s, a); err != nil {
		t.Fatal(err)
	}
	if a.Reasoning != "The cat." || a.Content != "It sat." || len(a.ToolCalls) != 1 || a.ToolCalls[0].Name != "f" {
		t.Errorf("got %+v", a)
	}
	if err := c.Check(question, s, a); err != nil {
		t.Error(err)
	}
	if stops := c.Stops(); len(stops) != 1 || stops[0] != ids[len(ids)-1] {
		t.Errorf("stops at %v", stops)
	}
	a.CompletionIDs = hermesToy.EncodeSpecial(nil, "It sat.<tool_call>{</tool_call><|im_end|>")
	if err := c.Read(question, s, a); err == nil || !strings.Contains(err.Error(), "Qwen's tool calls") {
		t.Errorf("a call that is no JSON: %v", err)
	}
}

// The families' own templates carry the signs that they are told by.
func TestRealTemplatesAreTold(t *testing.T) {
	shared := os.Getenv("EYRIE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	for name, want := range map[string]bool{
		"miles-qwen3_thinking_2507_and_next_fixed.jinja": true, "NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja": true,
		"deepseek-ai-DeepSeek-V3.1.jinja": true, "trl-glm4moe_training.jinja": true, "meta-llama-Llama-3.1-8B-Instruct.jinja": true,
		"openai-gpt-oss-120b.jinja": false,
	} {
		src, err := os.ReadFile(filepath.Join(shared, "models", "templates", name))
		if err != nil {
			t.Skipf("no templates: %v", err)
		}
		tmpl, err := chat.LoadFS(fstest.MapFS{"chat_template.jinja": {Data: src}}, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, ok := tmpl.(chat.Marked).Markup(); ok != want {
			t.Errorf("%s: its markup is known: %v", name, ok)
		}
	}
}
