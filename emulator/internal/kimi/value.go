package kimi

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is a JSON value that remembers the order of its members and how its
// numbers were written, as the reference code's Python values do.
type Value struct {
	Kind    jsontext.Kind // 'n', 't', 'f', '"', '0', '{' or '['
	Text    string        // of a string or number
	Items   []Value       // of an array
	Members []Member      // of an object
}

// Member is a name and value in an object.
type Member struct {
	Name  string
	Value Value
}

// Parse reads one JSON value. As in Python, the last of equal names counts,
// in the place of the first; ill-formed text becomes U+FFFD.
func Parse(data []byte) (Value, error) {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := parse(d)
	if err != nil {
		return Value{}, err
	}
	if d.PeekKind() != 0 {
		return Value{}, fmt.Errorf("more than one JSON value, at byte %d", d.InputOffset())
	}
	return v, nil
}

func parse(d *jsontext.Decoder) (Value, error) {
	t, err := d.ReadToken()
	if err != nil {
		return Value{}, err
	}
	v := Value{Kind: t.Kind()}
	switch v.Kind {
	case '"', '0':
		v.Text = t.String()
	case '[':
		for d.PeekKind() != ']' {
			item, err := parse(d)
			if err != nil {
				return Value{}, err
			}
			v.Items = append(v.Items, item)
		}
		_, err = d.ReadToken()
	case '{':
		place := map[string]int{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return Value{}, err
			}
			key := name.String()
			member, err := parse(d)
			if err != nil {
				return Value{}, err
			}
			if i, twice := place[key]; twice {
				v.Members[i].Value = member
				continue
			}
			place[key] = len(v.Members)
			v.Members = append(v.Members, Member{key, member})
		}
		_, err = d.ReadToken()
	}
	return v, err
}

// Get returns a member of an object.
func (v Value) Get(name string) (Value, bool) {
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Str returns the text of a string member, "" when there is none.
func (v Value) Str(name string) string {
	if m, ok := v.Get(name); ok && m.Kind == '"' {
		return m.Text
	}
	return ""
}

// Truthy is Python's truth of the value.
func (v Value) Truthy() bool {
	switch v.Kind {
	case '"':
		return v.Text != ""
	case '0':
		f, err := strconv.ParseFloat(v.Text, 64)
		return err != nil || f != 0
	case '[':
		return len(v.Items) > 0
	case '{':
		return len(v.Members) > 0
	}
	return v.Kind == 't'
}

// sorted returns v with the members of every object in order of their names.
func (v Value) sorted() Value {
	switch v.Kind {
	case '[':
		items := make([]Value, len(v.Items))
		for i, x := range v.Items {
			items[i] = x.sorted()
		}
		v.Items = items
	case '{':
		members := make([]Member, len(v.Members))
		for i, m := range v.Members {
			members[i] = Member{m.Name, m.Value.sorted()}
		}
		slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
		v.Members = members
	}
	return v
}

// Dump writes v the way Python's json.dumps does with ensure_ascii off and
// these separators.
func (v Value) Dump(comma, colon string) string {
	var b strings.Builder
	v.dump(&b, comma, colon)
	return b.String()
}

func (v Value) dump(b *strings.Builder, comma, colon string) {
	switch v.Kind {
	case 'n':
		b.WriteString("null")
	case 't':
		b.WriteString("true")
	case 'f':
		b.WriteString("false")
	case '0':
		b.WriteString(pythonNumber(v.Text))
	case '"':
		dumpString(b, v.Text)
	case '[':
		b.WriteByte('[')
		for i, x := range v.Items {
			if i > 0 {
				b.WriteString(comma)
			}
			x.dump(b, comma, colon)
		}
		b.WriteByte(']')
	case '{':
		b.WriteByte('{')
		for i, m := range v.Members {
			if i > 0 {
				b.WriteString(comma)
			}
			dumpString(b, m.Name)
			b.WriteString(colon)
			m.Value.dump(b, comma, colon)
		}
		b.WriteByte('}')
	}
}

func dumpString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"':
			b.WriteString(`\"`)
		case '\\':
			b.WriteString(`\\`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		default:
			if r < 0x20 {
				fmt.Fprintf(b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	b.WriteByte('"')
}

// repr is Python's repr of a value, for the scalars that tool schemas hold.
func (v Value) repr() string {
	switch v.Kind {
	case 'n':
		return "None"
	case 't':
		return "True"
	case 'f':
		return "False"
	case '0':
		return pythonNumber(v.Text)
	case '"':
		return v.Text // only ever used through str()
	case '[':
		parts := make([]string, len(v.Items))
		for i, x := range v.Items {
			parts[i] = x.quoted()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	parts := make([]string, len(v.Members))
	for i, m := range v.Members {
		parts[i] = Value{Kind: '"', Text: m.Name}.quoted() + ": " + m.Value.quoted()
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// quoted is repr with strings in quotes, as inside lists and dicts.
func (v Value) quoted() string {
	if v.Kind != '"' {
		return v.repr()
	}
	quote := "'"
	if strings.Contains(v.Text, "'") && !strings.Contains(v.Text, `"`) {
		quote = `"`
	}
	return quote + strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, quote, `\`+quote).Replace(v.Text) + quote
}

// isFloat reports whether Python reads the number as a float.
func isFloat(text string) bool { return strings.ContainsAny(text, ".eE") }

// pythonNumber writes a JSON number as Python prints it after reading it.
func pythonNumber(text string) string {
	if !isFloat(text) {
		if n, ok := new(big.Int).SetString(text, 10); ok {
			return n.String() // -0 is 0
		}
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		if strings.HasPrefix(text, "-") {
			return "-Infinity"
		}
		return "Infinity"
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	n, _ := strconv.Atoi(exp)
	if f != 0 && (n < -4 || n >= 16) {
		return mantissa + "e" + exp[:1] + fmt.Sprintf("%02d", max(n, -n))
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
