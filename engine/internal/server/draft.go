package server

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/chunk"
)

// finishAbort is SGLang's word for an answer that it gave up.
const finishAbort eyrie.FinishReason = "abort"

// Draft is an answer while it comes.
type Draft struct {
	Answer *eyrie.Answer
	// Matched is the id that the server says it stopped at; nil where it does
	// not say.
	Matched *int32

	reasoning, content []byte
	calls              []callDraft
	ids                int // that came, for the size of an answer without text
	finals             [4][]byte
	kept               int
	failed             string // words of an error inside a 200
	failedCode         int
	several            bool           // more than one choice came
	atString           bool           // it ended at a stop string
	latest             chunk.Template // made of the latest frame that was decoded in full
}

type callDraft struct {
	index    int
	id, name string
	args     []byte
}

func newDraft() *Draft { return &Draft{Answer: new(eyrie.Answer)} }

// size grows with everything that the model wrote.
func (d *Draft) size() int {
	n := len(d.reasoning) + len(d.content)
	for i := range d.calls {
		n += len(d.calls[i].name) + len(d.calls[i].args)
	}
	if n == 0 {
		n = d.ids
	}
	return n
}

// over reports whether the answer has come to its end, good or bad.
func (d *Draft) over() bool { return d.failed != "" || d.Answer.FinishReason != "" }

// Say adds to the content.
func (d *Draft) Say(text string) { d.content = append(d.content, text...) }

// AddIDs adds to the completion's ids.
func (d *Draft) AddIDs(ids []int32) {
	d.Answer.CompletionIDs = append(d.Answer.CompletionIDs, ids...)
	d.ids += len(ids)
}

// SetIDs replaces the completion's ids, for servers that repeat them.
func (d *Draft) SetIDs(ids []int32) {
	d.Answer.CompletionIDs = slices.Clone(ids)
	d.ids = len(ids)
}

// SetText replaces the content, for servers that repeat it.
func (d *Draft) SetText(text string) { d.content = append(d.content[:0], text...) }

// MatchedAt notes what the server says it stopped at: an id, or a stop string.
func (d *Draft) MatchedAt(what jsontext.Value) {
	var id int32
	switch what.Kind() {
	case '0':
		if Decode(what, &id) == nil {
			d.Matched = &id
		}
	case '"':
		d.atString = true
	}
}

// Finish notes the finish reason and keeps the frame that brought it.
func (d *Draft) Finish(reason string, frame []byte) {
	d.Answer.FinishReason, d.Answer.NativeFinish = eyrie.FinishReason(reason), reason
	d.keep(frame)
}

// Count notes the usage and keeps the frame that brought it.
func (d *Draft) Count(u eyrie.Usage, frame []byte) {
	u.Given = true
	d.Answer.Usage = u
	d.keep(frame)
}

// Fail notes an error inside a 200. Code is 0 where it has none.
func (d *Draft) Fail(code int, words string, frame []byte) {
	if words == "" {
		words = "an error without words"
	}
	d.failed, d.failedCode = words, code
	d.keep(frame)
}

// maxFinal bounds what is kept of one of the last frames. An answer in one
// piece is kept in its parts, so that its end is what matters.
const maxFinal = 2 << 10

// keep keeps a frame that matters: of the last few, their ends.
func (d *Draft) keep(frame []byte) {
	if d.kept > 0 && bytes.HasSuffix(frame, d.finals[(d.kept-1)%len(d.finals)]) {
		return
	}
	d.finals[d.kept%len(d.finals)] = bytes.Clone(frame[max(0, len(frame)-maxFinal):])
	d.kept++
}

// finish moves what came into the answer.
func (d *Draft) finish(engine string) {
	a := d.Answer
	a.Provider = engine
	a.Reasoning, a.Content = string(d.reasoning), string(d.content)
	for _, c := range d.calls {
		a.ToolCalls = append(a.ToolCalls, eyrie.ToolCall{ID: c.id, Name: c.name, Arguments: string(c.args)})
	}
	d.restoreStop()
	if d.atString && a.FinishReason == eyrie.FinishStop {
		a.NativeFinish = eyrie.StopString
	}
	var last [][]byte
	for i := max(0, d.kept-len(d.finals)); i < d.kept; i++ {
		last = append(last, d.finals[i%len(d.finals)])
	}
	a.FinalFrame = bytes.Join(last, []byte("\n"))
}

// restoreStop puts the id back at which the server stopped, where it says which
// one it was and took it off: then it counted one more than it returned.
func (d *Draft) restoreStop() {
	a := d.Answer
	if n := len(a.CompletionIDs); d.Matched != nil && n > 0 && a.Usage.CompletionTokens == n+1 && a.CompletionIDs[n-1] != *d.Matched {
		a.CompletionIDs = append(a.CompletionIDs, *d.Matched)
	}
}
