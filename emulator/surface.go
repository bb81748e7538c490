package emulator

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	prefix   = "/api/v1"
	jsonType = "application/json"
)

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+prefix+"/chat/completions", s.chat)
	mux.HandleFunc("GET "+prefix+"/models", s.listModels)
	mux.HandleFunc("GET "+prefix+"/models/count", s.countModels)
	mux.HandleFunc("GET "+prefix+"/models/user", s.listModels)
	mux.HandleFunc("GET "+prefix+"/models/{author}/{slug}/endpoints", s.listEndpoints)
	mux.HandleFunc("GET "+prefix+"/model/{author}/{slug}", s.showModel)
	mux.HandleFunc("GET "+prefix+"/providers", s.listProviders)
	mux.HandleFunc("GET "+prefix+"/endpoints/zdr", s.listPrivate)
	mux.HandleFunc("GET "+prefix+"/key", s.authorized(s.showKey))
	mux.HandleFunc("GET "+prefix+"/auth/key", s.authorized(s.showKey))
	mux.HandleFunc("GET "+prefix+"/credits", s.managed(s.showCredits))
	mux.HandleFunc("GET "+prefix+"/activity", s.managed(s.showActivity))
	mux.HandleFunc("GET "+prefix+"/keys", s.managed(s.listKeys))
	mux.HandleFunc("POST "+prefix+"/keys", s.managed(s.createKey))
	mux.HandleFunc("GET "+prefix+"/keys/{hash}", s.managed(s.withKey(s.oneKey)))
	mux.HandleFunc("PATCH "+prefix+"/keys/{hash}", s.managed(s.withKey(s.changeKey)))
	mux.HandleFunc("DELETE "+prefix+"/keys/{hash}", s.managed(s.withKey(s.deleteKey)))
	mux.HandleFunc("GET "+prefix+"/generation", s.authorized(s.lookup))
	mux.HandleFunc("GET "+prefix+"/generation/content", s.authorized(s.noContent))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		own(http.StatusNotFound, "path", "Not Found", nil).write(w)
	})
	return mux
}

// ServeHTTP serves the vendor's API under /api/v1.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mux.ServeHTTP(w, r)
}

// authorize checks the API key.
func (s *Server) authorize(r *http.Request, management bool) *refusal {
	header := r.Header.Get("Authorization")
	if header == "" {
		return unauthorized("Missing Authentication header")
	}
	key, ok := strings.CutPrefix(header, "Bearer ")
	if !ok || key == "" {
		return unauthorized("No auth credentials found")
	}
	isManagement := s.config.ManagementKey != "" && key == s.config.ManagementKey
	switch {
	case management && !isManagement:
		if !s.knows(key) {
			return unauthorized("User not found.")
		}
		status := http.StatusForbidden
		if strings.HasPrefix(r.URL.Path, prefix+"/keys") {
			status = http.StatusUnauthorized // the only refusal that the vendor describes there
		}
		return own(status, "management_only", "Only management keys can perform this operation", nil)
	case isManagement && !management:
		return own(http.StatusForbidden, "inference_only", "Management keys cannot be used for inference", nil)
	case !isManagement && !s.knows(key):
		return unauthorized("User not found.")
	}
	return nil
}

// knows reports whether a key may be used.
func (s *Server) knows(secret string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.key(secret)
	return k != nil && !k.disabled && !k.expired(time.Now())
}

func (k *apiKey) expired(now time.Time) bool {
	if k.expires == nil {
		return false
	}
	end, err := time.Parse(time.RFC3339, *k.expires)
	return err == nil && !now.Before(end)
}

func unauthorized(message string) *refusal {
	return own(http.StatusUnauthorized, "unauthorized", message, nil)
}

func (s *Server) authorized(next http.HandlerFunc) http.HandlerFunc { return s.guard(next, false) }
func (s *Server) managed(next http.HandlerFunc) http.HandlerFunc    { return s.guard(next, true) }

func (s *Server) guard(next http.HandlerFunc, management bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if refused := s.authorize(r, management); refused != nil {
			refused.write(w)
			return
		}
		next(w, r)
	}
}

func writeJSON(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", jsonType)
	w.Write(body)
}

// listModels serves /models, whole or in pages of limit rows from offset.
func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	models := slices.Clone(s.current(time.Now()).models)
	s.mu.Unlock()
	query := r.URL.Query()
	if wanted := query.Get("supported_parameters"); wanted != "" {
		models = slices.DeleteFunc(models, func(m *model) bool { return !m.supports(strings.Split(wanted, ",")) })
	}
	total := len(models)
	offset := min(number(query.Get("offset"), 0), total)
	limit := number(query.Get("limit"), total)
	end := min(offset+limit, total)
	rows := make([]jsontext.Value, 0, end-offset)
	for _, m := range models[offset:end] {
		rows = append(rows, m.row())
	}
	var next *string
	if end < total && limit > 0 {
		query.Set("offset", strconv.Itoa(end))
		next = new(r.URL.Path + "?" + query.Encode())
	}
	writeJSON(w, mustJSON(fields{"data": rows, "total_count": total, "links": fields{"next": next}}))
}

// number parses a count from a query.
func number(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return n
	}
	return otherwise
}

func (s *Server) countModels(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := len(s.current(time.Now()).models)
	s.mu.Unlock()
	writeJSON(w, mustJSON(fields{"data": fields{"count": n}}))
}

// supports reports whether some endpoint knows every parameter.
func (m *model) supports(parameters []string) bool {
	return slices.ContainsFunc(m.endpoints, func(e *endpoint) bool {
		return !slices.ContainsFunc(parameters, func(p string) bool { return !e.supports(p) })
	})
}

// row is the model's entry in /models: the snapshot's, or one made from its
// endpoints when the snapshot has none.
func (m *model) row() jsontext.Value {
	if m.raw != nil {
		return mustJSON(m.raw)
	}
	first := m.endpoints[0]
	var parameters []string
	for _, e := range m.endpoints {
		parameters = append(parameters, e.supported...)
	}
	slices.Sort(parameters)
	return mustJSON(fields{
		"id": m.id, "canonical_slug": orElse(m.canonical, m.id), "name": m.about["name"], "created": m.about["created"],
		"description": m.about["description"], "architecture": m.about["architecture"], "hugging_face_id": nil,
		"context_length": first.context, "pricing": first.raw["pricing"], "per_request_limits": nil,
		"top_provider":         fields{"context_length": first.context, "max_completion_tokens": first.raw["max_completion_tokens"], "is_moderated": false},
		"supported_parameters": slices.Compact(parameters), "default_parameters": fields{}, "supported_voices": nil,
		"knowledge_cutoff": nil, "expiration_date": nil, "links": fields{"details": prefix + "/models/" + orElse(m.canonical, m.id) + "/endpoints"},
		"reasoning": fields{"mandatory": false, "default_enabled": true},
	})
}

func (s *Server) modelNamed(w http.ResponseWriter, r *http.Request) *model {
	id := r.PathValue("author") + "/" + r.PathValue("slug")
	s.mu.Lock()
	m := s.current(time.Now()).find(id)
	s.mu.Unlock()
	if m == nil {
		own(http.StatusNotFound, "model", "Model "+id+" not found", nil).write(w)
	}
	return m
}

func (s *Server) showModel(w http.ResponseWriter, r *http.Request) {
	if m := s.modelNamed(w, r); m != nil {
		writeJSON(w, mustJSON(fields{"data": m.row()}))
	}
}

func (s *Server) listEndpoints(w http.ResponseWriter, r *http.Request) {
	m := s.modelNamed(w, r)
	if m == nil {
		return
	}
	data := maps.Clone(m.about)
	rows := make([]object, len(m.endpoints))
	for i, e := range m.endpoints {
		rows[i] = e.row()
	}
	data["endpoints"] = mustJSON(rows)
	writeJSON(w, mustJSON(fields{"data": data}))
}

// row is the endpoint as it is listed: the snapshot's members, and those that
// the vendor has added since and its newest client insists on.
func (e *endpoint) row() object {
	if e.raw["supports_tool_choice"] != nil {
		return e.raw
	}
	row := maps.Clone(e.raw)
	tools := e.supports("tool_choice")
	row["supports_tool_choice"] = mustJSON(fields{"auto": tools, "function": tools, "none": tools, "required": tools})
	return row
}

func (s *Server) listProviders(w http.ResponseWriter, r *http.Request) {
	rows := make([]jsontext.Value, len(s.catalogue.providers))
	for i, p := range s.catalogue.providers {
		rows[i] = p.Raw
	}
	writeJSON(w, mustJSON(fields{"data": rows}))
}

// listPrivate serves /endpoints/zdr. The snapshots do not say who retains
// nothing; the scenario does.
func (s *Server) listPrivate(w http.ResponseWriter, r *http.Request) {
	rows := []object{}
	s.mu.Lock()
	for _, m := range s.current(time.Now()).models {
		for _, e := range m.endpoints {
			if s.scenario.limits(e.tag).ZDR {
				rows = append(rows, e.row())
			}
		}
	}
	s.mu.Unlock()
	writeJSON(w, mustJSON(fields{"data": rows}))
}

func (s *Server) showCredits(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	total, used := pico(1e18), pico(s.account.use.total)
	if b := s.account.balance; b != nil {
		total = pico(*b)
	}
	s.mu.Unlock()
	writeJSON(w, mustJSON(fields{"data": fields{
		"total_credits": jsontext.Value(total.String()), "total_usage": jsontext.Value(used.String()),
	}}))
}

// showActivity serves /activity: complete past days only, of which a young
// server has none.
func (s *Server) showActivity(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, []byte(`{"data":[]}`))
}

func (s *Server) noContent(w http.ResponseWriter, r *http.Request) {
	own(http.StatusNotFound, "content", "Generation content is not stored; logging is off", nil).write(w)
}

func mustHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// mustUnmarshal reads JSON that the emulator wrote itself.
func mustUnmarshal(data []byte, into any) {
	if err := json.Unmarshal(data, into); err != nil {
		panic(fmt.Sprintf("emulator: own JSON: %v", err))
	}
}

func mustObject(data []byte) object {
	var o object
	mustUnmarshal(data, &o)
	return o
}

func splitLines(data []byte) [][]byte {
	return bytes.FieldsFunc(data, func(r rune) bool { return r == '\n' })
}
