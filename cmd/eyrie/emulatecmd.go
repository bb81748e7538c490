package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/eyrie-ai/eyrie/emulator"
)

type emulateFlags struct {
	listen, control, tokenizer, scenario string
	config                               emulator.Config
}

func (a *app) emulateCmd() *cobra.Command {
	var f emulateFlags
	cmd := &cobra.Command{
		Use:   "emulate",
		Short: "Play OpenRouter on this machine, honest or faulty",
		Long: `emulate serves OpenRouter's API on this machine from a recorded price list: it
answers with real token ids of Kimi's vocabulary, bills to the picodollar and
keeps the ids and the bills aside. It needs no key and costs nothing.

The control port, which a client never sees, shows the books and changes the
behaviour while it runs: GET /books, /totals, /findings, /scenario; POST /knobs,
/scenario, /balance.

The API speaks HTTP/1.1 and, to clients that begin with it, HTTP/2 in the clear.
A job reaches it with the base_url of its engine.

Built-in scenarios, which --scenario takes by name:
` + builtInScenarios(),
		Example: `  eyrie emulate --tokenizer ./model --listen 127.0.0.1:8080
  eyrie emulate --tokenizer ./model --scenario storm
  eyrie emulate --tokenizer ./model --scenario ./faults.yaml --books books.jsonl`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.emulate(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8080", "the address of the API")
	fl.StringVar(&f.control, "control", "", "the address of the control port (none when empty)")
	fl.StringVar(&f.tokenizer, "tokenizer", "", "the folder with Kimi's tiktoken.model (required)")
	fl.StringVar(&f.config.CataloguePath, "catalogue", "", "a saved price list: a model's endpoints, or a whole snapshot (built-in when empty)")
	fl.StringVar(&f.scenario, "scenario", "", "how the vendor behaves: a built-in scenario's name or a YAML file")
	fl.StringVar(&f.config.BooksPath, "books", "", "append every request's truth to this file")
	fl.StringVar(&f.config.Balance, "balance", "", "the account's balance in dollars (no bound when empty)")
	fl.StringVar(&f.config.KeyLimit, "key-limit", "", "the key's limit in dollars (none when empty)")
	fl.Uint64Var(&f.config.Seed, "seed", 1, "what all chance is drawn from")
	return cmd
}

func (a *app) emulate(ctx context.Context, f emulateFlags) error {
	if f.tokenizer == "" {
		return &exitError{exitConfig, errors.New("emulate: --tokenizer is missing: name the folder with tiktoken.model")}
	}
	f.config.VocabularyPath = filepath.Join(f.tokenizer, "tiktoken.model")
	if f.scenario != "" {
		sc, err := scenarioOf(f.scenario)
		if err != nil {
			return &exitError{exitConfig, err}
		}
		f.config.Scenario = &sc
	}
	srv, err := emulator.New(f.config)
	if err != nil {
		return &exitError{exitConfig, err}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	servers := []*http.Server{{Addr: f.listen, Handler: srv, Protocols: protocols}}
	if f.control != "" {
		servers = append(servers, &http.Server{Addr: f.control, Handler: srv.Control()})
	}
	failed := make(chan error, len(servers))
	for i, s := range servers {
		l, err := net.Listen("tcp", s.Addr)
		if err != nil {
			return err
		}
		if i == 0 {
			fmt.Fprintf(a.stdout, "listening on http://%s/api/v1\n", l.Addr())
		} else {
			fmt.Fprintf(a.stdout, "control on http://%s\n", l.Addr())
		}
		go func() { failed <- s.Serve(l) }()
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = nil
	}
	for _, s := range servers {
		quit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		if s.Shutdown(quit) != nil {
			s.Close()
		}
		cancel()
	}
	return errors.Join(err, srv.Close())
}

// builtInScenarios lists the scenarios that come with the program.
func builtInScenarios() string {
	var b strings.Builder
	for _, name := range emulator.Scenarios() {
		sc, err := emulator.NamedScenario(name)
		if err != nil {
			panic(err) // it is part of the program
		}
		fmt.Fprintf(&b, "  %-9s %s\n", name, strings.TrimSpace(sc.About))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// scenarioOf reads a scenario by its built-in name, or from a file. What looks
// like a name means the built-in one, whatever files there are.
func scenarioOf(name string) (emulator.Scenario, error) {
	if slices.Contains(emulator.Scenarios(), name) {
		return emulator.NamedScenario(name)
	}
	sc, err := emulator.LoadScenario(name)
	if errors.Is(err, fs.ErrNotExist) {
		return sc, fmt.Errorf("--scenario %s: neither a file nor a built-in scenario; built in are %s", name, strings.Join(emulator.Scenarios(), ", "))
	}
	return sc, err
}
