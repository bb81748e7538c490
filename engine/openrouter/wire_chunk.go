package openrouter

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/chunk"
)

// Finish reasons under which no answer stands.
const (
	finishError  eyrie.FinishReason = "error"
	finishFilter eyrie.FinishReason = "content_filter"
)

// Where a delta may hold reasoning, best first. The same text can come in
// several of these places; nobody adds to it, so the longest is the whole.
const (
	inReasoning = iota
	inDetails
	inReasoningContent
	reasoningPlaces
	inContent = reasoningPlaces // of the places where any text may be
)

// chunkDecoder collects the frames of a stream into an answer. It reads only
// the fields it needs and passes over all others.
type chunkDecoder struct {
	walker
	answer    *eyrie.Answer
	scrub     func([]byte) []byte // takes secrets out of a frame that is kept
	reasoning [reasoningPlaces][]byte
	content   []byte
	calls     []callBuffer
	finals    finalFrames
	floor     tokenFloor
	tokens    tokenList

	failed    *vendorError // an error anywhere in a frame
	unreached bool         // the router says that it asked no provider
	pipeline  string       // what the vendor did to the answer on its way
	selected  string       // the provider that the router says it selected
	written   int          // prompt tokens that were written to a cache
	strange   string       // why the answer cannot be trusted, though it parses

	// Of the frame at hand.
	keep   bool // it belongs to the final ones
	billed bool // it holds a usage
	deltas int
	counts bool // reading it again would change more than the texts of its delta
	holes  []chunk.Hole

	latest chunk.Template // made of the latest frame that was decoded in full
}

type callBuffer struct {
	index int
	id    string
	name  string
	args  []byte
}

// textBytes counts the text so far: reasoning, content and tool calls.
func (d *chunkDecoder) textBytes() int {
	n := len(d.content)
	for i := range d.calls {
		n += len(d.calls[i].name) + len(d.calls[i].args)
	}
	return n + len(d.bestReasoning())
}

func (d *chunkDecoder) bestReasoning() []byte {
	best := d.reasoning[0]
	for _, r := range d.reasoning[1:] {
		if len(r) > len(best) {
			best = r
		}
	}
	return best
}

// decode reads one frame: a chunk of a stream, or a whole answer.
func (d *chunkDecoder) decode(frame []byte) error {
	if d.again(frame) {
		return nil
	}
	d.latest.Forget()
	if err := d.decodeAll(frame); err != nil {
		return err
	}
	if d.repeatable() {
		d.latest.Learn(frame, d.holes)
	}
	return nil
}

// repeatable reports whether the frame at hand may be repeated: reading it a
// second time would change nothing but the texts of its one delta. What an answer is called, who
// gave it and how it ended natively is written over with the same.
func (d *chunkDecoder) repeatable() bool {
	return d.latest.Worthwhile() && !d.keep && !d.counts && d.deltas == 1 && d.strange == ""
}

// again reads a frame that is the latest one but for its texts.
func (d *chunkDecoder) again(frame []byte) bool {
	var parts chunk.Parts
	if !d.latest.Match(frame, &parts) {
		return false
	}
	d.answer.Chunks++
	before := d.lengths()
	for _, p := range parts.List() {
		at := d.place(p.Field)
		*at = chunk.AppendText(*at, p.Value)
	}
	d.countFrom(before)
	return true
}

// decodeAll reads a frame of which nothing is known.
func (d *chunkDecoder) decodeAll(frame []byte) error {
	d.keep, d.billed = false, false
	d.deltas, d.counts, d.holes = 0, false, d.holes[:0]
	over := d.over()
	if err := d.read(frame); err != nil {
		return err
	}
	if d.garbled && d.strange == "" {
		d.strange, d.keep = "a text in it is not Unicode", true
	}
	d.answer.Chunks++
	if d.over() && !over && !d.billed {
		// What was counted on the way is not the bill.
		d.answer.Usage.Given, d.answer.CostGiven = false, false
	}
	if d.keep {
		d.keepFrame(frame)
	}
	return nil
}

// read walks through the values of a frame, which should be one object.
func (d *chunkDecoder) read(frame []byte) error {
	d.start(frame)
	defer d.stop()
	for {
		more, err := d.more()
		if err != nil || !more {
			return err
		}
		if k := d.dec.PeekKind(); k != '{' && k != 'n' {
			return fmt.Errorf("%s where an object was to be", k)
		}
		if err := d.object(d.member); err != nil {
			return err
		}
	}
}

// keepFrame keeps a frame, or whatever else came, as it came.
func (d *chunkDecoder) keepFrame(frame []byte) { d.finals.add(d.scrub(frame)) }

// over reports whether the answer has come to its end, good or bad.
func (d *chunkDecoder) over() bool { return d.failed != nil || d.answer.FinishReason != "" }

// finish moves the text into the answer.
func (d *chunkDecoder) finish() {
	a := d.answer
	a.Reasoning, a.Content = string(d.bestReasoning()), string(d.content)
	for _, c := range d.calls {
		a.ToolCalls = append(a.ToolCalls, eyrie.ToolCall{ID: c.id, Name: c.name, Arguments: string(c.args)})
	}
	a.Logprobs = d.tokens.list
	a.FinalFrame = d.finals.join()
}

func (d *chunkDecoder) member(name []byte) error {
	a := d.answer
	switch string(name) {
	case "id":
		if a.ID == "" {
			return d.str(&a.ID)
		}
	case "model":
		return d.once(&a.Model, "the model changed on the way")
	case "provider":
		return d.once(&a.Provider, "the provider changed on the way")
	case "choices":
		return d.array(d.choice)
	case "usage":
		return d.usage()
	case "error":
		return d.vendorError()
	case "openrouter_metadata":
		return d.metadata()
	}
	return d.dec.SkipValue()
}

// once reads a string that must not change from frame to frame.
func (d *chunkDecoder) once(dst *string, changed string) error {
	got := *dst
	if err := d.str(&got); err != nil {
		return err
	}
	if *dst != "" && got != "" && got != *dst {
		d.strange = changed
	}
	if got != "" {
		*dst = got
	}
	return nil
}

func (d *chunkDecoder) choice() error {
	return d.object(func(name []byte) error {
		switch string(name) {
		case "index":
			n, _, err := d.count()
			if n != 0 {
				d.strange = "there is more than one choice"
			}
			return err
		case "delta", "message":
			return d.delta()
		case "finish_reason":
			return d.finishReason()
		case "native_finish_reason":
			return d.str(&d.answer.NativeFinish)
		case "logprobs":
			return d.logprobs()
		case "error":
			return d.vendorError()
		}
		return d.dec.SkipValue()
	})
}

// finishReason reads the normalised word. A blank is none, and nothing mends
// an error.
func (d *chunkDecoder) finishReason() error {
	var s string
	if err := d.str(&s); err != nil || s == "" {
		return err
	}
	d.keep = true
	if d.answer.FinishReason != finishError {
		d.answer.FinishReason = eyrie.FinishReason(s)
	}
	return nil
}

func (d *chunkDecoder) delta() error {
	d.deltas++
	before := d.lengths()
	err := d.object(d.deltaMember)
	d.countFrom(before)
	return err
}

// place is where the text of a place is gathered.
func (d *chunkDecoder) place(n uint8) *[]byte {
	if n == inContent {
		return &d.content
	}
	return &d.reasoning[n]
}

// lengths are how much has come in each place.
func (d *chunkDecoder) lengths() (n [reasoningPlaces + 1]int) {
	for i, r := range d.reasoning {
		n[i] = len(r)
	}
	n[inContent] = len(d.content)
	return n
}

// countFrom counts the tokens of what a delta added to what was there before.
func (d *chunkDecoder) countFrom(before [reasoningPlaces + 1]int) {
	for i, r := range d.reasoning {
		if len(r) > before[i] {
			d.floor.add(r[before[i]:])
			break
		}
	}
	d.floor.add(d.content[before[inContent]:])
}

func (d *chunkDecoder) deltaMember(name []byte) error {
	switch string(name) {
	case "content":
		return d.piece(inContent)
	case "reasoning":
		return d.piece(inReasoning)
	case "reasoning_content":
		return d.piece(inReasoningContent)
	case "reasoning_details":
		return d.array(d.reasoningDetail)
	case "tool_calls":
		d.counts = true
		at := -1
		return d.array(func() error { at++; return d.toolCall(at) })
	}
	return d.dec.SkipValue()
}

// piece reads the string that comes next, a piece of the text of a place.
func (d *chunkDecoder) piece(place uint8) (err error) {
	at := d.place(place)
	before := len(*at)
	if *at, err = d.text(*at); err == nil && len(*at) > before {
		end := int(d.dec.InputOffset())
		d.holes = append(d.holes, chunk.Hole{Start: end - d.raw, End: end, Field: place})
	}
	return err
}

func (d *chunkDecoder) reasoningDetail() error {
	return d.object(func(name []byte) error {
		switch string(name) {
		case "text", "summary":
			return d.piece(inDetails)
		}
		return d.dec.SkipValue()
	})
}

// toolCall reads a piece of a tool call; at is its place in the array.
func (d *chunkDecoder) toolCall(at int) error {
	p := callBuffer{index: -1}
	err := d.object(func(name []byte) error {
		switch string(name) {
		case "index":
			n, ok, err := d.count()
			if ok {
				p.index = n
			}
			return err
		case "id":
			return d.str(&p.id)
		case "function":
			return d.object(func(name []byte) (err error) {
				switch string(name) {
				case "name":
					return d.str(&p.name)
				case "arguments":
					p.args, err = d.text(p.args)
					return err
				}
				return d.dec.SkipValue()
			})
		}
		return d.dec.SkipValue()
	})
	if err != nil {
		return err
	}
	c := d.call(&p, at)
	if p.id != "" {
		c.id = p.id
	}
	if p.name != "" {
		c.name = p.name
	}
	c.args = append(c.args, p.args...)
	return nil
}

// call finds the call that a piece belongs to: the one of its index, or, when
// it has none, the one of its id, or the latest one when it has no id either
// and names no function.
func (d *chunkDecoder) call(p *callBuffer, at int) *callBuffer {
	i := -1
	switch {
	case p.index >= 0:
		i = slices.IndexFunc(d.calls, func(c callBuffer) bool { return c.index == p.index })
	case p.id != "":
		i = slices.IndexFunc(d.calls, func(c callBuffer) bool { return c.id == p.id })
	case p.name == "" && at == 0:
		i = len(d.calls) - 1
	}
	if i < 0 {
		if p.index < 0 {
			p.index = len(d.calls)
		}
		d.calls = append(d.calls, callBuffer{index: p.index})
		i = len(d.calls) - 1
	}
	return &d.calls[i]
}

func (d *chunkDecoder) usage() error {
	if d.dec.PeekKind() != '{' {
		return d.dec.SkipValue()
	}
	u := eyrie.Usage{Given: true, ReasoningTokens: -1}
	d.keep, d.billed = true, true
	err := d.object(func(name []byte) (err error) {
		switch string(name) {
		case "prompt_tokens":
			u.PromptTokens, _, err = d.count()
		case "completion_tokens":
			u.CompletionTokens, _, err = d.count()
		case "cost":
			err = d.cost()
		case "prompt_tokens_details":
			err = d.promptDetails(&u)
		case "completion_tokens_details":
			err = d.detail("reasoning_tokens", &u.ReasoningTokens)
		default:
			err = d.dec.SkipValue()
		}
		return err
	})
	d.answer.Usage = u
	return err
}

// promptDetails reads which of the prompt's tokens came from a cache, and which
// went there.
func (d *chunkDecoder) promptDetails(u *eyrie.Usage) error {
	d.written = 0
	return d.object(func(name []byte) (err error) {
		dst := &u.CachedTokens
		switch string(name) {
		case "cached_tokens":
		case "cache_write_tokens":
			dst = &d.written
		default:
			return d.dec.SkipValue()
		}
		n, ok, err := d.count()
		if ok {
			*dst = max(0, n)
		}
		return err
	})
}

// detail reads one count out of an object of counts.
func (d *chunkDecoder) detail(want string, dst *int) error {
	return d.object(func(name []byte) error {
		if string(name) != want {
			return d.dec.SkipValue()
		}
		n, ok, err := d.count()
		if ok {
			*dst = n
		}
		return err
	})
}

// cost reads the charge. A null, or one that cannot be read, is no cost.
func (d *chunkDecoder) cost() error {
	v, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	if m, ok := moneyOf(v); ok {
		d.answer.Cost, d.answer.CostGiven = m, true
	}
	return nil
}

// metadata looks at what the router says it did.
func (d *chunkDecoder) metadata() error {
	d.keep = true
	return d.object(func(name []byte) error {
		switch string(name) {
		case "attempt":
			n, ok, err := d.count()
			d.unreached = ok && n == 0
			return err
		case "endpoints":
			return d.object(func(name []byte) error {
				if string(name) != "available" {
					return d.dec.SkipValue()
				}
				return d.array(d.available)
			})
		case "pipeline":
			return d.array(func() error {
				v, err := d.dec.ReadValue()
				if err == nil && d.pipeline == "" {
					d.pipeline = string(v)
				}
				return err
			})
		}
		return d.dec.SkipValue()
	})
}

// available reads one of the endpoints that the router could have chosen.
func (d *chunkDecoder) available() error {
	var provider string
	var selected bool
	err := d.object(func(name []byte) (err error) {
		switch string(name) {
		case "provider":
			return d.str(&provider)
		case "selected":
			selected, err = d.flag()
			return err
		}
		return d.dec.SkipValue()
	})
	if selected {
		d.selected = provider
	}
	return err
}

func (d *chunkDecoder) vendorError() error {
	v, err := d.dec.ReadValue()
	if err != nil || v.Kind() == 'n' {
		return err
	}
	d.keep = true
	d.failed = parseVendorError(v)
	return nil
}

// finalFrames keeps the last few frames that matter, as they came: the finish,
// the usage, the error.
type finalFrames struct {
	frames [4][]byte
	n      int
}

// maxFinal bounds what is kept of one of them; a longer one loses its end.
const maxFinal = 16 << 10

func (f *finalFrames) add(frame []byte) {
	slot := &f.frames[f.n%len(f.frames)]
	*slot = append((*slot)[:0], frame[:min(len(frame), maxFinal)]...)
	f.n++
}

// join returns them in their order, a line break between two.
func (f *finalFrames) join() []byte {
	if f.n == 0 {
		return nil
	}
	var in [][]byte
	for i := max(0, f.n-len(f.frames)); i < f.n; i++ {
		in = append(in, f.frames[i%len(f.frames)])
	}
	return bytes.Join(in, []byte("\n"))
}
