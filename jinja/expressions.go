package jinja

// This file is the grammar of expressions, from the loosest binding to the
// tightest.

// tupleRule says how a comma-separated list of expressions is read where brackets
// are optional.
type tupleRule struct {
	simple     bool   // only names and literals, as in targets
	cond       bool   // allow the inline if
	end        string // a word that ends the list
	parenthese bool   // inside brackets, where an empty tuple is allowed
}

var (
	fullTuple   = tupleRule{cond: true}
	noCondTuple = tupleRule{}
)

// tuple parses one expression, or several joined by commas, which make a tuple.
func (p *parser) tuple(rule tupleRule) expr {
	var items []expr
	comma := false
	for {
		if len(items) > 0 {
			p.expectOp(",")
		}
		if p.atTupleEnd(rule.end) {
			break
		}
		switch {
		case rule.simple:
			items = append(items, p.primary())
		case rule.cond:
			items = append(items, p.expression())
		default:
			items = append(items, p.or())
		}
		if !p.peek().isOp(",") {
			break
		}
		comma = true
	}
	if !comma && len(items) == 1 {
		return items[0]
	}
	if len(items) == 0 && !rule.parenthese {
		p.fail(p.peek().line, "Expected an expression, got %s", quote(p.peek().String()))
	}
	return &tupleExpr{items}
}

func (p *parser) atTupleEnd(word string) bool {
	t := p.peek()
	return t.kind == tokenVarEnd || t.kind == tokenBlockEnd || t.isOp(")") || word != "" && t.isName(word)
}

// expression parses an expression with its inline ifs.
func (p *parser) expression() expr {
	defer p.nested()()
	mark := len(p.unknown)
	line := p.peek().line
	x := p.or()
	for p.skipName("if") {
		c := &condExpr{then: x, cond: p.or(), line: line}
		if p.skipName("else") {
			c.other = p.expression()
		}
		p.forgiveUnknown(mark)
		x, line = c, p.peek().line
	}
	return x
}

func (p *parser) or() expr {
	x := p.and()
	for p.skipName("or") {
		x = &orExpr{x, p.and()}
	}
	return x
}

func (p *parser) and() expr {
	x := p.not()
	for p.skipName("and") {
		x = &andExpr{x, p.not()}
	}
	return x
}

func (p *parser) not() expr {
	defer p.nested()()
	if p.skipName("not") {
		return &notExpr{p.not()}
	}
	return p.compare()
}

func (p *parser) compare() expr {
	first := p.sum()
	var ops []comparison
	for {
		op := p.comparison()
		if op == "" {
			break
		}
		ops = append(ops, comparison{op, p.sum()})
	}
	if ops == nil {
		return first
	}
	return &compareExpr{first, ops}
}

// comparison consumes a comparison operator, if one stands here.
func (p *parser) comparison() string {
	t := p.peek()
	switch {
	case t.isName("in"):
		p.next()
		return "in"
	case t.isName("not") && p.peek2().isName("in"):
		p.next()
		p.next()
		return "not in"
	case t.kind == tokenOp:
		switch t.text {
		case "==", "!=", "<", "<=", ">", ">=":
			return p.next().text
		}
	}
	return ""
}

// binary parses a left-associative chain of the given operators.
func (p *parser) binary(operand func() expr, ops ...string) expr {
	x := operand()
	for {
		t := p.peek()
		found := false
		for _, op := range ops {
			if t.isOp(op) {
				found = true
			}
		}
		if !found {
			return x
		}
		p.next()
		x = &binaryExpr{t.text, x, operand()}
	}
}

func (p *parser) sum() expr { return p.binary(p.concat, "+", "-") }

// concat parses a chain of "~", which binds tighter than "+".
func (p *parser) concat() expr {
	parts := []expr{p.product()}
	for p.skipOp("~") {
		parts = append(parts, p.product())
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return &concatExpr{parts}
}

func (p *parser) product() expr { return p.binary(p.power, "*", "/", "//", "%") }

// power parses "**", which is left-associative here and binds looser than a sign,
// both unlike Python.
func (p *parser) power() expr {
	return p.binary(func() expr { return p.unary(true) }, "**")
}

func (p *parser) unary(withFilter bool) expr {
	defer p.nested()()
	var x expr
	switch t := p.peek(); {
	case t.isOp("-"), t.isOp("+"):
		p.next()
		x = &signExpr{t.text, p.unary(false)}
	default:
		x = p.primary()
	}
	x = p.postfix(x)
	if withFilter {
		x = p.filtersAndTests(x)
	}
	return x
}

func (p *parser) primary() expr {
	t := p.next()
	switch {
	case t.kind == tokenName:
		return p.name(t)
	case t.kind == tokenString:
		s := t.text
		for p.peek().kind == tokenString {
			s += p.next().text
		}
		return &constExpr{String(s)}
	case t.kind == tokenNumber:
		return &constExpr{t.value}
	case t.isOp("("):
		x := p.tuple(tupleRule{cond: true, parenthese: true})
		p.expectOp(")")
		return x
	case t.isOp("["):
		return &listExpr{p.list("]")}
	case t.isOp("{"):
		return p.dict()
	}
	p.fail(t.line, "unexpected %s", quote(t.String()))
	return nil
}

func (p *parser) name(t token) expr {
	switch t.text {
	case "true", "True":
		return &constExpr{Bool(true)}
	case "false", "False":
		return &constExpr{Bool(false)}
	case "none", "None":
		return &constExpr{None}
	case "self", "super":
		p.failAs(NotSupported, t.line, "the special name %s", quote(t.text))
	}
	p.use(t.text, useLoad, t.line)
	return &nameExpr{t.text}
}

func (p *parser) list(end string) []expr {
	var items []expr
	for !p.peek().isOp(end) {
		if len(items) > 0 {
			p.expectOp(",")
			if p.peek().isOp(end) {
				break
			}
		}
		items = append(items, p.expression())
	}
	p.expectOp(end)
	return items
}

func (p *parser) dict() expr {
	d := &dictExpr{}
	for !p.peek().isOp("}") {
		if len(d.keys) > 0 {
			p.expectOp(",")
			if p.peek().isOp("}") {
				break
			}
		}
		d.keys = append(d.keys, p.expression())
		p.expectOp(":")
		d.vals = append(d.vals, p.expression())
	}
	p.expectOp("}")
	return d
}

// postfix parses attributes, subscripts and calls.
func (p *parser) postfix(x expr) expr {
	for {
		switch t := p.peek(); {
		case t.isOp("."):
			x = p.attribute(x)
		case t.isOp("["):
			x = p.subscript(x)
		case t.isOp("("):
			x = p.call(x)
		default:
			return x
		}
	}
}

func (p *parser) attribute(x expr) expr {
	p.next()
	t := p.next()
	if t.kind == tokenName {
		return &attrExpr{x, t.text}
	}
	if _, isFloat := t.value.(Float); t.kind != tokenNumber || isFloat {
		p.fail(t.line, "expected name or number")
	}
	return &itemExpr{x, &constExpr{t.value}}
}

func (p *parser) subscript(x expr) expr {
	line := p.next().line
	var keys []expr
	var slice *sliceExpr
	for !p.peek().isOp("]") {
		if len(keys) > 0 {
			p.expectOp(",")
		}
		var key expr
		if !p.peek().isOp(":") {
			key = p.expression()
		}
		if p.peek().isOp(":") {
			slice = p.slice(x, key)
		}
		keys = append(keys, key)
	}
	p.next()
	switch {
	case slice != nil && len(keys) > 1:
		p.failAs(NotSupported, line, "slices in more than one dimension")
	case slice != nil:
		return slice
	case len(keys) == 1:
		return &itemExpr{x, keys[0]}
	}
	return &itemExpr{x, &tupleExpr{keys}}
}

// slice parses the rest of "start:stop:step"; a nil part was left out.
func (p *parser) slice(x, start expr) *sliceExpr {
	part := func() expr {
		if t := p.peek(); t.isOp(":") || t.isOp("]") || t.isOp(",") {
			return nil
		}
		return p.expression()
	}
	p.next()
	s := &sliceExpr{x: x, start: start, stop: part()}
	if p.skipOp(":") {
		s.step = part()
	}
	return s
}

func (p *parser) call(fn expr) expr {
	line := p.peek().line
	return &callExpr{fn, p.arguments(), line}
}

func (p *parser) arguments() callArgs {
	line := p.next().line
	var a callArgs
	for n := 0; !p.peek().isOp(")"); n++ {
		if n > 0 {
			p.expectOp(",")
			if p.peek().isOp(")") {
				break
			}
		}
		t := p.peek()
		switch {
		case t.isOp("*") && a.star == nil && a.starStar == nil:
			p.next()
			a.star = p.expression()
		case t.isOp("**") && a.starStar == nil:
			p.next()
			a.starStar = p.expression()
		case t.kind == tokenName && p.peek2().isOp("=") && a.starStar == nil:
			p.keyword(&a)
		case !t.isOp("*") && a.star == nil && a.starStar == nil && a.keywords == nil:
			a.pos = append(a.pos, p.expression())
		default:
			p.fail(line, "invalid syntax for function call expression")
		}
	}
	p.next()
	return a
}

func (p *parser) keyword(a *callArgs) {
	t := p.next()
	p.next()
	for _, k := range a.keywords {
		if k.name == t.text {
			p.fail(t.line, "keyword argument repeated: %s", t.text)
		}
	}
	a.keywords = append(a.keywords, keyword{t.text, p.expression()})
}

// filtersAndTests parses what may follow a complete operand.
func (p *parser) filtersAndTests(x expr) expr {
	for {
		switch t := p.peek(); {
		case t.isOp("|"):
			x = p.filters(x)
		case t.isName("is"):
			x = p.test(x)
		case t.isOp("("):
			x = p.call(x)
		default:
			return x
		}
	}
}

// filters parses "| name(args)" as often as it stands here. With nil for x, it
// returns nil if there is none.
func (p *parser) filters(x expr) expr {
	for p.skipOp("|") {
		x = p.filter(x, p.expectName())
	}
	return x
}

// filter parses a filter whose first name has been read.
func (p *parser) filter(x expr, first token) expr {
	f := &filterExpr{x: x, name: p.dotted(first.text), line: first.line}
	if p.peek().isOp("(") {
		f.args = p.arguments()
	}
	if _, ok := filterTable[f.name]; !ok {
		p.unknown = append(p.unknown, unknownName{"filter", f.name, f.line})
	}
	return f
}

func (p *parser) dotted(name string) string {
	for p.skipOp(".") {
		name += "." + p.expectName().text
	}
	return name
}

func (p *parser) test(x expr) expr {
	line := p.next().line
	negated := p.skipName("not")
	t := &testExpr{x: x, name: p.dotted(p.expectName().text), line: line}
	next := p.peek()
	switch {
	case next.isOp("("):
		t.args = p.arguments()
	case next.isName("is"):
		p.fail(next.line, "You cannot chain multiple tests with is")
	case p.startsTestArgument(next):
		t.args.pos = []expr{p.postfix(p.primary())}
	}
	if _, ok := testTable[t.name]; !ok {
		p.unknown = append(p.unknown, unknownName{"test", t.name, line})
	}
	if negated {
		return &notExpr{t}
	}
	return t
}

// startsTestArgument tells whether t begins the argument of a test written
// without brackets, as in "is divisibleby 3".
func (p *parser) startsTestArgument(t token) bool {
	switch t.kind {
	case tokenName:
		return t.text != "else" && t.text != "or" && t.text != "and"
	case tokenString, tokenNumber:
		return true
	}
	return t.isOp("[") || t.isOp("{")
}
