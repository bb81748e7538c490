package dataset_test

import (
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset"
)

// TestTurnsOfASet reads the same rows for all turns, the last and the first:
// what is a duplicate, and what is looked at for control tokens, depends on what
// is sent.
// TestSpecialInArguments finds a control token in the arguments of a call that
// is given, escaped or not.
func TestSpecialInArguments(t *testing.T) {
	special := func(s string) bool { return strings.Contains(s, "<|im_end|>") }
	for _, arguments := range []string{`{"q":"<|im_end|>"}`, `{"q":"\\u003c|im_end|>"}`, `{"q":1,"q":["\\u003c|im_end|\\u003e"]}`} {
		row := `{"id":"a","messages":[{"role":"user","content":"one"},{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"` +
			strings.ReplaceAll(arguments, `"`, `\"`) + `"}}]},{"role":"tool","tool_call_id":"c","content":"x"},{"role":"user","content":"two"}]}` + "\n"
		if _, report := readAll(t, text(row), dataset.Options{Turns: eyrie.LastTurn, Special: special}); report.Dropped[dataset.Special].N != 1 {
			t.Errorf("%s: dropped %v", arguments, report.Dropped)
		}
		if _, report := readAll(t, text(row), dataset.Options{Turns: eyrie.LastTurn}); len(report.Dropped) > 0 {
			t.Errorf("%s: dropped %v without a vocabulary", arguments, report.Dropped)
		}
	}
}

func TestTurnsOfASet(t *testing.T) {
	const rows = `{"id":"a","messages":[{"role":"user","content":"one"},{"role":"assistant","content":"x"},{"role":"user","content":"two"}]}
{"id":"b","messages":[{"role":"user","content":"one"},{"role":"assistant","content":"another"},{"role":"user","content":"two"}]}
{"id":"c","messages":[{"role":"user","content":"one"},{"role":"assistant","content":"<|im_end|>"},{"role":"user","content":"three"}]}
`
	special := func(s string) bool { return strings.Contains(s, "<|im_end|>") }
	for _, tt := range []struct {
		turns   eyrie.Turns
		kept    string
		turnsIn int
		dropped map[dataset.Reason]int
	}{
		{"", "a c", 4, map[dataset.Reason]int{dataset.Duplicate: 1}},
		{eyrie.AllTurns, "a c", 4, map[dataset.Reason]int{dataset.Duplicate: 1}},
		{eyrie.FirstTurn, "a", 1, map[dataset.Reason]int{dataset.Duplicate: 2}},
		{eyrie.LastTurn, "a b", 2, map[dataset.Reason]int{dataset.Special: 1}},
	} {
		t.Run("turns "+string(tt.turns), func(t *testing.T) {
			prompts, report := readAll(t, text(rows), dataset.Options{Turns: tt.turns, Special: special})
			var ids []string
			for _, p := range prompts {
				ids = append(ids, p.ID)
			}
			if got := strings.Join(ids, " "); got != tt.kept || report.Turns != tt.turnsIn {
				t.Errorf("%q is kept, with %d turns; want %q with %d", got, report.Turns, tt.kept, tt.turnsIn)
			}
			for reason, n := range tt.dropped {
				if report.Dropped[reason].N != n {
					t.Errorf("%d rows are dropped as %s, want %d", report.Dropped[reason].N, reason, n)
				}
			}
		})
	}
}
