package eyrie

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Pairing says how a data set's tool results find the calls that the target
// model makes in place of the data set's own.
type Pairing string

const (
	// PairExact pairs calls of the same name with the same arguments. It is
	// what the empty word means, too.
	PairExact Pairing = "exact"
	// PairByName also pairs two calls of the same name whose arguments differ,
	// where each side makes just one call of that name.
	PairByName Pairing = "name"
)

// exchange is a call of the data set and its result.
type exchange struct {
	index     int // of the call, among its message's
	name      string
	arguments string // in canonical form
	result    *Message
	taken     bool // by a call of the model
}

// results returns a copy of the data set's messages that follow what it said,
// with the tool results among them paired with the calls that the model made in
// its place: in the order of its calls and under their ids. Where calls and
// results do not fit, why says how.
func results(said *Message, following []Message, calls []ToolCall, pairing Pairing) (own []Message, why Break) {
	own = slices.Clone(following)
	known := said.ToolCalls
	exchanges, orphans := exchanged(known, own)
	paired := pair(calls, exchanges)
	if pairing == PairByName {
		pairByName(calls, known, exchanges, paired)
	}
	missing := slices.Contains(paired, nil)
	left := orphans || slices.ContainsFunc(exchanges, func(e exchange) bool { return !e.taken })
	switch {
	case missing && left:
		return nil, BreakOther
	case missing:
		return nil, BreakResult
	case left:
		return nil, BreakCall
	}
	// There are as many results as calls: they take the places in order.
	results := make([]Message, len(paired))
	for i, e := range paired {
		results[i] = *e.result
		results[i].ToolCallID = calls[i].ID
	}
	n := 0
	for i := range own {
		if own[i].Role == ToolRole {
			own[i] = results[n]
			n++
		}
	}
	return own, ""
}

// exchanged finds the results of a data set's calls among the messages that
// follow: by the call's id, by the tool's name, and where a result has neither,
// by its place. orphans reports results that belong to no call.
func exchanged(calls []ToolCall, own []Message) (exchanges []exchange, orphans bool) {
	of := make([]*Message, len(calls)) // the result of each call
	claim := func(m *Message, fits func(c *ToolCall) bool) bool {
		for i := range calls {
			if of[i] == nil && fits(&calls[i]) {
				of[i] = m
				return true
			}
		}
		return false
	}
	var rest []*Message
	for i := range own {
		m := &own[i]
		if m.Role != ToolRole {
			continue
		}
		if m.ToolCallID == "" || !claim(m, func(c *ToolCall) bool { return c.ID == m.ToolCallID }) {
			rest = append(rest, m)
		}
	}
	for _, m := range rest {
		// An id that no call has says nothing, unless the calls have others.
		nameless := func(c *ToolCall) bool { return m.ToolCallID == "" || c.ID == "" }
		if !claim(m, func(c *ToolCall) bool { return nameless(c) && (m.Name == "" || m.Name == c.Name) }) {
			orphans = true
		}
	}
	for i, m := range of {
		if m != nil {
			exchanges = append(exchanges, exchange{index: i, name: calls[i].Name, arguments: canonical(calls[i].Arguments), result: m})
		}
	}
	return exchanges, orphans
}

// pair finds for each call of the model an exchange of the same name and
// arguments, each exchange for one call. What is not found is nil.
func pair(calls []ToolCall, exchanges []exchange) []*exchange {
	paired := make([]*exchange, len(calls))
	for i := range calls {
		arguments := canonical(calls[i].Arguments)
		for k := range exchanges {
			e := &exchanges[k]
			if !e.taken && e.name == calls[i].Name && e.arguments == arguments {
				e.taken, paired[i] = true, e
				break
			}
		}
	}
	return paired
}

// pairByName pairs what is left and is the only call of its name on each side.
func pairByName(calls, known []ToolCall, exchanges []exchange, paired []*exchange) {
	count := func(calls []ToolCall, name string) (n int) {
		for i := range calls {
			if calls[i].Name == name {
				n++
			}
		}
		return n
	}
	for i := range calls {
		name := calls[i].Name
		if paired[i] != nil || count(calls, name) != 1 || count(known, name) != 1 {
			continue
		}
		for k := range exchanges {
			if e := &exchanges[k]; !e.taken && e.name == name {
				e.taken, paired[i] = true, e
			}
		}
	}
}

// canonical prints arguments in one way, so that white space, the order of keys
// and the way numbers and strings are written do not matter. No arguments are an
// empty object, and a JSON string is taken for the arguments that it spells.
// What is not JSON stays as it is.
func canonical(arguments string) string {
	text := strings.TrimSpace(arguments)
	if strings.HasPrefix(text, `"`) {
		if b, err := jsontext.AppendUnquote(nil, text); err == nil {
			text = strings.TrimSpace(string(b))
		}
	}
	if text == "" || text == "null" {
		return "{}"
	}
	v := jsontext.Value(text)
	// Whole numbers stay as they are: ids of tools do not fit a float.
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return text
	}
	return string(v)
}
