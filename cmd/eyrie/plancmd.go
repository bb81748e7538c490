package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/plan"
	"github.com/eyrie-ai/eyrie/progress"
	"github.com/eyrie-ai/eyrie/route"
)

func (a *app) planCmd() *cobra.Command {
	var catalogue string
	cmd := &cobra.Command{
		Use:   "plan JOB",
		Short: "Forecast tokens and money before anything is paid",
		Long: `plan reads the job's prompts and the vendor's price list and prints what the job
will take: tokens, money and lanes. It spends nothing. For a run that has begun
it forecasts the rest, from what its answers were like. With --catalogue a saved
price list is read instead of the vendor's, and no key is needed.

Exit code 3 says that the budget is too small.`,
		Example: `  eyrie plan job.yaml`,
		Args:    exactArgs("JOB"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.plan(cmd.Context(), args[0], catalogue) },
	}
	cmd.Flags().StringVar(&catalogue, "catalogue", "", "read this saved catalogue instead of the vendor's")
	return cmd
}

func (a *app) plan(ctx context.Context, jobPath, catalogue string) error {
	s, err := a.open(jobPath)
	if err != nil {
		return err
	}
	defer s.close()
	st, led, err := s.soFar()
	if err != nil {
		return err
	}
	if catalogue != "" {
		err = a.connectSaved(ctx, s, catalogue)
	} else {
		err = a.connect(ctx, s)
	}
	if err != nil {
		return err
	}
	f, err := s.survey(ctx, st, expectedLeft(st, led), 0, func(what string) { fmt.Fprintln(a.stderr, what) })
	if err != nil {
		return err
	}
	for _, set := range s.sets {
		if r := set.Report(); r.Kept < r.Rows {
			fmt.Fprint(a.stderr, r)
		}
	}
	printPlan(a.stdout, s, f)
	if !f.Affordable() {
		return &exitError{code: exitBudget}
	}
	return nil
}

// soFar folds the run of a job, if it has begun.
func (s *session) soFar() (*progress.State, *ledger.Ledger, error) {
	st, led := progress.New(), ledger.New(s.job.Budget)
	root, _, err := openRunDir(s.job.Output)
	if err != nil { // it has not begun
		return st, led, nil
	}
	defer root.Close()
	for e, err := range journal.Outline(root) {
		if err != nil {
			return nil, nil, err
		}
		st.Apply(e)
		led.Apply(e.Record)
	}
	led.Abandon()
	led.SetBudget(s.job.Budget)
	return st, led, nil
}

func printPlan(w io.Writer, s *session, f *plan.Forecast) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "DATA SET\tHAVE\tTARGET\tTO GO\tANSWERS\tPROMPT\tOUTPUT\tEXPECTED\tBUDGET BUYS\n")
	for _, x := range f.Sets {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%.0f\t%.0f\t%s\t%s\n", x.Name, short(x.Have), short(x.Target), short(x.ToGo),
			x.Needed, x.PromptTokens, x.OutputTokens, x.Expected.Cents(), short(x.InBudget))
	}
	t.Flush()
	for _, x := range f.Sets {
		if x.Short > 0 {
			fmt.Fprintf(w, "%s: its prompts give %s tokens less than the target; add prompts or samples\n", x.Name, short(x.Short))
		}
	}
	fmt.Fprintf(w, "\n")
	printLanes(w, s.ordered())
	fmt.Fprintf(w, "\nexpected %s (%s with every prompt cached, %s at the dearest lane); %s left of %s\n",
		f.Expected.Cents(), f.Low.Cents(), f.High.Cents(), f.Left.Cents(), s.job.Budget.Cents())
	fmt.Fprintf(w, "in flight at most %d of %d, which hold %s at the worst\n", f.InFlight, s.job.Concurrency, f.Exposure.Cents())
	if !f.Affordable() {
		fmt.Fprintf(w, "the budget is %s short: raise it, lower the targets, or run with --partial\n", (f.Expected - f.Left).Cents())
	}
}

// printLanes prints the endpoints, the allowed ones first in their order.
func printLanes(w io.Writer, verdicts []route.Verdict) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "LANE\tQUANT\tIN $/M\tOUT $/M\tCACHE $/M\tMAX OUT\t\n")
	for _, v := range verdicts {
		l, out := v.Lane, none
		if l.MaxOutput > 0 {
			out = short(int64(l.MaxOutput))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Tag, precisionCell(&v),
			perMillion(l.PromptPrice), perMillion(l.OutputPrice), perMillion(l.CachedPrice), out, verdictCell(&v))
	}
	t.Flush()
}

func perMillion(p eyrie.Price) string {
	if !p.Known() {
		return none
	}
	return p.PerMillion().Decimal()
}
