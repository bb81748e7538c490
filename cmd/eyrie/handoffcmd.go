package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/export"
	"github.com/eyrie-ai/eyrie/handoff"
	"github.com/eyrie-ai/eyrie/internal/durable"
)

type handoffFlags struct {
	config    string
	exports   string
	out       string
	target    string
	tokenizer string
	rate      float64
	shardSize string
	draft     int
}

// handoffDir is the folder of a run that the hand-over is written to.
const handoffDir = "handoff"

func (a *app) handoffCmd() *cobra.Command {
	var f handoffFlags
	cmd := &cobra.Command{
		Use:   "handoff RUN",
		Short: "Write what training needs beside the rows",
		Long: `handoff takes the exported rows of a run and the target's config.json and writes
what comes next: how large the target's hidden states are and how long their
capture takes, a draft vocabulary over all data sets, the configuration of a
drafter, and the files and commands of SpecForge (online) and of vLLM speculators
(prepare_data and training). It checks that the config's vocabulary size and
special tokens are those of the tokenizer and the rows. RUN is a run folder or a
job file; export its rows first.

Exit code 2 says that the config does not agree with the rows. Everything is
written all the same, with what was found in README.md.`,
		Example: `  eyrie export job.yaml && eyrie handoff job.yaml
  eyrie handoff runs/first --config models/kimi-k2.5/config.json --rate 12000`,
		Args: exactArgs("RUN"),
		RunE: func(_ *cobra.Command, args []string) error { return a.handoff(args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "", "the target's config.json (default the one in the model folder)")
	fl.StringVar(&f.exports, "export", "", "the folder of exported token rows (default RUN/export)")
	fl.StringVar(&f.out, "out", "", "the folder to write to (default RUN/handoff)")
	fl.StringVar(&f.target, "target", "", "the target as the trainers are to load it (default the job's model)")
	fl.StringVar(&f.tokenizer, "tokenizer", "", "the model folder (default the one the run used)")
	fl.Float64Var(&f.rate, "rate", 10_000, "tokens a second that the target's server reads in a pass over the rows")
	fl.StringVar(&f.shardSize, "shard-size", "20GB", "how large a file of captured states is to be")
	fl.IntVar(&f.draft, "draft-vocab", draftVocab, "size of the draft vocabulary")
	return cmd
}

func (a *app) handoff(arg string, f handoffFlags) error {
	shard, err := parseSize(f.shardSize)
	if err != nil {
		return &exitError{exitConfig, fmt.Errorf("--shard-size: %w", err)}
	}
	if !(f.rate > 0) {
		return &exitError{exitConfig, fmt.Errorf("--rate %v: want tokens a second, above 0", f.rate)}
	}
	root, man, model, err := a.findRunModel(arg, f.tokenizer)
	if err != nil {
		return err
	}
	defer root.Close()
	config := cmpOr(f.config, filepath.Join(cmpOr(f.tokenizer, man.Folder), "config.json"))
	target, err := readConfig(config)
	if err != nil {
		return &exitError{exitConfig, err}
	}
	out, err := filepath.Abs(cmpOr(f.out, filepath.Join(root.Name(), handoffDir)))
	if err != nil {
		return err
	}
	x, err := readExports(cmpOr(f.exports, filepath.Join(root.Name(), exportDir)), out)
	if err != nil {
		return &exitError{exitConfig, err}
	}
	job := &handoff.Job{
		Model: target, Target: cmpOr(f.target, man.Frozen.Model), Name: filepath.Base(root.Name()),
		Rows: x.rows, Sizes: target.Capture(x.rows, shard, f.rate), DraftVocab: f.draft, Data: x.files,
		Problems: target.Check(model.tokenizer, x.highest(), model.ends()),
	}
	d2t, t2d, coverage, err := export.DraftFiles(x.counts, f.draft, max(target.Vocab, x.highest()+1)) // more only where Check has said so
	if err != nil {
		return &exitError{exitConfig, fmt.Errorf("--draft-vocab: %w", err)}
	}
	files, err := job.Files()
	if err != nil {
		return err
	}
	freq, err := json.Marshal(x.counts, json.Deterministic(true))
	if err != nil {
		return err
	}
	files = append(files, handoff.File{Name: "vocab/d2t.npy", Text: d2t}, handoff.File{Name: "vocab/t2d.npy", Text: t2d},
		handoff.File{Name: "vocab/token_freq.json", Text: append(freq, '\n')})
	if files, err = withSummary(files, job, coverage); err != nil {
		return err
	}
	if err := writeHandoff(out, files); err != nil {
		return durable.Explain(err)
	}
	printHandoff(a.stdout, out, job, coverage)
	if len(job.Problems) > 0 {
		return &exitError{code: exitConfig}
	}
	return nil
}

func readConfig(name string) (*handoff.Model, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: not there; take the target's config.json from where its weights are, and name it with --config", name)
	}
	if err != nil {
		return nil, err
	}
	m, err := handoff.ReadModel(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// ends are the tokens that end the model's answers, as far as its template
// tells.
func (m *modelFolder) ends() []int32 {
	a, ok := m.template.(chat.Answerer)
	if !ok {
		return nil
	}
	id, ok := m.tokenizer.Special(a.Answer().End)
	if !ok {
		return nil
	}
	return []int32{id}
}

// exports is what the exports of a run's data sets hold, taken together.
type exports struct {
	rows   handoff.Rows
	files  []string // of the train split, as seen from where they are handed over
	counts map[int32]int64
}

func (x *exports) highest() int {
	if len(x.counts) == 0 {
		return -1
	}
	return int(slices.Max(slices.Collect(maps.Keys(x.counts))))
}

// readExports reads the manifests of the exports in a folder.
func readExports(dir, from string) (*exports, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*", "manifest.json"))
	if err != nil {
		return nil, err
	}
	x := &exports{counts: map[int32]int64{}}
	for _, name := range names {
		if err := x.add(name, from); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if x.rows.Rows == 0 {
		return nil, fmt.Errorf("%s: no exported rows of token ids there; write them with eyrie export first", dir)
	}
	return x, nil
}

func (x *exports) add(name, from string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var m export.Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	if m.Format != export.Default().Name && m.Format != "" {
		return fmt.Errorf("it is an export for %s; the trainers are handed the rows of eyrie export without --for", m.Format)
	}
	dir := filepath.Dir(name)
	x.rows.Rows += m.Rows
	x.rows.Tokens += m.Tokens
	x.rows.Supervised += m.SupervisedTokens
	if m.Lengths != nil {
		x.rows.Longest = max(x.rows.Longest, m.Lengths.Rows.Max)
	}
	for _, f := range m.Files {
		if f.Rows == 0 || f.Split != "" && f.Split != "train" {
			continue
		}
		rel, err := filepath.Rel(from, filepath.Join(dir, f.Name))
		if err != nil {
			return err
		}
		x.files = append(x.files, filepath.ToSlash(rel))
	}
	return x.addCounts(filepath.Join(dir, "token_freq.json"))
}

func (x *exports) addCounts(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	counts := map[string]int64{}
	if err := json.Unmarshal(b, &counts); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	for id, n := range counts {
		v, err := strconv.ParseInt(id, 10, 32)
		if err != nil {
			return fmt.Errorf("%s: %q is no token id", filepath.Base(name), id)
		}
		x.counts[int32(v)] += n
	}
	return nil
}

// handoffJSON is handoff.json.
type handoffJSON struct {
	Target     string        `json:"target"`
	Hidden     int           `json:"hidden_size"`
	Layers     []int         `json:"aux_hidden_state_layer_ids"`
	Vocab      int           `json:"vocab_size"`
	DraftVocab int           `json:"draft_vocab_size"`
	Coverage   float64       `json:"draft_vocab_coverage"`
	Rows       handoff.Rows  `json:"rows"`
	Sizes      handoff.Sizes `json:"hidden_states"`
	Data       []string      `json:"data"`
	Problems   []string      `json:"problems"`
}

func withSummary(files []handoff.File, job *handoff.Job, coverage float64) ([]handoff.File, error) {
	b, err := json.Marshal(&handoffJSON{
		job.Target, job.Model.Hidden, job.Model.CaptureLayers(), job.Model.Vocab, job.DraftVocab, coverage, job.Rows, job.Sizes, job.Data, job.Problems,
	}, jsontext.WithIndent("  "))
	return append(files, handoff.File{Name: "handoff.json", Text: append(b, '\n')}), err
}

// writeHandoff writes the files, each whole.
func writeHandoff(dir string, files []handoff.File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		if err := root.MkdirAll(path.Dir(f.Name), 0o755); err != nil {
			return err
		}
		if err := durable.WriteBytes(root, f.Name, f.Text); err != nil {
			return err
		}
		if f.Run {
			if err := root.Chmod(f.Name, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

func printHandoff(w io.Writer, dir string, job *handoff.Job, coverage float64) {
	s := job.Sizes
	fmt.Fprintf(w, "%d rows, %s tokens, %s supervised\n", job.Rows.Rows, short(job.Rows.Tokens), short(job.Rows.Supervised))
	fmt.Fprintf(w, "hidden states: %d bytes a token, %.1f GB in all, %d files of %.0f GB; one pass takes %.1f h at %.0f tokens a second\n",
		s.BytesPerToken, float64(s.Total)/1e9, s.Shards, float64(s.PerShard)/1e9, s.Hours, s.Rate)
	fmt.Fprintf(w, "draft vocabulary: %d of %d tokens, %.2f %% of what is supervised\n", job.DraftVocab, job.Model.Vocab, 100*coverage)
	for _, p := range job.Problems {
		fmt.Fprintf(w, "problem: %s\n", p)
	}
	fmt.Fprintf(w, "next: %s, or %s\n", filepath.Join(dir, "specforge", "run.sh"), filepath.Join(dir, "speculators", "run.sh"))
	fmt.Fprintf(w, "read %s\n", filepath.Join(dir, "README.md"))
}
