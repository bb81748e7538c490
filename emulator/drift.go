package emulator

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Change is something that happens to the catalogue while the server runs.
// Requests already admitted keep the price they were admitted at.
type Change struct {
	At       time.Duration `yaml:"at"`                 // after the start
	Endpoint string        `yaml:"endpoint,omitempty"` // tag of the endpoint that changes, in whatever models it is
	Model    string        `yaml:"model,omitempty"`    // only in this model; with no endpoint, the model itself

	Remove       bool           `yaml:"remove,omitempty"`       // the endpoint is gone
	Rename       string         `yaml:"rename,omitempty"`       // its new tag
	PriceTimes   string         `yaml:"price_times,omitempty"`  // factor on every price, a decimal number
	Prompt       string         `yaml:"prompt,omitempty"`       // new price of a token, in dollars
	Completion   string         `yaml:"completion,omitempty"`   // likewise
	Pricing      map[string]any `yaml:"pricing,omitempty"`      // members of the price list, overrides among them
	Status       *int           `yaml:"status,omitempty"`       // 0, -2, -5 ...
	MaxOutput    int            `yaml:"max_output,omitempty"`   // new max_completion_tokens
	Quantization string         `yaml:"quantization,omitempty"` // any word, known or not
	Expires      string         `yaml:"expires,omitempty"`      // the model's expiration_date
	Extra        map[string]any `yaml:"extra,omitempty"`        // members that no client knows
}

func (c Change) validate() error {
	var errs []error
	if c.At < 0 {
		errs = append(errs, fmt.Errorf("at is %v, must be 0 or more", c.At))
	}
	if c.Endpoint == "" && c.Model == "" {
		errs = append(errs, errors.New("endpoint or model must say what changes"))
	}
	for _, amount := range []string{c.PriceTimes, c.Prompt, c.Completion} {
		if amount == "" {
			continue
		}
		if _, err := parseDecimal(amount); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, c.validatePricing())...)
}

// validatePricing reads the members of a price list as an endpoint's are read.
func (c Change) validatePricing() error {
	data, err := json.Marshal(c.Pricing)
	if err != nil {
		return fmt.Errorf("pricing: %w", err)
	}
	if _, err := readEndpoint(object{"tag": []byte(`"x"`), "provider_name": []byte(`"x"`), "pricing": data}); err != nil {
		return fmt.Errorf("pricing: %w", err)
	}
	return nil
}

// current returns the catalogue with all changes that have happened by now.
// Server.mu is held.
func (s *Server) current(now time.Time) *catalogue {
	happened := 0
	for _, c := range s.scenario.Drift {
		if now.Sub(s.start) >= c.At {
			happened++
		}
	}
	if s.drifted == nil || s.driftedBy != happened {
		s.drifted, s.driftedBy = s.catalogue, happened
		for _, c := range s.scenario.Drift {
			if now.Sub(s.start) >= c.At {
				s.drifted = s.drifted.with(c)
			}
		}
	}
	return s.drifted
}

// with returns a catalogue in which a change has happened. What it does not
// touch is shared.
func (c *catalogue) with(change Change) *catalogue {
	out := &catalogue{providers: c.providers}
	for _, m := range c.models {
		if change.Model != "" && change.Model != m.id {
			out.models = append(out.models, m)
			continue
		}
		n := *m
		n.raw = mustObject(m.row()) // while there are endpoints to make it from
		if change.Expires != "" && change.Model == m.id {
			n.raw["expiration_date"] = mustJSON(change.Expires)
		}
		n.endpoints = nil
		for _, e := range m.endpoints {
			switch {
			case e.tag != change.Endpoint:
				n.endpoints = append(n.endpoints, e)
			case !change.Remove:
				n.endpoints = append(n.endpoints, e.with(change))
			}
		}
		out.models = append(out.models, &n)
	}
	return out
}

// with returns the endpoint as a change leaves it.
func (e *endpoint) with(c Change) *endpoint {
	raw := maps.Clone(e.raw)
	set := func(name string, value any) { raw[name] = mustJSON(value) }
	if c.Rename != "" {
		set("tag", c.Rename)
	}
	if c.Status != nil {
		set("status", *c.Status)
	}
	if c.MaxOutput > 0 {
		set("max_completion_tokens", c.MaxOutput)
	}
	if c.Quantization != "" {
		set("quantization", c.Quantization)
	}
	for name, value := range c.Extra {
		set(name, value)
	}
	pricing := c.reprice(mustObject(raw["pricing"]))
	for name, value := range c.Pricing {
		pricing[name] = mustJSON(value)
	}
	raw["pricing"] = mustJSON(pricing)
	changed, err := readEndpoint(raw)
	if err != nil {
		panic(fmt.Sprintf("emulator: %s after a change: %v", e.tag, err)) // validate has seen the change
	}
	return changed
}

// repriceAll changes the overrides of a pricing object.
func (c Change) repriceAll(list jsontext.Value) []object {
	var overrides []object
	mustUnmarshal(list, &overrides)
	for i := range overrides {
		overrides[i] = Change{PriceTimes: c.PriceTimes}.reprice(overrides[i])
	}
	return overrides
}

// reprice changes a pricing object, price texts and all.
func (c Change) reprice(pricing object) object {
	if c.PriceTimes != "" {
		factor, _ := parseDecimal(c.PriceTimes)
		for name, value := range pricing {
			price, err := parseDecimal(text(value))
			if value.Kind() == '"' && err == nil {
				pricing[name] = mustJSON(price.mul(factor).String())
			}
			if value.Kind() == '[' {
				pricing[name] = mustJSON(c.repriceAll(value))
			}
		}
	}
	for name, value := range map[string]string{"prompt": c.Prompt, "completion": c.Completion} {
		if value != "" {
			pricing[name] = jsontext.Value(mustJSON(value))
		}
	}
	return pricing
}
