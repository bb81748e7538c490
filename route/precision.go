package route

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// NativeLabel stands for a model's own precision in a list of labels.
const NativeLabel = "native"

// Unstated is the label of endpoints that publish none.
const Unstated = "unknown"

// natives is the precision that models were released to be served in: the one
// of their published weights, which for int4 and mxfp4 is the one they were
// trained in. A model that is not here is not known. Names are whole; a date at
// the end of a model's name makes no other model.
var natives = map[string][]string{
	"int4": {
		"moonshotai/kimi-k2", "moonshotai/kimi-k2-thinking", "moonshotai/kimi-k2.5", "moonshotai/kimi-k2.6",
		"moonshotai/kimi-k2.7-code",
	},
	"mxfp4": {
		"moonshotai/kimi-k3",
		"openai/gpt-oss-20b", "openai/gpt-oss-120b", "openai/gpt-oss-safeguard-20b", "openai/gpt-oss-safeguard-120b",
	},
	"fp8": {
		"deepseek/deepseek-chat", // V3
		"deepseek/deepseek-chat-v3", "deepseek/deepseek-chat-v3.1", "deepseek/deepseek-v3", "deepseek/deepseek-v3.1",
		"deepseek/deepseek-v3.1-base", "deepseek/deepseek-v3.1-terminus", "deepseek/deepseek-v3.2",
		"deepseek/deepseek-v3.2-exp", "deepseek/deepseek-v3.2-speciale",
		"deepseek/deepseek-r1", // of V3's weights; the distilled ones are others
	},
	"bf16": {
		"qwen/qwen3-0.6b", "qwen/qwen3-1.7b", "qwen/qwen3-4b", "qwen/qwen3-8b", "qwen/qwen3-14b", "qwen/qwen3-32b",
		"qwen/qwen3-30b-a3b", "qwen/qwen3-30b-a3b-instruct", "qwen/qwen3-30b-a3b-thinking",
		"qwen/qwen3-235b-a22b", "qwen/qwen3-235b-a22b-instruct", "qwen/qwen3-235b-a22b-thinking",
		"qwen/qwen3-coder", "qwen/qwen3-coder-30b-a3b-instruct", "qwen/qwen3-coder-next",
		"qwen/qwen3-next-80b-a3b-instruct", "qwen/qwen3-next-80b-a3b-thinking",
		"qwen/qwen3-vl-8b-instruct", "qwen/qwen3-vl-8b-thinking", "qwen/qwen3-vl-30b-a3b-instruct",
		"qwen/qwen3-vl-30b-a3b-thinking", "qwen/qwen3-vl-32b-instruct", "qwen/qwen3-vl-235b-a22b-instruct",
		"qwen/qwen3-vl-235b-a22b-thinking",
	},
}

// dated is the end of the name of a dated release: month and day, year and
// month, or all three.
var dated = regexp.MustCompile(`-(\d{4}|\d{6}|\d{8})$`)

// Native returns the quantization label that is a model's native precision.
// For a model it does not know it reports false.
func Native(model string) (string, bool) {
	name, _, _ := strings.Cut(model, ":") // a variant has the same weights
	undated := dated.ReplaceAllString(name, "")
	for label, models := range natives {
		if slices.Contains(models, name) || slices.Contains(models, undated) {
			return label, true
		}
	}
	return "", false
}

// Resolve makes the labels that a policy allows from those of a job file, in
// which [NativeLabel] may stand for the model's own. It returns that one too,
// where it was asked for, and an error where it is not known.
func Resolve(model string, labels []string) (allowed []string, native string, err error) {
	for _, l := range labels {
		if l == NativeLabel {
			var known bool
			if native, known = Native(model); !known {
				return nil, "", fmt.Errorf("the native precision of %s is not known here; name the labels that may answer, such as [fp8, bf16], or say any", model)
			}
			l = native
		}
		if !slices.Contains(allowed, l) {
			allowed = append(allowed, l)
		}
	}
	return allowed, native, nil
}

// width is the bits of a label's weights; 0 for a label that is not known.
func width(label string) int {
	switch label {
	case "int4", "fp4", "mxfp4", "nvfp4":
		return 4
	case "fp6":
		return 6
	case "int8", "fp8", "mxfp8":
		return 8
	case "fp16", "bf16":
		return 16
	case "fp32":
		return 32
	}
	return 0
}

// covers reports whether a label stands for a family of formats to which the
// other one belongs.
func covers(label, other string) bool {
	switch label {
	case "fp4":
		return other == "mxfp4" || other == "nvfp4"
	case "fp8":
		return other == "mxfp8"
	}
	return false
}

// precision objects to labels that are not allowed. Against the model's own
// precision a reason says what the other one would do.
func (p *Policy) precision(v *Verdict) (Rule, string) {
	label := v.Precision()
	if p.Quantizations == nil || slices.Contains(p.Quantizations, label) {
		return "", ""
	}
	return RuleQuantization, p.whyNot(label) + claimed(v.Claim)
}

func (p *Policy) whyNot(label string) string {
	add := fmt.Sprintf("; add %s to quantization to let it in", label)
	switch own, this := width(p.Native), width(label); {
	case p.Native == "":
		return fmt.Sprintf("quantization %s is not among %s", label, strings.Join(p.Quantizations, ", "))
	case label == Unstated:
		return "it does not state its quantization" + add
	case this == 0:
		return fmt.Sprintf("quantization %s is not known here", label) + add
	case covers(label, p.Native):
		return fmt.Sprintf("quantization %s does not say which kind, and the model's own is %s", label, p.Native) + add
	case this > own:
		return fmt.Sprintf("quantization %s is more than the model's own %s", label, p.Native) + add
	case this < own:
		return fmt.Sprintf("quantization %s is less than the model's own %s", label, p.Native)
	}
	return fmt.Sprintf("quantization %s rounds the model's own %s to another format", label, p.Native)
}

// claimed marks a reason that rests on what the user said.
func claimed(c *Claim) string {
	switch {
	case c == nil:
		return ""
	case c.Note == "":
		return " (by the job file)"
	}
	return fmt.Sprintf(" (by the job file: %s)", c.Note)
}

// claim returns what the user says of an endpoint; what is said of its tag
// counts before what is said of its provider.
func (p *Policy) claim(l *eyrie.Lane) *Claim {
	i := slices.IndexFunc(p.Claims, func(c Claim) bool { return c.Name == l.Tag })
	if i < 0 {
		i = slices.IndexFunc(p.Claims, func(c Claim) bool { return names(c.Name, l) })
	}
	if i < 0 {
		return nil
	}
	return &p.Claims[i]
}
