package openrouter

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/eyrie-ai/eyrie/route"
)

// Snapshot is saved documents of the vendor's catalogue, to be read without
// the network.
type Snapshot struct {
	// Models and Providers are nil where the snapshot does not hold the lists.
	Models    []Model
	Providers []route.Provider

	endpoints map[string][]byte // documents by model
}

// ParseSnapshot reads a saved catalogue, compressed by gzip or not, in one of
// three forms: the document of one model's endpoints, as a run keeps it; an
// object of such documents by model; or a whole dump with the members
// "models", "providers" and "endpoints", the last of which is such an object.
func ParseSnapshot(data []byte) (*Snapshot, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("openrouter: saved catalogue: %w", err)
		}
		if data, err = io.ReadAll(io.LimitReader(z, maxBody+1)); err != nil {
			return nil, fmt.Errorf("openrouter: saved catalogue: %w", err)
		}
		if len(data) > maxBody {
			return nil, fmt.Errorf("openrouter: saved catalogue: more than %d bytes", maxBody)
		}
	}
	s, err := parseSnapshot(data)
	if err == nil && len(s.endpoints) == 0 {
		err = errors.New("no model's endpoints in it; save /models/AUTHOR/SLUG/endpoints")
	}
	if err != nil {
		return nil, fmt.Errorf("openrouter: saved catalogue: %w", err)
	}
	return s, nil
}

// Held returns the models whose endpoints the snapshot holds, sorted.
func (s *Snapshot) Held() []string { return slices.Sorted(maps.Keys(s.endpoints)) }

// Endpoints returns the endpoints of a model.
func (s *Snapshot) Endpoints(model string) (*Catalogue, error) {
	doc, ok := s.endpoints[model]
	if !ok {
		return nil, fmt.Errorf("openrouter: saved catalogue: no endpoints of %s in it", model)
	}
	return ParseEndpoints(doc)
}
