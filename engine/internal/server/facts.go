package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
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

// choose finds the model of the job among those of the server: the one that is
// named, or the one that has the name of the job's model.
func (c *Client) choose(models []Model, model string) (Model, *eyrie.Error) {
	wrong := &eyrie.Error{Op: c.Engine, Subject: c.BaseURL, Kind: eyrie.StopRun, Charged: eyrie.ChargedNo, LaneWide: true, Class: ClassModel}
	same := func(m Model) bool { return sameName(m.ID, model) || sameName(m.Root, model) }
	if c.Model != "" {
		same = func(m Model) bool { return m.ID == c.Model }
		wrong.Err = fmt.Errorf("%s, and the server has %s", c.Model, list(models))
		wrong.Hint = "write the name of one of them"
	} else {
		wrong.Err = fmt.Errorf("no name for %s, and the server has %s", model, list(models))
		wrong.Hint = "if that is the same model, write model: " + models[0].ID
	}
	i := slices.IndexFunc(models, same)
	if i < 0 {
		return Model{}, wrong
	}
	return models[i], nil
}

// The classes of errors that tell a server which cannot answer for a job.
const (
	ClassModel     = "wrong model"
	ClassTokenizer = "wrong tokenizer"
)

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
	return "", &eyrie.Error{
		Op: c.Engine, Subject: c.BaseURL, Kind: eyrie.StopRun, Charged: eyrie.ChargedNo, LaneWide: true, Class: ClassTokenizer,
		Err: fmt.Errorf("a server with another tokenizer: of the ids of a probe text, %d of the server's and %d of ours, number %d is %s there and %s here",
			len(ids), len(ours), at+1, idAt(ids, at), idAt(ours, at)),
		Hint: "name the folder of the model that is served as tokenizer, or start the server with the right model",
	}
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
	m, wrong := c.choose(models, model)
	if wrong != nil {
		return Facts{}, wrong
	}
	c.mu.Lock()
	c.model = m.ID
	c.mu.Unlock()
	return Facts{Models: models, Model: m.ID, Context: m.Context}, nil
}

// name is what the server knows the model by.
func (c *Client) name() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.model
}

// probeWait bounds the probe: a server that has just started may take its time
// for its first request.
const probeWait = time.Minute

// Ask1 makes the smallest request there is, one token, to see which fields come
// back. It returns the answer as far as it came.
func (c *Client) Ask1(ctx context.Context, ask func(*eyrie.Request) (*Ask, error)) (*eyrie.Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, probeWait, fmt.Errorf("a request of one token was not answered in %v", probeWait))
	defer cancel()
	r := &eyrie.Request{
		Generation: &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: "Hi"}}},
		Sampling:   eyrie.Sampling{MaxTokens: 1}, Lane: &eyrie.Lane{Tag: cmp.Or(c.name(), c.Engine)},
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
