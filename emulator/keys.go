package emulator

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// apiKey is a key that buys completions. Guarded by Server.mu.
type apiKey struct {
	secret, hash, name string
	limit              *int64 // picodollars; nil: none
	reset              string // daily, weekly, monthly or "" for never
	disabled           bool
	expires            *string
	created            time.Time
	updated            *time.Time
	use                use
}

// key finds the record of a secret. Without a list of accepted keys every
// secret is a key, known from its first use on. Server.mu is held.
func (s *Server) key(secret string) *apiKey {
	if k := s.keys[secret]; k != nil {
		return k
	}
	if len(s.config.Keys) > 0 && !slices.Contains(s.config.Keys, secret) {
		return nil
	}
	k := s.newKey(secret)
	k.limit = s.keyLimit
	return k
}

func (s *Server) newKey(secret string) *apiKey {
	k := &apiKey{secret: secret, hash: mustHash(secret), name: "emulated", created: time.Now()}
	s.keys[secret] = k
	return k
}

// keyByHash finds a key by its public name. Server.mu is held.
func (s *Server) keyByHash(hash string) *apiKey {
	for _, k := range s.keys {
		if k.hash == hash {
			return k
		}
	}
	return nil
}

// label is the secret with its middle left out.
func (k *apiKey) label() string {
	if len(k.secret) < 16 {
		return "sk-or-v1-...key"
	}
	return k.secret[:12] + "..." + k.secret[len(k.secret)-3:]
}

// fields describes the key as the vendor does. Server.mu is held.
func (k *apiKey) fields(now time.Time, lag time.Duration) fields {
	limit, left := any(nil), any(nil)
	if k.limit != nil {
		limit = dollars(*k.limit)
		left = dollars(max(*k.limit-k.use.look(k.reset, now, lag), 0))
	}
	k.use.roll(now)
	return fields{
		"label": k.label(), "limit": limit, "limit_remaining": left, "limit_reset": orNil(k.reset), "include_byok_in_limit": false,
		"usage": dollars(k.use.total), "usage_daily": dollars(k.use.day), "usage_weekly": dollars(k.use.week), "usage_monthly": dollars(k.use.month),
		"byok_usage": 0, "byok_usage_daily": 0, "byok_usage_weekly": 0, "byok_usage_monthly": 0,
		"creator_user_id": userID, "expires_at": k.expires, "workspace_id": workspaceID,
	}
}

// dollars is an amount of picodollars as a JSON number.
func dollars(n int64) jsontext.Value { return jsontext.Value(pico(n).String()) }

// showKey is GET /key.
func (s *Server) showKey(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	data := s.key(bearer(r)).fields(time.Now(), s.scenario.Account.BalanceLag)
	hide := s.scenario.Account.NullCounters
	s.mu.Unlock()
	if hide {
		for _, name := range []string{"usage_daily", "usage_weekly", "usage_monthly"} {
			data[name] = nil
		}
	}
	maps.Copy(data, fields{
		"allowed_data_regions": []string{"global"}, "organization_id": nil,
		"free_model_daily_requests": fields{"used": 0, "limit": 1000, "remaining": 1000},
		"is_free_tier":              false, "is_management_key": false, "is_provisioning_key": false,
		"rate_limit": fields{"requests": -1, "interval": "10s", "note": "This field is deprecated and safe to ignore."},
	})
	writeJSON(w, mustJSON(fields{"data": data}))
}

// row is the key in the lists that management keys see. Server.mu is held.
func (k *apiKey) row(now time.Time) fields {
	data := k.fields(now, 0)
	updated := any(nil)
	if k.updated != nil {
		updated = k.updated.UTC().Format(time.RFC3339)
	}
	maps.Copy(data, fields{
		"hash": k.hash, "name": k.name, "disabled": k.disabled, "created_at": k.created.UTC().Format(time.RFC3339),
		"updated_at": updated, "external_user": nil,
	})
	return data
}

const workspaceID = "00000000-0000-4000-8000-000000000001"

// keyChange is the body of POST and PATCH /keys. Absent members change nothing.
type keyChange struct {
	Name     *string        `json:"name"`
	Limit    jsontext.Value `json:"limit"`
	Reset    jsontext.Value `json:"limit_reset"`
	Disabled *bool          `json:"disabled"`
	Expires  *string        `json:"expires_at"`
}

// apply changes k, or says what is wrong with the change.
func (c keyChange) apply(k *apiKey) error {
	if c.Name != nil {
		k.name = *c.Name
	}
	if c.Disabled != nil {
		k.disabled = *c.Disabled
	}
	if c.Expires != nil {
		k.expires = c.Expires
	}
	switch reset := text(c.Reset); {
	case len(c.Reset) == 0:
	case reset == "" && c.Reset.Kind() == 'n', reset == "daily", reset == "weekly", reset == "monthly":
		k.reset = reset
	default:
		return fmt.Errorf(`limit_reset: Invalid option: expected one of "daily"|"weekly"|"monthly"`)
	}
	if len(c.Limit) == 0 {
		return nil
	}
	k.limit = nil
	if c.Limit.Kind() == 'n' {
		return nil
	}
	limit, err := picodollars(string(c.Limit))
	if err != nil {
		return fmt.Errorf("limit: Invalid input: expected a number")
	}
	k.limit = limit
	return nil
}

func (s *Server) createKey(w http.ResponseWriter, r *http.Request) {
	var c keyChange
	if err := json.UnmarshalRead(r.Body, &c); err != nil || c.Name == nil || *c.Name == "" {
		invalid("name: Required").write(w)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.newKey("sk-or-v1-" + mustHash(fmt.Sprint(s.config.Seed, "/", len(s.keys))))
	if err := c.apply(k); err != nil {
		delete(s.keys, k.secret)
		invalid(err.Error()).write(w)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(http.StatusCreated)
	w.Write(mustJSON(fields{"data": k.row(time.Now()), "key": k.secret}))
}

func (s *Server) listKeys(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sorted := slices.SortedFunc(maps.Values(s.keys), func(a, b *apiKey) int {
		return cmp.Or(a.created.Compare(b.created), strings.Compare(a.hash, b.hash))
	})
	rows := make([]fields, len(sorted))
	for i, k := range sorted {
		rows[i] = k.row(time.Now())
	}
	writeJSON(w, mustJSON(fields{"data": rows}))
}

// withKey serves a request about one key.
func (s *Server) withKey(act func(k *apiKey, r *http.Request) (fields, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		k := s.keyByHash(r.PathValue("hash"))
		if k == nil {
			own(http.StatusNotFound, "key", "API key not found", nil).write(w)
			return
		}
		answer, err := act(k, r)
		if err != nil {
			invalid(err.Error()).write(w)
			return
		}
		writeJSON(w, mustJSON(answer))
	}
}

func (s *Server) oneKey(k *apiKey, _ *http.Request) (fields, error) {
	return fields{"data": k.row(time.Now())}, nil
}

func (s *Server) changeKey(k *apiKey, r *http.Request) (fields, error) {
	var c keyChange
	if err := json.UnmarshalRead(r.Body, &c); err != nil {
		return nil, fmt.Errorf("body: Invalid input: %w", err)
	}
	if err := c.apply(k); err != nil {
		return nil, err
	}
	k.updated = new(time.Now())
	return fields{"data": k.row(*k.updated)}, nil
}

func (s *Server) deleteKey(k *apiKey, _ *http.Request) (fields, error) {
	delete(s.keys, k.secret)
	return fields{"deleted": true}, nil
}

// bearer is the request's API key.
func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}
