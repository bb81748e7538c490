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
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/export"
	"github.com/eyrie-ai/eyrie/harvest"
	"github.com/eyrie-ai/eyrie/internal/durable"
	"github.com/eyrie-ai/eyrie/internal/spell"
	"github.com/eyrie-ai/eyrie/tokens"
)

type exportFlags struct {
	format     string
	out        string
	tokenizer  string
	lanes      []string
	include    []string
	confident  float64
	shardSize  string
	shardRows  int
	draftVocab int
	vocab      int
	verify     bool
	force      bool
}

// draftVocab is the size of the draft vocabulary that EAGLE-3 recipes use.
const draftVocab = 32_000

func (a *app) exportCmd() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export RUN",
		Short: "Write a run's rows for a trainer",
		Long: `export writes, for every data set of a run, a folder with the rows as one trainer
loads them, meta.jsonl with everything else line by line, refused.jsonl with what
was left out and why, token_freq.json, a data set card (README.md), and
manifest.json with digests and counts. RUN is a run folder or a job file. It works
while the run goes on, and the same rows give the same bytes.

A row is one generation. Formats made of ids carry input_ids and loss_mask, masks
not shifted. Formats made of messages are for trainers that tokenise themselves;
what a trainer would make something else of than the model saw is left out.

` + formatTable() + `
Rows are exported whose ids are certain: from the engine, from token bytes, or
re-tokenised with both counts equal to the bill. --include asks for others; in
formats made of messages also for text, which are answers without ids.

What each lane does to its answers (whether it trims white space, say) is learned
from a sample of them first, and stands in the manifest. A row that needs an
assumption is certified when it is --confident in it; less certifies more rows
and more wrong ones. eyrie tokens explain says why a row has its class.

An export that has more rows is not replaced without --force. --verify writes
nothing: it reads an export again, renders and tokenises every prompt anew and
decodes every answer, and shows the first difference.`,
		Example: `  eyrie export job.yaml
  eyrie export job.yaml --for parquet --shard-size 1GB
  eyrie export job.yaml --for arrow --draft-vocab 32000
  eyrie export job.yaml --for torchspec --out rows
  eyrie export job.yaml --for parquet --verify
  eyrie export job.yaml --lane sglang --out own-servers
  eyrie export runs/first --out rows --include engine,logprobs,counted,retokenised`,
		Args: exactArgs("RUN"),
		RunE: func(_ *cobra.Command, args []string) error { return a.export(args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.format, "for", export.Default().Name, "the trainer: one of the formats above")
	fl.StringVar(&f.out, "out", "", "the folder to write to (default RUN/export, or RUN/export-FORMAT)")
	fl.StringVar(&f.tokenizer, "tokenizer", "", "the model folder (default the one the run used)")
	fl.StringSliceVar(&f.include, "include", nil, "classes of ids to export: engine, logprobs, counted, retokenised, mismatch; and text")
	fl.StringSliceVar(&f.lanes, "lane", nil, "only rows made on these lanes, such as sglang or atlas-cloud/int4 (name another --out to keep the others beside them)")
	fl.Float64Var(&f.confident, "confident", tokens.Confidence, "how sure a row of text must be to be certified, above 0 and up to 1")
	fl.StringVar(&f.shardSize, "shard-size", "", "the most a file of rows holds, such as 500MB (default 500MB for parquet and arrow, else no limit)")
	fl.IntVar(&f.shardRows, "shard-rows", 0, "the most rows in a file (default no limit)")
	fl.IntVar(&f.draftVocab, "draft-vocab", draftVocab, "size of the draft vocabulary in d2t.npy and t2d.npy; 0 writes none")
	fl.IntVar(&f.vocab, "vocab-size", 0, "the target model's vocab_size, where it is more than its tokenizer has")
	fl.BoolVar(&f.verify, "verify", false, "check an export instead of writing it")
	fl.BoolVar(&f.force, "force", false, "replace an export that has more rows, or of another format")
	return cmd
}

// formatTable lists the formats for help.
func formatTable() string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "  --for\tLOADED BY\tGIVE IT\n")
	for _, f := range export.Formats() {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", f.Name, f.Loader, f.Hand)
	}
	t.Flush()
	b.WriteString("\nA row of each:\n\n")
	for _, f := range export.Formats() {
		fmt.Fprintf(&b, "  %s\n    %s\n", f.Name, f.Example)
	}
	return b.String()
}

// findFormat finds a format by its name, or suggests one.
func findFormat(name string) (*export.Format, error) {
	f, err := export.Lookup(name)
	if err == nil {
		return f, nil
	}
	near := slices.MinFunc(export.Names(), func(a, b string) int { return spell.Distance(name, a) - spell.Distance(name, b) })
	if spell.Distance(name, near) <= max(2, len(near)/3) {
		err = fmt.Errorf("%w (did you mean %s?)", err, near)
	}
	return nil, &exitError{exitConfig, fmt.Errorf("--for: %w", err)}
}

// options checks the flags, all that can be checked without the run.
func (f *exportFlags) options() (export.Options, error) {
	opts := export.Options{Force: f.force, ShardRows: f.shardRows, DraftVocab: f.draftVocab}
	bad := func(format string, args ...any) (export.Options, error) {
		return opts, &exitError{exitConfig, fmt.Errorf(format, args...)}
	}
	var err error
	if opts.Format, err = findFormat(f.format); err != nil {
		return opts, err
	}
	for _, name := range f.include {
		var k eyrie.Known
		if name == "text" {
			opts.Text = true
		} else if err := k.UnmarshalText([]byte(name)); err != nil {
			return bad("--include: %w; want engine, logprobs, counted, retokenised, mismatch or text", err)
		} else {
			opts.Include = append(opts.Include, k)
		}
	}
	if opts.Text && !opts.Format.Conversations() {
		return bad("--include text: rows without ids cannot be exported for %s, which is made of ids", opts.Format.Name)
	}
	if opts.Text && opts.Include == nil {
		opts.Include = []eyrie.Known{}
	}
	if f.shardSize != "" {
		if opts.ShardBytes, err = parseSize(f.shardSize); err != nil {
			return bad("--shard-size: %w", err)
		}
	}
	if f.shardRows < 0 {
		return bad("--shard-rows %d: want 1 or more", f.shardRows)
	}
	if f.draftVocab < 0 || f.vocab < 0 {
		return bad("--draft-vocab %d, --vocab-size %d: want no less than 0", f.draftVocab, f.vocab)
	}
	return opts, checkConfident(f.confident)
}

// sizeUnits are the units of sizes, longer ones before those they end in.
var sizeUnits = []struct {
	name  string
	bytes int64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"b", 1}}

func parseSize(s string) (int64, error) {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(strings.ToLower(s), u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(v > 0) || v*float64(u.bytes) > 1<<62 || v*float64(u.bytes) < 1 {
			break
		}
		return int64(v * float64(u.bytes)), nil
	}
	return 0, fmt.Errorf("%q is no size: want a number and B, kB, MB, GB, KiB, MiB or GiB, such as 500MB", s)
}

func (a *app) export(arg string, f exportFlags) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	root, man, model, err := a.findRunModel(arg, f.tokenizer)
	if err != nil {
		return err
	}
	defer root.Close()
	size := model.tokenizer.VocabSize()
	if f.vocab > 0 && f.vocab < size {
		return &exitError{exitConfig, fmt.Errorf("--vocab-size %d: the tokenizer has %d ids", f.vocab, size)}
	}
	opts.VocabSize, opts.Decode = max(size, f.vocab), model.tokenizer.Decode
	opts.Thinks = man.Frozen.thinks() || model.reasons()
	opts.Run = export.RunInfo{
		Program: "eyrie " + programVersion(), Model: man.Frozen.Model, Template: model.template.Family(),
		TokenizerDigest: man.Frozen.Tokenizer, TemplateDigest: man.Frozen.Template, Confidence: f.confident,
	}
	h, err := harvest.Open(root)
	if err != nil {
		return err
	}
	only, err := pickLanes(h.Lanes(), f.lanes)
	if err != nil {
		return err
	}
	lanes, err := surveyLanes(h, model.rebuilder.Confident(f.confident), h.Lanes())
	if err != nil {
		return err
	}
	opts.Surveys = lanes.surveys()
	if only != nil {
		maps.DeleteFunc(opts.Surveys, func(name string, _ export.Survey) bool { return !slices.Contains(only, name) })
	}
	dest, dir, err := exportTo(root, f.out, opts.Format)
	if err != nil {
		return err
	}
	defer dest.Close()
	if f.verify {
		return a.verifyExport(dest, dir, h, lanes, only, model, opts)
	}
	var done []*export.Manifest
	for _, set := range h.Sets() {
		m, err := export.Write(dest, path.Join(dir, set), set, exportRows(h, set, lanes, only), opts)
		if err != nil {
			return durable.Explain(err)
		}
		done = append(done, m)
	}
	printExport(a.stdout, filepath.Join(dest.Name(), dir), done)
	for _, m := range done {
		if man.removed(m.Set) {
			fmt.Fprintf(a.stdout, "%s is not in the job file any more; what was bought for it is exported all the same\n", m.Set)
		}
	}
	return nil
}

// pickLanes returns the lanes of a run that are named, by their tags or by what
// stands before the slash in them; nil when none is, which means all.
func pickLanes(lanes, names []string) ([]string, error) {
	var only []string
	for _, name := range names {
		found := false
		for _, l := range lanes {
			if slug, _, _ := strings.Cut(l, "/"); l == name || slug == name {
				only, found = append(only, l), true
			}
		}
		if !found {
			return nil, &exitError{exitConfig, fmt.Errorf("--lane %s: the run has no answers of it, only of %s", name, strings.Join(lanes, ", "))}
		}
	}
	return only, nil
}

func checkConfident(p float64) error {
	if p > 0 && p <= 1 {
		return nil
	}
	return &exitError{exitConfig, fmt.Errorf("--confident %v: want a number above 0 and up to 1", p)}
}

// findRunModel opens the run directory that an argument means, and its model.
func (a *app) findRunModel(arg, instead string) (*os.Root, *runManifest, *modelFolder, error) {
	root, man, err := a.findRun(arg)
	if err != nil {
		return nil, nil, nil, err
	}
	model, err := openRunModel(man, instead)
	if err != nil {
		root.Close()
		return nil, nil, nil, err
	}
	return root, man, model, nil
}

// openRunModel opens the model folder of a run, or the one named instead, and
// makes sure that it is the same model.
func openRunModel(man *runManifest, instead string) (*modelFolder, error) {
	folder := cmpOr(instead, man.Folder)
	model, err := openModel(folder)
	if err != nil {
		return nil, &exitError{exitConfig, fmt.Errorf("%w (name the model folder with --tokenizer)", err)}
	}
	for _, v := range []struct{ what, was, is string }{
		{"tokenizer", man.Frozen.Tokenizer, model.tokenizer.Digest()},
		{"chat template", man.Frozen.Template, model.template.Digest()},
	} {
		if v.is != v.was {
			return nil, &exitError{exitConfig, fmt.Errorf("%s: the run was made with one of digest %s, and %s has one of %s; name the folder that the run was made with by --tokenizer",
				v.what, v.was, folder, v.is)}
		}
	}
	return model, nil
}

// thinks reports whether some of the run's answers are asked to reason.
func (f *frozen) thinks() bool {
	part := func(p eyrie.Part) bool { return bool(p.Sampling.Thinking) }
	return bool(f.Sampling.Thinking) || f.Mix != nil && slices.ContainsFunc(f.Mix.Parts, part)
}

// reasons reports whether the model's answers can have reasoning in them. Some
// have it although they were asked not to.
func (m *modelFolder) reasons() bool {
	a, ok := m.template.(chat.Answerer)
	return ok && a.Answer().ReasoningEnd != ""
}

// exportTo opens the folder that holds the exports.
func exportTo(run *os.Root, out string, format *export.Format) (*os.Root, string, error) {
	if out == "" {
		dir := exportDir
		if format != export.Default() {
			dir += "-" + format.Name
		}
		r, err := run.OpenRoot(".")
		return r, dir, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, "", err
	}
	r, err := os.OpenRoot(out)
	return r, ".", err
}

// exportRows turns harvested items into export rows.
// exportRows are a set's rows, of the lanes that only names; nil names all.
func exportRows(h *harvest.Harvest, set string, lanes surveyedLanes, only []string) iter.Seq2[*export.Row, error] {
	return func(yield func(*export.Row, error) bool) {
		for it, err := range h.RowsByLane(set, lanes.rebuilder) {
			if err != nil {
				yield(nil, err)
				return
			}
			if only != nil && !slices.Contains(only, it.Record.Lane) {
				continue
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
		Messages: g.Messages, Tools: g.Tools,
		Answer: eyrie.Message{Role: eyrie.Assistant, Content: r.Content, Reasoning: r.Reasoning, ToolCalls: r.ToolCalls},
		Meta: export.Meta{
			Set: g.Set, Prompt: g.PromptID, Turn: g.Turn, Sample: g.Sample, Key: g.Key, FinishReason: r.FinishReason,
			Model: r.Model, Provider: r.Provider, Lane: r.Lane, GenerationID: r.ID, Cost: r.Cost, Charged: r.Charged,
			Usage: r.Usage, Sampling: it.Sampling, TTFTMS: r.FirstContentMS, ElapsedMS: r.ElapsedMS,
			Split: it.Split, Origin: it.Origin,
		},
	}
}

func printExport(w io.Writer, dir string, sets []*export.Manifest) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "DATA SET\tROWS\tTOKENS\tSUPERVISED\tIDS KNOWN BY\tLEFT OUT\tFILE\n")
	for _, m := range sets {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", m.Set, m.Rows, short(m.Tokens), short(m.SupervisedTokens),
			counts(m.Known), cmpOr(counts(m.RefusedKnown), "none"), filepath.Join(dir, m.Set, m.Path()))
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
