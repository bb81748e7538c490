package emulator

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie/emulator/internal/kimi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lenient is how the vendor reads JSON: repeated names and ill-formed text pass.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// maxBody is the largest request body that is read.
const maxBody = 32 << 20

// chatRequest is the part of a chat request that the emulator acts on.
// Everything else in the body is tolerated.
type chatRequest struct {
	Model       string         `json:"model"`
	Models      []string       `json:"models"`
	Messages    jsontext.Value `json:"messages"`
	Tools       jsontext.Value `json:"tools"`
	ToolChoice  jsontext.Value `json:"tool_choice"`
	Stream      bool           `json:"stream"`
	MaxTokens   *int           `json:"max_tokens"`
	MaxTokens2  *int           `json:"max_completion_tokens"`
	Temperature *float64       `json:"temperature"`
	TopP        *float64       `json:"top_p"`
	Stop        jsontext.Value `json:"stop"`
	Seed        *int64         `json:"seed"`
	Logprobs    bool           `json:"logprobs"`
	TopLogprobs int            `json:"top_logprobs"`
	Reasoning   *struct {
		Enabled   *bool  `json:"enabled"`
		Effort    string `json:"effort"`
		MaxTokens *int   `json:"max_tokens"`
		Exclude   bool   `json:"exclude"`
	} `json:"reasoning"`
	ReasoningEffort  string         `json:"reasoning_effort"`
	IncludeReasoning *bool          `json:"include_reasoning"`
	ResponseFormat   jsontext.Value `json:"response_format"`
	Provider         preferences    `json:"provider"`
	SessionID        string         `json:"session_id"`
	PromptCacheKey   string         `json:"prompt_cache_key"`
	User             string         `json:"user"`
	Debug            struct {
		Echo bool `json:"echo_upstream_body"`
	} `json:"debug"`

	body     []byte
	given    object // the top level, raw
	messages kimi.Value
	tools    kimi.Value
}

// preferences is the provider block.
type preferences struct {
	Order             []string                  `json:"order"`
	Only              []string                  `json:"only"`
	Ignore            []string                  `json:"ignore"`
	AllowFallbacks    *bool                     `json:"allow_fallbacks"`
	RequireParameters bool                      `json:"require_parameters"`
	DataCollection    string                    `json:"data_collection"`
	ZDR               bool                      `json:"zdr"`
	Quantizations     []string                  `json:"quantizations"`
	Sort              jsontext.Value            `json:"sort"`
	MaxPrice          map[string]jsontext.Value `json:"max_price"`
}

func (p preferences) fallbacks() bool { return p.AllowFallbacks == nil || *p.AllowFallbacks }

var (
	efforts       = []string{"max", "xhigh", "high", "medium", "low", "minimal", "none"}
	quantizations = []string{"int4", "int8", "fp4", "mxfp4", "nvfp4", "fp6", "fp8", "mxfp8", "fp16", "bf16", "fp32", "unknown"}
	sorts         = []string{"price", "throughput", "latency", "exacto"}
	roles         = []string{"system", "developer", "user", "assistant", "tool"}
)

// readChat reads and checks a chat request's body.
func readChat(r *http.Request) (*chatRequest, *refusal) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return &chatRequest{}, own(400, "bad_request", "Could not read the request body", nil)
	}
	q := &chatRequest{body: body}
	if len(body) > maxBody {
		return q, own(413, "too_large", "Request body is too large", fields{"error_type": errorType(413)})
	}
	if err := json.Unmarshal(body, &q.given, lenient); err != nil {
		return q, own(400, "bad_request", "Invalid JSON in request body", nil)
	}
	if err := json.Unmarshal(body, q, lenient); err != nil {
		return q, invalid(fmt.Sprintf("Invalid input: %v", err))
	}
	if problem := q.check(); problem != "" {
		return q, invalid(problem)
	}
	return q, nil
}

func invalid(message string) *refusal {
	return own(400, "bad_request", message, fields{"error_type": errorType(400)})
}

// check returns what is wrong with the request, "" if nothing is.
func (q *chatRequest) check() string {
	var err error
	if q.messages, err = kimi.Parse(q.Messages); err != nil || q.messages.Kind != '[' || len(q.messages.Items) == 0 {
		return "messages: Invalid input: expected a non-empty array"
	}
	for i, m := range q.messages.Items {
		if !slices.Contains(roles, m.Str("role")) {
			return fmt.Sprintf("messages.%d.role: Invalid option: expected one of %s", i, options(roles))
		}
	}
	if len(q.Tools) > 0 {
		if q.tools, err = kimi.Parse(q.Tools); err != nil || q.tools.Kind != '[' && q.tools.Kind != 'n' {
			return "tools: Invalid input: expected an array"
		}
	}
	effort := q.ReasoningEffort
	if q.Reasoning != nil {
		if q.Reasoning.Effort != "" && q.Reasoning.MaxTokens != nil {
			return "reasoning: Only one of effort and max_tokens can be given"
		}
		if q.Reasoning.Effort != "" && effort != "" && effort != q.Reasoning.Effort {
			return "reasoning_effort: must agree with reasoning.effort"
		}
		if q.Reasoning.Effort != "" {
			effort = q.Reasoning.Effort
		}
	}
	if effort != "" && !slices.Contains(efforts, effort) {
		return "reasoning.effort: Invalid option: expected one of " + options(efforts)
	}
	for i, quantization := range q.Provider.Quantizations {
		if !slices.Contains(quantizations, quantization) {
			return fmt.Sprintf("provider.quantizations.%d: Invalid option: expected one of %s", i, options(quantizations))
		}
	}
	if by := q.Provider.sortBy(); by != "" && !slices.Contains(sorts, by) {
		return "provider.sort: Invalid option: expected one of " + options(sorts)
	}
	if q.Temperature != nil && (*q.Temperature < 0 || *q.Temperature > 2) {
		return "temperature: Invalid input: expected a number between 0 and 2"
	}
	if q.TopP != nil && (*q.TopP < 0 || *q.TopP > 1) {
		return "top_p: Invalid input: expected a number between 0 and 1"
	}
	if q.TopLogprobs < 0 || q.TopLogprobs > 20 {
		return "top_logprobs: Invalid input: expected a number between 0 and 20"
	}
	if limit, ok := q.limit(); ok && limit < 1 {
		return "max_tokens: Invalid input: expected a number of 1 or more"
	}
	if len(q.SessionID) > 256 {
		return "session_id: Too long: expected at most 256 characters"
	}
	return ""
}

func options(names []string) string { return `"` + strings.Join(names, `"|"`) + `"` }

// find returns the requested model, or nil. A suffix on its name is a routing
// preference.
func (q *chatRequest) find(c *catalogue) *model {
	name := q.Model
	if name == "" && len(q.Models) > 0 {
		name = q.Models[0]
	}
	if m := c.find(name); m != nil {
		return m
	}
	base, suffix, _ := strings.Cut(name, ":")
	by, ok := map[string]string{"floor": "price", "nitro": "throughput", "exacto": "exacto"}[suffix]
	if !ok {
		return nil
	}
	if q.Provider.sortBy() == "" {
		q.Provider.Sort = mustJSON(by)
	}
	return c.find(base)
}

// sortBy is the sort key, whether it came as a string or in an object.
func (p preferences) sortBy() string {
	if p.Sort.Kind() == '{' {
		var o struct {
			By string `json:"by"`
		}
		if json.Unmarshal(p.Sort, &o) == nil {
			return o.By
		}
	}
	return text(p.Sort)
}

// limit is the most completion tokens that the client wants.
func (q *chatRequest) limit() (int, bool) {
	switch {
	case q.MaxTokens != nil:
		return *q.MaxTokens, true
	case q.MaxTokens2 != nil:
		return *q.MaxTokens2, true
	}
	return 0, false
}

// schema is what a structured answer has to fit; nil when none is asked for.
func (q *chatRequest) schema() *kimi.Value {
	format, err := kimi.Parse(q.ResponseFormat)
	if err != nil {
		return nil
	}
	switch format.Str("type") {
	case "json_object":
		return &kimi.Value{Kind: '{'}
	case "json_schema":
		wrapper, _ := format.Get("json_schema")
		schema, _ := wrapper.Get("schema")
		return &schema
	}
	return nil
}

// thinking reports whether the model is to think, which it does unless told
// otherwise.
func (q *chatRequest) thinking() bool {
	if q.ReasoningEffort == "none" {
		return false
	}
	r := q.Reasoning
	return r == nil || (r.Enabled == nil || *r.Enabled) && r.Effort != "none"
}

// hideReasoning reports whether reasoning is paid for but not sent.
func (q *chatRequest) hideReasoning() bool {
	return q.Reasoning != nil && q.Reasoning.Exclude || q.IncludeReasoning != nil && !*q.IncludeReasoning
}

// stops returns the stop strings.
func (q *chatRequest) stops() []string {
	if s := text(q.Stop); s != "" {
		return []string{s}
	}
	var list []string
	if q.Stop.Kind() == '[' && json.Unmarshal(q.Stop, &list) == nil {
		return list
	}
	return nil
}

// routable are the request parameters that an endpoint may lack.
var routable = []string{
	"temperature", "top_p", "top_k", "min_p", "top_a", "frequency_penalty", "presence_penalty",
	"repetition_penalty", "seed", "stop", "logit_bias", "logprobs", "top_logprobs", "response_format",
	"tools", "tool_choice", "parallel_tool_calls", "reasoning", "include_reasoning", "reasoning_effort",
	"max_tokens", "max_completion_tokens",
}

// parameters lists the routable parameters that the request sets.
func (q *chatRequest) parameters() []string {
	var names []string
	for _, name := range routable {
		if v, ok := q.given[name]; ok && v.Kind() != 'n' {
			names = append(names, name)
		}
	}
	return names
}

// conversation is the message list as an inference engine gets it: reasoning
// under the name that the model's template knows, null where it reads null,
// and, unless keepArguments, tool arguments read and printed again, because
// engines hand the template dictionaries.
func (q *chatRequest) conversation(keepArguments bool) kimi.Value {
	messages := kimi.Value{Kind: '[', Items: make([]kimi.Value, len(q.messages.Items))}
	for i, m := range q.messages.Items {
		messages.Items[i] = upstreamMessage(m, keepArguments)
	}
	return messages
}

// unreasoned is the place of the first message that calls tools and says nothing
// of its reasoning, not even that there was none; -1 when there is none.
func (q *chatRequest) unreasoned() int {
	return slices.IndexFunc(q.messages.Items, func(m kimi.Value) bool {
		calls, _ := m.Get("tool_calls")
		said := false
		for _, name := range []string{"reasoning_content", "reasoning", "reasoning_details"} {
			v, ok := m.Get(name)
			said = said || ok && v.Kind != 'n'
		}
		return m.Str("role") == "assistant" && calls.Truthy() && !said
	})
}

func upstreamMessage(m kimi.Value, keepArguments bool) kimi.Value {
	out := kimi.Value{Kind: '{'}
	reasoning := ""
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if reasoning == "" {
			reasoning = m.Str(name)
		}
	}
	if details, ok := m.Get("reasoning_details"); ok && reasoning == "" {
		for _, d := range details.Items {
			reasoning += d.Str("text")
		}
	}
	for _, member := range m.Members {
		switch member.Name {
		case "reasoning", "reasoning_content", "reasoning_details":
		case "tool_calls":
			if !member.Value.Truthy() {
				continue
			}
			if !keepArguments {
				member.Value = reprinted(member.Value)
			}
			out.Members = append(out.Members, member)
		default:
			out.Members = append(out.Members, member)
		}
	}
	if reasoning != "" {
		out.Members = append(out.Members, kimi.Member{Name: "reasoning_content", Value: kimi.Value{Kind: '"', Text: reasoning}})
	}
	return out
}

// reprinted replaces argument texts that hold JSON objects by the objects.
func reprinted(calls kimi.Value) kimi.Value {
	out := kimi.Value{Kind: '[', Items: slices.Clone(calls.Items)}
	for i, call := range out.Items {
		call.Members = slices.Clone(call.Members)
		for j, member := range call.Members {
			if member.Name != "function" {
				continue
			}
			f := member.Value
			f.Members = slices.Clone(f.Members)
			for k, a := range f.Members {
				if a.Name != "arguments" || a.Value.Kind != '"' {
					continue
				}
				text := a.Value.Text
				if strings.TrimSpace(text) == "" {
					text = "{}"
				}
				if parsed, err := kimi.Parse([]byte(text)); err == nil && parsed.Kind == '{' {
					f.Members[k].Value = parsed
				}
			}
			call.Members[j].Value = f
		}
		out.Items[i] = call
	}
	return out
}
