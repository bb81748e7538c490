package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/dataset"
	"github.com/eyrie-ai/eyrie/internal/durable"
)

type importFlags struct {
	out           string
	force         bool
	json          bool
	tokenizer     string
	layout        string
	format        string
	columns       map[string]string
	roles         map[string]string
	images        string
	maxRow        int
	languages     []string
	near          float64
	decontaminate []string
	sample        int
	shuffle       bool
	seed          int64
	validation    float64
}

func (a *app) importCmd() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Read prompt sets: what is in them, what is left out and why",
		Long: `import reads prompt sets as a run would and prints what it finds: rows read, kept
and left out, by reason and with the place of the first few; turns, tokens of the
prompts, languages, tools, texts that spell control tokens, licences. It spends
nothing and needs no job file.

A FILE is JSON Lines, a JSON array, CSV, TSV, plain text (.txt), Parquet or Arrow,
in gzip or zstd or not; or a folder or a quoted pattern of these, or a folder of
save_to_disk. How rows hold conversations is found out, or told with --layout and
--columns. A row that an earlier FILE has too is left out as a duplicate.

With --out the kept rows are written as JSON Lines of one layout, which a job file
can name as a data set. The file appears whole when all is read.

Tokens are estimated, and languages guessed by script and frequent words; with
--tokenizer tokens are counted with the model's own tokenizer and chat template,
and rows that spell its control tokens are left out, as they are in a run.`,
		Example: `  eyrie import prompts.jsonl
  eyrie import data/train-*.parquet --out prompts.jsonl
  eyrie import chats.csv --columns prompt=ask,answer=reply --tokenizer ./model
  eyrie import old.jsonl new.jsonl --near-duplicates 0.8 --decontaminate mt_bench.jsonl --out both.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &exitError{exitConfig, fmt.Errorf("%s wants one FILE or more; see %s --help", cmd.CommandPath(), cmd.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.importSets(cmd.Context(), args, f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "write the kept rows to this file")
	flags.BoolVar(&f.force, "force", false, "replace the file that --out names")
	flags.BoolVar(&f.json, "json", false, "print the account of each FILE as a line of JSON")
	flags.StringVar(&f.tokenizer, "tokenizer", "", "a model folder, to count tokens and find its control tokens")
	flags.StringVar(&f.layout, "layout", "auto", "how rows hold conversations: "+names(dataset.Layouts()))
	flags.StringVar(&f.format, "format", "auto", "how files hold rows, where the name does not say it: auto, csv, tsv, text")
	flags.StringToStringVar(&f.columns, "columns", nil, "columns of unusual names, as FIELD=COLUMN; fields are "+names(dataset.Fields()))
	flags.StringToStringVar(&f.roles, "roles", nil, "speakers of unusual names, as NAME=ROLE; roles are system, user, assistant, tool")
	flags.StringVar(&f.images, "images", "drop", "what becomes of images: drop the row, skip the image, or refuse the file")
	flags.IntVar(&f.maxRow, "max-row", dataset.DefaultMaxRow>>20, "the most megabytes of one row")
	flags.StringSliceVar(&f.languages, "languages", nil, "keep only rows in these languages, such as en,zh")
	flags.Float64Var(&f.near, "near-duplicates", 0, "leave out rows as alike as this to an earlier one, such as 0.8; 0 keeps them")
	flags.StringSliceVar(&f.decontaminate, "decontaminate", nil, "leave out rows that share text with the prompts in these files")
	flags.IntVar(&f.sample, "sample", 0, "keep this many rows of each FILE, drawn by --seed; 0 keeps all")
	flags.BoolVar(&f.shuffle, "shuffle", false, "give the rows of each FILE in an order drawn by --seed")
	flags.Int64Var(&f.seed, "seed", 0, "the seed of --sample and --shuffle")
	flags.Float64Var(&f.validation, "validation", 0, "the share of conversations whose split is validation; the others' is train")
	return cmd
}

// names lists names for help.
func names[T ~string](list []T) string {
	var out []string
	for _, n := range list {
		out = append(out, string(n))
	}
	return strings.Join(out, ", ")
}

// options turns flags into the options of a set.
func (f *importFlags) options() (dataset.Options, error) {
	opts := dataset.Options{
		Layout: dataset.Layout(f.layout), Format: f.format, Images: dataset.Images(f.images), MaxRow: f.maxRow << 20,
		Columns: map[dataset.Field]string{}, Roles: map[string]eyrie.Role{}, NearDuplicates: f.near,
		Sample: f.sample, Shuffle: f.shuffle, Seed: f.seed, Validation: f.validation,
		Keep: dataset.Keep{Languages: f.languages},
	}
	if f.maxRow < 1 || f.maxRow > 1<<14 {
		return opts, fmt.Errorf("--max-row %d: want megabytes from 1 to %d", f.maxRow, 1<<14)
	}
	for field, column := range f.columns {
		opts.Columns[dataset.Field(field)] = column
	}
	for name, role := range f.roles {
		opts.Roles[name] = eyrie.Role(role)
	}
	if f.tokenizer != "" {
		m, err := openModel(f.tokenizer)
		if err != nil {
			return opts, err
		}
		opts.Special, opts.Count = m.spellsSpecial, m.countPrompt
	}
	var err error
	opts.Evaluation, err = readEvaluation(f.decontaminate)
	return opts, err
}

// readEvaluation reads evaluation sets, if any are named.
func readEvaluation(paths []string) (*dataset.Evaluation, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	var sources []dataset.Source
	for _, p := range paths {
		sources = append(sources, dataset.Source{Set: setName(p), Path: p})
	}
	return dataset.ReadEvaluation(sources...)
}

// countPrompt counts the tokens of a conversation's prompt as the template
// renders it, without what the assistant says between its turns.
func (m *modelFolder) countPrompt(p *eyrie.Prompt) (int, error) {
	messages := slices.Clone(p.Messages)
	if last := len(messages) - 1; messages[last].Role == eyrie.Assistant {
		messages = messages[:last]
	}
	for i := range messages {
		if messages[i].Role == eyrie.Assistant && !p.Given {
			messages[i].Content, messages[i].Reasoning = "", ""
		}
	}
	ids, err := m.rebuilder.Prompt(nil, chat.Conversation{Messages: messages, Tools: p.Tools, Thinking: true})
	return len(ids), err
}

// setName names a set after its file.
func setName(path string) string {
	name := filepath.Base(path)
	if i := strings.IndexByte(name, '.'); i > 0 {
		name = name[:i]
	}
	return name
}

func (a *app) importSets(ctx context.Context, paths []string, f importFlags) error {
	opts, err := f.options()
	if err != nil {
		return &exitError{exitConfig, err}
	}
	sets, err := openImports(paths, opts)
	defer closeSets(sets)
	if err != nil {
		return &exitError{exitConfig, err}
	}
	if f.out == "" {
		err = importInto(ctx, sets, io.Discard)
	} else {
		err = writeImport(ctx, sets, f)
	}
	if err != nil {
		return err
	}
	for _, s := range sets {
		r := s.Report()
		if f.json {
			err = printJSON(a.stdout, &importJSON{r, r.Lost(), r.LossRate()})
		} else {
			printImport(a.stdout, &r)
		}
		if err != nil {
			return err
		}
		if r.LossRate() > acceptedLoss {
			fmt.Fprintf(a.stderr, "%s\n", lossText(&r, acceptedLoss))
		}
	}
	if f.out != "" && !f.json {
		fmt.Fprintf(a.stdout, "written to %s\n", f.out)
	}
	return nil
}

// openImports opens each file as a set that comes after those before it.
func openImports(paths []string, opts dataset.Options) ([]*dataset.Set, error) {
	var sets []*dataset.Set
	var errs []error
	for _, p := range paths {
		opts.After = slices.Clone(sets)
		s, err := dataset.Open(dataset.Source{Set: setName(p), Path: p}, opts)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sets = append(sets, s)
	}
	return sets, errors.Join(errs...)
}

// importInto reads all sets and writes what is kept in the normal form.
func importInto(ctx context.Context, sets []*dataset.Set, w io.Writer) error {
	var line []byte
	for _, s := range sets {
		for p, err := range s.Prompts() {
			if err != nil {
				return &exitError{exitConfig, err}
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if w == io.Discard {
				continue
			}
			if line, err = dataset.AppendNormal(line[:0], p); err != nil {
				return err
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeImport writes the file that --out names, whole or not at all.
func writeImport(ctx context.Context, sets []*dataset.Set, f importFlags) error {
	switch ext := filepath.Ext(f.out); ext {
	case ".gz", ".zst", ".parquet", ".arrow", ".csv":
		return &exitError{exitConfig, fmt.Errorf("--out %s: what is written is JSON Lines; give the file a name that ends in .jsonl", f.out)}
	}
	if info, err := os.Stat(f.out); err == nil && info.IsDir() {
		return &exitError{exitConfig, fmt.Errorf("--out %s: is a folder; name a file in it", f.out)}
	} else if err == nil && !f.force {
		return &exitError{exitConfig, fmt.Errorf("--out %s: is there already; name another file, or say --force to replace it", f.out)}
	}
	root, err := os.OpenRoot(filepath.Dir(f.out))
	if errors.Is(err, fs.ErrNotExist) {
		return &exitError{exitConfig, fmt.Errorf("--out %s: there is no folder %s", f.out, filepath.Dir(f.out))}
	}
	if err != nil {
		return err
	}
	defer root.Close()
	return durable.WriteFile(root, filepath.Base(f.out), func(w io.Writer) error {
		bw := bufio.NewWriterSize(w, 1<<20)
		if err := importInto(ctx, sets, bw); err != nil {
			return err
		}
		return bw.Flush()
	})
}

// printImport prints an account for people.
func printImport(w io.Writer, r *dataset.Report) {
	fmt.Fprint(w, r)
	if len(r.Files) > 1 {
		for _, f := range r.Files {
			fmt.Fprintf(w, "  %s: %d of %d rows kept, %s, layout %s\n", f.Path, f.Kept, f.Rows, f.Format, f.Layout)
		}
	} else {
		fmt.Fprintf(w, "  format %s, %s\n", r.Files[0].Format, sizeText(r.Bytes))
	}
	if len(r.Passed) > 0 {
		fmt.Fprintf(w, "  passed over, holds no rows: %s\n", strings.Join(firstFew(r.Passed), ", "))
	}
	c := &r.Content
	about := "about "
	if c.Exact {
		about = ""
	}
	fmt.Fprintf(w, "  prompt tokens: %s%s, the longest prompt %s%s\n", about, short(c.Tokens), about, short(int64(c.MaxTokens)))
	printCounts(w, "languages", c.Languages)
	if c.Tools+c.Calls+c.Results > 0 {
		fmt.Fprintf(w, "  tools: %d rows declare them; %d calls, %d results\n", c.Tools, c.Calls, c.Results)
	}
	if c.Systems+c.Reasoning > 0 {
		fmt.Fprintf(w, "  system prompts: %d rows; answers that reason: %d rows\n", c.Systems, c.Reasoning)
	}
	if c.Images > 0 {
		fmt.Fprintf(w, "  images left out of kept rows: %d\n", c.Images)
	}
	printCounts(w, "licences", c.Licences)
	printCounts(w, "sources", c.Sources)
	printCounts(w, "categories", c.Categories)
	printCounts(w, "splits", c.Splits)
	for _, l := range slices.Sorted(maps.Keys(c.Literals)) {
		n := c.Literals[l]
		fmt.Fprintf(w, "  spells %s: %d rows, first %s\n", l, n.N, n.Examples[0])
	}
}

// firstFew shortens a list for a line.
func firstFew(list []string) []string {
	const few = 5
	if len(list) <= few {
		return list
	}
	return append(slices.Clone(list[:few]), fmt.Sprintf("and %d more", len(list)-few))
}

// printCounts prints what was counted, the most frequent first.
func printCounts(w io.Writer, what string, m map[string]int) {
	if len(m) == 0 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if m[a] != m[b] {
			return m[b] - m[a]
		}
		return strings.Compare(a, b)
	})
	const most = 12
	var parts []string
	for _, k := range keys[:min(most, len(keys))] {
		parts = append(parts, fmt.Sprintf("%s %d", plainLine(k), m[k]))
	}
	if len(keys) > most {
		parts = append(parts, fmt.Sprintf("and %d more", len(keys)-most))
	}
	fmt.Fprintf(w, "  %s: %s\n", what, strings.Join(parts, ", "))
}

// plainLine makes text from a file fit a line.
func plainLine(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// sizeText prints a number of bytes.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
}
