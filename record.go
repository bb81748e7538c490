package eyrie

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// A Record is one line of the journal. The concrete types are listed here;
// everything a run knows about itself is a fold over them.
type Record interface{ record() }

// SessionRecord is written once when a process starts or goes on with a run.
type SessionRecord struct {
	Version string `json:"version"`
	Budget  Money  `json:"budget"`
	// AccountUsage is what the vendor said the key had used before this run's
	// first request, where it could be read. Only the first session carries it.
	AccountUsage *Money `json:"account_usage,omitzero"`
}

// PromptRecord keeps a conversation as it was asked, once, before the first
// request for it, so that a run folder can be exported without its data sets.
type PromptRecord struct {
	Prompt   Digest         `json:"prompt"`
	Set      string         `json:"set"`
	ID       string         `json:"id"`
	Ordinal  int            `json:"ordinal"`
	Messages []Message      `json:"messages"`
	Tools    jsontext.Value `json:"tools,omitzero"`
	// Given is set where the assistant messages are context, not turns.
	Given  bool   `json:"given,omitzero"`
	Split  string `json:"split,omitzero"`
	Origin Origin `json:"origin,omitzero"`
}

// StartedRecord says that a request is about to be sent, and what was
// reserved for it. Until its attempt has an end, its charge is unknown.
type StartedRecord struct {
	Attempt      int64    `json:"attempt"`
	Key          Key      `json:"key"`
	Prompt       Digest   `json:"prompt"`
	Set          string   `json:"set"`
	Turn         int      `json:"turn,omitzero"`
	Sample       int      `json:"sample,omitzero"`
	Try          int      `json:"try"`
	Lane         string   `json:"lane"`
	Hold         Money    `json:"hold"`
	PromptTokens int      `json:"prompt_tokens"`
	Sampling     Sampling `json:"sampling"`
}

// SeenRecord gives the vendor's name for an attempt, by which its bill can be
// asked for.
type SeenRecord struct {
	Attempt int64  `json:"attempt"`
	ID      string `json:"id"`
}

// EndedRecord is what an attempt brought: the vendor's text untouched, its
// final frames raw, and our reading of them.
type EndedRecord struct {
	Attempt int64  `json:"attempt"`
	Key     Key    `json:"key"`
	Prompt  Digest `json:"prompt"`
	Set     string `json:"set"`
	Turn    int    `json:"turn,omitzero"`
	Sample  int    `json:"sample,omitzero"`
	Lane    string `json:"lane"`
	// OK is set when the answer is accepted; Class and Detail say why not.
	OK     bool   `json:"ok"`
	Class  string `json:"class,omitzero"`
	Detail string `json:"detail,omitzero"`
	// Break says why the conversation ends with this accepted answer although
	// the data set goes on.
	Break Break `json:"break,omitzero"`
	// Drop says why an accepted answer is no row: it is bought and kept, and
	// counts for nothing.
	Drop string `json:"drop,omitzero"`
	// Charged says whether Cost is known; where it is not, the hold stays, or
	// as much of it as Hold says when that is given.
	Charged Charged `json:"charged"`
	Cost    Money   `json:"cost"`
	Hold    Money   `json:"hold,omitzero"`

	ID            string       `json:"id,omitzero"`
	Provider      string       `json:"provider,omitzero"`
	Model         string       `json:"model,omitzero"`
	Reasoning     string       `json:"reasoning,omitzero"`
	Content       string       `json:"content,omitzero"`
	ToolCalls     []ToolCall   `json:"tool_calls,omitzero"`
	FinishReason  FinishReason `json:"finish_reason,omitzero"`
	NativeFinish  string       `json:"native_finish_reason,omitzero"`
	Usage         Usage        `json:"usage,omitzero"`
	PromptIDs     []int32      `json:"prompt_ids,omitzero"`
	CompletionIDs []int32      `json:"completion_ids,omitzero"`
	FinalFrame    string       `json:"final_frame,omitzero"`
	// Logprobs are the tokens one by one, where the job asks for them.
	Logprobs []TokenLogprob `json:"logprobs,omitzero"`
	// The times to the first content and to the end, in milliseconds.
	FirstContentMS int64 `json:"ttft_ms,omitzero"`
	ElapsedMS      int64 `json:"elapsed_ms,omitzero"`
}

// Answer gives the record's answer as the engine brought it.
func (r *EndedRecord) Answer() *Answer {
	return &Answer{
		ID: r.ID, Provider: r.Provider, Model: r.Model,
		Reasoning: r.Reasoning, Content: r.Content, ToolCalls: r.ToolCalls,
		FinishReason: r.FinishReason, NativeFinish: r.NativeFinish, Usage: r.Usage,
		Cost: r.Cost, CostGiven: r.Charged != ChargedUnknown,
		PromptIDs: r.PromptIDs, CompletionIDs: r.CompletionIDs, Logprobs: r.Logprobs,
		FinalFrame:   []byte(r.FinalFrame),
		FirstContent: time.Duration(r.FirstContentMS) * time.Millisecond,
		Elapsed:      time.Duration(r.ElapsedMS) * time.Millisecond,
	}
}

// SetAnswer copies an answer into the record.
func (r *EndedRecord) SetAnswer(a *Answer) {
	r.ID, r.Provider, r.Model = a.ID, a.Provider, a.Model
	r.Reasoning, r.Content, r.ToolCalls = a.Reasoning, a.Content, a.ToolCalls
	r.FinishReason, r.NativeFinish, r.Usage = a.FinishReason, a.NativeFinish, a.Usage
	r.PromptIDs, r.CompletionIDs, r.Logprobs = a.PromptIDs, a.CompletionIDs, a.Logprobs
	r.FinalFrame = string(a.FinalFrame)
	r.FirstContentMS, r.ElapsedMS = a.FirstContent.Milliseconds(), a.Elapsed.Milliseconds()
}

// SettledRecord is a bill that came late: what attempts whose charge was
// unknown did cost. Source says where the amount was read.
type SettledRecord struct {
	Attempts []int64 `json:"attempts"`
	Cost     Money   `json:"cost"`
	Source   string  `json:"source"`
}

// BudgetRecord says that the budget was changed while the run went on. Job is
// what the job file said at that time: as long as it says so, this one holds.
type BudgetRecord struct {
	Budget Money `json:"budget"`
	Job    Money `json:"job"`
}

// GaveUpRecord says that a generation will not be tried again in this session.
type GaveUpRecord struct {
	Key    Key    `json:"key"`
	Prompt Digest `json:"prompt"`
	Set    string `json:"set"`
	Turn   int    `json:"turn,omitzero"`
	Sample int    `json:"sample,omitzero"`
	Class  string `json:"class"`
	Detail string `json:"detail,omitzero"`
}

func (*SessionRecord) record() {}
func (*PromptRecord) record()  {}
func (*StartedRecord) record() {}
func (*SeenRecord) record()    {}
func (*EndedRecord) record()   {}
func (*SettledRecord) record() {}
func (*BudgetRecord) record()  {}
func (*GaveUpRecord) record()  {}
