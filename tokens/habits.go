package tokens

import (
	"fmt"
	"strings"
)

// Assumption is something that may have happened to an answer between the
// model's tokens and the text and counts that the server sent.
type Assumption uint8

const (
	// White space that the server took off at a control token.
	LineAfterReasoning Assumption = iota
	SpaceAfterReasoning
	LineBeforeContent
	SpaceBeforeContent
	LineAfterContent // before the tool calls
	SpaceAfterContent
	// ReasoningOpen: the model did not close its reasoning.
	ReasoningOpen
	// CallsRenumbered: the model named its calls by another numbering.
	CallsRenumbered
	// CallsAsGiven: ids that do not look like the model's own are its own.
	CallsAsGiven
	// ArgumentsSpaced and ArgumentsCompact: the server printed arguments anew;
	// the model had spaced them as Python does, or not at all.
	ArgumentsSpaced
	ArgumentsCompact
	// ControlsInText: control tokens spelled in the text were sampled as such.
	ControlsInText
	// EndUnbilled: the bill does not count the end token.
	EndUnbilled
	// EndUncounted: the reasoning count leaves out the tokens around it.
	EndUncounted

	assumptions
)

// assumptionNames are an assumption's name in files and its words for people.
var assumptionNames = [assumptions]struct{ name, words string }{
	LineAfterReasoning:  {"line_after_reasoning", "a line's end after the reasoning"},
	SpaceAfterReasoning: {"space_after_reasoning", "a space after the reasoning"},
	LineBeforeContent:   {"line_before_content", "a line's end before the content"},
	SpaceBeforeContent:  {"space_before_content", "a space before the content"},
	LineAfterContent:    {"line_after_content", "a line's end after the content"},
	SpaceAfterContent:   {"space_after_content", "a space after the content"},
	ReasoningOpen:       {"reasoning_open", "reasoning left open"},
	CallsRenumbered:     {"calls_renumbered", "other call numbers"},
	CallsAsGiven:        {"calls_as_given", "call ids as given"},
	ArgumentsSpaced:     {"arguments_spaced", "arguments with spaces"},
	ArgumentsCompact:    {"arguments_compact", "arguments without spaces"},
	ControlsInText:      {"controls_in_text", "control tokens in the text"},
	EndUnbilled:         {"end_unbilled", "the end token not billed"},
	EndUncounted:        {"end_uncounted", "the reasoning's end not counted as reasoning"},
}

// String says what is assumed, in words.
func (a Assumption) String() string {
	if a < assumptions {
		return assumptionNames[a].words
	}
	return fmt.Sprintf("Assumption(%d)", uint8(a))
}

// Name is the assumption's name in files. Names do not change.
func (a Assumption) Name() string {
	if a < assumptions {
		return assumptionNames[a].name
	}
	return fmt.Sprintf("assumption_%d", uint8(a))
}

// Habits say how often assumptions hold for the answers of one lane: the share
// of the answers to which the assumption could apply. An assumption that is not
// in the map has the share of a lane of which nothing is known. A [Survey]
// finds them.
type Habits map[Assumption]float64

// Notable returns the habits that are clearly more frequent than on a lane of
// which nothing is known.
func (h Habits) Notable() Habits {
	usual, out := Habits(nil).shares(), Habits{}
	for a, share := range h {
		if a < assumptions && share > 1.5*usual[a] {
			out[a] = share
		}
	}
	return out
}

const (
	// rare is the share of an assumption for which there is no evidence. All of
	// them together leave a plain reading certain.
	rare = 0.0005
	// otherSplit is how often a model samples a text in one token more than the
	// vocabulary's own encoding of it has. See [splitChance].
	otherSplit = 0.01
	// Confidence is how sure a Rebuilder is of the rows it certifies, unless
	// [Rebuilder.Confident] says otherwise.
	Confidence = 0.98
)

// shares are habits in the form in which they are used.
type shares [assumptions]float64

func (h Habits) shares() shares {
	var s shares
	for a := range s {
		s[a] = rare
	}
	s[EndUncounted] = 0.5
	for a, v := range h {
		if a < assumptions {
			s[a] = min(max(v, 0), 1)
		}
	}
	return s
}

// set is a set of assumptions.
type set uint16

func (s set) has(a Assumption) bool { return s&(1<<a) != 0 }

func (s set) with(a Assumption) set { return s | 1<<a }

// size counts what is really assumed: whose convention a count follows is not.
func (s set) size() int {
	n := 0
	for a := range EndUncounted {
		if s.has(a) {
			n++
		}
	}
	return n
}

// all yields the assumptions of the set in order.
func (s set) all(yield func(Assumption) bool) {
	for a := range assumptions {
		if s.has(a) && !yield(a) {
			return
		}
	}
}

// words lists the assumptions.
func (s set) words() string {
	var parts []string
	for a := range s.all {
		if a != EndUncounted {
			parts = append(parts, a.String())
		}
	}
	return strings.Join(parts, " and ")
}

// assumed is what a certified row says about its assumptions.
func (s set) assumed() string {
	if s.size() == 0 {
		return ""
	}
	return "assuming " + s.words()
}

// perhaps is what an undecided row says about them.
func (s set) perhaps() string {
	if s.size() == 0 {
		return ""
	}
	return ", perhaps " + s.words()
}

// likelihood is how likely it is that of what could apply exactly held holds.
func (sh *shares) likelihood(held, could set) float64 {
	p := 1.0
	for a := range could.all {
		if held.has(a) {
			p *= sh[a]
		} else {
			p *= 1 - sh[a]
		}
	}
	return p
}

// splitChance is how often a model samples a text in other tokens than the
// vocabulary's own, by how many more they are. A split of the same length is
// not told from the plain one by any count; a shorter one hardly exists.
func splitChance(more int) float64 {
	switch {
	case more == 0:
		return 0
	case more < 0:
		return otherSplit / 100
	}
	return otherSplit / float64(int(1)<<min(more-1, 6))
}

// rival is how likely it is that the model sampled the plain text in other
// tokens, of the count that was billed. more is how many more were billed than
// the plain text has. Every assumption that explains a bill competes with it.
func (sh *shares) rival(could set, more int) float64 {
	p := splitChance(more) * sh.likelihood(0, could)
	if could.has(EndUnbilled) {
		p += splitChance(more+1) * sh.likelihood(set(0).with(EndUnbilled), could)
	}
	return p
}
