package dataset

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset/internal/lang"
)

// Content says what kept rows are made of.
type Content struct {
	// Tokens are those of the prompts, without the answers that will stand
	// between their turns. Exact says that they were counted; else they are
	// estimated, and may be a third off.
	Tokens    int64 `json:"prompt_tokens"`
	MaxTokens int   `json:"longest_prompt_tokens"`
	Exact     bool  `json:"tokens_exact"`
	Systems   int   `json:"system_prompts"` // rows with one
	Reasoning int   `json:"reasoning"`      // rows whose answers reason
	Tools     int   `json:"tools"`          // rows that declare tools
	Calls     int   `json:"tool_calls"`
	Results   int   `json:"tool_results"`
	// Images counts images, videos and sounds that were taken out of kept rows.
	Images int `json:"images_left_out,omitzero"`
	// Languages are those of the rows, as their column says or as guessed.
	Languages map[string]int `json:"languages"`
	// Literals are texts that spell a control token of some model and that
	// would be sent, with the rows they stand in.
	Literals   map[string]Count `json:"special_literals,omitzero"`
	Licences   map[string]int   `json:"licences,omitzero"`
	Sources    map[string]int   `json:"sources,omitzero"`
	Categories map[string]int   `json:"categories,omitzero"`
	Splits     map[string]int   `json:"splits,omitzero"`
}

// facts are what is found out about a prompt.
type facts struct {
	tokens   int
	turns    int
	tools    bool
	language string
}

// look finds out about a prompt and holds it against what is wanted.
func (s *Set) look(p *eyrie.Prompt) (*facts, *drop) {
	f := &facts{turns: p.Turns(), tools: usesTools(p), language: language(p)}
	f.tokens = Estimate(p)
	if s.opts.Count != nil {
		if n, err := s.opts.Count(p); err == nil { // what cannot be rendered is given up by name later
			f.tokens = n
		}
	}
	if not := s.opts.Keep.want(f); not != "" {
		return f, dropf(Unwanted, "%s", not)
	}
	if s.opts.Evaluation != nil {
		if of := s.opts.Evaluation.find(p); of != "" {
			return f, dropf(Contaminated, "shares text with %s", of)
		}
	}
	return f, nil
}

// usesTools reports whether a conversation declares tools, calls one or has a
// result of one.
func usesTools(p *eyrie.Prompt) bool {
	for i := range p.Messages {
		if m := &p.Messages[i]; m.Role == eyrie.ToolRole || len(m.ToolCalls) > 0 {
			return true
		}
	}
	return p.Tools != nil
}

// language is what the row's column says, or a guess by what the user says.
func language(p *eyrie.Prompt) string {
	if code := lang.Code(p.Origin.Language); code != "" {
		return code
	}
	var said strings.Builder
	for i := range p.Messages {
		if m := &p.Messages[i]; m.Role == eyrie.User && said.Len() < 4096 {
			said.WriteString(m.Content)
			said.WriteByte('\n')
		}
	}
	return lang.Detect(said.String())
}

// Estimate guesses how many tokens a prompt has, without the answers between
// its turns. It takes a token for four bytes of English and a little more than
// a character of Chinese, which is within a third of most vocabularies.
func Estimate(p *eyrie.Prompt) int {
	const perMessage = 4
	n := estimate(string(p.Tools))
	for i := range p.Messages {
		m := &p.Messages[i]
		n += perMessage
		if m.Role != eyrie.Assistant || p.Given {
			n += estimate(m.Content)
		}
	}
	return n
}

// What a character weighs, in tokens by [perToken].
const (
	asciiWeight = 10
	otherWeight = 17
	wideWeight  = 30 // Chinese, Japanese, Korean
	perToken    = 42
)

// estimate guesses how many tokens a text has.
func estimate(text string) int {
	weight := 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			weight += asciiWeight
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			weight += wideWeight
		} else {
			weight += otherWeight
		}
	}
	return (weight + perToken - 1) / perToken
}

// maxValues bounds the different values of a column that are counted one by
// one; the rest are "other".
const maxValues = 50

// tally counts a value.
func tally(m *map[string]int, value string) {
	if value == "" {
		return
	}
	if *m == nil {
		*m = map[string]int{}
	}
	if _, known := (*m)[value]; !known && len(*m) >= maxValues {
		value = "other"
	}
	(*m)[value]++
}

// add counts a kept row.
func (c *Content) add(p *eyrie.Prompt, f *facts, images int, at Example) {
	c.Tokens += int64(f.tokens)
	c.MaxTokens = max(c.MaxTokens, f.tokens)
	c.Images += images
	if p.Messages[0].Role == eyrie.System {
		c.Systems++
	}
	if p.Tools != nil {
		c.Tools++
	}
	reasons := false
	for i := range p.Messages {
		m := &p.Messages[i]
		c.Calls += len(m.ToolCalls)
		if m.Role == eyrie.ToolRole {
			c.Results++
		}
		reasons = reasons || m.Reasoning != ""
	}
	if reasons {
		c.Reasoning++
	}
	c.literals(p, at)
	tally(&c.Languages, f.language)
	tally(&c.Licences, p.Origin.Licence)
	tally(&c.Sources, p.Origin.Source)
	tally(&c.Categories, p.Origin.Category)
	tally(&c.Splits, p.Split)
}

// literal finds what spells a control token in the common vocabularies.
var literal = regexp.MustCompile(`<[|｜][A-Za-z0-9_▁ -]{1,40}[|｜]>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|\[gMASK\]`)

// mayHold reports whether a text may hold one, at little cost.
func mayHold(text string) bool {
	return strings.Contains(text, "|>") || strings.Contains(text, "｜>") || strings.Contains(text, "[") || strings.Contains(text, "s>") || strings.Contains(text, "_turn>")
}

// literals counts each literal of a row once.
func (c *Content) literals(p *eyrie.Prompt, at Example) {
	seen := map[string]bool{}
	look := func(text, where string) {
		if !mayHold(text) {
			return
		}
		for _, l := range literal.FindAllString(text, -1) {
			if seen[l] {
				continue
			}
			seen[l] = true
			if c.Literals == nil {
				c.Literals = map[string]Count{}
			}
			if _, known := c.Literals[l]; !known && len(c.Literals) >= maxValues {
				continue
			}
			n := c.Literals[l]
			n.N++
			if len(n.Examples) < maxExamples {
				at.Detail = where
				n.Examples = append(n.Examples, at)
			}
			c.Literals[l] = n
		}
	}
	for i := range p.Messages {
		if m := &p.Messages[i]; m.Role != eyrie.Assistant || p.Given {
			look(m.Content, "in what the "+string(m.Role)+" says")
		}
	}
	look(string(p.Tools), "tools")
}
