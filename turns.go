package eyrie

import (
	"fmt"
	"slices"
	"strconv"
)

// Turns says which assistant turns of conversations are generated.
type Turns string

// The turns that can be asked for.
const (
	AllTurns  Turns = "all"   // every one, each on the model's own earlier answers
	LastTurn  Turns = "last"  // the last one, on the data set's earlier answers
	FirstTurn Turns = "first" // the first one
)

// Only returns the prompt that asks for the given turns of a conversation; p is
// not changed. What no longer matters is gone from it, so that a first turn is
// the same prompt as the conversation that ends there.
func (p *Prompt) Only(turns Turns) *Prompt {
	isAnswer := func(m Message) bool { return m.Role == Assistant }
	out := *p
	switch turns {
	case FirstTurn:
		if i := slices.IndexFunc(p.Messages, isAnswer); i > 0 {
			out.Messages = p.Messages[:i:i]
		}
	case LastTurn:
		if last := len(p.Messages) - 1; last > 0 && isAnswer(p.Messages[last]) {
			out.Messages = p.Messages[:last:last]
		}
		if out.Given = slices.ContainsFunc(out.Messages, isAnswer); out.Given {
			out.Messages = identified(out.Messages)
		}
	}
	return &out
}

// Turns counts the assistant answers the conversation asks for: one for every
// assistant message, and one more when it does not end in one.
func (p *Prompt) Turns() int { return len(p.steps()) }

// Turn returns the prompt's own messages that stand before the answer of the
// given turn and after the answer of the turn before.
func (p *Prompt) Turn(turn int) []Message {
	if steps := p.steps(); turn < len(steps) {
		return steps[turn].own
	}
	return nil
}

// step is one turn of a conversation as the data set has it.
type step struct {
	own  []Message // what stands before the answer
	said *Message  // the data set's answer; nil where it has none
}

// steps cuts a conversation into its turns.
func (p *Prompt) steps() []step {
	if p.Given {
		return []step{{own: p.Messages}}
	}
	var steps []step
	start := 0
	for i := range p.Messages {
		if p.Messages[i].Role == Assistant {
			steps = append(steps, step{p.Messages[start:i], &p.Messages[i]})
			start = i + 1
		}
	}
	if start < len(p.Messages) {
		steps = append(steps, step{own: p.Messages[start:]})
	}
	return steps
}

// Ask returns the messages to send for a turn, given the model's answers of the
// turns before it, each of which must have let the conversation go on.
//
// Tool results are the data set's, under the ids and in the order of the
// model's own calls. Reasoning is sent back inside a tool loop that is still
// open, which is after the last answer without calls: there a model's template
// shows it, and it belongs to no prompt after that.
func (p *Prompt) Ask(turn int, answers []*Answer) ([]Message, error) {
	if p.Given {
		return settled(slices.Clone(p.Messages)), nil
	}
	steps := p.steps()
	out := slices.Clone(steps[0].own)
	for i := range turn {
		calls := named(answers[i].ToolCalls, callsIn(out))
		out = append(out, Message{
			Role: Assistant, Content: answers[i].Content, Reasoning: answers[i].Reasoning, ToolCalls: calls,
		})
		own, why := results(steps[i].said, steps[i+1].own, calls, PairByName)
		if why != "" {
			return nil, fmt.Errorf("turn %d does not lead to another one: %s", i, why)
		}
		out = append(out, own...)
	}
	return settled(out), nil
}

// settled takes the reasoning from all answers up to the last one without
// calls.
func settled(messages []Message) []Message {
	closed := false
	for i := range slices.Backward(messages) {
		m := &messages[i]
		if m.Role == Assistant && len(m.ToolCalls) == 0 {
			closed = true
		}
		if closed {
			m.Reasoning = ""
		}
	}
	return messages
}

// Break says why a conversation ends although the data set goes on.
type Break string

// The reasons. They are words for people and for the journal.
const (
	BreakLength  Break = "answer cut"            // it ran into its limit
	BreakResult  Break = "call without result"   // the data set has none for a call of the model
	BreakCall    Break = "result without call"   // the model did not make a call whose result follows
	BreakOther   Break = "other calls"           // the model calls something else than has results
	BreakNothing Break = "nothing between turns" // the data set has two answers in a row
)

// Breaks are the reasons for a conversation to end early.
var Breaks = []Break{BreakLength, BreakResult, BreakCall, BreakOther, BreakNothing}

// Continues reports whether the conversation has a turn after the given one and
// its answer lets it go on: it is complete, and each of its tool calls, if it
// makes any, is one whose result the data set has. Where the answer is what
// ends the conversation, why says how.
func (p *Prompt) Continues(turn int, a *Answer) (more bool, why Break) {
	steps := p.steps()
	if turn+1 >= len(steps) {
		return false, ""
	}
	if a.FinishReason != FinishStop && (a.FinishReason != FinishToolCalls || len(a.ToolCalls) == 0) {
		return false, BreakLength
	}
	next, why := results(steps[turn].said, steps[turn+1].own, named(a.ToolCalls, 0), p.Pairing)
	switch {
	case why != "":
		return false, why
	case len(next) == 0:
		return false, BreakNothing
	}
	return true, ""
}

// callsIn counts the tool calls that messages hold.
func callsIn(messages []Message) int {
	n := 0
	for i := range messages {
		n += len(messages[i].ToolCalls)
	}
	return n
}

// named returns calls that each have an id of their own, since a result names
// its call by it. A call without one is named as Kimi models name theirs, by
// its place among the calls of the conversation, of which so many came before.
func named(calls []ToolCall, before int) []ToolCall {
	out := calls
	for i := range calls {
		taken := func(id string) bool {
			return slices.ContainsFunc(out[:i], func(c ToolCall) bool { return c.ID == id })
		}
		if calls[i].ID != "" && !taken(calls[i].ID) {
			continue
		}
		if &out[0] == &calls[0] {
			out = slices.Clone(calls)
		}
		for n := before + i; out[i].ID == "" || taken(out[i].ID); n++ {
			out[i].ID = "functions." + out[i].Name + ":" + strconv.Itoa(n)
		}
	}
	return out
}

// identified returns a copy of given messages in which every call has an id and
// every result names its call, as far as it can be told which one that is.
func identified(messages []Message) []Message {
	out := slices.Clone(messages)
	n := 0
	for i := range out {
		if out[i].Role != Assistant || len(out[i].ToolCalls) == 0 {
			continue
		}
		known := out[i].ToolCalls
		calls := named(known, n)
		n += len(calls)
		end := i + 1
		for end < len(out) && out[end].Role != Assistant {
			end++
		}
		exchanges, _ := exchanged(known, out[i+1:end])
		for _, e := range exchanges {
			e.result.ToolCallID = calls[e.index].ID
		}
		out[i].ToolCalls = calls
	}
	return out
}
