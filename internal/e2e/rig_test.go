package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/internal/testvocab"
)

// program is the built command.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "eyrie-e2e")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "eyrie")
		build := exec.Command("go", "build", "-o", program, "github.com/eyrie-ai/eyrie/cmd/eyrie")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "building eyrie:", err)
			return 1
		}
		return m.Run()
	}())
}

const key = "sk-or-v1-test-key-that-must-not-show"

// certificate is the file with what the emulator is trusted by.
const certificate = "certificate.pem"

// rig is a folder with a job, and an emulator in a process of its own.
type rig struct {
	t       *testing.T
	dir     string
	api     string
	control string
	sets    []jobSet
	output  string // of everything the program printed
	extra   string // lines of the job file
	mix     string // of the sampling
}

type jobSet struct {
	name    string
	prompts []string // lines
	tokens  string   // the target; empty is out of reach
	options string   // of the job file, such as ", turns: last"
}

func newRig(t *testing.T, scenario string, sets ...jobSet) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), sets: sets}
	if err := os.Rename(testvocab.Folder(t), filepath.Join(r.dir, "model")); err != nil {
		t.Fatal(err)
	}
	for _, s := range sets {
		r.write(s.name+".jsonl", strings.Join(s.prompts, "\n")+"\n")
	}
	r.write("scenario.yaml", scenario)
	r.emulate()
	return r
}

func (r *rig) write(name, content string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// edit changes text of the job file.
func (r *rig) edit(old, new string) {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "job.yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.write("job.yaml", strings.ReplaceAll(string(b), old, new))
}

// emulate starts the emulator and waits for its addresses.
func (r *rig) emulate() {
	r.t.Helper()
	cmd := exec.Command(program, "emulate", "--tokenizer", "model", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0",
		"--tls", certificate, "--scenario", "scenario.yaml", "--books", "books.jsonl", "--seed", "7")
	cmd.Dir = r.dir
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			r.t.Errorf("emulator: %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	for (r.api == "" || r.control == "") && lines.Scan() {
		if a, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			r.api = a
		}
		if a, ok := strings.CutPrefix(lines.Text(), "control on "); ok {
			r.control = a
		}
	}
	if r.control == "" {
		r.t.Fatalf("the emulator did not say where it listens: %v", lines.Err())
	}
	go io.Copy(io.Discard, out)
}

// job writes the job file with a budget in dollars.
func (r *rig) job(budget string, concurrency int) {
	r.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "model: moonshotai/kimi-k2.5\ntokenizer: ./model\nbudget: %s\noutput: ./run\nconcurrency: %d\n", budget, concurrency)
	fmt.Fprintf(&b, "attempts: 20\n%ssampling: {temperature: 1.0, max_tokens: 512%s}\ndatasets:\n", r.extra, r.mix)
	for _, s := range r.sets {
		fmt.Fprintf(&b, "  - {name: %s, path: %s.jsonl, tokens: %s%s}\n", s.name, s.name, cmp.Or(s.tokens, "1000M"), s.options)
	}
	fmt.Fprintf(&b, "engines:\n  - openrouter: {base_url: %q, quantization: [int4]}\n", r.api)
	r.write("job.yaml", b.String())
}

// result is how a process of the program ended.
type result struct {
	code int // -1 when it was killed
	out  string
	cpu  time.Duration
	rss  int64 // peak, in bytes
}

// start starts the program; wait says how it ended.
func (r *rig) start(args ...string) (p *os.Process, wait func() result) {
	r.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "OPENROUTER_API_KEY="+key, "SSL_CERT_FILE="+filepath.Join(r.dir, certificate))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return cmd.Process, func() result {
		err := cmd.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			r.t.Fatalf("eyrie %v: %v %v", args, err, exit)
		}
		r.output += out.String()
		ru := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		return result{cmd.ProcessState.ExitCode(), out.String(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), ru.Maxrss * 1024}
	}
}

// eyrie runs the program to its end and checks the exit code.
func (r *rig) eyrie(code int, args ...string) result {
	r.t.Helper()
	_, wait := r.start(args...)
	res := wait()
	if res.code != code {
		r.t.Fatalf("eyrie %v: exit code %d, want %d:\n%s", args, res.code, code, res.out)
	}
	return res
}

// totals are the sums of the emulator's books.
type totals struct {
	Spend       picodollars    `json:"spend_picodollars"`
	Requests    int            `json:"requests"`
	Outcomes    map[string]int `json:"outcomes"`
	Faults      map[string]int `json:"faults"`
	Refusals    map[string]int `json:"refusals"`
	InFlight    map[string]int `json:"in_flight"`
	MaxInFlight map[string]int `json:"max_in_flight"`
}

type picodollars int64

func (p *picodollars) UnmarshalJSON(b []byte) error {
	_, err := fmt.Sscan(strings.Trim(string(b), `"`), (*int64)(p))
	return err
}

func (r *rig) totals() totals {
	r.t.Helper()
	resp, err := http.Get(r.control + "/totals")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	var v totals
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		r.t.Fatal(err)
	}
	return v
}

// dollars reads an exact decimal amount into picodollars, by a way that shares
// nothing with the program's own.
func dollars(t *testing.T, s string) picodollars {
	t.Helper()
	v, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%q is no amount", s)
	}
	v.Mul(v, big.NewRat(1_000_000_000_000, 1))
	if !v.IsInt() || !v.Num().IsInt64() {
		t.Fatalf("%q is no whole number of picodollars", s)
	}
	return picodollars(v.Num().Int64())
}

// status is eyrie status --json.
type status struct {
	Spent    string `json:"spent"`
	InFlight string `json:"held_in_flight"`
	Unbilled string `json:"held_unbilled"`
	Sets     []struct {
		Name string `json:"name"`
		Rows int    `json:"rows"`
		Gave int    `json:"given_up"`
	} `json:"datasets"`
}

func (r *rig) status() status {
	r.t.Helper()
	var v status
	if err := json.Unmarshal([]byte(r.eyrie(0, "status", "run", "--json").out), &v); err != nil {
		r.t.Fatal(err)
	}
	return v
}

// lines reads a file of JSON lines.
func lines[T any](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			if len(line) > 0 {
				t.Fatalf("%s: the last line is torn", path)
			}
			return out
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s:%d: %v", path, len(out)+1, err)
		}
		out = append(out, v)
	}
}
