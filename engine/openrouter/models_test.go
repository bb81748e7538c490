package openrouter_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/route"
)

// TestPages follows the links to further pages, however they are written, and
// no further than the API: the key travels along.
func TestPages(t *testing.T) {
	for _, row := range []struct {
		name string
		next string // the link of the first page, as JSON
		want int    // rows in all
		err  string
	}{
		{"no links", "", 1, ""},
		{"no next", `,"links":{"next":null}`, 1, ""},
		{"links of another kind", `,"links":[1]`, 1, ""},
		{"a path", `,"links":{"next":"/api/v1/models?offset=1"}`, 2, ""},
		{"a query", `,"links":{"next":"?offset=1"}`, 2, ""},
		{"an address", `,"links":{"next":"http://vendor.test/api/v1/models?offset=1"}`, 2, ""},
		{"another host", `,"links":{"next":"http://elsewhere.test/api/v1/models?offset=1"}`, 0, "not below base_url"},
		{"another scheme", `,"links":{"next":"https://vendor.test/api/v1/models?offset=1"}`, 0, "not below base_url"},
		{"out of the API", `,"links":{"next":"/login?offset=1"}`, 0, "not below base_url"},
		{"a name that only begins alike", `,"links":{"next":"/api/v10/models"}`, 0, "not below base_url"},
		{"no address", `,"links":{"next":"http://[::1"}`, 0, "next page"},
		{"around and around", `,"links":{"next":"/api/v1/models"}`, 0, "do not end"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					next := row.next
					if r.URL.Query().Get("offset") != "" {
						next = `,"links":{"next":null}`
					}
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"data":[{"id":"a/b"},7]%s}`, next)
				}), nil)
				models, err := c.Models(t.Context())
				if row.err != "" {
					if err == nil || !strings.Contains(err.Error(), row.err) {
						t.Errorf("%d models and %v, want an error: %s", len(models), err, row.err)
					}
					return
				}
				if err != nil || len(models) != row.want {
					t.Errorf("%d models, want %d: %v", len(models), row.want, err)
				}
			})
		})
	}
}

// TestLists reads the vendor's lists, and passes over what it does not know.
func TestLists(t *testing.T) {
	lists := map[string]string{
		"/api/v1/models":                  `{"data":[{"id":"a/b","canonical_slug":"a/b-0127","expiration_date":"2026-10-01","novelty":{}},{"id":"a/c","expiration_date":null},{"name":"no id"},"x"]}`,
		"/api/v1/models?distillable=true": `{"data":[{"id":"a/c"}]}`,
		"/api/v1/providers":               `{"data":[{"name":"AtlasCloud","slug":"atlas-cloud","headquarters":null},{"slug":"nameless"},{}]}`,
		"/api/v1/endpoints/zdr":           `{"data":[{"model_id":"a/b","tag":"one/int4"},{"model_id":"a/c","tag":"two/int4"},null]}`,
	}
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		c, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			keys = append(keys, r.Header.Get("Authorization"))
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, lists[r.URL.RequestURI()])
		}), func(cfg *openrouter.Config) { cfg.Key = "" })
		models, err := c.Models(t.Context())
		if want := []openrouter.Model{{ID: "a/b", Canonical: "a/b-0127", Expires: "2026-10-01"}, {ID: "a/c"}}; err != nil || !slices.Equal(models, want) {
			t.Errorf("models %+v, want %+v: %v", models, want, err)
		}
		models, err = c.Distillable(t.Context())
		if want := []openrouter.Model{{ID: "a/c"}}; err != nil || !slices.Equal(models, want) {
			t.Errorf("distillable %+v, want %+v: %v", models, want, err)
		}
		providers, err := c.Providers(t.Context())
		if want := []route.Provider{{Name: "AtlasCloud", Slug: "atlas-cloud"}, {Slug: "nameless"}}; err != nil || !slices.Equal(providers, want) {
			t.Errorf("providers %+v, want %+v: %v", providers, want, err)
		}
		retained, err := c.Retainless(t.Context(), "a/b")
		if err != nil || retained(&eyrie.Lane{Tag: "one/int4"}) || !retained(&eyrie.Lane{Tag: "two/int4"}) {
			t.Errorf("who retains is wrong: %v", err)
		}
		if slices.ContainsFunc(keys, func(k string) bool { return k != "" }) {
			t.Errorf("a header for a key that is not there: %q", keys)
		}
	})
}

// TestHealth reads how an endpoint is doing, as far as that is given.
func TestHealth(t *testing.T) {
	for _, row := range []struct{ name, members, want string }{
		{"nothing", ``, "status –, up –, 0 tok/s, 0s"},
		{"null", `"status":null,"uptime_last_30m":null,"latency_last_30m":null,"throughput_last_30m":null,`, "status –, up –, 0 tok/s, 0s"},
		{"all", `"status":-2,"uptime_last_30m":99.5,"latency_last_30m":{"p50":1450,"p99":19000},"throughput_last_30m":{"p50":41.5},`, "status -2, up 99.5, 41.5 tok/s, 1.45s"},
		{"down", `"status":0,"uptime_last_30m":0,`, "status 0, up 0, 0 tok/s, 0s"},
		{"as text", `"status":"-5","uptime_last_30m":"80",`, "status -5, up 80, 0 tok/s, 0s"},
		{"of other kinds", `"status":"asleep","uptime_last_30m":[1],"latency_last_30m":7,"throughput_last_30m":{"mean":3},`, "status –, up –, 0 tok/s, 0s"},
		{"below zero", `"latency_last_30m":{"p50":-1},"throughput_last_30m":{"p50":-1},`, "status –, up –, 0 tok/s, 0s"},
	} {
		t.Run(row.name, func(t *testing.T) {
			cat, err := openrouter.ParseEndpoints(endpoints(`"tag":"a/int4",` + row.members + plainPrices))
			if err != nil {
				t.Fatal(err)
			}
			h := cat.Lanes[0].Health
			status, up := "–", "–"
			if h.Status != nil {
				status = fmt.Sprint(*h.Status)
			}
			if h.Uptime != nil {
				up = fmt.Sprint(*h.Uptime)
			}
			if got := fmt.Sprintf("status %s, up %s, %v tok/s, %v", status, up, h.Throughput, h.Latency.Round(time.Millisecond)); got != row.want {
				t.Errorf("%s; want %s", got, row.want)
			}
		})
	}
}

// TestParseSnapshot reads saved catalogues in each of their forms.
func TestParseSnapshot(t *testing.T) {
	one := string(endpoints(`"tag":"a/int4",` + plainPrices))
	for _, row := range []struct {
		name, doc         string
		models, providers int // -1 where the snapshot does not hold the list
		err               string
	}{
		{"one model's", one, -1, -1, ""},
		{"by model", `{"` + model + `":` + one + `,"note":"text"}`, -1, -1, ""},
		{"a dump", `{"generated":"today","models":{"data":[{"id":"a/b"}]},"providers":{"data":[{"name":"A","slug":"a"}]},"endpoints":{"` + model + `":` + one + `}}`, 1, 1, ""},
		{"a dump of endpoints only", `{"endpoints":{"` + model + `":` + one + `}}`, -1, -1, ""},
		{"a list of models", `{"data":[{"id":"a/b"}]}`, 0, 0, "saved catalogue"},
		{"nothing", `{}`, 0, 0, "no model's endpoints"},
		{"a list", `[]`, 0, 0, "saved catalogue"},
		{"cut", one[:len(one)-9], 0, 0, "saved catalogue"},
		{"gzip that is cut", "\x1f\x8b\x08", 0, 0, "saved catalogue"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			io.WriteString(z, row.doc)
			z.Close()
			for _, doc := range [][]byte{[]byte(row.doc), packed.Bytes()} {
				s, err := openrouter.ParseSnapshot(doc)
				if row.err != "" {
					if err == nil || !strings.Contains(err.Error(), row.err) {
						t.Errorf("%v, want an error: %s", err, row.err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if row.models != count(s.Models) || row.providers != count(s.Providers) || !slices.Equal(s.Held(), []string{model}) {
					t.Errorf("%d models, %d providers, endpoints of %v", len(s.Models), len(s.Providers), s.Held())
				}
				if cat, err := s.Endpoints(model); err != nil || len(cat.Lanes) != 1 {
					t.Errorf("the model's endpoints: %v", err)
				}
				if _, err := s.Endpoints("nobody/knows"); err == nil {
					t.Error("a model that is not there was found")
				}
			}
		})
	}
}

func count[T any](list []T) int {
	if list == nil {
		return -1
	}
	return len(list)
}

// TestRealSnapshot reads the whole recorded catalogue.
func TestRealSnapshot(t *testing.T) {
	doc, err := io.ReadAll(reference(t, "openrouter", "data", "openrouter-snapshot-2026-08-22T230119Z.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := openrouter.ParseSnapshot(doc)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Models) != 422 || len(s.Providers) != 103 || len(s.Held()) != 422 {
		t.Errorf("%d models, %d providers, endpoints of %d models; want 422, 103, 422", len(s.Models), len(s.Providers), len(s.Held()))
	}
}

func FuzzParseSnapshot(f *testing.F) {
	one := string(endpoints(`"tag":"a/int4","status":0,` + plainPrices))
	f.Add([]byte(one))
	f.Add([]byte(`{"models":{"data":[{"id":"a/b"}],"links":{"next":"x"}},"endpoints":{"a/b":` + one + `}}`))
	f.Add([]byte(`{"a/b":` + one + `}`))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		s, err := openrouter.ParseSnapshot(doc)
		if (s == nil) == (err == nil) {
			t.Fatalf("snapshot %v and error %v", s, err)
		}
		if err != nil {
			return
		}
		for _, m := range s.Held() {
			cat, err := s.Endpoints(m)
			if err != nil {
				continue
			}
			for _, l := range cat.Lanes {
				if l.Closed == "" != (l.PromptPrice.Known() && l.OutputPrice.Known()) {
					t.Errorf("%s is closed because %q with prices %s, %s", l.Tag, l.Closed, l.PromptPrice, l.OutputPrice)
				}
			}
		}
	})
}
