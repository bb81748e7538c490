package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/plan"
)

type planFlags struct {
	catalogue string
	json      bool
}

func (a *app) planCmd() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan JOB",
		Short: "Forecast tokens, money and time before anything is paid",
		Long: `plan reads the job's prompts and the vendor's price list and prints what the job
will take: tokens, money and time, by data set and by lane, what the budget buys
when it does not reach, how many requests run at once and what keeps it at that,
what each rule of the policy costs, and what other settings would change. It
spends nothing.

Prompts are counted with the model's own tokenizer and template. How long
answers are is taken from this run's answers, or else from those that the data
set brings along, or else from a prior; the table says which. For a run that has
begun it forecasts the rest, and prints beside what came what it would have said
before the start and after 2 % of the tokens.

With --catalogue a saved price list is read instead of the vendor's, and no key
is needed.

Exit code 3 says that the budget is too small.`,
		Example: `  eyrie plan job.yaml
  eyrie plan job.yaml --json | jq .expected
  eyrie plan job.yaml --catalogue runs/kimi/catalogue/20260822T230119.000Z-openrouter.json`,
		Args: exactArgs("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.plan(cmd.Context(), args[0], f) },
	}
	cmd.Flags().StringVar(&f.catalogue, "catalogue", "", "read this saved catalogue instead of the vendor's")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the plan as JSON")
	return cmd
}

func (a *app) plan(ctx context.Context, jobPath string, flags planFlags) error {
	s, err := a.open(jobPath)
	if err != nil {
		return err
	}
	defer s.close()
	so, err := s.soFar()
	if err != nil {
		return err
	}
	if flags.catalogue != "" {
		err = a.connectSaved(ctx, s, flags.catalogue)
	} else {
		err = a.connect(ctx, s)
	}
	if err != nil {
		return err
	}
	v, err := s.workload(ctx, 0, func(what string) { fmt.Fprintln(a.stderr, what) })
	if err != nil {
		return err
	}
	for _, set := range s.sets {
		if r := set.Report(); r.Kept < r.Rows {
			fmt.Fprint(a.stderr, r)
		}
	}
	p := &planned{s: s, Forecast: v.forecast(so)}
	p.rules, p.whatIf = v.rules(so, p.Forecast), v.whatIf(so, p.Forecast)
	if p.past, err = v.past(so); err != nil {
		return err
	}
	if flags.json {
		err = printJSON(a.stdout, p.json())
	} else {
		p.print(a.stdout)
	}
	if err == nil {
		err = s.losses()
	}
	if err == nil && !p.Affordable() {
		err = &exitError{code: exitBudget}
	}
	return err
}

// planned is a forecast with all that is printed beside it.
type planned struct {
	*plan.Forecast
	s      *session
	rules  []change
	whatIf []change
	past   []milestone
}

// soFar folds the run of a job, if it has begun.
func (s *session) soFar() (*facts, error) { return s.until(nil) }

// until folds the run of a job as far as enough says.
func (s *session) until(enough func(*facts) bool) (*facts, error) {
	root, _, err := openRunDir(s.job.Output)
	if err != nil { // it has not begun
		return newFacts(s.job.Budget), nil
	}
	defer root.Close()
	return readFacts(root, s.job.Budget, enough)
}

// milestone is what a forecast made at some point of the run says of its end,
// or what has come of it.
type milestone struct {
	When   string      `json:"when"`
	Tokens int64       `json:"tokens"` // output tokens of this run, in all
	Money  eyrie.Money `json:"money"`
}

// early is how much of the work the second forecast knows, in per cent.
const early = 2

// past returns what forecasts from before the start and from early in the run
// say, and what came. It returns nothing as long as that would be no news.
func (v *workload) past(now *facts) ([]milestone, error) {
	first := v.foresee("before the start", newFacts(v.s.job.Budget))
	mark := first.Tokens * early / 100
	if now.tokens <= mark || mark == 0 {
		return nil, nil
	}
	then, err := v.s.until(func(f *facts) bool { return f.tokens >= mark })
	if err != nil {
		return nil, err
	}
	return []milestone{
		first,
		v.foresee(fmt.Sprintf("after %d %%", early), then),
		{"so far", now.tokens, now.ledger.Spent()},
	}, nil
}

// foresee makes a forecast from what was known at a moment and adds what was
// there.
func (v *workload) foresee(when string, f *facts) milestone {
	p := v.forecast(f)
	return milestone{when, f.tokens + p.Tokens, f.ledger.Spent().Add(min(p.Expected, p.Left))}
}
