package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/eyrie-ai/eyrie"
)

// Model is a model that a server offers.
type Model struct {
	ID      string `json:"id"`
	Root    string `json:"root"`          // where it was loaded from
	Context int    `json:"max_model_len"` // tokens of prompt and completion together; 0 unstated
}

// Facts are what a server says of itself.
type Facts struct {
	Models  []Model
	Model   string // the name of the one that is asked for
	Context int    // of that model; 0 unstated
	Version string
	// AtOnce is how many requests it works on at once; 0 unstated.
	AtOnce int
	// IDs and PromptIDs say that it returns the ids of answers and prompts.
	IDs, PromptIDs bool
	// Tokenizer says what came of comparing the vocabularies: "same", or why
	// that is not known.
	Tokenizer string
	// Metrics says that it shows how busy it is.
	Metrics bool
}

// Models reads the list of models.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	var list struct {
		Data []Model `json:"data"`
	}
	if err := c.GetJSON(ctx, "/v1/models", &list); err != nil {
		return nil, err
	}
	if len(list.Data) == 0 {
		return nil, fmt.Errorf("%s: %s lists no model", c.Engine, c.BaseURL)
	}
	return list.Data, nil
}

// Choose finds the model of the job among those of the server: the one that is
// named, or the one that has the name of the job's model. c.Model is set to it.
func (c *Client) Choose(models []Model, model string) (Model, error) {
	if c.Model != "" {
		if i := slices.IndexFunc(models, func(m Model) bool { return m.ID == c.Model }); i >= 0 {
			return models[i], nil
		}
		return Model{}, fmt.Errorf("%s: %s serves %s, and not %s", c.Engine, c.BaseURL, list(models), c.Model)
	}
	i := slices.IndexFunc(models, func(m Model) bool { return sameName(m.ID, model) || sameName(m.Root, model) })
	if i < 0 {
		return Model{}, fmt.Errorf("%s: %s serves %s, and the job asks for %s; if it is the same model, set model: %s",
			c.Engine, c.BaseURL, list(models), model, models[0].ID)
	}
	c.Model = models[i].ID
	return models[i], nil
}

func list(models []Model) string {
	var names []string
	for _, m := range models {
		names = append(names, m.ID)
	}
	return strings.Join(names, ", ")
}

// sameName compares names of models by their last part, without regard to case
// and signs: moonshotai/kimi-k2.5 is /models/Kimi-K2.5.
func sameName(a, b string) bool {
	bare := func(s string) string {
		return strings.Map(func(r rune) rune {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return -1
			}
			return unicode.ToLower(r)
		}, path.Base(strings.TrimRight(s, "/")))
	}
	return a != "" && bare(a) == bare(b)
}

// Probe is a text whose ids differ between vocabularies.
const Probe = "Hello, world! 你好，世界。 naïve café — 12345 x²+y² \n\n\tfunc main() { } 🙂👩‍💻 Ω≈ç√ не мир ①"

// SameTokenizer holds the server's ids of [Probe] against our own.
func (c *Client) SameTokenizer(ids []int32, err error) (string, error) {
	switch {
	case errors.Is(err, ErrNoTokenize):
		return err.Error(), nil
	case err != nil:
		return "", err
	case c.Codec == nil:
		return "not compared", nil
	}
	ours := c.Codec.Encode(Probe)
	if slices.Equal(ids, ours) {
		return "same", nil
	}
	at := 0
	for at < min(len(ids), len(ours)) && ids[at] == ours[at] {
		at++
	}
	return "", fmt.Errorf("%s: %s has another tokenizer: of the %d ids of a probe text its number %d is %s and ours is %s; name the model's own folder as tokenizer, or start the server with the right model",
		c.Engine, c.BaseURL, max(len(ids), len(ours)), at+1, idAt(ids, at), idAt(ours, at))
}

func idAt(ids []int32, i int) string {
	if i >= len(ids) {
		return "missing"
	}
	return fmt.Sprint(ids[i])
}

// Look reads what every server has: its models, of which the job's is chosen.
func (c *Client) Look(ctx context.Context, model string) (Facts, error) {
	models, err := c.Models(ctx)
	if err != nil {
		return Facts{}, err
	}
	m, err := c.Choose(models, model)
	if err != nil {
		return Facts{}, &eyrie.Error{Op: "", Kind: eyrie.StopRun, Charged: eyrie.ChargedNo, Class: "wrong model", Err: err}
	}
	return Facts{Models: models, Model: m.ID, Context: m.Context}, nil
}

// Ask1 makes the smallest request there is, one token, to see which fields come
// back. It returns the answer as far as it came.
func (c *Client) Ask1(ctx context.Context, ask func(*eyrie.Request) (*Ask, error)) (*eyrie.Answer, error) {
	r := &eyrie.Request{
		Generation: &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: "Hi"}}},
		Sampling:   eyrie.Sampling{MaxTokens: 1}, Lane: &eyrie.Lane{Tag: cmp.Or(c.Model, c.Engine)},
	}
	var answer *eyrie.Answer
	var failed error
	for ev, err := range c.Stream(ctx, r, func() (*Ask, error) { return ask(r) }) {
		if ev.Kind == eyrie.Ended {
			answer, failed = ev.Answer, err
		}
	}
	if answer.FinishReason != "" {
		return answer, nil // it answered; whether that is an answer does not matter here
	}
	return answer, failed
}
