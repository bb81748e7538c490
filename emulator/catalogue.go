package emulator

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed catalogue.json
var defaultCatalogue []byte

// catalogue is what the vendor says it offers: models, their endpoints and
// the providers behind them. Everything that is not interpreted is kept as it
// was read and sent again as it is.
type catalogue struct {
	models    []*model
	providers []provider
}

// object is a JSON object whose members stay raw. Sent again, its members come
// in order of their names.
type object = map[string]jsontext.Value

type model struct {
	id, canonical string
	raw           object // the row of /models; nil when the snapshot has none
	about         object // /endpoints without the endpoints
	endpoints     []*endpoint
}

type endpoint struct {
	tag, provider, quantization string
	context                     int
	maxPrompt, maxOutput        int // 0: not stated
	supported                   []string
	status                      int
	price                       price      // under ordinary conditions
	overrides                   []override // which change it under others; later ones win
	canonical                   string     // dated model name
	raw                         object
}

type provider struct {
	Name string         `json:"name"`
	Slug string         `json:"slug"`
	Raw  jsontext.Value `json:"-"`
}

// wireEndpoint is the part of an endpoint that decides something.
type wireEndpoint struct {
	Name         string   `json:"name"`
	Tag          string   `json:"tag"`
	Provider     string   `json:"provider_name"`
	Quantization *string  `json:"quantization"`
	Context      int      `json:"context_length"`
	MaxPrompt    *int     `json:"max_prompt_tokens"`
	MaxOutput    *int     `json:"max_completion_tokens"`
	Supported    []string `json:"supported_parameters"`
	Status       int      `json:"status"`
	Pricing      struct {
		wirePrice
		Overrides []wirePrice `json:"overrides"`
	} `json:"pricing"`
}

// loadCatalogue reads a snapshot, gzipped or not, in one of three forms: one
// model's /endpoints answer, an object of such answers by model id, or a full
// dump {"models", "providers", "endpoints"}.
func loadCatalogue(data []byte) (*catalogue, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = io.ReadAll(z); err != nil {
			return nil, err
		}
	}
	var top object
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, err
	}
	c := &catalogue{}
	var err error
	switch {
	case top["endpoints"] != nil && top["models"] != nil:
		err = c.readDump(top)
	case top["data"] != nil:
		err = c.readModel(data, nil)
	default:
		err = c.readFamily(top)
	}
	if err != nil {
		return nil, err
	}
	if len(c.models) == 0 {
		return nil, errors.New("no model has endpoints")
	}
	c.addMissingProviders()
	return c, nil
}

func (c *catalogue) readFamily(top object) error {
	for _, id := range slices.Sorted(maps.Keys(top)) {
		if err := c.readModel(top[id], nil); err != nil {
			return fmt.Errorf("model %s: %w", id, err)
		}
	}
	return nil
}

func (c *catalogue) readDump(top object) error {
	var models, providers struct {
		Data []object `json:"data"`
	}
	var endpoints object
	if err := errors.Join(
		json.Unmarshal(top["models"], &models),
		json.Unmarshal(top["endpoints"], &endpoints),
	); err != nil {
		return err
	}
	for _, row := range models.Data {
		id := text(row["id"])
		if endpoints[id] == nil {
			continue
		}
		if err := c.readModel(endpoints[id], row); err != nil {
			return fmt.Errorf("model %s: %w", id, err)
		}
	}
	if top["providers"] == nil {
		return nil
	}
	if err := json.Unmarshal(top["providers"], &providers); err != nil {
		return err
	}
	for _, row := range providers.Data {
		raw, err := json.Marshal(row, json.Deterministic(true))
		if err != nil {
			return err
		}
		c.providers = append(c.providers, provider{text(row["name"]), text(row["slug"]), raw})
	}
	return nil
}

// readModel adds the model of one /endpoints answer; row is its entry in
// /models, if known.
func (c *catalogue) readModel(data []byte, row object) error {
	var answer struct {
		Data object `json:"data"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return err
	}
	m := &model{id: text(answer.Data["id"]), raw: row, about: answer.Data}
	if m.id == "" {
		return errors.New("data.id is missing")
	}
	m.canonical = text(row["canonical_slug"])
	var list []object
	if err := json.Unmarshal(answer.Data["endpoints"], &list); err != nil {
		return fmt.Errorf("data.endpoints: %w", err)
	}
	delete(m.about, "endpoints")
	for i, raw := range list {
		e, err := readEndpoint(raw)
		if err != nil {
			return fmt.Errorf("endpoint %d: %w", i, err)
		}
		if m.canonical == "" {
			m.canonical = e.canonical
		}
		m.endpoints = append(m.endpoints, e)
	}
	if len(m.endpoints) > 0 {
		c.models = append(c.models, m)
	}
	return nil
}

func readEndpoint(raw object) (*endpoint, error) {
	data, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	var w wireEndpoint
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, err
	}
	e := &endpoint{
		tag: w.Tag, provider: w.Provider, quantization: "unknown", context: w.Context,
		supported: w.Supported, status: w.Status, raw: raw,
	}
	if w.Quantization != nil {
		e.quantization = *w.Quantization
	}
	if w.MaxPrompt != nil {
		e.maxPrompt = *w.MaxPrompt
	}
	if w.MaxOutput != nil {
		e.maxOutput = *w.MaxOutput
	}
	if _, dated, ok := strings.Cut(w.Name, " | "); ok {
		e.canonical = dated
	}
	if e.price, err = (price{}).with(w.Pricing.wirePrice); err == nil {
		e.overrides, err = e.readOverrides(w.Pricing.Overrides)
	}
	if e.tag == "" || e.provider == "" {
		err = errors.Join(err, errors.New("tag or provider_name is missing"))
	}
	return e, err
}

// addMissingProviders completes the list from the endpoints, for snapshots
// that come without one.
func (c *catalogue) addMissingProviders() {
	for _, m := range c.models {
		for _, e := range m.endpoints {
			if slices.ContainsFunc(c.providers, func(p provider) bool { return p.Name == e.provider }) {
				continue
			}
			p := provider{Name: e.provider, Slug: e.slug()}
			row := map[string]any{
				"name": p.Name, "slug": p.Slug, "privacy_policy_url": nil,
				"terms_of_service_url": nil, "status_page_url": nil,
			}
			p.Raw = mustJSON(row)
			c.providers = append(c.providers, p)
		}
	}
}

// find returns the model with this id or dated name.
func (c *catalogue) find(id string) *model {
	for _, m := range c.models {
		if m.id == id || m.canonical == id {
			return m
		}
	}
	return nil
}

// slug is the provider part of the tag.
func (e *endpoint) slug() string {
	slug, _, _ := strings.Cut(e.tag, "/")
	return slug
}

// largest is the most completion tokens the endpoint may be asked for.
func (e *endpoint) largest() int {
	if e.maxOutput > 0 {
		return e.maxOutput
	}
	return e.context
}

func (e *endpoint) supports(parameter string) bool { return slices.Contains(e.supported, parameter) }

// text returns a JSON string's text, "" for anything else.
func text(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// mustJSON marshals values that cannot fail to marshal. Parts that clients sent
// are passed on as they are, so it is as lenient as the reader of requests.
func mustJSON(v any) []byte {
	data, err := json.Marshal(v, json.Deterministic(true), lenient)
	if err != nil {
		panic(fmt.Sprintf("emulator: marshal %T: %v", v, err))
	}
	return data
}
