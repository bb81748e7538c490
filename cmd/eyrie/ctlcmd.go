package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (a *app) ctlCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ctl RUN [show | pause | resume | drain | budget $N | concurrency N | lane NAME pause|resume|limit N]",
		Short: "Change a run while it goes on",
		Long: `ctl talks to the run that goes on in a folder, or in that of a job file, and
changes it. Without more it shows what the run and each lane are doing.

  show                what it does now, and why a lane idles
  pause               start nothing new; what is under way finishes
  resume              go on
  drain               start nothing new, finish and end, as the first Ctrl-C does
  budget $N           another budget. It is in the journal before it counts, and
                      holds for the next run too, until the job file says another.
                      One below what is spent and held lets nothing new start
  concurrency N       so many requests at once at most
  lane NAME pause     give a lane nothing new
  lane NAME resume    give it work again
  lane NAME limit N   at most so many at once, beside what it is found to take;
                      0 lifts that

All but the budget is forgotten when the run ends. The run listens on ` + controlSocket + `
in its folder, for its owner alone: a line of JSON a request, a line an answer.`,
		Example: `  eyrie ctl job.yaml
  eyrie ctl runs/first budget '$150'
  eyrie ctl runs/first lane novita/fp8 limit 50
  eyrie ctl runs/first show --json | jq .lanes`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return nil
			}
			return exactArgs("RUN")(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			q, err := parseCtl(args[1:])
			if err != nil {
				return &exitError{exitConfig, err}
			}
			root, _, err := a.findRun(args[0])
			if err != nil {
				return err
			}
			defer root.Close()
			reply, err := askRun(root.Name(), q)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, reply.Status)
			}
			printLive(a.stdout, reply.Status)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the run's status as one line of JSON")
	return cmd
}

// ctlHelp ends every message about arguments that are not understood.
const ctlHelp = "see eyrie ctl --help"

// parseCtl reads what is to be done.
func parseCtl(args []string) (*controlRequest, error) {
	if len(args) == 0 {
		return &controlRequest{Do: "show"}, nil
	}
	do, rest := args[0], args[1:]
	want := func(n int, form string) error {
		if len(rest) == n {
			return nil
		}
		return fmt.Errorf("ctl %s: want %q; %s", do, form, ctlHelp)
	}
	switch do {
	case "show", "pause", "resume", "drain":
		return &controlRequest{Do: do}, want(0, do)
	case "budget":
		if err := want(1, "budget $N"); err != nil {
			return nil, err
		}
		return &controlRequest{Do: do, Value: rest[0]}, nil
	case "concurrency":
		if err := want(1, "concurrency N"); err != nil {
			return nil, err
		}
		return &controlRequest{Do: do, Value: rest[0]}, nil
	case "lane":
		return parseCtlLane(rest)
	}
	return nil, fmt.Errorf("ctl: there is no %q; it can show, pause, resume, drain, budget, concurrency, lane; %s", do, ctlHelp)
}

func parseCtlLane(args []string) (*controlRequest, error) {
	switch {
	case len(args) == 2 && (args[1] == "pause" || args[1] == "resume"):
		return &controlRequest{Do: "lane-" + args[1], Lane: args[0]}, nil
	case len(args) == 3 && args[1] == "limit":
		return &controlRequest{Do: "lane-limit", Lane: args[0], Value: args[2]}, nil
	}
	return nil, fmt.Errorf("ctl lane: want \"lane NAME pause\", \"lane NAME resume\" or \"lane NAME limit N\", found %q; %s", "lane "+strings.Join(args, " "), ctlHelp)
}

// printLive prints what a run is doing.
func printLive(w io.Writer, s *statusJSON) {
	fmt.Fprintf(w, "%s: %d requests under way, %.0f tokens a second, spent %s of %s, %s held\n",
		s.Phase, s.Running, s.TokensPerSecond, s.Spent.Cents(), s.Budget.Cents(), s.InFlight.Add(s.Unbilled).Cents())
	if s.Idle != "" {
		fmt.Fprintf(w, "nothing more is started: %s\n", s.Idle)
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\nLANE\tUNDER WAY\tLIMIT\tTOKENS\tSTATE")
	for _, l := range s.Lanes {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\n", l.Name, l.Running, l.Limit, short(l.Tokens), laneState(l))
	}
	t.Flush()
}

// laneState says why a lane idles, in one cell.
func laneState(l laneStatus) string {
	if l.Idle == "" {
		return "working"
	}
	return l.Idle
}
