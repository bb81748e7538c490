package config

import (
	"slices"
	"strings"
)

// Quantization says which quantizations of the model may answer. The zero
// value is the model's own.
type Quantization struct {
	Rule  QuantizationRule
	Names []string // with Listed, in the order of the file
}

// QuantizationRule is how a [Quantization] decides.
type QuantizationRule uint8

// The rules.
const (
	Native QuantizationRule = iota // what the model was released in
	Any                            // whatever there is
	Listed                         // the named ones only; "native" may be among them
)

// String prints the quantization as the job file has it.
func (q Quantization) String() string {
	switch q.Rule {
	case Native:
		return "native"
	case Any:
		return "any"
	}
	return "[" + strings.Join(q.Names, ", ") + "]"
}

// quantizationNames are the names that catalogues use; "unknown" stands for
// endpoints that publish none.
var quantizationNames = []string{
	"int4", "int8", "fp4", "mxfp4", "nvfp4", "fp6", "fp8", "mxfp8", "fp16", "bf16", "fp32", "unknown",
}

func (r *reader) quantization(v value, o *OpenRouter) {
	fix := "write native, any, or a list of native, " + strings.Join(quantizationNames, ", ")
	if v.kind == scalar && slices.Contains(quantizationNames, v.text) {
		r.refuse(v, "write it as a list: ["+v.text+"]")
		return
	}
	if v.kind == scalar {
		switch v.text {
		case "native":
			o.Quantization = Quantization{}
		case "any":
			o.Quantization = Quantization{Rule: Any}
		default:
			r.refuse(v, fix)
		}
		return
	}
	listed := append([]string{"native"}, quantizationNames...)
	names := r.words(v, fix, func(v value) (string, bool) { return r.choice(v, listed...) })
	o.Quantization = Quantization{Listed, names}
}

const needPrecision = "write a mapping of providers or endpoints, such as novita: int4, or novita: {label: int4, note: how you know}"

// precision reads what the user knows better than the labels: a label a
// provider, or a label with a note.
func (r *reader) precision(v value, o *OpenRouter) {
	if v.kind != mapping || len(v.entries) == 0 {
		r.refuse(v, needPrecision)
		return
	}
	for _, e := range v.entries {
		key := value{e.key, join(v.field, e.key.text)}
		name, ok := r.word(key, needPrecision)
		if !ok {
			continue
		}
		if slices.ContainsFunc(o.Precision, func(p Precision) bool { return strings.EqualFold(p.Name, name) }) {
			r.fault(key, quote(name)+" a second time", "keep one of the two")
			continue
		}
		p := Precision{Name: name}
		r.claim(value{e.value, key.field}, &p)
		o.Precision = append(o.Precision, p)
	}
}

// claim reads what is said of one provider.
func (r *reader) claim(v value, p *Precision) {
	if v.kind != mapping {
		p.Label, _ = r.choice(v, quantizationNames...)
		return
	}
	fields(r, v, []field[Precision]{
		{"label", "write its precision, such as int4", func(r *reader, v value, p *Precision) { p.Label, _ = r.choice(v, quantizationNames...) }},
		{"note", "", func(r *reader, v value, p *Precision) { p.Note, _ = r.word(v, "write on one line how you know") }},
	}, p)
}
