package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/jinja"
)

// general is a template that the template engine runs.
type general struct {
	digest string
	tmpl   *jinja.Template
	tokens map[string]string // the variables that name control tokens
	// kimi templates are given their tools sorted by key, and as TypeScript
	// too where they ask for it, because that is what the tokenizer that comes
	// with those models does before it renders.
	kimi       bool
	typeScript bool
	markup     *Markup // nil where it is not known
}

var _ Marked = (*general)(nil)

// Markup is how answers are written, where that is known.
func (g *general) Markup() (*Markup, bool) { return g.markup, g.markup != nil }

// question is a conversation that every template can print.
var question = Conversation{Messages: []eyrie.Message{{Role: eyrie.User, Content: "?"}}, Thinking: true}

// generalKimi is a template of the Kimi family that is not built in.
type generalKimi struct {
	*general
	form AnswerForm
}

var _ Answerer = generalKimi{}

func (g generalKimi) Answer() AnswerForm { return g.form }

// parseGeneral compiles a template. tokens holds the variables that name the
// model's control tokens, such as bos_token.
func parseGeneral(src string, tokens map[string]string) (Template, error) {
	g, err := compile(src, tokens)
	if err != nil {
		return nil, err
	}
	if !g.kimi {
		prompt, err := g.Render(nil, question)
		if err != nil {
			prompt = nil // it needs more than a question; then nobody knows how it ends
		}
		g.markup = markupOf(src, string(prompt))
		return g, nil
	}
	form, err := g.kimiForm(strings.Contains(src, thinkBegin))
	if err != nil {
		return nil, err
	}
	return generalKimi{g, form}, nil
}

func compile(src string, tokens map[string]string) (*general, error) {
	t, err := jinja.Parse(templateFile, src)
	if err != nil {
		return nil, err
	}
	return &general{
		digest:     digestOf(src, tokens),
		tmpl:       t,
		tokens:     tokens,
		kimi:       strings.Contains(src, imMiddle) && strings.Contains(src, sectionBegin),
		typeScript: strings.Contains(src, "tools_ts_str"),
	}, nil
}

// kimiForm finds out whether the template opens the reasoning or leaves that to
// the model.
func (g *general) kimiForm(thinks bool) (AnswerForm, error) {
	f := kimiAnswer()
	if !thinks {
		f.ReasoningEnd = ""
		return f, nil
	}
	prompt, err := g.Render(nil, question)
	if err != nil {
		return f, err
	}
	if !strings.HasSuffix(string(prompt), thinkBegin) {
		f.ReasoningBegin, f.AlwaysThinks = thinkBegin, true
	}
	return f, nil
}

// digestOf is the digest of a template's source, and of the names of control
// tokens where the source uses any.
func digestOf(src string, tokens map[string]string) string {
	h := sha256.New()
	h.Write([]byte(src))
	for _, name := range slices.Sorted(maps.Keys(tokens)) {
		if strings.Contains(src, name) {
			h.Write([]byte("\x00" + name + "\x00" + tokens[name]))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (g *general) Family() string {
	if g.kimi {
		return "kimi (" + templateFile + ")"
	}
	return templateFile
}

func (g *general) Digest() string { return g.digest }

func (g *general) Render(dst []byte, c Conversation) ([]byte, error) {
	vars := jinja.NewDict()
	for name, literal := range g.tokens {
		vars.Set(name, jinja.String(literal))
	}
	if err := g.setTools(vars, c.Tools); err != nil {
		return dst, err
	}
	messages := make([]jinja.Value, len(c.Messages))
	for i := range c.Messages {
		messages[i] = messageValue(&c.Messages[i], c.Arguments)
	}
	vars.Set("messages", jinja.NewList(messages...))
	vars.Set("add_generation_prompt", jinja.Bool(true))
	// The same wish has two names among templates.
	vars.Set("thinking", jinja.Bool(c.Thinking))
	vars.Set("enable_thinking", jinja.Bool(c.Thinking))
	vars.Set("preserve_thinking", jinja.Bool(c.KeepReasoning))
	res, err := g.tmpl.Render(vars, jinja.Options{Now: c.Date})
	if err != nil {
		return dst, err
	}
	return append(dst, res.Text...), nil
}

// setTools sets what a template reads tools from.
func (g *general) setTools(vars *jinja.Dict, tools []byte) error {
	declared, err := parseTools(tools)
	if err != nil {
		return err
	}
	if len(declared.items) == 0 {
		vars.Set("tools", jinja.None)
		return nil
	}
	if g.kimi {
		declared.sortKeys()
	}
	v, err := jinja.FromJSON(appendJSON(nil, &declared, Compact))
	if err != nil {
		return err
	}
	vars.Set("tools", v)
	if !g.typeScript {
		return nil
	}
	// As in the built-in templates, an error means that there is no such text.
	if ts, err := appendTypeScript(nil, &declared); err == nil {
		vars.Set("tools_ts_str", jinja.String(ts))
	}
	return nil
}

// messageValue is a message as servers hand it to a template: what is empty is
// left out, the content apart.
func messageValue(m *eyrie.Message, form Arguments) jinja.Value {
	d := jinja.NewDict()
	d.Set("role", jinja.String(m.Role))
	d.Set("content", jinja.String(m.Content))
	setText(d, "name", m.Name)
	setText(d, "reasoning_content", m.Reasoning)
	setText(d, "tool_call_id", m.ToolCallID)
	if len(m.ToolCalls) == 0 {
		return d
	}
	calls := make([]jinja.Value, len(m.ToolCalls))
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		f := jinja.NewDict().
			Set("name", jinja.String(c.Name)).
			Set("arguments", argumentsValue(c.Arguments, form))
		calls[i] = jinja.NewDict().
			Set("id", jinja.String(c.ID)).
			Set("type", jinja.String("function")).
			Set("function", f)
	}
	d.Set("tool_calls", jinja.NewList(calls...))
	return d
}

func setText(d *jinja.Dict, key, s string) {
	if s != "" {
		d.Set(key, jinja.String(s))
	}
}

func argumentsValue(arguments string, form Arguments) jinja.Value {
	if form == AsWritten {
		return jinja.String(arguments)
	}
	if arguments == "" {
		return jinja.NewDict()
	}
	// Parsed by this package first, so that both routes read the same.
	v, err := parseValue([]byte(arguments))
	if err != nil {
		return jinja.String(arguments)
	}
	j, err := jinja.FromJSON(appendJSON(nil, &v, Compact))
	if err != nil { // only an infinite float
		return jinja.String(arguments)
	}
	return j
}
