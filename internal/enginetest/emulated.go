package enginetest

import (
	"fmt"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/internal/testvocab"
	"github.com/eyrie-ai/eyrie/tokenizer"
	"github.com/eyrie-ai/eyrie/tokens"
)

// KimiModel is the model that emulated servers serve.
const KimiModel = "moonshotai/kimi-k2.5"

// LoadCodec makes the codec of a model's folder.
func LoadCodec(dir string) (eyrie.Codec, error) {
	tok, err := tokenizer.Load(dir)
	if err != nil {
		return nil, err
	}
	tmpl, err := chat.Load(dir)
	if err != nil {
		return nil, err
	}
	r, err := tokens.New(tok, tmpl)
	if err != nil {
		return nil, err
	}
	return tokens.Codec{Rebuilder: r}, nil
}

// kimi is Kimi's vocabulary and codec, loaded once for all tests.
var kimi struct {
	sync.Mutex
	vocabulary []byte
	codec      eyrie.Codec
}

// Kimi returns Kimi's vocabulary and its codec, or skips the test.
func Kimi(t testing.TB) (vocabulary []byte, codec eyrie.Codec) {
	t.Helper()
	path := testvocab.Path(t)
	kimi.Lock()
	defer kimi.Unlock()
	if kimi.codec == nil {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		codec, err := LoadCodec(testvocab.Folder(t))
		if err != nil {
			t.Fatal(err)
		}
		kimi.vocabulary, kimi.codec = data, codec
	}
	return kimi.vocabulary, kimi.codec
}

// Serve starts an emulated server of one's own on the loopback and returns it
// with its address. It is stopped when the test ends.
func Serve(t testing.TB, config emulator.LocalConfig) (*emulator.Local, string) {
	t.Helper()
	config.Vocabulary, _ = Kimi(t)
	if config.Seed == 0 {
		config.Seed = 7
	}
	l, err := emulator.NewLocal(config)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	return l, s.URL
}

// Nowhere is an address where no server is.
func Nowhere(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(nil)
	s.Close()
	return s.URL
}

// Ask makes one attempt and returns what it came to.
func Ask(t testing.TB, e Engine, r *eyrie.Request) (*eyrie.Answer, error) {
	t.Helper()
	o := drain(t.Context(), e, r)
	if o.answer == nil {
		t.Fatal("an attempt without an end")
	}
	return o.answer, o.err
}

// Question is a request of one message, as the suite makes them.
func Question(lane *eyrie.Lane, model, text string, change ...func(*eyrie.Request)) *eyrie.Request {
	s := Subject{Lane: lane, Model: model}
	return s.request(text, change...)
}

// Tools declares one tool, get_weather.
func Tools(r *eyrie.Request) { r.Generation.Tools = []byte(tools) }

// FreeLane is the lane of a server of one's own.
func FreeLane(name string) *eyrie.Lane {
	return &eyrie.Lane{Engine: name, Tag: name, Provider: name, PromptPrice: eyrie.Free, OutputPrice: eyrie.Free}
}

// Truth finds what the server really wrote, by the id of the answer.
func Truth(l *emulator.Local, id string) (emulator.LocalAnswer, error) {
	for _, a := range l.Truths() {
		if a.ID == id {
			return a, nil
		}
	}
	return emulator.LocalAnswer{}, fmt.Errorf("no answer %s", id)
}
