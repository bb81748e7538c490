package openrouter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/eyrie-ai/eyrie"
)

// Account is what the vendor says of the key. A nil amount was not given: for
// limits that means there is none. What remains can be below zero.
type Account struct {
	Usage     *eyrie.Money
	Limit     *eyrie.Money
	Remaining *eyrie.Money
}

// Account reads the key's limit and usage. The usage lags behind requests that
// are in flight.
func (c *Client) Account(ctx context.Context) (Account, error) {
	body, err := c.get(ctx, "/key")
	if err != nil {
		return Account{}, err
	}
	acc, err := parseAccount(body)
	if err != nil {
		return Account{}, fmt.Errorf("openrouter: key: %w", c.tidy(err))
	}
	c.key.works()
	return acc, nil
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

// A key that has worked is sometimes unknown to the vendor for minutes, while
// one of its databases is. It is asked again every keyPause for keyPatience
// before the key is held to be revoked.
const (
	keyPause    = 30 * time.Second
	keyPatience = 10 * time.Minute
)

// keyHealth remembers how the vendor has taken the key.
type keyHealth struct {
	mu     sync.Mutex
	worked bool
	since  time.Time // of the first refusal after it last worked
}

// works notes that the key was accepted.
func (k *keyHealth) works() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.worked, k.since = true, time.Time{}
}

// mayHeal notes that the key was refused and reports whether that may pass.
func (k *keyHealth) mayHeal(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.worked {
		return false
	}
	if k.since.IsZero() {
		k.since = now
	}
	return now.Sub(k.since) < keyPatience
}
