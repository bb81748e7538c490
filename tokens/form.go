package tokens

import (
	"fmt"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// form is a [chat.AnswerForm] in ids.
type form struct {
	reasoningBegin int32 // none where the prompt ends with it
	reasoningEnd   int32 // none where the model does not reason
	sectionBegin   int32
	callBegin      int32
	argumentsBegin int32
	callEnd        int32
	sectionEnd     int32
	end            int32
	alwaysThinks   bool
	closing        string // the literal of reasoningEnd
	callID         func(name string, n int) string
	// literals are the control tokens that servers leave in text, so that an
	// answer which spells one may or may not have sampled it.
	literals []string
}

const none int32 = -1

func newForm(tok Tokenizer, a chat.AnswerForm) (*form, error) {
	f := &form{alwaysThinks: a.AlwaysThinks, callID: a.CallID}
	for _, t := range []struct {
		id      *int32
		literal string
	}{
		{&f.reasoningBegin, a.ReasoningBegin},
		{&f.reasoningEnd, a.ReasoningEnd},
		{&f.sectionBegin, a.SectionBegin},
		{&f.callBegin, a.CallBegin},
		{&f.argumentsBegin, a.ArgumentsBegin},
		{&f.callEnd, a.CallEnd},
		{&f.sectionEnd, a.SectionEnd},
		{&f.end, a.End},
	} {
		*t.id = none
		if t.literal == "" {
			continue
		}
		id, ok := tok.Special(t.literal)
		if !ok {
			return nil, fmt.Errorf("the vocabulary has no control token %q", t.literal)
		}
		*t.id = id
		if t.literal != a.End {
			f.literals = append(f.literals, t.literal)
		}
	}
	if f.end == none {
		return nil, fmt.Errorf("the answer form names no end of the answer")
	}
	f.closing = a.ReasoningEnd
	return f, nil
}

// thinks reports whether an answer begins with reasoning, if only an empty one.
func (f *form) thinks(asked bool, a *eyrie.Answer) bool {
	return f.reasoningEnd != none && (asked || f.alwaysThinks || a.Reasoning != "")
}

// control reports whether id is one of the tokens between the parts.
func (f *form) control(id int32) bool {
	switch id {
	case none:
		return false
	case f.reasoningBegin, f.reasoningEnd, f.sectionBegin, f.callBegin, f.argumentsBegin, f.callEnd, f.sectionEnd, f.end:
		return true
	}
	return false
}
