package rowfile

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// Parquet stores a nested row as flat columns. Each value carries two levels:
// how many of the optional and repeated nodes above it are there (definition),
// and at which repeated node it goes on (repetition). The assembler walks the
// schema and takes the values of each column in turn.

// parquetNode is a node of a schema.
type parquetNode struct {
	name       string
	kind       nodeKind
	optional   bool
	repeated   bool
	definition int // the level at which the node is there
	repetition int // the level at which it goes on
	column     int // of a leaf; of another node its first leaf's
	text       bool
	unsigned   bool
	children   []*parquetNode // of a group
	each       *parquetNode   // of a list or map: the repeated node
	element    *parquetNode   // of a list: each, or the one column in it
}

type nodeKind int

const (
	leafNode nodeKind = iota
	groupNode
	listNode
	mapNode
)

// newParquetNode reads a column of a schema.
func newParquetNode(c *parquet.Column) *parquetNode {
	n := &parquetNode{
		name: c.Name(), optional: c.Optional(), repeated: c.Repeated(),
		definition: c.MaxDefinitionLevel(), repetition: c.MaxRepetitionLevel(), column: c.Index(),
	}
	if c.Leaf() {
		n.text, n.unsigned = textual(c.Type()), unsigned(c.Type())
		return n
	}
	n.kind = groupNode
	for _, child := range c.Columns() {
		n.children = append(n.children, newParquetNode(child))
	}
	if len(n.children) == 0 {
		panic(fmt.Sprintf("column %q has no columns below it", n.name))
	}
	n.column = n.children[0].column
	if len(n.children) == 1 && n.children[0].repeated {
		n.collect(c.Type(), n.children[0])
	}
	return n
}

// collect makes the node a list or a map, if that is what it is marked as.
func (n *parquetNode) collect(t parquet.Type, only *parquetNode) {
	switch {
	case marked[*format.MapType](t, deprecated.Map, deprecated.MapKeyValue) && only.kind == groupNode && len(only.children) == 2:
		n.kind, n.each = mapNode, only
	case marked[*format.ListType](t, deprecated.List):
		n.kind, n.each, n.element = listNode, only, only
		// A repeated group with one column in it stands for the list alone,
		// but for these names of old files, whose group is the element.
		if only.kind == groupNode && len(only.children) == 1 && only.name != "array" && only.name != n.name+"_tuple" {
			n.element = only.children[0]
		}
	}
}

// leaves counts the columns of values.
func (n *parquetNode) leaves() int {
	if n.kind == leafNode {
		return 1
	}
	sum := 0
	for _, c := range n.children {
		sum += c.leaves()
	}
	return sum
}

// marked reports whether a type has a mark, as today's files write it or as
// old ones did.
func marked[T format.LogicalTypeValue](t parquet.Type, old ...deprecated.ConvertedType) bool {
	if l := t.LogicalType(); l != nil {
		if _, ok := l.Value.(T); ok {
			return true
		}
	}
	if c := t.ConvertedType(); c != nil {
		for _, o := range old {
			if *c == o {
				return true
			}
		}
	}
	return false
}

func textual(t parquet.Type) bool {
	return marked[*format.StringType](t, deprecated.UTF8) ||
		marked[*format.JsonType](t, deprecated.Json) || marked[*format.EnumType](t, deprecated.Enum)
}

func unsigned(t parquet.Type) bool {
	if l := t.LogicalType(); l != nil {
		i, ok := l.Value.(*format.IntType)
		return ok && !i.IsSigned
	}
	return false
}

// assembler builds the JSON of rows.
type assembler struct {
	columns [][]parquet.Value // what is left of each column's values
	buf     []byte
}

// errLevels is what a row panics with whose levels do not fit its schema.
var errLevels = errors.New("its levels do not fit the schema")

// row returns the JSON of a row, valid until the next call.
func (a *assembler) row(schema *parquetNode, values parquet.Row) (raw []byte, err error) {
	defer recovered("row", &err)
	clear(a.columns)
	for start := 0; start < len(values); {
		column, end := values[start].Column(), start+1
		for end < len(values) && values[end].Column() == column {
			end++
		}
		a.columns[column] = values[start:end]
		start = end
	}
	a.buf = a.buf[:0]
	a.group(schema)
	for _, left := range a.columns {
		if len(left) > 0 {
			return nil, errLevels
		}
	}
	return a.buf, nil
}

// next is the value that a column stands at.
func (a *assembler) next(column int) (parquet.Value, bool) {
	if len(a.columns[column]) == 0 {
		return parquet.Value{}, false
	}
	return a.columns[column][0], true
}

// has reports whether the node is there.
func (a *assembler) has(n *parquetNode) bool {
	v, ok := a.next(n.column)
	if !ok {
		panic(errLevels)
	}
	return v.DefinitionLevel() >= n.definition
}

// pass takes the values that stand for a node that is not there.
func (a *assembler) pass(n *parquetNode) {
	if n.kind == leafNode {
		a.take(n.column)
		return
	}
	for _, c := range n.children {
		a.pass(c)
	}
}

func (a *assembler) take(column int) parquet.Value {
	v, ok := a.next(column)
	if !ok {
		panic(errLevels)
	}
	a.columns[column] = a.columns[column][1:]
	return v
}

// field writes a node where it stands in an object or as an element.
func (a *assembler) field(n *parquetNode) {
	if n.optional && !a.has(n) {
		a.pass(n)
		a.buf = append(a.buf, "null"...)
		return
	}
	a.node(n)
}

// node writes a node that is there.
func (a *assembler) node(n *parquetNode) {
	switch n.kind {
	case leafNode:
		a.leaf(n)
	case groupNode:
		a.group(n)
	case listNode:
		a.list(n.each, func() {
			if n.element == n.each {
				a.node(n.element)
			} else {
				a.field(n.element)
			}
		})
	case mapNode:
		a.mapping(n.each)
	}
}

// group writes an object.
func (a *assembler) group(n *parquetNode) {
	a.buf = append(a.buf, '{')
	for _, c := range n.children {
		a.buf = appendKey(a.buf, c.name)
		if c.repeated {
			a.list(c, func() { a.node(c) })
		} else {
			a.field(c)
		}
	}
	a.buf = append(a.buf, '}')
}

// list writes an array; element writes one of what each stands for.
func (a *assembler) list(each *parquetNode, element func()) {
	a.buf = append(a.buf, '[')
	a.times(each, func(first bool) {
		if !first {
			a.buf = append(a.buf, ',')
		}
		element()
	})
	a.buf = append(a.buf, ']')
}

// mapping writes a map as an object.
func (a *assembler) mapping(each *parquetNode) {
	key, value := each.children[0], each.children[1]
	a.buf = append(a.buf, '{')
	a.times(each, func(first bool) {
		if !first {
			a.buf = append(a.buf, ',')
		}
		start := len(a.buf)
		a.field(key)
		if a.buf[start] != '"' { // a number, say
			text := string(a.buf[start:])
			a.buf = appendText(a.buf[:start], text)
		}
		a.buf = append(a.buf, ':')
		a.field(value)
	})
	a.buf = append(a.buf, '}')
}

// times calls once for each time that a repeated node is there.
func (a *assembler) times(each *parquetNode, once func(first bool)) {
	if !a.has(each) {
		a.pass(each)
		return
	}
	for first := true; ; first = false {
		once(first)
		if v, ok := a.next(each.column); !ok || v.RepetitionLevel() < each.repetition {
			return
		}
	}
}

// leaf writes a value. Bytes that are not marked as text are text if they can
// be; those of an image, say, become null.
func (a *assembler) leaf(n *parquetNode) {
	v := a.take(n.column)
	if v.IsNull() {
		a.buf = append(a.buf, "null"...)
		return
	}
	switch v.Kind() {
	case parquet.Boolean:
		a.buf = strconv.AppendBool(a.buf, v.Boolean())
	case parquet.Int32:
		if n.unsigned {
			a.buf = strconv.AppendUint(a.buf, uint64(v.Uint32()), 10)
		} else {
			a.buf = strconv.AppendInt(a.buf, int64(v.Int32()), 10)
		}
	case parquet.Int64:
		if n.unsigned {
			a.buf = strconv.AppendUint(a.buf, v.Uint64(), 10)
		} else {
			a.buf = strconv.AppendInt(a.buf, v.Int64(), 10)
		}
	case parquet.Float:
		a.buf = appendFloat(a.buf, float64(v.Float()), 32)
	case parquet.Double:
		a.buf = appendFloat(a.buf, v.Double(), 64)
	case parquet.ByteArray:
		a.buf = appendBytes(a.buf, v.ByteArray(), n.text)
	default:
		a.buf = append(a.buf, "null"...)
	}
}

// appendBytes appends bytes as text; those that are not marked as text only if
// they can be.
func appendBytes(dst, b []byte, text bool) []byte {
	if !text && !utf8.Valid(b) {
		return append(dst, "null"...)
	}
	return appendText(dst, b)
}

// appendFloat appends a number; what JSON has no number for becomes null.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits)
}
