package jinja_test

import (
	"os"
	"testing"

	"github.com/eyrie-ai/eyrie/jinja"
)

// toolConversation loads the template and conversation in testdata.
func toolConversation(t testing.TB) (*jinja.Template, []byte) {
	t.Helper()
	src, err := os.ReadFile("testdata/tools.jinja")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/conversation.json")
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := jinja.Parse("tools.jinja", string(src))
	if err != nil {
		t.Fatal(err)
	}
	return tmpl, data
}

func TestToolConversation(t *testing.T) {
	tmpl, data := toolConversation(t)
	res, err := tmpl.Render(vars(t, string(data)), jinja.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `<|system|>tools<|start|>[{"function":{"description":"Weather for a city — now or later","name":"get_weather",` +
		`"parameters":{"properties":{"city":{"type":"string"},"days":{"default":1,"minimum":1,"type":"integer"},` +
		`"units":{"enum":["c","f"],"type":"string"}},"required":["city"],"type":"object"}},"type":"function"},` +
		`{"function":{"description":"Look something up","name":"search","parameters":{"properties":{"limit":{"default":2.5,"type":"number"},` +
		`"query":{"type":"string"}},"type":"object"}},"type":"function"}]<|end|>` +
		`<|system|>system<|start|>You answer briefly.<|end|>` +
		`<|user|>user<|start|>What is the weather in Zürich, and who wrote Faust?<|end|>` +
		`<|assistant|>assistant<|start|><think></think><|calls|><|call|>functions.get_weather:0<|args|>{"city": "Zürich", "days": 1}<|end_call|>` +
		`<|call|>functions.search:1<|args|>{"query": "Faust"}<|end_call|><|end_calls|><|end|>` +
		"<|system|>tool<|start|>## Return of functions.get_weather:0\n{\"t\": 21.0}<|end|>" +
		"<|system|>tool<|start|>## Return of functions.search:1\nGoethe<|end|>" +
		`<|assistant|>assistant<|start|><think></think>21 degrees; Goethe.<|end|>` +
		`<|user|>user<|start|>Thanks 😀<|end|><|assistant|>assistant<|start|><think>`
	if res.Text != want {
		t.Errorf("got %s", res.Text)
	}
	if len(res.Generation) != 2 || res.GenerationLost {
		t.Errorf("generation spans %v, lost %v", res.Generation, res.GenerationLost)
	}
}

func BenchmarkRender(b *testing.B) {
	tmpl, data := toolConversation(b)
	values := vars(b, string(data))
	res, err := tmpl.Render(values, jinja.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(res.Text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tmpl.Render(values, jinja.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFromJSON(b *testing.B) {
	_, data := toolConversation(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jinja.FromJSON(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	src, err := os.ReadFile("testdata/tools.jinja")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jinja.Parse("", string(src)); err != nil {
			b.Fatal(err)
		}
	}
}
