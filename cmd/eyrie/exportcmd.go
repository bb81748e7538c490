package main

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/export"
	"github.com/eyrie-ai/eyrie/harvest"
	"github.com/eyrie-ai/eyrie/tokens"
)

type exportFlags struct {
	out       string
	tokenizer string
	include   []string
	confident float64
	force     bool
}

func (a *app) exportCmd() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run's rows for a trainer",
		Long: `export writes, for every data set of a run, train.jsonl with id, input_ids and
loss_mask (one row a generation), meta.jsonl with everything else line by line,
refused.jsonl with what was left out and why, and manifest.json with digests and
counts. RUN is a run folder or a job file. It works while the run goes on.

Rows are exported whose ids are certain: from the engine, from token bytes, or
re-tokenised with both counts equal to the bill. --include asks for others.

What each lane does to its answers (whether it trims white space, say) is learned
from a sample of them first, and stands in the manifest. A row that needs an
assumption is certified when it is --confident in it; less certifies more rows
and more wrong ones. eyrie tokens explain says why a row has its class.`,
		Example: `  eyrie export job.yaml
  eyrie export runs/first --out rows --include engine,logprobs,counted,retokenised
  eyrie export runs/first --out rows --confident 0.5`,
		Args: exactArgs("RUN"),
		RunE: func(_ *cobra.Command, args []string) error { return a.export(args[0], f) },
	}
	cmd.Flags().StringVar(&f.out, "out", "", "the folder to write to (default RUN/export)")
	cmd.Flags().StringVar(&f.tokenizer, "tokenizer", "", "the model folder (default the one the run used)")
	cmd.Flags().StringSliceVar(&f.include, "include", nil, "classes of ids to export: engine, logprobs, counted, retokenised, mismatch")
	cmd.Flags().Float64Var(&f.confident, "confident", tokens.Confidence, "how sure a row of text must be to be certified, above 0 and up to 1")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace an export that has more rows")
	return cmd
}

func (a *app) export(arg string, f exportFlags) error {
	opts := export.Options{Force: f.force}
	for _, name := range f.include {
		var k eyrie.Known
		if err := k.UnmarshalText([]byte(name)); err != nil {
			return &exitError{exitConfig, fmt.Errorf("--include: %w; want engine, logprobs, counted, retokenised or mismatch", err)}
		}
		opts.Include = append(opts.Include, k)
	}
	if err := checkConfident(f.confident); err != nil {
		return err
	}
	root, man, err := a.findRun(arg)
	if err != nil {
		return err
	}
	defer root.Close()
	model, err := openRunModel(man, f.tokenizer)
	if err != nil {
		return err
	}
	opts.Run = export.RunInfo{
		Program: "eyrie " + programVersion(), Model: man.Frozen.Model, Template: model.template.Family(),
		TokenizerDigest: man.Frozen.Tokenizer, TemplateDigest: man.Frozen.Template, Confidence: f.confident,
	}
	h, err := harvest.Open(root)
	if err != nil {
		return err
	}
	lanes, err := surveyLanes(h, model.rebuilder.Confident(f.confident), h.Lanes())
	if err != nil {
		return err
	}
	opts.Surveys = lanes.surveys()
	dest, dir, err := exportTo(root, f.out)
	if err != nil {
		return err
	}
	defer dest.Close()
	var done []*export.Manifest
	for _, set := range h.Sets() {
		m, err := export.JSONL(dest, path.Join(dir, set), set, exportRows(h, set, lanes), opts)
		if err != nil {
			return err
		}
		done = append(done, m)
	}
	printExport(a.stdout, filepath.Join(dest.Name(), dir), done)
	return nil
}

func checkConfident(p float64) error {
	if p > 0 && p <= 1 {
		return nil
	}
	return &exitError{exitConfig, fmt.Errorf("--confident %v: want a number above 0 and up to 1", p)}
}

// openRunModel opens the model folder of a run, or the one named instead, and
// makes sure that it is the same model.
func openRunModel(man *runManifest, instead string) (*modelFolder, error) {
	model, err := openModel(cmpOr(instead, man.Folder))
	if err != nil {
		return nil, &exitError{exitConfig, fmt.Errorf("%w (name the model folder with --tokenizer)", err)}
	}
	if got := model.tokenizer.Digest(); got != man.Frozen.Tokenizer {
		return nil, &exitError{exitConfig, fmt.Errorf("tokenizer: the run was made with %s and this folder has %s", man.Frozen.Tokenizer, got)}
	}
	if got := model.template.Digest(); got != man.Frozen.Template {
		return nil, &exitError{exitConfig, fmt.Errorf("chat template: the run was made with %s and this folder has %s", man.Frozen.Template, got)}
	}
	return model, nil
}

// exportTo opens the folder that holds the exports.
func exportTo(run *os.Root, out string) (*os.Root, string, error) {
	if out == "" {
		r, err := run.OpenRoot(".")
		return r, exportDir, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, "", err
	}
	r, err := os.OpenRoot(out)
	return r, ".", err
}

// exportRows turns harvested items into export rows.
func exportRows(h *harvest.Harvest, set string, lanes surveyedLanes) iter.Seq2[*export.Row, error] {
	return func(yield func(*export.Row, error) bool) {
		for it, err := range h.RowsByLane(set, lanes.rebuilder) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(exportRow(it), nil) {
				return
			}
		}
	}
}

func exportRow(it *harvest.Item) *export.Row {
	g, r := &it.Generation, it.Record
	return &export.Row{
		ID: it.ID(), IDs: it.Row, Err: it.Err,
		Meta: export.Meta{
			Set: g.Set, Prompt: g.PromptID, Turn: g.Turn, Sample: g.Sample, Key: g.Key, FinishReason: r.FinishReason,
			Model: r.Model, Provider: r.Provider, Lane: r.Lane, GenerationID: r.ID, Cost: r.Cost, Charged: r.Charged,
			Usage: r.Usage, Sampling: it.Sampling, TTFTMS: r.FirstContentMS, ElapsedMS: r.ElapsedMS,
		},
	}
}

func printExport(w io.Writer, dir string, sets []*export.Manifest) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "DATA SET\tROWS\tTOKENS\tSUPERVISED\tIDS KNOWN BY\tLEFT OUT\tFILE\n")
	for _, m := range sets {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", m.Set, m.Rows, short(m.Tokens), short(m.SupervisedTokens),
			counts(m.Known), cmpOr(counts(m.RefusedKnown), "none"), filepath.Join(dir, m.Set, "train.jsonl"))
	}
	t.Flush()
}

func counts(m map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
