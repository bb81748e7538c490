package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/config"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/progress"
)

func (a *app) statusCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status RUN",
		Short: "Show a run from its folder",
		Long:  "status reads a run folder, or that of a job file, also while the run goes on, and shows how far it is. It changes nothing.",
		Example: `  eyrie status runs/first
  eyrie status job.yaml --json`,
		Args: exactArgs("RUN"),
		RunE: func(_ *cobra.Command, args []string) error {
			root, man, err := a.findRun(args[0])
			if err != nil {
				return err
			}
			defer root.Close()
			snap, st, err := readRun(root, man)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, newStatusJSON("status", snap))
			}
			printRun(a.stdout, snap, st)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return cmd
}

// findRun opens the run directory that an argument means: a folder, or the one
// that a job file names.
func (a *app) findRun(arg string) (*os.Root, *runManifest, error) {
	if info, err := os.Stat(arg); err == nil && !info.IsDir() {
		job, err := config.Load(arg, a.env())
		if err != nil {
			return nil, nil, err
		}
		arg = job.Output
	}
	return openRunDir(arg)
}

// readRun folds a run's journal into a picture of it.
func readRun(root *os.Root, man *runManifest) (eyrie.Snapshot, *progress.State, error) {
	st, led := progress.New(), ledger.New(man.Budget)
	for e, err := range journal.Outline(root) {
		if err != nil {
			return eyrie.Snapshot{}, nil, err
		}
		st.Apply(e)
		led.Apply(e.Record)
	}
	_, latest := st.Times()
	snap := eyrie.Snapshot{
		Time: latest, Budget: led.Budget(), Spent: led.Spent(), InFlight: led.InFlight(), Unbilled: led.Unbilled(),
		Bills: len(led.Bills()),
	}
	for _, s := range man.Sets {
		have := st.Set(s.Name)
		snap.Sets = append(snap.Sets, eyrie.SetSnapshot{
			Name: s.Name, Target: s.Target, Have: s.Seeded + have.CompletionTokens, Seeded: s.Seeded, Rows: have.Rows, GaveUp: have.GaveUp, Dropped: have.Dropped,
			Breaks: st.Breaks(s.Name),
		})
	}
	for _, l := range st.Lanes() {
		snap.Lanes = append(snap.Lanes, eyrie.LaneSnapshot{
			Name: l.Name, Attempts: l.Attempts, Rows: l.Rows, Dropped: l.Dropped, Tokens: l.CompletionTokens, Cost: l.Cost, Failures: l.Failures,
		})
	}
	return snap, st, nil
}

// printRun prints the tables of a run.
func printRun(w io.Writer, s eyrie.Snapshot, st *progress.State) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "DATA SET\tTOKENS\tTARGET\t\tROWS\tGIVEN UP\tSPENT\n")
	for _, x := range s.Sets {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%s\n", x.Name, short(x.Have), short(x.Target), percent(x.Have, x.Target),
			x.Rows, x.GaveUp, st.Set(x.Name).Cost.Cents())
	}
	fmt.Fprintf(t, "\t\t\t\t\t\t\nLANE\tTOKENS\tROWS\t\tATTEMPTS\t\tSPENT\tFAILURES\n")
	for _, l := range s.Lanes {
		if l.Attempts == 0 && l.Closed == "" {
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t\t%d\t\t%s\t%s\n", l.Name, short(l.Tokens), l.Rows, l.Attempts, l.Cost.Cents(), failures(l))
	}
	t.Flush()
	printNotes(w, s.Sets)
	fmt.Fprintf(w, "\nspent %s of %s", s.Spent, s.Budget.Cents())
	if s.InFlight > 0 {
		fmt.Fprintf(w, ", %s held for requests in flight", s.InFlight.Cents())
	}
	if s.Unbilled > 0 {
		fmt.Fprintf(w, ", %s held for answers whose bill has not been read", s.Unbilled.Cents())
	}
	fmt.Fprintln(w)
}

// printNotes says of each set what there is to say beside its figures: how many
// conversations ended early, and why, and what is bought and no row.
func printNotes(w io.Writer, sets []eyrie.SetSnapshot) {
	for _, x := range sets {
		var total int
		var parts []string
		for _, why := range eyrie.Breaks {
			if n := x.Breaks[why]; n > 0 {
				total += n
				parts = append(parts, fmt.Sprintf("%d× %s", n, why))
			}
		}
		if total > 0 {
			fmt.Fprintf(w, "\n%s: %d conversations end before the data set's: %s\n", x.Name, total, strings.Join(parts, ", "))
		}
		if x.Dropped > 0 {
			fmt.Fprintf(w, "\n%s: %d answers dropped, as on_length says: their cost counts, their tokens do not\n", x.Name, x.Dropped)
		}
	}
}

func failures(l eyrie.LaneSnapshot) string {
	var parts []string
	if l.Dropped > 0 {
		parts = append(parts, fmt.Sprintf("%d× dropped", l.Dropped))
	}
	for _, class := range slices.Sorted(maps.Keys(l.Failures)) {
		parts = append(parts, fmt.Sprintf("%d× %s", l.Failures[class], class))
	}
	if l.Closed != "" {
		parts = append(parts, "closed: "+l.Closed)
	}
	return strings.Join(parts, ", ")
}
