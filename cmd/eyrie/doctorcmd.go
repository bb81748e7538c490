package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/config"
	"github.com/eyrie-ai/eyrie/plan"
)

type doctorFlags struct {
	json   bool
	probe  bool
	budget string
}

func (a *app) doctorCmd() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor JOB",
		Short: "Check everything a run needs, before a cent is spent",
		Long: `doctor looks at all that a run of the job needs: tokenizer, prompts, run folder,
open files, the endpoints that may answer, the key with its limit and credits,
the clock, the budget, and disk space. It prints a line for each check, with the
way out where something is wrong, and spends nothing.

With --probe it also asks every endpoint that may answer a few short questions,
for a few cents in all, and says what each really does: who it says it is, what
it counts and charges, whether thinking can be switched on and off, whether a
seed repeats an answer, whether a stop string ends one, whether tokens come with
their bytes where the job asks for them, and what a stream costs that is cut off. An endpoint
whose worst case does not fit the probe's budget is left out. The cost is not
the run's: do not probe with its key while the run is under way.

Exit code 2 says that a check failed.`,
		Example: `  eyrie doctor job.yaml
  eyrie doctor job.yaml --probe
  eyrie doctor job.yaml --json | jq 'select(.state == "fail")'`,
		Args: exactArgs("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.doctor(cmd.Context(), args[0], f) },
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "print a line of JSON for each check")
	cmd.Flags().BoolVar(&f.probe, "probe", false, "ask every endpoint a few short questions, for money")
	cmd.Flags().StringVar(&f.budget, "probe-budget", "0.05", "the most that --probe may spend, in dollars")
	return cmd
}

// states of a check.
const (
	stateOK      = "ok"
	stateWarning = "warning"
	stateFail    = "fail"
)

// finding is what came of a check, and a line of eyrie doctor --json. The
// fields keep their meaning; new ones may appear.
type finding struct {
	Check  string     `json:"check"`
	State  string     `json:"state"` // ok, warning or fail
	Detail string     `json:"detail"`
	Fix    string     `json:"fix,omitzero"`
	Probe  *laneProbe `json:"probe,omitzero"`
}

// doctor checks one job.
type doctor struct {
	*app
	json   bool
	failed bool

	job    *config.Job
	s      *session
	survey *plan.Forecast // nil where something was missing for it
}

func (a *app) doctor(ctx context.Context, path string, f doctorFlags) error {
	budget, err := eyrie.ParseMoney(f.budget)
	if err != nil {
		return &exitError{exitConfig, fmt.Errorf("--probe-budget %s: %w", f.budget, err)}
	}
	d := &doctor{app: a, json: f.json}
	if d.job, err = config.Load(path, a.env()); err != nil {
		d.fail("job file", "", err)
		return &exitError{code: exitConfig}
	}
	budgeted := "no budget, since nothing is bought"
	if d.job.Bought() {
		budgeted = "budget " + d.job.Budget.Cents()
	}
	d.ok("job file", "%s: %s, %d data sets, %s", path, d.job.Model, len(d.job.Datasets), budgeted)
	d.s = &session{job: d.job}
	defer d.s.close()
	prompts := d.tokenizer() && d.prompts()
	d.files()
	lanes := d.endpoints(ctx)
	for _, e := range d.s.engines {
		d.account(ctx, e)
	}
	if prompts && lanes {
		d.money(ctx)
	}
	d.disk()
	if f.probe && lanes {
		d.probe(ctx, budget)
	}
	if d.failed {
		return &exitError{code: exitConfig}
	}
	return nil
}

func (d *doctor) report(f finding) {
	d.failed = d.failed || f.State == stateFail
	if d.json {
		printJSON(d.stdout, f)
		return
	}
	state := f.State
	if state == stateFail {
		state = "FAIL"
	}
	line := fmt.Sprintf("%-8s%-14s%s", state, f.Check, strings.ReplaceAll(f.Detail, "\n", "; "))
	if f.Fix != "" {
		line += ": " + f.Fix
	}
	fmt.Fprintln(d.stdout, line)
}

func (d *doctor) ok(check, format string, args ...any) {
	d.report(finding{Check: check, State: stateOK, Detail: fmt.Sprintf(format, args...)})
}

func (d *doctor) warn(check, fix, format string, args ...any) {
	d.report(finding{Check: check, State: stateWarning, Detail: fmt.Sprintf(format, args...), Fix: fix})
}

// fail reports an error. Most of ours name their own way out.
func (d *doctor) fail(check, fix string, err error) {
	d.report(finding{Check: check, State: stateFail, Detail: err.Error(), Fix: fix})
}

func (d *doctor) tokenizer() bool {
	var err error
	if d.s.model, err = openModel(d.job.Tokenizer); err != nil {
		d.fail("tokenizer", "", err)
		return false
	}
	d.ok("tokenizer", "%s: digest %.12s, chat template %.12s", d.job.Tokenizer, d.s.model.tokenizer.Digest(), d.s.model.template.Digest())
	return true
}

// prompts opens the data sets. Their rows are read when the money is forecast.
func (d *doctor) prompts() bool {
	if err := d.s.openSets(); err != nil {
		d.fail("prompts", "", err)
		return false
	}
	for i, set := range d.s.sets {
		for _, err := range set.Prompts() {
			if err != nil {
				d.fail("prompts", "", err)
				return false
			}
		}
		name, r := d.job.Datasets[i].Name, set.Report()
		switch {
		case r.Kept == 0:
			d.fail("prompts", "look at the drops with eyrie plan", fmt.Errorf("%s: none of its %d rows is a prompt", name, r.Rows))
			return false
		case r.LossRate() > d.job.Datasets[i].AcceptDrops:
			d.fail("prompts", "", errors.New(lossText(&r, d.job.Datasets[i].AcceptDrops)))
			return false
		case r.Lost() > 0:
			d.warn("prompts", "eyrie plan says which and why", "%s: %d of %d rows are no prompts", name, r.Lost(), r.Rows)
		default:
			d.ok("prompts", "%s: %d prompts, samples %d", name, r.Kept, d.job.Datasets[i].Samples)
		}
	}
	return true
}

func (d *doctor) files() {
	want := filesWanted(d.job)
	have, known := openFiles()
	if err := enoughFiles(d.job); err != nil {
		d.fail("open files", "", err)
	} else if known {
		d.ok("open files", "%d of %d may be needed for %d requests at once", want, have, d.job.Concurrency)
	} else {
		d.warn("open files", "see that there are enough", "%d may be needed; this system does not tell how many there are", want)
	}
}

// endpoints reads the price lists and applies the policy.
func (d *doctor) endpoints(ctx context.Context) bool {
	if err := d.connect(ctx, d.s); err != nil {
		d.fail("endpoints", "", err)
		return false
	}
	own := map[*eyrie.Lane]*local{}
	for _, l := range d.s.locals {
		own[l.lane] = l
	}
	for _, l := range d.s.lanes() {
		if o := own[l]; o != nil {
			d.server(o)
			continue
		}
		detail := fmt.Sprintf("%s may answer: %s, $%s and $%s per million tokens", l.Tag, l.Quantization, perMillion(l.PromptPrice), perMillion(l.OutputPrice))
		if l.Overruns {
			d.warn("endpoints", "its own maximum is held for each request; leave it out with ignore", "%s, and it does not keep to max_tokens", detail)
			continue
		}
		d.ok("endpoints", "%s", detail)
	}
	return true
}

// server says what a server of one's own is.
func (d *doctor) server(l *local) {
	switch f, _ := l.known(); {
	case l.away != nil:
		d.warn("server", "the run begins without it, and it gets work when it comes", "%s: %v", l.lane.Tag, l.away)
	case !f.IDs:
		d.warn("server", "its rows are made from text and certified by their counts; SGLang and vLLM return ids", "%s: %s", l.lane.Tag, l.describe())
	case !f.Metrics:
		d.warn("server", "start it with its metrics on (sglang: --enable-metrics), so that its load decides how much it gets", "%s: %s", l.lane.Tag, l.describe())
	default:
		d.ok("server", "%s: %s", l.lane.Tag, l.describe())
	}
}

// maxSkew is how far clocks may be apart before it is worth a word.
const maxSkew = 30 * time.Second

// account looks at the key of an engine, at its money, and at the clock.
func (d *doctor) account(ctx context.Context, e *engine) {
	name, before := e.name, time.Now()
	f, err := readFunds(ctx, e.client)
	if err != nil {
		d.fail("key", "", err)
		return
	}
	d.ok("key", "%s: the vendor knows it as %s", name, f.account.Label)
	d.limit(name, f)
	if f.credits != nil {
		d.ok("credits", "%s: %s left", name, f.credits.Cents())
	} else {
		d.ok("credits", "%s: not shown to an ordinary key, as usual; see the account's page", name)
	}
	if f.account.Clock.IsZero() {
		return
	}
	// The time of the answer was cut to the second.
	after := time.Now()
	early, late := before.Sub(f.account.Clock.Add(time.Second)), f.account.Clock.Sub(after)
	if skew := max(early, late); skew > maxSkew {
		d.warn("clock", "set the clock: waits until a time of day would be wrong", "it is %v off the vendor's", skew.Round(time.Second))
		return
	}
	d.ok("clock", "as the vendor's")
}

// limit holds the key's money against what the budget may still spend.
func (d *doctor) limit(name string, f funds) {
	so, err := d.s.soFar()
	if err != nil {
		d.fail("run folder", "", err)
		return
	}
	need := max(0, so.ledger.Budget()-so.ledger.Spent())
	left, bounded := f.left()
	if f.account.Limit == nil {
		d.warn("key limit", "set the key's limit to the budget", "%s: it has none, so nothing but this program's ledger keeps the budget", name)
	} else if left >= need {
		d.ok("key limit", "%s: %s left, and the budget may still spend %s", name, f.account.Remaining.Cents(), need.Cents())
	}
	if bounded && left < need {
		d.fail("key limit", "", tooLittle(name, f, need, left))
	}
}

// money forecasts the cost of what is left to do.
func (d *doctor) money(ctx context.Context) {
	so, err := d.s.soFar()
	if err != nil {
		return // reported with the key's limit
	}
	v, err := d.s.workload(ctx, 1000, func(string) {})
	if err != nil {
		d.fail("budget", "", err)
		return
	}
	f := v.forecast(so)
	d.survey = f
	if !f.Affordable() {
		d.warn("budget", "raise budget, lower tokens, or run with --partial", "the job wants about %s and %s is left", f.Expected.Cents(), f.Left.Cents())
		return
	}
	d.ok("budget", "the job wants about %s of the %s that is left", f.Expected.Cents(), f.Left.Cents())
	if f.Binds == plan.BindsMoney {
		d.warn("concurrency", "raise budget or lower max_tokens", "the budget allows %d requests at once at first, of %d wanted: each holds its worst case", f.InFlight, d.job.Concurrency)
	}
}

// What a generation takes on disk, in the journal and again in the export: a
// part for the records around it, and a part for every token. The figures are
// rounded up from measured runs.
const (
	bytesPerGeneration = 4 << 10
	bytesPerToken      = 24
)

// disk compares the space that is free with what the answers will take.
func (d *doctor) disk() {
	dir := existing(d.job.Output)
	have, known := freeSpace(dir)
	var want uint64
	if d.survey != nil {
		for _, s := range d.survey.Sets {
			want += uint64(s.Needed)*bytesPerGeneration + uint64(s.PromptToGo+s.ToGo)*bytesPerToken
		}
	} else {
		for _, s := range d.job.Datasets {
			want += uint64(s.Tokens) * bytesPerToken
		}
	}
	switch {
	case !known:
		d.warn("disk", "see that it is free", "about %s will be written to %s; this system does not tell how much is free", size(want), d.job.Output)
	case have < want:
		d.fail("disk", "free some, or name another output folder", fmt.Errorf("about %s will be written to %s and %s is free", size(want), d.job.Output, size(have)))
	default:
		d.ok("disk", "about %s will be written to %s, %s is free", size(want), d.job.Output, size(have))
	}
	d.folder()
}

// folder says whether the run folder is a new one.
func (d *doctor) folder() {
	root, man, err := openRunDir(d.job.Output)
	if err == nil {
		defer root.Close()
		if d.s.model == nil || len(d.s.sets) < len(d.job.Datasets) {
			return // what the run is made of cannot be compared
		}
		so, err := d.s.soFar()
		if err == nil && so.state.Begun() {
			err = man.Frozen.same(&d.s.manifest().Frozen, d.job)
		}
		if err != nil {
			d.fail("run folder", "", err)
			return
		}
		d.ok("run folder", "%s: the run there goes on", d.job.Output)
		return
	}
	if existing(d.job.Output) != d.job.Output {
		d.ok("run folder", "%s: a new run", d.job.Output)
		return
	}
	entries, dirErr := os.ReadDir(d.job.Output)
	if dirErr == nil && len(entries) == 0 {
		d.ok("run folder", "%s: empty, a new run", d.job.Output)
		return
	}
	d.fail("run folder", "name another output folder", errors.Join(err, dirErr))
}

// size prints a number of bytes.
func size(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", (n+1023)>>10)
}
