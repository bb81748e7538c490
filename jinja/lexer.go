package jinja

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tokenKind tells tokens apart. Operators are tokens of kind tokenOp whose text is
// the operator.
type tokenKind int

const (
	tokenEOF tokenKind = iota
	tokenData
	tokenVarBegin
	tokenVarEnd
	tokenBlockBegin
	tokenBlockEnd
	tokenName
	tokenString
	tokenNumber
	tokenOp
)

type token struct {
	kind  tokenKind
	line  int
	text  string // data, name, operator, or the unescaped string
	value Value  // of a number
}

// String names the token in error messages.
func (t token) String() string {
	switch t.kind {
	case tokenEOF:
		return "end of template"
	case tokenData:
		return "template data / text"
	case tokenVarBegin:
		return "begin of print statement"
	case tokenVarEnd:
		return "end of print statement"
	case tokenBlockBegin:
		return "begin of statement block"
	case tokenBlockEnd:
		return "end of statement block"
	case tokenString:
		return "string"
	case tokenNumber:
		if _, ok := t.value.(Float); ok {
			return "float"
		}
		return "integer"
	}
	return t.text
}

// lexer splits a template into tokens. All whitespace rules live here:
//
//   - one newline after a block tag or a comment is dropped (trim_blocks);
//   - blanks between the start of a line and a block tag or comment are dropped
//     (lstrip_blocks);
//   - "-" inside a delimiter strips all whitespace on its side, "+" switches the two
//     rules above off;
//   - one newline at the end of the template is dropped, and all line ends become
//     "\n".
type lexer struct {
	src       string
	pos       int
	line      int
	lineStart bool   // the last thing consumed ended with a newline
	open      []byte // closing brackets the current tag still waits for
	tokens    []token
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func tokenize(src string, line *int) []token {
	src = strings.TrimSuffix(lineEnds.Replace(src), "\n")
	lx := &lexer{src: src, line: 1, lineStart: true}
	defer func() { *line = lx.line }()
	for lx.pos < len(lx.src) {
		lx.data()
	}
	lx.emit(token{kind: tokenEOF})
	return lx.tokens
}

func (lx *lexer) emit(t token) {
	t.line = lx.line
	lx.tokens = append(lx.tokens, t)
}

// advance consumes n bytes.
func (lx *lexer) advance(n int) {
	part := lx.src[lx.pos : lx.pos+n]
	lx.line += strings.Count(part, "\n")
	if part != "" {
		lx.lineStart = part[len(part)-1] == '\n'
	}
	lx.pos += n
}

// skipSpace consumes whitespace.
func (lx *lexer) skipSpace() {
	lx.advance(len(lx.src[lx.pos:]) - len(strings.TrimLeftFunc(lx.src[lx.pos:], isSpace)))
}

// rawBegin matches the tag that opens a raw block. Unlike other tags it leaves the
// newline behind it alone.
var rawBegin = regexp.MustCompile(`^\{%([-+]?)` + space + `*raw` + space + `*(-%\}` + space + `*|%\})`)

var rawEnd = regexp.MustCompile(`\{%([-+]?)` + space + `*endraw` + space + `*(\+%\}|-%\}` + space + `*|%\}\n?)`)

// space is the class of characters Python calls whitespace.
const space = `[\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]`

// data consumes text up to the next delimiter, and what the delimiter opens.
func (lx *lexer) data() {
	rest := lx.src[lx.pos:]
	at := findDelimiter(rest)
	if at < 0 {
		lx.emit(token{kind: tokenData, text: rest})
		lx.advance(len(rest))
		return
	}
	sign := byte(0)
	if at+2 < len(rest) && (rest[at+2] == '-' || rest[at+2] == '+') {
		sign = rest[at+2]
	}
	lx.text(rest[:at], sign, rest[at+1] != '{')
	if rest[at+1] == '%' {
		if m := rawBegin.FindString(rest[at:]); m != "" {
			lx.advance(len(m))
			lx.raw()
			return
		}
	}
	begin := lx.pos
	lx.advance(2)
	if sign != 0 {
		lx.advance(1)
	}
	switch lx.src[begin+1] {
	case '#':
		lx.comment()
	case '{':
		lx.emit(token{kind: tokenVarBegin})
		lx.tag(tokenVarEnd)
	default:
		lx.emit(token{kind: tokenBlockBegin})
		lx.tag(tokenBlockEnd)
	}
}

// findDelimiter returns the position of the first {{, {% or {#, or -1.
func findDelimiter(s string) int {
	for i := 0; ; i++ {
		j := strings.IndexByte(s[i:], '{')
		if i += j; j < 0 || i+1 >= len(s) {
			return -1
		}
		if c := s[i+1]; c == '{' || c == '%' || c == '#' {
			return i
		}
	}
}

// text emits the data before a delimiter. strippable delimiters are those to which
// lstrip_blocks applies.
func (lx *lexer) text(s string, sign byte, strippable bool) {
	kept := s
	switch {
	case sign == '-':
		kept = strings.TrimRightFunc(s, isSpace)
	case sign != '+' && strippable:
		start := strings.LastIndexByte(s, '\n') + 1
		if (start > 0 || lx.lineStart) && strings.TrimLeftFunc(s[start:], isSpace) == "" {
			kept = s[:start]
		}
	}
	if kept != "" {
		lx.emit(token{kind: tokenData, text: kept})
	}
	lx.advance(len(s))
}

func (lx *lexer) raw() {
	if lx.pos == len(lx.src) {
		return // as in Jinja2, which looks for the end only if something follows
	}
	m := rawEnd.FindStringSubmatchIndex(lx.src[lx.pos:])
	if m == nil {
		lx.fail("Missing end of raw directive")
	}
	sign := byte(0)
	if m[2] < m[3] {
		sign = lx.src[lx.pos+m[2]]
	}
	lx.text(lx.src[lx.pos:lx.pos+m[0]], sign, true)
	lx.advance(m[1] - m[0])
}

func (lx *lexer) comment() {
	if lx.pos == len(lx.src) {
		return // see raw
	}
	n := strings.Index(lx.src[lx.pos:], "#}")
	if n < 0 {
		lx.fail("Missing end of comment tag")
	}
	sign := byte(0)
	if n > 0 {
		sign = lx.src[lx.pos+n-1]
	}
	lx.advance(n + 2)
	lx.afterTag(sign)
}

// afterTag applies the whitespace rule of a block tag or comment that has ended
// with the given sign.
func (lx *lexer) afterTag(sign byte) {
	switch {
	case sign == '-':
		lx.skipSpace()
	case sign != '+' && strings.HasPrefix(lx.src[lx.pos:], "\n"):
		lx.advance(1)
	}
}

// tag emits the tokens inside a tag, up to and including its end.
func (lx *lexer) tag(end tokenKind) {
	lx.open = lx.open[:0]
	for lx.pos < len(lx.src) {
		if len(lx.open) == 0 && lx.tagEnd(end) {
			return
		}
		lx.inside()
	}
}

// tagEnd consumes the end of the tag if it stands here.
func (lx *lexer) tagEnd(end tokenKind) bool {
	closing := "}}"
	if end == tokenBlockEnd {
		closing = "%}"
	}
	rest := lx.src[lx.pos:]
	sign := byte(0)
	if rest[0] == '-' || rest[0] == '+' && end == tokenBlockEnd {
		sign = rest[0]
		rest = rest[1:]
	}
	if !strings.HasPrefix(rest, closing) {
		return false
	}
	lx.emit(token{kind: end})
	if sign != 0 {
		lx.advance(1)
	}
	lx.advance(2)
	if end == tokenBlockEnd {
		lx.afterTag(sign)
	} else if sign == '-' {
		lx.skipSpace()
	}
	return true
}

var (
	floatLiteral = regexp.MustCompile(`^(\d+_)*\d+((\.(\d+_)*\d+)?[eE][+-]?(\d+_)*\d+|\.(\d+_)*\d+)`)
	intLiteral   = regexp.MustCompile(`^(?i:0b(_?[01])+|0o(_?[0-7])+|0x(_?[\da-f])+|[1-9](_?\d)*|0(_?0)*)`)
)

// inside emits one token of an expression.
func (lx *lexer) inside() {
	rest := lx.src[lx.pos:]
	r, _ := decodeRune(rest)
	switch {
	case isSpace(r):
		lx.skipSpace()
	case '0' <= r && r <= '9':
		lx.number(rest)
	case r == '\'' || r == '"':
		lx.literal(rest)
	case isWord(r):
		lx.word(rest)
	default:
		lx.operator(rest)
	}
}

func (lx *lexer) number(rest string) {
	// After a dot, "0.1" is an index and an index.
	if m := floatLiteral.FindString(rest); m != "" && (lx.pos == 0 || lx.src[lx.pos-1] != '.') {
		f, _ := strconv.ParseFloat(strings.ReplaceAll(m, "_", ""), 64) // too large is inf, as in Python
		lx.emit(token{kind: tokenNumber, text: m, value: Float(f)})
		lx.advance(len(m))
		return
	}
	lx.integer(intLiteral.FindString(rest))
}

func (lx *lexer) word(rest string) {
	n := len(rest) - len(strings.TrimLeftFunc(rest, isWord))
	if !isIdentifier(rest[:n]) {
		lx.fail("Invalid character in identifier")
	}
	lx.emit(token{kind: tokenName, text: rest[:n]})
	lx.advance(n)
}

// literal emits a string literal.
func (lx *lexer) literal(rest string) {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			lx.emit(token{kind: tokenString, text: lx.unescape(rest[1:i])})
			lx.advance(i + 1)
			return
		}
	}
	lx.unexpected(rest)
}

func (lx *lexer) operator(rest string) {
	n := 1
	switch {
	case len(rest) > 1 && slices.Contains(longOperators, rest[:2]):
		n = 2
	case strings.IndexByte("-+/*%~[](){}><=.:|,;", rest[0]) < 0:
		lx.unexpected(rest)
	}
	lx.balance(rest[0])
	lx.emit(token{kind: tokenOp, text: rest[:n]})
	lx.advance(n)
}

var longOperators = []string{"//", "==", "!=", ">=", "<=", "**"}

func (lx *lexer) unexpected(rest string) {
	_, n := decodeRune(rest)
	lx.fail("unexpected char %s at %d", quote(rest[:n]), runeCount(lx.src[:lx.pos]))
}

func (lx *lexer) integer(m string) {
	n, ok := new(big.Int).SetString(strings.ReplaceAll(m, "_", ""), 0)
	if !ok || len(m) > maxIntDigits {
		lx.fail("integer literal of %d digits", len(m))
	}
	lx.emit(token{kind: tokenNumber, text: m, value: newInt(n)})
	lx.advance(len(m))
}

// balance keeps track of brackets, so that "}}" inside a dictionary does not end
// the tag.
func (lx *lexer) balance(c byte) {
	switch c {
	case '{':
		lx.open = append(lx.open, '}')
	case '(':
		lx.open = append(lx.open, ')')
	case '[':
		lx.open = append(lx.open, ']')
	case '}', ')', ']':
		if len(lx.open) == 0 {
			lx.fail("unexpected '%c'", c)
		}
		want := lx.open[len(lx.open)-1]
		if lx.open = lx.open[:len(lx.open)-1]; c != want {
			lx.fail("unexpected '%c', expected '%c'", c, want)
		}
	}
}

var simpleEscapes = map[byte]string{
	'\n': "", '\\': `\`, '\'': "'", '"': `"`,
	'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}

// unescape reads the escapes of a string literal, as Python's unicode-escape codec
// does.
func (lx *lexer) unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b []byte
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b = append(b, s[i])
			i++
			continue
		}
		c := s[i+1] // the literal's pattern admits no backslash at the end
		i += 2
		if rep, ok := simpleEscapes[c]; ok {
			b = append(b, rep...)
			continue
		}
		switch {
		case c == 'x':
			b, i = lx.hexEscape(b, s, i, 2)
		case c == 'u':
			b, i = lx.hexEscape(b, s, i, 4)
		case c == 'U':
			b, i = lx.hexEscape(b, s, i, 8)
		case c == 'N':
			lx.fail(`\N escapes are not supported; write the character itself`)
		case '0' <= c && c <= '7':
			end := i
			for end < len(s) && end < i+2 && '0' <= s[end] && s[end] <= '7' {
				end++
			}
			n, _ := strconv.ParseUint(s[i-1:end], 8, 16)
			b, i = appendRune(b, rune(n)), end
		case c < utf8.RuneSelf:
			b = append(b, '\\', c)
		default:
			// Jinja2 has escaped the character before it looks at this backslash.
			r, n := decodeRune(s[i-1:])
			b = append(b, asciiEscape(r)...)
			i += n - 1
		}
	}
	return string(b)
}

func (lx *lexer) hexEscape(b []byte, s string, i, digits int) ([]byte, int) {
	if i+digits <= len(s) {
		if n, err := strconv.ParseUint(s[i:i+digits], 16, 32); err == nil && n <= utf8.MaxRune {
			return appendRune(b, rune(n)), i + digits
		}
	}
	lx.fail("truncated or illegal escape in a string literal")
	return nil, 0
}

// asciiEscape spells a character as an escape in plain ASCII.
func asciiEscape(r rune) string {
	switch {
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}

func (lx *lexer) fail(format string, args ...any) {
	panic(&Error{Kind: SyntaxError, Line: lx.line, Msg: fmt.Sprintf(format, args...)})
}
