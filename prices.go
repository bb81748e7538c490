package eyrie

import (
	"math"
	"time"
)

// Tier is a change of a lane's prices for prompts of at least MinPrompt tokens,
// at certain hours. A price that is unknown does not change. Where several tiers
// apply, later ones win.
type Tier struct {
	MinPrompt      int
	Hours          Hours
	PromptPrice    Price
	OutputPrice    Price
	CachedPrice    Price
	WritePrice     Price
	ReasoningPrice Price
	RequestPrice   Price
}

// CompletionPrice is what a token of a completion costs at most, be it of
// reasoning or of the answer.
func (r Tier) CompletionPrice() Price { return dearer(r.OutputPrice, r.ReasoningPrice) }

// Hours are a part of every day in UTC, from Start until before End, both since
// midnight. An End before the Start lies on the next day; the same as the Start
// it means the whole day.
type Hours struct{ Start, End time.Duration }

// All reports whether the hours are the whole day.
func (h Hours) All() bool { return h.Start == h.End }

// hold reports whether a moment is within the hours.
func (h Hours) hold(t time.Time) bool {
	t = t.UTC()
	since := t.Sub(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC))
	if h.Start < h.End {
		return h.Start <= since && since < h.End
	}
	return h.All() || since >= h.Start || since < h.End
}

// base are the prices that hold where no tier does.
func (l *Lane) base() Tier {
	return Tier{
		PromptPrice: l.PromptPrice, OutputPrice: l.OutputPrice, CachedPrice: l.CachedPrice, WritePrice: l.WritePrice,
		ReasoningPrice: l.ReasoningPrice, RequestPrice: l.RequestPrice,
	}
}

// Free reports whether nothing is ever charged on the lane, whatever is asked.
func (l *Lane) Free() bool {
	r := l.Dearest(math.MaxInt)
	return r.PromptPrice.Known() && r.OutputPrice.Known() && r.PromptPrice.IsZero() && r.CachedPrice.IsZero() && r.CompletionPrice().IsZero() && r.WritePrice.IsZero() && r.RequestPrice.IsZero()
}

// Rates are the prices that hold for a prompt of so many tokens, outside the
// hours that have prices of their own.
func (l *Lane) Rates(promptTokens int) Tier { return l.rates(promptTokens, Hours.All) }

// RatesAt are the prices that hold for a prompt of so many tokens at a time.
func (l *Lane) RatesAt(promptTokens int, at time.Time) Tier {
	return l.rates(promptTokens, func(h Hours) bool { return h.hold(at) })
}

func (l *Lane) rates(promptTokens int, within func(Hours) bool) Tier {
	r := l.base()
	for _, t := range l.Tiers {
		if promptTokens < t.MinPrompt || !within(t.Hours) {
			continue
		}
		r.PromptPrice = t.PromptPrice.or(r.PromptPrice)
		r.OutputPrice = t.OutputPrice.or(r.OutputPrice)
		r.CachedPrice = t.CachedPrice.or(r.CachedPrice)
		r.WritePrice = t.WritePrice.or(r.WritePrice)
		r.ReasoningPrice = t.ReasoningPrice.or(r.ReasoningPrice)
		r.RequestPrice = t.RequestPrice.or(r.RequestPrice)
	}
	r.MinPrompt = promptTokens
	r.CachedPrice, r.ReasoningPrice = r.CachedPrice.or(r.PromptPrice), r.ReasoningPrice.or(r.OutputPrice)
	return r
}

// Dearest are the highest prices that a prompt of up to so many tokens can have
// at any hour, each of them by itself.
func (l *Lane) Dearest(promptTokens int) Tier {
	r := l.base()
	for _, t := range l.Tiers {
		if t.MinPrompt <= promptTokens {
			r.PromptPrice = dearer(r.PromptPrice, t.PromptPrice)
			r.OutputPrice = dearer(r.OutputPrice, t.OutputPrice)
			r.CachedPrice = dearer(r.CachedPrice, t.CachedPrice)
			r.WritePrice = dearer(r.WritePrice, t.WritePrice)
			r.ReasoningPrice = dearer(r.ReasoningPrice, t.ReasoningPrice)
			r.RequestPrice = dearer(r.RequestPrice, t.RequestPrice)
		}
	}
	r.CachedPrice = r.CachedPrice.or(r.PromptPrice)
	return r
}

// dearer is the higher of two prices; one that is unknown is none.
func dearer(a, b Price) Price {
	if !b.Known() || a.Known() && a.Cmp(b) >= 0 {
		return a
	}
	return b
}

// WorstCase is the most that one request can be billed on the lane: the prompt
// at the highest prices that a prompt of up to so many tokens can have, written
// to the cache on top, the longest completion the endpoint may produce, which is
// maxTokens where it enforces it and its own maximum where it does not, all of
// it at the dearer of the prices of reasoning and answer, and the request's own.
func (l *Lane) WorstCase(promptTokens, maxTokens int) Money {
	r, out := l.Dearest(promptTokens), maxTokens
	if l.Overruns {
		switch {
		case l.MaxOutput > 0:
			out = max(out, l.MaxOutput)
		case l.Context > 0:
			out = max(out, l.Context)
		case r.CompletionPrice().IsZero():
			out = 0 // however long it is
		default:
			return MaxMoney // no answer is too long for it
		}
	}
	return max(r.PromptPrice.Times(promptTokens), r.CachedPrice.Times(promptTokens)).
		Add(r.WritePrice.Times(promptTokens)).Add(r.CompletionPrice().Times(out)).Add(r.RequestPrice.Times(1))
}

// Cost is what the lane's price list makes of the given usage when nothing is
// written to the cache, outside the hours that have prices of their own. A count
// of reasoning tokens that is not given is taken as none.
func (l *Lane) Cost(u Usage) Money { return l.Rates(u.PromptTokens).cost(u, max(0, u.ReasoningTokens)) }

func (r Tier) cost(u Usage, reasoning int) Money {
	reasoning = min(reasoning, u.CompletionTokens)
	return r.PromptPrice.Times(u.PromptTokens - u.CachedTokens).
		Add(r.CachedPrice.Times(u.CachedTokens)).
		Add(r.OutputPrice.Times(u.CompletionTokens - reasoning)).
		Add(r.ReasoningPrice.Times(reasoning)).
		Add(r.RequestPrice.Times(1))
}

// span are the least and the most that the prices make of a usage: they differ
// where it does not say how much was reasoning, and that has its own price.
func (r Tier) span(u Usage) (least, most Money) {
	if u.ReasoningTokens >= 0 {
		cost := r.cost(u, u.ReasoningTokens)
		return cost, cost
	}
	none, all := r.cost(u, 0), r.cost(u, u.CompletionTokens)
	return min(none, all), max(none, all)
}

// Bounds are the least and the most that the lane's price list makes of a usage
// with so many prompt tokens written to the cache, of a request that began and
// ended at the given times. They are the same unless tokens were written, of
// which vendors do not say whether their price comes on top of the prompt's or
// in its place, the prices changed with the hour in between, or reasoning has a
// price of its own and the usage does not count it.
func (l *Lane) Bounds(u Usage, written int, began, ended time.Time) (least, most Money) {
	least = MaxMoney
	for _, at := range []time.Time{began, ended} {
		r := l.RatesAt(u.PromptTokens, at)
		low, high := r.span(u)
		write := r.WritePrice.Times(written)
		instead := max(0, r.PromptPrice.Times(written)-write) // what is saved where it comes in place of the prompt's
		least, most = min(least, max(0, low-instead)), max(most, high.Add(write))
	}
	return least, most
}
