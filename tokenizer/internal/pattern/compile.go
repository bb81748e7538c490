package pattern

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Compile reads an expression. The error says at which byte of it what is not
// supported.
func Compile(expr string, d Dialect) (*Regexp, error) {
	p := &parser{src: expr, dialect: d}
	n, err := p.alternation()
	if err == nil && p.pos < len(p.src) {
		err = fmt.Errorf("unmatched %q", p.src[p.pos])
	}
	if err != nil {
		return nil, fmt.Errorf("pattern: byte %d of %q: %w", p.pos, expr, err)
	}
	c := &compiler{}
	c.emit(n)
	c.prog = append(c.prog, inst{op: opMatch})
	return &Regexp{c.prog}, nil
}

// expr is a part of a parsed expression: one of the types below.
type expr any

type (
	one         struct{ set *set }
	sequence    []expr
	alternative []expr
	repeat      struct {
		of         expr
		min, max   int
		possessive bool
	}
	look struct {
		of  expr
		not bool
	}
	anchor op
)

// parser is a recursive descent over src.
type parser struct {
	src     string
	pos     int
	fold    bool
	dialect Dialect
}

func (p *parser) more() bool { return p.pos < len(p.src) }

// take moves past prefix if it is next.
func (p *parser) take(prefix string) bool {
	if !strings.HasPrefix(p.src[p.pos:], prefix) {
		return false
	}
	p.pos += len(prefix)
	return true
}

func (p *parser) rune() rune {
	r, w := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += w
	return r
}

func (p *parser) alternation() (expr, error) {
	var alts alternative
	for {
		n, err := p.sequence()
		if err != nil {
			return nil, err
		}
		alts = append(alts, n)
		if !p.take("|") {
			break
		}
	}
	if len(alts) == 1 {
		return alts[0], nil
	}
	return alts, nil
}

func (p *parser) sequence() (expr, error) {
	var seq sequence
	for p.more() && p.src[p.pos] != '|' && p.src[p.pos] != ')' {
		n, err := p.atom()
		if err != nil {
			return nil, err
		}
		if n, err = p.quantified(n); err != nil {
			return nil, err
		}
		seq = append(seq, n)
	}
	return seq, nil
}

// quantified reads the quantifier behind n, if there is one.
func (p *parser) quantified(n expr) (expr, error) {
	rep := repeat{of: n, min: 0, max: math.MaxInt}
	counted := false
	switch {
	case p.take("*"):
	case p.take("+"):
		rep.min = 1
	case p.take("?"):
		rep.max = 1
	case p.more() && p.src[p.pos] == '{':
		counted = true
		var err error
		if rep.min, rep.max, err = p.counts(); err != nil {
			return nil, err
		}
	default:
		return n, nil
	}
	switch {
	case p.more() && p.src[p.pos] == '?':
		return nil, fmt.Errorf("lazy quantifiers are not supported")
	case p.more() && p.src[p.pos] == '+' && counted:
		return nil, fmt.Errorf("{n,m}+ is not supported: engines read it differently")
	case p.take("+"):
		rep.possessive = true
	}
	if p.more() && strings.IndexByte("*+?{", p.src[p.pos]) >= 0 {
		return nil, fmt.Errorf("a quantifier behind a quantifier is not supported")
	}
	if canBeEmpty(n) {
		return nil, fmt.Errorf("repeating what can be empty is not supported")
	}
	return rep, nil
}

// canBeEmpty reports whether n can match without consuming anything.
func canBeEmpty(n expr) bool {
	switch n := n.(type) {
	case one:
		return false
	case sequence:
		return !slices.ContainsFunc(n, func(e expr) bool { return !canBeEmpty(e) })
	case alternative:
		return slices.ContainsFunc(n, canBeEmpty)
	case repeat:
		return n.min == 0
	}
	return true // anchors and lookaheads
}

// maxCount bounds {n,m}, which is unrolled for groups.
const maxCount = 1000

// counts reads {n}, {n,} or {n,m}.
func (p *parser) counts() (low, high int, err error) {
	body, _, ok := strings.Cut(p.src[p.pos+1:], "}")
	if !ok {
		return 0, 0, fmt.Errorf("unmatched {")
	}
	first, second, isRange := strings.Cut(body, ",")
	if low, err = strconv.Atoi(first); err == nil {
		switch {
		case !isRange:
			high = low
		case second == "":
			high = math.MaxInt
		default:
			high, err = strconv.Atoi(second)
		}
	}
	if err != nil || low < 0 || low > high || low > maxCount || high != math.MaxInt && high > maxCount {
		return 0, 0, fmt.Errorf("count {%s} is not supported", body)
	}
	p.pos += len(body) + 2
	return low, high, nil
}

func (p *parser) atom() (expr, error) {
	switch {
	case p.take("("):
		return p.group()
	case p.take("["):
		s, err := p.class()
		if err != nil {
			return nil, err
		}
		return p.char(s), nil
	case p.take("^"):
		if p.dialect == Oniguruma {
			return anchor(opLineStart), nil
		}
		return anchor(opTextStart), nil
	case p.take("$"):
		if p.dialect == Oniguruma {
			return anchor(opLineEnd), nil
		}
		return anchor(opTextEnd), nil
	case p.take("."):
		return p.char(newSet(func(r rune) bool { return r != '\n' })), nil
	case p.src[p.pos] == '\\':
		s, _, err := p.escape()
		if err != nil {
			return nil, err
		}
		return p.char(s), nil
	case strings.IndexByte("*+?{", p.src[p.pos]) >= 0:
		return nil, fmt.Errorf("quantifier %q without anything before it", p.src[p.pos])
	}
	r := p.rune()
	return p.char(span(r, r)), nil
}

// char makes an expression of a set under the flags in force.
func (p *parser) char(s *set) expr {
	if p.fold {
		s = s.folded()
	}
	return one{s}
}

// group reads what follows an opening parenthesis.
func (p *parser) group() (expr, error) {
	saved := p.fold
	defer func() { p.fold = saved }()
	isLook, not := false, false
	switch {
	case p.take("?:"):
	case p.take("?i:"):
		p.fold = true
	case p.take("?="):
		isLook = true
	case p.take("?!"):
		isLook, not = true, true
	case p.more() && p.src[p.pos] == '?':
		return nil, fmt.Errorf("group (%.4s is not supported", p.src[p.pos:])
	}
	n, err := p.alternation()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, fmt.Errorf("unmatched (")
	}
	if isLook {
		return look{n, not}, nil
	}
	return n, nil
}

// class reads a bracketed class behind its opening bracket.
func (p *parser) class() (*set, error) {
	negated := p.take("^")
	var total *set
	var parts []*set
	for first := true; ; first = false {
		switch {
		case !p.more():
			return nil, fmt.Errorf("unmatched [")
		case p.take("&&"):
			total, parts = intersect(total, parts), nil
			continue
		case !first && p.take("]"):
			s := intersect(total, parts)
			if negated {
				s = s.not()
			}
			return s, nil
		case strings.HasPrefix(p.src[p.pos:], "[:"):
			return nil, fmt.Errorf("[:name:] is not supported")
		case strings.HasPrefix(p.src[p.pos:], "--"), strings.HasPrefix(p.src[p.pos:], "~~"):
			return nil, fmt.Errorf("class operator %.2s is not supported", p.src[p.pos:])
		case p.take("["):
			inner, err := p.class()
			if err != nil {
				return nil, err
			}
			parts = append(parts, inner)
			continue
		}
		s, err := p.classItem()
		if err != nil {
			return nil, err
		}
		parts = append(parts, s)
	}
}

func intersect(total *set, parts []*set) *set {
	s := union(parts)
	if total == nil {
		return s
	}
	return intersection(total, s)
}

// classItem reads a character, a range or an escape inside brackets.
func (p *parser) classItem() (*set, error) {
	s, low, err := p.classChar()
	if err != nil || low < 0 || p.pos+1 >= len(p.src) || p.src[p.pos] != '-' || p.src[p.pos+1] == ']' {
		return s, err
	}
	if strings.HasPrefix(p.src[p.pos:], "--") {
		return nil, fmt.Errorf("class operator -- is not supported")
	}
	p.pos++
	_, high, err := p.classChar()
	if err != nil {
		return nil, err
	}
	if high < low {
		return nil, fmt.Errorf("range from U+%04X to U+%04X", low, high)
	}
	return span(low, high), nil
}

// classChar reads a character, or an escape; for a set of several characters r
// is -1.
func (p *parser) classChar() (s *set, r rune, err error) {
	if p.src[p.pos] == '\\' {
		return p.escape()
	}
	r = p.rune()
	return span(r, r), r, nil
}

// escape reads an escape. For a set of several characters r is -1.
func (p *parser) escape() (s *set, r rune, err error) {
	p.pos++
	if !p.more() {
		return nil, 0, fmt.Errorf("nothing behind the last backslash")
	}
	c := p.rune()
	switch c {
	case 's':
		return spaces(), -1, nil
	case 'S':
		return spaces().not(), -1, nil
	case 'd', 'D':
		s, _ := property("Nd")
		if c == 'D' {
			s = s.not()
		}
		return s, -1, nil
	case 'p', 'P':
		s, err := p.property(c == 'P')
		return s, -1, err
	case 'r':
		r = '\r'
	case 'n':
		r = '\n'
	case 't':
		r = '\t'
	case 'f':
		r = '\f'
	case 'v':
		r = '\v'
	case 'x', 'u':
		if r, err = p.hex(c); err != nil {
			return nil, 0, err
		}
	default:
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf {
			return nil, 0, fmt.Errorf(`escape \%c is not supported`, c)
		}
		r = c
	}
	return span(r, r), r, nil
}

// property reads {name} or a single letter behind \p.
func (p *parser) property(negated bool) (*set, error) {
	var name string
	if p.take("{") {
		var ok bool
		if name, _, ok = strings.Cut(p.src[p.pos:], "}"); !ok {
			return nil, fmt.Errorf("unmatched {")
		}
		p.pos += len(name) + 1
	} else if p.more() {
		name = string(p.rune())
	}
	bare, inner := strings.CutPrefix(name, "^")
	s, err := property(bare)
	if err == nil && negated != inner {
		s = s.not()
	}
	return s, err
}

// hex reads HH or {H…} behind \x, HHHH behind \u.
func (p *parser) hex(kind rune) (rune, error) {
	digits, width := "", 2
	if kind == 'u' {
		width = 4
	}
	if p.take("{") {
		digits, _, _ = strings.Cut(p.src[p.pos:], "}")
		width = len(digits) + 1
	} else if len(p.src)-p.pos >= width {
		digits = p.src[p.pos : p.pos+width]
	}
	n, err := strconv.ParseUint(digits, 16, 21)
	if err != nil || n > utf8.MaxRune || p.pos+width > len(p.src) {
		return 0, fmt.Errorf(`\%c without a code point in hexadecimal`, kind)
	}
	p.pos += width
	return rune(n), nil
}

// compiler turns a parsed expression into a program.
type compiler struct{ prog []inst }

func (c *compiler) add(in inst) int {
	c.prog = append(c.prog, in)
	return len(c.prog) - 1
}

func (c *compiler) emit(n expr) {
	switch n := n.(type) {
	case one:
		c.add(inst{op: opSet, set: n.set})
	case anchor:
		c.add(inst{op: op(n)})
	case sequence:
		for _, e := range n {
			c.emit(e)
		}
	case alternative:
		c.alternatives(n)
	case look:
		kind := opLook
		if n.not {
			kind = opLookNot
		}
		c.sub(kind, n.of)
	case repeat:
		c.repeat(n)
	}
}

func (c *compiler) alternatives(alts alternative) {
	var jumps []int
	for i, alt := range alts {
		if i == len(alts)-1 {
			c.emit(alt)
			break
		}
		split := c.add(inst{op: opSplit})
		c.prog[split].x = len(c.prog)
		c.emit(alt)
		jumps = append(jumps, c.add(inst{op: opJump}))
		c.prog[split].y = len(c.prog)
	}
	for _, j := range jumps {
		c.prog[j].x = len(c.prog)
	}
}

// sub emits a program of its own behind an instruction that runs it.
func (c *compiler) sub(kind op, n expr) {
	at := c.add(inst{op: kind})
	c.prog[at].x = len(c.prog)
	c.emit(n)
	c.add(inst{op: opMatch})
	c.prog[at].y = len(c.prog)
}

func (c *compiler) repeat(n repeat) {
	if o, ok := single(n.of); ok {
		c.add(inst{op: opRun, set: o.set, min: n.min, max: n.max, possessive: n.possessive})
		return
	}
	if n.possessive {
		n.possessive = false
		c.sub(opAtomic, n)
		return
	}
	for range n.min {
		c.emit(n.of)
	}
	if n.max == math.MaxInt {
		split := c.add(inst{op: opSplit})
		c.prog[split].x = len(c.prog)
		c.emit(n.of)
		c.add(inst{op: opJump, x: split})
		c.prog[split].y = len(c.prog)
		return
	}
	var splits []int
	for range n.max - n.min {
		split := c.add(inst{op: opSplit})
		c.prog[split].x = len(c.prog)
		c.emit(n.of)
		splits = append(splits, split)
	}
	for _, s := range splits {
		c.prog[s].y = len(c.prog)
	}
}

// single reports whether n is one character.
func single(n expr) (one, bool) {
	if seq, ok := n.(sequence); ok && len(seq) == 1 {
		n = seq[0]
	}
	o, ok := n.(one)
	return o, ok
}
