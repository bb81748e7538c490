package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

func (a *app) repairCmd() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "repair RUN",
		Short: "Mend a damaged journal, keeping what was found",
		Long: `repair reads every byte of a run's journal and shows what is damaged: segment,
place, and the whole records before and after. It puts mended segments in the
place of damaged ones, which it keeps beside as damaged-…, and adds whole answers
that stand in tails cut after a crash. Nothing is destroyed, and whole records
stay where they are.

An answer whose text is lost is bought again when the run goes on. Where the
segment's index still knows what it cost, that stays counted.`,
		Example: `  eyrie repair runs/first --dry-run   show, change nothing
  eyrie repair runs/first`,
		Args: exactArgs("RUN"),
		RunE: func(_ *cobra.Command, args []string) error {
			root, _, err := a.findRun(args[0])
			if err != nil {
				return err
			}
			defer root.Close()
			found, err := journal.Repair(root, dry)
			if err != nil {
				return explain(err)
			}
			printRepair(a.stdout, found, dry)
			if dry && len(found.Damage) > 0 {
				return &exitError{exitDamaged, fmt.Errorf("nothing was changed; mend it with eyrie repair %s", args[0])}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would be done and change nothing")
	return cmd
}

func printRepair(w io.Writer, r *journal.Repaired, dry bool) {
	for _, d := range r.Damage {
		printDamage(w, d)
	}
	if r.Torn != nil {
		fmt.Fprintln(w, r.Torn)
	}
	if n := len(r.Salvaged); n > 0 {
		did := "added"
		if dry {
			did = "to be added"
		}
		fmt.Fprintf(w, "%d records out of torn tails %s\n", n, did)
		for _, rec := range r.Salvaged {
			fmt.Fprintf(w, "  %s\n", oneLine(rec))
		}
	}
	if len(r.Damage) == 0 && r.Torn == nil && len(r.Salvaged) == 0 {
		fmt.Fprintln(w, "every record of the journal is whole")
	}
}

func printDamage(w io.Writer, d journal.Damage) {
	if d.Missing {
		fmt.Fprintf(w, "segment %s is missing\n", d.Segment)
	} else {
		fmt.Fprintf(w, "segment %s is damaged; %d records of it are whole\n", d.Segment, d.Records)
	}
	for _, s := range d.Stretches {
		fmt.Fprintf(w, "  from %d to %d: %v", s.From, s.To, s.Reason)
		if s.Before != (journal.Ref{}) {
			fmt.Fprintf(w, "; before it a record at %d", s.Before.Offset)
		}
		if s.After != (journal.Ref{}) {
			fmt.Fprintf(w, "; after it one at %d", s.After.Offset)
		}
		fmt.Fprintln(w)
		for _, e := range s.Named {
			fmt.Fprintf(w, "    lost: %s\n", oneLine(e.Record))
		}
	}
	if d.Kept != "" {
		fmt.Fprintf(w, "  mended; as it was found it is in %s\n", d.Kept)
	}
}

// oneLine says what a record is, without its text.
func oneLine(rec eyrie.Record) string {
	switch r := rec.(type) {
	case *eyrie.SessionRecord:
		return fmt.Sprintf("the start of a session with a budget of %s", r.Budget.Cents())
	case *eyrie.PromptRecord:
		return fmt.Sprintf("prompt %s of set %s", r.ID, r.Set)
	case *eyrie.StartedRecord:
		return fmt.Sprintf("start of attempt %d in set %s on %s, with %s held", r.Attempt, r.Set, r.Lane, r.Hold)
	case *eyrie.SeenRecord:
		return fmt.Sprintf("the id %s of attempt %d", r.ID, r.Attempt)
	case *eyrie.EndedRecord:
		what := "an accepted answer"
		if !r.OK {
			what = "a failure (" + r.Class + ")"
		}
		return fmt.Sprintf("end of attempt %d in set %s on %s: %s, charged %s, %s", r.Attempt, r.Set, r.Lane, what, r.Charged, r.Cost)
	case *eyrie.SettledRecord:
		return fmt.Sprintf("a bill of %s for attempts %v", r.Cost, r.Attempts)
	case *eyrie.BudgetRecord:
		return fmt.Sprintf("a budget of %s set while the run went on", r.Budget.Cents())
	case *eyrie.GaveUpRecord:
		return fmt.Sprintf("a generation of set %s given up (%s)", r.Set, r.Class)
	}
	return fmt.Sprintf("%T", rec)
}
