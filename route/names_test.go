package route_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/route"
)

func TestCheckNames(t *testing.T) {
	lanes := []*eyrie.Lane{
		lane(t, "fireworks", "Fireworks", "unknown"), lane(t, "atlas-cloud/int4", "AtlasCloud", "int4"),
		lane(t, "sambanova-turbo/x", "SambaNova", "fp8"), // its slug is not in the list of providers
	}
	providers := []route.Provider{{"Fireworks", "fireworks"}, {"AtlasCloud", "atlas-cloud"}, {"Moonshot AI", "moonshotai"}, {"SambaNova", "sambanova"}}
	for _, tt := range []struct {
		name        string
		policy      route.Policy
		unlisted    bool // the vendor's providers are not known
		note, fault string
	}{
		{name: "no names"},
		{name: "by slug, tag and name", policy: route.Policy{Only: []string{"fireworks", "atlas-cloud/int4"}, Ignore: []string{"sambanova"}, Prefer: []string{"Atlas Cloud"}}},
		{name: "slug of a tag only", policy: route.Policy{Only: []string{"sambanova-turbo"}}},
		{name: "elsewhere", policy: route.Policy{Prefer: []string{"moonshotai"}}, note: "prefer: moonshotai does not serve the model at present"},
		{name: "elsewhere, by name", policy: route.Policy{Ignore: []string{"Moonshot AI"}}, note: "ignore: Moonshot AI does not serve the model at present"},
		{name: "elsewhere, by tag", policy: route.Policy{Only: []string{"moonshotai/int4"}}, note: "only: moonshotai/int4 does not serve the model at present"},
		{name: "another endpoint", policy: route.Policy{Only: []string{"atlas-cloud/fp8"}}, note: "only: atlas-cloud/fp8 is no endpoint of the model; of atlas-cloud there is atlas-cloud/int4"},
		{name: "nothing, and near", policy: route.Policy{Only: []string{"fireworks-ai"}}, fault: `only: "fireworks-ai" is no provider and no endpoint; did you mean fireworks?`},
		{name: "nothing, and near two", policy: route.Policy{Ignore: []string{"atlas"}}, fault: `ignore: "atlas" is no provider and no endpoint; did you mean atlas-cloud, atlas-cloud/int4?`},
		{name: "nothing, and far", policy: route.Policy{Only: []string{"zz"}}, fault: `only: "zz" is no provider and no endpoint; eyrie providers lists what there is`},
		{name: "a claim of nothing", policy: route.Policy{Claims: []route.Claim{{Name: "monshotai", Label: "int4"}}}, fault: `precision: "monshotai" is no provider and no endpoint; did you mean moonshotai?`},
		{name: "without a list of providers", policy: route.Policy{Only: []string{"fireworks-ai"}}, unlisted: true, note: "only: fireworks-ai serves the model under no such name; did you mean fireworks?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			known := providers
			if tt.unlisted {
				known = nil
			}
			notes, err := tt.policy.CheckNames(lanes, known)
			if strings.Join(notes, "|") != tt.note {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
			if (err == nil) != (tt.fault == "") || err != nil && err.Error() != tt.fault {
				t.Errorf("error %v, want %s", err, tt.fault)
			}
		})
	}
}

// TestCheckNamesReportsAll: what a user will fix together comes together.
func TestCheckNamesReportsAll(t *testing.T) {
	p := route.Policy{Only: []string{"one"}, Ignore: []string{"two"}, Prefer: []string{"three"}}
	_, err := p.CheckNames(nil, []route.Provider{{Name: "Novita", Slug: "novita"}})
	if err == nil {
		t.Fatal("no error")
	}
	got := slices.Collect(strings.Lines(err.Error()))
	if len(got) != 3 {
		t.Errorf("%d lines, want 3: %v", len(got), err)
	}
}
