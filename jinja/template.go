package jinja

import (
	"time"
	"unicode/utf8"
)

// Template is a parsed template. It is immutable and safe for concurrent use.
type Template struct {
	name string
	body []stmt
}

// Options bounds one render. The zero value is ready to use.
type Options struct {
	// Now is what strftime_now prints, read in its own location. Zero makes that
	// function an error, so that no prompt depends on the clock by accident.
	Now time.Time

	MaxDepth  int // macro and recursive loop calls inside each other; 0 is 200
	MaxSteps  int // units of work, about one per expression or 16 bytes; 0 is 10 million
	MaxOutput int // bytes of the result and of any string made on the way; 0 is 64 MiB
}

func (o Options) withDefaults() Options {
	def := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	def(&o.MaxDepth, 200)
	def(&o.MaxSteps, 10_000_000)
	def(&o.MaxOutput, 64<<20)
	return o
}

// Result is a rendered template.
type Result struct {
	// Text is valid UTF-8.
	Text string
	// Generation lists the byte ranges [start, end) of Text that {% generation %}
	// blocks wrote, in the order in which the blocks ended.
	Generation [][2]int
	// GenerationLost reports that the template cut, compared or filtered the text of
	// a generation block before printing it, so that its place in Text is unknown.
	// Generation is then incomplete and must not be used as a loss mask.
	GenerationLost bool
}

// Parse compiles a template. The name only appears in errors, which are of type
// *Error.
func Parse(name, src string) (t *Template, err error) {
	line := 0
	defer catch(name, &line, &err)
	return &Template{name: name, body: parse(src, &line)}, nil
}

// Render runs the template over the variables, which may be nil. Errors are of
// type *Error; the Result is then empty.
func (t *Template) Render(vars *Dict, opts Options) (res Result, err error) {
	if vars == nil {
		vars = &Dict{}
	}
	in := &interp{opts: opts.withDefaults(), vars: vars, root: newScope(nil)}
	in.out = &buffer{}
	defer catch(t.name, &in.line, &err)
	in.exec(t.body, in.root)
	if !utf8.Valid(in.out.b) {
		in.line = 0
		raise(EncodeError, "the text contains half of a surrogate pair, or bytes that are not UTF-8")
	}
	return Result{string(in.out.b), in.out.spans, in.lost}, nil
}
