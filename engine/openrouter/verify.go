package openrouter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/sound"
	"github.com/eyrie-ai/eyrie/route"
)

// verify says whether a stream that ended well is the answer that was asked
// for. Its money is counted either way.
func (a *attempt) verify() *eyrie.Error {
	for _, check := range []func() *eyrie.Error{a.verifyFinish, a.verifyOrigin, a.verifyText, a.verifyCalls, a.verifyLogprobs} {
		if e := check(); e != nil {
			return e
		}
	}
	if n := a.answer.Usage.CompletionTokens; n > a.req.Sampling.MaxTokens {
		return a.refuse(eyrie.Elsewhere, ClassOverrun, "%d completion tokens and max_tokens is %d", n, a.req.Sampling.MaxTokens)
	}
	if err := a.verifyUsage(); err != nil {
		return a.refuse(eyrie.Elsewhere, "usage", "%w", err)
	}
	return nil
}

func (a *attempt) refuse(kind eyrie.ErrorKind, class, format string, args ...any) *eyrie.Error {
	return a.fail(kind, class, fmt.Errorf(format, args...))
}

func (a *attempt) verifyFinish() *eyrie.Error {
	switch f := a.answer.FinishReason; f {
	case eyrie.FinishStop, eyrie.FinishLength, eyrie.FinishToolCalls:
		return nil
	case "":
		return a.refuse(eyrie.Again, "no finish reason", "the stream ended without a finish reason")
	case finishFilter:
		return a.refuse(eyrie.GiveUp, "content filter", "the provider's filter stopped the answer")
	default:
		return a.refuse(eyrie.Elsewhere, "finish reason", "finish_reason %q", f)
	}
}

// verifyOrigin checks who answered, and that nobody changed the answer.
func (a *attempt) verifyOrigin() *eyrie.Error {
	ans, lane, d := a.answer, a.req.Lane, &a.dec
	switch {
	case !servedBy(lane, ans.Provider):
		return a.refuse(eyrie.Elsewhere, "wrong provider", "pinned %s and %q answered", lane.Provider, ans.Provider)
	case d.selected != "" && !servedBy(lane, d.selected):
		return a.refuse(eyrie.Elsewhere, "wrong provider", "pinned %s and the router selected %q", lane.Provider, d.selected)
	case !a.client.names.accepts(a.req.Model, ans.Model):
		return a.refuse(eyrie.Elsewhere, "wrong model", "asked for %s and %q answered", a.req.Model, ans.Model)
	case d.pipeline != "":
		return a.refuse(eyrie.Elsewhere, "pipeline", "the answer went through %s", d.pipeline)
	case a.cached:
		return a.refuse(eyrie.Again, "cached answer", "the answer came from the response cache: it is a copy of an earlier one")
	case d.strange != "":
		return a.refuse(eyrie.Elsewhere, "bad frame", "%s", d.strange)
	}
	return nil
}

// servedBy reports whether a provider's name on an answer means the lane's: its
// display name, or the slug that its tag begins with.
func servedBy(l *eyrie.Lane, provider string) bool {
	slug, _, _ := strings.Cut(l.Tag, "/")
	return route.SameProvider(provider, l.Provider) || provider != "" && route.SameProvider(provider, slug)
}

// verifyText checks that there is an answer, reasoned as asked.
func (a *attempt) verifyText() *eyrie.Error {
	class, err := sound.Text(a.answer, a.req.Sampling)
	switch {
	case err == nil:
		return nil
	case class == eyrie.ClassEmpty && sound.Cut(a.answer):
		return a.fail(eyrie.GiveUp, class, err)
	}
	return a.fail(eyrie.Elsewhere, class, err)
}

// verifyCalls checks the calls of tools, and that none was left in the text.
func (a *attempt) verifyCalls() *eyrie.Error {
	if m := callMarker(a.answer.Content); m != "" && len(a.req.Generation.Tools) > 0 {
		return a.refuse(eyrie.Again, sound.ClassCall, "a call was left in the text: it holds %q", m)
	}
	if err := sound.Calls(a.answer, a.req.Generation.Tools); err != nil {
		return a.fail(eyrie.Again, sound.ClassCall, err)
	}
	return nil
}

// verifyLogprobs checks that an answer names its tokens where it must. Whether
// they are the right ones is for those who know the vocabulary.
func (a *attempt) verifyLogprobs() *eyrie.Error {
	named := func(t eyrie.TokenLogprob) bool { return len(t.Bytes) > 0 }
	switch list := a.answer.Logprobs; {
	case !a.client.cfg.NeedLogprobs || slices.ContainsFunc(list, named):
		return nil
	case len(list) == 0:
		return a.refuse(eyrie.Elsewhere, "no logprobs", "asked for logprobs and none came")
	default:
		return a.refuse(eyrie.Elsewhere, "no logprobs", "the logprobs that came hold the bytes of no token")
	}
}

// callMarkers are what models write before a call of a tool. Servers take them
// away when they read the call.
var callMarkers = []string{
	"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", // Kimi
	"<tool_call>", "<function=", // Qwen, Hermes
	"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", // DeepSeek
	"[TOOL_CALLS]", "<|python_tag|>", "<|channel|>", // Mistral, Llama, gpt-oss
}

// callMarker finds a marker in a text: "" where there is none.
func callMarker(text string) string {
	for _, m := range callMarkers {
		if strings.Contains(text, m) {
			return m
		}
	}
	return ""
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
	least, most := lane.Bounds(ans.Usage, min(a.dec.written, ans.Usage.PromptTokens), a.began, time.Now())
	switch {
	case ans.Cost < least-slack(least):
		return fmt.Errorf("it cost %s and the price list makes it %s", ans.Cost, least)
	case ans.Cost > most+slack(most):
		return fmt.Errorf("it cost %s and the price list makes it %s", ans.Cost, most)
	}
	return nil
}

// slack is how far a cost may be off the price list: two in a hundred, and a
// little for the smallest.
func slack(m eyrie.Money) eyrie.Money { return max(m/50, eyrie.Dollar/1_000_000_000) }

// doubtCost takes a cost back that cannot be the bill: nothing, for an answer
// of a paid lane that has tokens and no error to excuse it.
func (a *attempt) doubtCost() {
	ans := a.answer
	excused := a.dec.failed != nil || ans.FinishReason == finishError
	if ans.CostGiven && ans.Cost == 0 && !a.req.Lane.Free() && !excused && ans.Usage.PromptTokens+ans.Usage.CompletionTokens > 0 {
		ans.CostGiven = false
	}
}
