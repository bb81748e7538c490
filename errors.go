package eyrie

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrorKind says what to do about an error.
type ErrorKind uint8

// The decisions an [Error] can call for.
const (
	Again     ErrorKind = iota + 1 // try again, this lane may do it
	Elsewhere                      // try again on another lane if there is one
	Pause                          // no request will succeed for now: ask nothing, then probe
	GiveUp                         // this prompt will not be answered
	StopRun                        // no request will succeed until a person acts
)

func (k ErrorKind) String() string {
	switch k {
	case Again:
		return "again"
	case Elsewhere:
		return "elsewhere"
	case Pause:
		return "pause"
	case GiveUp:
		return "give up"
	case StopRun:
		return "stop"
	}
	return fmt.Sprintf("ErrorKind(%d)", k)
}

// Charged says whether an attempt cost money. Unknown is a real answer: what
// was reserved for the attempt stays reserved until the bill has been read.
type Charged uint8

// The answers to "was it charged".
const (
	ChargedUnknown Charged = iota
	ChargedNo
	ChargedYes
)

func (c Charged) String() string {
	switch c {
	case ChargedNo:
		return "no"
	case ChargedYes:
		return "yes"
	}
	return "unknown"
}

// Error is an error of an attempt or of a stage, with the decision it calls
// for. It prints as a path: operation, subject, cause, and the way out.
type Error struct {
	Op      string // what was being done, such as "openrouter: chat"
	Subject string // on what, such as a lane's tag
	Kind    ErrorKind
	Charged Charged
	// PromptOnly narrows an unknown charge: the vendor answered with an error
	// instead of a completion, and by its own rules bills the prompt at most.
	PromptOnly bool
	// Class names the kind of failure in statistics, such as "429" or
	// "stream cut". It never holds text of the vendor.
	Class string
	Err   error
	Hint  string // what a person can do; empty when nothing
	// RetryAfter is how long the server asked to wait; zero when it did not.
	RetryAfter time.Duration
	// LaneWide is set where the failure says something about the whole lane,
	// as a rate limit does, and not about this request.
	LaneWide bool
}

func (e *Error) Error() string {
	var b strings.Builder
	for _, s := range []string{e.Op, e.Subject} {
		if s != "" {
			b.WriteString(s)
			b.WriteString(": ")
		}
	}
	if e.Err != nil {
		b.WriteString(e.Err.Error())
	} else {
		b.WriteString(e.Class)
	}
	if e.Hint != "" {
		b.WriteString(" (")
		b.WriteString(e.Hint)
		b.WriteString(")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError finds the [Error] in err's chain.
func AsError(err error) (*Error, bool) {
	return errors.AsType[*Error](err)
}

// MarshalText writes the word that String prints.
func (c Charged) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what [Charged.MarshalText] wrote.
func (c *Charged) UnmarshalText(b []byte) error {
	switch string(b) {
	case "no":
		*c = ChargedNo
	case "yes":
		*c = ChargedYes
	case "unknown":
		*c = ChargedUnknown
	default:
		return fmt.Errorf("charged: %q is none of no, yes, unknown", b)
	}
	return nil
}
