package tokenizer

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/bpe"
)

// kimiClass is the tokenizer_class of Kimi models.
const kimiClass = "TikTokenTokenizer"

// kimiSlots is the number of ids behind the vocabulary that belong to added
// tokens. Those without a name have the literal <|reserved_token_ID|>.
const kimiSlots = 256

// kimiNames are the added tokens of K2.5 by slot. Special ones vanish from text
// when engines skip special tokens.
var kimiNames = [kimiSlots]addedToken{
	0:   {Content: "[BOS]", Special: true},
	1:   {Content: "[EOS]", Special: true},
	2:   {Content: "<|im_end|>", Special: true},
	3:   {Content: "<|im_user|>", Special: true},
	4:   {Content: "<|im_assistant|>", Special: true},
	6:   {Content: "<|start_header_id|>", Special: true},
	7:   {Content: "<|end_header_id|>", Special: true},
	9:   {Content: "[EOT]", Special: true},
	10:  {Content: "<|im_system|>", Special: true},
	11:  {Content: "<|tool_calls_section_begin|>"},
	12:  {Content: "<|tool_calls_section_end|>"},
	13:  {Content: "<|tool_call_begin|>"},
	14:  {Content: "<|tool_call_argument_begin|>"},
	15:  {Content: "<|tool_call_end|>"},
	17:  {Content: "<|im_middle|>", Special: true},
	18:  {Content: "<|media_begin|>", Special: true},
	19:  {Content: "<|media_content|>", Special: true},
	20:  {Content: "<|media_end|>", Special: true},
	21:  {Content: "<|media_pad|>", Special: true},
	22:  {Content: "<think>"},
	23:  {Content: "</think>"},
	254: {Content: "[UNK]", Special: true},
	255: {Content: "[PAD]", Special: true},
}

// readKimi reads a tiktoken.model. The added tokens take their names from the
// configuration, or without one are those of K2.5.
func readKimi(name string, data []byte, config *configFile) (*recipe, error) {
	if config != nil && config.Class != "" && config.Class != kimiClass {
		return nil, fmt.Errorf("tokenizer: %s: tokenizer_class %q: of models with a %s only Kimi's, %s, is supported",
			configName, config.Class, name, kimiClass)
	}
	tokens, err := parseTiktoken(name, data)
	if err != nil {
		return nil, err
	}
	first := int32(len(tokens))
	var named []addedToken
	if config != nil && len(config.Added) > 0 {
		named, err = configured(name, first, config)
	} else {
		named, err = kimiNamed(name, first)
	}
	if err != nil {
		return nil, err
	}
	added := make([]addedToken, kimiSlots)
	for i := range added {
		id := first + int32(i)
		added[i] = addedToken{ID: id, Content: fmt.Sprintf("<|reserved_token_%d|>", id)}
	}
	for _, tok := range named {
		added[tok.ID-first] = tok
	}
	return &recipe{
		family:   "kimi",
		file:     name,
		merging:  bpe.Vocabulary{Tokens: tokens, WholeFirst: true},
		added:    added,
		named:    named,
		patterns: []string{kimiPattern},
		cuts:     true,
	}, nil
}

// kimiTokens is how many tokens the vocabulary of every Kimi model has.
const kimiTokens = 163_584

// kimiNamed returns the named tokens of K2.5 for a vocabulary of n tokens. A file
// that was cut at the end of a line shows by nothing but its number.
func kimiNamed(name string, n int32) ([]addedToken, error) {
	if n != kimiTokens {
		return nil, fmt.Errorf("tokenizer: %s: %d tokens, and Kimi's vocabulary has %d: the file was cut short or is of another model; fetch it again, or put the model's %s beside it",
			name, n, kimiTokens, configName)
	}
	var named []addedToken
	for slot, tok := range kimiNames {
		if tok.Content != "" {
			tok.ID = n + int32(slot)
			named = append(named, tok)
		}
	}
	return named, nil
}

// configured returns the added tokens of a configuration, ordered by id. The
// first one has the id behind the vocabulary, or that was cut short.
func configured(name string, n int32, config *configFile) ([]addedToken, error) {
	if first := slices.MinFunc(slices.Collect(maps.Keys(config.Added)), byNumber); byNumber(first, strconv.Itoa(int(n))) > 0 {
		return nil, fmt.Errorf("tokenizer: %s: %d tokens, and the first behind them has id %s in %s: the file was cut short or is of another model; fetch both again",
			name, n, first, configName)
	}
	var named []addedToken
	for key, tok := range config.Added {
		bad := func(format string, args ...any) error {
			return fmt.Errorf("tokenizer: %s: added_tokens_decoder: id %q: %s", configName, key, fmt.Sprintf(format, args...))
		}
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil || int32(id) < n || int32(id) >= n+kimiSlots {
			return nil, bad("want a number from %d to %d, the ids behind the vocabulary", n, n+kimiSlots-1)
		}
		if tok.LStrip || tok.RStrip || tok.Normalized {
			return nil, bad("lstrip, rstrip and normalized are not supported for this kind of vocabulary")
		}
		tok.ID = int32(id)
		named = append(named, tok)
	}
	slices.SortFunc(named, func(a, b addedToken) int { return cmp.Compare(a.ID, b.ID) })
	return named, nil
}

// byNumber compares numbers by their text; what is none comes first.
func byNumber(a, b string) int {
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return math.MinInt64
		}
		return n
	}
	return cmp.Compare(number(a), number(b))
}
