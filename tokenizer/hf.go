package tokenizer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/bpe"
	"github.com/eyrie-ai/eyrie/tokenizer/internal/pattern"
)

// hfReader turns a tokenizer.json into a recipe, refusing what the recipe has
// no place for.
type hfReader struct {
	name string
	*recipe
}

// readHF reads a tokenizer.json.
func readHF(name string, data []byte, config *configFile) (*recipe, error) {
	var file hfFile
	if err := decodeJSON(name, data, &file); err != nil {
		return nil, err
	}
	if err := file.addConfigured(config); err != nil {
		return nil, err
	}
	r := hfReader{name, &recipe{file: name, dialect: pattern.Oniguruma}}
	for _, step := range []func() error{
		func() error { return r.modelType(file.Model) },
		func() error { return r.normalizer(file.Normalizer) },
		func() error { return r.preTokenizer(file.PreTokenizer) },
		func() error { return r.decoder(file.Decoder) },
		func() error { return r.postProcessor(file.PostProcessor) },
		func() error { return r.model(&file) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	r.family = familyOf(r.patterns)
	return r.recipe, nil
}

// addConfigured adds the tokens that only tokenizer_config.json has, as
// transformers does.
func (f *hfFile) addConfigured(config *configFile) error {
	if config == nil {
		return nil
	}
	for key, tok := range config.Added {
		if slices.ContainsFunc(f.Added, func(have addedToken) bool { return have.Content == tok.Content }) {
			continue
		}
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil {
			return fmt.Errorf("tokenizer: %s: added_tokens_decoder: id %q: want a number", configName, key)
		}
		tok.ID = int32(id)
		f.Added = append(f.Added, tok)
	}
	return nil
}

// refuse is the error for what is not supported.
func (r hfReader) refuse(format string, args ...any) error {
	return fmt.Errorf("tokenizer: %s: %s is not supported", r.name, fmt.Sprintf(format, args...))
}

func (r hfReader) normalizer(step *hfStep) error {
	switch {
	case step == nil:
	case step.Type == "NFC":
		r.nfc = true
	case step.Type == "Sequence":
		for i := range step.Normalizers {
			if err := r.normalizer(&step.Normalizers[i]); err != nil {
				return err
			}
		}
	default:
		return r.refuse("normalizer %q", step.Type)
	}
	return nil
}

// preTokenizer reads the split patterns. The last step must be ByteLevel,
// behind which there is nothing to split but bytes.
func (r hfReader) preTokenizer(step *hfStep) error {
	if step == nil {
		return r.refuse("a vocabulary without a pre_tokenizer, that is without ByteLevel,")
	}
	steps := flatten(nil, *step)
	for i, s := range steps {
		last := i == len(steps)-1
		if last != (s.Type == "ByteLevel") {
			return r.refuse("pre_tokenizer %q at the end of the sequence or ByteLevel before it", steps[len(steps)-1].Type)
		}
		if err := r.preTokenizerStep(s); err != nil {
			return err
		}
	}
	return nil
}

// flatten appends the steps of a sequence in sequences.
func flatten(dst []hfStep, step hfStep) []hfStep {
	if step.Type != "Sequence" {
		return append(dst, step)
	}
	for _, s := range step.PreTokenizers {
		dst = flatten(dst, s)
	}
	return dst
}

func (r hfReader) preTokenizerStep(s hfStep) error {
	switch s.Type {
	case "ByteLevel":
		if s.AddPrefixSpace != nil && *s.AddPrefixSpace {
			return r.refuse("pre_tokenizer ByteLevel with add_prefix_space")
		}
		if s.UseRegex == nil || *s.UseRegex {
			r.patterns = append(r.patterns, gpt2Pattern)
		}
	case "Digits":
		expr := `\p{N}+`
		if s.IndividualDigits {
			expr = `\p{N}`
		}
		r.patterns = append(r.patterns, expr)
	case "Split":
		expr := s.Pattern.Regex
		if s.Pattern.String != nil {
			expr = regexp.QuoteMeta(*s.Pattern.String)
		}
		if expr == "" {
			return r.refuse("pre_tokenizer Split without a pattern")
		}
		// Removed with invert keeps the matches and drops the rest. These
		// patterns leave no rest.
		covers := expr == cl100kPattern || expr == o200kPattern || expr == qwenPattern || expr == kimiPattern
		if s.Behavior != "Isolated" && !(s.Behavior == "Removed" && s.Invert && covers) {
			return r.refuse("pre_tokenizer Split with behavior %q, invert %t and pattern %q", s.Behavior, s.Invert, expr)
		}
		r.patterns = append(r.patterns, expr)
	default:
		return r.refuse("pre_tokenizer %q", s.Type)
	}
	return nil
}

func (r hfReader) decoder(step *hfStep) error {
	if step == nil || step.Type != "ByteLevel" {
		kind := "none"
		if step != nil {
			kind = step.Type
		}
		return r.refuse("decoder %q: only ByteLevel is; anything else", kind)
	}
	return nil
}

// postProcessor reads the template that wraps a single text.
func (r hfReader) postProcessor(step *hfStep) error {
	switch {
	case step == nil || step.Type == "ByteLevel": // moves offsets only
	case step.Type == "Sequence":
		for i := range step.Processors {
			if err := r.postProcessor(&step.Processors[i]); err != nil {
				return err
			}
		}
	case step.Type == "TemplateProcessing":
		side := &r.before
		for _, piece := range step.Single {
			if piece.Sequence != nil {
				side = &r.after
			}
			if piece.SpecialToken != nil {
				*side = append(*side, step.SpecialTokens[piece.SpecialToken.ID].IDs...)
			}
		}
	default:
		return r.refuse("post_processor %q", step.Type)
	}
	return nil
}

// modelType refuses other kinds of model before anything is read that they do
// not have, or have in another form.
func (r hfReader) modelType(model jsontext.Value) error {
	kind, err := firstMember(model, "type")
	if err != nil {
		return fmt.Errorf("tokenizer: %s: model: %w", r.name, err)
	}
	if kind != "" && kind != "BPE" {
		return r.refuse("model type %q", kind)
	}
	return nil
}

// model reads vocabulary, merges and added tokens.
func (r hfReader) model(file *hfFile) error {
	var m hfModel
	if err := decodeJSON(r.name+": model", file.Model, &m); err != nil {
		return err
	}
	switch {
	case m.Type != "BPE" && (m.Type != "" || m.Merges == nil):
		return r.refuse("model type %q", m.Type)
	case m.Dropout != 0:
		return r.refuse("dropout")
	case m.Prefix != "":
		return r.refuse("continuing_subword_prefix")
	case m.Suffix != "":
		return r.refuse("end_of_word_suffix")
	case m.ByteFallback:
		return r.refuse("byte_fallback")
	}
	r.added = slices.DeleteFunc(file.Added, func(tok addedToken) bool { return tok.Content == "" })
	slices.SortStableFunc(r.added, func(a, b addedToken) int { return cmp.Compare(a.ID, b.ID) })
	for _, tok := range r.added {
		if id, ok := m.Vocab[tok.Content]; ok && id != tok.ID {
			return fmt.Errorf("tokenizer: %s: added token %q has id %d, in the vocabulary it has %d", r.name, tok.Content, tok.ID, id)
		}
	}
	r.merging.WholeFirst = m.IgnoreMerges
	if err := r.vocabulary(m.Vocab); err != nil {
		return err
	}
	return r.merges(&m)
}

// vocabulary turns the byte-level spelling of tokens into bytes. Tokens not
// spelled so cannot occur in text; they are kept for decoding.
func (r hfReader) vocabulary(vocab map[string]int32) error {
	top := int32(-1)
	for text, id := range vocab {
		if id < 0 || id > maxID {
			return fmt.Errorf("tokenizer: %s: token %q has id %d, want one from 0 to %d", r.name, text, id, maxID)
		}
		top = max(top, id)
	}
	r.merging.Tokens = make([]string, top+1)
	r.otherBytes = make(map[int32]string)
	owner := make([]string, top+1)
	for text, id := range vocab {
		if owner[id] != "" {
			first, second := min(text, owner[id]), max(text, owner[id])
			return fmt.Errorf("tokenizer: %s: tokens %q and %q both have id %d", r.name, first, second, id)
		}
		owner[id] = text
		if raw, ok := byteLevel(text); ok {
			r.merging.Tokens[id] = raw
		} else {
			r.otherBytes[id] = text
		}
	}
	return nil
}

// merges turns the halves of merges into ids.
func (r hfReader) merges(m *hfModel) error {
	r.merging.Merges = []bpe.Merge{}
	var both []byte
	return eachMerge(r.name, m.Merges, func(i int, left, right []byte) error {
		both = append(append(both[:0], left...), right...)
		var ids [3]int32
		for k, text := range [3][]byte{left, right, both} {
			id, ok := m.Vocab[string(text)]
			if !ok || r.merging.Tokens[id] == "" {
				return fmt.Errorf("tokenizer: %s: merge %d, %.40q + %.40q: %.40q is not in the vocabulary", r.name, i, left, right, text)
			}
			ids[k] = id
		}
		r.merging.Merges = append(r.merging.Merges, bpe.Merge{Left: ids[0], Right: ids[1], Token: ids[2]})
		return nil
	})
}

// familyOf names a list of split patterns.
func familyOf(patterns []string) string {
	switch {
	case slices.Equal(patterns, []string{deepseekNumbers, deepseekKana, deepseekWords}):
		return "deepseek"
	case len(patterns) != 1:
		return "bpe"
	}
	switch patterns[0] {
	case kimiPattern:
		return "kimi"
	case o200kPattern:
		return "o200k"
	case cl100kPattern:
		return "cl100k"
	case qwenPattern:
		return "qwen"
	case gpt2Pattern:
		return "gpt2"
	}
	return "bpe"
}
