package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reason says why a row was left out. It is a code: it does not change.
type Reason string

// The reasons. A row with several things wrong counts under the first of them
// that is noticed, and under none of the row's where something is wrong with
// its line.
const (
	// What is wrong with the line.
	Torn         Reason = "torn"          // a last line that breaks off
	NulByte      Reason = "nul"           // a NUL, raw or as an escape
	BadUTF8      Reason = "utf8"          // bytes that are not UTF-8
	BadJSON      Reason = "json"          // not one JSON object
	LoneHalf     Reason = "surrogate"     // an escape for half of a surrogate pair
	DuplicateKey Reason = "duplicate_key" // an object with the same key twice

	// What is wrong with the row.
	NoMessages    Reason = "no_messages"    // no list of messages, or an empty one
	WrongType     Reason = "type"           // a field of another type than it should be
	UnknownRole   Reason = "role"           // a role that is not known
	Image         Reason = "image"          // an image, video or sound
	UnknownPart   Reason = "part"           // a part of content of unknown type
	BadCall       Reason = "call"           // a tool call that is none
	BadTools      Reason = "tools"          // tools that are none
	TwoSystems    Reason = "two_systems"    // a system column and another system message
	NoUser        Reason = "no_user"        // no message of the user
	StartsWrong   Reason = "starts_wrong"   // the first message after the system's is not the user's
	TwoAssistants Reason = "two_assistants" // two messages of the assistant in a row
	EmptyUser     Reason = "empty_user"     // a message of the user that says nothing
	Special       Reason = "special"        // text that spells a control token
	Duplicate     Reason = "duplicate"      // the content of an earlier row
)

// maxExamples is how many rows of each reason a report names.
const maxExamples = 5

// Report is the account of one full pass over a set.
type Report struct {
	Set    string `json:"set"`
	Path   string `json:"path"`
	Layout Layout `json:"layout"`
	// Rows counts the lines that are not blank. It is Kept and all of Dropped.
	Rows int `json:"rows"`
	Kept int `json:"kept"`
	// Turns counts the answers that the kept prompts ask for.
	Turns int `json:"turns"`
	// Renamed counts the kept rows whose id an earlier row had.
	Renamed int              `json:"renamed"`
	Dropped map[Reason]Count `json:"dropped"`
	Bytes   int64            `json:"bytes"`
	SHA256  string           `json:"sha256"` // of the file, in hex
}

// Count is how often a reason applied, and where first.
type Count struct {
	N        int       `json:"n"`
	Examples []Example `json:"examples"`
}

// Example is one row that was left out.
type Example struct {
	Path   string `json:"path"`
	Line   int    `json:"line"` // from 1
	Detail string `json:"detail"`
}

// String prints the example as editors understand it.
func (e Example) String() string { return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Detail) }

// String prints the report for people, the most frequent reason first.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d rows kept, %d turns, layout %s\n", r.Set, r.Kept, r.Rows, r.Turns, r.Layout)
	if r.Renamed > 0 {
		fmt.Fprintf(&b, "  %d renamed, their id was taken\n", r.Renamed)
	}
	reasons := slices.SortedFunc(maps.Keys(r.Dropped), func(x, y Reason) int {
		if d := r.Dropped[y].N - r.Dropped[x].N; d != 0 {
			return d
		}
		return strings.Compare(string(x), string(y))
	})
	for _, reason := range reasons {
		c := r.Dropped[reason]
		fmt.Fprintf(&b, "  %d left out: %s\n", c.N, reason)
		for _, e := range c.Examples {
			fmt.Fprintf(&b, "    %s\n", e)
		}
	}
	return b.String()
}

// drop counts a row that is left out.
func (r *Report) drop(line int, d *drop) {
	if r.Dropped == nil {
		r.Dropped = map[Reason]Count{}
	}
	c := r.Dropped[d.reason]
	c.N++
	if len(c.Examples) < maxExamples {
		c.Examples = append(c.Examples, Example{r.Path, line, d.Error()})
	}
	r.Dropped[d.reason] = c
}

// drop is a row that is left out.
type drop struct {
	reason Reason
	at     string // the field, such as "messages[2].role"; empty for the row
	detail string
}

func (d *drop) Error() string {
	if d.at == "" {
		return d.detail
	}
	return strings.TrimPrefix(d.at, ".") + ": " + d.detail
}

// dropf makes a drop. Details quote names, never the text of messages.
func dropf(reason Reason, format string, args ...any) *drop {
	return &drop{reason: reason, detail: fmt.Sprintf(format, args...)}
}
