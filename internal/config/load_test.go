package config_test

import (
	"cmp"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/config"
	"github.com/eyrie-ai/eyrie/route"
)

var update = flag.Bool("update", false, "write the golden files anew")

// workspace moves the test into a folder that holds what job files name.
func workspace(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"model", "hf-model", "empty", "old-run"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"model/tiktoken.model", "hf-model/tokenizer.json", "prompts.jsonl", "other.jsonl", "rows.jsonl", "notes.txt"} {
		write(t, filepath.Join(dir, name), "{}\n", 0o644)
	}
	return dir
}

func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// small is the shortest job there is.
const small = `model: moonshotai/kimi-k2.5
tokenizer: ./model
budget: 100
output: ./runs/kimi
datasets:
- name: code
  path: prompts.jsonl
  tokens: 10M
engines:
- openrouter:
`

func TestDefaults(t *testing.T) {
	t.Chdir(workspace(t))
	write(t, "job.yaml", small, 0o644)
	got, err := config.Load("job.yaml", config.Env{})
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Job{
		File:        "job.yaml",
		Model:       "moonshotai/kimi-k2.5",
		Tokenizer:   "model",
		Budget:      100 * eyrie.Dollar,
		Output:      filepath.FromSlash("runs/kimi"),
		Sampling:    eyrie.Sampling{MaxTokens: 8192, Thinking: true},
		Concurrency: 2000,
		Attempts:    4,
		Hold:        "strict",
		OnLength:    eyrie.KeepCut,
		Hedge:       0.02,
		Datasets:    []config.Dataset{{Name: "code", Path: "prompts.jsonl", Tokens: 10_000_000, Samples: 1, Turns: "all", Tools: "exact", Layout: "auto", AcceptDrops: 0.05}},
		Engines:     []config.Engine{{Name: "openrouter", OpenRouter: &config.OpenRouter{BaseURL: config.DefaultBaseURL, CatalogueEvery: 5 * time.Minute}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if _, err := os.Stat("runs"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("Load made the run folder")
	}
}

func TestEveryField(t *testing.T) {
	dir := workspace(t)
	const text = `model: "moonshotai/kimi-k2.5:free"
tokenizer: hf-model
budget: "$100.50"
output: ~/runs/kimi
thinking: false
seed: -3
sampling: {temperature: 1.0, top_p: 0.95, top_k: 40, min_p:, seed: -7, max_tokens: 16_384, stop: ["\n\n", End, end], effort: high,
  mix: [{weight: 2}, {weight: 0.5, thinking: true, max_tokens: 16, stop: [END]}, {weight: 1, thinking: true, effort: low}]}
concurrency: 100_000
attempts: 2
sort: throughput
hedge: 0.5%
hold: expected
on_length: retry
retry_max_tokens: 20_000
datasets:
  - {name: code, path: prompts.jsonl, tokens: 1.5M, samples: 3, turns: last, tools: name, layout: sharegpt, seed_from: old-run}
  - {name: B-4_x.y, path: prompts.jsonl, tokens: 10_000_000, seed_from: rows.jsonl}
engines:
  - openrouter:
      base_url: http://127.0.0.1:8080/v1/
      key_file: ~/.config/eyrie/key
      quantization: [native, unknown]
      precision: {novita: int4, Venice: {label: fp8, note: "asked, 2 June"}}
      only: [atlas-cloud, siliconflow/int4, Moonshot AI]
      ignore: [venice]
      prefer: [Moonshot AI]
      max_price: {prompt: 0.55, completion: "$2.60", request: 0.001}
      min_status: -2
      min_uptime: 99.5
      data_collection: deny
      zdr: true
      distillable: true
      logprobs: auto
      catalogue_every: 90s
  - openrouter: {quantization: any}
`
	path := filepath.Join(dir, "job.yaml")
	write(t, path, text, 0o644)
	home := filepath.Join(dir, "home")
	got, err := config.Load(path, config.Env{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	want := &config.Job{
		File:      path,
		Model:     "moonshotai/kimi-k2.5:free",
		Tokenizer: in("hf-model"),
		Budget:    100*eyrie.Dollar + eyrie.Dollar/2,
		Output:    filepath.Join(home, "runs", "kimi"),
		Sampling: eyrie.Sampling{
			Temperature: new(1.0), TopP: new(0.95), TopK: new(40), Seed: new(int64(-7)), MaxTokens: 16384,
			Effort: "high", Stop: []string{"\n\n", "End", "end"},
		},
		Seed: -3,
		Parts: []eyrie.Part{
			{Weight: 2000, Sampling: eyrie.Sampling{
				Temperature: new(1.0), TopP: new(0.95), TopK: new(40), Seed: new(int64(-7)), MaxTokens: 16384, Stop: []string{"\n\n", "End", "end"},
			}},
			{Weight: 500, Sampling: eyrie.Sampling{
				Temperature: new(1.0), TopP: new(0.95), TopK: new(40), Seed: new(int64(-7)), MaxTokens: 16, Thinking: true, Effort: "high", Stop: []string{"END"},
			}},
			{Weight: 1000, Sampling: eyrie.Sampling{
				Temperature: new(1.0), TopP: new(0.95), TopK: new(40), Seed: new(int64(-7)), MaxTokens: 16384, Thinking: true, Effort: "low", Stop: []string{"\n\n", "End", "end"},
			}},
		},
		Concurrency: 100_000,
		Attempts:    2,
		Hold:        "expected",
		OnLength:    eyrie.RetryCut,
		Sort:        route.ByThroughput,
		Hedge:       0.005,
		RetryTokens: 20_000,
		Datasets: []config.Dataset{
			{Name: "code", Path: in("prompts.jsonl"), Tokens: 1_500_000, Samples: 3, Turns: "last", Tools: "name", Layout: "sharegpt", AcceptDrops: 0.05, SeedFrom: in("old-run")},
			{Name: "B-4_x.y", Path: in("prompts.jsonl"), Tokens: 10_000_000, Samples: 1, Turns: "all", Tools: "exact", Layout: "auto", AcceptDrops: 0.05, SeedFrom: in("rows.jsonl")},
		},
		Engines: []config.Engine{
			{Name: "openrouter", OpenRouter: &config.OpenRouter{
				BaseURL:        "http://127.0.0.1:8080/v1",
				KeyFile:        filepath.Join(home, ".config", "eyrie", "key"),
				Quantization:   config.Quantization{Rule: config.Listed, Names: []string{"native", "unknown"}},
				Precision:      []config.Precision{{Name: "novita", Label: "int4"}, {Name: "Venice", Label: "fp8", Note: "asked, 2 June"}},
				Only:           []string{"atlas-cloud", "siliconflow/int4", "Moonshot AI"},
				Ignore:         []string{"venice"},
				Prefer:         []string{"Moonshot AI"},
				MaxPrice:       config.MaxPrice{Prompt: 55 * eyrie.Dollar / 100, Completion: 260 * eyrie.Dollar / 100, Request: eyrie.Dollar / 1000},
				MinStatus:      new(-2),
				MinUptime:      99.5,
				DataCollection: "deny",
				ZDR:            true,
				Distillable:    true,
				Logprobs:       "auto",
				CatalogueEvery: 90 * time.Second,
			}},
			{Name: "openrouter-2", OpenRouter: &config.OpenRouter{
				BaseURL:        config.DefaultBaseURL,
				Quantization:   config.Quantization{Rule: config.Any},
				CatalogueEvery: config.DefaultCatalogueEvery,
			}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestBudgetIsExact reads amounts that a float cannot hold.
func TestBudgetIsExact(t *testing.T) {
	t.Chdir(workspace(t))
	tests := []struct {
		text string
		want eyrie.Money
	}{
		{"100", 100 * eyrie.Dollar},
		{"100.50", 100*eyrie.Dollar + eyrie.Dollar/2},
		{`"100.50"`, 100*eyrie.Dollar + eyrie.Dollar/2},
		{"$100", 100 * eyrie.Dollar},
		{"'$0.000000000001'", 1},
		{"1234567.123456789012", 1_234_567_123_456_789_012},
		{"9007.199254740993", 9_007_199_254_740_993},
	}
	for _, tt := range tests {
		text := strings.Replace(small, "budget: 100", "budget: "+tt.text, 1)
		job, err := config.Parse([]byte(text), "job.yaml", config.Env{})
		if err != nil {
			t.Errorf("budget %s: %v", tt.text, err)
			continue
		}
		if job.Budget != tt.want {
			t.Errorf("budget %s read as %d picodollars, want %d", tt.text, job.Budget, tt.want)
		}
	}
}

func TestBaseURLs(t *testing.T) {
	t.Chdir(workspace(t))
	tests := []struct{ given, want string }{
		{"https://eu.openrouter.ai/api/v1", "https://eu.openrouter.ai/api/v1"},
		{"https://openrouter.ai/api/v1//", "https://openrouter.ai/api/v1"},
		{"http://localhost:8080", "http://localhost:8080"},
		{"http://127.8.9.1/v1", "http://127.8.9.1/v1"},
		{"http://[::1]:80/v1", "http://[::1]:80/v1"},
	}
	for _, tt := range tests {
		text := strings.Replace(small, "openrouter:", "openrouter: {base_url: '"+tt.given+"'}", 1)
		job, err := config.Parse([]byte(text), "job.yaml", config.Env{})
		if err != nil {
			t.Errorf("%s: %v", tt.given, err)
			continue
		}
		if got := job.Engines[0].OpenRouter.BaseURL; got != tt.want {
			t.Errorf("%s read as %s, want %s", tt.given, got, tt.want)
		}
	}
}

func TestQuantizations(t *testing.T) {
	t.Chdir(workspace(t))
	for _, text := range []string{"native", "any", "[int4]", "[fp8, mxfp8, unknown]", "[native, fp8]"} {
		job, err := config.Parse([]byte(strings.Replace(small, "openrouter:", "openrouter: {quantization: "+text+"}", 1)), "job.yaml", config.Env{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := job.Engines[0].OpenRouter.Quantization.String(); got != text {
			t.Errorf("%s prints as %s", text, got)
		}
	}
}

func TestTemplateLoads(t *testing.T) {
	for _, model := range []string{"", "deepseek/deepseek-v3.1"} {
		t.Run(model, func(t *testing.T) {
			t.Chdir(workspace(t))
			write(t, "job.yaml", string(config.Template(model)), 0o644)
			job, err := config.Load("job.yaml", config.Env{Home: "home"})
			if err != nil {
				t.Fatal(err)
			}
			if want := cmp.Or(model, config.DefaultModel); job.Model != want {
				t.Errorf("model %q, want %q", job.Model, want)
			}
		})
	}
}

// TestTemplateExamplesLoad takes the comment signs off the fields that the
// template shows as comments: what it advises must be right too.
func TestTemplateExamplesLoad(t *testing.T) {
	t.Chdir(workspace(t))
	for _, dir := range []string{filepath.Join("runs", "earlier"), "evals"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join("evals", "mt_bench.jsonl"), "{}\n", 0o644)
	var text strings.Builder
	uncommented := 0
	for line := range strings.Lines(string(config.Template(""))) {
		bare := strings.TrimLeft(line, " ")
		rest, comment := strings.CutPrefix(bare, "# ")
		key, _, isField := strings.Cut(rest, ":")
		if comment && isField && !strings.ContainsAny(strings.TrimLeft(key, " -{"), ` ",.`) && !strings.HasPrefix(rest, "A ") {
			line = line[:len(line)-len(bare)] + rest
			uncommented++
		}
		text.WriteString(line)
	}
	const shown = 25 // fields that stand as comments
	if uncommented < shown {
		t.Errorf("took the comment sign off %d lines, want %d at least", uncommented, shown)
	}
	job, err := config.Parse([]byte(text.String()), "job.yaml", config.Env{Home: "home"})
	if err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	if job.Datasets[0].SeedFrom == "" || job.Engines[0].OpenRouter.MaxPrice.Completion == 0 || job.Sampling.Seed == nil || job.Engines[1].Local.Concurrency == 0 {
		t.Errorf("an example was not read: %+v", job)
	}
}

func TestTemplateQuotesWhatIsNoModel(t *testing.T) {
	t.Chdir(workspace(t))
	_, err := config.Parse(config.Template("kimi: {\n"), "job.yaml", config.Env{})
	const want = `job.yaml:6:8: model: found "kimi: {\n"; name the model as author/slug, such as moonshotai/kimi-k2.5`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := config.Load("job.yaml", config.Env{})
	const want = "config: job.yaml: no such file or directory (write one with eyrie init)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the error does not say that the file is missing")
	}
}

func TestFileTooLarge(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "job.yaml", strings.Repeat("#", 1<<20), 0o644)
	_, err := config.Load("job.yaml", config.Env{})
	const want = "config: job.yaml: larger than 65536 bytes, so it is not a job file"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add(config.Template(""))
	many, err := os.ReadFile(filepath.Join("testdata", "faults.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(many)
	for _, s := range []string{
		"", "\ufeff", "- - - -", "? ? ?", "a: &x [*x]", "<<: *y", "{a: {b: [", "|\n  x", "a: !!binary x",
		"--- a\n--- b", "\t", "datasets: [{}, null, [], x]", "engines: [openrouter, {openrouter: x}, {a: b, openrouter: }]",
		"model:\r\n  - 1\r\n", "'a\nb': c", "%YAML 1.2\n---\na: b",
	} {
		f.Add([]byte(s))
	}
	path := filepath.Join(workspace(f), "job.yaml")
	f.Fuzz(func(t *testing.T, src []byte) {
		job, err := config.Parse(src, path, config.Env{Home: "home"})
		if (job == nil) == (err == nil) {
			t.Fatalf("job %v and error %v", job, err)
		}
		if err == nil {
			return
		}
		ce, ok := errors.AsType[*config.Error](err)
		if !ok {
			t.Fatalf("error %v lists no faults", err)
		}
		for i, fault := range ce.Faults {
			if fault.Line < 1 || fault.Column < 1 || fault.Found == "" || fault.Fix == "" {
				t.Errorf("incomplete fault %+v", fault)
			}
			if strings.ContainsAny(fault.String(), "\n\r") {
				t.Errorf("fault %q takes more than a line", fault)
			}
			if i > 0 && fault.Line < ce.Faults[i-1].Line {
				t.Errorf("fault %v comes after %v", fault, ce.Faults[i-1])
			}
		}
	})
}
