package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/jinja"
	"github.com/eyrie-ai/eyrie/tokenizer"
	"github.com/eyrie-ai/eyrie/tokens"
)

type renderFlags struct {
	model, template, now, color string
}

func (a *app) renderCmd() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:   "render --model DIR [FILE]",
		Short: "Turn conversations into prompts",
		Long: `render runs a model's chat template over a conversation and tokenises the text,
as transformers' apply_chat_template does: messages reach the template as they
stand, control tokens in the text become tokens.

FILE holds one conversation, {"messages":[…],"tools":[…],"kwargs":{…}} or just the
list of messages; its ids are shown with their pieces. Where it ends with an
answer of the model, prompt and answer are shown as the row that eyrie export
would make of them, the loss mask in front. Without FILE, render reads JSON lines
{"id":…,"messages":…,"tools":…,"kwargs":…} and writes {"id":…,"rendered":…,"ids":…}.

kwargs are variables of the template: thinking, preserve_thinking,
add_generation_prompt (true unless it says otherwise), tools_ts_str and so on.

--template runs another template with the model's tokenizer, for folders that hold
just a template. A model folder without a template is rendered by the built-in one
of its family, which takes text only and knows thinking and preserve_thinking.`,
		Example: `  eyrie tokens render --model ./model chat.json
  eyrie tokens render --model ./model < chats.jsonl > prompts.jsonl
  eyrie tokens render --model kimi-k2.5 --template kimi-k2.6/chat_template.jinja < chats.jsonl`,
		Args: atMostArgs("FILE"),
		RunE: func(_ *cobra.Command, args []string) error { return a.render(args, f) },
	}
	modelFlags(cmd, &f.model, &f.color)
	cmd.Flags().StringVar(&f.template, "template", "", "a template file to use in the place of the folder's")
	cmd.Flags().StringVar(&f.now, "now", "", nowHelp)
	return cmd
}

const nowHelp = "the time that templates print, such as 2026-11-30T12:34:56 (default the present)"

func (a *app) render(args []string, f renderFlags) error {
	tok, err := openTokenizer(f.model)
	if err != nil {
		return err
	}
	now, err := parseNow(f.now)
	if err != nil {
		return err
	}
	r, err := newRenderer(tok, f.model, f.template, now)
	if err != nil {
		return &exitError{exitConfig, err}
	}
	if len(args) == 0 {
		if a.typed() {
			return &exitError{exitConfig, errors.New("render wants a FILE with a conversation, or JSON lines on stdin; see eyrie tokens render --help")}
		}
		return a.answerLines(r.line)
	}
	return a.showConversation(r, args[0], f.color)
}

func parseNow(text string) (time.Time, error) {
	if text == "" {
		return time.Now(), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &exitError{exitConfig, fmt.Errorf("--now %s: want a time such as 2026-11-30T12:34:56", text)}
}

// renderer renders conversations for one model.
type renderer struct {
	tok  *tokenizer.Tokenizer
	tmpl chat.Template
	raw  *chat.Raw // nil where the template is built in and has no source
	now  time.Time
}

// newRenderer finds the template of a model folder, or takes the one in a file.
func newRenderer(tok *tokenizer.Tokenizer, model, template string, now time.Time) (*renderer, error) {
	folder, name := os.DirFS(model), model
	if template != "" {
		src, err := os.ReadFile(template)
		if err != nil {
			return nil, fmt.Errorf("--template: %w", err)
		}
		folder, name = otherTemplate{folder, src}, template
	}
	tmpl, err := chat.LoadFS(folder, name)
	if err != nil {
		return nil, err
	}
	raw, err := chat.LoadRawFS(folder, name)
	if err != nil && !errors.Is(err, chat.ErrNoSource) {
		return nil, err
	}
	return &renderer{tok, tmpl, raw, now}, nil
}

// otherTemplate is a model folder with another template in it.
type otherTemplate struct {
	fs.FS
	src []byte
}

func (o otherTemplate) ReadFile(name string) ([]byte, error) {
	if name == "chat_template.jinja" {
		return o.src, nil
	}
	return fs.ReadFile(o.FS, name)
}

// text renders a conversation as it stands.
func (r *renderer) text(q *renderRequest) ([]byte, error) {
	if r.raw != nil {
		return r.raw.Render(nil, chat.RawConversation{Messages: q.Messages, Tools: q.Tools, Variables: q.Kwargs, Date: r.now})
	}
	c, err := q.conversation()
	if err != nil {
		return nil, fmt.Errorf("%w; the built-in template cannot say it: put the model's chat_template.jinja into its folder, or name it with --template", err)
	}
	return r.tmpl.Render(nil, c)
}

// line answers one line of JSON.
func (r *renderer) line(line []byte) (any, error) {
	q, err := readConversation(line)
	if err != nil {
		return nil, err
	}
	text, err := r.text(q)
	if err != nil {
		return nil, err
	}
	return &renderReply{q.ID, string(text), r.tok.EncodeSpecial(nil, string(text))}, nil
}

// showConversation prints a conversation's ids for people.
func (a *app) showConversation(r *renderer, file, color string) error {
	p, err := a.pieces(r.tok, color)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return &exitError{exitConfig, err}
	}
	q, err := readConversation(b)
	if err != nil {
		return &exitError{exitConfig, fmt.Errorf("%s: %w", file, err)}
	}
	ids, mask, err := r.row(q)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return p.print(ids, mask)
}

// row makes the ids of a conversation and its loss mask. What a conversation's
// own answer at its end cannot be told of is masked: there is then no loss.
func (r *renderer) row(q *renderRequest) ([]int32, []bool, error) {
	if g, answer, thinking, ok := q.answered(); ok {
		if rebuilder, err := tokens.New(r.tok, r.tmpl); err == nil {
			row, err := rebuilder.Row(g, thinking, answer)
			if err == nil {
				mask := make([]bool, len(row.PromptIDs), len(row.PromptIDs)+len(row.CompletionIDs))
				for range row.CompletionIDs {
					mask = append(mask, true)
				}
				return append(row.PromptIDs, row.CompletionIDs...), mask, nil
			}
		}
	}
	text, err := r.text(q)
	if err != nil {
		return nil, nil, err
	}
	ids := r.tok.EncodeSpecial(nil, string(text))
	return ids, make([]bool, len(ids)), nil
}

func (a *app) templateCmd() *cobra.Command {
	var now string
	cmd := &cobra.Command{
		Use:   "template FILE",
		Short: "Render cases with a chat template, without a model",
		Long: `template reads cases on stdin, JSON lines {"id":…,"context":{…}} or one array of
them, and renders FILE, a Jinja template, with the variables of each context, as
Python does for chat templates. It writes {"id":…,"text":…}, with "generation"
where the template marks what the model writes: the spans of it in characters.
What Python would raise is {"id":…,"error":"KIND: message","line":…}. A case may
be named by "name" in the place of "id".`,
		Example: `  eyrie tokens template chat_template.jinja < cases.json
  echo '{"id":1,"context":{"messages":[{"role":"user","content":"Hi"}]}}' | eyrie tokens template chat_template.jinja`,
		Args: exactArgs("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			at, err := parseNow(now)
			if err != nil {
				return err
			}
			src, err := os.ReadFile(args[0])
			if err != nil {
				return &exitError{exitConfig, err}
			}
			tmpl, refused := jinja.Parse("", string(src))
			return a.answerLines(func(line []byte) (any, error) { return templateLine(tmpl, refused, at, line) })
		},
	}
	cmd.Flags().StringVar(&now, "now", "", nowHelp)
	return cmd
}

// answered takes a conversation that ends with an answer apart.
func (q *renderRequest) answered() (g *eyrie.Generation, a *eyrie.Answer, thinking, ok bool) {
	c, err := q.conversation()
	last := len(c.Messages) - 1
	if err != nil || last < 0 || c.Messages[last].Role != eyrie.Assistant {
		return nil, nil, false, false
	}
	m := &c.Messages[last]
	a = &eyrie.Answer{Reasoning: m.Reasoning, Content: m.Content, ToolCalls: m.ToolCalls, FinishReason: eyrie.FinishStop}
	if len(a.ToolCalls) > 0 {
		a.FinishReason = eyrie.FinishToolCalls
	}
	return &eyrie.Generation{Messages: c.Messages[:last], Tools: c.Tools}, a, c.Thinking, true
}
