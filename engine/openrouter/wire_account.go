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
		Data *struct {
			Label      jsontext.Value `json:"label"`
			Usage      jsontext.Value `json:"usage"`
			Limit      jsontext.Value `json:"limit"`
			Remaining  jsontext.Value `json:"limit_remaining"`
			Resets     jsontext.Value `json:"limit_reset"`
			Management jsontext.Value `json:"is_management_key"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &d, lenient); err != nil {
		return Account{}, err
	}
	if d.Data == nil {
		return Account{}, errNoData
	}
	acc := Account{Label: textOf(d.Data.Label), Resets: textOf(d.Data.Resets), Management: d.Data.Management.Kind() == 't'}
	var errs [3]error
	acc.Usage, errs[0] = optional("usage", d.Data.Usage)
	acc.Limit, errs[1] = optional("limit", d.Data.Limit)
	acc.Remaining, errs[2] = optional("limit_remaining", d.Data.Remaining)
	return acc, errors.Join(errs[:]...)
}

// errNoData is returned for a document that is something else: what it does not
// say must not pass for a limit that is not there.
var errNoData = errors.New("no data in it")

func parseCredits(body []byte) (eyrie.Money, error) {
	var d struct {
		Data struct {
			Total jsontext.Value `json:"total_credits"`
			Used  jsontext.Value `json:"total_usage"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &d, lenient); err != nil {
		return 0, err
	}
	total, err1 := optional("total_credits", d.Data.Total)
	used, err2 := optional("total_usage", d.Data.Used)
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	if total == nil || used == nil {
		return 0, errNoData
	}
	return *total - *used, nil
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
