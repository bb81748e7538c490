package config_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/internal/config"
)

// job is a job with data sets as given.
func jobWith(datasets string) string {
	return "model: a/b\ntokenizer: model\nbudget: 1\noutput: runs/x\n" + datasets + "engines:\n- openrouter: {}\n"
}

func TestChoosing(t *testing.T) {
	t.Chdir(workspace(t))
	text := jobWith(`datasets:
- name: code
  path: "*.jsonl"
  tokens: 1M
  format: csv
  columns: {prompt: ask, answer: reply}
  roles: {narrator: system}
  images: skip
  max_row: 1GB
  accept_drops: 0.2
  keep: {languages: [en, zh], tools: false, min_turns: 2, max_turns: 9, min_tokens: 10, max_tokens: 8000}
  near_duplicates: 0.8
  decontaminate: [prompts.jsonl, other.jsonl]
  sample: 5_000
  shuffle: true
  validation: 0.05
`)
	job, err := config.Parse([]byte(text), "job.yaml", config.Env{})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Dataset{
		Name: "code", Path: "*.jsonl", Tokens: 1_000_000, Samples: 1, Turns: "all", Tools: "exact", Layout: "auto", Format: "csv",
		Columns: map[string]string{"prompt": "ask", "answer": "reply"}, Roles: map[string]string{"narrator": "system"},
		Images: "skip", MaxRow: 1 << 30, AcceptDrops: 0.2,
		Keep:           config.Keep{Languages: []string{"en", "zh"}, Tools: new(false), MinTurns: 2, MaxTurns: 9, MinTokens: 10, MaxTokens: 8000},
		NearDuplicates: 0.8, Decontaminate: []string{"prompts.jsonl", "other.jsonl"}, Sample: 5000, Shuffle: true, Validation: 0.05,
	}
	if got := job.Datasets[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestWeights(t *testing.T) {
	t.Chdir(workspace(t))
	text := jobWith(`tokens: 1M
datasets:
- {name: a, path: prompts.jsonl, weight: 3}
- {name: b, path: prompts.jsonl}
- {name: c, path: prompts.jsonl, tokens: 7}
`)
	job, err := config.Parse([]byte(text), "job.yaml", config.Env{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{750_000, 250_000, 7} {
		if got := job.Datasets[i].Tokens; got != want {
			t.Errorf("%s gets %d tokens, want %d", job.Datasets[i].Name, got, want)
		}
	}
	text = strings.Replace(text, "tokens: 7", "tokens: 7, weight: 1", 1)
	_, err = config.Parse([]byte(text), "job.yaml", config.Env{})
	const fault = `job.yaml:9:53: datasets[2].weight: found "1" beside tokens; keep one of the two: tokens is a target of its own, weight a share of the job's`
	if err == nil || err.Error() != fault {
		t.Errorf("got  %v\nwant %s", err, fault)
	}
}
