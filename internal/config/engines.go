package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie"
)

const openRouterKind = "openrouter"

// engineKinds are the engines there are.
var engineKinds = []string{openRouterKind, SGLang, VLLM, OpenAI}

const needEngines = `list one or more engines, such as "- openrouter:"`

// DefaultBaseURL is where OpenRouter is reached when the job does not say.
const DefaultBaseURL = "https://openrouter.ai/api/v1"

// DefaultCatalogueEvery is how often a run reads the catalogue again when the
// job does not say.
const DefaultCatalogueEvery = 5 * time.Minute

// engines reads the list of engines.
func (r *reader) engines(v value, j *Job) {
	if !r.list(v, needEngines) {
		return
	}
	count := map[string]int{}
	var ats []value
	for i := range v.items {
		kind, conf, ok := r.engineKind(v.item(i))
		if !ok {
			continue
		}
		e := Engine{Name: kind}
		ats = append(ats, conf)
		if count[kind]++; count[kind] > 1 {
			e.Name = fmt.Sprintf("%s-%d", kind, count[kind])
		}
		if kind == openRouterKind {
			e.OpenRouter = &OpenRouter{BaseURL: DefaultBaseURL, CatalogueEvery: DefaultCatalogueEvery}
			if conf.kind != null {
				fields(r, conf, openRouterFields(), e.OpenRouter)
			}
		} else {
			var name string
			e.Local, name = r.local(kind, conf)
			e.Name = cmp.Or(name, e.Name)
		}
		j.Engines = append(j.Engines, e)
	}
	r.uniqueEngines(ats, j)
}

// engineKind takes an entry apart into its kind and what stands below.
func (r *reader) engineKind(v value) (kind string, conf value, ok bool) {
	fix := "write one key, the kind of engine: " + strings.Join(engineKinds, ", ")
	if v.kind != mapping || len(v.entries) == 0 {
		r.refuse(v, fix)
		return "", value{}, false
	}
	given, _ := r.entries(v, engineKinds)
	for _, k := range engineKinds {
		if e, ok := given[k]; ok {
			return k, value{e.value, join(v.field, k)}, true
		}
	}
	return "", value{}, false
}

func openRouterFields() []field[OpenRouter] {
	type o = OpenRouter
	return []field[o]{
		{"base_url", "", func(r *reader, v value, o *o) {
			if u, ok := r.baseURL(v); ok {
				o.BaseURL = u
			}
		}},
		{"key_file", "", func(r *reader, v value, o *o) { o.KeyFile, _ = r.path(v, "name a file that holds the key") }},
		{"quantization", "", (*reader).quantization},
		{"precision", "", (*reader).precision},
		{"only", "", func(r *reader, v value, o *o) { o.Only = r.providers(v) }},
		{"ignore", "", (*reader).ignore},
		{"prefer", "", (*reader).prefer},
		{"max_price", "", func(r *reader, v value, o *o) { fields(r, v, maxPriceFields(), &o.MaxPrice) }},
		{"min_status", "", func(r *reader, v value, o *o) {
			if n, ok := r.whole(v, -10, 0); ok {
				o.MinStatus = new(int(n))
			}
		}},
		{"min_uptime", "", func(r *reader, v value, o *o) { o.MinUptime, _ = r.number(v, 0, 100) }},
		{"data_collection", "", func(r *reader, v value, o *o) { o.DataCollection, _ = r.choice(v, "deny", "allow") }},
		{"zdr", "", func(r *reader, v value, o *o) { o.ZDR, _ = r.boolean(v) }},
		{"distillable", "", func(r *reader, v value, o *o) { o.Distillable, _ = r.boolean(v) }},
		{"logprobs", "", (*reader).logprobs},
		{"catalogue_every", "", (*reader).catalogueEvery},
	}
}

func maxPriceFields() []field[MaxPrice] {
	price := func(fix string, at func(*MaxPrice) *eyrie.Money) func(*reader, value, *MaxPrice) {
		return func(r *reader, v value, p *MaxPrice) { *at(p), _ = r.money(v, fix) }
	}
	const million, each = "write dollars per million tokens above zero, such as 2.60", "write dollars a request above zero, such as 0.001, or leave it out"
	return []field[MaxPrice]{
		{"prompt", "", price(million, func(p *MaxPrice) *eyrie.Money { return &p.Prompt })},
		{"completion", "", price(million, func(p *MaxPrice) *eyrie.Money { return &p.Completion })},
		{"request", "", price(each, func(p *MaxPrice) *eyrie.Money { return &p.Request })},
	}
}

// baseURL reads the address of an API: https, or http on this machine only,
// since the key travels in every request.
func (r *reader) baseURL(v value) (string, bool) {
	const fix = "write an https address such as " + DefaultBaseURL + "; http is for this machine only"
	text, ok := r.word(v, fix)
	if !ok {
		return "", false
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		r.fault(v, "an address with more than host and path", fix)
		return "", false
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return strings.TrimRight(text, "/"), true
	}
	r.refuse(v, fix)
	return "", false
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// providers reads a list of slugs, tags or display names.
func (r *reader) providers(v value) []string {
	const fix = "list providers or endpoints, such as [atlas-cloud, siliconflow/int4]"
	return r.words(v, fix, func(v value) (string, bool) { return r.word(v, fix) })
}

// ignore reads what may not answer. It comes after only in the table of
// fields, so that a name in both can be reported.
func (r *reader) ignore(v value, o *OpenRouter) {
	o.Ignore = r.providers(v)
	r.inBoth(v, o.Only, "which only allows")
}

// prefer reads what comes first. It comes after ignore in the table of fields.
func (r *reader) prefer(v value, o *OpenRouter) {
	o.Prefer = r.providers(v)
	r.inBoth(v, o.Ignore, "which ignore keeps out")
}

// inBoth reports the names of a list that stand in another one too.
func (r *reader) inBoth(v value, other []string, where string) {
	for i := range v.items {
		text := v.items[i].text
		if slices.ContainsFunc(other, func(s string) bool { return strings.EqualFold(s, text) }) {
			r.fault(v.item(i), quote(text)+", "+where, "keep it in one of the two")
		}
	}
}

// logprobs reads whether endpoints are asked to name their tokens.
func (r *reader) logprobs(v value, o *OpenRouter) {
	if word, ok := r.choice(v, "false", "auto", "true"); ok && word != "false" {
		o.Logprobs = word
	}
}

// catalogueEvery reads how often the catalogue is read again.
func (r *reader) catalogueEvery(v value, o *OpenRouter) {
	if d, ok := r.duration(v, time.Second, 24*time.Hour, "write a time from 1s to 24h, such as 5m"); ok {
		o.CatalogueEvery = d
	}
}
