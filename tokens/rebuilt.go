package tokens

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// rebuilt finds completion ids from the answer's text and the bill.
func (r *Rebuilder) rebuilt(g *eyrie.Generation, thinking bool, a *eyrie.Answer) finding {
	b := newBuilder(r, g, thinking, a)
	plain := b.assemble(b.plain())
	if reason := undecidable(a); reason != "" {
		return finding{plain.ids(), eyrie.KnownRetokenised, reason}
	}
	if b.certain(plain) {
		return finding{ids: plain.ids(), known: eyrie.KnownCounted}
	}
	return b.judge(plain, b.fits())
}

// undecidable says why no count can decide, or nothing.
func undecidable(a *eyrie.Answer) string {
	switch {
	case !a.Usage.Given || a.Usage.CompletionTokens == 0:
		return "the server gave no count"
	case !stopped(a.FinishReason) && a.FinishReason != eyrie.FinishLength:
		return fmt.Sprintf("finish reason %q does not say how the answer ended", a.FinishReason)
	case lostBytes(a):
		return "the text holds replacement characters, so bytes were lost"
	}
	if reason := mixedIDs(a.ToolCalls); reason != "" {
		return reason
	}
	return spoiledArguments(a)
}

// spoiledArguments says which arguments are no JSON, or nothing. The model may
// have written them so; but a server that loses a bracket need not change the
// count by it. Where the answer was cut, its last arguments are.
func spoiledArguments(a *eyrie.Answer) string {
	for i := range a.ToolCalls {
		written := a.ToolCalls[i].Arguments
		if written == "" || i == len(a.ToolCalls)-1 && !stopped(a.FinishReason) {
			continue
		}
		if _, err := chat.AppendJSON(nil, []byte(written), chat.Compact); err != nil {
			return fmt.Sprintf("the arguments of tool call %d are no JSON: changed on the way, or written so", i)
		}
	}
	return ""
}

// mixedIDs says why the ids of tool calls may be the server's as well as the
// model's own, or nothing. Ids that all look like the model's are taken for its
// own, and ids of which none does for the server's. But the model numbers its
// calls, and writes the tool's name into the id: one that stands under two
// calls, or under another tool, was put there by somebody else, and nothing tells
// which of them is still the model's. It has the same number of tokens.
func mixedIDs(calls []eyrie.ToolCall) string {
	native := 0
	for i := range calls {
		id := calls[i].ID
		if !nativeID(id) {
			continue
		}
		native++
		if !namesTool(id, calls[i].Name) {
			return fmt.Sprintf("tool call %d is of %q and has the id %q: the server's, or the model's", i, calls[i].Name, id)
		}
		if j := slices.IndexFunc(calls[:i], func(c eyrie.ToolCall) bool { return c.ID == id }); j >= 0 {
			return fmt.Sprintf("tool calls %d and %d have the same id %q: the server's, or the model's", j, i, id)
		}
	}
	if native > 0 && native < len(calls) {
		return "some ids of its tool calls look like the model's and some do not"
	}
	return ""
}

// lostBytes reports whether the answer holds what decoders put in the place of
// bytes that are no UTF-8.
func lostBytes(a *eyrie.Answer) bool {
	return strings.Contains(a.Reasoning, replacement) || strings.Contains(a.Content, replacement) ||
		slices.ContainsFunc(a.ToolCalls, func(c eyrie.ToolCall) bool { return strings.Contains(c.Arguments, replacement) })
}

// namesTool reports whether a call's id, as the model writes it, has the tool's
// name before its number.
func namesTool(id, name string) bool {
	if i := strings.LastIndexByte(id, ':'); i >= 0 {
		id = id[:i]
	}
	return strings.HasSuffix(id, name)
}

// fit is a sequence of ids that has the counts that were billed.
type fit struct {
	ids    []int32
	weight float64 // how likely, up to a factor that all fits share
	how    set     // what its likeliest reading assumes
	best   float64 // that reading's weight
}

// judge decides between everything that fits the bill, another split of the
// plain text among it.
func (b *builder) judge(plain draft, fits []fit) finding {
	fitting := b.fitsPlain(plain)
	rival := b.rival(plain)
	best, total := fit{ids: plain.ids()}, rival
	for _, f := range fits {
		total += f.weight
		if f.weight > best.weight {
			best = f
		}
	}
	if best.weight > 0 && best.weight >= b.r.confidence*total {
		return finding{best.ids, eyrie.KnownCounted, best.how.assumed()}
	}
	likely := 0
	for _, f := range fits {
		if f.weight >= total/100 {
			likely++
		}
	}
	switch {
	case !fitting && best.weight <= rival:
		return finding{plain.ids(), eyrie.KnownMismatch, b.mismatch(plain) + best.how.perhaps()}
	case likely > 1:
		return finding{best.ids, eyrie.KnownRetokenised,
			fmt.Sprintf("%d likely readings have the length that was billed", likely)}
	case fitting:
		return finding{best.ids, eyrie.KnownRetokenised,
			"the text has the length that was billed, but may have been sampled in other tokens"}
	}
	return finding{best.ids, eyrie.KnownRetokenised, b.mismatch(plain) + best.how.perhaps()}
}

// rival is how likely it is that the plain text was sampled in other tokens.
func (b *builder) rival(plain draft) float64 {
	more := b.answer.Usage.CompletionTokens - plain.size()
	p := b.shares.rival(b.could, more)
	if more == 0 && !b.fitsPlain(plain) { // the reasoning count disagrees, whatever the reason
		p += splitChance(-1)
	}
	return p
}

func (b *builder) mismatch(plain draft) string {
	u := b.answer.Usage
	if n := plain.size(); n != u.CompletionTokens {
		return difference(n, u.CompletionTokens)
	}
	return "reasoning of " + difference(plain.reasoning+plain.around, u.ReasoningTokens)
}

// certain reports whether the plain reading fits and no other could be likely
// enough to matter, so that the others need not be tried.
func (b *builder) certain(plain draft) bool {
	if !b.fitsPlain(plain) {
		return false
	}
	others := 1.0
	for a := range b.could.all {
		if a != EndUncounted {
			others *= 1 - b.shares[a]
		}
	}
	return others >= b.r.confidence
}

// fitsPlain reports whether the bill is that of the plain reading.
func (b *builder) fitsPlain(plain draft) bool {
	_, ok := b.billed(plain, false)
	return ok
}

// fits returns every distinct sequence of ids that the bill allows.
func (b *builder) fits() []fit {
	var fits []fit
	b.try(func(d draft, held set) {
		ids := d.ids()
		w := b.shares.likelihood(held, b.could)
		for i := range fits {
			if f := &fits[i]; slices.Equal(f.ids, ids) {
				f.weight += w
				if w > f.best {
					f.best, f.how = w, held
				}
				return
			}
		}
		fits = append(fits, fit{ids, w, held, w})
	})
	return fits
}

// try calls yield with every reading that the bill allows.
func (b *builder) try(yield func(d draft, held set)) {
	b.candidates(func(d draft, held, counting set, fits bool) {
		if fits {
			yield(d, held|counting)
		}
	})
}

// candidates calls yield with every reading, the plain one first, and says
// whether the bill allows it and by which way of counting.
func (b *builder) candidates(yield func(d draft, held, counting set, fits bool)) {
	for _, rd := range b.readings {
		for _, sp := range b.spaces {
			rd := rd
			rd.space = sp
			rd.held |= sp.held
			if rd.held.size() > maxAssumed {
				continue
			}
			d := b.assemble(rd)
			for _, unbilled := range []bool{false, true} {
				held := rd.held
				if unbilled {
					held = held.with(EndUnbilled)
					if !b.could.has(EndUnbilled) || held.size() > maxAssumed {
						continue
					}
				}
				counting, ok := b.billed(d, unbilled)
				yield(d, held, counting, ok)
			}
		}
	}
}

// billed reports whether the bill could be that of d, its end token billed or
// not, and by which way of counting.
func (b *builder) billed(d draft, endUnbilled bool) (counting set, ok bool) {
	u, size := b.answer.Usage, d.size()
	if endUnbilled {
		size--
	}
	if size != u.CompletionTokens {
		return 0, false
	}
	if !b.could.has(EndUncounted) {
		return 0, true
	}
	// Whether the tokens that open and close the reasoning belong to it is
	// every provider's own choice.
	switch {
	case u.ReasoningTokens == d.reasoning+d.around:
		return 0, true
	case u.ReasoningTokens >= d.reasoning && u.ReasoningTokens < d.reasoning+d.around:
		return set(0).with(EndUncounted), true
	}
	return 0, false
}

// draft is a completion in pieces: stretches of text and control tokens.
type draft struct {
	pieces    [][]int32
	reasoning int // ids of the reasoning, without the tokens around it
	around    int // how many tokens stand around it
}

func (d *draft) size() int {
	n := 0
	for _, p := range d.pieces {
		n += len(p)
	}
	return n
}

func (d *draft) ids() []int32 { return slices.Concat(d.pieces...) }

func (d *draft) token(id int32) {
	if id != none {
		d.pieces = append(d.pieces, []int32{id})
	}
}
