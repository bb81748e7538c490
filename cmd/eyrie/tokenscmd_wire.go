package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/jinja"
	"github.com/eyrie-ai/eyrie/tokenizer"
)

// encodeRequest and the types below are the JSON lines of eyrie tokens. Members
// that are not named here are passed over.
type encodeRequest struct {
	ID   jsontext.Value `json:"id"`
	Text *string        `json:"text"`
}

type encodeReply struct {
	ID  jsontext.Value `json:"id"`
	IDs []int32        `json:"ids"`
}

type decodeRequest struct {
	ID  jsontext.Value `json:"id"`
	IDs *[]int32       `json:"ids"`
}

type decodeReply struct {
	ID    jsontext.Value `json:"id"`
	Text  string         `json:"text"`
	Bytes []byte         `json:"bytes"` // in base64
}

// failedReply stands in the place of a reply.
type failedReply struct {
	ID    jsontext.Value `json:"id"`
	Error string         `json:"error"`
	Line  int            `json:"line,omitzero"` // of the template that failed
}

func encodeLine(encode func(dst []int32, text string) []int32, line []byte) (any, error) {
	var q encodeRequest
	if err := readLine(line, &q); err != nil {
		return nil, err
	}
	if q.Text == nil {
		return nil, errors.New("text: missing")
	}
	return &encodeReply{q.ID, encode(nil, *q.Text)}, nil
}

func decodeLine(tok *tokenizer.Tokenizer, line []byte) (any, error) {
	var q decodeRequest
	if err := readLine(line, &q); err != nil {
		return nil, err
	}
	if q.IDs == nil {
		return nil, errors.New("ids: missing")
	}
	b, err := tok.Decode(nil, *q.IDs)
	if err != nil {
		return nil, fmt.Errorf("ids: %w", err)
	}
	text, err := tok.DecodeString(*q.IDs)
	if err != nil {
		return nil, fmt.Errorf("ids: %w", err)
	}
	return &decodeReply{q.ID, text, b}, nil
}

// readLine reads a line into a request. Errors name the field.
func readLine(line []byte, into any, opts ...json.Options) error {
	err := json.Unmarshal(line, into, opts...)
	if e, ok := errors.AsType[*json.SemanticError](err); ok && e.JSONPointer != "" {
		field := strings.ReplaceAll(strings.TrimPrefix(string(e.JSONPointer), "/"), "/", ".")
		err = fmt.Errorf("%s: a JSON %s does not fit here", field, kindWord(e.JSONKind))
		if e.Err != nil {
			err = fmt.Errorf("%w: %w", err, e.Err)
		}
		return err
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("byte %d: %w", e.ByteOffset, e.Err)
	}
	return err
}

func kindWord(k jsontext.Kind) string {
	switch k {
	case '[':
		return "array"
	case '{':
		return "object"
	}
	return k.String()
}

// answerLines answers every line of stdin on stdout. What it has written is
// flushed whenever nothing more has come, so that a program may wait for it.
func (a *app) answerLines(answer func(line []byte) (any, error)) error {
	in, out := newLineReader(a.stdin), bufio.NewWriterSize(a.stdout, 1<<16)
	for {
		line, err := in.next()
		if err == io.EOF {
			return out.Flush()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("stdin: %w", err), out.Flush())
		}
		reply, err := answer(line)
		if err != nil {
			reply = &failedReply{ID: idOf(line), Error: fmt.Sprintf("%s: %v", in.place(), err)}
		}
		if err := json.MarshalWrite(out, reply); err != nil {
			return err
		}
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
		if in.idle() {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

// idOf finds the id of a line that could not be answered; nil is null.
func idOf(line []byte) jsontext.Value {
	var q struct {
		ID   jsontext.Value `json:"id"`
		Name jsontext.Value `json:"name"`
	}
	if json.Unmarshal(line, &q, jsontext.AllowInvalidUTF8(true)) != nil {
		return nil
	}
	if q.ID == nil {
		return q.Name
	}
	return q.ID
}

// lineReader reads JSON lines, or the elements of one JSON array.
type lineReader struct {
	r     *bufio.Reader
	begun bool
	array *jsontext.Decoder // of the array, when it is one
	n     int               // lines or elements so far
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 1<<16)}
}

// place names what next returned last.
func (l *lineReader) place() string {
	if l.array != nil {
		return fmt.Sprintf("element %d", l.n)
	}
	return fmt.Sprintf("line %d", l.n)
}

// idle reports whether nothing more has come yet.
func (l *lineReader) idle() bool { return l.array == nil && l.r.Buffered() == 0 }

// next returns the next line that is not blank.
func (l *lineReader) next() ([]byte, error) {
	if !l.begun {
		if err := l.begin(); err != nil {
			return nil, err
		}
	}
	if l.array != nil {
		return l.element()
	}
	for {
		line, err := l.r.ReadBytes('\n')
		if len(line) > 0 {
			l.n++
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// begin looks at the first character that is no white space.
func (l *lineReader) begin() error {
	l.begun = true
	for {
		c, err := l.r.ReadByte()
		if err != nil {
			return err
		}
		switch c {
		case '\n':
			l.n++
		case ' ', '\t', '\r':
		default:
			if err := l.r.UnreadByte(); err != nil || c != '[' {
				return err
			}
			l.n = 0
			l.array = jsontext.NewDecoder(l.r, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
			_, err = l.array.ReadToken()
			return err
		}
	}
}

// element returns the next element of the array.
func (l *lineReader) element() ([]byte, error) {
	if l.array.PeekKind() != ']' {
		l.n++
		return l.array.ReadValue()
	}
	if _, err := l.array.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := l.array.ReadToken(); err != io.EOF {
		return nil, errors.New("more text after the array")
	}
	return nil, io.EOF
}

// renderRequest is a conversation as people and programs write it.
type renderRequest struct {
	ID       jsontext.Value `json:"id"`
	Messages jsontext.Value `json:"messages"`
	Tools    jsontext.Value `json:"tools"`
	Kwargs   jsontext.Value `json:"kwargs"`
}

type renderReply struct {
	ID       jsontext.Value `json:"id"`
	Rendered string         `json:"rendered"`
	IDs      []int32        `json:"ids"`
}

// asWritten leaves the reading of what goes into a template to its engine.
var asWritten = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// readConversation reads a conversation, or just a list of messages.
func readConversation(b []byte) (*renderRequest, error) {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '[' {
		return &renderRequest{Messages: b}, nil
	}
	q := new(renderRequest)
	if err := readLine(b, q, asWritten); err != nil {
		return nil, err
	}
	if q.Messages == nil {
		return nil, errors.New("messages: missing")
	}
	return q, nil
}

// rawMessage is a message as APIs write it.
type rawMessage struct {
	Role       eyrie.Role     `json:"role"`
	Name       string         `json:"name"`
	Content    jsontext.Value `json:"content"`
	Reasoning  jsontext.Value `json:"reasoning_content"`
	ToolCallID string         `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string         `json:"name"`
			Arguments jsontext.Value `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// conversation brings a request into the normal form. What that cannot say is
// an error.
func (q *renderRequest) conversation() (chat.Conversation, error) {
	c := chat.Conversation{Tools: q.Tools, Thinking: true, Arguments: chat.AsWritten}
	if err := q.settings(&c); err != nil {
		return c, err
	}
	var messages []rawMessage
	if err := readLine(q.Messages, &messages, asWritten); err != nil {
		return c, fmt.Errorf("messages: %w", err)
	}
	for i := range messages {
		m, err := messages[i].message()
		if err != nil {
			return c, fmt.Errorf("messages[%d]: %w", i, err)
		}
		c.Messages = append(c.Messages, m)
	}
	return c, nil
}

// settings reads the variables that a conversation has fields for.
func (q *renderRequest) settings(c *chat.Conversation) error {
	var vars map[string]jsontext.Value
	if q.Kwargs != nil {
		if err := readLine(q.Kwargs, &vars, asWritten); err != nil {
			return fmt.Errorf("kwargs: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		v := vars[name]
		yes := v.Kind() == 't'
		if !yes && v.Kind() != 'f' {
			return fmt.Errorf("kwargs.%s is %s", name, v)
		}
		switch {
		case name == "thinking" || name == "enable_thinking":
			c.Thinking = yes
		case name == "preserve_thinking":
			c.KeepReasoning = yes
		case name != "add_generation_prompt" || !yes:
			return fmt.Errorf("kwargs.%s is %s", name, v)
		}
	}
	return nil
}

func (m *rawMessage) message() (eyrie.Message, error) {
	out := eyrie.Message{Role: m.Role, Name: m.Name, ToolCallID: m.ToolCallID}
	var err error
	if out.Content, err = contentText(m.Content); err != nil {
		return out, fmt.Errorf("content: %w", err)
	}
	if m.Reasoning != nil {
		if m.Reasoning.Kind() != '"' { // templates print null as None
			return out, fmt.Errorf("reasoning_content: %s is no text", m.Reasoning)
		}
		if err := json.Unmarshal(m.Reasoning, &out.Reasoning, asWritten); err != nil {
			return out, fmt.Errorf("reasoning_content: %w", err)
		}
	}
	for i := range m.ToolCalls {
		call := &m.ToolCalls[i]
		arguments, err := argumentsText(call.Function.Arguments)
		if err != nil {
			return out, fmt.Errorf("tool_calls[%d].function.arguments: %w", i, err)
		}
		out.ToolCalls = append(out.ToolCalls, eyrie.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: arguments})
	}
	return out, nil
}

// contentText reads a content: text, nothing, or parts that are text.
func contentText(v jsontext.Value) (string, error) {
	switch v.Kind() {
	case 'n', 0:
		return "", nil
	case '"':
		var s string
		return s, json.Unmarshal(v, &s, asWritten)
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(v, &parts, asWritten); err != nil {
		return "", errors.New("neither text nor a list of parts")
	}
	var b strings.Builder
	for i, p := range parts {
		if p.Type != "text" {
			return "", fmt.Errorf("part %d is of type %q", i, p.Type)
		}
		b.WriteString(p.Text)
	}
	return b.String(), nil
}

// argumentsText is what templates print of arguments: text as it is, an object
// as Python prints JSON.
func argumentsText(v jsontext.Value) (string, error) {
	if v.Kind() == '"' {
		var s string
		return s, json.Unmarshal(v, &s, asWritten)
	}
	b, err := chat.AppendJSON(nil, v, chat.Spaced)
	return string(b), err
}

// templateCase is a line of eyrie tokens template.
type templateCase struct {
	ID      jsontext.Value `json:"id"`
	Name    jsontext.Value `json:"name"`
	Context jsontext.Value `json:"context"`
}

type templateReply struct {
	ID         jsontext.Value `json:"id"`
	Text       string         `json:"text"`
	Generation [][2]int       `json:"generation,omitzero"`
}

// templateLine renders one case, or says why the template does not parse.
func templateLine(tmpl *jinja.Template, refused error, now time.Time, line []byte) (any, error) {
	var c templateCase
	if err := readLine(line, &c, asWritten); err != nil {
		return nil, err
	}
	if c.ID == nil {
		c.ID = c.Name
	}
	if refused != nil {
		return failedTemplate(c.ID, refused), nil
	}
	if c.Context == nil {
		return nil, errors.New("context: missing")
	}
	v, err := jinja.FromJSON(c.Context)
	if err != nil {
		return nil, fmt.Errorf("context: %w", err)
	}
	vars, ok := v.(*jinja.Dict)
	if !ok {
		return nil, errors.New("context: want a JSON object")
	}
	res, err := tmpl.Render(vars, jinja.Options{Now: now})
	if err != nil {
		return failedTemplate(c.ID, err), nil
	}
	reply := &templateReply{ID: c.ID, Text: res.Text}
	for _, s := range res.Generation {
		reply.Generation = append(reply.Generation, [2]int{utf8.RuneCountInString(res.Text[:s[0]]), utf8.RuneCountInString(res.Text[:s[1]])})
	}
	return reply, nil
}

func failedTemplate(id jsontext.Value, err error) *failedReply {
	if e, ok := errors.AsType[*jinja.Error](err); ok {
		return &failedReply{ID: id, Error: fmt.Sprintf("%s: %s", e.Kind, e.Msg), Line: e.Line}
	}
	return &failedReply{ID: id, Error: err.Error()}
}

// trueIDs is a line of a file of ids that are known from elsewhere: those of a
// row, or the parts of it. The lines of an export and of an emulator's books have
// this form.
type trueIDs struct {
	ID            string  `json:"id"`
	IDs           []int32 `json:"ids"`
	InputIDs      []int32 `json:"input_ids"`
	PromptIDs     []int32 `json:"prompt_ids"`
	CompletionIDs []int32 `json:"completion_ids"`
}

// readTrueIDs finds the line of a file with one of the names.
func readTrueIDs(file string, names ...string) (*trueIDs, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := newLineReader(f)
	for {
		line, err := in.next()
		if err == io.EOF {
			return nil, fmt.Errorf("%s: no line with the id %s", file, strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), " or "))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		var ids trueIDs
		if err := readLine(line, &ids); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, in.place(), err)
		}
		if ids.ID != "" && slices.Contains(names, ids.ID) {
			return &ids, nil
		}
	}
}
