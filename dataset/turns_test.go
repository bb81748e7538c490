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
