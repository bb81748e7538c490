// Package route says which endpoints may answer and which lane is next. It is
// pure: the state of the world is passed in, the choice comes out.
package route

import (
	"cmp"
	"slices"

	"github.com/eyrie-ai/eyrie"
)

// Candidate is a lane as it stands when a choice is made.
type Candidate struct {
	Lane *eyrie.Lane
	Room int         // requests it may take now
	Hold eyrie.Money // what this generation would reserve on it
}

// Reason says why no lane was picked.
type Reason uint8

// The reasons for picking nothing.
const (
	Picked  Reason = iota
	NoLanes        // there is none
	Full           // none has room now
	NoMoney        // some have room, but the reservation does not fit the budget
)

// Pick returns the index of the first candidate, in their order, that has room
// and whose reservation fits into what is free. Candidates that avoid returns
// true for are taken only when no other will do. When it picks nothing, the
// index is -1 and the reason says why; holds that do not fit are NoMoney even
// where a lane without room might fit one day.
func Pick(cands []Candidate, free eyrie.Money, avoid func(*eyrie.Lane) bool) (int, Reason) {
	if len(cands) == 0 {
		return -1, NoLanes
	}
	reason, second := Full, -1
	for i, c := range cands {
		if c.Room <= 0 {
			continue
		}
		if c.Hold > free {
			reason = NoMoney
			continue
		}
		if avoid != nil && avoid(c.Lane) {
			if second < 0 {
				second = i
			}
			continue
		}
		return i, Picked
	}
	if second >= 0 {
		return second, Picked
	}
	return -1, reason
}

// ByPrice sorts lanes by what a typical generation costs on them: a prompt of
// as many tokens as a quarter of its answer. Equal prices sort by name.
func ByPrice(lanes []*eyrie.Lane) {
	const prompt, answer = 250_000, 1_000_000
	slices.SortStableFunc(lanes, func(a, b *eyrie.Lane) int {
		ca := a.PromptPrice.Times(prompt).Add(a.OutputPrice.Times(answer))
		cb := b.PromptPrice.Times(prompt).Add(b.OutputPrice.Times(answer))
		return cmp.Or(cmp.Compare(ca, cb), cmp.Compare(a.Tag, b.Tag))
	})
}
