package dataset

import (
	"fmt"
	"strings"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset/internal/shingle"
)

// ownText is what a conversation brings along: all but what the assistant says.
func ownText(p *eyrie.Prompt, each func(text string)) {
	for i := range p.Messages {
		if m := &p.Messages[i]; m.Role != eyrie.Assistant {
			each(m.Content)
		}
	}
}

// nearIndex finds rows that are nearly alike. It compares what the user says:
// system prompts and tools are alike in whole sets.
type nearIndex struct {
	index *shingle.Index
	spots []spot
}

func newNearIndex(least float64) *nearIndex {
	return &nearIndex{index: shingle.NewIndex(least)}
}

// alike looks for an earlier row that is nearly alike; without one the row is
// remembered.
func (p *pass) alike(prompt *eyrie.Prompt, at spot) *drop {
	n := p.near
	var said strings.Builder
	for i := range prompt.Messages {
		if m := &prompt.Messages[i]; m.Role == eyrie.User {
			said.WriteString(m.Content)
			said.WriteByte('\n')
		}
	}
	like, share, found := n.index.Add(said.String())
	if found {
		return dropf(NearDuplicate, "%.0f %% of it is that of %s", 100*share, p.spotText(n.spots[like]))
	}
	if like == len(n.spots) {
		n.spots = append(n.spots, at)
	}
	return nil
}

// Evaluation is text that must not be trained on: the prompts of benchmarks. A
// row shares text with it where any of its messages that are sent contains
// [OverlapWords] words in a row of one of them, or the whole of one that is
// shorter. Case, punctuation and white space do not count. A prompt of less
// than six words is found only where it is a message of its own.
type Evaluation struct {
	set   *shingle.Set
	names []string
}

// OverlapWords is how many words in a row are an overlap.
const OverlapWords = 13

// ReadEvaluation reads the prompts of evaluation sets, of any layout.
func ReadEvaluation(sources ...Source) (*Evaluation, error) {
	e := &Evaluation{set: shingle.NewSet(OverlapWords)}
	for _, src := range sources {
		set, err := Open(src, Options{})
		if err != nil {
			return nil, err
		}
		for p, err := range set.Prompts() {
			if err != nil {
				return nil, err
			}
			e.names = append(e.names, fmt.Sprintf("%s (%s)", clip(p.ID), src.Path))
			for i := range p.Messages {
				if m := &p.Messages[i]; m.Role == eyrie.User {
					e.set.Add(m.Content, len(e.names)-1)
				}
			}
		}
	}
	return e, nil
}

// Prompts counts the prompts that were read.
func (e *Evaluation) Prompts() int { return len(e.names) }

// find names a prompt that a row shares text with, or returns "".
func (e *Evaluation) find(p *eyrie.Prompt) string {
	name := ""
	ownText(p, func(text string) {
		if name != "" {
			return
		}
		if n, ok := e.set.Find(text); ok {
			name = e.names[n]
		}
	})
	return name
}
