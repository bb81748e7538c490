package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// kind tells the values of a job file apart.
type kind uint8

const (
	null kind = iota
	scalar
	list
	mapping
	foreign // YAML that a job file does not use
)

// node is one value of a job file with its place. The rest of the package
// knows nothing else of YAML.
type node struct {
	kind         kind
	line, column int
	text         string // of a scalar as it was written; of a foreign value its name
	quoted       bool   // a scalar in quotes or a block of text
	items        []*node
	entries      []entry
}

// entry is a key with its value.
type entry struct{ key, value *node }

// describe says what the node is, for a fault.
func (n *node) describe() string {
	switch n.kind {
	case null:
		return "nothing"
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	case foreign:
		return n.text
	}
	return quote(n.text)
}

// quote prints text from the file on one line of bearable length.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}

// syntaxError is text that is not YAML.
type syntaxError struct {
	line, column int
	message      string
}

func (e *syntaxError) Error() string { return e.message }

// maxNesting is how deep brackets may nest: far more than a job file needs, and
// little enough to keep the recursion of the YAML parser shallow. Brackets in
// comments and text count too.
const maxNesting = 200

// parseYAML returns the documents of a file that hold anything. Its error is a
// [*syntaxError].
func parseYAML(src []byte) (docs []*node, err error) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	// The parser moves the column of a plain value by the white space behind it.
	src = trailing.ReplaceAll(src, []byte("$1"))
	if err := plausible(src); err != nil {
		return nil, err
	}
	// A file that makes the parser panic should still be a message to its author.
	defer func() {
		if p := recover(); p != nil {
			docs, err = nil, &syntaxError{1, 1, fmt.Sprintf("the YAML parser gave up: %v", p)}
		}
	}()
	file, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, asSyntaxError(err)
	}
	for _, d := range file.Docs {
		if d.Body != nil {
			docs = append(docs, convert(d.Body))
		}
	}
	return docs, nil
}

// trailing is the white space at the end of a line.
var trailing = regexp.MustCompile(`(?m)[ \t]+(\r?)$`)

// plausible refuses text that no YAML parser should be asked to read.
func plausible(src []byte) error {
	line, column, depth := 1, 0, 0
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		column++
		switch {
		case r == utf8.RuneError && size == 1:
			return &syntaxError{line, column, "a byte that is not UTF-8"}
		case r == 0:
			return &syntaxError{line, column, "a NUL byte"}
		case r == '\n':
			line, column = line+1, 0
		case r == '[' || r == '{':
			depth++
		case r == ']' || r == '}':
			depth--
		}
		if depth > maxNesting {
			return &syntaxError{line, column, "brackets that nest too deeply"}
		}
		i += size
	}
	return nil
}

func asSyntaxError(err error) error {
	if se, ok := errors.AsType[*yaml.SyntaxError](err); ok && se.Token != nil && se.Token.Position != nil {
		return &syntaxError{se.Token.Position.Line, se.Token.Position.Column, se.Message}
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return &syntaxError{1, 1, text}
}

// convert turns the parser's node into ours.
func convert(n ast.Node) *node {
	out := &node{}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		out.line, out.column = tk.Position.Line, tk.Position.Column
	}
	switch n := n.(type) {
	case *ast.NullNode:
		out.kind = null
	case *ast.MappingNode:
		out.kind = mapping
		out.addEntries(n.Values)
		out.moveToFirstKey(n.IsFlowStyle)
	case *ast.MappingValueNode:
		out.kind = mapping
		out.addEntries([]*ast.MappingValueNode{n})
		out.moveToFirstKey(false)
	case *ast.SequenceNode:
		out.kind = list
		for _, v := range n.Values {
			out.items = append(out.items, convert(v))
		}
	case *ast.LiteralNode:
		out.kind, out.quoted, out.text = scalar, true, n.Value.Value
	case *ast.StringNode:
		out.kind, out.text = scalar, n.Value
		out.quoted = n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		out.kind, out.text = scalar, n.GetToken().Value
	case *ast.AnchorNode:
		out.kind, out.text = foreign, "an anchor (&)"
	case *ast.AliasNode:
		out.kind, out.text = foreign, "an alias (*)"
	case *ast.TagNode:
		out.kind, out.text = foreign, "a tag (!)"
	case *ast.MergeKeyNode:
		out.kind, out.text = scalar, "<<"
	default:
		out.kind, out.text = foreign, "YAML of a kind that job files do not use"
	}
	return out
}

func (n *node) addEntries(values []*ast.MappingValueNode) {
	for _, v := range values {
		e := entry{key: convert(v.Key), value: &node{}}
		if v.Value != nil {
			e.value = convert(v.Value)
		}
		if e.value.kind == null {
			e.value.line, e.value.column = e.key.line, e.key.column
		}
		n.entries = append(n.entries, e)
	}
}

// moveToFirstKey places a block mapping where its first key stands; the parser
// has it at the colon behind it.
func (n *node) moveToFirstKey(flow bool) {
	if !flow && len(n.entries) > 0 {
		n.line, n.column = n.entries[0].key.line, n.entries[0].key.column
	}
}
