package jinja

// interp is the state of one render.
type interp struct {
	opts  Options
	vars  *Dict  // what the caller passed
	root  *scope // what the template set at its top level
	out   *buffer
	line  int // of the template, for errors
	depth int // calls inside each other
	nest  int // nodes being evaluated inside each other
	steps int
	lost  bool // see Result.GenerationLost
}

// maxEvalNesting bounds the Go stack: MaxDepth calls of ordinary nesting stay far
// below it.
const maxEvalNesting = 20_000

// step accounts for one unit of work.
func (in *interp) step() {
	if in.steps++; in.steps > in.opts.MaxSteps {
		raise(StepLimit, "rendering takes more than %d steps", in.opts.MaxSteps)
	}
}

// charge accounts for work on n bytes or items. Call it before the work.
func (in *interp) charge(n int) {
	in.steps += n / 16
	in.step()
}

// made accounts for a string that was made and returns it.
func (in *interp) made(s string) string {
	in.reserve(len(s))
	return s
}

// reserve accounts for a string of n bytes that is about to be made.
func (in *interp) reserve(n int) {
	if n > in.opts.MaxOutput || n < 0 {
		raise(OutputLimit, "a string passes %d bytes", in.opts.MaxOutput)
	}
	in.charge(n)
}

// deeper counts one more level of recursion; the caller undoes it with in.nest--.
func (in *interp) deeper() {
	if in.nest++; in.nest > maxEvalNesting {
		raise(RecursionError, "maximum recursion depth exceeded")
	}
}

// enter starts a call; the caller undoes it with in.depth--.
func (in *interp) enter() {
	if in.depth++; in.depth > in.opts.MaxDepth {
		raise(RecursionError, "maximum recursion depth exceeded")
	}
}

// eval evaluates an expression.
func (in *interp) eval(x expr, sc *scope) Value {
	in.step()
	in.deeper()
	v := x.eval(in, sc)
	in.nest--
	return v
}

// exec runs statements until one of them breaks or continues a loop.
func (in *interp) exec(body []stmt, sc *scope) flow {
	in.deeper()
	f := flowNext
	for _, s := range body {
		in.step()
		if f = s.exec(in, sc); f != flowNext {
			break
		}
	}
	in.nest--
	return f
}

// lookup resolves a name: scopes from the inside out, the caller's variables, the
// globals. Names that are nowhere are undefined.
func (in *interp) lookup(sc *scope, name string) Value {
	for ; sc != nil; sc = sc.parent {
		in.steps += len(sc.vars) / 16 // for templates with thousands of variables
		if v, ok := sc.get(name); ok {
			return v
		}
	}
	if v, ok := in.vars.Get(name); ok {
		return v
	}
	if v, ok := globalTable[name]; ok {
		return v
	}
	return undefinedName(name)
}

// scope holds the variables of one frame: the template, one pass of a loop, a
// macro call, a block. Frames have few variables, so a list is enough, and the
// first ones need no memory of their own.
type scope struct {
	parent *scope
	vars   []variable
	first  [3]variable
}

type variable struct {
	name string
	v    Value
}

func newScope(parent *scope) *scope {
	s := &scope{parent: parent}
	s.vars = s.first[:0]
	return s
}

func (s *scope) get(name string) (Value, bool) {
	for i := range s.vars {
		if s.vars[i].name == name {
			return s.vars[i].v, true
		}
	}
	return nil, false
}

func (s *scope) set(name string, v Value) {
	for i := range s.vars {
		if s.vars[i].name == name {
			s.vars[i].v = v
			return
		}
	}
	s.vars = append(s.vars, variable{name, v})
}

// buffer collects output and where generation blocks wrote it.
type buffer struct {
	b     []byte
	spans [][2]int
}

// write appends text to the output.
func (in *interp) write(s string) {
	if len(in.out.b)+len(s) > in.opts.MaxOutput {
		raise(OutputLimit, "the output passes %d bytes", in.opts.MaxOutput)
	}
	in.charge(len(s))
	in.out.b = append(in.out.b, s...)
}

// print appends the text of a value, keeping the spans it carries.
func (in *interp) print(v Value) {
	if m, ok := v.(*marked); ok {
		base := len(in.out.b)
		for _, span := range m.spans {
			in.out.spans = append(in.out.spans, [2]int{base + span[0], base + span[1]})
		}
		in.write(m.text)
		return
	}
	in.write(in.str(v))
}

// printText is print for the results of blocks, which must be strings already.
func (in *interp) printText(v Value) {
	if _, ok := asString(v); !ok {
		raise(TypeError, "sequence item 0: expected str instance, %s found", v.typeName())
	}
	in.print(v)
}

// capture runs a body into a buffer of its own and returns the text.
func (in *interp) capture(body []stmt, sc *scope) (Value, flow) {
	outer := in.out
	in.out = &buffer{}
	f := in.exec(body, sc)
	inner := in.out
	in.out = outer
	return inner.value(in), f
}

func (b *buffer) value(in *interp) Value {
	if len(b.spans) == 0 {
		return String(b.b)
	}
	return &marked{string(b.b), b.spans, in}
}

// marked is a string captured by a macro or block around generation blocks. It
// knows where they wrote, as long as it is only printed or joined to other text.
// Any other use takes the plain text and records that the place was lost.
type marked struct {
	text  string
	spans [][2]int
	in    *interp
}

func (*marked) typeName() string { return "str" }

func (m *marked) use() string {
	m.in.lost = true
	return m.text
}

// joinText concatenates strings, keeping the spans they carry.
func (in *interp) joinText(parts ...Value) Value {
	outer := in.out
	in.out = &buffer{}
	for _, v := range parts {
		in.print(v)
	}
	inner := in.out
	in.out = outer
	return inner.value(in)
}
