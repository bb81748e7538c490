package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/internal/config"
	"github.com/eyrie-ai/eyrie/internal/spell"
	"github.com/eyrie-ai/eyrie/route"
)

type providersFlags struct {
	catalogue string
	json      bool
}

func (a *app) providersCmd() *cobra.Command {
	var f providersFlags
	cmd := &cobra.Command{
		Use:   "providers MODEL|JOB",
		Short: "List a model's endpoints, and what the policy says of each",
		Long: `providers prints every endpoint of a model with its prices in dollars per million
tokens, its limits and its health, the request parameters it lacks, and whether
it may answer, with the reason why not. With a job file the job's policy
decides; with a model alone, its native precision does, where that is known.

The lists are public: a key is sent when there is one and not asked for. With
--catalogue a saved list is read instead: a model's endpoints, as a run keeps
them in its catalogue folder, or a whole snapshot, gzipped or not.

Exit code 2 says that nobody may answer.`,
		Example: `  eyrie providers moonshotai/kimi-k2.5
  eyrie providers job.yaml --json | jq 'select(.allowed).tag'
  eyrie providers job.yaml --catalogue runs/kimi/catalogue/20260822T230119.000Z-openrouter.json`,
		Args: exactArgs("MODEL|JOB"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.providers(cmd.Context(), args[0], f) },
	}
	cmd.Flags().StringVar(&f.catalogue, "catalogue", "", "read this saved catalogue instead of the vendor's")
	cmd.Flags().BoolVar(&f.json, "json", false, "print a line of JSON an endpoint")
	return cmd
}

func (a *app) providers(ctx context.Context, what string, f providersFlags) error {
	job, err := a.jobOrModel(what)
	if err != nil {
		return err
	}
	s := &session{job: job}
	defer s.close()
	for _, e := range job.Engines {
		if err := a.joinPublic(ctx, s, e, f.catalogue); err != nil {
			return err
		}
	}
	if f.json {
		err = printVerdictLines(a.stdout, s)
	} else {
		printVerdicts(a.stdout, a.width(), s)
	}
	if err == nil && len(s.lanes()) == 0 {
		err = &exitError{exitConfig, s.nobody()} // the reasons stand above
	}
	return err
}

// jobOrModel reads a job file, or makes a job of nothing but a model.
func (a *app) jobOrModel(what string) (*config.Job, error) {
	_, err := os.Stat(what)
	isFile := err == nil || strings.HasSuffix(what, ".yaml") || strings.HasSuffix(what, ".yml")
	if isFile || !strings.Contains(what, "/") {
		return config.Load(what, a.env())
	}
	o := &config.OpenRouter{BaseURL: config.DefaultBaseURL}
	if _, known := route.Native(what); !known {
		fmt.Fprintf(a.stderr, "note: the native precision of %s is not known here, so every quantization is let in\n", what)
		o.Quantization.Rule = config.Any
	}
	return &config.Job{
		File: what, Model: what, Sampling: eyrie.Sampling{MaxTokens: 1, Thinking: true}, Concurrency: 1,
		Engines: []config.Engine{{Name: "openrouter", OpenRouter: o}},
	}, nil
}

// joinPublic adds an engine as far as it can be known without a key.
func (a *app) joinPublic(ctx context.Context, s *session, e config.Engine, file string) error {
	if e.Local != nil {
		return a.joinLocal(ctx, s, e)
	}
	if file != "" {
		src, err := openSaved(file)
		if err != nil {
			return &exitError{exitConfig, err}
		}
		return a.describe(ctx, s, e, nil, src)
	}
	var key config.Key
	if e.OpenRouter.KeyFile != "" || a.getenv(config.KeyVariable) != "" {
		var err error
		if key, err = e.OpenRouter.Key(a.env()); err != nil {
			return &exitError{exitConfig, err}
		}
	}
	client, err := newClient(s.job, e.OpenRouter, key)
	if err != nil {
		return err
	}
	return a.describe(ctx, s, e, client, client)
}

// describe joins an engine and adds what the list of models says: that the
// model will be taken down.
func (a *app) describe(ctx context.Context, s *session, e config.Engine, client *openrouter.Client, src source) error {
	joinErr := a.join(ctx, s, e, client, src)
	models, err := src.Models(ctx)
	if err != nil {
		return cmp.Or(joinErr, err)
	}
	i := slices.IndexFunc(models, func(m openrouter.Model) bool { return m.ID == s.job.Model || m.Canonical == s.job.Model })
	if i >= 0 && models[i].Expires != "" {
		fmt.Fprintf(a.stderr, "note: %s will be taken down: %s\n", s.job.Model, models[i].Expires)
	}
	return joinErr
}

// didYouMean names the models that come nearest to a name.
func didYouMean(name string, models []openrouter.Model) string {
	slices.SortFunc(models, func(a, b openrouter.Model) int { return spell.Distance(name, a.ID) - spell.Distance(name, b.ID) })
	var near []string
	for _, m := range models[:min(3, len(models))] {
		if spell.Distance(name, m.ID) <= max(2, len(name)/3) {
			near = append(near, m.ID)
		}
	}
	if near == nil {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", ") + "?"
}

// ordered are the session's verdicts: the lanes that may answer in order of
// preference, then the others in the vendor's order.
func (s *session) ordered() []route.Verdict {
	var out []route.Verdict
	for _, l := range s.lanes() {
		out = append(out, s.catalogue[slices.IndexFunc(s.catalogue, func(v route.Verdict) bool { return v.Lane == l })])
	}
	for _, v := range s.catalogue {
		if !v.Allowed {
			out = append(out, v)
		}
	}
	return out
}

// verdictHead are the columns of the table of endpoints.
var verdictHead = []string{
	"PROVIDER", "TAG", "QUANT", "IN $/M", "OUT $/M", "CACHE $/M", "CONTEXT", "MAX OUT", "STATUS", "UPTIME", "TOK/S", "TTFT", "LACKS", "VERDICT",
}

// printVerdicts prints the endpoints as a table, or one below the other where
// that is wider than lines may be. A width of 0 is no bound.
func printVerdicts(w io.Writer, width int, s *session) {
	rows := [][]string{}
	for _, v := range s.ordered() {
		l := v.Lane
		rows = append(rows, []string{
			l.Provider, l.Tag, precisionCell(&v), perMillion(l.PromptPrice), perMillion(l.OutputPrice), perMillion(l.CachedPrice),
			countCell(l.Context), countCell(l.MaxOutput), statusCell(l.Health), uptimeCell(l.Health), rateCell(l.Health), latencyCell(l.Health),
			strings.Join(v.Lacks, " "), verdictCell(&v),
		})
	}
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	for _, row := range append([][]string{verdictHead}, rows...) {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush()
	if width > 0 && widest(table.String()) > width {
		printCards(w, width, verdictHead, rows)
	} else {
		fmt.Fprint(w, table.String())
	}
	for _, v := range s.ordered() {
		if v.Claim != nil && v.Claim.Note != "" {
			fmt.Fprintf(w, "%s is %s by the job file: %s\n", v.Lane.Tag, v.Claim.Label, v.Claim.Note)
		}
	}
	for _, l := range s.locals {
		fmt.Fprintf(w, "%s is yours: %s\n", l.lane.Tag, l.describe())
	}
	fmt.Fprintf(w, "%d of %d may answer\n", len(s.lanes()), len(s.catalogue))
}

// none stands for what is not given.
const none = "–"

// precisionCell marks what the user says, and keeps the label beside it.
func precisionCell(v *route.Verdict) string {
	if v.Claim == nil {
		return cmp.Or(v.Lane.Quantization, none)
	}
	return fmt.Sprintf("%s (yours; listed %s)", v.Claim.Label, v.Lane.Quantization)
}

func countCell(n int) string {
	if n <= 0 {
		return none
	}
	return fmt.Sprint(n)
}

func statusCell(h eyrie.Health) string {
	if h.Status == nil {
		return none
	}
	return fmt.Sprint(*h.Status)
}

func uptimeCell(h eyrie.Health) string {
	if h.Uptime == nil {
		return none
	}
	return fmt.Sprintf("%.1f%%", *h.Uptime)
}

func rateCell(h eyrie.Health) string {
	if h.Throughput <= 0 {
		return none
	}
	return fmt.Sprintf("%.0f", h.Throughput)
}

func latencyCell(h eyrie.Health) string {
	if h.Latency <= 0 {
		return none
	}
	return fmt.Sprintf("%.1fs", h.Latency.Seconds())
}

func verdictCell(v *route.Verdict) string {
	if !v.Allowed {
		return "out: " + v.Reason
	}
	text := "may answer"
	if v.Preferred > 0 {
		text += ", preferred"
	}
	if slices.ContainsFunc(v.Lane.Tiers, func(t eyrie.Tier) bool { return t.MinPrompt > 0 }) {
		text += "; long prompts have other prices"
	}
	if slices.ContainsFunc(v.Lane.Tiers, func(t eyrie.Tier) bool { return !t.Hours.All() }) {
		text += "; its prices change with the hour (UTC)"
	}
	if !v.Lane.WritePrice.IsZero() {
		text += "; $" + perMillion(v.Lane.WritePrice) + "/M to write to its cache"
	}
	if v.Lane.ReasoningPrice.Known() {
		text += "; $" + perMillion(v.Lane.ReasoningPrice) + "/M for what is reasoning"
	}
	if !v.Lane.RequestPrice.IsZero() {
		text += "; " + v.Lane.RequestPrice.Times(1).String() + " a request on top"
	}
	if v.Lane.Overruns {
		text += "; overruns max_tokens: its maximum is held"
	}
	return text
}
