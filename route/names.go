package route

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/spell"
)

// Provider is a provider of the vendor's list, whether or not it serves a
// model.
type Provider struct {
	Name string // as it is printed on answers, such as "AtlasCloud"
	Slug string // as it stands in tags, such as "atlas-cloud"
}

// names reports whether a name in a job file means the lane: its tag, the slug
// before the tag's slash, or the provider's display name.
func names(n string, l *eyrie.Lane) bool {
	return n == l.Tag || n == slugOf(l.Tag) || SameProvider(n, l.Provider)
}

func slugOf(tag string) string {
	slug, _, _ := strings.Cut(tag, "/")
	return slug
}

// SameProvider compares providers' display names as vendors vary them: without
// regard to case, spaces, hyphens and underscores.
func SameProvider(a, b string) bool { return foldName(a) == foldName(b) }

func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '-', '_', '.':
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// CheckNames looks up every name of the policy. One that means a provider, or
// another endpoint of one, which does not serve the model at present is worth a
// note. One that means nothing at all is an error, with the names that come
// nearest. Where the vendor's providers are not known (nil), such a name gets a
// note too: it may mean one that is elsewhere.
func (p *Policy) CheckNames(lanes []*eyrie.Lane, providers []Provider) (notes []string, err error) {
	var claims []string
	for _, c := range p.Claims {
		claims = append(claims, c.Name)
	}
	var errs []error
	for _, list := range []struct {
		field string
		names []string
	}{{"only", p.Only}, {"ignore", p.Ignore}, {"prefer", p.Prefer}, {"precision", claims}} {
		for _, n := range list.names {
			note, err := lookUp(n, lanes, providers)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", list.field, err))
			} else if note != "" {
				notes = append(notes, list.field+": "+note)
			}
		}
	}
	return notes, errors.Join(errs...)
}

// lookUp says what is to be said of a name.
func lookUp(n string, lanes []*eyrie.Lane, providers []Provider) (note string, err error) {
	if slices.ContainsFunc(lanes, func(l *eyrie.Lane) bool { return names(n, l) }) {
		return "", nil
	}
	slug := slugOf(n)
	var tags []string
	for _, l := range lanes {
		if slug != n && names(slug, l) {
			tags = append(tags, l.Tag)
		}
	}
	if tags != nil {
		return fmt.Sprintf("%s is no endpoint of the model; of %s there is %s", n, slug, strings.Join(tags, ", ")), nil
	}
	if slices.ContainsFunc(providers, func(p Provider) bool { return slug == p.Slug || SameProvider(slug, p.Name) }) {
		return fmt.Sprintf("%s does not serve the model at present", n), nil
	}
	near := nearest(n, candidates(lanes, providers))
	hint := "eyrie providers lists what there is"
	if near != nil {
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	if providers == nil {
		return fmt.Sprintf("%s serves the model under no such name; %s", n, hint), nil
	}
	return "", fmt.Errorf("%q is no provider and no endpoint; %s", n, hint)
}

// candidates are the names that could have been meant, those of endpoints
// first.
func candidates(lanes []*eyrie.Lane, providers []Provider) []string {
	var out []string
	add := func(names ...string) {
		for _, n := range names {
			if n != "" && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	for _, l := range lanes {
		add(slugOf(l.Tag))
	}
	for _, l := range lanes {
		add(l.Tag)
	}
	for _, p := range providers {
		add(p.Slug)
	}
	return out
}

// nearest returns up to three candidates that a person may have meant by n,
// the likeliest first: those that differ by some letters, and those that one
// begins with the other.
func nearest(n string, candidates []string) []string {
	type scored struct {
		name string
		d    int
	}
	var near []scored
	folded := foldName(n)
	for _, c := range candidates {
		other := foldName(c)
		d := spell.Distance(folded, other)
		begins := len(folded) >= 3 && len(other) >= 3 && (strings.HasPrefix(folded, other) || strings.HasPrefix(other, folded))
		if begins || d <= max(1, len(folded)/3) {
			near = append(near, scored{c, d})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return cmp.Compare(a.d, b.d) })
	var out []string
	for _, s := range near[:min(3, len(near))] {
		out = append(out, s.name)
	}
	return out
}
