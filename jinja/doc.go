// Package jinja renders chat templates: the Jinja2 language, as strict as
// Python runs it, with no input or output of its own.
//
// A model's chat template is a program, and the reference for what it means is
// Jinja2 3.1 in the settings that Hugging Face transformers chose for it: the
// immutable sandbox, trim_blocks, lstrip_blocks, loop controls, a plain-JSON
// tojson filter, raise_exception and strftime_now. This package reproduces that
// machine, Python's part of it included: dictionaries keep their order,
// integers of any size and floats stay apart, numbers and containers print as
// str and repr print them, and whatever Python refuses is refused here, with
// the same class of error. A renderer that prints something where Python
// raises sends a plausible but wrong prompt, so the refusals matter as much as
// the text.
//
// # Use
//
// [Parse] compiles a template once; the [Template] is immutable and may be
// rendered by many goroutines. [Template.Render] runs it over a [Dict] of
// variables, usually made by [FromJSON], and returns the text together with the
// byte spans that {% generation %} blocks wrote: the parts of a training
// conversation that carry loss. The only thing a template could read from
// outside is the clock, and [Options.Now] is that clock, so equal inputs give
// equal outputs.
//
// # Values
//
// A [Value] is one of [None], [Bool], [Int] (or a larger integer from [BigInt]),
// [Float], [String], [*List] and [*Dict]. The engine has more kinds inside
// (tuples, namespaces, macros, iterators, undefined), which never leave it.
// Values are never changed by rendering and may be shared between renders.
//
// An undefined value prints as nothing, is false, is empty when iterated, and
// raises [UndefinedError] in every other use: the attribute of an undefined
// value is an error, not another undefined one.
//
// # Limits
//
// Templates come from strangers. Recursion, the number of steps and the size of
// every string made on the way are bounded by [Options]; passing a bound is an
// error whose [Kind] tells which. Rendering cannot hang or exhaust memory, and it
// never panics.
//
// # Known differences from Python
//
//   - Where Python would print a memory address (a generator, a method), the
//     result would differ from run to run; it is a [NotSupported] error here.
//   - Template inheritance and inclusion need a loader and always fail, as they do
//     in transformers. The filters urlize, wordwrap, pprint and random, the global
//     lipsum, the autoescape tag, str.encode, complex numbers and the self and
//     super names of blocks are refused as NotSupported.
//   - list.pop and list.clear are refused, as Jinja2 does from 3.1.5 on.
//   - Unicode properties (letter case, printability) come from Go's tables, which
//     may be a version away from those of a given Python.
//   - Jinja2 computes expressions of literals while it compiles, where a slice of a
//     literal None, number or dictionary is undefined; here it is the TypeError that
//     it is everywhere else.
//   - CPython's compiler also refuses templates that nest more than 20 loops, about
//     75 brackets or 100 blocks; here the bound is 200 of any kind.
//   - Powers with a fractional exponent other than a half may differ from C's in
//     the last digit, and only ASCII digits are read as numbers.
//   - Text that holds half a surrogate pair can be processed, as in Python, but a
//     result that still contains one is refused, because it has no UTF-8 form.
package jinja
