package dataset

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Some sets hold lists of messages as Python prints them. pythonJSON turns such
// text into JSON: single quotes, True, False, None and tuples.
func pythonJSON(text string) ([]byte, bool) {
	p := &python{in: text}
	if !p.value(0) {
		return nil, false
	}
	p.blank()
	return p.out, p.at == len(p.in)
}

// python reads one literal.
type python struct {
	in  string
	at  int
	out []byte
}

// maxNesting bounds how deep a literal may go.
const maxNesting = 200

func (p *python) blank() {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.at]) >= 0 {
		p.at++
	}
}

// peek is the next byte that is not blank, or 0.
func (p *python) peek() byte {
	p.blank()
	if p.at == len(p.in) {
		return 0
	}
	return p.in[p.at]
}

func (p *python) value(depth int) bool {
	if depth > maxNesting {
		return false
	}
	switch c := p.peek(); c {
	case '{':
		return p.dict(depth)
	case '[':
		return p.list(']', depth)
	case '(':
		return p.list(')', depth)
	case '\'', '"':
		return p.text()
	default:
		return p.word()
	}
}

// list reads the elements up to the closing bracket.
func (p *python) list(end byte, depth int) bool {
	p.at++
	p.out = append(p.out, '[')
	for n := 0; ; n++ {
		if p.peek() == end {
			p.at++
			p.out = append(p.out, ']')
			return true
		}
		if n > 0 {
			p.out = append(p.out, ',')
		}
		if !p.value(depth+1) || !p.comma(end) {
			return false
		}
	}
}

// comma passes over a comma, unless the closing bracket comes first.
func (p *python) comma(end byte) bool {
	switch p.peek() {
	case ',':
		p.at++
		return true
	case end:
		return true
	}
	return false
}

// dict reads the entries up to the closing brace.
func (p *python) dict(depth int) bool {
	p.at++
	p.out = append(p.out, '{')
	for n := 0; ; n++ {
		c := p.peek()
		if c == '}' {
			p.at++
			p.out = append(p.out, '}')
			return true
		}
		if n > 0 {
			p.out = append(p.out, ',')
		}
		if c != '\'' && c != '"' || !p.text() || p.peek() != ':' {
			return false
		}
		p.at++
		p.out = append(p.out, ':')
		if !p.value(depth+1) || !p.comma('}') {
			return false
		}
	}
}

// text reads a string in quotes of either kind.
func (p *python) text() bool {
	quote := p.in[p.at]
	p.at++
	var s []byte
	for p.at < len(p.in) {
		c := p.in[p.at]
		p.at++
		switch c {
		case quote:
			if !utf8.Valid(s) {
				return false
			}
			var err error
			p.out, err = jsontext.AppendQuote(p.out, s)
			return err == nil
		case '\\':
			if !p.escape(&s) {
				return false
			}
		default:
			s = append(s, c)
		}
	}
	return false
}

// escape reads what follows a backslash.
func (p *python) escape(s *[]byte) bool {
	if p.at == len(p.in) {
		return false
	}
	c := p.in[p.at]
	p.at++
	switch c {
	case 'n':
		*s = append(*s, '\n')
	case 't':
		*s = append(*s, '\t')
	case 'r':
		*s = append(*s, '\r')
	case '\\', '\'', '"', '/':
		*s = append(*s, c)
	case 'x':
		return p.code(s, 2)
	case 'u':
		return p.code(s, 4)
	case 'U':
		return p.code(s, 8)
	default:
		*s = append(*s, '\\', c) // Python keeps what it does not know
	}
	return true
}

// code reads a character of so many hex digits.
func (p *python) code(s *[]byte, digits int) bool {
	if p.at+digits > len(p.in) {
		return false
	}
	n, err := strconv.ParseUint(p.in[p.at:p.at+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return false
	}
	p.at += digits
	*s = utf8.AppendRune(*s, rune(n))
	return true
}

// word reads a number or a name.
func (p *python) word() bool {
	start := p.at
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n,]})", p.in[p.at]) < 0 && p.in[p.at] != ':' {
		p.at++
	}
	switch w := p.in[start:p.at]; w {
	case "True", "true":
		p.out = append(p.out, "true"...)
	case "False", "false":
		p.out = append(p.out, "false"...)
	case "None", "null", "nan":
		p.out = append(p.out, "null"...)
	default:
		if v := jsontext.Value(w); !v.IsValid() || v.Kind() != '0' {
			return false
		}
		p.out = append(p.out, w...)
	}
	return true
}
