package server

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie/engine/internal/chunk"
)

// The values of a chunk that change from one to the next.
const (
	inContent uint8 = iota
	inReasoning
	inReasoningContent
	inText
	inIDs
	changing
)

// place is where such a value stands, and as what.
type place struct {
	in jsontext.Pointer
	as uint8
}

// places are theirs, by their quoted names.
var places = map[string]place{
	`"content"`:            {"/choices/0/delta", inContent},
	`"reasoning"`:          {"/choices/0/delta", inReasoning},
	`"reasoning_content"`:  {"/choices/0/delta", inReasoningContent},
	`"text"`:               {"/choices/0", inText},
	`"token_ids"`:          {"/choices/0", inIDs},
	`"response_token_ids"`: {"/choices/0", inIDs},
}

// again reads a frame that is the latest one but for its texts and ids.
func (d *Draft) again(frame []byte) bool {
	var parts chunk.Parts
	if !d.latest.Match(frame, &parts) {
		return false
	}
	var in [changing][]byte
	for _, p := range parts.List() {
		in[p.Field] = p.Value
	}
	d.content = appendText(d.content, in[inContent])
	if n := len(d.reasoning); in[inReasoningContent] != nil {
		d.reasoning = appendText(d.reasoning, in[inReasoningContent])
		if len(d.reasoning) > n {
			in[inReasoning] = nil // the same text under its other name
		}
	}
	d.reasoning = appendText(d.reasoning, in[inReasoning])
	d.content = appendText(d.content, in[inText])
	if ids := in[inIDs]; ids != nil {
		n := len(d.Answer.CompletionIDs)
		d.Answer.CompletionIDs = chunk.AppendIDs(d.Answer.CompletionIDs, ids)
		d.ids += len(d.Answer.CompletionIDs) - n
	}
	return true
}

func appendText(dst, value []byte) []byte {
	if value == nil {
		return dst
	}
	return chunk.AppendText(dst, value)
}

// learn remembers a frame that has been decoded into f, if reading it a second
// time would change nothing but the text and the ids of its one choice. The
// names in it are written over with the same, and the ids of a prompt are taken
// but once.
func (d *Draft) learn(f *openAI, frame []byte) {
	if !d.latest.Worthwhile() || len(f.Choices) != 1 || f.Usage != nil || len(f.Ext.OutputIDs) > 0 || len(frame) > chunk.MaxFrame {
		return
	}
	c := &f.Choices[0]
	twice := c.TokenIDs != nil && c.ResponseTokenIDs != nil
	if c.Index != 0 || c.Message != nil || c.MetaInfo != nil || twice || c.FinishReason != nil && *c.FinishReason != "" {
		return
	}
	if c.Delta != nil && len(c.Delta.ToolCalls) > 0 {
		return
	}
	if holes, err := holes(frame); err == nil {
		d.latest.Learn(frame, holes)
	}
}

// holes finds what changes in a frame. It is stricter than the decoder: with
// doubled names it would not be known which value counts.
func holes(frame []byte) (list []chunk.Hole, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(frame))
	for {
		switch dec.PeekKind() {
		case '{', '}', '[', ']', 0:
			if _, err := dec.ReadToken(); err != nil {
				if errors.Is(err, io.EOF) {
					return list, nil
				}
				return nil, err
			}
			continue
		}
		v, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		field, ok := places[string(v)]
		if _, n := dec.StackIndex(dec.StackDepth()); !ok || n%2 == 0 || dec.StackPointer().Parent() != field.in {
			continue // not the name of a value that changes
		}
		if v, err = dec.ReadValue(); err != nil {
			return nil, err
		}
		h := chunk.Hole{End: int(dec.InputOffset()), Field: field.as}
		h.Start = h.End - len(v)
		switch {
		case v.Kind() == '[' && field.as == inIDs:
			h.Kind = chunk.IDs
		case v.Kind() != '"':
			continue
		}
		list = append(list, h)
	}
}
