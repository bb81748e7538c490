package dataset

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// The normal form of a row is the layout [Messages] as OpenAI spells it. Its
// keys stand in this order, and those without a value are left out.
type normalRow struct {
	ID       string          `json:"id"`
	Messages []normalMessage `json:"messages"`
	Tools    jsontext.Value  `json:"tools,omitzero"`
	Split    string          `json:"split,omitzero"`
	Licence  string          `json:"license,omitzero"`
	Source   string          `json:"source,omitzero"`
	Category string          `json:"category,omitzero"`
	Language string          `json:"language,omitzero"`
}

type normalMessage struct {
	Role       eyrie.Role   `json:"role"`
	Name       string       `json:"name,omitzero"`
	Content    string       `json:"content"`
	Reasoning  string       `json:"reasoning_content,omitzero"`
	ToolCalls  []normalCall `json:"tool_calls,omitzero"`
	ToolCallID string       `json:"tool_call_id,omitzero"`
}

type normalCall struct {
	ID       string         `json:"id,omitzero"`
	Type     string         `json:"type"`
	Function normalFunction `json:"function"`
}

type normalFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// AppendNormal appends a prompt in the normal form, one line without its end.
// Reading it again gives the same prompt, but for its set and its place.
func AppendNormal(dst []byte, p *eyrie.Prompt) ([]byte, error) {
	row := normalRow{
		ID: p.ID, Tools: p.Tools, Split: p.Split,
		Licence: p.Origin.Licence, Source: p.Origin.Source, Category: p.Origin.Category, Language: p.Origin.Language,
	}
	for _, m := range p.Messages {
		n := normalMessage{Role: m.Role, Name: m.Name, Content: m.Content, Reasoning: m.Reasoning, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			n.ToolCalls = append(n.ToolCalls, normalCall{c.ID, "function", normalFunction{c.Name, c.Arguments}})
		}
		row.Messages = append(row.Messages, n)
	}
	raw, err := json.Marshal(&row)
	return append(dst, raw...), err
}
