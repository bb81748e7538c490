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
	"strings"
	"sync/atomic"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/sse"
)

const (
	opChat = "openrouter: chat"
	// maxEvent bounds one event of a stream; answers come in far smaller ones.
	maxEvent = 32 << 20
	// maxFinal bounds what is kept of the raw last frames.
	maxFinal = 64 << 10
)

// Causes with which an attempt's context is cancelled by its own clock.
var (
	errFirstContent = errors.New("no text came in time")
	errSilence      = errors.New("the stream went silent")
	errWhole        = errors.New("the answer took too long")
)

// Stream makes one attempt. It yields Opened when the vendor has named the
// request, Progress while text comes, and as its last event always Ended, with
// everything that came; the error beside Ended is nil only for an answer that
// is complete and is what was asked for, else an [eyrie.Error]. Breaking out of
// the loop cancels the request, which may be charged all the same.
func (c *Client) Stream(ctx context.Context, r *eyrie.Request) iter.Seq2[eyrie.Event, error] {
	return func(yield func(eyrie.Event, error) bool) {
		a := &attempt{client: c, req: r, began: time.Now(), answer: new(eyrie.Answer)}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		a.watch = newWatch(c.cfg.Limits, cancel)
		defer a.watch.stop()
		err := a.run(ctx, yield)
		if errors.Is(err, errBroken) {
			return
		}
		a.answer.Elapsed = time.Since(a.began)
		if err == nil {
			err = a.verify()
		}
		yield(eyrie.Event{Kind: eyrie.Ended, Answer: a.answer}, err)
	}
}

// errBroken says that the consumer left the loop.
var errBroken = errors.New("the consumer left")

// attempt is one request under way.
type attempt struct {
	client *Client
	req    *eyrie.Request
	began  time.Time
	watch  *watch
	answer *eyrie.Answer
	dec    chunkDecoder
}

func (a *attempt) run(ctx context.Context, yield func(eyrie.Event, error) bool) error {
	body, err := a.client.chatBody(a.req)
	if err != nil {
		return a.fail(eyrie.GiveUp, eyrie.ChargedNo, "request", err)
	}
	req, err := a.client.request(ctx, http.MethodPost, "/chat/completions", bytes.NewReader(body))
	if err != nil {
		return a.fail(eyrie.StopRun, eyrie.ChargedNo, "request", err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("X-OpenRouter-Metadata", "enabled")
	req.Header.Set("X-OpenRouter-Cache", "false")
	resp, err := a.client.http.Do(req)
	if err != nil {
		return a.connectError(ctx, err)
	}
	defer resp.Body.Close()
	a.answer.ID = resp.Header.Get("X-Generation-Id")
	if resp.StatusCode != http.StatusOK {
		return a.refusal(resp)
	}
	if a.answer.ID != "" && !yield(eyrie.Event{Kind: eyrie.Opened, ID: a.answer.ID}, nil) {
		return errBroken
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		return a.notAStream(ctx, resp, kind)
	}
	return a.read(ctx, resp.Body, yield)
}

// read takes the events of a stream to its end.
func (a *attempt) read(ctx context.Context, body io.Reader, yield func(eyrie.Event, error) bool) error {
	g := &gatherer{ctx: ctx, src: body, every: a.client.cfg.Gather}
	events := sse.NewReader(g, maxEvent)
	var done bool
	for !done {
		ev, err := events.Next()
		if err != nil {
			return a.cut(ctx, err)
		}
		if bytes.Equal(bytes.TrimSpace(ev.Data), []byte("[DONE]")) {
			done = true
			continue
		}
		before := a.dec.textBytes()
		hadID := a.answer.ID != ""
		if err := a.dec.decode(ev.Data, a.answer); err != nil {
			return a.fail(eyrie.Elsewhere, eyrie.ChargedUnknown, "bad frame", err)
		}
		if !hadID && a.answer.ID != "" && !yield(eyrie.Event{Kind: eyrie.Opened, ID: a.answer.ID}, nil) {
			return errBroken
		}
		if n := a.dec.textBytes(); n > before {
			if a.answer.FirstContent == 0 {
				a.answer.FirstContent = max(time.Since(a.began), 1)
			}
			a.watch.progress()
			g.gathering = true
			if !yield(eyrie.Event{Kind: eyrie.Progress, Bytes: n}, nil) {
				return errBroken
			}
		}
		if a.dec.failed != nil {
			// The usage may still follow, and with it the bill.
			a.readUsageAfterError(events)
			break
		}
	}
	a.dec.finish(a.answer)
	if e := a.dec.failed; e != nil {
		return a.inBand(e)
	}
	return nil
}

// readUsageAfterError reads on for the usage that may follow an error chunk.
func (a *attempt) readUsageAfterError(events *sse.Reader) {
	for !a.answer.Usage.Given {
		ev, err := events.Next()
		if err != nil || bytes.Equal(bytes.TrimSpace(ev.Data), []byte("[DONE]")) {
			return
		}
		if a.dec.decode(ev.Data, a.answer) != nil {
			return
		}
	}
}

// cut explains a stream that ended before [DONE]. The finish reason and the
// usage may have come all the same: such an answer is whole.
func (a *attempt) cut(ctx context.Context, err error) error {
	a.dec.finish(a.answer)
	if e := a.dec.failed; e != nil {
		return a.inBand(e)
	}
	if cause := context.Cause(ctx); cause != nil {
		return a.cancelled(cause)
	}
	if errors.Is(err, io.EOF) && a.answer.FinishReason != "" && a.answer.Usage.Given {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the stream ended without its end")
	}
	return a.fail(eyrie.Again, eyrie.ChargedUnknown, "stream cut", err)
}

// cancelled explains an attempt that was stopped from this side.
func (a *attempt) cancelled(cause error) error {
	switch cause {
	case errFirstContent:
		return a.fail(eyrie.Elsewhere, eyrie.ChargedUnknown, "no first content", cause)
	case errSilence:
		return a.fail(eyrie.Elsewhere, eyrie.ChargedUnknown, "silence", cause)
	case errWhole:
		return a.fail(eyrie.Elsewhere, eyrie.ChargedUnknown, "too long", cause)
	}
	return a.fail(eyrie.Again, eyrie.ChargedUnknown, "cancelled", cause)
}

// connectError explains a request that got no response.
func (a *attempt) connectError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return a.cancelled(cause)
	}
	err = a.client.scrub(err)
	if isDialError(err) {
		e := a.fail(eyrie.Again, eyrie.ChargedNo, "connection", err)
		e.LaneWide, e.RetryAfter = true, time.Second
		return e
	}
	// The request may have reached the vendor.
	return a.fail(eyrie.Again, eyrie.ChargedUnknown, "connection", err)
}

// refusal explains a status other than 200.
func (a *attempt) refusal(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	e := a.client.statusError(resp, body)
	e.Op, e.Subject = opChat, a.req.Lane.Tag
	a.keepFinal(body)
	return e
}

// notAStream explains a 200 that is no event stream: an error, a page, nothing.
func (a *attempt) notAStream(ctx context.Context, resp *http.Response, kind string) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if cause := context.Cause(ctx); cause != nil {
		return a.cancelled(cause)
	}
	body = stripComments(bytes.TrimSpace(body))
	a.keepFinal(body)
	switch {
	case err != nil:
		return a.fail(eyrie.Again, eyrie.ChargedUnknown, "stream cut", err)
	case len(body) == 0 || bytes.Equal(body, []byte(".")):
		return a.fail(eyrie.Again, eyrie.ChargedUnknown, "empty body", errors.New("a 200 with nothing in it"))
	case body[0] != '{':
		return a.fail(eyrie.Again, eyrie.ChargedUnknown, "not a stream", fmt.Errorf("a 200 of type %q", kind))
	}
	if err := a.dec.decode(body, a.answer); err != nil {
		return a.fail(eyrie.Again, eyrie.ChargedUnknown, "bad frame", err)
	}
	a.dec.finish(a.answer)
	if e := a.dec.failed; e != nil {
		return a.inBand(e)
	}
	if a.answer.FinishReason == "" {
		return a.fail(eyrie.Again, eyrie.ChargedUnknown, "not a stream", errors.New("a 200 without an answer"))
	}
	return nil
}

// inBand explains an error that came inside a 200.
func (a *attempt) inBand(e *vendorError) error {
	out := e.classify(a.client, http.StatusOK)
	out.Op, out.Subject = opChat, a.req.Lane.Tag
	out.Class = "in-band " + out.Class
	// Text may have been produced; only the bill tells.
	out.Charged = eyrie.ChargedUnknown
	if a.answer.CostGiven {
		out.Charged = eyrie.ChargedYes
	}
	return out
}

func (a *attempt) fail(kind eyrie.ErrorKind, charged eyrie.Charged, class string, err error) *eyrie.Error {
	if charged == eyrie.ChargedUnknown && a.answer.CostGiven {
		charged = eyrie.ChargedYes
	}
	return &eyrie.Error{Op: opChat, Subject: a.req.Lane.Tag, Kind: kind, Charged: charged, Class: class, Err: a.client.scrub(err)}
}

func (a *attempt) keepFinal(frame []byte) {
	a.answer.FinalFrame = appendFinal(a.answer.FinalFrame, frame)
}

func appendFinal(dst, frame []byte) []byte {
	if len(dst)+len(frame) > maxFinal {
		frame = frame[:max(0, maxFinal-len(dst))]
	}
	if len(dst) > 0 && len(frame) > 0 {
		dst = append(dst, '\n')
	}
	return append(dst, frame...)
}

// stripComments removes lines of SSE comments that were sent as a JSON body.
func stripComments(b []byte) []byte {
	for bytes.HasPrefix(b, []byte(":")) {
		_, rest, _ := bytes.Cut(b, []byte("\n"))
		b = bytes.TrimSpace(rest)
	}
	return b
}

func isDialError(err error) bool {
	s := err.Error()
	return strings.Contains(s, "dial ") || strings.Contains(s, "tls:") || strings.Contains(s, "TLS handshake")
}

// watch cancels an attempt that breaks a time limit. Only text resets it.
type watch struct {
	limits Limits
	began  time.Time
	last   atomic.Int64 // time of the last text since began; 0 before the first
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

func newWatch(l Limits, cancel context.CancelCauseFunc) *watch {
	w := &watch{limits: l, began: time.Now(), cancel: cancel}
	w.timer = time.AfterFunc(min(l.FirstContent, l.Whole), w.check)
	return w
}

func (w *watch) progress() { w.last.Store(int64(max(time.Since(w.began), 1))) }

func (w *watch) stop() { w.timer.Stop() }

// check runs when the earliest limit could have been broken; text that came in
// between moves it.
func (w *watch) check() {
	now := time.Since(w.began)
	last := time.Duration(w.last.Load())
	due, cause := w.limits.FirstContent, errFirstContent
	if last > 0 {
		due, cause = last+w.limits.Silence, errSilence
	}
	if w.limits.Whole < due {
		due, cause = w.limits.Whole, errWhole
	}
	if now >= due {
		w.cancel(cause)
		return
	}
	w.timer.Reset(due - now)
}

// gatherer reads less often than text comes: between two reads of an answer
// that has begun it lets some time pass, unless the last read filled the
// buffer.
type gatherer struct {
	ctx       context.Context
	src       io.Reader
	every     time.Duration
	gathering bool
	full      bool
	timer     *time.Timer
}

func (g *gatherer) Read(p []byte) (int, error) {
	if g.every > 0 && g.gathering && !g.full {
		if err := g.pause(); err != nil {
			return 0, err
		}
	}
	n, err := g.src.Read(p)
	g.full = n == len(p)
	return n, err
}

func (g *gatherer) pause() error {
	if g.timer == nil {
		g.timer = time.NewTimer(g.every)
	} else {
		g.timer.Reset(g.every)
	}
	select {
	case <-g.timer.C:
		return nil
	case <-g.ctx.Done():
		g.timer.Stop()
		return context.Cause(g.ctx)
	}
}
