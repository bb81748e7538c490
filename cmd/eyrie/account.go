package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/ledger"
)

var _ dispatch.Prober = metered{}

// funds is the money behind a key, as far as the vendor shows it.
type funds struct {
	account openrouter.Account
	credits *eyrie.Money // what is left of them; nil where the key may not see it
}

// readFunds asks for the key's limit and for the credits. An ordinary key may
// not read the credits; any other failure is an error, so that money which
// cannot be counted does not pass for enough.
func readFunds(ctx context.Context, c *openrouter.Client) (funds, error) {
	acc, err := c.Account(ctx)
	if err != nil {
		return funds{}, err
	}
	if acc.Management {
		return funds{}, &eyrie.Error{
			Op: "openrouter: key", Kind: eyrie.StopRun, Err: errors.New("a management key buys no answers"), Hint: "use an ordinary key",
		}
	}
	f := funds{account: acc}
	switch left, err := c.Credits(ctx); {
	case err == nil:
		f.credits = &left
	case !errors.Is(err, openrouter.ErrCreditsHidden):
		return funds{}, err
	}
	return f, nil
}

// left is what can be spent for certain: the smaller of what the key's limit
// and the credits leave. It reports false when neither bounds the spending.
func (f funds) left() (left eyrie.Money, bounded bool) {
	for _, m := range []*eyrie.Money{f.account.Remaining, f.credits} {
		if m != nil && (!bounded || *m < left) {
			left, bounded = *m, true
		}
	}
	return max(0, left), bounded
}

// afford holds what the budget may still spend against what every engine's key
// can pay, and refuses the run when a key falls short. With available set it
// lowers the budget of this session instead, to what is there.
func (s *session) afford(ctx context.Context, led *ledger.Ledger, available bool, tell func(format string, args ...any)) error {
	for _, e := range s.engines {
		f, err := readFunds(ctx, e.client)
		if err != nil {
			return &exitError{exitRefused, err}
		}
		left, bounded := f.left()
		if f.account.Limit == nil {
			tell("%s: the key has no limit of its own: nothing but this program's ledger keeps the budget; set the key's limit to be safe\n", e.name)
		}
		need := max(0, led.Budget()-led.Spent())
		if !bounded || left >= need {
			continue
		}
		if !available || left == 0 && len(s.locals) == 0 {
			return &exitError{exitRefused, tooLittle(e.name, f, need, left)}
		}
		led.SetBudget(led.Spent() + left)
		tell("%s: %s is left of the key's money: that is the budget of this session, instead of %s\n", e.name, left.Cents(), need.Cents())
	}
	return nil
}

// tooLittle says what a key lacks and every way out.
func tooLittle(name string, f funds, need, left eyrie.Money) error {
	more := "raise the key's limit"
	if f.account.Remaining == nil || *f.account.Remaining >= need {
		more = "add credits"
	}
	if f.account.Resets != "" {
		more += fmt.Sprintf(", wait for its %s reset", f.account.Resets)
	}
	if left == 0 {
		return fmt.Errorf("%s: nothing is left of the key's money, and the budget may still spend %s; %s", name, need.Cents(), more)
	}
	return fmt.Errorf("%s: %s is left of the key's money, and the budget may still spend %s; %s, lower budget, or say --spend-available to spend what is there",
		name, left.Cents(), need.Cents(), more)
}
