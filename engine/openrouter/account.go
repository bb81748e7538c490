package openrouter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/eyrie-ai/eyrie"
)

// Account is what the vendor says of the key. A nil amount was not given: for
// limits that means there is none. What remains can be below zero.
type Account struct {
	Label     string // the key as the vendor shows it, its middle left out
	Usage     *eyrie.Money
	Limit     *eyrie.Money
	Remaining *eyrie.Money
	Resets    string // when the limit begins anew: "daily", "weekly", "monthly", or "" for never
	// Management is set for a key that manages other keys and buys nothing.
	Management bool
	// Clock is the vendor's time of the answer, to the second; zero when it was
	// not given.
	Clock time.Time
}

// Account reads the key's limit and usage. The usage lags behind requests that
// are in flight.
func (c *Client) Account(ctx context.Context) (Account, error) {
	body, head, err := c.fetch(ctx, "/key")
	if err != nil {
		return Account{}, err
	}
	acc, err := parseAccount(body)
	if err != nil {
		return Account{}, fmt.Errorf("openrouter: key: %w", c.tidy(err))
	}
	acc.Label = string(c.scrub([]byte(acc.Label)))
	if at, err := http.ParseTime(head.Get("Date")); err == nil {
		acc.Clock = at
	}
	return acc, nil
}

// ErrCreditsHidden is returned for a key that may not read the credits, as
// those that buy completions may not.
var ErrCreditsHidden = errors.New("only a management key may read the credits")

// Credits reads what is left of the credits that were bought. It can be below
// zero.
func (c *Client) Credits(ctx context.Context) (eyrie.Money, error) {
	body, err := c.get(ctx, "/credits")
	if err != nil {
		if e, ok := eyrie.AsError(err); ok && e.Class == strconv.Itoa(http.StatusForbidden) {
			return 0, ErrCreditsHidden
		}
		return 0, err
	}
	m, err := parseCredits(body)
	if err != nil {
		return 0, fmt.Errorf("openrouter: credits: %w", c.tidy(err))
	}
	return m, nil
}

// Probe asks whether the vendor takes the key now. It costs nothing.
func (c *Client) Probe(ctx context.Context) error {
	_, err := c.Account(ctx)
	return err
}

// ErrNoBill is returned while a bill is not written yet.
var ErrNoBill = errors.New("the bill is not written yet")

// Bill reads what a request was charged, by the vendor's generation id. Bills
// appear some seconds after the end of a request, later when it was cut.
func (c *Client) Bill(ctx context.Context, id string) (eyrie.Money, error) {
	body, err := c.get(ctx, "/generation?id="+url.QueryEscape(id))
	if err != nil {
		if e, ok := eyrie.AsError(err); ok && e.Class == strconv.Itoa(http.StatusNotFound) {
			return 0, ErrNoBill
		}
		return 0, err
	}
	m, err := parseBill(body, id)
	if err != nil {
		return 0, fmt.Errorf("openrouter: bill of %s: %w", id, c.tidy(err))
	}
	return m, nil
}
