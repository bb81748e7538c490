package openrouter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

func parseAccount(body []byte) (Account, error) {
	var d struct {
		Data struct {
			Usage     jsontext.Value `json:"usage"`
			Limit     jsontext.Value `json:"limit"`
			Remaining jsontext.Value `json:"limit_remaining"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &d, lenient); err != nil {
		return Account{}, err
	}
	var acc Account
	var errs [3]error
	acc.Usage, errs[0] = optional("usage", d.Data.Usage)
	acc.Limit, errs[1] = optional("limit", d.Data.Limit)
	acc.Remaining, errs[2] = optional("limit_remaining", d.Data.Remaining)
	return acc, errors.Join(errs[:]...)
}

// optional reads an amount that may be absent or null. One that cannot be read
// is an error: it must not pass for a limit that is not there.
func optional(name string, v jsontext.Value) (*eyrie.Money, error) {
	text := textOf(v)
	if text == "" {
		return nil, nil
	}
	positive, below := strings.CutPrefix(text, "-")
	m, err := eyrie.ParseMoney(positive)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if below {
		m = -m
	}
	return &m, nil
}

// parseBill reads the record of a request. Of two figures the larger counts.
func parseBill(body []byte, id string) (eyrie.Money, error) {
	var d struct {
		Data struct {
			ID        string         `json:"id"`
			TotalCost jsontext.Value `json:"total_cost"`
			Usage     jsontext.Value `json:"usage"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &d, lenient); err != nil {
		return 0, err
	}
	if d.Data.ID != "" && d.Data.ID != id {
		return 0, fmt.Errorf("it is the bill of %q", d.Data.ID)
	}
	total, ok1 := moneyOf(d.Data.TotalCost)
	usage, ok2 := moneyOf(d.Data.Usage)
	if !ok1 && !ok2 {
		return 0, errors.New("no total_cost in it")
	}
	return max(total, usage), nil
}
