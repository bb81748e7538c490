package harvest_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/harvest"
	"github.com/eyrie-ai/eyrie/journal"
)

// onLanes journals one answer to each of 100 conversations, on lanes by turns.
func onLanes(t testing.TB, root *os.Root, lanes ...string) {
	t.Helper()
	var recs []eyrie.Record
	for n := range byte(100) {
		g := asked{"s", n, 0, 0}
		started, ended := g.started(int64(n)+1), g.ended(int64(n)+1)
		lane := lanes[int(n)%len(lanes)]
		started.Lane, ended.Lane = lane, lane
		recs = append(recs, prompt("s", n, int(n)), started, ended)
	}
	write(t, root, recs...)
}

// sample collects the prompts of a lane's sample, in order.
func sample(t testing.TB, h *harvest.Harvest, lane string, n int) []string {
	t.Helper()
	var mu sync.Mutex
	var got []string
	err := h.Sample(lane, n, func(it *harvest.Item) {
		mu.Lock()
		defer mu.Unlock()
		if it.Record.Lane != lane || it.Row.Known != 0 || len(it.Generation.Messages) == 0 {
			t.Errorf("a sample of %s holds %+v", lane, it)
		}
		got = append(got, fmt.Sprintf("%03s", strings.TrimPrefix(it.Generation.PromptID, "p-")))
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	return got
}

func TestASampleIsSpreadOverTheLane(t *testing.T) {
	root, _ := openRoot(t)
	onLanes(t, root, "b", "a") // 50 answers each, b's with even numbers
	h := open(t, root)
	if got := h.Lanes(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the lanes are %q", got)
	}
	for _, row := range []struct {
		n    int
		want []string // nil where only the number counts
		size int
	}{
		{n: 0, size: 0},
		{n: 1, want: []string{"000"}, size: 1},
		{n: 5, want: []string{"000", "020", "040", "060", "080"}, size: 5},
		{n: 49, size: 49},
		{n: 50, size: 50},
		{n: 1000, size: 50},
	} {
		got := sample(t, h, "b", row.n)
		if len(got) != row.size || row.want != nil && !slices.Equal(got, row.want) {
			t.Errorf("a sample of %d: %d items, %q", row.n, len(got), got)
		}
		if again := sample(t, open(t, root), "b", row.n); !slices.Equal(got, again) {
			t.Errorf("a sample of %d differs from the one before: %q", row.n, again)
		}
	}
	if got := sample(t, h, "nobody's", 10); len(got) > 0 {
		t.Errorf("a lane without answers gives %q", got)
	}
}

// TestASampledTurnHasItsHistory: the turns before a sampled one are not in the
// sample, and its messages are complete all the same.
func TestASampledTurnHasItsHistory(t *testing.T) {
	root, _ := openRoot(t)
	gens := []asked{{"s", 1, 0, 0}, {"s", 1, 0, 1}, {"s", 1, 0, 2}}
	recs := answer(gens...)
	recs[5].(*eyrie.EndedRecord).Lane = "other"
	write(t, root, append([]eyrie.Record{prompt("s", 1, 0)}, recs...)...)
	n := 0
	err := open(t, root).Sample("other", 10, func(it *harvest.Item) {
		n++
		if m := it.Generation.Messages; len(m) != 5 || m[3].Content != gens[1].text() {
			t.Errorf("asked %+v", m)
		}
	})
	if err != nil || n != 1 {
		t.Errorf("%d items, %v", n, err)
	}
}

func TestDamageEndsASample(t *testing.T) {
	root, dir := openRoot(t)
	onLanes(t, root, "a")
	h := open(t, root)
	name := filepath.Join(dir, "journal", "000001.jsonl")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(b), "answer 50.0.0", "answer 50.0.X", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	var damage *journal.DamageError
	if err := h.Sample("a", 100, func(*harvest.Item) {}); !errors.As(err, &damage) {
		t.Errorf("the error is %v", err)
	}
}

// TestRowsByLane makes each row by the rebuilder of its own lane.
func TestRowsByLane(t *testing.T) {
	root, _ := openRoot(t)
	onLanes(t, root, "a", "b", "c")
	n := 0
	for it, err := range open(t, root).RowsByLane("s", func(lane string) harvest.Rebuilder {
		return rebuilder(func(*eyrie.Generation, bool, *eyrie.Answer) (eyrie.Row, error) {
			return eyrie.Row{Reason: lane}, nil
		})
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if it.Row.Reason != it.Record.Lane {
			t.Errorf("an answer of lane %s was read as one of %s", it.Record.Lane, it.Row.Reason)
		}
		n++
	}
	if n != 100 {
		t.Errorf("%d rows", n)
	}
}

func TestFind(t *testing.T) {
	root, _ := openRoot(t)
	write(t, root, prompt("x", 1, 0), prompt("x", 2, 1))
	write(t, root, answer(asked{"x", 1, 0, 0}, asked{"w", 1, 0, 1}, asked{"x", 2, 3, 0}, asked{"w", 2, 3, 0})...)
	h := open(t, root)
	for name, want := range map[string]int{
		"p-1/t0/s0":                        1,
		"p-1/t1/s0":                        1,
		"p-1/t2/s0":                        0,
		"p-2/t0/s3":                        1, // bought once, for the first that asked
		"p-2/t0/s0":                        0,
		"p-1":                              0,
		"p-1/t99999999999999999999/s0":     0,
		asked{"w", 1, 0, 1}.key().String(): 1,
		eyrie.Key{9}.String():              0,
	} {
		n := 0
		for it, err := range h.Find(name) {
			if err != nil {
				t.Fatal(err)
			}
			if it.ID() != name && it.Generation.Key.String() != name {
				t.Errorf("%s finds %s", name, it.ID())
			}
			if want := 1 + 2*it.Generation.Turn; len(it.Generation.Messages) != want {
				t.Errorf("%s has %d messages, want %d", name, len(it.Generation.Messages), want)
			}
			n++
		}
		if n != want {
			t.Errorf("%s finds %d items, want %d", name, n, want)
		}
	}
}
