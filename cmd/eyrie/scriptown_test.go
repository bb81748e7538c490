package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/eyrie-ai/eyrie/emulator"
)

// ownServers starts the servers of one's own that the script about them names.
func ownServers(env *testscript.Env, vocabulary []byte) error {
	if filepath.Base(env.WorkDir) != "script-own" {
		return nil
	}
	for name, config := range map[string]emulator.LocalConfig{
		"SGLANG": {Kind: emulator.SGLang, Rate: 300},
		"VLLM":   {Kind: emulator.VLLM, Rate: 300},
		"LLAMA":  {Kind: emulator.LlamaCPP, Rate: 300},
		"SHORT":  {Kind: emulator.VLLM, Context: 400},
		"OTHER":  {Kind: emulator.SGLang, Model: "Qwen/Qwen3-8B"},
	} {
		config.Vocabulary, config.Seed = vocabulary, 1
		l, err := emulator.NewLocal(config)
		if err != nil {
			return err
		}
		s := httptest.NewServer(l)
		env.Defer(s.Close)
		env.Setenv(name, s.URL)
	}
	return nil
}

// ownJobCmd writes a job file of servers of one's own: ownjob ENTRY… .
func ownJobCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: ownjob ENTRY…")
	}
	var b strings.Builder
	b.WriteString(`model: moonshotai/kimi-k2.5
tokenizer: ./model
output: ./own
concurrency: 20
sampling: {max_tokens: 512}
datasets:
  - {name: set, path: prompts.jsonl, tokens: 1M, samples: 40}
engines:
`)
	for _, e := range args {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	ts.Check(os.WriteFile(ts.MkAbs("own.yaml"), []byte(b.String()), 0o644))
}
