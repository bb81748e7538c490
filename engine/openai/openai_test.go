package openai_test

import (
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openai"
	"github.com/eyrie-ai/eyrie/internal/enginetest"
)

func client(t *testing.T, url string) *openai.Client {
	t.Helper()
	_, codec := enginetest.Kimi(t)
	c, err := openai.New(openai.Config{BaseURL: url, Codec: codec, MaxStreams: 32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestContract(t *testing.T) {
	for _, row := range []struct {
		name    string
		server  emulator.LocalConfig
		metrics bool
	}{
		{"llama.cpp", emulator.LocalConfig{Kind: emulator.LlamaCPP}, true},
		{"llama.cpp without metrics", emulator.LocalConfig{Kind: emulator.LlamaCPP, Lacks: []string{"metrics", "tokenize"}}, false},
		{"vLLM through the plain API", emulator.LocalConfig{Kind: emulator.VLLM, Lacks: []string{"tokenize"}}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, url := enginetest.Serve(t, row.server)
			c := client(t, url)
			f, err := c.Inspect(t.Context(), enginetest.KimiModel)
			if err != nil {
				t.Fatal(err)
			}
			if f.Metrics != row.metrics || f.IDs || f.Context != 262_144 {
				t.Errorf("inspected: %+v", f)
			}
			enginetest.Run(t, enginetest.Subject{
				Engine: c, Model: enginetest.KimiModel, Lane: enginetest.FreeLane("openai"), Free: true,
				Unreachable: client(t, enginetest.Nowhere(t)),
			})
		})
	}
}

// TestReal runs the contract against a server of the user's; see package
// enginetest.
func TestReal(t *testing.T) {
	real := enginetest.RealServer(t, "EYRIE_OPENAI_URL")
	codec, err := enginetest.LoadCodec(real.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openai.New(openai.Config{BaseURL: real.URL, Key: real.Key, Codec: codec})
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Inspect(t.Context(), real.Model)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", f)
	enginetest.Run(t, enginetest.Subject{Engine: c, Model: real.Model, Lane: enginetest.FreeLane("openai"), Codec: codec, Free: true})
}

func TestAnotherTokenizer(t *testing.T) {
	_, url := enginetest.Serve(t, emulator.LocalConfig{Kind: emulator.LlamaCPP, Quirks: []string{"other_tokenizer"}})
	_, err := client(t, url).Inspect(t.Context(), enginetest.KimiModel)
	if e, ok := eyrie.AsError(err); !ok || e.Class != "wrong tokenizer" {
		t.Errorf("got %v", err)
	}
}

// A server without a reasoning parser leaves the reasoning in the text, and
// here there are no ids to read it from.
func TestReasoningInTheText(t *testing.T) {
	_, url := enginetest.Serve(t, emulator.LocalConfig{Kind: emulator.LlamaCPP, Lacks: []string{"reasoning_parser"}})
	c := client(t, url)
	if _, err := c.Inspect(t.Context(), enginetest.KimiModel); err != nil {
		t.Fatal(err)
	}
	_, err := enginetest.Ask(t, c, enginetest.Question(enginetest.FreeLane("openai"), enginetest.KimiModel, "Why?"))
	if e, ok := eyrie.AsError(err); !ok || e.Class != "reasoning" || !strings.Contains(e.Hint, "reasoning parser") {
		t.Errorf("got %v", err)
	}
}
