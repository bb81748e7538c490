package openrouter

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie/route"
)

// row is an entry of a list: its members are raw, so that one of an unexpected
// kind spoils nothing but itself.
type row map[string]jsontext.Value

func (r row) text(name string) string { return textOf(r[name]) }

// parseList reads a page of a list and the link to the next one. An entry that
// is no object is passed over.
func parseList(doc []byte) (rows []row, next string, err error) {
	var d struct {
		Data  []jsontext.Value `json:"data"`
		Links jsontext.Value   `json:"links"`
	}
	if err := json.Unmarshal(doc, &d, lenient); err != nil {
		return nil, "", err
	}
	if d.Data == nil {
		return nil, "", errors.New("no data in it")
	}
	for _, v := range d.Data {
		var r row
		if json.Unmarshal(v, &r, lenient) == nil && r != nil {
			rows = append(rows, r)
		}
	}
	var links row
	if json.Unmarshal(d.Links, &links, lenient) != nil {
		return rows, "", nil
	}
	return rows, links.text("next"), nil
}

func parseModels(rows []row) []Model {
	models := make([]Model, 0, len(rows))
	for _, r := range rows {
		if id := r.text("id"); id != "" {
			models = append(models, Model{ID: id, Canonical: r.text("canonical_slug"), Expires: r.text("expiration_date")})
		}
	}
	return models
}

func parseProviders(rows []row) []route.Provider {
	providers := make([]route.Provider, 0, len(rows))
	for _, r := range rows {
		if p := (route.Provider{Name: r.text("name"), Slug: r.text("slug")}); p.Name != "" || p.Slug != "" {
			providers = append(providers, p)
		}
	}
	return providers
}

// parseTags returns the tags of a model's endpoints in a list of endpoints.
func parseTags(rows []row, model string) []string {
	var tags []string
	for _, r := range rows {
		if r.text("model_id") == model {
			tags = append(tags, r.text("tag"))
		}
	}
	return tags
}

func parseSnapshot(doc []byte) (*Snapshot, error) {
	var top row
	if err := json.Unmarshal(doc, &top, lenient); err != nil {
		return nil, err
	}
	s := &Snapshot{endpoints: map[string][]byte{}}
	switch {
	case top["endpoints"] != nil:
		var byModel row
		if err := json.Unmarshal(top["endpoints"], &byModel, lenient); err != nil {
			return nil, err
		}
		s.add(byModel)
		if rows, _, err := parseList(top["models"]); err == nil {
			s.Models = parseModels(rows)
		}
		if rows, _, err := parseList(top["providers"]); err == nil {
			s.Providers = parseProviders(rows)
		}
	case top["data"] != nil:
		id, _, err := parseEndpointsDocument(doc)
		if err != nil {
			return nil, err
		}
		s.endpoints[id] = doc
	default:
		s.add(top)
	}
	return s, nil
}

// add takes the documents of an object that are objects.
func (s *Snapshot) add(byModel row) {
	for id, doc := range byModel {
		if doc.Kind() == '{' {
			s.endpoints[id] = doc
		}
	}
}
