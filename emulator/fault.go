package emulator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Fault is one misbehaviour and the requests it strikes. Without conditions it
// strikes every request; each condition that is set narrows it down.
type Fault struct {
	Kind  string `yaml:"kind"`            // what happens: see [Kinds]
	Value string `yaml:"value,omitempty"` // which variant of it; each kind lists its own

	Rate      float64       `yaml:"rate,omitempty"`      // share of requests struck, drawn from the seed; 0: all
	Endpoints []string      `yaml:"endpoints,omitempty"` // only at these tags
	From      time.Duration `yaml:"from,omitempty"`      // only from this long after the start ...
	To        time.Duration `yaml:"to,omitempty"`        // ... until this long after it; 0: for ever
	Requests  []int         `yaml:"requests,omitempty"`  // only these chat requests, counted from 1
	Attempts  int           `yaml:"attempts,omitempty"`  // only the first so many times that a prompt is asked
	Match     string        `yaml:"match,omitempty"`     // only requests whose body contains this
	Limit     int           `yaml:"limit,omitempty"`     // no more than this many strikes in all; 0: no limit

	Status     int           `yaml:"status,omitempty"`      // HTTP status or inner error code
	Message    string        `yaml:"message,omitempty"`     // of the error
	RetryAfter string        `yaml:"retry_after,omitempty"` // seconds, "date:SECONDS", or "" for no header
	After      int           `yaml:"after,omitempty"`       // tokens or bytes before it happens
	For        time.Duration `yaml:"for,omitempty"`         // how long it lasts; 0: until the client leaves
	Factor     float64       `yaml:"factor,omitempty"`      // by how much
	Charge     string        `yaml:"charge,omitempty"`      // yes, no, or "" for what the kind usually does
}

// kind describes a sort of fault.
type kind struct {
	about  string
	values []string // allowed variants, the first is the default; nil: any text
	phase  phase
	spoils bool // a reply struck by it is not what the client paid for, even when it is sent to its end
}

// phase is where in a request's life a kind is looked for.
type phase int

const (
	edge     phase = iota // before the vendor looks at the request
	gate                  // at admission
	upstream              // at the chosen endpoint, before anything is generated
	reply                 // while the reply is made or sent
	lookup                // in /generation
)

// kinds is the table of faults. Package documentation repeats it.
var kinds = map[string]kind{
	"edge_block":   {"403 HTML page before anything else", nil, edge, false},
	"html":         {"HTML error page, status 520, 522, 524, 502 ...", nil, edge, false},
	"unauthorized": {"401 for a valid key", nil, edge, false},
	"reset_early":  {"connection reset before a response", nil, edge, false},

	"payment":   {"402 refusal", []string{"afford", "credits", "never", "prompt_limit"}, gate, false},
	"forbidden": {"403 refusal", []string{"key_limit", "moderation", "guardrail", "region"}, gate, false},
	"not_found": {"404 refusal", []string{"endpoints", "guardrail", "tools"}, gate, false},
	"quota":     {"429 of the vendor's own", []string{"free_per_min", "free_per_day"}, gate, false},

	"rate_limit": {"429 of the endpoint", []string{"upstream", "capacity", "html"}, upstream, false},
	"http":       {"relayed error, status 400, 408, 500, 502, 503, 504, 529 ...", []string{"json", "nested", "raw_html"}, upstream, false},

	"error_body": {"status 200 with an error for a body", []string{"no_choices", "null_choices", "in_choice"}, reply, true},
	"choices":    {"status 200 without a choice", []string{"null", "empty", "missing"}, reply, true},
	"blank":      {"status 200 with a useless body", []string{"whitespace", "dot", "empty", "html", "cut_json", "sse"}, reply, true},
	"drip":       {"white space before the JSON, After bytes of it", nil, reply, false},
	"mid_error":  {"error in the stream after After tokens", []string{"with_choices", "empty_choices", "bare", "string_code", "nested", "event"}, reply, true},
	"eof":        {"stream ends early after After tokens, without finish or [DONE]", []string{"clean", "in_event"}, reply, true},
	"reset":      {"connection is reset after After tokens", nil, reply, true},
	"stall":      {"nothing but comments after After tokens", []string{"comments", "silent"}, reply, true},
	"done":       {"wrong end of stream", []string{"missing", "open", "more"}, reply, false},
	"frame":      {"unusual framing; split writes After bytes at a time, huge pads events by After bytes", []string{"crlf", "no_space", "fields", "split", "multi_line", "huge", "gzip"}, reply, false},
	"usage":      {"unusual usage", []string{"repeat_finish", "in_finish", "missing", "twice", "null_cost", "zero_cost", "undercount", "overcount", "discount"}, reply, false},
	"finish":     {"unusual finish_reason", []string{"blank", "null", "error", "length", "content_filter", "word", "early_blank"}, reply, true},
	"content":    {"spoiled text", []string{"reasoning_only", "empty", "no_reasoning", "reasoning_content", "details_only", "leak", "refusal", "drift", "loop", "duplicate", "ignore_disabled", "ignore_stop", "ignore_seed", "ignore_schema"}, reply, true},
	"tool":       {"spoiled tool calls", []string{"malformed", "leak", "duplicate_id", "empty_id", "native_id", "no_index", "plain_text", "finish_stop", "ignore_choice"}, reply, true},
	"logprobs":   {"unusual logprobs; with text_bytes half a character is U+FFFD", []string{"null", "no_bytes", "text_bytes", "no_control", "no_reasoning", "merged", "short"}, reply, false},
	"overrun":    {"ignores max_tokens, writing Factor times as much", nil, reply, false},
	"provider":   {"wrong provider; with swapped another endpoint serves, with hidden it does so under the right name", []string{"other", "missing", "slug", "case", "swapped", "hidden"}, reply, true},
	"model":      {"other model name", []string{"id", "wrong"}, reply, true},
	"charge":     {"wrong charge", []string{"double", "discount"}, reply, false},
	"pipeline":   {"a plugin in openrouter_metadata's pipeline", nil, reply, true},

	"goaway": {"the connection is to be left after this reply: GOAWAY on HTTP/2, Connection: close on HTTP/1.1", nil, reply, false},

	"generation": {"/generation misbehaves", []string{"never", "status", "cost"}, lookup, false},
}

// Kinds lists the sorts of faults with what they do and the variants they have,
// for help texts.
func Kinds() []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		line := name + ": " + kinds[name].about
		if v := kinds[name].values; v != nil {
			line += " (" + strings.Join(v, ", ") + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func (f Fault) validate() error {
	k, ok := kinds[f.Kind]
	if !ok {
		return fmt.Errorf("kind %q is unknown; there are %s", f.Kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	var errs []error
	if f.Value != "" && !slices.Contains(k.values, f.Value) {
		errs = append(errs, fmt.Errorf("value %q is unknown for %s; there are %s", f.Value, f.Kind, strings.Join(k.values, ", ")))
	}
	if f.Rate < 0 || f.Rate > 1 {
		errs = append(errs, fmt.Errorf("rate is %v, must be between 0 and 1", f.Rate))
	}
	if f.From < 0 || f.To < 0 || f.For < 0 || f.After < 0 || f.Limit < 0 || f.Attempts < 0 || f.Factor < 0 {
		errs = append(errs, errors.New("from, to, for, after, limit, attempts and factor must be 0 or more"))
	}
	if f.To > 0 && f.To <= f.From {
		errs = append(errs, fmt.Errorf("to is %v, must be after from %v", f.To, f.From))
	}
	if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
		errs = append(errs, fmt.Errorf("status is %d, must be between 400 and 599", f.Status))
	}
	if f.Charge != "" && f.Charge != "yes" && f.Charge != "no" {
		errs = append(errs, fmt.Errorf("charge is %q, must be yes, no or empty", f.Charge))
	}
	return errors.Join(errs...)
}

// variant is the value, or the kind's first when none is given.
func (f Fault) variant() string {
	if v := kinds[f.Kind].values; f.Value == "" && len(v) > 0 {
		return v[0]
	}
	return f.Value
}

// occasion is what a fault's conditions are held against.
type occasion struct {
	since   time.Duration // the start
	number  int           // of the chat request
	attempt int           // of its prompt, from 0
	tag     string        // "" before an endpoint is chosen
	body    []byte
	draw    func(i int) float64 // the i-th fault's lot, in [0,1)
}

// strikes returns the faults of a phase that hit: all that spoil a reply, only
// the first that refuses one. Server.mu is held.
func (s *Server) strikes(p phase, o occasion) []Fault {
	var hit []Fault
	for i, f := range s.scenario.Faults {
		if kinds[f.Kind].phase != p || !f.applies(o) {
			continue
		}
		if f.Rate > 0 && o.draw(i) >= f.Rate {
			continue
		}
		if f.Limit > 0 && s.struck[i] >= f.Limit {
			continue
		}
		s.struck[i]++
		hit = append(hit, f)
		if p != reply {
			break
		}
	}
	return hit
}

func (f Fault) applies(o occasion) bool {
	switch {
	case o.since < f.From, f.To > 0 && o.since >= f.To:
		return false
	case len(f.Endpoints) > 0 && !slices.Contains(f.Endpoints, o.tag):
		return false
	case len(f.Requests) > 0 && !slices.Contains(f.Requests, o.number):
		return false
	case f.Attempts > 0 && o.attempt >= f.Attempts:
		return false
	case f.Match != "" && !strings.Contains(string(o.body), f.Match):
		return false
	}
	return true
}
