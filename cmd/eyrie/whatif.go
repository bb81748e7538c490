package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/plan"
	"github.com/eyrie-ai/eyrie/route"
)

// change is what a forecast would be with one thing changed.
type change struct {
	what     string
	lanes    int         // more than now
	tokens   int64       // that will be had
	expected eyrie.Money // for all that is wanted
	dearer   eyrie.Money // than now
	finish   time.Duration
	inFlight int
}

func changed(what string, now, f *plan.Forecast) change {
	return change{what: what, tokens: f.Tokens, expected: f.Expected, dearer: f.Expected - now.Expected, finish: f.Finish, inFlight: f.InFlight}
}

// rules forecasts the job without each rule of the policies that keeps a lane
// out.
func (v *workload) rules(f *facts, now *plan.Forecast) []change {
	var out []change
	for _, e := range v.s.engines {
		var seen []route.Rule
		for _, verdict := range e.verdicts {
			if verdict.Allowed || slices.Contains(seen, verdict.Rule) {
				continue
			}
			seen = append(seen, verdict.Rule)
			if c, ok := v.without(e, verdict.Rule, f, now); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// without forecasts the job with a rule taken out of an engine's policy; it
// reports false when that lets nobody in.
func (v *workload) without(e *engine, r route.Rule, f *facts, now *plan.Forecast) (change, bool) {
	policy := e.policy.Without(r)
	var all []route.Verdict
	for _, other := range v.s.engines {
		if other == e {
			all = append(all, policy.Judge(e.cat.Lanes)...)
		} else {
			all = append(all, other.verdicts...)
		}
	}
	for _, l := range v.s.locals {
		all = append(all, route.Verdict{Lane: l.lane, Allowed: true})
	}
	lanes := route.Order(all)
	more := len(lanes) - len(v.s.lanes())
	if more <= 0 {
		return change{}, false
	}
	c := changed(string(r), now, v.forecast(f, func(in *plan.Input) { in.Lanes = f.laneInputs(lanes, v.s.job.Concurrency) }))
	c.lanes = more
	return c, true
}

// whatIf forecasts the job with single things changed that a person could
// change in the job file.
func (v *workload) whatIf(f *facts, now *plan.Forecast) []change {
	job := v.s.job
	var out []change
	add := func(what string, how func(*plan.Input)) {
		out = append(out, changed(what, now, v.forecast(f, how)))
	}
	if half := job.Sampling.MaxTokens / 2; half >= 1024 {
		add(fmt.Sprintf("max_tokens %d", half), func(in *plan.Input) { in.MaxTokens = half })
	}
	if job.Sampling.Thinking {
		add("thinking off", func(in *plan.Input) {
			for i := range in.Sets {
				set := &in.Sets[i]
				shown := f.shown(set.Name, set.OutputTokens)
				set.OutputTokens = v.unthinking(i, f, set.OutputTokens)
				set.PromptTokens = v.sets[i].prompt(set, f.state.Set(set.Name).PromptTokens, shown)
			}
		})
	}
	if lanes := slices.Clone(v.s.lanes()); len(lanes) > 1 {
		route.ByPrice(lanes)
		add("only "+lanes[0].Tag, func(in *plan.Input) { in.Lanes = f.laneInputs(lanes[:1], v.s.job.Concurrency) })
	}
	if !now.Affordable() || now.Made > 0 || job.Deadline > 0 {
		add("ten more dollars", func(in *plan.Input) { in.Left = in.Left.Add(10 * eyrie.Dollar) })
	}
	if job.Deadline > 0 {
		add("one more hour", func(in *plan.Input) { in.Deadline += time.Hour })
	}
	return out
}

// unthinking is how long a set's answers would be without reasoning.
func (v *workload) unthinking(i int, f *facts, with float64) float64 {
	if r := f.reasoning[v.s.job.Datasets[i].Name]; r.answers >= enoughAnswers {
		return max(1, with-float64(r.tokens)/float64(r.answers))
	}
	plain := v.s.job.Sampling
	plain.Thinking = false
	x := v.sets[i]
	if x.reasoning { // how much of its own answers that is was not counted
		return min(with, plan.PriorOutput)
	}
	n, _ := x.output(new(facts), "", plain)
	return min(with, n)
}
