package emulator

import (
	"errors"
	"fmt"
	"time"
)

// price is in dollars for one token, except request.
type price struct {
	prompt, completion, cacheRead, cacheWrite, reasoning, request decimal
	reads, writes, reasons                                        bool // whether there is a price for them
}

// wirePrice is a price list, or one of its overrides, as far as it decides
// something.
type wirePrice struct {
	Prompt     string `json:"prompt"`
	Completion string `json:"completion"`
	CacheRead  string `json:"input_cache_read"`
	CacheWrite string `json:"input_cache_write"`
	Reasoning  string `json:"internal_reasoning"` // of a completion token of it, in place of the completion's
	Request    string `json:"request"`
	MinPrompt  int    `json:"min_prompt_tokens"`
	Start      *int   `json:"utc_start"` // HHMM
	End        *int   `json:"utc_end"`
}

// override is what the price is under a condition.
type override struct {
	minPrompt  int
	start, end int // HHMM in UTC, from start until before end; the same means always
	list       wirePrice
}

// readOverrides checks the overrides of a price.
func (e *endpoint) readOverrides(list []wirePrice) ([]override, error) {
	var out []override
	for i, w := range list {
		o := override{minPrompt: w.MinPrompt, list: w}
		if w.Start != nil && w.End != nil {
			o.start, o.end = *w.Start, *w.End
		}
		if _, err := e.price.with(w); err != nil {
			return nil, fmt.Errorf("override %d: %w", i, err)
		}
		out = append(out, o)
	}
	return out, nil
}

// with returns p with the prices that a list names.
func (p price) with(w wirePrice) (price, error) {
	var errs []error
	amount := func(text string, into *decimal) bool {
		if text == "" {
			return false
		}
		d, err := parseDecimal(text)
		*into = d
		errs = append(errs, err)
		return true
	}
	amount(w.Prompt, &p.prompt)
	amount(w.Completion, &p.completion)
	amount(w.Request, &p.request)
	p.reads = amount(w.CacheRead, &p.cacheRead) || p.reads
	p.writes = amount(w.CacheWrite, &p.cacheWrite) || p.writes
	if amount(w.Reasoning, &p.reasoning) {
		// Lists name it where it is the completion's, too, and their overrides
		// do not: it goes with the completion's then.
		p.reasons = p.reasoning.sign() != 0 && p.reasoning.cmp(p.completion) != 0
	}
	if !p.reads {
		p.cacheRead = p.prompt
	}
	if !p.reasons {
		p.reasoning = p.completion
	}
	return p, errors.Join(errs...)
}

// dearest is the most that a token of a completion costs.
func (p price) dearest() decimal {
	if p.reasoning.cmp(p.completion) > 0 {
		return p.reasoning
	}
	return p.completion
}

// holds reports whether the override applies.
func (o override) holds(promptTokens int, now time.Time) bool {
	now = now.UTC()
	clock := now.Hour()*100 + now.Minute()
	within := o.start <= clock && clock < o.end
	if o.start >= o.end {
		within = o.start == o.end || clock >= o.start || clock < o.end
	}
	return promptTokens >= o.minPrompt && within
}

// priceFor is the price of a request that begins now with a prompt of so many
// tokens.
func (e *endpoint) priceFor(promptTokens int, now time.Time) price {
	p := e.price
	for _, o := range e.overrides {
		if o.holds(promptTokens, now) {
			p, _ = p.with(o.list) // it was read before
		}
	}
	return p
}

// bill is what one request costs.
type bill struct {
	prompt, cached, written, completion, reasoning int
	promptCost, completionCost, cost               decimal
}

// newBill prices token counts, exactly. A token that is written to the cache
// costs the price of that in place of the prompt's, or on top of it.
func newBill(p price, b bill, onTop bool) bill {
	read := b.prompt - b.cached
	if !onTop {
		read -= b.written
	}
	b.promptCost = p.prompt.times(read).plus(p.cacheRead.times(b.cached)).plus(p.cacheWrite.times(b.written)).plus(p.request)
	b.completionCost = p.completion.times(b.completion - b.reasoning).plus(p.reasoning.times(b.reasoning))
	b.cost = b.promptCost.plus(b.completionCost)
	return b
}
