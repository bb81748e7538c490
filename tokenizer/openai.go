package tokenizer

import (
	"fmt"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/bpe"
)

// encoding is one of OpenAI's vocabularies. The file has no room for added
// tokens and pattern, so they are here, as is the number of tokens, by which a
// file cut short is noticed.
type encoding struct {
	family  string
	size    int
	pattern string
	added   []addedToken
}

// openAI maps the usual file names to what the files leave out.
var openAI = map[string]encoding{
	"cl100k_base.tiktoken": {"cl100k", 100_256, cl100kPattern, []addedToken{
		{ID: 100_257, Content: "<|endoftext|>", Special: true},
		{ID: 100_258, Content: "<|fim_prefix|>", Special: true},
		{ID: 100_259, Content: "<|fim_middle|>", Special: true},
		{ID: 100_260, Content: "<|fim_suffix|>", Special: true},
		{ID: 100_276, Content: "<|endofprompt|>", Special: true},
	}},
	"o200k_base.tiktoken": {"o200k", 199_998, o200kPattern, []addedToken{
		{ID: 199_999, Content: "<|endoftext|>", Special: true},
		{ID: 200_018, Content: "<|endofprompt|>", Special: true},
	}},
}

// readOpenAI reads one of OpenAI's files.
func readOpenAI(name string, data []byte, _ *configFile) (*recipe, error) {
	tokens, err := parseTiktoken(name, data)
	if err != nil {
		return nil, err
	}
	e := openAI[name]
	if len(tokens) != e.size {
		return nil, fmt.Errorf("tokenizer: %s: %d tokens, want %d: the file is not complete or not what its name says",
			name, len(tokens), e.size)
	}
	return &recipe{
		family:   e.family,
		file:     name,
		merging:  bpe.Vocabulary{Tokens: tokens, WholeFirst: true},
		added:    e.added,
		patterns: []string{e.pattern},
	}, nil
}
