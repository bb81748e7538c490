package openrouter

import (
	"errors"
	"fmt"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/route"
)

// ClassOverrun is the class of an answer longer than max_tokens: the lane does
// not enforce it, and whoever reserves money for the lane must know.
const ClassOverrun = "overrun"

// verify says whether a stream that ended well is the answer that was asked
// for. Its money is counted either way.
func (a *attempt) verify() error {
	ans, lane := a.answer, a.req.Lane
	charged := eyrie.ChargedUnknown
	if ans.CostGiven {
		charged = eyrie.ChargedYes
	}
	refuse := func(kind eyrie.ErrorKind, class, format string, args ...any) error {
		return a.fail(kind, charged, class, fmt.Errorf(format, args...))
	}
	switch {
	case ans.FinishReason == "":
		return refuse(eyrie.Again, "no finish reason", "the stream ended without a finish reason")
	case ans.FinishReason == "content_filter":
		return refuse(eyrie.GiveUp, "content filter", "the provider's filter stopped the answer")
	case ans.FinishReason != eyrie.FinishStop && ans.FinishReason != eyrie.FinishLength && ans.FinishReason != eyrie.FinishToolCalls:
		return refuse(eyrie.Elsewhere, "finish reason", "finish_reason %q", ans.FinishReason)
	case !route.SameProvider(ans.Provider, lane.Provider):
		return refuse(eyrie.Elsewhere, "wrong provider", "pinned %s and %q answered", lane.Provider, ans.Provider)
	case !a.client.models.accepts(a.req.Model, ans.Model):
		return refuse(eyrie.Elsewhere, "wrong model", "asked for %s and %q answered", a.req.Model, ans.Model)
	case a.dec.pipeline != "":
		return refuse(eyrie.Elsewhere, "pipeline", "the answer went through %s", a.dec.pipeline)
	case ans.Content == "" && len(ans.ToolCalls) == 0 && ans.FinishReason != eyrie.FinishLength:
		return refuse(eyrie.Elsewhere, "empty answer", "finish_reason %q without content (%d bytes of reasoning)", ans.FinishReason, len(ans.Reasoning))
	}
	if !a.req.Sampling.Thinking && ans.Reasoning != "" {
		return refuse(eyrie.Elsewhere, "reasoning", "thinking is off and reasoning came")
	}
	if n := ans.Usage.CompletionTokens; n > a.req.Sampling.MaxTokens {
		return refuse(eyrie.Elsewhere, ClassOverrun, "%d completion tokens and max_tokens is %d", n, a.req.Sampling.MaxTokens)
	}
	if err := a.verifyUsage(); err != nil {
		return refuse(eyrie.Elsewhere, "usage", "%w", err)
	}
	return nil
}

// verifyUsage checks the counts and the cost against the lane's price list.
// An answer without usage or cost passes: its bill is read later.
func (a *attempt) verifyUsage() error {
	ans, lane := a.answer, a.req.Lane
	if !ans.Usage.Given {
		return nil
	}
	if ans.Usage.CompletionTokens <= 0 || ans.Usage.PromptTokens <= 0 {
		return errors.New("the usage counts nothing")
	}
	if !ans.CostGiven {
		return nil
	}
	want := lane.Cost(ans.Usage)
	if diff := abs(ans.Cost - want); diff > want/50 && diff > eyrie.Dollar/1_000_000_000 {
		return fmt.Errorf("it cost %s and the price list makes it %s", ans.Cost, want)
	}
	return nil
}

func abs(m eyrie.Money) eyrie.Money {
	if m < 0 {
		return -m
	}
	return m
}
