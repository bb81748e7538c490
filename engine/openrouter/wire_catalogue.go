package openrouter

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
)

// endpoint is one row of the list.
type endpoint struct {
	name, provider, tag, quantization string
	context, maxPrompt, maxOutput     int // 0 when unstated
	parameters                        []string
	pricing                           pricing
	health                            eyrie.Health
}

// endpointDoc is the same as it comes. Every member is raw, so that one of an
// unexpected kind spoils nothing but itself.
type endpointDoc struct {
	Name                jsontext.Value `json:"name"`
	ProviderName        jsontext.Value `json:"provider_name"`
	Tag                 jsontext.Value `json:"tag"`
	Quantization        jsontext.Value `json:"quantization"`
	ContextLength       jsontext.Value `json:"context_length"`
	MaxPromptTokens     jsontext.Value `json:"max_prompt_tokens"`
	MaxCompletionTokens jsontext.Value `json:"max_completion_tokens"`
	Pricing             jsontext.Value `json:"pricing"`
	SupportedParameters jsontext.Value `json:"supported_parameters"`
	Status              jsontext.Value `json:"status"`
	Uptime              jsontext.Value `json:"uptime_last_30m"`
	Latency             jsontext.Value `json:"latency_last_30m"`
	Throughput          jsontext.Value `json:"throughput_last_30m"`
}

func parseEndpointsDocument(doc []byte) (id string, list []endpoint, err error) {
	var d struct {
		Data struct {
			ID        string           `json:"id"`
			Endpoints []jsontext.Value `json:"endpoints"`
		} `json:"data"`
	}
	if err := json.Unmarshal(doc, &d, lenient); err != nil {
		return "", nil, err
	}
	if d.Data.ID == "" {
		return "", nil, errors.New("no data.id in it")
	}
	for i, v := range d.Data.Endpoints {
		var e endpointDoc
		if err := json.Unmarshal(v, &e, lenient); err != nil {
			return "", nil, fmt.Errorf("endpoint %d: %w", i, err)
		}
		list = append(list, e.endpoint())
	}
	return d.Data.ID, list, nil
}

func (e *endpointDoc) endpoint() endpoint {
	out := endpoint{
		name: textOf(e.Name), provider: textOf(e.ProviderName), tag: textOf(e.Tag), quantization: textOf(e.Quantization),
	}
	out.context, _ = countOf(e.ContextLength)
	out.maxPrompt, _ = countOf(e.MaxPromptTokens)
	out.maxOutput, _ = countOf(e.MaxCompletionTokens)
	out.context, out.maxPrompt, out.maxOutput = max(0, out.context), max(0, out.maxPrompt), max(0, out.maxOutput)
	if json.Unmarshal(e.SupportedParameters, &out.parameters, lenient) != nil {
		out.parameters = nil
	}
	if json.Unmarshal(e.Pricing, &out.pricing, lenient) != nil {
		out.pricing = nil
	}
	out.health = e.health()
	return out
}

// health reads what is given of the endpoint's health, and passes over what it
// does not understand.
func (e *endpointDoc) health() eyrie.Health {
	var h eyrie.Health
	if n, ok := countOf(e.Status); ok {
		h.Status = &n
	}
	if f, ok := floatOf(e.Uptime); ok {
		h.Uptime = &f
	}
	h.Throughput = median(e.Throughput)
	h.Latency = time.Duration(median(e.Latency) * float64(time.Millisecond))
	return h
}

// median is the p50 of a list of percentiles; 0 when it is not there.
func median(v jsontext.Value) float64 {
	var p row
	if json.Unmarshal(v, &p, lenient) != nil {
		return 0
	}
	f, _ := floatOf(p["p50"])
	return max(0, f)
}

// floatOf reads a figure that no money depends on.
func floatOf(v jsontext.Value) (float64, bool) {
	f, err := strconv.ParseFloat(textOf(v), 64)
	return f, err == nil && !math.IsNaN(f) && math.Abs(f) < 1e9
}

// pricing is a price list, or one of its overrides: prices in dollars by name,
// as strings or numbers.
type pricing map[string]jsontext.Value

// setPrices gives a lane its prices, or says why they cannot be computed.
func (p pricing) setPrices(l *eyrie.Lane) error {
	var err error
	if l.PromptPrice, err = p.price("prompt"); err != nil {
		return err
	}
	if l.OutputPrice, err = p.price("completion"); err != nil {
		return err
	}
	if !l.PromptPrice.Known() || !l.OutputPrice.Known() {
		return errors.New("it names no price")
	}
	if l.CachedPrice, err = p.price("input_cache_read"); err != nil {
		return err
	}
	if l.WritePrice, err = p.write(); err != nil {
		return err
	}
	if l.RequestPrice, err = p.price("request"); err != nil {
		return err
	}
	if l.ReasoningPrice, err = p.reasoning(l.OutputPrice); err != nil {
		return err
	}
	l.Tiers, err = p.tiers(l)
	return err
}

// price reads one price; one that is not there is unknown.
func (p pricing) price(name string) (eyrie.Price, error) {
	v := p[name]
	if v == nil || v.Kind() == 'n' {
		return eyrie.Price{}, nil
	}
	price, err := eyrie.ParsePrice(textOf(v))
	if err != nil {
		return eyrie.Price{}, fmt.Errorf("its %s %w", name, err)
	}
	return price, nil
}

// write reads the price of a prompt token that is written to the cache. There is
// one for long keeping, too, which is never asked for; the dearer one counts.
func (p pricing) write() (eyrie.Price, error) {
	short, err := p.price("input_cache_write")
	if err != nil {
		return short, err
	}
	long, err := p.price("input_cache_write_1h")
	if !short.Known() || long.Known() && long.Cmp(short) > 0 {
		return long, err
	}
	return short, err
}

// reasoning reads the price of a completion token of reasoning. Lists name it
// where it is the completion's, and as zero where there is none; both mean that
// it goes with the completion's, wherever an override takes that.
func (p pricing) reasoning(output eyrie.Price) (eyrie.Price, error) {
	price, err := p.price("internal_reasoning")
	if price.IsZero() || price == output {
		return eyrie.Price{}, err
	}
	return price, err
}

// tiers reads the overrides that depend on nothing but the prompt's length and
// the time of day.
func (p pricing) tiers(l *eyrie.Lane) ([]eyrie.Tier, error) {
	v := p["overrides"]
	if v == nil || v.Kind() == 'n' {
		return nil, nil
	}
	var list []pricing
	if err := json.Unmarshal(v, &list, lenient); err != nil {
		return nil, errors.New("its price overrides cannot be read")
	}
	var tiers []eyrie.Tier
	for _, o := range list {
		t, err := o.tier(l)
		if err != nil {
			return nil, err
		}
		tiers = append(tiers, t)
	}
	return tiers, nil
}

// overrideParts are the members of an override that are understood, or that a
// text request has nothing to do with.
var overrideParts = []string{
	"min_prompt_tokens", "utc_start", "utc_end", "prompt", "completion", "input_cache_read", "request", "internal_reasoning", "input_cache_write", "input_cache_write_1h",
	"audio", "audio_output", "input_audio_cache", "image", "image_output", "image_token", "web_search", "discount",
}

func (p pricing) tier(l *eyrie.Lane) (t eyrie.Tier, err error) {
	for name := range p {
		if !slices.Contains(overrideParts, name) {
			return t, fmt.Errorf("its price depends on %s", name)
		}
	}
	if err := p.conditions(&t); err != nil {
		return t, err
	}
	if t.PromptPrice, err = p.price("prompt"); err != nil {
		return t, err
	}
	if t.OutputPrice, err = p.price("completion"); err != nil {
		return t, err
	}
	if t.CachedPrice, err = p.price("input_cache_read"); err != nil {
		return t, err
	}
	if t.WritePrice, err = p.write(); err != nil {
		return t, err
	}
	if t.RequestPrice, err = p.price("request"); err != nil {
		return t, err
	}
	output := t.OutputPrice
	if !output.Known() {
		output = l.OutputPrice
	}
	t.ReasoningPrice, err = p.reasoning(output)
	if p["internal_reasoning"] != nil && !t.ReasoningPrice.Known() && l.ReasoningPrice.Known() {
		t.ReasoningPrice = output // it had one of its own, and here has not
	}
	return t, err
}

// conditions reads when an override holds: for prompts from a length on, at
// hours of the day, or both.
func (p pricing) conditions(t *eyrie.Tier) error {
	start, end := p["utc_start"], p["utc_end"]
	long := p["min_prompt_tokens"]
	if long == nil && start == nil {
		return errors.New("a price override of it names neither a length of prompt nor hours")
	}
	ok := true
	if long != nil {
		t.MinPrompt, ok = countOf(long)
	}
	if !ok || t.MinPrompt < 0 {
		return fmt.Errorf("a price override of it begins at %q tokens", textOf(long))
	}
	if start == nil && end == nil {
		return nil
	}
	var ok1, ok2 bool
	t.Hours.Start, ok1 = clockOf(start)
	t.Hours.End, ok2 = clockOf(end)
	if !ok1 || !ok2 {
		return fmt.Errorf("a price override of it holds from %q to %q, which are no times of day", textOf(start), textOf(end))
	}
	return nil
}

// clockOf reads a time of day in the vendor's HHMM numbers: 930 is half past
// nine, and 2400 the end of the day.
func clockOf(v jsontext.Value) (time.Duration, bool) {
	n, ok := countOf(v)
	if !ok || n < 0 || n > 2400 || n%100 > 59 {
		return 0, false
	}
	return time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute, true
}
