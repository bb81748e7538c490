package openrouter

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// Catalogue is the vendor's list of endpoints for one model at one time.
type Catalogue struct {
	Model     string // the id that was asked for
	Canonical string // the dated slug that answers may carry instead
	Lanes     []*eyrie.Lane
	// Raw is the vendor's document, to be kept.
	Raw []byte
}

// overrunners lists providers that are known not to enforce max_tokens.
var overrunners = []string{"siliconflow"}

// Endpoints reads the endpoints of a model.
func (c *Client) Endpoints(ctx context.Context, model string) (*Catalogue, error) {
	author, slug, ok := strings.Cut(model, "/")
	if !ok {
		return nil, fmt.Errorf("openrouter: model %q: want author/slug", model)
	}
	body, err := c.get(ctx, "/models/"+url.PathEscape(author)+"/"+url.PathEscape(slug)+"/endpoints")
	if err != nil {
		return nil, err
	}
	cat, err := ParseEndpoints(body)
	if err != nil {
		return nil, err
	}
	c.models.learn(model, cat)
	return cat, nil
}

type endpointsDoc struct {
	Data struct {
		ID        string        `json:"id"`
		Endpoints []endpointDoc `json:"endpoints"`
	} `json:"data"`
}

type endpointDoc struct {
	Name                string                    `json:"name"`
	ProviderName        string                    `json:"provider_name"`
	Tag                 string                    `json:"tag"`
	Quantization        string                    `json:"quantization"`
	ContextLength       int                       `json:"context_length"`
	MaxCompletionTokens int                       `json:"max_completion_tokens"`
	Pricing             map[string]jsontext.Value `json:"pricing"`
	SupportedParameters []string                  `json:"supported_parameters"`
	Status              int                       `json:"status"`
}

// ParseEndpoints reads the document of a model's endpoints, live or saved.
func ParseEndpoints(doc []byte) (*Catalogue, error) {
	var d endpointsDoc
	if err := json.Unmarshal(doc, &d, lenient); err != nil {
		return nil, fmt.Errorf("openrouter: list of endpoints: %w", err)
	}
	if d.Data.ID == "" {
		return nil, fmt.Errorf("openrouter: list of endpoints: no data.id in it")
	}
	cat := &Catalogue{Model: d.Data.ID, Raw: slices.Clone(doc)}
	for _, e := range d.Data.Endpoints {
		cat.Lanes = append(cat.Lanes, e.lane())
		if _, canonical, ok := strings.Cut(e.Name, " | "); ok && cat.Canonical == "" {
			cat.Canonical = canonical
		}
	}
	return cat, nil
}

// lane reads one endpoint. A price that cannot be read, or that has parts this
// package cannot compute, stays unknown and so closes the lane.
func (e *endpointDoc) lane() *eyrie.Lane {
	l := &eyrie.Lane{
		Engine: "openrouter", Tag: e.Tag, Provider: e.ProviderName, Quantization: e.Quantization,
		Context: e.ContextLength, MaxOutput: e.MaxCompletionTokens, Parameters: e.SupportedParameters,
	}
	if l.Quantization == "" {
		l.Quantization = "unknown"
	}
	slug, _, _ := strings.Cut(e.Tag, "/")
	l.Overruns = slices.Contains(overrunners, slug)
	if e.computable() {
		l.PromptPrice = price(e.Pricing["prompt"])
		l.OutputPrice = price(e.Pricing["completion"])
		l.CachedPrice = price(e.Pricing["input_cache_read"])
	}
	return l
}

// computable reports whether the price list has only parts that a text request
// can be priced by.
func (e *endpointDoc) computable() bool {
	for name, v := range e.Pricing {
		switch name {
		case "request", "internal_reasoning", "input_cache_write", "input_cache_write_1h":
			if p := price(v); !p.Known() || !p.IsZero() {
				return false
			}
		case "overrides":
			if string(v) != "[]" && string(v) != "null" {
				return false
			}
		}
	}
	return true
}

func price(v jsontext.Value) eyrie.Price {
	if v == nil {
		return eyrie.Price{}
	}
	p, err := eyrie.ParsePrice(text(v))
	if err != nil {
		return eyrie.Price{}
	}
	return p
}

// modelNames remembers under which names a model may answer.
type modelNames struct {
	mu    sync.RWMutex
	names map[string]string // id → canonical slug
}

func (m *modelNames) learn(id string, cat *Catalogue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names == nil {
		m.names = map[string]string{}
	}
	m.names[id] = cat.Canonical
}

func (m *modelNames) accepts(asked, got string) bool {
	if asked == got {
		return true
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return got != "" && m.names[asked] == got
}
