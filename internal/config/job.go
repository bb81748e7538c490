package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/plan"
	"github.com/eyrie-ai/eyrie/route"
)

// Job is a job file whose every field has been checked and filled in. Its
// paths are resolved against the folder of the job file.
type Job struct {
	File        string // as it was given to [Load]
	Model       string
	Tokenizer   string // folder
	Budget      eyrie.Money
	Output      string         // the run folder; it need not exist yet
	Sampling    eyrie.Sampling // of every row, where there is no mix
	Parts       []eyrie.Part   // of the mix; nil where there is none
	Seed        int64          // of what is drawn
	OnLength    eyrie.OnLength // what becomes of answers that their cap cut off
	RetryTokens int            // the cap of those that are asked for again; 0 for none
	Concurrency int
	Attempts    int
	Hold        string        // strict or expected: what is reserved for a request
	Fit         plan.Fit      // what gives way when the budget does not reach
	Deadline    time.Duration // from the start of a session; 0 is as soon as can be
	Sort        route.Sort    // in which order lanes are filled
	Hedge       float64       // share of the budget for second copies of slow answers
	Tokens      int64         // output tokens wanted in all, shared out by weight; 0 when not given
	Datasets    []Dataset
	Engines     []Engine
}

// Mix is how the job's rows are sampled.
func (j *Job) Mix() *eyrie.Mix {
	if j.Parts == nil {
		return &eyrie.Mix{Parts: []eyrie.Part{{Weight: 1, Sampling: j.Sampling}}}
	}
	return &eyrie.Mix{Seed: j.Seed, Parts: j.Parts}
}

// Dataset is one set of prompts and what is wanted from it.
type Dataset struct {
	Name     string // unique in the job without regard to case
	Path     string
	Tokens   int64 // output tokens wanted
	Samples  int   // answers to one prompt
	Turns    eyrie.Turns
	Tools    eyrie.Pairing // how tool results find the model's calls
	SeedFrom string        // a run folder or a file of rows; empty when not given
	Weight   float64       // its share of the job's tokens; 0 when it has tokens of its own

	// How its rows are read.
	Layout      string
	Format      string            // empty finds out
	Columns     map[string]string // names of columns by what they hold
	Roles       map[string]string // roles by the names of speakers
	Images      string            // what becomes of them; empty is drop
	MaxRow      int64             // bytes; 0 is the default
	AcceptDrops float64           // the share of rows that may be lost

	// Which of them are wanted.
	Keep           Keep
	NearDuplicates float64  // from which likeness on they are left out; 0 keeps them
	Decontaminate  []string // files of prompts that must not be trained on
	Sample         int      // 0 takes all
	Shuffle        bool
	Validation     float64 // the share of conversations
}

// Engine is one entry of the engines. Exactly one of its pointers is set.
type Engine struct {
	// Name is unique in the job: the kind, and from its second entry on the
	// kind and a number, as in "openrouter-2"; or what the job calls it.
	Name       string
	OpenRouter *OpenRouter
	Local      *Local
}

// Bought reports whether an engine of the job takes money.
func (j *Job) Bought() bool {
	return slices.ContainsFunc(j.Engines, func(e Engine) bool { return e.OpenRouter != nil })
}

// OpenRouter says how to reach OpenRouter and which of its endpoints may answer.
type OpenRouter struct {
	BaseURL        string // without a slash at its end
	KeyFile        string // empty when the key comes from the environment
	Quantization   Quantization
	Precision      []Precision // what the user knows better than the labels
	Only           []string    // slugs, tags or display names; empty allows all
	Ignore         []string
	Prefer         []string // these come before cheaper ones, in this order
	MaxPrice       MaxPrice
	MinStatus      *int    // the lowest status that may answer; nil asks for none
	MinUptime      float64 // per cent of the last half hour; 0 asks for none
	DataCollection string  // "allow", "deny", or empty for the account's setting
	ZDR            bool    // only endpoints that retain nothing
	Distillable    bool    // only a model whose author allows distillation
	Logprobs       string  // "true": only endpoints that name their tokens; "auto": they do where they can; empty: not asked
	CatalogueEvery time.Duration
}

// Precision is what the user knows of the precision of a provider or endpoint.
type Precision struct {
	Name  string // slug, tag or display name
	Label string // as in [Quantization.Names], without native
	Note  string // how the user knows; may be empty
}

// MaxPrice bounds the price of a million tokens, and of a request by itself. Zero
// is no bound, but for the request's where one of the others is given.
type MaxPrice struct {
	Prompt     eyrie.Money
	Completion eyrie.Money
	Request    eyrie.Money
}

// Env is what the package knows of the world around it.
type Env struct {
	Getenv func(string) string // nil is an empty environment
	Home   string              // the home folder; empty when there is none
}

func (e Env) getenv(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// maxFile bounds a job file. Real ones are a few kilobytes.
const maxFile = 64 << 10

// Load reads the job file at path. What is wrong inside the file comes back
// as an [*Error] that lists every fault.
func Load(path string, env Env) (*Job, error) {
	src, err := readFile(path)
	if err != nil {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = "write one with eyrie init"
		}
		return nil, &eyrie.Error{Op: "config", Subject: path, Kind: eyrie.StopRun, Err: cause(err), Hint: hint}
	}
	return Parse(src, path, env)
}

// readFile reads a job file of sane size.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(src) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes, so it is not a job file", maxFile)
	}
	return src, nil
}

// Parse reads the text of a job file. path is where the text stands: it goes
// into the faults, and relative paths are resolved against its folder.
func Parse(src []byte, path string, env Env) (*Job, error) {
	r := &reader{file: path, env: env}
	job := r.job(src)
	if len(r.faults) == 0 {
		return job, nil
	}
	slices.SortStableFunc(r.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return nil, &Error{Faults: r.faults}
}

// cause strips the path from an error of the file system, for messages that
// have named it already.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
