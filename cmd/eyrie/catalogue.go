package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
	"github.com/eyrie-ai/eyrie/internal/config"
	"github.com/eyrie-ai/eyrie/internal/durable"
	"github.com/eyrie-ai/eyrie/limit"
	"github.com/eyrie-ai/eyrie/route"
)

// engine is an engine of the job with its policy and its latest look.
type engine struct {
	name   string
	client *openrouter.Client // nil where a saved catalogue is read
	source source
	policy route.Policy
	zdr    bool
	look
	kept keptList
}

// keptList is the list that was kept last.
type keptList struct {
	name  string
	terms string
	again bool // it says what the one before it says
}

// look is a catalogue as it was read once, judged by a policy.
type look struct {
	engine   *engine
	cat      *openrouter.Catalogue
	verdicts []route.Verdict
	lanes    []*eyrie.Lane // that may answer, in order of preference
}

// source is where catalogues are read: at the vendor, or in a file.
type source interface {
	Endpoints(ctx context.Context, model string) (*openrouter.Catalogue, error)
	Models(ctx context.Context) ([]openrouter.Model, error)
	Providers(ctx context.Context) ([]route.Provider, error)
	Distillable(ctx context.Context) ([]openrouter.Model, error)
	Retainless(ctx context.Context, model string) (retained func(*eyrie.Lane) bool, err error)
}

var (
	_ source = (*openrouter.Client)(nil)
	_ source = saved{}
)

// saved is a source without the network.
type saved struct{ *openrouter.Snapshot }

// errNotSaved is returned for lists that a saved catalogue does not hold.
var errNotSaved = errors.New("the saved catalogue does not say")

func openSaved(path string) (saved, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return saved{}, err
	}
	s, err := openrouter.ParseSnapshot(b)
	if err != nil {
		return saved{}, fmt.Errorf("%s: %w", path, err)
	}
	return saved{s}, nil
}

func (s saved) Endpoints(_ context.Context, model string) (*openrouter.Catalogue, error) {
	return s.Snapshot.Endpoints(model)
}

func (s saved) Models(context.Context) ([]openrouter.Model, error) { return s.Snapshot.Models, nil }

func (s saved) Providers(context.Context) ([]route.Provider, error) { return s.Snapshot.Providers, nil }

func (s saved) Distillable(context.Context) ([]openrouter.Model, error) { return nil, errNotSaved }

func (s saved) Retainless(context.Context, string) (func(*eyrie.Lane) bool, error) {
	return nil, errNotSaved
}

// gather is the longest that text may gather between two reads of a stream.
const gather = time.Second

// newClient makes the client of an engine.
func newClient(job *config.Job, o *config.OpenRouter, key config.Key) (*openrouter.Client, error) {
	c, err := openrouter.New(openrouter.Config{
		BaseURL: o.BaseURL, Key: key.Reveal(), MaxStreams: job.Concurrency, Gather: gather,
		DataCollection: o.DataCollection, ZDR: o.ZDR, Distillable: o.Distillable, Logprobs: o.Logprobs != "", NeedLogprobs: o.Logprobs == "true", MaxPrompt: o.MaxPrice.Prompt, MaxOutput: o.MaxPrice.Completion, MaxRequest: o.MaxPrice.Request, UserAgent: "eyrie/" + programVersion(),
	})
	if err != nil {
		return nil, &exitError{exitConfig, err}
	}
	return c, nil
}

// connect reads the engines' catalogues at the vendor and applies the policy.
func (a *app) connect(ctx context.Context, s *session) error {
	for _, e := range s.job.Engines {
		if e.Local != nil {
			if err := a.joinLocal(ctx, s, e); err != nil {
				return err
			}
			continue
		}
		key, err := e.OpenRouter.Key(a.env())
		if err != nil {
			return &exitError{exitConfig, err}
		}
		client, err := newClient(s.job, e.OpenRouter, key)
		if err != nil {
			return err
		}
		if err := a.join(ctx, s, e, client, client); err != nil {
			return err
		}
	}
	if err := s.someLane(); err != nil {
		return err
	}
	return s.anyThere(func(format string, args ...any) { fmt.Fprintf(a.stderr, format, args...) })
}

// connectSaved applies the policy to a saved catalogue. It needs no key, and
// takes servers of one's own to be there.
func (a *app) connectSaved(ctx context.Context, s *session, file string) error {
	src, err := openSaved(file)
	if err != nil {
		return &exitError{exitConfig, err}
	}
	for _, e := range s.job.Engines {
		if e.Local != nil {
			l, err := newLocal(s.job, e, nil)
			if err != nil {
				return err
			}
			s.locals = append(s.locals, l)
			s.catalogue = append(s.catalogue, route.Verdict{Lane: l.lane, Allowed: true})
			continue
		}
		if err := a.join(ctx, s, e, nil, src); err != nil {
			return err
		}
	}
	return s.someLane()
}

// join adds an engine to the session: it reads its catalogue, judges it, and
// looks up the names in its policy.
func (a *app) join(ctx context.Context, s *session, conf config.Engine, client *openrouter.Client, src source) error {
	eng := &engine{name: conf.Name, client: client, source: src, zdr: conf.OpenRouter.ZDR}
	s.engines = append(s.engines, eng) // from here on the session closes it
	var err error
	if eng.policy, err = newPolicy(s.job, conf.OpenRouter); err != nil {
		return &exitError{exitConfig, fmt.Errorf("%s: %s: quantization: %w", s.job.File, conf.Name, err)}
	}
	if err := mayDistil(ctx, src, s.job, conf.OpenRouter); err != nil {
		return err
	}
	if eng.look, err = eng.read(ctx, s.job.Model); err != nil {
		return eng.unread(ctx, s.job, conf.OpenRouter, err)
	}
	s.catalogue = append(s.catalogue, eng.verdicts...)
	if o := conf.OpenRouter; client == nil && (o.ZDR || o.Distillable) {
		fmt.Fprintf(a.stderr, "note: %s: a saved catalogue does not say who keeps to zdr and distillable\n", conf.Name)
	}
	return a.checkNames(ctx, s.job.File, eng)
}

// unread explains a catalogue that cannot be read by the field of the job that
// is to be looked at.
func (e *engine) unread(ctx context.Context, job *config.Job, o *config.OpenRouter, err error) error {
	vendor, _ := eyrie.AsError(err)
	at := fmt.Sprintf("%s: %s: base_url: %s", job.File, e.name, o.BaseURL)
	switch {
	case e.client == nil, vendor != nil && vendor.Class == "404":
		models, listErr := e.source.Models(ctx)
		if e.client == nil || listErr == nil {
			return &exitError{exitConfig, fmt.Errorf("%s: model: %s has no endpoints here (%w)%s", job.File, job.Model, cause(err), didYouMean(job.Model, models))}
		}
	case vendor != nil && vendor.Class == "connection":
		return &exitError{exitRefused, fmt.Errorf("%s cannot be reached: %w; check the address and the network", at, vendor.Err)}
	case vendor != nil && !strings.HasSuffix(vendor.Class, " page") && !strings.HasPrefix(vendor.Class, "3"):
		return &exitError{exitRefused, err} // the vendor's own words
	}
	return &exitError{exitRefused, fmt.Errorf("%s does not answer as OpenRouter's API does: %w; check the address", at, cause(err))}
}

// cause is a vendor's error without what is known of its meaning elsewhere.
func cause(err error) error {
	if e, ok := eyrie.AsError(err); ok && e.Err != nil {
		return e.Err
	}
	return err
}

// read reads the engine's catalogue as it is now.
func (e *engine) read(ctx context.Context, model string) (look, error) {
	cat, err := e.source.Endpoints(ctx, model)
	if err != nil {
		return look{}, err
	}
	for _, l := range cat.Lanes {
		l.Engine = e.name // nobody else has seen it yet
	}
	p := e.policy
	if e.zdr {
		p.Retained, err = e.source.Retainless(ctx, model)
		if err != nil && !errors.Is(err, errNotSaved) {
			return look{}, err
		}
	}
	verdicts := p.Judge(cat.Lanes)
	return look{engine: e, cat: cat, verdicts: verdicts, lanes: route.Order(verdicts)}, nil
}

// checkNames prints notes on names in the policy that mean nobody who serves
// the model, and refuses those that mean nobody at all.
func (a *app) checkNames(ctx context.Context, where string, e *engine) error {
	p := &e.policy
	if len(p.Only)+len(p.Ignore)+len(p.Prefer)+len(p.Claims) == 0 {
		return nil
	}
	providers, err := e.source.Providers(ctx)
	if err != nil {
		return &exitError{exitRefused, err}
	}
	notes, err := p.CheckNames(e.cat.Lanes, providers)
	for _, n := range notes {
		fmt.Fprintf(a.stderr, "note: %s: %s\n", e.name, n)
	}
	if err != nil {
		var errs []error
		for line := range strings.Lines(err.Error()) {
			errs = append(errs, fmt.Errorf("%s: %s: %s", where, e.name, strings.TrimSuffix(line, "\n")))
		}
		return &exitError{exitConfig, errors.Join(errs...)}
	}
	return nil
}

// mayDistil refuses a model whose author does not allow distillation, where
// the job asks for one who does.
func mayDistil(ctx context.Context, src source, job *config.Job, o *config.OpenRouter) error {
	if !o.Distillable {
		return nil
	}
	models, err := src.Distillable(ctx)
	switch {
	case errors.Is(err, errNotSaved):
		return nil
	case err != nil:
		return &exitError{exitRefused, err}
	case !slices.ContainsFunc(models, func(m openrouter.Model) bool { return m.ID == job.Model || m.Canonical == job.Model }):
		return &exitError{exitConfig, fmt.Errorf("%s: distillable: %s is not among the models whose author allows distillation; choose another model, or leave it out",
			job.File, job.Model)}
	}
	return nil
}

// newPolicy makes an engine's policy from the job.
func newPolicy(job *config.Job, o *config.OpenRouter) (route.Policy, error) {
	p := route.Policy{
		Only: o.Only, Ignore: o.Ignore, Prefer: o.Prefer, MaxPrompt: o.MaxPrice.Prompt, MaxOutput: o.MaxPrice.Completion, MaxRequest: o.MaxPrice.Request,
		MinStatus: o.MinStatus, MinUptime: o.MinUptime,
		MaxTokens: max(job.Mix().MaxTokens(), job.RetryTokens), Parameters: parameters(job.Mix()),
	}
	if o.Logprobs == "true" {
		p.Parameters = append(p.Parameters, "logprobs")
	}
	for _, c := range o.Precision {
		p.Claims = append(p.Claims, route.Claim{Name: c.Name, Label: c.Label, Note: c.Note})
	}
	labels := o.Quantization.Names
	switch o.Quantization.Rule {
	case config.Any:
		return p, nil
	case config.Native:
		labels = []string{route.NativeLabel}
	}
	var err error
	p.Quantizations, p.Native, err = route.Resolve(job.Model, labels)
	return p, err
}

// parameters are the request parameters that the rows of a run send: a lane has
// to take them all.
func parameters(m *eyrie.Mix) []string {
	names := []string{"max_tokens", "reasoning"}
	for i := range m.Parts {
		names = append(names, optional(m.Parts[i].Sampling)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// optional are the parameters that a sampling sends where it sets them.
func optional(s eyrie.Sampling) (names []string) {
	for name, asked := range map[string]bool{
		"temperature": s.Temperature != nil, "top_p": s.TopP != nil, "top_k": s.TopK != nil, "min_p": s.MinP != nil, "seed": s.Seed != nil,
		"stop": len(s.Stop) > 0,
	} {
		if asked {
			names = append(names, name)
		}
	}
	return names
}

// lanes are the allowed lanes of all engines, in order of preference.
func (s *session) lanes() []*eyrie.Lane { return route.Order(s.catalogue) }

// showLanes prints who may answer and, one a line, who may not and why.
func (s *session) showLanes(printf func(string, ...any)) {
	var tags []string
	for _, l := range s.lanes() {
		tags = append(tags, l.Tag)
	}
	printf("%d of %d endpoints may answer: %s\n", len(tags), len(s.catalogue), strings.Join(tags, ", "))
	for _, v := range s.catalogue {
		if !v.Allowed {
			printf("  not %s: %s\n", cmp.Or(v.Lane.Tag, v.Lane.Provider), v.Reason)
		}
	}
}

// someLane says which rule removed whom when nobody is left.
func (s *session) someLane() error {
	if len(s.lanes()) > 0 {
		return nil
	}
	errs := []error{s.nobody()}
	for _, v := range s.catalogue {
		errs = append(errs, fmt.Errorf("  %s, by %s: %s", cmp.Or(v.Lane.Tag, v.Lane.Provider), v.Rule, v.Reason))
	}
	return &exitError{exitConfig, errors.Join(errs...)}
}

// nobody says that nobody may answer, and how many each rule removed.
func (s *session) nobody() error {
	var rules []route.Rule
	removed := map[route.Rule]int{}
	for _, v := range s.catalogue {
		if removed[v.Rule]++; removed[v.Rule] == 1 {
			rules = append(rules, v.Rule)
		}
	}
	text := "the list of endpoints is empty"
	for i, r := range rules {
		if i == 0 {
			text = fmt.Sprintf("%s removes %d of %d", r, removed[r], len(s.catalogue))
		} else {
			text += fmt.Sprintf(", %s %d", r, removed[r])
		}
	}
	return fmt.Errorf("no endpoint of %s may answer: %s", s.job.Model, text)
}

// dispatchLanes are the lanes with the engines that serve them.
func (s *session) dispatchLanes() []dispatch.Lane {
	var looks []look
	for _, e := range s.engines {
		looks = append(looks, e.look)
	}
	return s.lanesOf(looks)
}

// lanesOf are the lanes of some looks: those that may answer in order of
// preference, then the others with the reason why not.
func (s *session) lanesOf(looks []look) []dispatch.Lane {
	of := map[*eyrie.Lane]dispatch.Engine{}
	var all []route.Verdict
	for _, l := range looks {
		for _, v := range l.verdicts {
			of[v.Lane] = metered{l.engine.client}
		}
		all = append(all, l.verdicts...)
	}
	own := map[*eyrie.Lane]*local{}
	for _, l := range s.locals {
		own[l.lane] = l
		all = append(all, route.Verdict{Lane: l.lane, Allowed: true})
	}
	var out []dispatch.Lane
	add := func(l *eyrie.Lane, why string) {
		if o := own[l]; o != nil {
			out = append(out, o.dispatchLane())
			return
		}
		out = append(out, dispatch.Lane{Lane: l, Engine: of[l], Limit: limit.Config{Max: s.job.Concurrency}, Out: why})
	}
	for _, l := range route.Order(all) {
		add(l, "")
	}
	for _, v := range all {
		if !v.Allowed {
			add(v.Lane, v.Reason)
		}
	}
	return out
}

// refresh returns what reads the catalogues again while a run goes on, and how
// often. What it reads is kept before it is used.
func (s *session) refresh(root *os.Root) (func(context.Context) ([]dispatch.Lane, error), time.Duration) {
	if len(s.engines) == 0 {
		return nil, 0 // servers of one's own are watched all the time
	}
	every := 24 * time.Hour
	for _, e := range s.job.Engines {
		if e.OpenRouter != nil {
			every = min(every, e.OpenRouter.CatalogueEvery)
		}
	}
	return func(ctx context.Context) ([]dispatch.Lane, error) {
		var looks []look
		for _, e := range s.engines {
			l, err := e.read(ctx, s.job.Model)
			if err != nil {
				return nil, err
			}
			if err := l.keep(root); err != nil {
				return nil, err
			}
			looks = append(looks, l)
		}
		return s.lanesOf(looks), nil
	}, every
}

// keepCatalogues stores every price list that is used, by its time.
func (s *session) keepCatalogues(root *os.Root) error {
	if err := root.MkdirAll(catalogueDir, 0o755); err != nil {
		return err
	}
	for _, e := range s.engines {
		if err := e.keep(root); err != nil {
			return err
		}
	}
	return nil
}

// keep stores the price list under the time of now. Of lists that offer the same
// the first and the last stay.
func (l *look) keep(root *os.Root) error {
	now := keptList{
		name:  path.Join(catalogueDir, fmt.Sprintf("%s-%s.json", time.Now().UTC().Format("20060102T150405.000Z"), l.engine.name)),
		terms: l.terms(),
	}
	if err := durable.WriteBytes(root, now.name, l.cat.Raw); err != nil {
		return err
	}
	last := l.engine.kept
	now.again = last.terms == now.terms
	l.engine.kept = now
	if now.again && last.again && last.name != now.name {
		return root.Remove(last.name)
	}
	return nil
}

// terms is what the list offers, without how well the endpoints are doing.
func (l *look) terms() string {
	var b strings.Builder
	for _, lane := range l.cat.Lanes {
		terms := *lane
		terms.Health = eyrie.Health{}
		fmt.Fprintf(&b, "%+v\n", terms)
	}
	return b.String()
}
