package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset/internal/lang"
)

// Options say how a set is read and which of its rows are wanted. The zero
// value is ready to use and wants all.
type Options struct {
	// Layout is how rows hold conversations; [Auto] or empty finds out.
	Layout Layout
	// Format is how files hold rows: empty or "auto" finds out; "csv", "tsv" and
	// "text" are told where the name does not say it.
	Format string
	// Columns names the columns of fields that have unusual names.
	Columns map[Field]string
	// Roles names speakers of unusual names.
	Roles map[string]eyrie.Role
	// Images says what becomes of images, video and sound; empty is [DropImages].
	Images Images
	// MaxRow is the most bytes of a row; 0 is [DefaultMaxRow].
	MaxRow int

	// Turns says which turns of a conversation are asked for; empty means all.
	// A prompt holds what these need and no more.
	Turns eyrie.Turns
	// Special reports whether text spells a control token of the model, such
	// as "<|im_end|>". It is asked about every text that would be sent: not
	// about messages of the assistant that the model writes anew. Nil asks
	// nothing.
	Special func(string) bool
	// Count counts the tokens of a prompt. Nil estimates them.
	Count func(*eyrie.Prompt) (int, error)

	// After are sets whose rows come first: a row that one of them has is left
	// out of this one as a duplicate.
	After []*Set
	// Keep is what is wanted of a prompt.
	Keep Keep
	// NearDuplicates leaves out rows that are alike to an earlier one from this
	// share of common runs of words on, such as 0.8. 0 keeps them.
	NearDuplicates float64
	// Evaluation is text that must not be trained on. Nil is none.
	Evaluation *Evaluation
	// Sample keeps so many rows, chosen by Seed. 0 keeps all.
	Sample int
	// Shuffle gives the rows in an order that Seed and their content determine.
	Shuffle bool
	Seed    int64
	// Validation is the share of conversations whose split is
	// [eyrie.Validation]; the others' is [eyrie.Train]. Which is which depends on
	// the content of a conversation and nothing else. 0 leaves the split as the
	// row has it.
	Validation float64
}

// DefaultMaxRow is the most bytes of a row where nothing else is said.
const DefaultMaxRow = 64 << 20

// Images says what becomes of images, video and sound.
type Images string

// What may become of them.
const (
	DropImages   Images = "drop"   // the row is left out, and counted
	SkipImages   Images = "skip"   // the image is left out, and counted; the text stays
	RefuseImages Images = "refuse" // the set is not read further
)

// Keep is what is wanted of a prompt. Zero values want nothing.
type Keep struct {
	Languages []string // codes such as "en"; of the language column, else guessed
	Tools     *bool    // with or without tools
	MinTurns  int
	MaxTurns  int
	MinTokens int // of the prompt
	MaxTokens int
}

// check reports what is wrong with the options.
func (o *Options) check() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch o.Images {
	case "", DropImages, SkipImages, RefuseImages:
	default:
		fault("images %q: want drop, skip or refuse", o.Images)
	}
	for name, role := range o.Roles {
		if !slices.Contains([]eyrie.Role{eyrie.System, eyrie.User, eyrie.Assistant, eyrie.ToolRole}, role) {
			fault("roles: %s is to be %q: want system, user, assistant or tool", name, role)
		}
	}
	for _, l := range o.Keep.Languages {
		if lang.Code(l) == "" {
			fault("keep: languages: %q is no code of a language, such as en or zh", l)
		}
	}
	if o.NearDuplicates < 0 || o.NearDuplicates > 1 {
		fault("near duplicates from a share of %v on: want a share from 0 to 1", o.NearDuplicates)
	}
	if o.Validation < 0 || o.Validation >= 1 {
		fault("a validation share of %v: want one from 0 to below 1", o.Validation)
	}
	if o.Sample < 0 {
		fault("a sample of %d rows: want a number above 0", o.Sample)
	}
	return errors.Join(errs...)
}

// want says what is not as wanted, or "".
func (k *Keep) want(f *facts) string {
	switch {
	case k.Languages != nil && !slices.ContainsFunc(k.Languages, func(l string) bool { return lang.Code(l) == f.language }):
		return fmt.Sprintf("language %s, not %s", f.language, strings.Join(k.Languages, " or "))
	case k.Tools != nil && *k.Tools != f.tools:
		return map[bool]string{true: "tools, and none are wanted", false: "no tools, and they are wanted"}[f.tools]
	case f.turns < k.MinTurns:
		return fmt.Sprintf("%d turns, fewer than %d", f.turns, k.MinTurns)
	case k.MaxTurns > 0 && f.turns > k.MaxTurns:
		return fmt.Sprintf("%d turns, more than %d", f.turns, k.MaxTurns)
	case f.tokens < k.MinTokens:
		return fmt.Sprintf("%d tokens, fewer than %d", f.tokens, k.MinTokens)
	case k.MaxTokens > 0 && f.tokens > k.MaxTokens:
		return fmt.Sprintf("%d tokens, more than %d", f.tokens, k.MaxTokens)
	}
	return ""
}
