package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie/dataset/internal/rowfile"
)

// Reason says why a row was left out. It is a code: it does not change.
type Reason string

// The reasons. A row with several things wrong counts under the first of them
// that is noticed, and under none of the row's where something is wrong with
// its line.
const (
	// What is wrong with the line, or the record.
	TooLong      Reason = "too_long"      // a row above the limit
	BadRecord    Reason = "record"        // a record of CSV that breaks its rules
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

	// What the set already has.
	Duplicate Reason = "duplicate" // the content of an earlier row, of this set or of one before it

	// What the job file leaves out.
	Unwanted      Reason = "unwanted"       // not what keep asks for
	NearDuplicate Reason = "near_duplicate" // nearly the content of an earlier row
	Contaminated  Reason = "contaminated"   // text of an evaluation prompt
	NotSampled    Reason = "not_sampled"    // not among the sample
)

// Lost reports whether rows of this reason are lost: something is wrong with
// them. The others were left out because the set has them already or because
// the job file says so.
func (r Reason) Lost() bool {
	switch r {
	case Duplicate, Unwanted, NearDuplicate, Contaminated, NotSampled:
		return false
	}
	return true
}

// maxExamples is how many rows of each reason a report names.
const maxExamples = 5

// Report is the account of one full pass over a set.
type Report struct {
	Set    string `json:"set"`
	Path   string `json:"path"`
	Layout Layout `json:"layout"` // of the first file
	// Files are the files of the set, in the order in which they are read.
	Files []FileReport `json:"files,omitzero"`
	// Passed lists files of the set's folder that are none of rows.
	Passed []string `json:"passed_over,omitzero"`
	// Rows counts the lines that are not blank. It is Kept and all of Dropped.
	Rows int `json:"rows"`
	Kept int `json:"kept"`
	// Turns counts the answers that the kept prompts ask for.
	Turns int `json:"turns"`
	// Renamed counts the kept rows whose id an earlier row had.
	Renamed int              `json:"renamed"`
	Dropped map[Reason]Count `json:"dropped"`
	Bytes   int64            `json:"bytes"`
	// SHA256 is the file's digest in hex, or for several files the digest of
	// theirs, line by line.
	SHA256  string  `json:"sha256"`
	Content Content `json:"content"` // of the kept rows
}

// FileReport is the account of one file.
type FileReport struct {
	Path   string `json:"path"`
	Format string `json:"format"`
	Layout Layout `json:"layout"`
	Rows   int    `json:"rows"`
	Kept   int    `json:"kept"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Lost counts the rows that were left out because something is wrong with
// them.
func (r *Report) Lost() int {
	n := 0
	for reason, c := range r.Dropped {
		if reason.Lost() {
			n += c.N
		}
	}
	return n
}

// LossRate is the share of rows that are lost, from 0 to 1.
func (r *Report) LossRate() float64 {
	if r.Rows == 0 {
		return 0
	}
	return float64(r.Lost()) / float64(r.Rows)
}

// Count is how often a reason applied, and where first.
type Count struct {
	N        int       `json:"n"`
	Examples []Example `json:"examples"`
}

// Example is one row that was left out.
type Example struct {
	Path string `json:"path"`
	// Line is where the row begins. Rows of Parquet and Arrow have no lines, but
	// a row group or record batch and a place in it. All count from 1.
	Line   int    `json:"line,omitzero"`
	Group  int    `json:"group,omitzero"`
	Row    int    `json:"row,omitzero"`
	Detail string `json:"detail"`
}

// String prints the example as editors understand it.
func (e Example) String() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s:%d/%d: %s", e.Path, e.Group, e.Row, e.Detail)
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Detail)
}

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
		if reason == NotSampled {
			continue // one is as good as the other
		}
		for _, e := range c.Examples {
			fmt.Fprintf(&b, "    %s\n", e)
		}
	}
	return b.String()
}

// drop counts a row that is left out.
func (r *Report) drop(path string, at rowfile.Place, d *drop) {
	if r.Dropped == nil {
		r.Dropped = map[Reason]Count{}
	}
	c := r.Dropped[d.reason]
	c.N++
	if len(c.Examples) < maxExamples {
		c.Examples = append(c.Examples, Example{path, at.Line, at.Group, at.Index, d.Error()})
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
