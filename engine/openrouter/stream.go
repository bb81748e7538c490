package openrouter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/h1"
	"github.com/eyrie-ai/eyrie/engine/internal/h2"
	"github.com/eyrie-ai/eyrie/engine/internal/stream"
	"github.com/eyrie-ai/eyrie/internal/sse"
)

const (
	opChat = "openrouter: chat"
	// maxEvent bounds one event of a stream; answers come in far smaller ones.
	maxEvent = 32 << 20
	// endWait is how long the rest of a stream may take once the finish reason
	// or an error has come, and hangUpWait the same for the end of the body
	// after the end of the stream.
	endWait    = 10 * time.Second
	hangUpWait = 100 * time.Millisecond
)

// Stream makes one attempt. It yields Opened when the vendor has named the
// request, Progress while text comes, and as its last event always Ended, with
// everything that came; the error beside Ended is nil only for an answer that
// is complete and is what was asked for, else an [eyrie.Error]. Breaking out of
// the loop cancels the request, which may be charged all the same.
func (c *Client) Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error] {
	return func(yield func(eyrie.Event, error) bool) {
		a := c.newAttempt(r, yield)
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		a.watch = stream.NewWatch(stream.Limits(c.cfg.Limits), cancel)
		defer a.watch.Stop()
		e := a.run(ctx)
		if a.left {
			return
		}
		if e = a.conclude(e); e != nil {
			yield(eyrie.Event{Kind: eyrie.Ended, Answer: a.answer}, e)
			return
		}
		yield(eyrie.Event{Kind: eyrie.Ended, Answer: a.answer}, nil)
	}
}

// attempt is one request under way.
type attempt struct {
	client *Client
	req    *eyrie.Request
	yield  func(eyrie.Event, error) bool
	began  time.Time
	watch  *stream.Watch
	answer *eyrie.Answer
	dec    chunkDecoder

	sent   atomic.Bool // a connection was there, so the request may have gone out
	water  *stream.LowWater
	ready  <-chan struct{} // see [stream.Gatherer.Ready]
	full   func() bool     // see [stream.Gatherer.Full]
	left   bool            // the consumer left the loop
	done   bool            // the end of the stream, or of a whole body, was seen
	cached bool            // the vendor says that it answered from its cache
}

func (c *Client) newAttempt(r *eyrie.Request, yield func(eyrie.Event, error) bool) *attempt {
	a := &attempt{client: c, req: r, yield: yield, began: time.Now(), answer: new(eyrie.Answer)}
	a.dec.answer, a.dec.scrub = a.answer, c.scrub
	if c.AsksLogprobs(r.Lane) {
		a.dec.tokens.limit = mostTokens(r.Sampling.MaxTokens)
	}
	return a
}

// run makes the request and reads the response. Nil means that an answer came
// to its end; whether it is the right one is another question.
func (a *attempt) run(ctx context.Context) *eyrie.Error {
	resp, e := a.send(ctx)
	if e != nil {
		a.answer.Elapsed = time.Since(a.began)
		return e
	}
	defer resp.Body.Close()
	body := resp.Body // the rest of the response is not needed until the end
	switch b := body.(type) {
	case h2.Body:
		a.ready = b.Ready()
	case h1.Body:
		a.water, a.full = b.Water(), b.Full
	}
	e = a.receive(ctx, resp)
	a.answer.Elapsed = time.Since(a.began)
	if a.done {
		a.hangUp(body)
	}
	return e
}

// send makes the request and waits for the head of the response.
func (a *attempt) send(ctx context.Context) (*http.Response, *eyrie.Error) {
	if err := a.client.tooDear(a.req, a.began); err != nil {
		return nil, a.fail(eyrie.Elsewhere, "max_price", err)
	}
	body, err := a.client.chatBody(a.req)
	if err != nil {
		return nil, a.fail(eyrie.GiveUp, "request", err)
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { a.sent.Store(true) },
	})
	req, err := a.client.request(ctx, http.MethodPost, "/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, a.fail(eyrie.StopRun, "request", err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("X-OpenRouter-Metadata", "enabled")
	req.Header.Set("X-OpenRouter-Cache", "false")
	resp, err := a.client.http.Do(req)
	if err == nil {
		return resp, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, a.cancelled(cause)
	}
	e := a.fail(eyrie.Again, "connection", err)
	if !a.sent.Load() {
		e.LaneWide, e.RetryAfter = true, time.Second
	}
	return nil, e
}

// receive reads the response as what it is, whatever its head calls it.
func (a *attempt) receive(ctx context.Context, resp *http.Response) *eyrie.Error {
	a.answer.ID = resp.Header.Get("X-Generation-Id")
	a.cached = strings.EqualFold(resp.Header.Get("X-OpenRouter-Cache-Status"), "HIT")
	body, err := unpacked(resp)
	switch {
	case resp.StatusCode != http.StatusOK:
		return a.refusal(resp, body)
	case err != nil:
		return a.broken(ctx, "not a stream", err)
	}
	if a.answer.ID != "" && !a.tell(eyrie.Event{Kind: eyrie.Opened, ID: a.answer.ID}) {
		return nil
	}
	head, body, err := sniff(body)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return a.broken(ctx, "stream cut", err)
	case err != nil || head[0] == '.':
		a.done = true
		return a.fail(eyrie.Again, "empty body", errors.New("a 200 with nothing in it"))
	case head[0] == '{':
		return a.whole(ctx, body)
	case isStream(resp, head):
		return a.events(ctx, body)
	}
	return a.unreadable(ctx, body)
}

// tell yields an event and reports whether the consumer is still there.
func (a *attempt) tell(ev eyrie.Event) bool {
	a.left = !a.yield(ev, nil)
	return !a.left
}

// sniff reads on to the first bytes that are neither white space nor a byte
// order mark. It returns them, and the body from there.
func sniff(body io.Reader) (head []byte, rest io.Reader, err error) {
	buf := make([]byte, 512)
	for {
		n, err := body.Read(buf)
		if head := bytes.TrimLeft(buf[:n], "\ufeff \t\r\n"); len(head) > 0 {
			return head, io.MultiReader(bytes.NewReader(head), body), nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// isStream reports whether a body that is no JSON is an event stream: it says
// so, or it begins like one.
func isStream(resp *http.Response, head []byte) bool {
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(head, []byte(field)) {
			return true
		}
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "text/event-stream" && head[0] != '<'
}

// events takes the events of a stream to its end.
func (a *attempt) events(ctx context.Context, body io.Reader) *eyrie.Error {
	g := stream.NewGatherer(ctx, body, min(a.client.cfg.Gather, a.client.cfg.Limits.Silence/4), a.water)
	g.Ready, g.Full = a.ready, a.full
	events := sse.NewReader(g, maxEvent)
	defer events.Release()
	for !a.done && !a.billedError() {
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
		g.Came(a.answer.FirstContent > 0 && !a.dec.over())
	}
	return a.inBand()
}

// billedError reports whether the stream has failed and its bill is there:
// nothing else is worth waiting for.
func (a *attempt) billedError() bool { return a.dec.failed != nil && a.answer.Usage.Given }

// frame takes one frame of the stream.
func (a *attempt) frame(frame []byte) *eyrie.Error {
	before, unnamed, over := a.dec.textBytes(), a.answer.ID == "", a.dec.over()
	if err := a.dec.decode(frame); err != nil {
		a.dec.keepFrame(frame)
		return a.fail(eyrie.Elsewhere, "bad frame", fmt.Errorf("%w in %q", err, frame))
	}
	if unnamed && a.answer.ID != "" && !a.tell(eyrie.Event{Kind: eyrie.Opened, ID: a.answer.ID}) {
		return nil
	}
	if a.dec.over() && !over {
		a.watch.Ending(endWait)
	}
	n := a.dec.textBytes()
	if n == before {
		return nil
	}
	if a.answer.FirstContent == 0 {
		a.answer.FirstContent = max(time.Since(a.began), 1)
	}
	a.watch.Progress()
	if limit := a.req.Sampling.MaxTokens; n > limit*longestToken+1<<20 {
		return a.fail(eyrie.Elsewhere, ClassOverrun, fmt.Errorf("%d bytes have come, max_tokens is %d, and there is no end", n, limit))
	} else if a.dec.floor.over(limit) {
		return a.fail(eyrie.Elsewhere, ClassOverrun,
			fmt.Errorf("at least %d tokens have come, max_tokens is %d, and there is no end", a.dec.floor.tokens()/2, limit))
	}
	a.tell(eyrie.Event{Kind: eyrie.Progress, Bytes: n})
	return nil
}

// whole reads an answer or an error that came in one piece.
func (a *attempt) whole(ctx context.Context, body io.Reader) *eyrie.Error {
	doc, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		a.dec.keepFrame(doc)
		return a.broken(ctx, "stream cut", err)
	}
	a.done = true
	if err := a.dec.decode(doc); err != nil {
		a.dec.keepFrame(doc)
		return a.fail(eyrie.Again, "bad frame", err)
	}
	if e := a.inBand(); e != nil {
		return e
	}
	if a.answer.FinishReason == "" {
		return a.fail(eyrie.Again, "not a stream", errors.New("a 200 without an answer"))
	}
	return nil
}

// unreadable explains a 200 that is neither a stream nor JSON.
func (a *attempt) unreadable(ctx context.Context, body io.Reader) *eyrie.Error {
	doc, err := io.ReadAll(io.LimitReader(body, maxFinal))
	a.dec.keepFrame(doc)
	if err != nil {
		return a.broken(ctx, "stream cut", err)
	}
	a.done = true
	if isPage("", doc) {
		return a.fail(eyrie.Again, "not a stream", errors.New("a 200 with a page instead of an answer"))
	}
	return a.fail(eyrie.Again, "not a stream", errors.New("a 200 that is neither a stream nor JSON"))
}

// hangUp takes the end of a body that has nothing more to say, so that its
// connection can be used again. One that does not end soon is cut off.
func (a *attempt) hangUp(body io.Reader) {
	a.watch.Ending(hangUpWait)
	io.Copy(io.Discard, io.LimitReader(body, maxEvent)) // whatever it is, it is not part of the answer
}
