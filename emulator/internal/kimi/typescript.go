package kimi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// TypeScript declares tools the way Kimi-K2.5 was trained to read them: as
// functions in a TypeScript namespace. It returns "" when no tool is a
// function, and an error for a schema that cannot be said this way; the prompt
// then carries the tools as JSON.
func TypeScript(tools Value) (string, error) {
	var functions []string
	for _, tool := range tools.sorted().Items {
		f, _ := tool.Get("function")
		if tool.Str("type") != "function" || !f.Truthy() {
			continue
		}
		text, err := function(f)
		if err != nil {
			return "", fmt.Errorf("tool %q: %w", f.Str("name"), err)
		}
		functions = append(functions, text)
	}
	if len(functions) == 0 {
		return "", nil
	}
	return "# Tools\n\n## functions\nnamespace functions {\n" + strings.Join(functions, "\n") + "\n}\n", nil
}

// declaration collects what one function's schema refers to.
type declaration struct {
	names   []string // of $defs, in order of discovery
	defs    map[string]Value
	selfRef bool // some $ref is "#"
}

func function(f Value) (string, error) {
	d := &declaration{defs: map[string]Value{}}
	parameters, _ := f.Get("parameters")
	object, err := d.object(parameters)
	if err != nil {
		return "", err
	}
	var parts []string
	if d.selfRef {
		parts = append(parts, "interface parameters {"+fieldBlock(object.inOrder, indentStep)+"}")
	}
	for _, name := range slices.Clone(d.names) {
		body, err := d.parse(d.defs[name])
		if err != nil {
			return "", err
		}
		text := ""
		if about := d.defs[name].Str("description"); about != "" {
			text = comment(about, "") + "\n"
		}
		parts = append(parts, text+"interface "+name+" "+body.render(""))
	}
	if about := f.Str("description"); about != "" {
		parts = append(parts, comment(about, ""))
	}
	name := "function"
	if n, ok := f.Get("name"); ok {
		name = n.repr()
	}
	argument := "parameters"
	if !d.selfRef {
		argument = object.render("")
	}
	return strings.Join(append(parts, "type "+name+" = (_: "+argument+") => any;"), "\n"), nil
}

const indentStep = "  "

func comment(text, indent string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = indent + "// " + line
		}
	}
	return strings.Join(lines, "\n")
}

// node is a parsed schema: what stands before it and how it is written.
type node struct {
	description string
	constraints []string // already as "name: value", sorted by name
	render      func(indent string) string
	inOrder     []field // of objects: the fields as the schema lists them
}

type field struct {
	name     string
	optional bool
	initial  Value // the default
	typ      node
}

func (n node) doc(indent string) string {
	var b strings.Builder
	if n.description != "" {
		b.WriteString(comment(n.description, indent) + "\n")
	}
	if len(n.constraints) > 0 {
		b.WriteString(indent + "// " + strings.Join(n.constraints, ", ") + "\n")
	}
	return b.String()
}

func (f field) render(indent string) string {
	text := f.typ.doc(indent)
	switch f.initial.Kind {
	case 0, 'n':
	case '0', 't', 'f':
		text += indent + "// Default: " + f.initial.repr() + "\n"
	default:
		text += indent + "// Default: " + f.initial.Dump(", ", ": ") + "\n"
	}
	mark := ""
	if f.optional {
		mark = "?"
	}
	return text + indent + f.name + mark + ": " + f.typ.render(indent)
}

func fieldBlock(fields []field, indent string) string {
	lines := make([]string, len(fields))
	for i, f := range fields {
		lines[i] = f.render(indent)
	}
	return wrap(lines)
}

func wrap(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "\n" + strings.Join(lines, ",\n") + "\n"
}

func word(text string) node {
	return node{render: func(string) string { return text }}
}

// annotated starts a node with the schema's description and those of the
// named constraints that it has. Names must be sorted.
func annotated(schema Value, names ...string) node {
	n := node{description: schema.Str("description")}
	for _, name := range names {
		if v, ok := schema.Get(name); ok {
			n.constraints = append(n.constraints, name+": "+v.repr())
		}
	}
	return n
}

func (d *declaration) parse(schema Value) (node, error) {
	switch schema.Kind {
	case 't':
		return word("any"), nil
	case 'f':
		return word("null"), nil
	case '{':
	default:
		return node{}, errors.New("schema is neither object nor boolean")
	}
	if _, ok := schema.Get("$ref"); ok {
		return d.reference(schema)
	}
	if any, ok := schema.Get("anyOf"); ok {
		return d.anyOf(schema, any)
	}
	if enum, ok := schema.Get("enum"); ok {
		return enumeration(schema, enum)
	}
	typ, ok := schema.Get("type")
	switch {
	case !ok && len(schema.Members) == 0:
		return word("any"), nil
	case !ok:
		return node{}, errors.New("schema without type, anyOf, enum or $ref")
	case typ.Kind == '[':
		return union(schema, typ)
	}
	switch typ.Text {
	case "object":
		return d.object(schema)
	case "array":
		return d.array(schema)
	}
	return scalar(schema, typ.Text), nil
}

func scalar(schema Value, typ string) node {
	var n node
	text := typ
	switch typ {
	case "string":
		n = annotated(schema, "maxLength", "minLength", "pattern")
	case "number", "integer":
		n = annotated(schema, "maximum", "minimum")
		text = "number"
	default:
		n = annotated(schema)
	}
	n.render = func(string) string { return text }
	return n
}

func (d *declaration) reference(schema Value) (node, error) {
	n := annotated(schema)
	target := schema.Str("$ref")
	name, local := strings.CutPrefix(target, "#/$defs/")
	switch {
	case target == "#":
		d.selfRef = true
		name = "parameters"
	case !local:
		return node{}, fmt.Errorf("unsupported reference %q", target)
	default:
		name = name[strings.LastIndexByte(name, '/')+1:]
		if _, ok := d.defs[name]; !ok {
			return node{}, fmt.Errorf("reference %q not found", target)
		}
	}
	n.render = func(string) string { return name }
	return n, nil
}

func (d *declaration) anyOf(schema, options Value) (node, error) {
	n := annotated(schema)
	var types []node
	for _, option := range options.Items {
		t, err := d.parse(option)
		if err != nil {
			return node{}, err
		}
		types = append(types, t)
	}
	n.render = func(indent string) string {
		texts := make([]string, len(types))
		for i, t := range types {
			texts[i] = t.render(indent)
		}
		return strings.Join(texts, " | ")
	}
	return n, nil
}

func enumeration(schema, values Value) (node, error) {
	if typ, ok := schema.Get("type"); ok {
		if err := checkEnum(typ, values); err != nil {
			return node{}, err
		}
	}
	texts := make([]string, len(values.Items))
	for i, v := range values.Items {
		texts[i] = v.repr()
		if v.Kind == '"' {
			texts[i] = `"` + v.Text + `"`
		}
	}
	n := annotated(schema)
	n.render = func(string) string { return strings.Join(texts, " | ") }
	return n, nil
}

func checkEnum(typ, values Value) error {
	name := typ.Text
	if typ.Kind == '[' {
		switch {
		case len(typ.Items) == 1:
			name = typ.Items[0].Text
		case len(typ.Items) == 2 && typ.Items[0].Text == "null":
			name = typ.Items[1].Text
		case len(typ.Items) == 2 && typ.Items[1].Text == "null":
			name = typ.Items[0].Text
		default:
			return errors.New("enum of several types")
		}
	}
	for _, v := range values.Items {
		boolean := v.Kind == 't' || v.Kind == 'f'
		var ok bool
		switch {
		case v.Kind == 'n':
			ok = true
		case name == "string":
			ok = v.Kind == '"'
		case name == "number": // Python's booleans are integers
			ok = v.Kind == '0' || boolean
		case name == "integer":
			ok = v.Kind == '0' && !isFloat(v.Text) || boolean
		case name == "boolean":
			ok = boolean
		default:
			ok = true
		}
		if !ok {
			return fmt.Errorf("enum value %s is no %s", v.repr(), name)
		}
	}
	return nil
}

func union(schema, types Value) (node, error) {
	names := map[string]string{
		"string": "string", "number": "number", "integer": "number", "boolean": "boolean",
		"null": "null", "object": "{}", "array": "Array<any>",
	}
	texts := make([]string, len(types.Items))
	for i, t := range types.Items {
		text, ok := names[t.Text]
		if !ok {
			return node{}, fmt.Errorf("unknown type %q", t.Text)
		}
		texts[i] = text
	}
	n := annotated(schema)
	n.render = func(string) string { return strings.Join(texts, " | ") }
	return n, nil
}

func (d *declaration) array(schema Value) (node, error) {
	n := annotated(schema, "maxItems", "minItems")
	item := word("any")
	if items, ok := schema.Get("items"); ok && items.Truthy() {
		var err error
		if item, err = d.parse(items); err != nil {
			return node{}, err
		}
	}
	n.render = func(indent string) string {
		inner := indent + indentStep
		if doc := item.doc(inner); doc != "" {
			return "Array<\n" + doc + inner + item.render(inner) + "\n" + indent + ">"
		}
		return "Array<" + item.render(indent) + ">"
	}
	return n, nil
}

func (d *declaration) object(schema Value) (node, error) {
	n := annotated(schema)
	if defs, ok := schema.Get("$defs"); ok {
		for _, m := range defs.Members {
			if _, known := d.defs[m.Name]; !known {
				d.names = append(d.names, m.Name)
			}
			d.defs[m.Name] = m.Value
		}
	}
	rest, err := d.rest(schema)
	if err != nil {
		return node{}, err
	}
	properties, _ := schema.Get("properties")
	required, _ := schema.Get("required")
	for _, m := range properties.Members {
		typ, err := d.parse(m.Value)
		if err != nil {
			return node{}, err
		}
		initial, _ := m.Value.Get("default")
		needed := slices.ContainsFunc(required.Items, func(v Value) bool { return v.Text == m.Name })
		n.inOrder = append(n.inOrder, field{name: m.Name, optional: !needed, initial: initial, typ: typ})
	}
	fields := slices.Clone(n.inOrder)
	slices.SortStableFunc(fields, func(a, b field) int {
		if a.optional != b.optional {
			if a.optional {
				return 1
			}
			return -1
		}
		return strings.Compare(a.name, b.name)
	})
	n.render = func(indent string) string {
		inner := indent + indentStep
		var lines []string
		for _, f := range fields {
			lines = append(lines, f.render(inner))
		}
		if rest != nil {
			lines = append(lines, inner+"[k: string]: "+rest.render(inner))
		}
		if len(lines) == 0 {
			return "{}"
		}
		return "{" + wrap(lines) + indent + "}"
	}
	return n, nil
}

// rest is the type of members that properties does not name; nil when the
// schema is silent about them.
func (d *declaration) rest(schema Value) (*node, error) {
	v, ok := schema.Get("additionalProperties")
	if !ok || v.Kind == 'n' {
		return nil, nil
	}
	switch v.Kind {
	case 't':
		return new(word("any")), nil
	case 'f':
		return new(word("never")), nil
	}
	n, err := d.parse(v)
	return &n, err
}
