package main

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/internal/testvocab"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"eyrie": func() {
			os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
		},
	})
}

// TestScripts runs what a person types. $API is an emulated vendor of the
// script's own, $CONTROL its control port, $MODEL a model folder.
func TestScripts(t *testing.T) {
	vocab, err := os.ReadFile(testvocab.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			srv, err := emulator.New(emulator.Config{Vocabulary: vocab, Seed: 1, Keys: []string{"sk-good"}, ManagementKey: "sk-manager"})
			if err != nil {
				return err
			}
			api, control := httptest.NewServer(srv), httptest.NewServer(srv.Control())
			env.Defer(func() {
				api.Close()
				control.Close()
				srv.Close()
			})
			model := filepath.Join(env.WorkDir, "model")
			if err := os.Mkdir(model, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(model, "tiktoken.model"), vocab, 0o644); err != nil {
				return err
			}
			if err := ownServers(env, vocab); err != nil {
				return err
			}
			env.Setenv("API", api.URL+"/api/v1")
			env.Setenv("CONTROL", control.URL)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("OPENROUTER_API_KEY", "sk-good")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exitcode": exitCodeCmd,
			"job":      jobCmd,
			"balance":  balanceCmd,
			"billed":   billedCmd,
			"knobs":    knobsCmd,
			"ownjob":   ownJobCmd,
		},
	})
}
