package journal_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/durable"
	"github.com/eyrie-ai/eyrie/journal"
)

// exhibits are records of every kind, as each museum's journal holds them.
func exhibits() []eyrie.Record {
	usage := 3 * eyrie.Dollar
	key, prompt := eyrie.Key{0xaa, 1}, eyrie.Digest{0xbb, 2}
	return []eyrie.Record{
		&eyrie.SessionRecord{Version: "museum", Budget: 100 * eyrie.Dollar, AccountUsage: &usage},
		&eyrie.PromptRecord{
			Prompt: prompt, Set: "code", ID: "p-1", Ordinal: 41,
			Messages: []eyrie.Message{
				{Role: eyrie.System, Content: "Be brief."},
				{Role: eyrie.User, Name: "ann", Content: "What is <b> & 漢字 🦉 in \u2028 JSON?"},
				{Role: eyrie.Assistant, Reasoning: "hm", ToolCalls: []eyrie.ToolCall{{ID: "c1", Name: "look", Arguments: `{"a":1}`}}},
				{Role: eyrie.ToolRole, Content: "nothing", ToolCallID: "c1"},
			},
			Tools: []byte(`[{"type":"function","function":{"name":"look","parameters":{"z":1,"a":2}}}]`),
		},
		&eyrie.StartedRecord{
			Attempt: 7, Key: key, Prompt: prompt, Set: "code", Turn: 1, Sample: 2, Try: 3, Lane: "a/int4", Hold: 123456789,
			PromptTokens: 77, Sampling: eyrie.Sampling{
				Temperature: new(0.7), TopP: new(0.95), TopK: new(40), MinP: new(0.01), Seed: new(int64(-5)), MaxTokens: 4096, Thinking: true,
			},
		},
		&eyrie.SeenRecord{Attempt: 7, ID: "gen-1-abc"},
		&eyrie.EndedRecord{
			Attempt: 7, Key: key, Prompt: prompt, Set: "code", Turn: 1, Sample: 2, Lane: "a/int4", OK: true,
			Charged: eyrie.ChargedYes, Cost: 987654321, ID: "gen-1-abc", Provider: "A", Model: "a/model",
			Reasoning: "first\nthen", Content: "answer \"quoted\" \\ 漢字",
			ToolCalls:    []eyrie.ToolCall{{ID: "c2", Name: "look", Arguments: `{"b": 2}`}},
			FinishReason: eyrie.FinishToolCalls, NativeFinish: "tool_use",
			Usage:     eyrie.Usage{Given: true, PromptTokens: 78, CompletionTokens: 9, ReasoningTokens: 3, CachedTokens: 64},
			PromptIDs: []int32{1, 2, 163583}, CompletionIDs: []int32{5, 6}, FinalFrame: `data: {"id":"gen-1-abc"}`,
			FirstContentMS: 310, ElapsedMS: 4321,
		},
		&eyrie.StartedRecord{Attempt: 8, Key: eyrie.Key{0xcc}, Prompt: prompt, Set: "chat", Try: 1, Lane: "b/fp8", Hold: 5, Sampling: eyrie.Sampling{MaxTokens: 16}},
		&eyrie.EndedRecord{
			Attempt: 8, Key: eyrie.Key{0xcc}, Prompt: prompt, Set: "chat", Lane: "b/fp8", Class: "stream cut", Detail: "the stream ended without an end",
			Charged: eyrie.ChargedUnknown, Content: "half an ans", Usage: eyrie.Usage{ReasoningTokens: -1},
		},
		&eyrie.SettledRecord{Attempts: []int64{8, 9}, Cost: 42, Source: "generation gen-2"},
		&eyrie.GaveUpRecord{Key: eyrie.Key{0xcc}, Prompt: prompt, Set: "chat", Turn: 1, Sample: 1, Class: "empty answer", Detail: "twice"},
	}
}

// withBudget are the exhibits since there are budget records. It lies in a
// segment that is sealed.
func withBudget() []eyrie.Record {
	return slices.Insert(exhibits(), 4, eyrie.Record(&eyrie.BudgetRecord{Budget: 125 * eyrie.Dollar / 2, Job: 100 * eyrie.Dollar}))
}

var update = flag.Bool("update", false, "write the museum's exhibit of this version, where there is none")

// TestMuseum reads a run folder of every version that was ever written, and of
// the first that had another kind of record.
func TestMuseum(t *testing.T) {
	halls := []struct {
		name  string
		holds []eyrie.Record
	}{
		{"v1", exhibits()},
		{"v2", exhibits()},
		{"v2-budget", withBudget()},
	}
	newest := halls[len(halls)-1]
	if _, err := os.Stat("testdata/museum/" + newest.name); *update && err != nil {
		makeExhibit(t, "testdata/museum/"+newest.name, newest.holds)
	}
	if dirs, err := filepath.Glob("testdata/museum/*"); err != nil || len(dirs) != len(halls) {
		t.Fatalf("the museum has %v, %v", dirs, err)
	}
	for _, hall := range halls {
		dir, want := "testdata/museum/"+hall.name, hall.holds
		t.Run(hall.name, func(t *testing.T) {
			run := t.TempDir() // opening writes
			if err := os.CopyFS(run, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(run)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			got, torn, err := replay(t, durable.Root(root))
			if err != nil || torn != nil {
				t.Fatalf("torn %v, %v", torn, err)
			}
			if len(got) != len(want) {
				t.Fatalf("%d of %d records", len(got), len(want))
			}
			rd := journal.NewReader(root)
			defer rd.Close()
			for i, e := range got {
				again, err := rd.At(e.Ref)
				if err != nil || !reflect.DeepEqual(e.Record, want[i]) || !reflect.DeepEqual(again, want[i]) {
					t.Errorf("record %d is %+v and %+v, %v; want %+v", i, e.Record, again, err, want[i])
				}
				if e.Time.Year() != 2026 {
					t.Errorf("record %d is of %v", i, e.Time)
				}
			}
		})
	}
}

// makeExhibit writes a run folder with two sealed segments and a plain one.
func makeExhibit(t *testing.T, dir string, recs []eyrie.Record) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, part := range [][]eyrie.Record{recs[:4], recs[4:7], recs[7:]} {
		j, _, err := journal.OpenIn(durable.Root(root), journal.Options{SegmentSize: 600}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Append(part...); err != nil {
			t.Fatal(err)
		}
		for len(files(t, durable.Root(root), ".jsonl")) > 1 {
			runtime.Gosched() // until the sealer is through
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := root.Remove("journal/lock"); err != nil {
		t.Fatal(err)
	}
}
