package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/h1"
	"github.com/eyrie-ai/eyrie/engine/internal/stream"
	"github.com/eyrie-ai/eyrie/internal/sse"
)

// Ask is one request, and how what comes is read.
type Ask struct {
	Path string
	Body any
	// Stream says that events are asked for; else the answer comes in one piece.
	Stream bool
	// IDs says that the ids of the completion must come, PromptIDs the same of
	// the prompt. Where they must not, they are checked when they come.
	IDs, PromptIDs bool
	// Parse says that the text is to be read off the ids.
	Parse bool
	// Frame reads one event of a stream, or the answer in one piece.
	Frame func(d *Draft, doc []byte) error
}

const (
	// maxEvent bounds one event; servers that repeat the text so far in each of
	// them are not asked for streams.
	maxEvent = 32 << 20
	// endWait is how long the rest of a stream may take once the finish reason
	// or an error has come, and hangUpWait the same for the end of the body
	// after the end of the stream.
	endWait    = 10 * time.Second
	hangUpWait = 100 * time.Millisecond
)

// errLost is the cause with which attempts are cut off that their server has
// forgotten, and errGone the one when it does not answer at all.
var (
	errLost = errors.New("the server works on nothing, and has not answered")
	errGone = errors.New("the server went away")
)

// Stream makes one attempt. It yields Opened when the server has named the
// request, Progress while text comes, and as its last event always Ended, with
// everything that came; the error beside Ended is nil only for an answer that
// is complete and is what was asked for. Breaking out of the loop cancels the
// request, and servers of this kind then stop working on it.
func (c *Client) Stream(ctx context.Context, r *eyrie.Request, ask func() (*Ask, error)) iter.Seq2[eyrie.Event, error] {
	return func(yield func(eyrie.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		a := &attempt{client: c, req: r, yield: yield, began: time.Now(), cancel: cancel, draft: newDraft()}
		e := a.prepare(ask)
		if e == nil {
			a.watch = stream.NewWatch(a.limits(), cancel)
			defer a.watch.Stop()
			c.enter(a)
			defer c.leave(a)
			e = a.run(ctx)
		}
		if a.left {
			return
		}
		if e = a.conclude(e); e != nil {
			yield(eyrie.Event{Kind: eyrie.Ended, Answer: a.draft.Answer}, e)
			return
		}
		yield(eyrie.Event{Kind: eyrie.Ended, Answer: a.draft.Answer}, nil)
	}
}

// attempt is one request under way.
type attempt struct {
	client *Client
	req    *eyrie.Request
	ask    *Ask
	yield  func(eyrie.Event, error) bool
	began  time.Time
	cancel context.CancelCauseFunc
	watch  *stream.Watch
	draft  *Draft

	water *stream.LowWater
	full  func() bool // see [stream.Gatherer.Full]
	left  bool        // the consumer left the loop
	done  bool        // the end of the stream, or of a whole body, was seen
}

func (a *attempt) prepare(ask func() (*Ask, error)) *eyrie.Error {
	var err error
	if a.ask, err = ask(); err != nil {
		a.ask = new(Ask)
		return a.fail(eyrie.GiveUp, "request", err)
	}
	return nil
}

// limits are the clocks of this attempt: an answer in one piece is silent until
// it is whole.
func (a *attempt) limits() stream.Limits {
	l := a.client.Limits
	if !a.ask.Stream {
		l.FirstContent, l.Silence = 2*l.Whole, 2*l.Whole
	}
	return l
}

// run makes the request and reads the response. Nil means that an answer came
// to its end; whether it is the right one is another question.
func (a *attempt) run(ctx context.Context) *eyrie.Error {
	defer func() { a.draft.Answer.Elapsed = time.Since(a.began) }()
	resp, e := a.send(ctx)
	if e != nil {
		return e
	}
	defer resp.Body.Close()
	body := resp.Body // the rest of the response is not needed until the end
	if b, ok := body.(h1.Body); ok {
		a.water, a.full = b.Water(), b.Full
	}
	e = a.receive(ctx, resp)
	if a.done {
		a.hangUp(body)
	}
	return e
}

// send makes the request and waits for the head of the response.
func (a *attempt) send(ctx context.Context) (*http.Response, *eyrie.Error) {
	body, err := json.Marshal(a.ask.Body)
	if err != nil {
		return nil, a.fail(eyrie.GiveUp, "request", err)
	}
	req, err := a.client.request(ctx, http.MethodPost, a.ask.Path, body)
	if err != nil {
		return nil, a.fail(eyrie.StopRun, "request", err)
	}
	resp, err := a.client.http.Do(req)
	if err != nil {
		return nil, a.broken(ctx, "connection", err)
	}
	return resp, nil
}

// receive reads the response as what it is, whatever was asked for.
func (a *attempt) receive(ctx context.Context, resp *http.Response) *eyrie.Error {
	if resp.StatusCode != http.StatusOK {
		doc, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // a part of it explains, too
		a.done = true
		a.draft.keep(doc)
		e := a.client.statusError(resp, doc)
		e.Op, e.Subject = a.op(), a.req.Lane.Tag
		return e
	}
	head := make([]byte, 1)
	for {
		n, err := resp.Body.Read(head)
		switch {
		case n > 0 && bytes.ContainsAny(head[:n], " \t\r\n"):
			continue
		case n > 0 && head[0] == '{':
			return a.whole(ctx, io.MultiReader(bytes.NewReader(head), resp.Body))
		case n > 0:
			return a.events(ctx, io.MultiReader(bytes.NewReader(head), resp.Body))
		case err != nil:
			return a.broken(ctx, "stream cut", err)
		}
	}
}

// events takes the events of a stream to its end.
func (a *attempt) events(ctx context.Context, body io.Reader) *eyrie.Error {
	g := stream.NewGatherer(ctx, body, min(a.client.Gather, a.client.Limits.Silence/4), a.water)
	g.Full = a.full
	events := sse.NewReader(g, maxEvent)
	defer events.Release()
	for !a.done {
		ev, err := events.Next()
		if err != nil {
			return a.cut(ctx, err)
		}
		frame, last := bytes.CutSuffix(bytes.TrimSpace(ev.Data), []byte("[DONE]"))
		a.done = last
		if len(frame) == 0 {
			continue
		}
		if e := a.frame(frame); e != nil || a.left {
			return e
		}
		g.Came(a.draft.Answer.FirstContent > 0 && !a.draft.over())
	}
	return a.inBand()
}

// whole reads an answer or an error that came in one piece.
func (a *attempt) whole(ctx context.Context, body io.Reader) *eyrie.Error {
	doc, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		a.draft.keep(doc)
		return a.broken(ctx, "stream cut", err)
	}
	a.done = true
	if e := a.frame(doc); e != nil || a.left {
		return e
	}
	return a.inBand()
}

// frame takes one frame of the answer.
func (a *attempt) frame(frame []byte) *eyrie.Error {
	d := a.draft
	before, unnamed, over := d.size(), d.Answer.ID == "", d.over()
	if err := a.ask.Frame(d, frame); err != nil {
		d.keep(frame)
		return a.fail(eyrie.Again, "bad frame", fmt.Errorf("%w in %.200q", err, frame))
	}
	d.Answer.Chunks++
	if unnamed && d.Answer.ID != "" && !a.tell(eyrie.Event{Kind: eyrie.Opened, ID: d.Answer.ID}) {
		return nil
	}
	if d.over() && !over {
		a.watch.Ending(endWait)
	}
	n := d.size()
	if n == before {
		return nil
	}
	if d.Answer.FirstContent == 0 {
		d.Answer.FirstContent = max(time.Since(a.began), 1)
	}
	a.watch.Progress()
	a.tell(eyrie.Event{Kind: eyrie.Progress, Bytes: n})
	return nil
}

// tell yields an event and reports whether the consumer is still there.
func (a *attempt) tell(ev eyrie.Event) bool {
	a.left = !a.yield(ev, nil)
	return !a.left
}

// hangUp takes the end of a body that has nothing more to say, so that its
// connection can be used again. One that does not end soon is cut off.
func (a *attempt) hangUp(body io.Reader) {
	a.watch.Ending(hangUpWait)
	io.Copy(io.Discard, io.LimitReader(body, maxEvent)) // whatever it is, it is not part of the answer
}

// cut explains a stream that ended before its end was seen. The finish reason
// and the usage may have come all the same: such an answer is whole.
func (a *attempt) cut(ctx context.Context, err error) *eyrie.Error {
	if e := a.inBand(); e != nil {
		return e
	}
	d := a.draft
	if d.over() && d.Answer.Usage.Given && (errors.Is(err, io.EOF) || context.Cause(ctx) == stream.ErrEnd) {
		return nil
	}
	if errors.Is(err, sse.ErrTooLong) {
		return a.fail(eyrie.Elsewhere, "bad frame", err)
	}
	return a.broken(ctx, "stream cut", err)
}

// broken explains a connection that did not bring the answer to its end.
func (a *attempt) broken(ctx context.Context, class string, err error) *eyrie.Error {
	if cause := context.Cause(ctx); cause != nil {
		return a.cancelled(cause)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the answer ended without its end")
	}
	e := a.fail(eyrie.Again, class, err)
	e.LaneWide, e.RetryAfter = true, backOff
	return e
}

// cancelled explains an attempt that was stopped from this side.
func (a *attempt) cancelled(cause error) *eyrie.Error {
	switch cause {
	case stream.ErrFirstContent:
		return a.fail(eyrie.Elsewhere, "no first content", cause)
	case stream.ErrSilence:
		return a.fail(eyrie.Elsewhere, "silence", cause)
	case stream.ErrWhole:
		return a.fail(eyrie.Elsewhere, "too long", cause)
	case errLost, errGone:
		e := a.fail(eyrie.Again, "lost", cause)
		e.LaneWide, e.RetryAfter = true, backOff
		return e
	}
	return a.fail(eyrie.Again, "cancelled", cause)
}

// inBand explains an error that came inside a 200, if one did.
func (a *attempt) inBand() *eyrie.Error {
	d := a.draft
	if d.failed == "" {
		return nil
	}
	e := a.fail(eyrie.Again, "in-band error", errors.New(d.failed))
	if d.failedCode >= 400 {
		e.Class = fmt.Sprintf("in-band %d", d.failedCode)
		a.client.judge(e, d.failedCode, d.failed)
	}
	return e
}

func (a *attempt) op() string { return a.client.Engine + ": " + a.ask.Path }

// fail makes an error of the attempt. It cost nothing.
func (a *attempt) fail(kind eyrie.ErrorKind, class string, err error) *eyrie.Error {
	return &eyrie.Error{Op: a.op(), Subject: a.req.Lane.Tag, Kind: kind, Charged: eyrie.ChargedNo, Class: class, Err: a.client.tidy(err)}
}

// conclude completes the answer and verifies it where nothing failed.
func (a *attempt) conclude(e *eyrie.Error) *eyrie.Error {
	a.draft.finish(a.client.Engine)
	if e == nil {
		e = a.verify()
	}
	a.client.count(a.draft.Answer.Usage.CompletionTokens)
	return e
}
