package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/eyrie-ai/eyrie"
)

// exitCodeCmd runs the program and checks its exit code: exitcode CODE ARGS… .
// Its output is left in the files out and err.
func exitCodeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode CODE ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var out, errOut bytes.Buffer
	cmd := &exec.Cmd{Args: append([]string{"eyrie"}, args[1:]...), Dir: ts.MkAbs("."), Stdout: &out, Stderr: &errOut}
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, "eyrie"); cmd.Path == "" && isFile(p) {
			cmd.Path = p
		}
	}
	for _, name := range []string{"PATH", "HOME", "OPENROUTER_API_KEY"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	if err := cmd.Run(); cmd.ProcessState == nil {
		ts.Fatalf("eyrie: %v", err)
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), out.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("err"), errOut.Bytes(), 0o644))
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("eyrie %s: exit code %d, want %d\n%s%s", strings.Join(args[1:], " "), got, want, out.String(), errOut.String())
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// balanceCmd changes the vendor's mind about money: balance DOLLARS account|key.
func balanceCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: balance DOLLARS account|key")
	}
	field := map[string]string{"account": "balance", "key": "key_limit"}[args[1]]
	resp, err := http.Post(ts.Getenv("CONTROL")+"/balance", "application/json", strings.NewReader(fmt.Sprintf("{%q: %q}", field, args[0])))
	ts.Check(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		ts.Fatalf("balance: %s", resp.Status)
	}
}

// billedCmd checks what a run's output says was spent against the vendor's books:
// billed FILE.
func billedCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: billed FILE")
	}
	resp, err := http.Get(ts.Getenv("CONTROL") + "/totals")
	ts.Check(err)
	defer resp.Body.Close()
	var books struct {
		Spend int64 `json:"spend_picodollars,string"`
	}
	ts.Check(json.UnmarshalRead(resp.Body, &books))
	if want := "spent " + eyrie.Money(books.Spend).String() + " of "; !strings.Contains(ts.ReadFile(args[0]), want) {
		ts.Fatalf("the vendor's books come to %s; %s says\n%s", eyrie.Money(books.Spend), args[0], ts.ReadFile(args[0]))
	}
}

// jobCmd writes a job file for the script's vendor: job BUDGET TOKENS [LINE…].
// The lines are added as they are.
func jobCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: job BUDGET TOKENS [LINE…]")
	}
	text := fmt.Sprintf(`model: moonshotai/kimi-k2.5
tokenizer: ./model
budget: %s
output: ./run
concurrency: 20
sampling: {temperature: 1.0, max_tokens: 512}
datasets:
  - {name: set, path: prompts.jsonl, tokens: %s, samples: 50}
engines:
  - openrouter: {base_url: %q, quantization: [int4]}
%s
`, args[0], args[1], ts.Getenv("API"), strings.Join(args[2:], "\n"))
	ts.Check(os.WriteFile(ts.MkAbs("job.yaml"), []byte(text), 0o644))
}
