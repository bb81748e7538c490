package eyrie

import "fmt"

// Known says how the token ids of a row are known.
type Known uint8

// The ways ids can be known, best first. Only the first three are exported
// unless asked. The first two are never wrong.
const (
	KnownEngine      Known = iota + 1 // ids from the server
	KnownLogprobs                     // token bytes from logprobs
	KnownCounted                      // re-tokenised, and both token counts agree with the bill
	KnownRetokenised                  // re-tokenised, and there was no count to compare
	KnownMismatch                     // re-tokenised, and a count disagrees
)

var knownNames = [...]string{
	KnownEngine:      "engine",
	KnownLogprobs:    "logprobs",
	KnownCounted:     "counted",
	KnownRetokenised: "retokenised",
	KnownMismatch:    "mismatch",
}

// AllKnown lists the classes, best first.
var AllKnown = []Known{KnownEngine, KnownLogprobs, KnownCounted, KnownRetokenised, KnownMismatch}

func (k Known) String() string {
	if int(k) < len(knownNames) && knownNames[k] != "" {
		return knownNames[k]
	}
	return fmt.Sprintf("Known(%d)", k)
}

// Certified reports whether rows of this class are exported without asking.
func (k Known) Certified() bool { return k >= KnownEngine && k <= KnownCounted }

// MarshalText writes the class's name.
func (k Known) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what [Known.MarshalText] wrote.
func (k *Known) UnmarshalText(b []byte) error {
	for i, n := range knownNames {
		if n != "" && n == string(b) {
			*k = Known(i)
			return nil
		}
	}
	return fmt.Errorf("unknown class of ids %q", b)
}

// Row is one generation as token ids: the prompt's, then the completion's.
type Row struct {
	PromptIDs     []int32
	CompletionIDs []int32
	Known         Known
	// Reason says in words why the row has its class, when it is not the
	// best the source could give.
	Reason string
}
