package openrouter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// Account is what the vendor says of the key. A nil amount was not given: for
// limits that means there is none.
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
	var d struct {
		Data struct {
			Usage     jsontext.Value `json:"usage"`
			Limit     jsontext.Value `json:"limit"`
			Remaining jsontext.Value `json:"limit_remaining"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &d, lenient); err != nil {
		return Account{}, fmt.Errorf("openrouter: key: %w", err)
	}
	return Account{optional(d.Data.Usage), optional(d.Data.Limit), optional(d.Data.Remaining)}, nil
}

func optional(v jsontext.Value) *eyrie.Money {
	if v == nil {
		return nil
	}
	m, ok := readMoney(v)
	if !ok {
		return nil
	}
	return &m
}

// ErrNoBill is returned while a bill is not written yet.
var ErrNoBill = errors.New("the bill is not written yet")

// Bill reads what a request was charged, by the vendor's generation id. Bills
// appear some seconds after the end of a request, later when it was cut.
func (c *Client) Bill(ctx context.Context, id string) (eyrie.Money, error) {
	body, err := c.get(ctx, "/generation?id="+url.QueryEscape(id))
	if err != nil {
		if e, ok := eyrie.AsError(err); ok && e.Class == fmt.Sprint(http.StatusNotFound) {
			return 0, ErrNoBill
		}
		return 0, err
	}
	var d struct {
		Data struct {
			TotalCost jsontext.Value `json:"total_cost"`
			Usage     jsontext.Value `json:"usage"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &d, lenient); err != nil {
		return 0, fmt.Errorf("openrouter: bill of %s: %w", id, err)
	}
	for _, v := range []jsontext.Value{d.Data.TotalCost, d.Data.Usage} {
		if v == nil {
			continue
		}
		if m, ok := readMoney(v); ok {
			return m, nil
		}
	}
	return 0, fmt.Errorf("openrouter: bill of %s: no total_cost in it", id)
}
