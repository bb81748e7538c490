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
	targets   []int64   // output tokens of each set, seeds included
	engines   []*engine // that are bought from
	locals    []*local
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
	for i := range s.job.Datasets {
		d := &s.job.Datasets[i]
		set, err := s.openSet(d)
		errs = append(errs, err)
		s.sets = append(s.sets, set)
		seeded, err := seedTokens(d.SeedFrom, d.Name)
		errs = append(errs, err)
		s.seeded = append(s.seeded, seeded)
		s.targets = append(s.targets, d.Tokens)
	}
	return errors.Join(errs...)
}

func (s *session) close() {
	closeSets(s.sets)
	for _, e := range s.engines {
		if e.client != nil {
			e.client.Close()
		}
	}
	for _, l := range s.locals {
		l.Close()
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

// manifest describes the run for its folder.
func (s *session) manifest() *runManifest {
	m := &runManifest{Version: runVersion, Budget: s.job.Budget, Folder: s.job.Tokenizer, Frozen: frozen{
		Model: s.job.Model, Sampling: s.job.Sampling,
		Tokenizer: s.model.tokenizer.Digest(), Template: s.model.template.Digest(),
	}}
	if s.job.Parts != nil {
		m.Frozen.Mix = s.job.Mix()
	}
	for i, d := range s.job.Datasets {
		m.Sets = append(m.Sets, setInfo{Name: d.Name, Target: d.Tokens, Seeded: s.seeded[i], Path: d.Path, SHA256: s.sets[i].Report().SHA256})
	}
	return m
}

// readJobFile returns the job file's bytes for the run folder.
func (s *session) readJobFile() ([]byte, error) { return os.ReadFile(s.job.File) }
