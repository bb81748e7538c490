package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/eyrie-ai/eyrie/internal/config"
)

const localJob = `
model: moonshotai/kimi-k2.5
tokenizer: model
output: run
datasets:
- {name: code, path: prompts.jsonl, tokens: 10M}
engines:
- sglang:
    base_url: http://127.0.0.1:30000/v1/
    via: ids
    concurrency: 256
    model: kimi
    name: rack1
- vllm: {base_url: https://rack2.example/llm}
- openai: {base_url: http://10.0.0.3:8080, via: chat, key_file: key}
`

// localFolder holds what localJob names.
func localFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "model"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"model/tiktoken.model": "", "prompts.jsonl": "", "key": "secret\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestServersOfOnesOwn(t *testing.T) {
	dir := localFolder(t)
	job, err := config.Parse([]byte(localJob), filepath.Join(dir, "job.yaml"), config.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if job.Budget != 0 || job.Bought() {
		t.Errorf("a job of one's own servers has a budget of %v, bought %v", job.Budget, job.Bought())
	}
	type entry struct {
		Name, Kind, URL, Model string
		IDs                    bool
		Concurrency            int
		Key                    string
	}
	want := []entry{
		{"rack1", config.SGLang, "http://127.0.0.1:30000", "kimi", true, 256, ""},
		{"vllm", config.VLLM, "https://rack2.example/llm", "", false, 0, ""},
		{"openai", config.OpenAI, "http://10.0.0.3:8080", "", false, 0, "secret"},
	}
	for i, e := range job.Engines {
		l := e.Local
		key, err := l.Key()
		if err != nil {
			t.Fatal(err)
		}
		if got := (entry{e.Name, l.Kind, l.BaseURL, l.Model, l.IDs, l.Concurrency, key.Reveal()}); got != want[i] {
			t.Errorf("engine %d: got %+v, want %+v", i, got, want[i])
		}
	}
}

// A fault that only the server can show points at the line it is about.
func TestFaultOfAServer(t *testing.T) {
	dir := localFolder(t)
	file := filepath.Join(dir, "job.yaml")
	job, err := config.Parse([]byte(localJob), file, config.Env{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		engine       int
		field, where string
	}{
		{0, "model", ":12:12: engines[0].sglang.model: "},
		{1, "model", ":14:9: engines[1].vllm.model: "},
		{1, "base_url", ":14:20: engines[1].vllm.base_url: "},
	} {
		err := job.Engines[tt.engine].Local.Fault(tt.field, "X", "do Y")
		if want := file + tt.where + "found X; do Y"; err.Error() != want {
			t.Errorf("got %s, want %s", err, want)
		}
		if _, ok := errors.AsType[*config.Error](err); !ok {
			t.Errorf("%T is no error of a job file", err)
		}
	}
}
