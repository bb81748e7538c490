package openrouter_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/internal/memnet"
)

const (
	model    = "moonshotai/kimi-k2.5"
	testKey  = "sk-or-v1-not-a-real-key-0"
	atlas    = "atlas-cloud/int4"
	testBase = "http://vendor.test/api/v1"
)

// serve runs a handler in the bubble of the caller and returns a client of it.
func serve(t *testing.T, h http.Handler, change func(*openrouter.Config)) (*openrouter.Client, *memnet.Network) {
	t.Helper()
	network := memnet.New()
	cfg := openrouter.Config{BaseURL: testBase, Key: testKey, Dial: network.Dial}
	if change != nil {
		change(&cfg)
	}
	c, err := openrouter.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: h}
	go web.Serve(network)
	t.Cleanup(func() {
		c.Close()
		web.Close()
		synctest.Wait()
	})
	return c, network
}

// world is an emulated vendor with a client of it.
type world struct {
	*emulator.Server
	client *openrouter.Client
	memory *memnet.Network
	lanes  map[string]*eyrie.Lane
}

// newWorld runs a vendor with faults in the bubble of the caller.
func newWorld(t *testing.T, change func(*emulator.Scenario, *openrouter.Config), faults ...emulator.Fault) *world {
	t.Helper()
	scenario := emulator.DefaultScenario()
	scenario.Faults = faults
	cfg := openrouter.Config{}
	if change != nil {
		change(&scenario, &cfg)
	}
	s, err := emulator.New(emulator.Config{Vocabulary: vocabulary(), Seed: 11, Scenario: &scenario})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Server: s, lanes: map[string]*eyrie.Lane{}}
	w.client, w.memory = serve(t, s, func(c *openrouter.Config) {
		c.Limits, c.Gather, c.DataCollection, c.Logprobs = cfg.Limits, cfg.Gather, cfg.DataCollection, cfg.Logprobs
		c.NeedLogprobs = cfg.NeedLogprobs
	})
	cat, err := w.client.Endpoints(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range cat.Lanes {
		w.lanes[l.Tag] = l
	}
	return w
}

// request asks a thinking model one question on a lane.
func request(lane *eyrie.Lane) *eyrie.Request {
	return &eyrie.Request{
		Generation: &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: "Why is the sky blue?"}}},
		Model:      model, Lane: lane, Run: "r1", Attempt: 1,
		Sampling: eyrie.Sampling{MaxTokens: 4096, Thinking: true},
	}
}

// weather makes the request one that offers a tool.
func weather(r *eyrie.Request) {
	r.Generation.Tools = []byte(`[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`)
}

// heard is what came of an attempt.
type heard struct {
	*eyrie.Answer
	err    *eyrie.Error // nil for an accepted answer
	events []eyrie.Event
	took   time.Duration
}

// class is the error's, or "" for an accepted answer.
func (h *heard) class() string {
	if h.err == nil {
		return ""
	}
	return h.err.Class
}

func (h *heard) kind() eyrie.ErrorKind {
	if h == nil || h.err == nil {
		return 0
	}
	return h.err.Kind
}

// charged is what the attempt says of its charge.
func (h *heard) charged() eyrie.Charged {
	switch {
	case h.CostGiven:
		return eyrie.ChargedYes
	case h.err == nil:
		return eyrie.ChargedUnknown
	}
	return h.err.Charged
}

// ask makes one attempt and checks what holds for every one.
func ask(t *testing.T, ctx context.Context, c *openrouter.Client, r *eyrie.Request) *heard {
	t.Helper()
	h := &heard{}
	began := time.Now()
	for ev, err := range c.Stream(ctx, r) {
		if h.Answer != nil {
			t.Errorf("an event came after the last: %v", ev.Kind)
		}
		h.events = append(h.events, ev)
		if ev.Kind != eyrie.Ended {
			if err != nil {
				t.Errorf("an error beside %v: %v", ev.Kind, err)
			}
			continue
		}
		h.Answer = ev.Answer
		if err == nil {
			continue
		}
		e, ok := eyrie.AsError(err)
		if !ok || e.Op == "" || e.Subject != r.Lane.Tag || e.Kind == 0 || e.Class == "" || e.Err == nil {
			t.Errorf("not a whole error: %#v", err)
		}
		h.err = e
	}
	h.took = time.Since(began)
	if h.Answer == nil {
		t.Fatal("no Ended came")
	}
	if h.err != nil && (h.err.Charged == eyrie.ChargedYes) != h.CostGiven {
		t.Errorf("charged %v, and cost given is %v", h.err.Charged, h.CostGiven)
	}
	if h.err != nil && strings.Contains(h.err.Error(), testKey) || strings.Contains(string(h.FinalFrame), testKey) {
		t.Errorf("the key shows: %v, %s", h.err, h.FinalFrame)
	}
	return h
}

// words follow the 256 single bytes in the small vocabulary that tests use.
var words = []string{"th", "he", "the", " th", " the", "er", "in", " in", "re", " s", "an", " an", "es", "ou", " a", "问", "题", "的", "\n\n"}

// vocabulary is all bytes and a few words, in Kimi's file format.
func vocabulary() []byte {
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	for i, w := range words {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(w)), 256+i)
	}
	return []byte(b.String())
}

// written is the reasoning and the content that the books say was generated.
// Control tokens stand outside the vocabulary; the first one of a model that
// thinks ends the reasoning, the next one the content.
func written(e emulator.Entry) (reasoning, content string) {
	parts := []string{""}
	if !e.Thinking {
		parts = []string{"", ""}
	}
	for _, id := range e.CompletionIDs {
		last := &parts[len(parts)-1]
		switch {
		case id < 256:
			*last += string([]byte{byte(id)})
		case int(id) < 256+len(words):
			*last += words[id-256]
		default:
			parts = append(parts, "")
		}
	}
	parts = append(parts, "", "")
	return parts[0], parts[1]
}
