package sglang_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/sglang"
	"github.com/eyrie-ai/eyrie/internal/enginetest"
)

// open makes a client of an emulated server and looks at it.
func open(t *testing.T, ids bool, server emulator.LocalConfig) (*emulator.Local, *sglang.Client, sglang.Facts) {
	t.Helper()
	server.Kind = emulator.SGLang
	l, url := enginetest.Serve(t, server)
	c := client(t, url, ids)
	f, err := c.Inspect(t.Context(), enginetest.KimiModel)
	if err != nil {
		t.Fatal(err)
	}
	return l, c, f
}

func client(t *testing.T, url string, ids bool) *sglang.Client {
	t.Helper()
	_, codec := enginetest.Kimi(t)
	c, err := sglang.New(sglang.Config{BaseURL: url, IDs: ids, Codec: codec, MaxStreams: 32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestContract(t *testing.T) {
	for _, row := range []struct {
		name   string
		ids    bool
		server emulator.LocalConfig
		text   bool // no ids come
	}{
		{name: "chat", server: emulator.LocalConfig{}},
		{name: "chat before return_token_ids", server: emulator.LocalConfig{Lacks: []string{"return_token_ids"}}},
		{name: "chat without ids", server: emulator.LocalConfig{Lacks: []string{"return_token_ids", "meta_info"}}, text: true},
		{name: "chat without a reasoning parser", server: emulator.LocalConfig{Lacks: []string{"reasoning_parser"}}},
		{name: "chat that trims", server: emulator.LocalConfig{Quirks: []string{"trim_stop", "strip_reasoning"}}},
		{name: "ids", ids: true},
		{name: "ids, the last trimmed", ids: true, server: emulator.LocalConfig{Quirks: []string{"trim_stop"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, c, f := open(t, row.ids, row.server)
			if f.IDs == row.text {
				t.Errorf("inspected: %+v", f)
			}
			_, codec := enginetest.Kimi(t)
			enginetest.Run(t, enginetest.Subject{
				Engine: c, Model: enginetest.KimiModel, Lane: enginetest.FreeLane("sglang"), Codec: codec, IDs: !row.text, Free: true,
				Unreachable: client(t, enginetest.Nowhere(t), row.ids),
			})
		})
	}
}

// TestReal runs the contract against a server of the user's; see package
// enginetest.
func TestReal(t *testing.T) {
	real := enginetest.RealServer(t, "EYRIE_SGLANG_URL")
	codec, err := enginetest.LoadCodec(real.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	for _, ids := range []bool{false, true} {
		c, err := sglang.New(sglang.Config{BaseURL: real.URL, Key: real.Key, IDs: ids, Codec: codec})
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.Inspect(t.Context(), real.Model)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", f)
		enginetest.Run(t, enginetest.Subject{
			Engine: c, Model: real.Model, Lane: enginetest.FreeLane("sglang"), Codec: codec, IDs: f.IDs && f.PromptIDs, Free: true,
		})
	}
}

// What an answer says is what the server wrote, to the last id.
func TestIDsAreTheTruth(t *testing.T) {
	for _, row := range []struct {
		name   string
		ids    bool
		server emulator.LocalConfig
	}{
		{"chat", false, emulator.LocalConfig{}},
		{"chat, ids among the logprobs", false, emulator.LocalConfig{Lacks: []string{"return_token_ids"}}},
		{"ids", true, emulator.LocalConfig{}},
		{"ids, the last trimmed", true, emulator.LocalConfig{Quirks: []string{"trim_stop"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.server.Text = emulator.DefaultScenario().Text
			row.server.Text.NonCanonical, row.server.Text.TrailingSpace, row.server.Text.ToolCall = 1, 0.5, 0.5
			l, c, _ := open(t, row.ids, row.server)
			unusual := 0
			for i := range 20 {
				r := enginetest.Question(enginetest.FreeLane("sglang"), enginetest.KimiModel, strings.Repeat("Go on. ", i+1), enginetest.Tools)
				a, err := enginetest.Ask(t, c, r)
				if e, ok := eyrie.AsError(err); ok && e.Class == "tool call" {
					continue
				} else if err != nil {
					t.Fatal(err)
				}
				truth, err := enginetest.Truth(l, a.ID)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(a.CompletionIDs, truth.CompletionIDs) || !slices.Equal(a.PromptIDs, truth.PromptIDs) {
					t.Fatalf("answer %s: the ids are not those that the server wrote", a.ID)
				}
				if !truth.Canonical {
					unusual++
				}
			}
			if unusual == 0 {
				t.Error("no answer was split in an unusual way, so that this shows nothing")
			}
		})
	}
}

func TestWhatIsRefused(t *testing.T) {
	for _, row := range []struct {
		name, model, class, words string
		ids                       bool
		server                    emulator.LocalConfig
	}{
		{"another model", "", "wrong model", "no name for moonshotai/kimi-k2.5, and the server has Qwen/Qwen3-8B", false, emulator.LocalConfig{Model: "Qwen/Qwen3-8B"}},
		{"another name", "kimi", "wrong model", "kimi, and the server has moonshotai/Kimi-K2.5", false, emulator.LocalConfig{}},
		{"another tokenizer", "", "wrong tokenizer", "number 3 is", false, emulator.LocalConfig{Quirks: []string{"other_tokenizer"}}},
		{"no key", "", "401", "Unauthorized", false, emulator.LocalConfig{Key: "secret"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.server.Kind = emulator.SGLang
			_, url := enginetest.Serve(t, row.server)
			_, codec := enginetest.Kimi(t)
			c, err := sglang.New(sglang.Config{BaseURL: url, Model: row.model, Codec: codec})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Inspect(t.Context(), enginetest.KimiModel)
			e, ok := eyrie.AsError(err)
			if !ok || e.Class != row.class || !strings.Contains(err.Error(), row.words) {
				t.Errorf("got %v, want %s with %q", err, row.class, row.words)
			}
		})
	}
}

func TestIDsThatDoNotCome(t *testing.T) {
	_, c, _ := open(t, true, emulator.LocalConfig{Lacks: []string{"output_ids"}})
	_, err := enginetest.Ask(t, c, enginetest.Question(enginetest.FreeLane("rack1"), enginetest.KimiModel, "Hello."))
	if e, ok := eyrie.AsError(err); !ok || e.Class != "no ids" || e.Charged != eyrie.ChargedNo {
		t.Errorf("a server that returns no ids: %v", err)
	}
}

func TestContextIsTooShort(t *testing.T) {
	_, c, f := open(t, true, emulator.LocalConfig{Context: 512})
	if f.Context != 512 {
		t.Errorf("context %d", f.Context)
	}
	_, err := enginetest.Ask(t, c, enginetest.Question(enginetest.FreeLane("rack1"), enginetest.KimiModel, "Hello."))
	if e, ok := eyrie.AsError(err); !ok || e.Kind != eyrie.Elsewhere || !strings.Contains(err.Error(), "512 tokens") {
		t.Errorf("max_tokens over the context: %v", err)
	}
}
