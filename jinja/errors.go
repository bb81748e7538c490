package jinja

import (
	"fmt"
	"strings"
)

// Kind says what went wrong, in the name of the Python exception that the same
// template raises in Jinja2. The last four kinds have no counterpart there, or
// only a rough one.
type Kind string

const (
	SyntaxError         Kind = "TemplateSyntaxError"    // the template does not parse
	AssertionError      Kind = "TemplateAssertionError" // an unknown filter or test, a misuse found while parsing
	RaisedError         Kind = "TemplateError"          // the template called raise_exception
	UndefinedError      Kind = "UndefinedError"         // an undefined value was used
	RuntimeError        Kind = "TemplateRuntimeError"   // the language was misused while rendering
	SecurityError       Kind = "SecurityError"          // the sandbox forbids it
	FilterArgumentError Kind = "FilterArgumentError"    // a filter refuses its arguments
	TypeError           Kind = "TypeError"
	ValueError          Kind = "ValueError"
	KeyError            Kind = "KeyError"
	IndexError          Kind = "IndexError"
	AttributeError      Kind = "AttributeError"
	OverflowError       Kind = "OverflowError"
	ZeroDivisionError   Kind = "ZeroDivisionError"
	PythonAssertion     Kind = "AssertionError"     // an assert inside a filter
	PythonRuntimeError  Kind = "RuntimeError"       // a cycler without items
	EncodeError         Kind = "UnicodeEncodeError" // the text holds half a surrogate pair

	RecursionError Kind = "RecursionError" // Options.MaxDepth, or nesting beyond reason
	StepLimit      Kind = "StepLimit"      // Options.MaxSteps
	OutputLimit    Kind = "OutputLimit"    // Options.MaxOutput
	NotSupported   Kind = "NotSupported"   // Python has it, this package does not
)

// Error is the only type of error this package returns for a template, whether
// it fails to parse or to render.
type Error struct {
	Name string // the template's name, as given to Parse
	Line int    // line of the template, counted from 1; 0 when unknown
	Kind Kind
	Msg  string // Python's message, in most cases word for word
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("jinja: ")
	if e.Name != "" {
		b.WriteString(e.Name + ": ")
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	return b.String() + string(e.Kind) + ": " + e.Msg
}

// raise ends the parse or render in progress with an error.
//
// An expression evaluator fails anywhere, in hundreds of places, and nothing on
// the way up can do more than pass the failure on. So it travels as a panic with
// a value of its own type and becomes an ordinary error in catch, at the entry
// points of the package, exactly as text/template does it.
func raise(kind Kind, format string, args ...any) {
	panic(&Error{Kind: kind, Msg: fmt.Sprintf(format, args...)})
}

// catch turns the panic of raise into an error. Deferred by entry points; line is
// read when the panic arrives, for errors that do not know theirs.
func catch(name string, line *int, err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		r.Name = name
		if r.Line == 0 {
			r.Line = *line
		}
		*err = r
	default:
		panic(r)
	}
}
