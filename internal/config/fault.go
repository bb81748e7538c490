package config

import (
	"fmt"
	"strings"
)

// Error lists what is wrong with a job file, in the order of the file.
type Error struct {
	Faults []Fault // never empty
}

// Error prints one fault a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Fault is one thing wrong with a job file. Line and Column count from 1, the
// column in characters. They point at the value that is wrong, at the key
// where the key is wrong or has no value, and at the start of the mapping that
// lacks a required field.
type Fault struct {
	File   string
	Line   int
	Column int
	Field  string // such as "datasets[1].name"; empty for the file as a whole
	Found  string // what stands there
	Fix    string // what may stand there, or what to do
}

// String prints the fault as editors understand it: file:line:column: text.
func (f Fault) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", f.File, f.Line, f.Column)
	if f.Field != "" {
		b.WriteString(f.Field)
		b.WriteString(": ")
	}
	fmt.Fprintf(&b, "found %s; %s", f.Found, f.Fix)
	return b.String()
}
