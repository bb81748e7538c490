package dataset_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset"
)

// checkPrompt holds a prompt against what the package promises of every one.
func checkPrompt(t *testing.T, p *eyrie.Prompt) {
	t.Helper()
	if p.ID == "" || len(p.Messages) == 0 {
		t.Fatalf("incomplete prompt %+v", p)
	}
	started, users := false, 0
	for i, m := range p.Messages {
		for _, s := range []string{m.Content, m.Reasoning, m.Name, m.ToolCallID} {
			if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
				t.Errorf("%s: message %d holds text that is none", p.ID, i)
			}
		}
		if m.Role != eyrie.System && !started {
			started = true
			if m.Role != eyrie.User {
				t.Errorf("%s: starts with %s", p.ID, m.Role)
			}
		}
		switch m.Role {
		case eyrie.User:
			users++
			if strings.TrimSpace(m.Content) == "" {
				t.Errorf("%s: message %d is empty", p.ID, i)
			}
		case eyrie.Assistant:
			if i > 0 && p.Messages[i-1].Role == eyrie.Assistant {
				t.Errorf("%s: the assistant speaks twice at message %d", p.ID, i)
			}
		case eyrie.System, eyrie.ToolRole:
		default:
			t.Errorf("%s: message %d is of role %q", p.ID, i, m.Role)
		}
	}
	if users == 0 {
		t.Errorf("%s: no user", p.ID)
	}
	if p.Tools != nil {
		v := jsontext.Value(p.Tools).Clone()
		if err := v.Compact(jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)); err != nil || v.Kind() != '[' || string(v) != string(p.Tools) {
			t.Errorf("%s: tools are no compact array: %s", p.ID, p.Tools)
		}
	}
}

// shared returns the folder with the samples, or skips the test.
func shared(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("EYRIE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "datasets")); err != nil {
		t.Skip("no samples of public data sets here; EYRIE_SHARED names their folder")
	}
	return filepath.Join(dir, "datasets")
}

// TestSamples reads pieces of public prompt sets. The numbers were counted
// with another JSON library and another program.
func TestSamples(t *testing.T) {
	dir := shared(t)
	tests := []struct {
		file   string
		layout dataset.Layout
		rows   int
		want   tally
		drops  map[dataset.Reason]int
	}{
		{"torchspec/sample_conversations.first131.jsonl", dataset.Messages, 131, tally{116, 179, 0, 0}, map[dataset.Reason]int{dataset.Duplicate: 15}},
		{"torchspec/eval_conversations.jsonl", dataset.Messages, 64, tally{64, 86, 0, 0}, nil},
		{"torchspec/sample_kimi_k25_conversations.jsonl", dataset.Messages, 8, tally{4, 6, 1, 0}, map[dataset.Reason]int{dataset.Image: 3, dataset.Duplicate: 1}},
		{"model-optimizer/synthetic_conversations_1k.first300.jsonl", dataset.Messages, 300, tally{300, 328, 0, 0}, nil},
		{"specforge/tool_use_conversation.jsonl", dataset.Messages, 1, tally{1, 6, 5, 1}, nil},
		{"llama-factory/reason_tool_use_demo_50.first34.jsonl", dataset.Messages, 34, tally{31, 71, 46, 75}, map[dataset.Reason]int{dataset.Duplicate: 3}},
		{"llama-factory/glaive_toolcall_en_demo.first83.json", dataset.ShareGPT, 83, tally{81, 273, 61, 58}, map[dataset.Reason]int{dataset.Duplicate: 2}},
		{"swe-smith/ft_xml_example.jsonl", dataset.Messages, 3, tally{3, 103, 0, 0}, nil},
		{"export_examples/eagle_sharegpt.jsonl", dataset.ShareGPT, 1, tally{1, 1, 0, 0}, nil},
	}
	for _, tt := range tests {
		t.Run(filepath.Base(tt.file), func(t *testing.T) {
			prompts, report := readAll(t, dataset.Source{Set: "sample", Path: filepath.Join(dir, tt.file)}, dataset.Options{})
			got := tally{prompts: report.Kept, turns: report.Turns}
			for _, p := range prompts {
				checkPrompt(t, p)
				got.add(t, p)
			}
			if report.Layout != tt.layout || report.Rows != tt.rows || got != tt.want {
				t.Errorf("layout %s, %d rows, %+v; want %s, %d, %+v", report.Layout, report.Rows, got, tt.layout, tt.rows, tt.want)
			}
			drops := map[dataset.Reason]int{}
			for reason, c := range report.Dropped {
				drops[reason] = c.N
			}
			if !maps.Equal(drops, tt.drops) {
				t.Errorf("left out %v, want %v\n%v", drops, tt.drops, report)
			}
		})
	}
}

// tally is what can be counted in prompts.
type tally struct{ prompts, turns, calls, tools int }

func (n *tally) add(t *testing.T, p *eyrie.Prompt) {
	t.Helper()
	for _, m := range p.Messages {
		n.calls += len(m.ToolCalls)
	}
	if p.Tools == nil {
		return
	}
	var tools []jsontext.Value
	if err := json.Unmarshal(p.Tools, &tools); err != nil {
		t.Fatal(err)
	}
	n.tools += len(tools)
}
