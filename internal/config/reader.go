package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// reader turns nodes into a [Job] and collects what is wrong on the way.
type reader struct {
	file   string
	env    Env
	faults []Fault
}

// value is a node together with its name, such as "datasets[1].path".
type value struct {
	*node
	field string
}

func (v value) item(i int) value {
	return value{v.items[i], fmt.Sprintf("%s[%d]", v.field, i)}
}

// entry returns the value of a mapping's key.
func (v value) entry(name string) (value, bool) {
	for _, e := range v.entries {
		if e.key.text == name {
			return value{e.value, join(v.field, name)}, true
		}
	}
	return value{}, false
}

// join names a field of a mapping.
func join(mapping, key string) string {
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' || r == '.' }) {
		key = quote(key)
	}
	if mapping == "" {
		return key
	}
	return mapping + "." + key
}

// fault reports what is wrong with a value.
func (r *reader) fault(v value, found, fix string) {
	r.faults = append(r.faults, Fault{
		File: r.file, Line: v.line, Column: v.column,
		Field: v.field, Found: found, Fix: fix,
	})
}

// refuse reports a value by what it is.
func (r *reader) refuse(v value, fix string) { r.fault(v, v.describe(), fix) }

// document reads the one document of a file.
func (r *reader) document(src []byte) (value, bool) {
	docs, err := parseYAML(src)
	if se, ok := errors.AsType[*syntaxError](err); ok {
		at := value{node: &node{line: se.line, column: se.column}}
		r.fault(at, "text that is not YAML", se.message)
		return value{}, false
	}
	switch {
	case len(docs) == 0:
		at := value{node: &node{line: 1, column: 1}}
		r.fault(at, "nothing", "write a job; eyrie init makes a first one")
		return value{}, false
	case len(docs) > 1:
		r.fault(value{node: docs[1]}, "a second YAML document", "give each job a file of its own")
	}
	return value{node: docs[0]}, true
}

// field is a key that may stand in a mapping, and how its value is read. A
// field left empty counts as left out.
type field[T any] struct {
	name string
	need string // of a required field: what to write; empty otherwise
	read func(r *reader, v value, into *T)
}

// fields reads a mapping by the table of its fields.
func fields[T any](r *reader, v value, table []field[T], into *T) {
	names := fieldNames(table)
	if v.kind != mapping {
		r.refuse(v, "write a mapping with "+strings.Join(names, ", "))
		return
	}
	given, meant := r.entries(v, names)
	for _, f := range table {
		e, ok := given[f.name]
		switch {
		case ok && e.value.kind != null:
			f.read(r, value{e.value, join(v.field, f.name)}, into)
		case f.need == "":
		case ok:
			r.fault(value{e.value, join(v.field, f.name)}, "nothing", f.need)
		case !slices.Contains(meant, f.name): // a misspelt key is one fault, not two
			r.fault(value{v.node, join(v.field, f.name)}, "nothing", f.need)
		}
	}
}

// entries returns the entries of a mapping by key, and reports the keys that
// are not among the names or come twice. Names that unknown keys seem to stand
// for are returned as meant.
func (r *reader) entries(v value, names []string) (given map[string]entry, meant []string) {
	given = make(map[string]entry, len(v.entries))
	for _, e := range v.entries {
		key := value{e.key, join(v.field, e.key.text)}
		first, twice := given[e.key.text]
		switch {
		case e.key.kind != scalar:
			key.field = v.field
			r.fault(key, e.key.describe()+" for a key", "write one of "+strings.Join(names, ", "))
		case twice:
			r.fault(key, fmt.Sprintf("the key a second time, after line %d", first.key.line), "keep one of the two")
		case slices.Contains(names, e.key.text):
			given[e.key.text] = e
		default:
			near := nearest(e.key.text, names)
			meant = append(meant, near)
			r.fault(key, "an unknown key", adviseKey(e.key.text, near, names))
		}
	}
	return given, meant
}

// adviseKey says what to write in place of an unknown key; near is the name it
// resembles, if any.
func adviseKey(key, near string, names []string) string {
	known := "known here: " + strings.Join(names, ", ")
	if key == "<<" {
		return "write the fields out, merging is not supported; " + known
	}
	if near != "" {
		return fmt.Sprintf("did you mean %q? %s", near, known)
	}
	if home, ok := homes()[key]; ok {
		return fmt.Sprintf("it belongs %s; %s", home, known)
	}
	return known
}

// homes says of each field that is not at the top where it stands, to help
// with wrong indentation.
func homes() map[string]string {
	h := map[string]string{}
	add := func(names []string, where string) {
		for _, n := range names {
			h[n] = where
		}
	}
	add(fieldNames(jobFields()), "at the top of the file")
	add(fieldNames(maxPriceFields()), "under max_price")
	add(fieldNames(localFields()), "under sglang, vllm or openai, indented below it")
	add(fieldNames(openRouterFields()), "under openrouter, indented below it")
	add(fieldNames(datasetFields()), "in an entry of datasets")
	add(fieldNames(jobSamplingFields()), "under sampling")
	return h
}

func fieldNames[T any](table []field[T]) []string {
	names := make([]string, len(table))
	for i, f := range table {
		names[i] = f.name
	}
	return names
}

// nearest returns the name that a person most likely meant by key, or "".
func nearest(key string, names []string) string {
	const longest = 40 // longer ones are no misspelling of ours
	if len(key) > longest {
		return ""
	}
	best, bestAt := "", max(1, len(key)/3)+1
	lower := strings.ReplaceAll(strings.ToLower(key), "-", "_")
	for _, n := range names {
		if d := distance(lower, n); d < bestAt {
			best, bestAt = n, d
		}
	}
	return best
}

// distance counts the letters to insert, drop, change or swap with their
// neighbour to get from a to b.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
