package eyrie

import (
	"fmt"
	"math"
	"time"
)

// Generation is one full prompt and the completion that is wanted for it.
type Generation struct {
	Key      Key
	Set      string
	PromptID string
	Prompt   Digest // digest of the conversation it belongs to
	Turn     int    // which assistant answer of the conversation, from 0
	Sample   int    // which sample of the same prompt, from 0
	Messages []Message
	Tools    []byte
	// PromptTokens is our own count of the rendered prompt.
	PromptTokens int
}

// Request is one attempt at a generation on one lane.
type Request struct {
	Generation *Generation
	Model      string
	Sampling   Sampling
	Lane       *Lane
	Run        string // names the run to the vendor, for its own bookkeeping
	Attempt    int    // counts attempts at this generation, from 1
}

// Lane is one endpoint that may answer: an endpoint of a vendor's provider or
// one server. A Lane is immutable; a changed price is a new Lane.
type Lane struct {
	Engine       string // the engine's name in the job file
	Tag          string // the endpoint's own name, such as "atlas-cloud/int4"
	Provider     string // as the vendor prints it on answers
	Quantization string
	PromptPrice  Price
	OutputPrice  Price
	CachedPrice  Price // of a cached prompt token; unknown means PromptPrice
	WritePrice   Price // of writing a prompt token to the cache; unknown means nothing
	// ReasoningPrice is that of a completion token of reasoning, in place of
	// OutputPrice, where it is another; unknown means OutputPrice.
	ReasoningPrice Price
	RequestPrice   Price // of a request by itself; unknown means nothing
	// Tiers are the prices of long prompts and of hours of the day, where they
	// differ.
	Tiers     []Tier
	Context   int // most tokens of prompt and completion together; 0 unstated
	MaxPrompt int // most tokens of a prompt; 0 unstated
	MaxOutput int // most tokens of a completion; 0 unstated
	AtOnce    int // requests it works on at once; 0 unstated
	// Reserves is set where room for max_tokens is taken off the context: a request
	// is refused whose prompt and max_tokens do not fit it together.
	Reserves bool
	// Overruns is set where the endpoint is known not to enforce max_tokens.
	Overruns bool
	// Stops is set where a stream that is cut is known to be charged for what
	// came, and no more. Elsewhere the whole answer may be.
	Stops bool
	// Parameters lists the request parameters the endpoint takes; nil means
	// unstated.
	Parameters []string
	// Closed says why the lane cannot be used whatever the job asks for, such
	// as a price list that cannot be computed; empty when it can. The prices of
	// a closed lane are unknown.
	Closed string
	// Health is how it was doing when the list was read.
	Health Health
}

// Health is how a vendor saw an endpoint doing at one moment.
type Health struct {
	Status     *int          // the vendor's grade: 0 is in order, lower is worse; nil not given
	Uptime     *float64      // per cent of the last half hour; nil not given
	Throughput float64       // tokens a second, median; 0 not given
	Latency    time.Duration // to the first token, median; 0 not given
}

// LongestPrompt is how many tokens a prompt may have beside an answer of up to
// maxTokens, as far as the lane says; math.MaxInt where it says nothing.
func (l *Lane) LongestPrompt(maxTokens int) int {
	most := math.MaxInt
	if l.MaxPrompt > 0 {
		most = l.MaxPrompt
	}
	switch {
	case l.Context == 0:
		return most
	case l.Reserves:
		return min(most, l.Context-maxTokens)
	}
	return min(most, l.Context-1)
}

// Name is how people and records refer to the lane.
func (l *Lane) Name() string { return l.Tag }

// Usage is what the server says it counted. A count it did not give is -1 in
// ReasoningTokens and 0 elsewhere; Given tells whether there was a usage at all.
type Usage struct {
	Given            bool `json:"given"`
	PromptTokens     int  `json:"prompt_tokens"`
	CompletionTokens int  `json:"completion_tokens"`
	ReasoningTokens  int  `json:"reasoning_tokens"`
	CachedTokens     int  `json:"cached_tokens,omitzero"`
}

// FinishReason is why the model stopped, in the vendor's normalised word.
type FinishReason string

// StopString is the [Answer.NativeFinish] of an answer that a server says it
// ended at one of the stop strings: the model has not written its own end.
const StopString = "stop string"

// The finish reasons that can stand under a complete answer.
const (
	FinishStop      FinishReason = "stop"
	FinishLength    FinishReason = "length"
	FinishToolCalls FinishReason = "tool_calls"
)

// Answer is what one attempt brought, untouched: also of an attempt that
// failed, as far as it came.
type Answer struct {
	ID           string // the vendor's generation id
	Provider     string
	Model        string
	Reasoning    string
	Content      string
	ToolCalls    []ToolCall
	FinishReason FinishReason
	NativeFinish string
	Usage        Usage
	// Cost is what the vendor says it charged; CostGiven tells whether it did.
	Cost      Money
	CostGiven bool
	// PromptIDs and CompletionIDs come from servers that return them.
	PromptIDs     []int32
	CompletionIDs []int32
	// Logprobs are the tokens that a server names one by one where it is asked
	// to. They are its word, not checked against the text.
	Logprobs []TokenLogprob
	// FinalFrame holds the raw last frames: the finish, the usage or the error.
	FinalFrame []byte
	// Chunks counts the data frames.
	Chunks int
	// FirstContent is the time to the first content, Elapsed to the end.
	FirstContent time.Duration
	Elapsed      time.Duration
}

// TokenLogprob is one sampled token as a server names it.
type TokenLogprob struct {
	// Token is the token as text. Where it is only a part of a character, the
	// text is a stand-in.
	Token string `json:"token"`
	// Bytes are the token's own bytes; nil when the server does not give them.
	Bytes []byte `json:"bytes,omitzero"`
	// Logprob is the logarithm of the token's probability.
	Logprob float64 `json:"logprob"`
}

// Event is a step of an attempt.
type Event struct {
	Kind EventKind
	// ID is the vendor's generation id, with Opened.
	ID string
	// Bytes is how much text has come so far, with Progress.
	Bytes int
	// Answer is what came, with Ended.
	Answer *Answer
}

// EventKind tells events apart.
type EventKind uint8

// The kinds of event, in the order in which they come.
const (
	Opened   EventKind = iota + 1 // the vendor has named the request
	Progress                      // text arrived
	Ended                         // nothing more comes; Answer holds it all
)

func (k EventKind) String() string {
	switch k {
	case Opened:
		return "opened"
	case Progress:
		return "progress"
	case Ended:
		return "ended"
	}
	return fmt.Sprintf("EventKind(%d)", k)
}
