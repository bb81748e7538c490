package emulator

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"time"
)

const comment = ": OPENROUTER PROCESSING\n\n"

// errLeft says that the client is gone.
var errLeft = errors.New("the client left")

// stream sends the completion as server-sent events.
//
// Nothing is done per token: deltas that fall due within one write period
// share one timer, one write and one flush.
func (x *exchange) stream() {
	e := &events{exchange: x, out: http.NewResponseController(x.w), began: time.Now()}
	x.w.Header().Set("Content-Type", "text/event-stream")
	x.w.Header().Set("Cache-Control", "no-cache")
	x.w.WriteHeader(http.StatusOK)
	if err := e.send(); err != nil {
		x.settle(Cancelled, x.spentAt(x.SentTokens))
	}
}

// spentAt is the number of completion tokens that are charged when a client
// leaves after so many.
func (x *exchange) spentAt(sent int) int {
	if x.endpoint.stopsOnAbort() {
		return sent
	}
	return len(x.c.ids)
}

// events writes one stream.
type events struct {
	*exchange
	out   *http.ResponseController
	buf   []byte
	body  []byte // of the event being written
	began time.Time
	head  []byte
}

// fastBatch is how many bytes share a write when nothing is paced.
const fastBatch = 16 << 10

func (e *events) send() error {
	e.head = e.chunkHead(nil)
	if e.scenario.Stream.CommentInterval > 0 {
		e.buf = append(e.buf, comment...)
	}
	if err := e.flush(); err != nil {
		return err
	}
	if e.q.Debug.Echo {
		e.event(e.echo())
	}
	schedule := e.pace()
	every := e.scenario.Timing.scaled(e.scenario.Timing.WriteEvery)
	cut, after := e.cut()
	list := e.deltas()
	for i := 0; i < len(list); {
		if cut != nil && list[i].tokens > after {
			return e.breakOff(cut)
		}
		due := schedule.at(list[i].tokens)
		if err := e.wait(due); err != nil {
			return err
		}
		limit := time.Since(e.began) + every
		for i < len(list) && (cut == nil || list[i].tokens <= after) &&
			(schedule.rate == 0 && len(e.buf) < fastBatch || schedule.rate > 0 && schedule.at(list[i].tokens) <= limit) {
			e.body = e.appendDelta(e.body[:0], e.head, list[i])
			e.event(e.body)
			e.SentTokens = list[i].tokens
			i++
		}
		if err := e.flush(); err != nil {
			return err
		}
	}
	if cut != nil {
		return e.breakOff(cut)
	}
	return e.finish()
}

// finish sends what comes after the text.
func (e *events) finish() error {
	e.SentTokens = len(e.c.ids)
	e.ending()
	e.settle(e.sentOutcome(), len(e.c.ids))
	if err := e.flush(); err != nil {
		return err
	}
	if e.variant("done") == "open" { // the body stays open
		return e.silence(e.fault("done").For, false)
	}
	return nil
}

// ending appends finish, usage and [DONE] in the form that is due.
func (e *events) ending() {
	usage := e.usageJSON()
	finish := e.finishReason()
	switch e.variant("usage") {
	case "in_finish":
		e.event(e.appendFinish(nil, e.head, finish, usage))
	case "repeat_finish":
		e.event(e.appendFinish(nil, e.head, finish, nil))
		e.event(e.appendFinish(nil, e.head, finish, usage))
	case "missing":
		e.event(e.appendFinish(nil, e.head, finish, nil))
	case "twice":
		e.event(e.appendFinish(nil, e.head, finish, usage))
		e.event(e.appendUsage(nil, e.head, usage))
	default:
		e.event(e.appendFinish(nil, e.head, finish, nil))
		e.event(e.appendUsage(nil, e.head, usage))
	}
	switch e.variant("done") {
	case "missing":
	case "more":
		e.event([]byte("[DONE]"))
		e.event(e.appendDelta(nil, e.head, delta{part: content, text: "late"}))
	default:
		e.event([]byte("[DONE]"))
	}
}

// event appends one event.
func (e *events) event(payload []byte) {
	e.buf = e.appendEvent(e.buf, payload)
}

// flush writes what has been appended.
func (e *events) flush() error {
	if e.ctx.Err() != nil {
		return errLeft
	}
	err := e.writeOut(e.buf)
	e.buf = e.buf[:0]
	if err != nil {
		return errLeft
	}
	return nil
}

// wait sleeps until so long after the stream began, keeping the connection
// alive with comments.
func (e *events) wait(until time.Duration) error {
	interval := e.scenario.Timing.scaled(e.scenario.Stream.CommentInterval)
	for {
		left := until - time.Since(e.began)
		if left <= 0 {
			return nil
		}
		comments := interval > 0 && interval < left
		if comments {
			left = interval
		}
		if err := e.sleep(left); err != nil {
			return err
		}
		if comments {
			e.buf = append(e.buf, comment...)
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
}

func (e *events) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-e.ctx.Done():
		return errLeft
	}
}

// silence keeps the stream open without data, for d or until the client
// leaves.
func (e *events) silence(d time.Duration, comments bool) error {
	if !comments {
		if d > 0 {
			return e.sleep(d)
		}
		<-e.ctx.Done()
		return errLeft
	}
	if d == 0 {
		d = math.MaxInt64 / 2
	}
	return e.wait(time.Since(e.began) + d)
}

// schedule says when tokens are due.
type schedule struct {
	ttft time.Duration
	rate float64 // tokens a second; 0: all at once
}

func (s schedule) at(tokens int) time.Duration {
	if s.rate == 0 {
		return s.ttft
	}
	return s.ttft + time.Duration(float64(tokens)/s.rate*float64(time.Second))
}

// pace draws the exchange's schedule.
func (x *exchange) pace() schedule {
	t := x.scenario.Timing
	spread := func(sigma float64) float64 { return math.Exp(sigma * x.timing.NormFloat64()) }
	return schedule{
		ttft: t.scaled(time.Duration(float64(t.TTFT) * spread(t.TTFTSigma))),
		rate: t.TokenRate * t.Speed * spread(t.RateSigma),
	}
}

// cut finds the fault that ends the stream early, if any, and after how many
// tokens it does.
func (x *exchange) cut() (*Fault, int) {
	for _, kind := range []string{"mid_error", "eof", "reset", "stall"} {
		if f := x.fault(kind); f != nil {
			return f, f.After
		}
	}
	return nil, 0
}

// breakOff ends the stream the way the fault wants it.
func (e *events) breakOff(f *Fault) error {
	switch f.Kind {
	case "mid_error":
		for _, payload := range e.midError(f) {
			e.event(payload)
		}
		e.settle(Broken, 0) // an error is not charged
		return e.flush()
	case "eof":
		if f.variant() == "in_event" {
			e.event(e.appendDelta(nil, e.head, delta{part: content, text: "cut in the mid"}))
			e.buf = e.buf[:len(e.buf)-20]
		}
		e.settle(Broken, len(e.c.ids))
		return e.flush()
	case "reset":
		if err := e.flush(); err != nil {
			return err
		}
		e.settle(Broken, len(e.c.ids))
		panic(http.ErrAbortHandler)
	}
	if err := e.silence(f.For, f.variant() == "comments"); err != nil {
		return err
	}
	e.settle(Broken, len(e.c.ids))
	return nil
}

// midError is the payloads of an error inside a stream.
func (e *events) midError(f *Fault) [][]byte {
	status := orElse(f.Status, 502)
	inner := fields{"code": status, "message": orElse(f.Message, "Provider disconnected")}
	if status != 500 {
		inner["metadata"] = fields{"error_type": errorType(status), "provider_code": "ECONNRESET"}
	}
	chunk := bytes.Clone(e.head)
	switch f.variant() {
	case "bare":
		return [][]byte{mustJSON(fields{"error": inner})}
	case "event":
		e.buf = append(e.buf, "event: error\n"...)
		return [][]byte{mustJSON(fields{"error": inner})}
	case "nested":
		return [][]byte{mustJSON(fields{"error": fields{"error": inner}})}
	case "string_code":
		inner["code"] = "server_error"
	}
	chunk = append(append(chunk, `,"error":`...), mustJSON(inner)...)
	if f.variant() == "empty_choices" {
		return [][]byte{append(chunk, `,"choices":[]}`...)}
	}
	return [][]byte{append(chunk, `,"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":"error","logprobs":null}]}`...)}
}

// echo is the debug chunk with the body that went upstream.
func (e *events) echo() []byte {
	out := append(bytes.Clone(e.head), `,"choices":[],"debug":{"echo_upstream_body":`...)
	out = append(out, mustJSON(e.upstreamBody())...)
	return append(out, "}}"...)
}
