package chat

import (
	"fmt"
	"slices"
	"strings"
)

// appendTypeScript appends the text in which Kimi-K2.5 and later declare tools:
// a TypeScript namespace with one function type a tool. tools is a list whose
// dicts are sorted by key. Nothing is appended when no tool is a function.
//
// The text is defined by what the model's own tokenizer code does, and that is
// Python that leans on Python: values are printed with str, a schema of an
// unexpected shape raises an exception somewhere. An error stands for any such
// exception; the caller then prints JSON, as the tokenizer does.
func appendTypeScript(dst []byte, tools *value) ([]byte, error) {
	start := len(dst)
	for i := range tools.items {
		tool := &tools.items[i]
		if tool.kind != dict {
			return dst[:start], fmt.Errorf("tool %d: not an object", i)
		}
		if t, ok := tool.get("type"); !ok || t.kind != text || t.text != "function" {
			continue
		}
		f, ok := tool.get("function")
		if !ok || !f.truthy() {
			continue
		}
		if len(dst) == start {
			dst = append(dst, "# Tools\n\n## functions\nnamespace functions {\n"...)
		}
		var err error
		if dst, err = appendFunction(dst, f); err != nil {
			return dst[:start], fmt.Errorf("tool %d: %w", i, err)
		}
		dst = append(dst, '\n')
	}
	if len(dst) > start {
		dst = append(dst, "}\n"...)
	}
	return dst, nil
}

// appendFunction appends the declaration of one function: the interfaces it
// refers to, its description, its type.
func appendFunction(dst []byte, f *value) ([]byte, error) {
	if f.kind != dict {
		return dst, fmt.Errorf("function: not an object")
	}
	params, ok := f.get("parameters")
	if !ok || !params.truthy() {
		params = &value{kind: dict}
	}
	defs := &definitions{}
	root, err := parseObject(params, defs)
	if err != nil {
		return dst, err
	}
	// Only a reference to the root that parsing the root met counts; one that
	// a definition makes later leaves a name that nothing declares.
	recursive := defs.selfRef
	if recursive {
		if dst, err = appendRootInterface(dst, root); err != nil {
			return dst, err
		}
	}
	if dst, err = appendDefinitions(dst, defs); err != nil {
		return dst, err
	}
	if d, ok := f.get("description"); ok && d.truthy() {
		if dst, err = appendComment(dst, d, ""); err != nil {
			return dst, err
		}
		dst = append(dst, '\n')
	}
	dst = append(dst, "type "...)
	if name, ok := f.get("name"); ok {
		dst = appendStr(dst, name)
	} else {
		dst = append(dst, "function"...)
	}
	dst = append(dst, " = (_: "...)
	if recursive {
		dst = append(dst, "parameters"...)
	} else if dst, err = root.append(dst, ""); err != nil {
		return dst, err
	}
	return append(dst, ") => any;"...), nil
}

// appendRootInterface names the root object so that it can refer to itself.
// Its fields come in the order of their keys, required or not, and its
// additionalProperties are not printed.
func appendRootInterface(dst []byte, root *schema) ([]byte, error) {
	dst = append(dst, "interface parameters {"...)
	for i := range root.fields {
		dst = append(dst, fieldSeparator(i)...)
		var err error
		if dst, err = root.fields[i].append(dst, indentStep); err != nil {
			return dst, err
		}
	}
	if len(root.fields) > 0 {
		dst = append(dst, '\n')
	}
	return append(dst, "}\n"...), nil
}

func appendDefinitions(dst []byte, defs *definitions) ([]byte, error) {
	// What parsing a definition registers is not declared any more, but a new
	// value for a name that waits its turn must not take effect either.
	for _, d := range slices.Clone(defs.list) {
		s, err := parseSchema(&d.schema, defs)
		if err != nil {
			return dst, err
		}
		if d.schema.kind != dict {
			return dst, fmt.Errorf("definition %s: not an object", d.name)
		}
		if c, ok := d.schema.get("description"); ok && c.truthy() {
			if dst, err = appendComment(dst, c, ""); err != nil {
				return dst, err
			}
			dst = append(dst, '\n')
		}
		dst = append(dst, "interface "...)
		dst = append(dst, d.name...)
		dst = append(dst, ' ')
		if dst, err = s.append(dst, ""); err != nil {
			return dst, err
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

const indentStep = "  "

func fieldSeparator(i int) string {
	if i == 0 {
		return "\n"
	}
	return ",\n"
}

// appendComment prints a description as line comments. Empty lines stay empty.
func appendComment(dst []byte, description *value, indent string) ([]byte, error) {
	if description.kind != text {
		return dst, fmt.Errorf("description: not a string")
	}
	first := true
	for line := range strings.SplitSeq(description.text, "\n") {
		if !first {
			dst = append(dst, '\n')
		}
		first = false
		if line != "" {
			dst = append(dst, indent...)
			dst = append(dst, "// "...)
			dst = append(dst, line...)
		}
	}
	return dst, nil
}

// append prints the field with its comments, without a line's end.
func (f *field) append(dst []byte, indent string) ([]byte, error) {
	dst, err := f.schema.appendDoc(dst, indent)
	if err != nil {
		return dst, err
	}
	if d := f.standard; d != nil && d.kind != null {
		dst = append(dst, indent...)
		dst = append(dst, "// Default: "...)
		switch d.kind {
		case boolean, integer, float:
			dst = appendRepr(dst, d)
		default:
			dst = appendJSON(dst, d, Spaced)
		}
		dst = append(dst, '\n')
	}
	dst = append(dst, indent...)
	dst = append(dst, f.name...)
	if f.optional {
		dst = append(dst, '?')
	}
	dst = append(dst, ": "...)
	return f.schema.append(dst, indent)
}

// appendDoc prints the comments that stand before a field or an array's item,
// each with its line's end.
func (s *schema) appendDoc(dst []byte, indent string) ([]byte, error) {
	if s.description != nil && s.description.truthy() {
		var err error
		if dst, err = appendComment(dst, s.description, indent); err != nil {
			return dst, err
		}
		dst = append(dst, '\n')
	}
	for i, c := range s.constraints {
		if i == 0 {
			dst = append(dst, indent...)
			dst = append(dst, "// "...)
		} else {
			dst = append(dst, ", "...)
		}
		dst = append(dst, c.name...)
		dst = append(dst, ": "...)
		dst = appendStr(dst, c.value)
	}
	if len(s.constraints) > 0 {
		dst = append(dst, '\n')
	}
	return dst, nil
}

// append prints the type. indent is that of the line it begins on.
func (s *schema) append(dst []byte, indent string) ([]byte, error) {
	switch s.form {
	case formScalar:
		return appendStr(dst, s.scalar), nil
	case formName:
		return append(dst, s.name...), nil
	case formObject:
		return s.appendObject(dst, indent)
	case formArray:
		return s.appendArray(dst, indent)
	case formEnum:
		return appendEnum(dst, s.enum)
	}
	return s.appendAlternatives(dst, indent)
}

func (s *schema) appendObject(dst []byte, indent string) ([]byte, error) {
	more := s.additional != nil && s.additional.kind != null
	if len(s.fields) == 0 && !more {
		return append(dst, "{}"...), nil
	}
	inner := indent + indentStep
	dst = append(dst, '{')
	n := 0
	var err error
	for _, optional := range []bool{false, true} {
		for _, f := range s.sorted(optional) {
			dst = append(dst, fieldSeparator(n)...)
			n++
			if dst, err = f.append(dst, inner); err != nil {
				return dst, err
			}
		}
	}
	if more {
		dst = append(dst, fieldSeparator(n)...)
		dst = append(dst, inner...)
		dst = append(dst, "[k: string]: "...)
		if dst, err = s.appendAdditional(dst, inner); err != nil {
			return dst, err
		}
	}
	dst = append(dst, '\n')
	dst = append(dst, indent...)
	return append(dst, '}'), nil
}

func (s *schema) appendAdditional(dst []byte, indent string) ([]byte, error) {
	switch {
	case s.additionalType != nil:
		return s.additionalType.append(dst, indent)
	case s.additional.kind != boolean:
		return dst, fmt.Errorf("additionalProperties: neither a boolean nor an object")
	case s.additional.truth:
		return append(dst, "any"...), nil
	}
	return append(dst, "never"...), nil
}

func (s *schema) appendArray(dst []byte, indent string) ([]byte, error) {
	item := s.types[0]
	inner := indent + indentStep
	dst = append(dst, "Array<"...)
	open := len(dst)
	dst = append(dst, '\n')
	dst, err := item.appendDoc(dst, inner)
	if err != nil {
		return dst, err
	}
	if len(dst) == open+1 { // no comments: all on one line
		if dst, err = item.append(dst[:open], indent); err != nil {
			return dst, err
		}
		return append(dst, '>'), nil
	}
	if err := item.joins(); err != nil {
		return dst, err
	}
	dst = append(dst, inner...)
	if dst, err = item.append(dst, inner); err != nil {
		return dst, err
	}
	dst = append(dst, '\n')
	dst = append(dst, indent...)
	return append(dst, '>'), nil
}

func (s *schema) appendAlternatives(dst []byte, indent string) ([]byte, error) {
	for i, t := range s.types {
		if i > 0 {
			dst = append(dst, " | "...)
		}
		if err := t.joins(); err != nil {
			return dst, err
		}
		var err error
		if dst, err = t.append(dst, indent); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// joins fails for a scalar whose type is not a string: Python formats such a
// value readily, but neither joins nor adds it to a string.
func (s *schema) joins() error {
	if s.form == formScalar && s.scalar.kind != text {
		return fmt.Errorf("type: not a string")
	}
	return nil
}

// appendEnum prints strings in quotes, unescaped, and all else as Python does.
func appendEnum(dst []byte, enum *value) ([]byte, error) {
	values, err := iterate(enum)
	if err != nil {
		return dst, fmt.Errorf("enum: %w", err)
	}
	for i := range values {
		if i > 0 {
			dst = append(dst, " | "...)
		}
		if v := &values[i]; v.kind == text {
			dst = append(dst, '"')
			dst = append(dst, v.text...)
			dst = append(dst, '"')
		} else {
			dst = appendRepr(dst, v)
		}
	}
	return dst, nil
}
