package jinja_test

import (
	"fmt"
	"log"

	"github.com/eyrie-ai/eyrie/jinja"
)

func Example() {
	tmpl, err := jinja.Parse("chat.jinja", `
{%- for m in messages -%}
<|{{ m.role }}|>
{%- if m.role == 'assistant' -%}
  {%- generation -%}{{ m.content }}<|end|>{%- endgeneration -%}
{%- else -%}
{{ m.content }}<|end|>
{%- endif -%}
{%- endfor -%}`)
	if err != nil {
		log.Fatal(err)
	}
	vars, err := jinja.FromJSON([]byte(`{"messages": [
		{"role": "user", "content": "1+1?"},
		{"role": "assistant", "content": "2"}
	]}`))
	if err != nil {
		log.Fatal(err)
	}
	res, err := tmpl.Render(vars.(*jinja.Dict), jinja.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text)
	for _, span := range res.Generation {
		fmt.Println("trained on:", res.Text[span[0]:span[1]])
	}
	// Output:
	// <|user|>1+1?<|end|><|assistant|>2<|end|>
	// trained on: 2<|end|>
}

// A template that refuses its input fails as it does in Python.
func ExampleError() {
	tmpl, err := jinja.Parse("chat.jinja", "{% if messages[0].role != 'user' %}\n{{ raise_exception('a user must speak first') }}\n{% endif %}")
	if err != nil {
		log.Fatal(err)
	}
	messages := jinja.NewList(jinja.NewDict().Set("role", jinja.String("system")))
	_, err = tmpl.Render(jinja.NewDict().Set("messages", messages), jinja.Options{})
	fmt.Println(err)
	// Output:
	// jinja: chat.jinja: line 2: TemplateError: a user must speak first
}
