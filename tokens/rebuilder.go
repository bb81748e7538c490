package tokens

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// Tokenizer is what a [Rebuilder] needs of a vocabulary. It must be safe for
// concurrent use.
type Tokenizer interface {
	// Encode appends the ids of text, special literals as plain text.
	Encode(dst []int32, text string) []int32
	// EncodeSpecial appends the ids of text, special literals as the control
	// tokens they spell.
	EncodeSpecial(dst []int32, text string) []int32
	// Decode appends the bytes of ids.
	Decode(dst []byte, ids []int32) ([]byte, error)
	// Special returns the id of a control token.
	Special(literal string) (int32, bool)
	// Lookup returns the id of the only token, control tokens among them, with
	// these bytes.
	Lookup(token []byte) (int32, bool)
}

// Rebuilder makes rows for one model. It is immutable and safe for concurrent
// use.
type Rebuilder struct {
	tok        Tokenizer
	tmpl       chat.Template
	form       *form        // nil where the template does not tell how answers are written
	markup     *chat.Markup // nil where that is not known either
	shares     shares
	confidence float64
}

// New returns a Rebuilder for a model's vocabulary and chat template. It fails
// when the template's control tokens are not in the vocabulary.
//
// A template that is no [chat.Answerer] renders prompts; completions are then
// known only where the server returns their ids.
func New(tok Tokenizer, tmpl chat.Template) (*Rebuilder, error) {
	r := &Rebuilder{tok: tok, tmpl: tmpl, shares: Habits(nil).shares(), confidence: Confidence}
	if a, ok := tmpl.(chat.Answerer); ok {
		f, err := newForm(tok, a.Answer())
		if err != nil {
			return nil, fmt.Errorf("tokens: %s: %w", tmpl.Family(), err)
		}
		r.form = f
	} else if m, ok := tmpl.(chat.Marked); ok {
		r.markup, _ = m.Markup()
	}
	return r, nil
}

// With returns a Rebuilder for a lane with the given habits.
func (r *Rebuilder) With(h Habits) *Rebuilder {
	o := *r
	o.shares = h.shares()
	return &o
}

// Confident returns a Rebuilder that certifies rows of which it is sure with
// the given probability, by what it knows of the lane. A smaller one certifies
// more rows of servers that trim, and more wrong ones among them.
func (r *Rebuilder) Confident(p float64) *Rebuilder {
	o := *r
	o.confidence = p
	return &o
}

// Prompt appends the ids of the rendered conversation to dst. Special literals
// become control tokens wherever they stand, as they do on servers.
func (r *Rebuilder) Prompt(dst []int32, c chat.Conversation) ([]int32, error) {
	text, err := r.tmpl.Render(nil, c)
	if err != nil {
		return dst, err
	}
	return r.tok.EncodeSpecial(dst, string(text)), nil
}

// Row makes the row of one answer: the ids of its prompt, of its completion,
// and how they are known. Everything the row says comes from g and a; nothing
// in them is changed or kept.
//
// The prompt is not trained on and the completion is: a row's loss mask is 0
// for every prompt id and 1 for every completion id.
//
// An error means that no row can be made at all: the template refuses the
// conversation, or the completion's written form is not known.
func (r *Rebuilder) Row(g *eyrie.Generation, thinking bool, a *eyrie.Answer) (eyrie.Row, error) {
	prompt, err := r.prompt(g, thinking, a)
	if err != nil {
		return eyrie.Row{}, fmt.Errorf("tokens: generation %s: prompt: %w", g.Key, err)
	}
	completion, err := r.completion(g, thinking, a)
	if err != nil {
		return eyrie.Row{}, fmt.Errorf("tokens: generation %s: completion: %w", g.Key, err)
	}
	return eyrie.Row{
		PromptIDs:     prompt.ids,
		CompletionIDs: completion.ids,
		Known:         together(prompt.known, completion.known),
		Reason:        joinReasons(prompt.reason, completion.reason),
	}, nil
}

// finding is a sequence of ids and how it is known.
type finding struct {
	ids    []int32
	known  eyrie.Known
	reason string
}

func joinReasons(prompt, completion string) string {
	if prompt != "" {
		prompt = "prompt: " + prompt
	}
	if completion != "" {
		completion = "completion: " + completion
	}
	return joinNonEmpty("; ", prompt, completion)
}

func joinNonEmpty(between string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), between)
}

// together is the class of a row, the worse of its parts' classes. No model
// samples a prompt: one whose count is the bill's does not make a completion of
// known bytes less certain.
func together(prompt, completion eyrie.Known) eyrie.Known {
	if completion == eyrie.KnownLogprobs && prompt == eyrie.KnownCounted {
		return completion
	}
	return max(prompt, completion)
}

// completion takes the best source there is.
func (r *Rebuilder) completion(g *eyrie.Generation, thinking bool, a *eyrie.Answer) (finding, error) {
	if len(a.CompletionIDs) > 0 {
		return r.returned(a), nil
	}
	if r.form == nil {
		return finding{}, fmt.Errorf("the written form of %s's answers is not known: only servers that return ids will do", r.tmpl.Family())
	}
	if len(a.Logprobs) == 0 {
		return r.rebuilt(g, thinking, a), nil
	}
	f, err := r.spelled(thinking, a)
	if err == nil {
		return f, nil
	}
	f = r.rebuilt(g, thinking, a)
	if at, ok := r.denied(f.ids, a.Logprobs); ok && f.known.Certified() {
		f.known, f.reason = eyrie.KnownRetokenised, fmt.Sprintf("the logprobs name another token at number %d", at)
	}
	f.reason = joinNonEmpty("; ", f.reason, "the logprobs are not used: "+err.Error())
	return f, nil
}
