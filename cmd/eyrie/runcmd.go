package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/journal"
	"github.com/eyrie-ai/eyrie/ledger"
	"github.com/eyrie-ai/eyrie/plan"
	"github.com/eyrie-ai/eyrie/progress"
)

type runFlags struct {
	partial   bool
	available bool
	noTopUp   bool
	json      bool
	progress  string
	patience  time.Duration
}

func (a *app) runCmd() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run JOB",
		Short: "Run a job, or go on with it",
		Long: `run works on a job until its targets are met or its budget is reached. Run it
again and it goes on where it was, also after a crash.

A job that the plan says the budget cannot pay is refused; with --partial it
spends the budget and leaves every data set equally far.

So is a job whose key or credits cannot pay what the budget may still spend;
with --spend-available the budget of this session is what they have left.

A target is met in rows that an export takes. What a run was billed for is what
it counts on the way; when that seems enough it makes the rows, as an export
would, and goes on for those whose ids are not certain, unless --no-top-up says
that what was billed is enough.

Ctrl-C once: admit nothing new, finish what is paid for. Twice: cut off what is
under way, keep what came. Three times: leave at once; the next run finds what
is on disk.

` + exitHelp,
		Example: `  eyrie run job.yaml
  eyrie run job.yaml --partial
  eyrie run job.yaml --json | jq .spent`,
		Args: exactArgs("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), args[0], f) },
	}
	cmd.Flags().BoolVar(&f.partial, "partial", false, "spend the budget even though it does not reach the targets")
	cmd.Flags().BoolVar(&f.available, "spend-available", false, "lower this session's budget to what the key and the credits have left")
	cmd.Flags().BoolVar(&f.noTopUp, "no-top-up", false, "end when the targets are billed, whether or not the ids of all rows are certain")
	cmd.Flags().BoolVar(&f.json, "json", false, "print a line of JSON a second on the output, and one at the end")
	cmd.Flags().StringVar(&f.progress, "progress", "auto", "the status line on stderr: "+progressModes)
	cmd.Flags().DurationVar(&f.patience, "bill-patience", time.Minute, "how long the end of a run waits for late bills")
	return cmd
}

// leastPatience is the shortest wait for late bills: none appears sooner, and a
// shorter look at the account would take its lag for the truth.
const leastPatience = time.Second

func (a *app) run(ctx context.Context, jobPath string, f runFlags) error {
	if f.patience < leastPatience {
		return &exitError{exitConfig, fmt.Errorf("--bill-patience %v: late bills take a second at least; give %v or more, such as 1m", f.patience, leastPatience)}
	}
	if a.getenv("GOGC") == "" {
		// The heap is buffers of streams that live for a minute: collecting it
		// twice as often costs a per cent of a core and saves a third of it.
		debug.SetGCPercent(50)
	}
	scr, err := newScreen(a.stderr, f.progress)
	if err != nil {
		return err
	}
	s, err := a.open(jobPath)
	if err != nil {
		return err
	}
	defer s.close()
	if err := enoughFiles(s.job); err != nil {
		return err
	}
	man := s.manifest()
	root, changed, err := makeRunDir(s.job, man)
	if err != nil {
		return err
	}
	defer root.Close()
	st, led := progress.New(), ledger.New(s.job.Budget)
	opened := time.Now()
	var live *eyrie.BudgetRecord // the latest budget that was set while the run went on
	j, torn, err := journal.Open(root, func(e journal.Entry) error {
		st.Apply(e)
		if b, ok := e.Record.(*eyrie.BudgetRecord); ok {
			live = b
		}
		led.Apply(e.Record)
		return nil
	})
	if err != nil {
		return explain(err)
	}
	defer j.Close()
	if torn != nil {
		scr.printf("%v\n", torn)
	}
	if st.Begun() && changed != nil {
		return changed
	}
	led.Abandon() // what was in flight when the process before died has no end
	if st.Begun() {
		scr.printf("going on with %s: %s spent, %s held for unread bills, reopened in %s\n",
			s.job.Output, led.Spent().Cents(), led.Unbilled().Cents(), time.Since(opened).Round(time.Millisecond))
	}
	if err := a.connect(ctx, s); err != nil {
		return err
	}
	s.showLanes(scr.printf)
	led.SetBudget(s.job.Budget)
	if live != nil && live.Job == s.job.Budget && live.Budget != s.job.Budget {
		led.SetBudget(live.Budget)
		scr.printf("the budget is %s, as eyrie ctl set it, not the %s of %s; another budget there holds again\n",
			live.Budget.Cents(), s.job.Budget.Cents(), s.job.File)
	}
	if err := s.afford(ctx, led, f.available, scr.printf); err != nil {
		return err
	}
	if err := s.check(ctx, st, led, f.partial, scr); err != nil {
		return err
	}
	if err := s.begin(ctx, root, man, j, st, led.Budget(), scr); err != nil {
		return err
	}
	res, err := a.dispatch(ctx, s, j, st, led, root, f, scr)
	for n := 0; err == nil && res.Stop == dispatch.Finished && n < topUps && !f.noTopUp; n++ {
		var more bool
		if more, err = s.topUp(root, st, scr); !more {
			break
		}
		res, err = a.dispatch(ctx, s, j, st, led, root, f, scr)
	}
	if err != nil {
		return err
	}
	for i := range res.Snapshot.Sets {
		res.Snapshot.Sets[i].Target = s.job.Datasets[i].Tokens // as it was asked for
	}
	if err := j.Close(); err != nil {
		if res.Stop != dispatch.Broken {
			return err
		}
		res.Err = errors.Join(res.Err, err) // what was under way could not be kept
	}
	if err := j.Unsealed(); err != nil {
		scr.printf("warning: %v\n", err)
	}
	s.compareAccount(ctx, st, led, scr)
	a.summary(s, st, res, f.json)
	return s.verdict(res)
}

// check makes the forecast and refuses what cannot be afforded.
func (s *session) check(ctx context.Context, st *progress.State, led *ledger.Ledger, partial bool, scr *screen) error {
	v, err := s.workload(ctx, 1000, func(what string) { scr.printf("%s\n", what) })
	if err != nil {
		return err
	}
	for _, set := range s.sets {
		if r := set.Report(); r.Kept < r.Rows {
			scr.printf("%s", r)
		}
	}
	if err := s.losses(); err != nil {
		return err
	}
	f := v.forecast(&facts{state: st, ledger: led})
	var beyond strings.Builder
	printBeyond(&beyond, f)
	printTooLong(&beyond, f)
	scr.printf("%s", beyond.String())
	if !f.Affordable() && s.job.Fit == plan.FitFail && !partial {
		return &exitError{exitBudget, fmt.Errorf(
			"the job wants about %s more and the budget has %s left; raise budget, lower tokens, say with fit which sets give way, or say --partial to spend the budget and leave every set equally far (eyrie plan %s shows the figures)",
			f.Expected.Cents(), f.Left.Cents(), s.job.File)}
	}
	if f.Binds == plan.BindsMoney {
		scr.printf("the budget left allows %d requests in flight at first (each holds %s), of %d wanted\n", f.InFlight, heldEach[s.hold()], s.job.Concurrency)
	}
	if s.hold() == dispatch.Expected {
		scr.printf("%s\n", riskOf(f))
	}
	if f.Late > 0 {
		scr.printf("warning: the deadline of %s will be missed by about %s (eyrie plan %s shows what would help)\n", s.job.Deadline, rough(f.Late), s.job.File)
	}
	return nil
}

// begin makes the run folder say what this session is, before any money moves.
func (s *session) begin(ctx context.Context, root *os.Root, man *runManifest, j *journal.Journal, st *progress.State, budget eyrie.Money, scr *screen) error {
	for i := range man.Sets {
		man.Sets[i].SHA256 = s.sets[i].Report().SHA256
	}
	text, err := s.readJobFile()
	if err != nil {
		return err
	}
	old, err := readManifest(root)
	if err != nil {
		return err
	}
	if old != nil {
		if err := man.renamed(old, s.job.File); err != nil {
			return err
		}
		for _, set := range man.carry(old) {
			scr.printf("data set %s is not in the job file any more: its %d rows stay in the run and are exported, and nothing more is bought for it\n", set, st.Set(set).Rows)
		}
	}
	if err := man.save(root, text); err != nil {
		return err
	}
	if err := s.keepCatalogues(root); err != nil {
		return err
	}
	rec := &eyrie.SessionRecord{Version: programVersion(), Budget: budget}
	if !st.Begun() && len(s.engines) == 1 {
		if m, err := (metered{s.engines[0].client}).Usage(ctx); err == nil {
			rec.AccountUsage = &m
		}
	}
	ref, err := j.Append(rec)
	if err != nil {
		return err
	}
	st.Apply(journal.Entry{Ref: ref, Time: time.Now(), Record: rec})
	return nil
}

// compareAccount says so when the key was charged more than the bills explain.
func (s *session) compareAccount(ctx context.Context, st *progress.State, led *ledger.Ledger, scr *screen) {
	before, known := st.AccountUsage()
	if !known || len(s.engines) != 1 {
		return
	}
	now, err := (metered{s.engines[0].client}).Usage(ctx)
	if err != nil {
		return // the account is a cross-check, and lags besides
	}
	if more := now - before - led.Spent().Add(led.Unbilled()); more > eyrie.Dollar/100 {
		scr.printf("warning: the key was charged %s more than the bills of this run explain: somebody else uses it, or the vendor charged more than it said\n", more.Cents())
	}
}

// dispatch runs the job under the eyes of the screen and the hand of Ctrl-C.
func (a *app) dispatch(ctx context.Context, s *session, j *journal.Journal, st *progress.State, led *ledger.Ledger, root *os.Root, f runFlags, scr *screen) (dispatch.Result, error) {
	rd := journal.NewReader(root)
	defer rd.Close()
	cfg := dispatch.Config{
		Run: path.Base(s.job.Output), Model: s.job.Model, Sampling: s.job.Mix(), Concurrency: s.job.Concurrency,
		PaidAttempts: s.job.Attempts, Hold: s.hold(), OnLength: s.job.OnLength, RetryTokens: s.job.RetryTokens, Lanes: s.dispatchLanes(), Fit: s.job.Fit, Sort: s.job.Sort, Deadline: s.job.Deadline, Hedge: s.job.Hedge, JobBudget: s.job.Budget, Journal: j, State: st, Ledger: led,
		Count:        s.model.count,
		Earlier:      earlier(root),
		BillPatience: f.patience, Seed: uint64(time.Now().UnixNano()), Log: scr.logger(),
	}
	for i, d := range s.job.Datasets {
		cfg.Sets = append(cfg.Sets, dispatch.Set{
			Name: d.Name, Target: s.targets[i], Seeded: s.seeded[i], Samples: d.Samples, Pairing: d.Tools, Prompts: s.sets[i].Prompts(),
		})
	}
	cfg.Refresh, cfg.RefreshEvery = s.refresh(root)
	r, err := dispatch.New(cfg)
	if err != nil {
		return dispatch.Result{}, err
	}
	if ctl, err := serveControl(root.Name(), boundedRun{r, s.job}); err != nil {
		scr.printf("warning: eyrie ctl cannot reach this run: %v\n", err)
	} else {
		defer ctl.close()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopSignals := onInterrupt(scr, r.Drain, func() { cancel(dispatch.ErrCancelled) })
	defer stopSignals()
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		a.watch(r, done, f.json, scr)
	}()
	res := r.Run(ctx)
	close(done)
	<-watched
	return res, nil
}

// earlier reads an accepted answer again. It may be called by several feeders.
func earlier(root *os.Root) func(journal.Ref) (*eyrie.EndedRecord, error) {
	return func(ref journal.Ref) (*eyrie.EndedRecord, error) {
		rec, err := journal.ReadAt(root, ref)
		if err != nil {
			return nil, err
		}
		e, ok := rec.(*eyrie.EndedRecord)
		if !ok {
			return nil, fmt.Errorf("journal: segment %06d at %d is no answer", ref.Segment, ref.Offset)
		}
		return e, nil
	}
}

// onInterrupt acts on Ctrl-C: the first drains, the second cancels, and after
// that signals have their ordinary effect, so the third leaves.
func onInterrupt(scr *screen, drain, cancel func()) (stop func()) {
	signals := make(chan os.Signal, 3)
	quit := make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for n := 1; ; n++ {
			select {
			case <-quit:
				return
			case <-signals:
			}
			if n == 1 {
				scr.printf("stopping: nothing new is asked, what is paid for finishes; Ctrl-C again cuts it off\n")
				drain()
				continue
			}
			scr.printf("cancelling: keeping what came; Ctrl-C again leaves at once\n")
			signal.Stop(signals)
			cancel()
			return
		}
	}()
	return func() {
		signal.Stop(signals)
		close(quit)
	}
}

// watch shows snapshots until the run is over.
func (a *app) watch(r *dispatch.Runner, done <-chan struct{}, asJSON bool, scr *screen) {
	show := time.NewTicker(scr.every())
	defer show.Stop()
	lines := time.NewTicker(time.Second)
	defer lines.Stop()
	for {
		select {
		case <-show.C:
			scr.show(statusLine(r.Snapshot()))
		case <-lines.C:
			if asJSON {
				printJSON(a.stdout, newStatusJSON("running", r.Snapshot()))
			}
		case <-done:
			scr.printf("")
			return
		}
	}
}

// summary prints what came of a run.
func (a *app) summary(s *session, st *progress.State, res dispatch.Result, asJSON bool) {
	if asJSON {
		printJSON(a.stdout, newStatusJSON(res.Stop.String(), res.Snapshot))
		return
	}
	printRun(a.stdout, res.Snapshot, st)
	if h := res.Snapshot; h.Hedges > 0 {
		fmt.Fprintf(a.stdout, "slow answers asked for once more elsewhere: %d, of which the second copy was faster %d times; the slower copies cost at most %s\n",
			h.Hedges, h.HedgesWon, h.HedgeCost.Cents())
	}
	fmt.Fprintf(a.stdout, "\n%s", res.Stop)
	if res.Err != nil {
		fmt.Fprintf(a.stdout, ": %v", res.Err)
	}
	switch res.Stop {
	case dispatch.BudgetReached:
		fmt.Fprintf(a.stdout, "; raise budget in %s and run again to go on", s.job.File)
	case dispatch.Interrupted:
		fmt.Fprintf(a.stdout, "; run again to go on")
	case dispatch.Refused:
		fmt.Fprintf(a.stdout, "\nnothing that was paid for is lost; run again to go on")
	}
	fmt.Fprintf(a.stdout, "\nrun folder %s; next: eyrie export %s\n", s.job.Output, s.job.File)
}

// verdict turns the end of a run into an exit code.
func (s *session) verdict(res dispatch.Result) error {
	code := exitDone
	switch res.Stop {
	case dispatch.Exhausted:
		code = exitIncomplete
	case dispatch.BudgetReached:
		code = exitBudget
	case dispatch.Interrupted:
		code = exitInterrupted
	case dispatch.Refused:
		code = exitRefused
	case dispatch.Broken:
		code = exitFailed
		return &exitError{code, res.Err}
	}
	if code == exitDone {
		return nil
	}
	return &exitError{code: code}
}
