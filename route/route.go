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

// Money is what there is to reserve.
type Money struct {
	// Free is what the budget can still hold.
	Free eyrie.Money
	// Share is the part of it for one request when all that may run at once
	// are to have room. A lane that holds more for a request, because it may
	// answer at any length, would leave others without, and waits until no
	// lane that holds less has room.
	Share eyrie.Money
}

// Pick returns the index of the first candidate, in their order, that has room
// and whose reservation fits. Of those that hold more than their share, the one
// that holds least comes next; and candidates that avoid returns true for are
// taken only when no other will do. When it picks nothing, the index is -1 and
// the reason says why: NoMoney only when not one of them would fit, however
// much room it had.
func Pick(cands []Candidate, m Money, avoid func(*eyrie.Lane) bool) (int, Reason) {
	if len(cands) == 0 {
		return -1, NoLanes
	}
	reason, best, rank := NoMoney, -1, 0
	for i, c := range cands {
		if c.Hold > m.Free {
			continue
		}
		reason = Full
		if c.Room <= 0 {
			continue
		}
		// Lower is better; the order of the candidates decides between equals.
		r := 0
		if c.Hold > m.Share {
			r = 1
		}
		if avoid != nil && avoid(c.Lane) {
			r += 2
		}
		if best < 0 || r < rank || r == rank && r&1 == 1 && c.Hold < cands[best].Hold {
			best, rank = i, r
		}
	}
	if best < 0 {
		return -1, reason
	}
	return best, Picked
}

// ByPrice sorts lanes by what a typical generation costs on them: a prompt of
// as many tokens as a quarter of its answer, which has a thousand. Equal prices
// sort by name.
func ByPrice(lanes []*eyrie.Lane) {
	const requests, prompt, answer = 1000, 250, 1000
	cost := func(l *eyrie.Lane) eyrie.Money {
		r := l.Rates(0)
		return r.PromptPrice.Times(requests * prompt).Add(r.CompletionPrice().Times(requests * answer)).Add(r.RequestPrice.Times(requests))
	}
	slices.SortStableFunc(lanes, func(a, b *eyrie.Lane) int {
		return cmp.Or(cmp.Compare(cost(a), cost(b)), cmp.Compare(a.Tag, b.Tag))
	})
}
