package route_test

import (
	"slices"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/route"
)

func TestSortCompares(t *testing.T) {
	type lane struct {
		name string
		route.Pace
	}
	lanes := []lane{
		{"cheap", route.Pace{Rate: 20, FirstContent: 3 * time.Second}},
		{"fast", route.Pace{Rate: 90, FirstContent: 2 * time.Second}},
		{"prompt", route.Pace{Rate: 50, FirstContent: time.Second}},
		{"new", route.Pace{}},
	}
	for sort, want := range map[route.Sort][]string{
		route.ByCost:       {"cheap", "fast", "prompt", "new"},
		route.ByDeadline:   {"cheap", "fast", "prompt", "new"},
		route.ByThroughput: {"new", "fast", "prompt", "cheap"},
		route.ByLatency:    {"new", "prompt", "fast", "cheap"},
	} {
		ordered := slices.Clone(lanes)
		slices.SortStableFunc(ordered, func(a, b lane) int { return sort.Compare(a.Pace, b.Pace) })
		var got []string
		for _, l := range ordered {
			got = append(got, l.name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", sort, got, want)
		}
	}
}

func TestNeeded(t *testing.T) {
	order := []route.Pace{{Rate: 10, Most: 100}, {Most: 10}, {Rate: 50, Most: 1000}} // 1000, 300 and 50,000 tokens a second
	for _, row := range []struct {
		tokens int64
		left   time.Duration
		want   int
	}{
		{0, time.Hour, 1},
		{3_000_000, time.Hour, 1},
		{3_500_000, time.Hour, 2},
		{4_000_000, time.Hour, 3},
		{1_000_000_000, time.Hour, 3},
		{1000, -time.Second, 3}, // it is too late: whatever there is
	} {
		if got := route.Needed(order, row.tokens, row.left); got != row.want {
			t.Errorf("%d tokens in %v need %d lanes, want %d", row.tokens, row.left, got, row.want)
		}
	}
}

func TestParseSort(t *testing.T) {
	for i, name := range route.Sorts() {
		s, err := route.ParseSort(name)
		if err != nil || s != route.Sort(i) || s.String() != name {
			t.Errorf("%s: %v %v", name, s, err)
		}
	}
	if _, err := route.ParseSort("cost"); err == nil {
		t.Error("cost is taken for an order")
	}
}
