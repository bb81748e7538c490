package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset"
	"github.com/eyrie-ai/eyrie/internal/config"
)

// openSet opens a data set of the job. It comes after the sets before it: what
// they have is a duplicate in it.
func (s *session) openSet(d *config.Dataset) (*dataset.Set, error) {
	evaluation, err := readEvaluation(d.Decontaminate)
	if err != nil {
		return nil, fmt.Errorf("%s: decontaminate: %w", d.Name, err)
	}
	opts := dataset.Options{
		Layout: dataset.Layout(d.Layout), Format: d.Format, Images: dataset.Images(d.Images), MaxRow: int(d.MaxRow),
		Columns: map[dataset.Field]string{}, Roles: map[string]eyrie.Role{},
		Turns: d.Turns, Special: s.model.spellsSpecial,
		After: slices.DeleteFunc(slices.Clone(s.sets), func(x *dataset.Set) bool { return x == nil }),
		Keep: dataset.Keep{
			Languages: d.Keep.Languages, Tools: d.Keep.Tools, MinTurns: d.Keep.MinTurns, MaxTurns: d.Keep.MaxTurns,
			MinTokens: d.Keep.MinTokens, MaxTokens: d.Keep.MaxTokens,
		},
		NearDuplicates: d.NearDuplicates, Evaluation: evaluation,
		Sample: d.Sample, Shuffle: d.Shuffle, Seed: s.job.Seed, Validation: d.Validation,
	}
	for field, column := range d.Columns {
		opts.Columns[dataset.Field(field)] = column
	}
	for name, role := range d.Roles {
		opts.Roles[name] = eyrie.Role(role)
	}
	if d.Keep.MinTokens > 0 || d.Keep.MaxTokens > 0 {
		opts.Count = s.model.countPrompt // exactly, where it decides
	}
	return dataset.Open(dataset.Source{Set: d.Name, Path: d.Path}, opts)
}

// closeSets gives back what sets hold on disk.
func closeSets(sets []*dataset.Set) {
	for _, s := range sets {
		if s != nil {
			s.Close()
		}
	}
}

// losses refuses a job whose data sets lose more rows than it accepts.
func (s *session) losses() error {
	var errs []error
	for i, set := range s.sets {
		r := set.Report()
		if accepted := s.job.Datasets[i].AcceptDrops; r.LossRate() > accepted {
			errs = append(errs, errors.New(lossText(&r, accepted)))
		}
	}
	if errs == nil {
		return nil
	}
	return &exitError{exitConfig, errors.Join(errs...)}
}

// acceptedLoss is the share of a set's rows that may be lost where no job says
// otherwise.
const acceptedLoss = 0.05

// lossText says that a set loses too many rows, why, and what to do.
func lossText(r *dataset.Report, accepted float64) string {
	var worst dataset.Reason
	for reason, c := range r.Dropped {
		if reason.Lost() && cmp.Or(cmp.Compare(c.N, r.Dropped[worst].N), cmp.Compare(worst, reason)) > 0 {
			worst = reason
		}
	}
	return fmt.Sprintf("%s: %d of %d rows are lost (%.1f %%), more than the %.3g %% that are accepted, most of them for %s, such as %s; mend the file, say how to read it with layout, columns or roles, or accept it with accept_drops: %.2f",
		r.Set, r.Lost(), r.Rows, 100*r.LossRate(), 100*accepted, worst, r.Dropped[worst].Examples[0], min(1, r.LossRate()+0.005))
}
