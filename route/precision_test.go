package route_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/route"
)

func TestNative(t *testing.T) {
	for _, tt := range []struct{ model, want string }{
		{"moonshotai/kimi-k2", "int4"},
		{"moonshotai/kimi-k2-0905", "int4"},
		{"moonshotai/kimi-k2-thinking", "int4"},
		{"moonshotai/kimi-k2.5", "int4"},
		{"moonshotai/kimi-k2.5:free", "int4"},
		{"moonshotai/kimi-k2.5-0127", "int4"},
		{"moonshotai/kimi-k2.6", "int4"},
		{"moonshotai/kimi-k2.7-code", "int4"},
		{"moonshotai/kimi-k3", "mxfp4"},
		{"openai/gpt-oss-120b", "mxfp4"},
		{"deepseek/deepseek-chat-v3-0324", "fp8"},
		{"deepseek/deepseek-v3.2", "fp8"},
		{"deepseek/deepseek-r1-0528", "fp8"},
		{"qwen/qwen3-235b-a22b-2507", "bf16"},

		// What only looks like one of them.
		{"moonshotai/kimi-k2.8", ""},
		{"moonshotai/kimi-k2.5-mini", ""},
		{"moonshotai/kimi-k2.5-012", ""},
		{"deepseek/deepseek-r1-distill-llama-70b", ""},
		{"deepseek/deepseek-v4-pro-0813", ""},
		{"qwen/qwen3-max", ""},
		{"qwen/qwen3.5-27b", ""},
		{"someone/kimi-k2.5", ""},
		{"openai/gpt-5", ""},
		{"kimi-k2.5", ""},
		{"", ""},
	} {
		if got, known := route.Native(tt.model); got != tt.want || known != (tt.want != "") {
			t.Errorf("Native(%q) = %q, %v; want %q", tt.model, got, known, tt.want)
		}
	}
}

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		name, model string
		labels      []string
		want        []string
		native      string
		fault       string
	}{
		{"the model's own", "moonshotai/kimi-k2.5", []string{"native"}, []string{"int4"}, "int4", ""},
		{"and others", "moonshotai/kimi-k2.5", []string{"native", "unknown", "fp8"}, []string{"int4", "unknown", "fp8"}, "int4", ""},
		{"twice", "moonshotai/kimi-k2.5", []string{"int4", "native"}, []string{"int4"}, "int4", ""},
		{"a list overrules the table", "moonshotai/kimi-k2.5", []string{"fp8"}, []string{"fp8"}, "", ""},
		{"a list needs no table", "new/model", []string{"fp8"}, []string{"fp8"}, "", ""},
		{"not known", "new/model", []string{"native"}, nil, "", "the native precision of new/model is not known here; name the labels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, native, err := route.Resolve(tt.model, tt.labels)
			if !slices.Equal(got, tt.want) || native != tt.native {
				t.Errorf("%v, native %q; want %v, %q", got, native, tt.want, tt.native)
			}
			if (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("error %v, want %q", err, tt.fault)
			}
		})
	}
}

// TestPrecision judges labels against a model's own precision, and what a user
// knows better than they say.
func TestPrecision(t *testing.T) {
	for _, tt := range []struct {
		name, model string
		also        []string // beside native
		label       string
		claims      []route.Claim
		want        string // why not; empty where it is allowed
	}{
		{name: "int4 for int4", model: "moonshotai/kimi-k2.5", label: "int4"},
		{name: "fp4 for int4", model: "moonshotai/kimi-k2.5", label: "fp4", want: "quantization fp4 rounds the model's own int4 to another format"},
		{name: "nvfp4 for int4", model: "moonshotai/kimi-k2.5", label: "nvfp4", want: "quantization nvfp4 rounds the model's own int4 to another format"},
		{name: "mxfp4 for int4", model: "moonshotai/kimi-k2.5", label: "mxfp4", want: "quantization mxfp4 rounds the model's own int4 to another format"},
		{name: "unstated", model: "moonshotai/kimi-k2.5", label: "unknown", want: "it does not state its quantization; add unknown to quantization to let it in"},
		{name: "unstated, and named", model: "moonshotai/kimi-k2.5", label: "unknown", also: []string{"unknown"}},
		{name: "more", model: "moonshotai/kimi-k2.5", label: "bf16", want: "quantization bf16 is more than the model's own int4; add bf16 to quantization to let it in"},
		{name: "more, and named", model: "moonshotai/kimi-k2.5", label: "bf16", also: []string{"fp8", "bf16"}},
		{name: "less", model: "deepseek/deepseek-v3.2", label: "fp4", want: "quantization fp4 is less than the model's own fp8"},
		{name: "as wide", model: "deepseek/deepseek-v3.2", label: "int8", want: "quantization int8 rounds the model's own fp8 to another format"},
		{name: "the family's name", model: "openai/gpt-oss-120b", label: "fp4", want: "quantization fp4 does not say which kind, and the model's own is mxfp4; add fp4 to quantization to let it in"},
		{name: "another of the family", model: "openai/gpt-oss-120b", label: "nvfp4", want: "quantization nvfp4 rounds the model's own mxfp4 to another format"},
		{name: "a new word", model: "qwen/qwen3-8b", label: "bf12", want: "quantization bf12 is not known here; add bf12 to quantization to let it in"},

		{name: "claimed by slug", model: "moonshotai/kimi-k2.5", label: "unknown", claims: []route.Claim{{"novita", "int4", "their model card"}}},
		{name: "claimed by name", model: "moonshotai/kimi-k2.5", label: "unknown", claims: []route.Claim{{"Novita", "int4", ""}}},
		{name: "claimed of another", model: "moonshotai/kimi-k2.5", label: "unknown", claims: []route.Claim{{"venice", "int4", ""}},
			want: "it does not state its quantization; add unknown to quantization to let it in"},
		{name: "claimed to be worse than its label", model: "moonshotai/kimi-k2.5", label: "int4", claims: []route.Claim{{"novita", "nvfp4", "asked support"}},
			want: "quantization nvfp4 rounds the model's own int4 to another format (by the job file: asked support)"},
		{name: "claimed without a note", model: "moonshotai/kimi-k2.5", label: "int4", claims: []route.Claim{{"novita", "fp4", ""}},
			want: "quantization fp4 rounds the model's own int4 to another format (by the job file)"},
		{name: "of the tag before of the provider", model: "moonshotai/kimi-k2.5", label: "unknown", claims: []route.Claim{{"novita", "fp4", ""}, {"novita/x", "int4", ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p route.Policy
			var err error
			p.Quantizations, p.Native, err = route.Resolve(tt.model, append([]string{"native"}, tt.also...))
			if err != nil {
				t.Fatal(err)
			}
			p.Claims = tt.claims
			v := p.Judge([]*eyrie.Lane{lane(t, "novita/x", "Novita", tt.label)})[0]
			if v.Reason != tt.want || v.Allowed != (tt.want == "") || !v.Allowed && v.Rule != route.RuleQuantization {
				t.Errorf("%+v, want %q", v, tt.want)
			}
			if (v.Precision() != tt.label) != (v.Claim != nil) {
				t.Errorf("precision %s by claim %v, and the label is %s", v.Precision(), v.Claim, tt.label)
			}
		})
	}
}
