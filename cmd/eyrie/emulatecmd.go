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
	listen, control, tls, tokenizer, scenario, play string
	config                                          emulator.Config
	local                                           emulator.LocalConfig
}

func (a *app) emulateCmd() *cobra.Command {
	var f emulateFlags
	cmd := &cobra.Command{
		Use:   "emulate",
		Short: "Play OpenRouter, or an inference server, honest or faulty",
		Long: `emulate serves OpenRouter's API on this machine from a recorded price list: it
answers with real token ids of Kimi's vocabulary, bills to the picodollar and
keeps the ids and the bills aside. It needs no key and costs nothing.

The control port, which a client never sees, shows the books and changes the
behaviour while it runs: GET /books, /totals, /findings, /scenario; POST /knobs,
/scenario, /balance.

The API speaks HTTP/1.1 and, to clients that begin with it, HTTP/2 in the clear.
A job reaches it with the base_url of its engine. With --tls it speaks HTTPS, and
HTTP/2 as the real one does; SSL_CERT_FILE makes a program trust it on Linux.

With --play sglang, vllm or openai it plays a server of one's own instead, the
last being llama.cpp's: chat, ids, metrics that move with the load, at the pace
of --slots, --rate and --throughput. --lacks and --quirks make it an older or an
odd version. Its control port has POST /down and /up, which crash it and bring it
back, and GET /truths.

Built-in scenarios, which --scenario takes by name:
` + builtInScenarios() + `

Kinds of faults that a scenario can hold, with their variants, the first being
the one that is meant when none is named:
  ` + strings.Join(emulator.Kinds(), "\n  "),
		Example: `  eyrie emulate --tokenizer ./model --listen 127.0.0.1:8080
  eyrie emulate --tokenizer ./model --scenario storm
  eyrie emulate --tokenizer ./model --tls cert.pem    # then SSL_CERT_FILE=cert.pem eyrie run job.yaml
  eyrie emulate --tokenizer ./model --play sglang --listen 127.0.0.1:30000 --slots 64 --throughput 2000
  eyrie emulate --tokenizer ./model --scenario ./faults.yaml --books books.jsonl`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.emulate(cmd.Context(), f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8080", "the address of the API")
	fl.StringVar(&f.control, "control", "", "the address of the control port (none when empty)")
	fl.StringVar(&f.tls, "tls", "", "serve HTTPS with a certificate made for it, and write that to this file")
	fl.StringVar(&f.tokenizer, "tokenizer", "", "the folder with Kimi's tiktoken.model (required)")
	fl.StringVar(&f.config.CataloguePath, "catalogue", "", "a saved price list: a model's endpoints, or a whole snapshot (built-in when empty)")
	fl.StringVar(&f.scenario, "scenario", "", "how the vendor behaves: a built-in scenario's name or a YAML file")
	fl.StringVar(&f.config.BooksPath, "books", "", "append every request's truth to this file")
	fl.StringVar(&f.config.Balance, "balance", "", "the account's balance in dollars (no bound when empty)")
	fl.StringVar(&f.config.KeyLimit, "key-limit", "", "the key's limit in dollars (none when empty)")
	fl.Uint64Var(&f.config.Seed, "seed", 1, "what all chance is drawn from")
	fl.StringVar(&f.play, "play", "openrouter", "whom to play: openrouter, sglang, vllm or openai")
	fl.StringVar(&f.local.Model, "model", "", "the name under which a server of one's own serves its model (moonshotai/Kimi-K2.5 when empty)")
	fl.IntVar(&f.local.Context, "context", 0, "the tokens that a server of one's own has room for (262144 when 0)")
	fl.IntVar(&f.local.Slots, "slots", 0, "requests that a server of one's own works on at once (64 when 0)")
	fl.Float64Var(&f.local.Rate, "rate", 0, "tokens a second that one request gets from a server of one's own (no bound when 0)")
	fl.Float64Var(&f.local.Throughput, "throughput", 0, "tokens a second that all requests together get from it (no bound when 0)")
	fl.StringSliceVar(&f.local.Lacks, "lacks", nil, "what its version does not have, such as return_token_ids, metrics, reasoning_parser")
	fl.StringSliceVar(&f.local.Quirks, "quirks", nil, "what its version does, such as trim_stop, lose_ids, hang")
	return cmd
}

func (a *app) emulate(ctx context.Context, f emulateFlags) error {
	if f.tokenizer == "" {
		return &exitError{exitConfig, errors.New("emulate: --tokenizer is missing: name the folder with tiktoken.model")}
	}
	f.config.VocabularyPath = filepath.Join(f.tokenizer, "tiktoken.model")
	if f.play != "openrouter" {
		return a.emulateLocal(ctx, f)
	}
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
	return errors.Join(a.serve(ctx, f, "/api/v1", srv, srv.Control()), srv.Close())
}

// emulateLocal plays a server of one's own.
func (a *app) emulateLocal(ctx context.Context, f emulateFlags) error {
	f.local.Kind, f.local.VocabularyPath, f.local.Seed = f.play, f.config.VocabularyPath, f.config.Seed
	l, err := emulator.NewLocal(f.local)
	if err != nil {
		return &exitError{exitConfig, err}
	}
	return a.serve(ctx, f, "", l, l.Control())
}

// serve serves an API, and its control port where there is one, until it is
// interrupted.
func (a *app) serve(ctx context.Context, f emulateFlags, path string, api, control http.Handler) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	scheme, serve := "http", (*http.Server).Serve
	servers := []*http.Server{{Addr: f.listen, Handler: api, Protocols: protocols}}
	if f.tls != "" {
		protocols.SetHTTP2(true)
		cfg, err := emulatorIdentity(f.listen, f.tls)
		if err != nil {
			return err
		}
		scheme, servers[0].TLSConfig = "https", cfg
		serve = func(s *http.Server, l net.Listener) error { return s.ServeTLS(l, "", "") }
	}
	if f.control != "" {
		servers = append(servers, &http.Server{Addr: f.control, Handler: control})
	}
	failed := make(chan error, len(servers))
	for i, s := range servers {
		l, err := net.Listen("tcp", s.Addr)
		if err != nil {
			return err
		}
		if i == 0 {
			fmt.Fprintf(a.stdout, "listening on %s://%s%s\n", scheme, l.Addr(), path)
			go func() { failed <- serve(s, l) }()
		} else {
			fmt.Fprintf(a.stdout, "control on http://%s\n", l.Addr())
			go func() { failed <- s.Serve(l) }()
		}
	}
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	for _, s := range servers {
		quit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		if s.Shutdown(quit) != nil {
			s.Close()
		}
		cancel()
	}
	return err
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
