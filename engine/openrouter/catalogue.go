package openrouter

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/eyrie-ai/eyrie"
)

// Catalogue is the vendor's list of endpoints for one model at one time.
type Catalogue struct {
	Model     string // the id that was asked for
	Canonical string // the dated slug that answers may carry instead
	// Lanes are the endpoints, in the vendor's order. Those that cannot be used,
	// because their price cannot be computed or their tag means several of them,
	// say why in Closed.
	Lanes []*eyrie.Lane
	// Raw is the vendor's document, to be kept.
	Raw []byte
}

// overrunners lists providers that are known not to enforce max_tokens.
var overrunners = []string{"siliconflow"}

// Endpoints reads the endpoints of a model, and remembers under which names
// the model may answer.
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
	c.names.learn(model, cat)
	return cat, nil
}

// ParseEndpoints reads the document of a model's endpoints, live or saved. It
// fails only when the document as a whole is not one; an endpoint that cannot
// be used becomes a closed lane.
func ParseEndpoints(doc []byte) (*Catalogue, error) {
	id, endpoints, err := parseEndpointsDocument(doc)
	if err != nil {
		return nil, fmt.Errorf("openrouter: list of endpoints: %w", err)
	}
	cat := &Catalogue{Model: id, Raw: slices.Clone(doc)}
	for i := range endpoints {
		e := &endpoints[i]
		cat.Lanes = append(cat.Lanes, e.lane())
		if _, canonical, ok := strings.Cut(e.name, " | "); ok && cat.Canonical == "" {
			cat.Canonical = canonical
		}
	}
	cat.closeAmbiguous()
	return cat, nil
}

// lane makes an endpoint's lane. One whose price cannot be computed is closed,
// never free.
func (e *endpoint) lane() *eyrie.Lane {
	l := &eyrie.Lane{
		Engine: "openrouter", Tag: e.tag, Provider: e.provider, Quantization: e.quantization,
		Context: e.context, MaxPrompt: e.maxPrompt, MaxOutput: e.maxOutput, Parameters: e.parameters,
		Health: e.health,
	}
	if l.Quantization == "" {
		l.Quantization = "unknown"
	}
	slug, _, _ := strings.Cut(e.tag, "/")
	l.Overruns = slices.Contains(overrunners, slug)
	l.Stops = stopsBilling(l.Provider)
	if e.tag == "" {
		closeLane(l, "it has no tag to pin a request to")
		return l
	}
	if err := e.pricing.setPrices(l); err != nil {
		closeLane(l, err.Error())
	}
	return l
}

func closeLane(l *eyrie.Lane, why string) {
	l.Closed = why
	for _, p := range []*eyrie.Price{&l.PromptPrice, &l.OutputPrice, &l.CachedPrice, &l.WritePrice, &l.ReasoningPrice, &l.RequestPrice} {
		*p = eyrie.Price{}
	}
	l.Tiers = nil
}

// closeAmbiguous closes the lanes that a request cannot be pinned to.
func (cat *Catalogue) closeAmbiguous() {
	also := make([]string, len(cat.Lanes))
	for i, l := range cat.Lanes {
		if k := slices.IndexFunc(cat.Lanes, func(o *eyrie.Lane) bool { return o != l && admits(l, o) }); k >= 0 {
			also[i] = cat.Lanes[k].Tag
		}
	}
	for i, l := range cat.Lanes {
		if also[i] != "" && l.Closed == "" {
			closeLane(l, "its tag also admits "+also[i]+", so a request cannot be pinned to it")
		}
	}
}

// serviceTiers are the last elements of tags that name a tier of service.
var serviceTiers = []string{"flex", "priority", "scale"}

// admits reports whether a request pinned to l could be served by another
// endpoint that is not the same to us. That has the same quantization, which
// requests ask for, and the same tag, or one that l's tag, a provider's slug,
// stands for: then it must also be no dearer, or the request's ceiling on
// prices would keep it out, and not cost the same, or it would not matter. A
// service tier is served only to those who name it in full.
func admits(l, o *eyrie.Lane) bool {
	if o.Quantization != l.Quantization {
		return false
	}
	if o.Tag == l.Tag {
		return true
	}
	suffix, ok := strings.CutPrefix(o.Tag, l.Tag+"/")
	if !ok || slices.Contains(serviceTiers, path.Base(suffix)) {
		return false
	}
	prompt, output := o.PromptPrice.Cmp(l.PromptPrice), o.OutputPrice.Cmp(l.OutputPrice)
	return prompt <= 0 && output <= 0 && (prompt < 0 || output < 0)
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
