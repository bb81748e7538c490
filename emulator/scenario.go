package emulator

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/goccy/go-yaml"
)

// Scenario is how the vendor behaves. Start from [DefaultScenario], which is
// honest and as fast as it can be, or load one from YAML; keys that YAML does
// not mention keep their defaults.
type Scenario struct {
	Name  string `yaml:"name,omitempty"`
	About string `yaml:"about,omitempty"`

	Text       Text              `yaml:"text"`
	Timing     Timing            `yaml:"timing"`
	Stream     Framing           `yaml:"stream"`
	Endpoints  map[string]Limits `yaml:"endpoints"` // by tag; "*" stands for all not named
	Account    Account           `yaml:"account"`
	Generation Lookup            `yaml:"generation"`
	Cache      Cache             `yaml:"cache"`
	Drift      []Change          `yaml:"drift"`
	Faults     []Fault           `yaml:"faults"`
}

// Text shapes completions.
type Text struct {
	MedianTokens    int     `yaml:"median_tokens"`    // of a completion; default 300
	Sigma           float64 `yaml:"sigma"`            // of the log of its length; default 0.6
	ReasoningShare  float64 `yaml:"reasoning_share"`  // of the tokens, when thinking; default 0.5
	NonCanonical    float64 `yaml:"noncanonical"`     // share of completions with an unusual split; default 0.02
	ToolCall        float64 `yaml:"tool_call"`        // chance of calling, given tools; default 0.7
	ParallelCalls   float64 `yaml:"parallel_calls"`   // chance of each further call; default 0.25
	TrimReasoning   bool    `yaml:"trim_reasoning"`   // the reply loses trailing white space of reasoning
	RewriteToolIDs  bool    `yaml:"rewrite_tool_ids"` // the reply numbers calls itself, whatever the model wrote
	KeepArguments   bool    `yaml:"keep_arguments"`   // prompts hold earlier arguments as sent, not reprinted
	OddToolIDs      float64 `yaml:"odd_tool_ids"`     // chance that the model writes a tool id of another form
	TrailingSpace   float64 `yaml:"trailing_space"`   // chance of white space before </think> and tool calls
	SkipThinkEnd    float64 `yaml:"skip_think_end"`   // chance of calling a tool without </think> first
	SpacedArguments float64 `yaml:"spaced_arguments"` // chance of Python's JSON spacing in arguments; default 0.3
}

// Timing paces replies. Zero everywhere means as fast as possible.
type Timing struct {
	Header     time.Duration `yaml:"header"`      // until the response header
	TTFT       time.Duration `yaml:"ttft"`        // from header to first token, median
	TTFTSigma  float64       `yaml:"ttft_sigma"`  // of its log
	TokenRate  float64       `yaml:"token_rate"`  // tokens a second, median over requests; 0: no pacing
	RateSigma  float64       `yaml:"rate_sigma"`  // of its log
	Speed      float64       `yaml:"speed"`       // divides every duration here; default 1
	WriteEvery time.Duration `yaml:"write_every"` // tokens due within it share one write; default 50ms
}

// Framing is the outer form of replies.
type Framing struct {
	ChunkTokens     int           `yaml:"chunk_tokens"`     // tokens in one event; default 4
	CommentInterval time.Duration `yaml:"comment_interval"` // between keep-alive comments in silence; default 10s, 0: none
}

// Limits are an endpoint's capacity.
type Limits struct {
	MaxInFlight int           `yaml:"max_in_flight"` // requests at once; 0: no limit
	RPM         int           `yaml:"rpm"`           // requests begun in any 60 seconds; 0: no limit
	TPM         int           `yaml:"tpm"`           // prompt and completion tokens in any 60 seconds; 0: no limit
	Others      int           `yaml:"others"`        // of max_in_flight, up to this many are taken by other customers, more and less over time
	Queue       time.Duration `yaml:"queue"`         // waits so long for a place before it answers 429
	RetryAfter  string        `yaml:"retry_after"`   // of the 429: seconds, "date:SECONDS", "" for no header
	ZDR         bool          `yaml:"zdr"`           // retains nothing: it is in /endpoints/zdr
	Trains      bool          `yaml:"trains"`        // keeps or trains on prompts: data_collection deny leaves it out
	Reasoned    bool          `yaml:"reasoned"`      // thinking, it refuses calls of tools in the history that have no reasoning member
	Overrun     int           `yaml:"overrun"`       // ignores max_tokens and writes this many times as much; 0: obeys
}

// Cache is the vendor's memory of prompts.
type Cache struct {
	Block int `yaml:"block"` // prompts are cached in blocks of so many tokens; default 0: not at all
	// WriteOnTop adds an endpoint's price of writing to the cache to that of the
	// prompt; else it comes in its place.
	WriteOnTop bool `yaml:"write_on_top"`

	Window time.Duration `yaml:"window"` // of idleness after which prompts and routes are forgotten; default 10m
}

// Account is how the vendor watches the money.
type Account struct {
	BalanceLag   time.Duration `yaml:"balance_lag"`   // age of the figures that admission and /key look at
	NullCounters bool          `yaml:"null_counters"` // /key's usage by day, week and month is null
	CheckLate    bool          `yaml:"check_late"`    // the key's limit and the balance are looked at after the endpoints were filtered
}

// Lookup is how /generation answers.
type Lookup struct {
	Delay          time.Duration `yaml:"delay"`           // until a finished request is found
	CancelledDelay time.Duration `yaml:"cancelled_delay"` // the same after an aborted stream
}

// DefaultScenario is an honest vendor without limits or delays.
func DefaultScenario() Scenario {
	return Scenario{
		Text: Text{
			MedianTokens: 300, Sigma: 0.6, ReasoningShare: 0.5, NonCanonical: 0.02,
			ToolCall: 0.7, ParallelCalls: 0.25, SpacedArguments: 0.3,
		},
		Timing: Timing{Speed: 1, WriteEvery: 50 * time.Millisecond},
		Stream: Framing{ChunkTokens: 4, CommentInterval: 10 * time.Second},
		Cache:  Cache{Window: 10 * time.Minute},
	}
}

// LoadScenario reads a scenario from a YAML file.
func LoadScenario(path string) (Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Scenario{}, err
	}
	s, err := ParseScenario(data)
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario %s: %w", path, err)
	}
	return s, nil
}

// ParseScenario reads a scenario from YAML or JSON. Unknown keys and values out
// of range are errors.
func ParseScenario(data []byte) (Scenario, error) { return DefaultScenario().Patch(data) }

// Patch returns s with the keys that YAML or JSON data mentions replaced. Lists
// and maps are replaced whole.
func (s Scenario) Patch(data []byte) (Scenario, error) {
	if err := yaml.UnmarshalWithOptions(data, &s, yaml.Strict()); err != nil {
		return Scenario{}, errors.New(yaml.FormatError(err, false, true))
	}
	return s, s.Validate()
}

// Validate reports every value that makes no sense.
func (s Scenario) Validate() error {
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v, must be %s", field, value, want))
		}
	}
	share := func(field string, v float64) { check(v >= 0 && v <= 1, field, v, "between 0 and 1") }
	positive := func(field string, v int) { check(v > 0, field, v, "above 0") }
	duration := func(field string, v time.Duration) { check(v >= 0, field, v, "0 or more") }

	positive("text.median_tokens", s.Text.MedianTokens)
	check(s.Text.Sigma >= 0 && s.Text.Sigma <= 3, "text.sigma", s.Text.Sigma, "between 0 and 3")
	share("text.reasoning_share", s.Text.ReasoningShare)
	share("text.noncanonical", s.Text.NonCanonical)
	share("text.tool_call", s.Text.ToolCall)
	share("text.parallel_calls", s.Text.ParallelCalls)
	share("text.odd_tool_ids", s.Text.OddToolIDs)
	share("text.trailing_space", s.Text.TrailingSpace)
	share("text.skip_think_end", s.Text.SkipThinkEnd)
	share("text.spaced_arguments", s.Text.SpacedArguments)
	duration("timing.header", s.Timing.Header)
	duration("timing.ttft", s.Timing.TTFT)
	duration("timing.write_every", s.Timing.WriteEvery)
	check(s.Timing.TokenRate >= 0, "timing.token_rate", s.Timing.TokenRate, "0 or more")
	check(s.Timing.Speed > 0, "timing.speed", s.Timing.Speed, "above 0")
	positive("stream.chunk_tokens", s.Stream.ChunkTokens)
	duration("stream.comment_interval", s.Stream.CommentInterval)
	duration("account.balance_lag", s.Account.BalanceLag)
	duration("generation.delay", s.Generation.Delay)
	duration("generation.cancelled_delay", s.Generation.CancelledDelay)
	for tag, l := range s.Endpoints {
		check(min(l.MaxInFlight, l.RPM, l.TPM, l.Others, l.Overrun) >= 0 && l.Queue >= 0, "endpoints."+tag, l, "0 or more throughout")
	}
	check(s.Cache.Block >= 0, "cache.block", s.Cache.Block, "0 or more")
	duration("cache.window", s.Cache.Window)
	for i, c := range s.Drift {
		if err := c.validate(); err != nil {
			errs = append(errs, fmt.Errorf("drift[%d]: %w", i, err))
		}
	}
	for i, f := range s.Faults {
		if err := f.validate(); err != nil {
			errs = append(errs, fmt.Errorf("faults[%d]: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// limits returns the capacity of an endpoint.
func (s Scenario) limits(tag string) Limits {
	if l, ok := s.Endpoints[tag]; ok {
		return l
	}
	return s.Endpoints["*"]
}
