package emulator

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// hearing is how long a refusal may take to reach whoever decides on the next
// request: what begins within it was under way already.
const hearing = 100 * time.Millisecond

// Findings are a client's mistakes, as far as the books show them. A careful
// client leaves all of them empty.
type Findings struct {
	// ChargedTwice are items that were charged more often than once, with the
	// number of charges.
	ChargedTwice map[string]int `json:"charged_twice"`
	// AfterStop are the numbers of requests that began after the vendor had
	// said that the money is gone, and a moment to hear of it had passed.
	AfterStop []int `json:"after_stop"`
	// TooSoon are the numbers of requests that asked an endpoint again before
	// the time that its Retry-After named, likewise.
	TooSoon []int `json:"too_soon"`
}

// Examine looks for mistakes in the books. item names what a request is for,
// so that charges can be told apart from repetitions that are meant; nil is
// [ItemOf].
func Examine(entries []Entry, item func(Entry) string) Findings {
	if item == nil {
		item = ItemOf
	}
	f := Findings{ChargedTwice: map[string]int{}}
	byTime := slices.SortedFunc(slices.Values(entries), func(a, b Entry) int { return cmp.Compare(a.Number, b.Number) })
	for _, e := range byTime {
		if e.Billed {
			f.ChargedTwice[item(e)]++
		}
	}
	maps.DeleteFunc(f.ChargedTwice, func(_ string, n int) bool { return n < 2 })
	stopped, earliest := moments(byTime)
	for _, e := range byTime {
		if !stopped.IsZero() && e.Began.After(stopped.Add(hearing)) {
			f.AfterStop = append(f.AfterStop, e.Number)
		}
		if slices.ContainsFunc(earliest[e.Endpoint], func(p pause) bool { return e.Began.After(p.from) && e.Began.Before(p.until) }) {
			f.TooSoon = append(f.TooSoon, e.Number)
		}
	}
	return f
}

// pause is a time in which an endpoint did not want to be asked.
type pause struct{ from, until time.Time }

// moments finds when the money was said to be gone, and the pauses that each
// endpoint asked for.
func moments(entries []Entry) (stopped time.Time, pauses map[string][]pause) {
	pauses = map[string][]pause{}
	for _, e := range entries {
		switch e.Refusal {
		case "no_credits", "cannot_afford", "key_limit":
			if stopped.IsZero() || e.Ended.Before(stopped) {
				stopped = e.Ended
			}
		}
		if seconds, err := strconv.Atoi(e.RetryAfter); err == nil && e.Status == 429 && e.Endpoint != "" {
			pauses[e.Endpoint] = append(pauses[e.Endpoint], pause{e.Ended.Add(hearing), e.Ended.Add(time.Duration(seconds) * time.Second)})
		}
	}
	return stopped, pauses
}

// ItemOf names what a request is for: its metadata, except for an attempt
// number, or the prompt when it has none.
func ItemOf(e Entry) string {
	var body struct {
		Metadata map[string]string `json:"metadata"`
	}
	if json.Unmarshal(e.Body, &body) != nil || len(body.Metadata) == 0 {
		return e.PromptDigest
	}
	delete(body.Metadata, "attempt")
	return string(mustJSON(body.Metadata))
}
