package main

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/dataset"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/internal/config"
	"github.com/eyrie-ai/eyrie/plan"
	"github.com/eyrie-ai/eyrie/progress"
	"github.com/eyrie-ai/eyrie/route"
	"github.com/eyrie-ai/eyrie/tokenizer"
	"github.com/eyrie-ai/eyrie/tokens"
)

// session is a job with everything opened that it names.
type session struct {
	job       *config.Job
	model     *modelFolder
	sets      []*dataset.Set
	seeded    []int64
	engines   []*engine
	catalogue []route.Verdict
}

// modelFolder is a model's tokenizer and chat template.
type modelFolder struct {
	tokenizer *tokenizer.Tokenizer
	template  chat.Template
	rebuilder *tokens.Rebuilder
}

func openModel(dir string) (*modelFolder, error) {
	tok, err := tokenizer.Load(dir)
	if err != nil {
		return nil, err
	}
	tmpl, err := chat.Load(dir)
	if err != nil {
		return nil, err
	}
	r, err := tokens.New(tok, tmpl)
	if err != nil {
		return nil, err
	}
	return &modelFolder{tok, tmpl, r}, nil
}

// conversation is a generation as the template takes it.
func conversation(g *eyrie.Generation, s eyrie.Sampling) chat.Conversation {
	return chat.Conversation{Messages: g.Messages, Tools: g.Tools, Thinking: bool(s.Thinking)}
}

// count renders a generation's prompt and counts its tokens.
func (m *modelFolder) count(g *eyrie.Generation, s eyrie.Sampling) (int, error) {
	ids, err := m.rebuilder.Prompt(nil, conversation(g, s))
	return len(ids), err
}

// spellsSpecial reports whether a text would become a control token of the
// model on the server, which no user means.
func (m *modelFolder) spellsSpecial(text string) bool {
	return slices.ContainsFunc(m.tokenizer.EncodeSpecial(nil, text), m.tokenizer.IsSpecial)
}

// open opens what the job names, without the network.
func (a *app) open(path string) (*session, error) {
	job, err := config.Load(path, a.env())
	if err != nil {
		return nil, err
	}
	s := &session{job: job}
	if s.model, err = openModel(job.Tokenizer); err != nil {
		return nil, &exitError{exitConfig, err}
	}
	if err := s.openSets(); err != nil {
		return nil, &exitError{exitConfig, err}
	}
	return s, nil
}

// openSets opens the data sets and counts what seeds bring along.
func (s *session) openSets() error {
	var errs []error
	for _, d := range s.job.Datasets {
		set, err := dataset.Open(dataset.Source{Set: d.Name, Path: d.Path}, dataset.Options{
			Layout: dataset.Layout(d.Layout), Special: s.model.spellsSpecial,
		})
		errs = append(errs, err)
		s.sets = append(s.sets, set)
		seeded, err := seedTokens(d.SeedFrom, d.Name)
		errs = append(errs, err)
		s.seeded = append(s.seeded, seeded)
	}
	return errors.Join(errs...)
}

func (s *session) close() {
	for _, e := range s.engines {
		if e.client != nil {
			e.client.Close()
		}
	}
}

// metered gives an OpenRouter client the account's usage as one number.
type metered struct{ *openrouter.Client }

var (
	_ dispatch.Engine = metered{}
	_ dispatch.Biller = metered{}
	_ dispatch.Meter  = metered{}
)

// Usage is what the key has used in all.
func (m metered) Usage(ctx context.Context) (eyrie.Money, error) {
	acc, err := m.Account(ctx)
	if err != nil {
		return 0, err
	}
	if acc.Usage == nil {
		return 0, errors.New("openrouter: the key's usage is not given")
	}
	return *acc.Usage, nil
}

// outputPrior is how long an answer is taken to be before any was seen.
const outputPrior = 600

// survey reads the data sets once and makes a forecast. Of each set at most
// sample prompts are rendered to count their tokens; 0 renders all.
func (s *session) survey(ctx context.Context, st *progress.State, left eyrie.Money, sample int, tell func(string)) (*plan.Forecast, error) {
	var inputs []plan.SetInput
	for i, set := range s.sets {
		d := s.job.Datasets[i]
		tell("reading " + d.Path)
		in, err := s.surveySet(ctx, set, sample)
		if err != nil {
			return nil, err
		}
		have := st.Set(d.Name)
		in.Name, in.Target, in.Have = d.Name, d.Tokens, s.seeded[i]+have.CompletionTokens
		in.Generations *= d.Samples
		in.Done = have.Rows
		in.OutputTokens = min(outputPrior, float64(s.job.Sampling.MaxTokens)/2)
		if have.Rows > 0 {
			in.OutputTokens = float64(have.CompletionTokens) / float64(have.Rows)
			in.PromptTokens = float64(have.PromptTokens) / float64(have.Rows)
		}
		inputs = append(inputs, in)
	}
	return plan.Make(inputs, s.lanes(), left, s.job.Sampling.MaxTokens, s.job.Concurrency), nil
}

func (s *session) surveySet(ctx context.Context, set *dataset.Set, sample int) (plan.SetInput, error) {
	var in plan.SetInput
	counted, tokens := 0, 0
	for p, err := range set.Prompts() {
		if err != nil {
			return in, &exitError{exitConfig, err}
		}
		if ctx.Err() != nil {
			return in, context.Cause(ctx)
		}
		in.Generations += p.Turns()
		if sample > 0 && counted >= sample {
			continue
		}
		g := eyrie.Generation{Messages: p.Ask(0, nil), Tools: p.Tools}
		n, err := s.model.count(&g, s.job.Sampling)
		if err != nil {
			continue // given up by name when its turn comes
		}
		counted++
		tokens += n
	}
	if counted > 0 {
		in.PromptTokens = float64(tokens) / float64(counted)
	}
	return in, nil
}

// manifest describes the run for its folder.
func (s *session) manifest() *runManifest {
	m := &runManifest{Version: runVersion, Budget: s.job.Budget, Folder: s.job.Tokenizer, Frozen: frozen{
		Model: s.job.Model, Sampling: s.job.Sampling,
		Tokenizer: s.model.tokenizer.Digest(), Template: s.model.template.Digest(),
	}}
	for i, d := range s.job.Datasets {
		m.Sets = append(m.Sets, setInfo{d.Name, d.Tokens, s.seeded[i], d.Path, s.sets[i].Report().SHA256})
	}
	return m
}

// readJobFile returns the job file's bytes for the run folder.
func (s *session) readJobFile() ([]byte, error) { return os.ReadFile(s.job.File) }
