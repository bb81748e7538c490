package emulator

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/eyrie-ai/eyrie/emulator/internal/kimi"
	"github.com/go-json-experiment/json/jsontext"
)

// tool is a function that the model may call.
type tool struct {
	name       string
	parameters kimi.Value // JSON schema, the zero Value for none
}

// readTools lists the functions among a request's tools.
func readTools(tools kimi.Value) []tool {
	var list []tool
	for _, t := range tools.Items {
		f, _ := t.Get("function")
		if t.Str("type") != "function" || f.Str("name") == "" {
			continue
		}
		parameters, _ := f.Get("parameters")
		list = append(list, tool{f.Str("name"), parameters})
	}
	return list
}

// readToolChoice turns tool_choice into an order's forceTool.
func readToolChoice(raw jsontext.Value) string {
	switch text(raw) {
	case "none":
		return "-"
	case "required":
		return "*"
	}
	if raw.Kind() == '{' {
		if v, err := kimi.Parse(raw); err == nil {
			f, _ := v.Get("function")
			return f.Str("name")
		}
	}
	return ""
}

// countCalls counts the tool calls in a conversation: the model numbers its
// calls through all of it.
func countCalls(messages kimi.Value) int {
	n := 0
	for _, m := range messages.Items {
		calls, _ := m.Get("tool_calls")
		n += len(calls.Items)
	}
	return n
}

func (w *writer) callsTool() bool {
	switch {
	case len(w.tools) == 0, w.forceTool == "-":
		return false
	case w.forceTool != "":
		return true
	}
	return w.Float64() < w.order.text.ToolCall
}

func (w *writer) callTools() {
	markers := w.vocabulary.Tools()
	w.mark(markers.SectionBegin)
	for n := w.firstCall; ; n++ {
		t := pick(w.composer, w.tools)
		if i := slices.IndexFunc(w.tools, func(t tool) bool { return t.name == w.forceTool }); i >= 0 {
			t = w.tools[i]
		}
		id := fmt.Sprintf("functions.%s:%d", t.name, n)
		if w.Float64() < w.order.text.OddToolIDs {
			id = pick(w.composer, []string{fmt.Sprintf("%s:%d", t.name, n), fmt.Sprintf("call%05d:%d", w.IntN(1e5), n)})
		}
		w.c.calls = append(w.c.calls, toolName{id, t.name})
		w.mark(markers.CallBegin)
		w.put(callID, id)
		w.mark(markers.ArgumentBegin)
		w.put(arguments, w.arguments(t))
		w.mark(markers.CallEnd)
		if !w.parallel || w.Float64() >= w.order.text.ParallelCalls {
			break
		}
	}
	w.mark(markers.SectionEnd)
}

// arguments makes a JSON object that fits the tool's schema.
func (w *writer) arguments(t tool) string { return w.structured(t.parameters) }

// structured makes a JSON object that fits a schema.
func (w *writer) structured(schema kimi.Value) string {
	w.budget = 1000
	v := w.valueFor(schema, schema, 0)
	if v.Kind != '{' {
		v = kimi.Value{Kind: '{'}
	}
	if w.Float64() < w.order.text.SpacedArguments {
		return v.Dump(", ", ": ")
	}
	return v.Dump(",", ":")
}

// Bounds that bring schemas to an end that refer to themselves or ask for very
// much: where optional members and array items stop, and the most items and
// characters that a schema's minimum can ask for.
const (
	maxDepth = 4
	maxItems = 50
	maxChars = 10_000
)

// valueFor makes a value that is valid for the parts of a schema that tools
// use. root resolves references.
func (w *writer) valueFor(schema, root kimi.Value, depth int) kimi.Value {
	if w.budget--; w.budget < 0 {
		return kimi.Value{Kind: 'n'}
	}
	if ref := schema.Str("$ref"); ref != "" && depth < 4*maxDepth {
		return w.valueFor(resolve(root, ref), root, depth+1)
	}
	if c, ok := schema.Get("const"); ok {
		return c
	}
	if enum, ok := schema.Get("enum"); ok && len(enum.Items) > 0 {
		return pick(w.composer, enum.Items)
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		if some, ok := schema.Get(name); ok && len(some.Items) > 0 {
			return w.valueFor(pick(w.composer, some.Items), root, depth+1)
		}
	}
	typ, _ := schema.Get("type")
	if typ.Kind == '[' && len(typ.Items) > 0 {
		typ = typ.Items[0]
	}
	_, hasProperties := schema.Get("properties")
	switch {
	case typ.Text == "object" || typ.Text == "" && hasProperties:
		return w.objectFor(schema, root, depth)
	case typ.Text == "array":
		return w.arrayFor(schema, root, depth)
	case typ.Text == "integer":
		return w.integerFor(schema)
	case typ.Text == "number":
		return w.numberFor(schema)
	case typ.Text == "boolean":
		return kimi.Value{Kind: pick(w.composer, []jsontext.Kind{'t', 'f'})}
	case typ.Text == "null":
		return kimi.Value{Kind: 'n'}
	}
	return w.stringFor(schema)
}

func resolve(root kimi.Value, ref string) kimi.Value {
	v := root
	for name := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if name != "" {
			v, _ = v.Get(name)
		}
	}
	return v
}

func (w *writer) objectFor(schema, root kimi.Value, depth int) kimi.Value {
	object := kimi.Value{Kind: '{'}
	properties, _ := schema.Get("properties")
	required, _ := schema.Get("required")
	for _, p := range properties.Members {
		needed := slices.ContainsFunc(required.Items, func(v kimi.Value) bool { return v.Text == p.Name })
		if !needed && (depth >= maxDepth || w.IntN(3) == 0) {
			continue
		}
		object.Members = append(object.Members, kimi.Member{Name: p.Name, Value: w.valueFor(p.Value, root, depth+1)})
	}
	return object
}

func (w *writer) arrayFor(schema, root kimi.Value, depth int) kimi.Value {
	array := kimi.Value{Kind: '['}
	n := 0
	if depth < maxDepth {
		n = w.IntN(3)
	}
	items, _ := schema.Get("items")
	least, most := bound(schema, "minItems", 0), bound(schema, "maxItems", math.MaxInt32)
	for range int(min(max(float64(n), least), max(most, 0), maxItems)) {
		array.Items = append(array.Items, w.valueFor(items, root, depth+1))
	}
	return array
}

// bound reads a numeric keyword.
func bound(schema kimi.Value, name string, otherwise float64) float64 {
	v, ok := schema.Get(name)
	if !ok || v.Kind != '0' {
		return otherwise
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if err != nil {
		return otherwise
	}
	return f
}

// interval is the range that a schema allows, leaning to small numbers.
func interval(schema kimi.Value) (lo, hi float64) {
	lo = bound(schema, "minimum", bound(schema, "exclusiveMinimum", math.Inf(-1))+1)
	hi = bound(schema, "maximum", bound(schema, "exclusiveMaximum", math.Inf(1))-1)
	switch {
	case math.IsInf(lo, -1) && math.IsInf(hi, 1):
		return 0, 1000
	case math.IsInf(lo, -1):
		return hi - 1000, hi
	case math.IsInf(hi, 1):
		return lo, lo + 1000
	}
	return lo, max(lo, hi)
}

func (w *writer) integerFor(schema kimi.Value) kimi.Value {
	lo, hi := interval(schema)
	lo, hi = math.Ceil(lo), math.Floor(hi)
	n := lo + math.Floor(w.Float64()*(hi-lo+1))
	return kimi.Value{Kind: '0', Text: strconv.FormatFloat(min(n, hi), 'f', -1, 64)}
}

func (w *writer) numberFor(schema kimi.Value) kimi.Value {
	lo, hi := interval(schema)
	return kimi.Value{Kind: '0', Text: strconv.FormatFloat(math.Trunc((lo+w.Float64()*(hi-lo))*100)/100, 'f', -1, 64)}
}

func (w *writer) stringFor(schema kimi.Value) kimi.Value {
	s := pick(w.composer, []string{
		pick(w.composer, names), pick(w.composer, things), pick(w.composer, chineseThings),
		"/home/user/" + pick(w.composer, names) + ".txt", "line one\nline \"two\"\t😀",
		fmt.Sprintf("2024-%02d-%02d", 1+w.IntN(12), 1+w.IntN(28)),
	})
	runes := []rune(s)
	if most := max(bound(schema, "maxLength", math.MaxInt32), 0); float64(len(runes)) > most {
		runes = runes[:int(most)]
	}
	for least := min(bound(schema, "minLength", 0), maxChars); float64(len(runes)) < least; {
		runes = append(runes, 'x')
	}
	return kimi.Value{Kind: '"', Text: string(runes)}
}
