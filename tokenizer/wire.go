package tokenizer

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// configFile is what this package uses of tokenizer_config.json.
type configFile struct {
	Class string                `json:"tokenizer_class"`
	Added map[string]addedToken `json:"added_tokens_decoder"`
}

// addedToken describes a token outside the vocabulary, the same way in
// tokenizer_config.json and in tokenizer.json. Only in the latter the id is a
// field.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// hfFile is what this package uses of tokenizer.json. Truncation and padding
// are the business of whoever calls.
type hfFile struct {
	Added         []addedToken   `json:"added_tokens"`
	Normalizer    *hfStep        `json:"normalizer"`
	PreTokenizer  *hfStep        `json:"pre_tokenizer"`
	PostProcessor *hfStep        `json:"post_processor"`
	Decoder       *hfStep        `json:"decoder"`
	Model         jsontext.Value `json:"model"`
}

// hfStep is a normalizer, pre-tokenizer, post-processor or decoder: a type and
// the fields of all types together.
type hfStep struct {
	Type string `json:"type"`

	// Sequence, under one name or another.
	Normalizers   []hfStep `json:"normalizers"`
	PreTokenizers []hfStep `json:"pretokenizers"`
	Processors    []hfStep `json:"processors"`
	Decoders      []hfStep `json:"decoders"`

	// Split.
	Pattern  hfPattern `json:"pattern"`
	Behavior string    `json:"behavior"`
	Invert   bool      `json:"invert"`

	// ByteLevel.
	AddPrefixSpace *bool `json:"add_prefix_space"`
	UseRegex       *bool `json:"use_regex"`

	// Digits.
	IndividualDigits bool `json:"individual_digits"`

	// TemplateProcessing.
	Single        []hfTemplatePiece          `json:"single"`
	SpecialTokens map[string]hfTemplateToken `json:"special_tokens"`
}

type hfPattern struct {
	Regex  string  `json:"Regex"`
	String *string `json:"String"`
}

// hfTemplatePiece is a token or the place of the text.
type hfTemplatePiece struct {
	SpecialToken *struct {
		ID string `json:"id"`
	} `json:"SpecialToken"`
	Sequence *struct {
		ID string `json:"id"`
	} `json:"Sequence"`
}

type hfTemplateToken struct {
	IDs []int32 `json:"ids"`
}

// hfModel is the model of tokenizer.json.
type hfModel struct {
	Type         string           `json:"type"`
	Dropout      float64          `json:"dropout"`
	Prefix       string           `json:"continuing_subword_prefix"`
	Suffix       string           `json:"end_of_word_suffix"`
	IgnoreMerges bool             `json:"ignore_merges"`
	ByteFallback bool             `json:"byte_fallback"`
	Vocab        map[string]int32 `json:"vocab"`
	Merges       jsontext.Value   `json:"merges"` // see eachMerge
}

// eachMerge reads a list of merges, each written as ["a","b"] or as "a b". The
// slices it passes to use are good until use returns. There may be half a
// million, so nothing is allocated for each.
func eachMerge(name string, list jsontext.Value, use func(i int, left, right []byte) error) error {
	dec := jsontext.NewDecoder(bytes.NewReader(list))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
		return fmt.Errorf("tokenizer: %s: merges are no list", name)
	}
	m := mergeReader{dec: dec}
	for i := 0; dec.PeekKind() != ']'; i++ {
		if err := m.next(); err != nil {
			return fmt.Errorf("tokenizer: %s: merge %d: %w", name, i, err)
		}
		if err := use(i, m.left, m.right); err != nil {
			return err
		}
	}
	return nil
}

// mergeReader reads merges one by one.
type mergeReader struct {
	dec         *jsontext.Decoder
	left, right []byte // of the last merge
}

func (m *mergeReader) next() error {
	m.left, m.right = m.left[:0], m.right[:0]
	if m.dec.PeekKind() == '[' {
		return m.pair()
	}
	if err := m.text(&m.left); err != nil {
		return err
	}
	space := bytes.IndexByte(m.left, ' ')
	if space < 0 || bytes.IndexByte(m.left[space+1:], ' ') >= 0 {
		return fmt.Errorf("%.40q: want two tokens with a space between them", m.left)
	}
	m.right = append(m.right, m.left[space+1:]...)
	m.left = m.left[:space]
	return nil
}

// pair reads a merge written as a list of two.
func (m *mergeReader) pair() error {
	if _, err := m.dec.ReadToken(); err != nil {
		return err
	}
	if err := errors.Join(m.text(&m.left), m.text(&m.right)); err != nil {
		return err
	}
	tok, err := m.dec.ReadToken()
	if err == nil && tok.Kind() != ']' {
		err = errors.New("want two tokens")
	}
	return err
}

// text reads a string and appends it to dst.
func (m *mergeReader) text(dst *[]byte) error {
	value, err := m.dec.ReadValue()
	if err != nil {
		return err
	}
	*dst, err = jsontext.AppendUnquote(*dst, value)
	return err
}

// decodeJSON reads a file written by other programs: unknown fields pass, and
// of duplicate names the last one counts, as in the libraries that normally
// read these files.
func decodeJSON(name string, data []byte, v any) error {
	if err := json.Unmarshal(data, v, jsontext.AllowDuplicateNames(true)); err != nil {
		return fmt.Errorf("tokenizer: %s: %w", name, err)
	}
	return nil
}

// firstMember returns the text of an object's member, if that is text and the
// first of them, and else nothing: a big object is not read through for it.
func firstMember(object jsontext.Value, name string) (string, error) {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if object == nil || d.PeekKind() != '{' {
		return "", errors.New("missing, or no object")
	}
	for range 2 { // the brace and the name
		tok, err := d.ReadToken()
		if err != nil {
			return "", err
		}
		if tok.Kind() == '"' && tok.String() != name || tok.Kind() == '}' {
			return "", nil
		}
	}
	if d.PeekKind() != '"' {
		return "", nil
	}
	tok, err := d.ReadToken()
	return tok.String(), err
}
