package server

import (
	"errors"
	"fmt"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/sound"
)

var errNotATriple = errors.New("a token's logprob that is no triple")

// verify says whether what came is the answer that was asked for.
func (a *attempt) verify() *eyrie.Error {
	for _, check := range []func() *eyrie.Error{a.verifyFinish, a.verifyIDs, a.parse, a.verifyText, a.verifyCalls, a.verifyCodec} {
		if e := check(); e != nil {
			return e
		}
	}
	return nil
}

func (a *attempt) refuse(kind eyrie.ErrorKind, class, format string, args ...any) *eyrie.Error {
	return a.fail(kind, class, fmt.Errorf(format, args...))
}

func (a *attempt) verifyFinish() *eyrie.Error {
	ans := a.draft.Answer
	switch {
	case a.draft.several:
		return a.refuse(eyrie.Elsewhere, "bad frame", "there is more than one choice")
	case ans.FinishReason == "":
		return a.refuse(eyrie.Again, "no finish reason", "the answer has no finish reason")
	case ans.FinishReason == finishAbort:
		e := a.refuse(eyrie.Again, "abort", "the server gave the answer up")
		e.LaneWide = true
		return e
	case ans.FinishReason != eyrie.FinishStop && ans.FinishReason != eyrie.FinishLength && ans.FinishReason != eyrie.FinishToolCalls:
		return a.refuse(eyrie.Elsewhere, "finish reason", "finish_reason %q", ans.FinishReason)
	case ans.Model != "" && ans.Model != a.client.name():
		return a.refuse(eyrie.Elsewhere, ClassModel, "asked for %s and %q answered", a.client.name(), ans.Model)
	}
	if u := ans.Usage; u.Given && u.CompletionTokens > a.req.Sampling.MaxTokens {
		return a.refuse(eyrie.Elsewhere, "overrun", "%d completion tokens and max_tokens is %d", u.CompletionTokens, a.req.Sampling.MaxTokens)
	}
	return nil
}

// verifyIDs checks that the ids came that were asked for.
func (a *attempt) verifyIDs() *eyrie.Error {
	ans := a.draft.Answer
	if a.ask.IDs && len(ans.CompletionIDs) == 0 {
		return a.refuse(eyrie.Elsewhere, "no ids", "the server was asked for the completion's ids and returned none")
	}
	if a.ask.PromptIDs && len(ans.PromptIDs) == 0 {
		return a.refuse(eyrie.Elsewhere, "no ids", "the server was asked for the prompt's ids and returned none")
	}
	return nil
}

// parse reads the parts of the answer off its ids: where the prompt went as
// ids, so that the server has no part in it, and where a server that has no
// parser for this model left the reasoning in the text.
func (a *attempt) parse() *eyrie.Error {
	ans := a.draft.Answer
	unparsed := bool(a.req.Sampling.Thinking) && ans.Reasoning == "" && len(ans.ToolCalls) == 0
	if a.client.Codec == nil || len(ans.CompletionIDs) == 0 || !a.ask.Parse && !unparsed {
		return nil
	}
	if err := a.client.Codec.Read(a.req.Generation, a.req.Sampling, ans); err != nil {
		return a.refuse(eyrie.Again, "unparsed", "%w", err)
	}
	if ans.FinishReason == eyrie.FinishStop && len(ans.ToolCalls) > 0 {
		ans.FinishReason = eyrie.FinishToolCalls // the server did not see that they are calls
	}
	return nil
}

// verifyText checks that there is an answer, reasoned as asked. What was read
// off the ids need not have been reasoned.
func (a *attempt) verifyText() *eyrie.Error {
	ans := a.draft.Answer
	class, err := sound.Text(ans, a.req.Sampling)
	missing := class == sound.ClassReasoning && ans.Reasoning == ""
	switch {
	case err == nil, missing && a.ask.Parse:
		return nil
	case missing:
		e := a.fail(eyrie.Elsewhere, class, err)
		e.Hint = "start the server with a reasoning parser, or use via: ids"
		return e
	case class == sound.ClassReasoning:
		return a.fail(eyrie.Elsewhere, class, err)
	case class == eyrie.ClassEmpty && sound.Cut(ans):
		return a.fail(eyrie.GiveUp, class, err)
	}
	return a.fail(eyrie.Again, class, err)
}

// verifyCalls checks the calls of tools.
func (a *attempt) verifyCalls() *eyrie.Error {
	if err := sound.Calls(a.draft.Answer, a.req.Generation.Tools); err != nil {
		return a.fail(eyrie.Again, sound.ClassCall, err)
	}
	return nil
}

// verifyCodec holds the ids against the text, the counts and our own prompt.
func (a *attempt) verifyCodec() *eyrie.Error {
	ans := a.draft.Answer
	if a.client.Codec == nil || len(ans.CompletionIDs) == 0 && len(ans.PromptIDs) == 0 {
		return nil
	}
	if err := a.client.Codec.Check(a.req.Generation, a.req.Sampling, ans); err != nil {
		return a.refuse(eyrie.Elsewhere, "ids", "%w", err)
	}
	return nil
}
