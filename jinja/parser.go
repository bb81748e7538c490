package jinja

import (
	"fmt"
	"slices"
	"strings"
)

// maxTemplateNesting bounds how deep blocks, brackets, signs and "not"s may nest
// in a template. CPython's own compiler gives up earlier.
const maxTemplateNesting = 200

// parser builds the statements of a template by recursive descent, one method per
// production.
type parser struct {
	tokens []token
	pos    int
	line   *int // where errors without a line of their own are reported
	depth  int

	// uses lists every variable name in source order. Macros look back over their
	// body in it, and loops check that nobody assigns to "loop".
	uses []nameUse
	// unknown lists filters and tests that do not exist. Those inside an if or an
	// inline if raise only when they run; the others are errors of the template.
	unknown []unknownName

	// late is the first error of those Jinja2 looks for after it has parsed all.
	late *Error

	loops     int      // enclosing loops that break and continue can reach
	endTags   []string // tags being looked for, outermost first
	blockSeen map[string]bool
}

type nameUse struct {
	name string
	how  useKind
	line int
}

type useKind int

const (
	useLoad  useKind = iota
	useStore         // assigned by set or for
	useParam         // bound by a macro's signature or a with block
)

type unknownName struct {
	what, name string
	line       int
}

func parse(src string, line *int) []stmt {
	p := &parser{line: line, blockSeen: map[string]bool{}}
	p.tokens = tokenize(src, line)
	body := p.body()
	p.rejectUnknown(0)
	if p.late != nil {
		panic(p.late)
	}
	return body
}

func (p *parser) peek() token { return p.tokens[p.pos] }

// peek2 is the token after the next.
func (p *parser) peek2() token { return p.tokens[min(p.pos+1, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokenEOF {
		p.pos++
	}
	*p.line = t.line
	return t
}

func (t token) isOp(op string) bool     { return t.kind == tokenOp && t.text == op }
func (t token) isName(name string) bool { return t.kind == tokenName && t.text == name }

func (p *parser) skipOp(op string) bool {
	if p.peek().isOp(op) {
		p.next()
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.peek().isName(name) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(ok bool, what string) token {
	t := p.peek()
	switch {
	case ok:
		return p.next()
	case t.kind == tokenEOF:
		p.fail(t.line, "unexpected end of template, expected %s.", quote(what))
	default:
		p.fail(t.line, "expected token %s, got %s", quote(what), quote(t.String()))
	}
	return t
}

func (p *parser) expectOp(op string) token     { return p.expect(p.peek().isOp(op), op) }
func (p *parser) expectWord(name string) token { return p.expect(p.peek().isName(name), name) }
func (p *parser) expectName() token            { return p.expect(p.peek().kind == tokenName, "name") }
func (p *parser) expectKind(k tokenKind) token {
	return p.expect(p.peek().kind == k, token{kind: k}.String())
}
func (p *parser) fail(line int, f string, a ...any) { p.failAs(SyntaxError, line, f, a...) }

func (p *parser) failAs(kind Kind, line int, format string, args ...any) {
	panic(&Error{Kind: kind, Line: line, Msg: fmt.Sprintf(format, args...)})
}

// nested runs one level deeper and refuses templates without end to their nesting.
func (p *parser) nested() func() {
	if p.depth++; p.depth > maxTemplateNesting {
		p.failAs(RecursionError, p.peek().line, "the template nests more than %d levels deep", maxTemplateNesting)
	}
	return func() { p.depth-- }
}

// failLate notes an error to raise once the whole template has been parsed.
func (p *parser) failLate(line int, format string, args ...any) {
	if p.late == nil {
		p.late = &Error{Kind: AssertionError, Line: line, Msg: fmt.Sprintf(format, args...)}
	}
}

// rejectUnknown makes unknown filters and tests met since mark errors.
func (p *parser) rejectUnknown(mark int) {
	for _, u := range p.unknown[mark:] {
		p.failLate(u.line, "No %s named %s.", u.what, quote(u.name))
	}
	p.unknown = p.unknown[:mark]
}

// forgiveUnknown leaves the unknown names met since mark to run time.
func (p *parser) forgiveUnknown(mark int) { p.unknown = p.unknown[:mark] }

// body parses text and statements up to one of the end tags, which stays the next
// token; without end tags, up to the end of the template.
func (p *parser) body(endTags ...string) []stmt {
	p.endTags = append(p.endTags, endTags...)
	defer func() { p.endTags = p.endTags[:len(p.endTags)-len(endTags)] }()
	var out []stmt
	for {
		switch t := p.next(); t.kind {
		case tokenEOF:
			if len(endTags) > 0 {
				p.fail(t.line, "Unexpected end of template. Jinja was looking for the following tags: %s.", orList(endTags))
			}
			return out
		case tokenData:
			out = append(out, &dataStmt{t.text})
		case tokenVarBegin:
			line := p.peek().line
			out = append(out, &printStmt{p.tuple(fullTuple), line})
			p.expectKind(tokenVarEnd)
		case tokenBlockBegin:
			if n := p.peek(); n.kind == tokenName && slices.Contains(endTags, n.text) {
				return out
			}
			out = append(out, p.statement()...)
			p.expectKind(tokenBlockEnd)
		}
	}
}

// block parses the rest of an opening tag and the body after it, and consumes the
// name of the end tag, which it returns.
func (p *parser) block(endTags ...string) ([]stmt, string) {
	p.skipOp(":") // Python's colon is tolerated
	p.expectKind(tokenBlockEnd)
	body := p.body(endTags...)
	return body, p.next().text
}

// frame parses a block that is a scope of its own, in which unknown filters are
// errors again.
func (p *parser) frame(endTag string) []stmt {
	mark := len(p.unknown)
	body, _ := p.block(endTag)
	p.rejectUnknown(mark)
	return body
}

// function parses a block that becomes a function of its own, out of reach of
// break and continue.
func (p *parser) function(endTag string) []stmt {
	outer := p.loops
	p.loops = 0
	defer func() { p.loops = outer }()
	return p.frame(endTag)
}

func orList(tags []string) string {
	quoted := make([]string, len(tags))
	for i, t := range tags {
		quoted[i] = quote(t)
	}
	return strings.Join(quoted, " or ")
}

func (p *parser) statement() []stmt {
	defer p.nested()()
	tag := p.peek()
	if tag.kind != tokenName {
		p.fail(tag.line, "tag name expected")
	}
	p.next()
	switch tag.text {
	case "if":
		return one(p.ifStatement())
	case "for":
		return one(p.forStatement(tag.line))
	case "set":
		return one(p.setStatement(tag.line))
	case "macro":
		return one(p.macroStatement())
	case "call":
		return one(p.callStatement(tag.line))
	case "filter":
		return one(p.filterStatement(tag.line))
	case "with":
		return one(p.withStatement())
	case "print":
		return p.printStatement(tag.line)
	case "block":
		return one(p.blockStatement())
	case "generation":
		def := &macroDef{name: "generation"}
		p.macroBody(def, "endgeneration")
		return one(&generationStmt{def})
	case "break", "continue":
		return one(p.flowStatement(tag))
	case "include", "import", "from", "extends":
		return one(p.loaderStatement(tag.line))
	case "autoescape":
		p.failAs(NotSupported, tag.line, "the autoescape tag")
	}
	p.unknownTag(tag)
	return nil
}

func one(s stmt) []stmt { return []stmt{s} }

func (p *parser) unknownTag(tag token) {
	msg := fmt.Sprintf("Encountered unknown tag %s.", quote(tag.text))
	if slices.Contains(p.endTags, tag.text) {
		msg += " You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for another."
	}
	p.fail(tag.line, "%s", msg)
}

func (p *parser) ifStatement() stmt {
	mark := len(p.unknown)
	s := &ifStmt{}
	for {
		line := p.peek().line
		cond := p.tuple(noCondTuple)
		body, end := p.block("elif", "else", "endif")
		s.branches = append(s.branches, ifBranch{cond, body, line})
		if end == "else" {
			s.otherwise, end = p.block("endif")
		}
		if end == "endif" {
			p.forgiveUnknown(mark)
			return s
		}
	}
}

func (p *parser) forStatement(line int) stmt {
	start := len(p.uses)
	s := &forStmt{line: line}
	s.target = p.target("in", useStore)
	p.expectWord("in")
	s.iter = p.tuple(tupleRule{end: "recursive"})
	mark := len(p.unknown)
	if p.skipName("if") {
		s.filter = p.expression()
	}
	s.recursive = p.skipName("recursive")

	p.loops++
	var end string
	s.body, end = p.block("endfor", "else")
	p.loops--
	if end == "else" {
		outer := p.loops
		if s.recursive {
			p.loops = 0 // a recursive loop is a function
		}
		s.otherwise, _ = p.block("endfor")
		p.loops = outer
	}
	p.rejectUnknown(mark)
	for _, use := range p.uses[start:] {
		if use.how == useStore && use.name == "loop" {
			p.failLate(use.line, "Can't assign to special loop variable in for-loop target")
		}
	}
	return s
}

func (p *parser) setStatement(line int) stmt {
	var to target
	if p.peek2().isOp(".") {
		name := p.expectName().text
		p.use(name, useLoad, line)
		p.next()
		to = &namespaceTarget{name, p.expectName().text}
	} else {
		to = p.target("", useStore)
	}
	if p.skipOp("=") {
		return &setStmt{to, p.tuple(fullTuple), line}
	}
	mark := len(p.unknown)
	filter := p.filters(nil)
	body := p.frame("endset")
	p.rejectUnknown(mark)
	return &setBlockStmt{to, filter, body, line}
}

func (p *parser) macroStatement() stmt {
	mark := len(p.unknown)
	def := &macroDef{name: p.targetName()}
	p.signature(def)
	p.macroBody(def, "endmacro")
	p.rejectUnknown(mark)
	return &macroStmt{def}
}

func (p *parser) callStatement(line int) stmt {
	def := &macroDef{}
	if p.peek().isOp("(") {
		p.signature(def)
	}
	call, ok := p.expression().(*callExpr)
	if !ok {
		p.fail(line, "expected call")
	}
	p.macroBody(def, "endcall")
	return &callStmt{call, def, line}
}

// signature parses the parameters of a macro.
func (p *parser) signature(def *macroDef) {
	p.expectOp("(")
	for !p.peek().isOp(")") {
		if len(def.params) > 0 {
			p.expectOp(",")
		}
		line := p.peek().line
		name := p.expectName().text
		p.checkAssignable(name, line)
		if slices.Contains(def.params, name) {
			p.fail(line, "duplicate argument %s in function definition", quote(name))
		}
		def.params = append(def.params, name)
		p.use(name, useParam, line)
		if p.skipOp("=") {
			def.defaults = append(def.defaults, p.expression())
		} else if len(def.defaults) > 0 {
			p.fail(line, "non-default argument follows default argument")
		}
	}
	p.next()
}

// macroBody parses the body of def and finds out which special names it uses.
func (p *parser) macroBody(def *macroDef, endTag string) {
	start, line := len(p.uses), p.peek().line
	def.body = p.function(endTag)
	special := map[string]bool{"caller": true, "kwargs": true, "varargs": true}
	used := map[string]bool{}
	for _, u := range p.uses[start:] {
		if u.how != useLoad {
			delete(special, u.name)
		} else if special[u.name] {
			used[u.name] = true
		}
	}
	def.usesCaller = used["caller"]
	def.usesKwargs = used["kwargs"] && !slices.Contains(def.params, "kwargs")
	def.usesVarargs = used["varargs"] && !slices.Contains(def.params, "varargs")
	if i := slices.Index(def.params, "caller"); def.usesCaller && i >= 0 && i < len(def.params)-len(def.defaults) {
		p.failLate(line, `When defining macros or call blocks the special "caller" argument must be omitted or be given a default.`)
	}
}

func (p *parser) filterStatement(line int) stmt {
	mark := len(p.unknown)
	filter := p.filters(p.filter(nil, p.expectName()))
	body := p.frame("endfilter")
	p.rejectUnknown(mark)
	return &filterStmt{filter, body, line}
}

func (p *parser) withStatement() stmt {
	s := &withStmt{}
	for p.peek().kind != tokenBlockEnd {
		if len(s.targets) > 0 {
			p.expectOp(",")
		}
		s.targets = append(s.targets, p.target("", useParam))
		p.expectOp("=")
		s.values = append(s.values, p.expression())
	}
	s.body = p.frame("endwith")
	return s
}

func (p *parser) printStatement(line int) []stmt {
	var out []stmt
	for p.peek().kind != tokenBlockEnd {
		if len(out) > 0 {
			p.expectOp(",")
		}
		out = append(out, &printStmt{p.expression(), line})
	}
	return out
}

func (p *parser) blockStatement() stmt {
	name := p.expectName()
	if p.blockSeen[name.text] {
		p.failLate(name.line, "block %s defined twice", quote(name.text))
	}
	p.blockSeen[name.text] = true
	if p.peek().isName("scoped") || p.peek().isName("required") {
		p.failAs(NotSupported, name.line, "scoped and required blocks")
	}
	body := p.function("endblock")
	p.skipName(name.text)
	return &blockStmt{body}
}

func (p *parser) flowStatement(tag token) stmt {
	if p.loops == 0 {
		p.fail(tag.line, "%s outside loop", quote(tag.text))
	}
	if tag.text == "break" {
		return &flowStmt{flowBreak}
	}
	return &flowStmt{flowContinue}
}

// loaderStatement skips over the rest of the tag: running it fails anyway.
func (p *parser) loaderStatement(line int) stmt {
	for p.peek().kind != tokenBlockEnd && p.peek().kind != tokenEOF {
		p.next()
	}
	return &loaderStmt{line}
}

// target parses what an assignment or loop stores into: a name, or a tuple of
// targets. The word end, if any, ends a tuple.
func (p *parser) target(end string, how useKind) target {
	line, start := p.peek().line, len(p.uses)
	x := p.tuple(tupleRule{simple: true, end: end})
	for i := range p.uses[start:] {
		p.uses[start+i].how = how
	}
	return p.asTarget(x, line)
}

func (p *parser) asTarget(x expr, line int) target {
	switch x := x.(type) {
	case *nameExpr:
		return &nameTarget{x.name}
	case *tupleExpr:
		items := make([]target, len(x.items))
		for i, item := range x.items {
			items[i] = p.asTarget(item, line)
		}
		return &tupleTarget{items}
	}
	p.fail(line, "can't assign to %s", quote(nodeName(x)))
	return nil
}

// nodeName is Jinja2's name for the few nodes that can stand where a target should.
func nodeName(x expr) string {
	switch x.(type) {
	case *listExpr:
		return "list"
	case *dictExpr:
		return "dict"
	}
	return "const"
}

// targetName parses a target that must be a single name.
func (p *parser) targetName() string {
	t := p.expectName()
	p.checkAssignable(t.text, t.line)
	return t.text
}

func (p *parser) checkAssignable(name string, line int) {
	switch name {
	case "true", "false", "none", "True", "False", "None":
		p.fail(line, "can't assign to 'name'")
	}
}

func (p *parser) use(name string, how useKind, line int) {
	p.uses = append(p.uses, nameUse{name, how, line})
}
