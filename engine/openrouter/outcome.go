package openrouter

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/stream"
	"github.com/eyrie-ai/eyrie/internal/sse"
)

// refusal explains a status other than 200.
func (a *attempt) refusal(resp *http.Response, body io.Reader) *eyrie.Error {
	doc, _ := io.ReadAll(io.LimitReader(body, 1<<20)) // a part of it explains, too
	a.done = true
	a.dec.keepFrame(doc)
	e := a.client.statusError(resp, doc)
	e.Op, e.Subject = opChat, a.req.Lane.Tag
	return e
}

// cut explains a stream that ended before its end was seen. The finish reason
// and the usage may have come all the same: such an answer is whole.
func (a *attempt) cut(ctx context.Context, err error) *eyrie.Error {
	if e := a.inBand(); e != nil {
		return e
	}
	clean := errors.Is(err, io.EOF) || context.Cause(ctx) == stream.ErrEnd
	if a.answer.FinishReason != "" && (clean || a.answer.Usage.Given) {
		return nil
	}
	if errors.Is(err, sse.ErrTooLong) {
		return a.fail(eyrie.Elsewhere, "bad frame", err)
	}
	return a.broken(ctx, "stream cut", err)
}

// broken explains a body that could not be read to its end.
func (a *attempt) broken(ctx context.Context, class string, err error) *eyrie.Error {
	if cause := context.Cause(ctx); cause != nil {
		return a.cancelled(cause)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the stream ended without its end")
	}
	return a.fail(eyrie.Again, class, err)
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
	}
	return a.fail(eyrie.Again, "cancelled", cause)
}

// inBand explains an error that came inside a 200, if one did.
func (a *attempt) inBand() *eyrie.Error {
	e := a.dec.failed
	if e == nil {
		return nil
	}
	e.unreached = e.unreached || a.dec.unreached
	out := a.client.explain(e, http.StatusOK)
	out.Op, out.Subject = opChat, a.req.Lane.Tag
	out.Class = "in-band " + out.Class
	if a.answer.Chunks > 1 || a.dec.textBytes() > 0 || a.answer.Usage.Given {
		out.Charged = eyrie.ChargedUnknown // work was begun; only the bill tells
	}
	return out
}

// fail makes an error of the attempt. Whether it was charged is unknown until
// the end says more.
func (a *attempt) fail(kind eyrie.ErrorKind, class string, err error) *eyrie.Error {
	return &eyrie.Error{Op: opChat, Subject: a.req.Lane.Tag, Kind: kind, Class: class, Err: a.client.tidy(err)}
}

// conclude completes the answer, verifies it where nothing failed, and says
// what is known of its charge.
func (a *attempt) conclude(e *eyrie.Error) *eyrie.Error {
	a.dec.finish()
	if !a.done && !a.dec.over() {
		a.answer.CostGiven = false // figures on the way are not the bill
	}
	a.doubtCost()
	if e == nil {
		e = a.verify()
	}
	if e == nil {
		return nil
	}
	switch {
	case a.answer.CostGiven:
		e.Charged = eyrie.ChargedYes
	case e.Charged == eyrie.ChargedUnknown && !a.sent.Load():
		e.Charged = eyrie.ChargedNo
	}
	return e
}
