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
	Native QuantizationRule = iota // nothing below what the model was released in
	Any                            // whatever there is
	Listed                         // the named ones only
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
	fix := "write native, any, or a list of " + strings.Join(quantizationNames, ", ")
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
	names := r.words(v, fix, func(v value) (string, bool) { return r.choice(v, quantizationNames...) })
	o.Quantization = Quantization{Listed, names}
}
