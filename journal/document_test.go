package journal_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
)

// TestTheDocumentNamesEveryMember holds the page from which a second reader can
// be written against the records: it has each kind, with every member.
func TestTheDocumentNamesEveryMember(t *testing.T) {
	page, err := os.ReadFile("../docs/journal.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind, rec := range map[string]eyrie.Record{
		"session": &eyrie.SessionRecord{}, "prompt": &eyrie.PromptRecord{}, "started": &eyrie.StartedRecord{},
		"seen": &eyrie.SeenRecord{}, "ended": &eyrie.EndedRecord{}, "settled": &eyrie.SettledRecord{},
		"budget": &eyrie.BudgetRecord{}, "gave-up": &eyrie.GaveUpRecord{},
	} {
		_, row, ok := strings.Cut(string(page), "\n| `"+kind+"` |")
		if !ok {
			t.Errorf("no row for %s", kind)
			continue
		}
		row, _, _ = strings.Cut(row, "\n")
		for member, optional := range members(reflect.TypeOf(rec).Elem()) {
			want := "`" + member + "`"
			if optional {
				want += "?"
			}
			if !strings.Contains(row, want) {
				t.Errorf("the row of %s lacks %s", kind, want)
			}
			if !optional && strings.Contains(row, want+"?") {
				t.Errorf("the row of %s says that %s may be left out", kind, want)
			}
		}
	}
	for _, part := range []any{eyrie.Message{}, eyrie.ToolCall{}, eyrie.Sampling{}, eyrie.Usage{}, eyrie.TokenLogprob{}, eyrie.Origin{}} {
		for member := range members(reflect.TypeOf(part)) {
			if !strings.Contains(string(page), "`"+member+"`") {
				t.Errorf("nothing says that %T has %s", part, member)
			}
		}
	}
}

// members lists the JSON names of a struct, and whether each may be left out.
func members(typ reflect.Type) map[string]bool {
	all := map[string]bool{}
	for i := range typ.NumField() {
		name, rest, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		all[name] = strings.Contains(rest, "omitzero")
	}
	return all
}
