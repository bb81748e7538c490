package harvest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/journal"
)

// conversation holds what consecutive entries share: the prompt, and the
// answers of the turns before.
type conversation struct {
	prompt  *eyrie.Prompt
	digest  eyrie.Digest
	sample  int
	answers []*eyrie.Answer
}

// These are why an answer is no row although it was bought:
// what it answers was lost, with a part of the journal that was damaged.
var (
	errNoPrompt = errors.New("its prompt was lost with a damaged part of the journal (run eyrie run again: it is written anew from the data set)")
	errNoStart  = errors.New("the record of how it was asked was lost with a damaged part of the journal")
	errNoTurn   = errors.New("a turn before it was lost with a damaged part of the journal (run eyrie run again: it is bought again)")
)

// orphan is an answer without what it answers.
func (c *conversation) orphan(rd *journal.Reader, e *entry, id string, why error) (*Item, error) {
	c.prompt = nil
	rec, err := read[*eyrie.EndedRecord](rd, e.ref)
	if err != nil {
		return nil, err
	}
	return &Item{Record: rec, Err: why, Generation: eyrie.Generation{
		Key: rec.Key, Set: e.set, PromptID: id, Prompt: e.prompt, Turn: e.turn, Sample: e.sample,
	}}, nil
}

func (c *conversation) item(h *Harvest, rd *journal.Reader, e *entry) (*Item, error) {
	if _, there := h.prompts[e.prompt]; !there {
		return c.orphan(rd, e, e.prompt.String(), errNoPrompt)
	}
	if c.prompt == nil || c.digest != e.prompt {
		rec, err := read[*eyrie.PromptRecord](rd, h.prompts[e.prompt].ref)
		if err != nil {
			return nil, err
		}
		c.prompt = &eyrie.Prompt{Set: rec.Set, ID: rec.ID, Ordinal: rec.Ordinal, Messages: rec.Messages, Tools: rec.Tools, Given: rec.Given, Split: rec.Split, Origin: rec.Origin}
		c.digest, c.answers = e.prompt, nil
	}
	if c.sample != e.sample || e.turn == 0 {
		c.sample, c.answers = e.sample, nil
	}
	rec, err := read[*eyrie.EndedRecord](rd, e.ref)
	if err != nil {
		return nil, err
	}
	if cost, late := h.bills[rec.Attempt]; late && rec.Charged == eyrie.ChargedUnknown {
		rec.Charged, rec.Cost = eyrie.ChargedYes, cost
	}
	if e.started == (journal.Ref{}) {
		return c.orphan(rd, e, c.prompt.ID, errNoStart)
	}
	started, err := read[*eyrie.StartedRecord](rd, e.started)
	if err != nil {
		return nil, err
	}
	for len(c.answers) < e.turn {
		a, err := h.elsewhere(rd, *e, len(c.answers))
		if err != nil {
			return nil, err
		}
		if a == nil {
			return c.orphan(rd, e, c.prompt.ID, errNoTurn)
		}
		c.answers = append(c.answers, a)
	}
	item := &Item{Record: rec, Sampling: started.Sampling, Split: c.prompt.Split, Origin: c.prompt.Origin, Generation: eyrie.Generation{
		Key: rec.Key, Set: e.set, PromptID: c.prompt.ID, Prompt: e.prompt, Turn: e.turn, Sample: e.sample,
		Tools: c.prompt.Tools, PromptTokens: started.PromptTokens,
	}}
	item.Generation.Messages, item.Err = c.prompt.Ask(e.turn, c.answers)
	if rec.Drop != "" {
		item.Err = fmt.Errorf("dropped: %s", rec.Drop)
	}
	c.answers = append(c.answers, rec.Answer())
	return item, nil
}

// elsewhere reads the answer to another turn of an entry's conversation that was
// given for another set: sets may share conversations, and each turn is bought
// once. It returns nil where there is none.
func (h *Harvest) elsewhere(rd *journal.Reader, e entry, turn int) (*eyrie.Answer, error) {
	e.turn = turn
	for _, e.set = range h.sets {
		i, ok := slices.BinarySearchFunc(h.entries, e, compare)
		if !ok {
			continue
		}
		rec, err := read[*eyrie.EndedRecord](rd, h.entries[i].ref)
		if err != nil {
			return nil, err
		}
		return rec.Answer(), nil
	}
	return nil, nil
}

func read[T eyrie.Record](rd *journal.Reader, ref journal.Ref) (T, error) {
	var zero T
	rec, err := rd.At(ref)
	if err != nil {
		return zero, err
	}
	r, ok := rec.(T)
	if !ok {
		return zero, fmt.Errorf("harvest: journal segment %06d at %d holds a %T, not a %T", ref.Segment, ref.Offset, rec, zero)
	}
	return r, nil
}
