package chat

import (
	"fmt"
	"slices"
	"strings"
)

// form tells the ways apart in which a schema prints.
type form uint8

const (
	formScalar form = iota
	formName        // a reference
	formObject
	formArray // types[0] is the item
	formEnum
	formAnyOf // types are the alternatives; also a list of type names
)

// schema is a JSON schema as far as it is printed.
type schema struct {
	form        form
	description *value // nil when there is none
	constraints []constraint

	scalar *value // the type's name, which need not be a string
	name   string
	enum   *value
	types  []*schema

	fields         []field
	additional     *value
	additionalType *schema // when additional is an object
}

type constraint struct {
	name  string
	value *value
}

type field struct {
	name     string
	schema   *schema
	optional bool
	standard *value // its default; nil when there is none
}

// sorted returns the required or the optional fields by name.
func (s *schema) sorted(optional bool) []*field {
	var fs []*field
	for i := range s.fields {
		if s.fields[i].optional == optional {
			fs = append(fs, &s.fields[i])
		}
	}
	slices.SortStableFunc(fs, func(a, b *field) int { return strings.Compare(a.name, b.name) })
	return fs
}

// definitions are the named schemas of one function, in the order in which
// parsing met them first.
type definitions struct {
	list    []definition
	selfRef bool // something refers to the function's own parameters
}

type definition struct {
	name   string
	schema value
}

func (d *definitions) find(name string) *definition {
	for i := range d.list {
		if d.list[i].name == name {
			return &d.list[i]
		}
	}
	return nil
}

func (d *definitions) register(defs *value) error {
	if !defs.truthy() {
		return nil
	}
	if defs.kind != dict {
		return fmt.Errorf("$defs: not an object")
	}
	for i, name := range defs.keys {
		if old := d.find(name); old != nil {
			old.schema = defs.items[i]
			continue
		}
		d.list = append(d.list, definition{name, defs.items[i]})
	}
	return nil
}

// resolve returns the name that a reference prints as.
func (d *definitions) resolve(ref *value) (string, error) {
	if ref.kind != text {
		return "", fmt.Errorf("$ref: not a string")
	}
	if ref.text == "#" {
		d.selfRef = true
		return "parameters", nil
	}
	if !strings.HasPrefix(ref.text, "#/$defs/") {
		return "", fmt.Errorf("$ref %q: only # and #/$defs/NAME are known", ref.text)
	}
	name := ref.text[strings.LastIndexByte(ref.text, '/')+1:]
	def := d.find(name)
	switch {
	case def == nil:
		return "", fmt.Errorf("$ref %q: no such definition", ref.text)
	case def.schema.kind != dict:
		return "", fmt.Errorf("$ref %q: the definition is not an object", ref.text)
	}
	if mark, ok := def.schema.get("$self_ref"); ok && mark.truthy() {
		return "parameters", nil
	}
	return name, nil
}

// parseSchema reads any schema but a function's parameters.
func parseSchema(v *value, defs *definitions) (*schema, error) {
	switch v.kind {
	case boolean:
		if v.truth {
			return named("any"), nil
		}
		return named("null"), nil
	case dict:
	default:
		return nil, fmt.Errorf("schema: neither an object nor a boolean")
	}
	s := &schema{}
	s.description, _ = v.get("description")
	if ref, ok := v.get("$ref"); ok {
		var err error
		s.form = formName
		s.name, err = defs.resolve(ref)
		return s, err
	}
	if alternatives, ok := v.get("anyOf"); ok {
		return s, s.parseAnyOf(alternatives, defs)
	}
	if enum, ok := v.get("enum"); ok {
		s.form, s.enum = formEnum, enum
		return s, checkEnum(v, enum)
	}
	typ, ok := v.get("type")
	switch {
	case ok && typ.kind == list:
		return s, s.parseTypeList(typ)
	case ok && typ.kind == text && typ.text == "object":
		return parseObject(v, defs)
	case ok && typ.kind == text && typ.text == "array":
		return s, s.parseArray(v, defs)
	case ok:
		s.parseScalar(v, typ)
		return s, nil
	case len(v.keys) == 0:
		return named("any"), nil
	}
	return nil, fmt.Errorf("schema: no type, anyOf, enum or $ref")
}

// named is a scalar type without comments.
func named(name string) *schema {
	return &schema{scalar: &value{kind: text, text: name}}
}

func (s *schema) parseScalar(v, typ *value) {
	s.form, s.scalar = formScalar, typ
	if typ.kind != text {
		return
	}
	switch typ.text {
	case "string":
		s.constrain(v, "maxLength", "minLength", "pattern")
	case "number":
		s.constrain(v, "maximum", "minimum")
	case "integer":
		s.scalar = &value{kind: text, text: "number"}
		s.constrain(v, "maximum", "minimum")
	}
}

// constrain keeps v's values of the given keys, which must be sorted.
func (s *schema) constrain(v *value, keys ...string) {
	for _, k := range keys {
		if c, ok := v.get(k); ok {
			s.constraints = append(s.constraints, constraint{k, c})
		}
	}
}

func (s *schema) parseArray(v *value, defs *definitions) error {
	s.form = formArray
	s.constrain(v, "maxItems", "minItems")
	items, ok := v.get("items")
	if !ok || !items.truthy() {
		s.types = []*schema{named("any")}
		return nil
	}
	item, err := parseSchema(items, defs)
	if err != nil {
		return fmt.Errorf("items: %w", err)
	}
	s.types = []*schema{item}
	return nil
}

func (s *schema) parseAnyOf(alternatives *value, defs *definitions) error {
	s.form = formAnyOf
	types, err := iterate(alternatives)
	if err != nil {
		return fmt.Errorf("anyOf: %w", err)
	}
	for i := range types {
		t, err := parseSchema(&types[i], defs)
		if err != nil {
			return fmt.Errorf("anyOf: %w", err)
		}
		s.types = append(s.types, t)
	}
	return nil
}

// parseTypeList reads a list of type names.
func (s *schema) parseTypeList(types *value) error {
	s.form = formAnyOf
	for i := range types.items {
		t := &types.items[i]
		if t.kind != text {
			return fmt.Errorf("type: a list with something other than strings")
		}
		name := t.text
		switch name {
		case "string", "number", "boolean", "null":
		case "integer":
			name = "number"
		case "object":
			name = "{}"
		case "array":
			name = "Array<any>"
		default:
			return fmt.Errorf("type: %q is not known in a list", name)
		}
		s.types = append(s.types, named(name))
	}
	return nil
}

// parseObject reads an object's schema; a function's parameters are read with
// it whatever their type says.
func parseObject(v *value, defs *definitions) (*schema, error) {
	if v.kind != dict {
		return nil, fmt.Errorf("parameters: not an object")
	}
	s := &schema{form: formObject}
	s.description, _ = v.get("description")
	if d, ok := v.get("$defs"); ok {
		if err := defs.register(d); err != nil {
			return nil, err
		}
	}
	if more, ok := v.get("additionalProperties"); ok {
		s.additional = more
		if more.kind == dict {
			t, err := parseSchema(more, defs)
			if err != nil {
				return nil, fmt.Errorf("additionalProperties: %w", err)
			}
			s.additionalType = t
		}
	}
	props, ok := v.get("properties")
	if !ok {
		return s, nil
	}
	if props.kind != dict {
		return nil, fmt.Errorf("properties: not an object")
	}
	required, err := requiredNames(v)
	if err != nil {
		return nil, err
	}
	for i, name := range props.keys {
		prop := &props.items[i]
		t, err := parseSchema(prop, defs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f := field{name: name, schema: t, optional: !required[name]}
		f.standard, _ = prop.get("default")
		s.fields = append(s.fields, f)
	}
	return s, nil
}

func requiredNames(v *value) (map[string]bool, error) {
	r, ok := v.get("required")
	if !ok {
		return nil, nil
	}
	names, err := iterate(r)
	if err != nil {
		return nil, fmt.Errorf("required: %w", err)
	}
	set := make(map[string]bool, len(names))
	for i := range names {
		switch names[i].kind {
		case text:
			set[names[i].text] = true
		case list, dict:
			return nil, fmt.Errorf("required: a list with a list or an object in it")
		}
	}
	return set, nil
}

// checkEnum compares the values of an enum with the type beside it.
func checkEnum(v, enum *value) error {
	typ, ok := v.get("type")
	if !ok {
		return nil
	}
	if typ.kind == list {
		var err error
		if typ, err = enumType(typ.items); err != nil {
			return err
		}
	}
	values, err := iterate(enum)
	if err != nil {
		return fmt.Errorf("enum: %w", err)
	}
	if typ.kind != text {
		return nil
	}
	for i := range values {
		k := values[i].kind
		ok := true
		switch typ.text {
		case "string":
			ok = k == text
		case "number":
			ok = k == integer || k == float || k == boolean
		case "integer":
			ok = k == integer || k == boolean
		case "boolean":
			ok = k == boolean
		}
		if !ok && k != null {
			return fmt.Errorf("enum: a value is no %s", typ.text)
		}
	}
	return nil
}

// enumType picks the one type out of [T], [T, "null"] or ["null", T].
func enumType(types []value) (*value, error) {
	isNull := func(v *value) bool { return v.kind == text && v.text == "null" }
	switch {
	case len(types) == 1:
		return &types[0], nil
	case len(types) == 2 && isNull(&types[0]):
		return &types[1], nil
	case len(types) == 2 && isNull(&types[1]):
		return &types[0], nil
	}
	return nil, fmt.Errorf("enum: a list of types other than one and null")
}

// iterate returns what Python's for loop makes of v: a list's items, a
// string's characters, a dict's keys.
func iterate(v *value) ([]value, error) {
	switch v.kind {
	case list:
		return v.items, nil
	case text:
		var vs []value
		for _, r := range v.text {
			vs = append(vs, value{kind: text, text: string(r)})
		}
		return vs, nil
	case dict:
		vs := make([]value, len(v.keys))
		for i, k := range v.keys {
			vs[i] = value{kind: text, text: k}
		}
		return vs, nil
	}
	return nil, fmt.Errorf("not a list")
}
