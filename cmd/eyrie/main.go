// Command eyrie buys or generates a model's answers to prompt sets and hands
// trainers of speculative-decoding drafters exact token ids.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/config"
	"github.com/eyrie-ai/eyrie/internal/durable"
	"github.com/eyrie-ai/eyrie/internal/spell"
	"github.com/eyrie-ai/eyrie/journal"
)

// version is set when a release is built.
var version = ""

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// Exit codes. They are part of the interface; help lists them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitConfig      = 2
	exitBudget      = 3
	exitIncomplete  = 4
	exitRefused     = 5
	exitDamaged     = 6
	exitInterrupted = 130
)

const exitHelp = `Exit codes:
  0    done: every target is met
  1    failed: the message says what
  2    bad job file, flags or arguments
  3    the budget is reached (raise it and run again: it goes on)
  4    prompts used up or given up before every target was met
  5    the vendor refuses the account, its money does not cover the budget, or
       every lane is closed (run again when that is mended: it goes on)
  6    the journal is damaged
  130  interrupted (run again: it goes on)`

// exitError carries an exit code. One without a message has been reported.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// app is what the verbs share: the world around the process.
type app struct {
	getenv func(string) string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

func (a *app) env() config.Env {
	home := a.getenv("HOME")
	return config.Env{Getenv: a.getenv, Home: home}
}

// run is main without the process around it.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{getenv: getenv, stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if msg := err.Error(); msg != "" {
		for line := range strings.Lines(msg) {
			fmt.Fprintf(stderr, "eyrie: %s", strings.TrimSuffix(line, "\n")+"\n")
		}
	}
	return exitCode(err)
}

func exitCode(err error) int {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	if _, ok := errors.AsType[*config.Error](err); ok {
		return exitConfig
	}
	if e, ok := eyrie.AsError(err); ok && e.Op == "config" { // a job file that cannot be read at all
		return exitConfig
	}
	if _, ok := errors.AsType[*journal.DamageError](err); ok {
		return exitDamaged
	}
	return exitFailed
}

func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eyrie",
		Short: "Exact token ids of a model's own answers, for drafter training",
		Long: `eyrie answers prompt sets with a target model, through OpenRouter, with
thousands of requests in flight and a hard limit on the money, and writes exact
token ids with a loss mask.

` + exitHelp,
		Example: `  eyrie init > job.yaml       write a commented job file
  eyrie import prompts.jsonl  what is in a prompt set, and what would be left out
  eyrie providers job.yaml    who may answer, at what price, and why not
  eyrie doctor job.yaml       check everything that a run needs
  eyrie plan job.yaml         tokens, money and lanes, before anything is paid
  eyrie run job.yaml          do it; run again to go on
  eyrie ctl job.yaml          change it while it runs: pause, budget, concurrency, lanes
  eyrie export job.yaml       write the rows
  eyrie tokens explain job.yaml ID   why a row has the class it has`,
		Version:       programVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetIn(a.stdin)
	cmd.SetOut(a.stdout)
	cmd.SetErr(a.stderr)
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.SetFlagErrorFunc(flagError)
	addProfiles(cmd)
	cmd.AddCommand(a.initCmd(), a.importCmd(), a.doctorCmd(), a.providersCmd(), a.planCmd(), a.runCmd(), a.statusCmd(), a.ctlCmd(), a.exportCmd(), a.handoffCmd(), a.repairCmd(), a.tokensCmd(), a.emulateCmd())
	return cmd
}

// flagError adds the nearest flag to an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, "unknown flag: --"); ok {
		best, dist := "", 3
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if d := spell.Distance(name, f.Name); d < dist {
				best, dist = f.Name, d
			}
		})
		if best != "" {
			msg += fmt.Sprintf(" (did you mean --%s?)", best)
		}
	}
	return &exitError{exitConfig, fmt.Errorf("%s; see %s --help", msg, cmd.CommandPath())}
}

// exactArgs asks for n arguments and says what they are.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return &exitError{exitConfig, fmt.Errorf("%s wants %s, got %d arguments; see %s --help",
			cmd.CommandPath(), strings.Join(names, " "), len(args), cmd.CommandPath())}
	}
}

func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// explain adds what a person can do to errors that have a known way out.
func explain(err error) error {
	if errors.Is(err, durable.ErrLocked) {
		return fmt.Errorf("%w: wait for it, or stop it with Ctrl-C where it runs", err)
	}
	return err
}
