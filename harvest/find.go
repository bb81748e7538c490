package harvest

import (
	"iter"
	"regexp"
	"strconv"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

// Find yields the items that a name means, without rows: a row's id, which every
// set may have, or a generation's key. There may be none.
func (h *Harvest) Find(name string) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		rd := journal.NewReader(h.run)
		defer rd.Close()
		is := h.named(rd, name)
		for i := range h.entries {
			e := &h.entries[i]
			match, err := is(e)
			if err == nil && !match {
				continue
			}
			var item *Item
			if err == nil {
				item, err = new(conversation).item(h, rd, e)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// rowID takes a row's id apart.
var rowID = regexp.MustCompile(`(?s)^(.*)/t([0-9]+)/s([0-9]+)$`)

// named returns a test for entries of the given name.
func (h *Harvest) named(rd *journal.Reader, name string) func(*entry) (bool, error) {
	var key eyrie.Key
	if key.UnmarshalText([]byte(name)) == nil {
		return func(e *entry) (bool, error) {
			rec, err := read[*eyrie.EndedRecord](rd, e.ref)
			return err == nil && rec.Key == key, err
		}
	}
	m := rowID.FindStringSubmatch(name)
	if m == nil {
		return func(*entry) (bool, error) { return false, nil }
	}
	turn, _ := strconv.Atoi(m[2]) // a number out of range is found nowhere
	sample, _ := strconv.Atoi(m[3])
	return func(e *entry) (bool, error) {
		if e.turn != turn || e.sample != sample {
			return false, nil
		}
		rec, err := read[*eyrie.PromptRecord](rd, h.prompts[e.prompt].ref)
		return err == nil && rec.ID == m[1], err
	}
}
