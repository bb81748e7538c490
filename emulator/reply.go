package emulator

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// whole sends the completion as one JSON object, after the time that writing
// all of it would have taken.
func (x *exchange) whole() {
	e := &events{exchange: x, out: http.NewResponseController(x.w), began: time.Now()}
	due := x.pace().at(len(x.c.ids))
	if cut, after := x.cut(); cut != nil {
		x.wholeCut(e, cut, after)
		return
	}
	if left := due - time.Since(e.began); left > 0 && e.sleep(left) != nil || x.ctx.Err() != nil {
		x.settle(Cancelled, len(x.c.ids)) // without a stream there is no stopping the upstream
		return
	}
	body := x.completionJSON()
	if f := x.fault("drip"); f != nil {
		body = append(bytes.Repeat([]byte("\n         "), 1+orElse(f.After, 1200)/10), body...)
	}
	x.SentTokens = len(x.c.ids)
	x.settle(x.sentOutcome(), len(x.c.ids))
	x.send("application/json", body)
}

// wholeCut is what the faults that cut streams do to a reply in one piece.
func (x *exchange) wholeCut(e *events, f *Fault, after int) {
	switch f.Kind {
	case "mid_error":
		x.truncateAt(after)
		x.settle(Broken, 0)
		x.send("application/json", x.choiceErrorJSON(orElse(f.Status, 502), orElse(f.Message, "Provider disconnected")))
	case "eof":
		body := x.completionJSON()
		x.settle(Broken, len(x.c.ids))
		x.send("application/json", body[:len(body)/2])
	case "reset":
		x.settle(Broken, len(x.c.ids))
		panic(http.ErrAbortHandler)
	case "stall":
		if e.silence(f.For, false) != nil {
			x.settle(Cancelled, len(x.c.ids))
			return
		}
		x.settle(Broken, len(x.c.ids))
		panic(http.ErrAbortHandler)
	}
}

func (x *exchange) truncateAt(tokens int) {
	if tokens < len(x.c.ids) {
		x.c.truncate(max(tokens, 1), x.vocabulary)
	}
}

// send writes a body. What has to be settled was settled before.
func (x *exchange) send(contentType string, body []byte) {
	x.w.Header().Set("Content-Type", contentType)
	x.w.WriteHeader(http.StatusOK)
	x.w.Write(body)
}

// completionJSON is the whole reply.
func (x *exchange) completionJSON() []byte { return mustJSON(x.replyFields()) }

// replyFields is the reply with its members open to change.
func (x *exchange) replyFields() fields {
	finish := x.finishReason()
	body := fields{
		"id": x.ID, "object": "chat.completion", "created": x.Began.Unix(), "model": x.modelName(),
		"system_fingerprint": nil,
		"choices": []any{fields{
			"index": 0, "finish_reason": finish, "native_finish_reason": finish,
			"logprobs": jsontext.Value(x.appendLogprobs(nil, len(x.c.ids))), "message": x.message(),
		}},
	}
	if x.variant("usage") != "missing" {
		body["usage"] = jsontext.Value(x.usageJSON())
	}
	if name := x.providerName(); name != "" {
		body["provider"] = name
	}
	if x.wantsMetadata() {
		body["openrouter_metadata"] = x.metadata()
	}
	return body
}

// choiceErrorJSON is a reply whose only choice carries an error beside the
// text so far.
func (x *exchange) choiceErrorJSON(status int, message string) []byte {
	body := x.replyFields()
	body["choices"] = []any{fields{
		"index": 0, "finish_reason": "error", "native_finish_reason": "error", "logprobs": nil, "message": x.message(),
		"error": fields{"code": status, "message": message, "metadata": fields{"error_type": errorType(status)}},
	}}
	return mustJSON(body)
}

// message joins the deltas to the assistant's message.
func (x *exchange) message() fields {
	var thought, said strings.Builder
	var calls []fields
	for _, d := range x.deltas() {
		switch d.part {
		case reasoning:
			thought.WriteString(d.text)
		case content:
			said.WriteString(d.text)
		case callID:
			call := fields{"id": d.text, "type": "function", "index": d.call,
				"function": fields{"name": x.c.calls[d.call].function, "arguments": ""}}
			if x.variant("tool") == "no_index" {
				delete(call, "index")
			}
			calls = append(calls, call)
		case arguments:
			f := calls[len(calls)-1]["function"].(fields)
			f["arguments"] = f["arguments"].(string) + d.text
		}
	}
	m := fields{"role": "assistant", "refusal": nil, "content": said.String()}
	if said.Len() == 0 {
		m["content"] = nil
	}
	if thought.Len() > 0 {
		raw := append(x.appendReasoning([]byte("{"), thought.String()), '}')
		for name, value := range mustObject(raw) {
			m[name] = value
		}
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return m
}

// ownToolID is the id that a server gives when it numbers the calls itself.
func (x *exchange) ownToolID(call int) string {
	return fmt.Sprintf("functions.%s:%d", x.c.calls[call].function, countCalls(x.q.messages)+call)
}

// sentOutcome is the outcome of a reply that was sent to its end.
func (x *exchange) sentOutcome() string {
	for _, f := range x.faults {
		if kinds[f.Kind].spoils {
			return Broken
		}
	}
	return Completed
}

// spoilDeltas changes what the client sees of a completion.
func (x *exchange) spoilDeltas(list []delta) []delta {
	switch x.variant("tool") {
	case "malformed":
		for i, d := range list {
			if d.part == arguments && (i+1 == len(list) || list[i+1].part != arguments) {
				list[i].text = strings.TrimSuffix(d.text, "}") + `,"`
			}
		}
	case "leak":
		for i, d := range list {
			if d.part == arguments && (i+1 == len(list) || list[i+1].part != arguments) {
				list[i].text = d.text + "<|tool_call_end|><|tool_calls_section_end|>"
			}
		}
	case "duplicate_id":
		x.renameCalls(list, func(int) string { return x.ownToolID(0) })
	case "empty_id":
		x.renameCalls(list, func(int) string { return "" })
	case "native_id":
		x.renameCalls(list, func(call int) string { return fmt.Sprintf("call_%024x", x.mix(uint64(x.Number), uint64(call))) })
	case "plain_text":
		return x.callsAsText(list)
	}
	return list
}

func (x *exchange) renameCalls(list []delta, name func(call int) string) {
	for i := range list {
		if list[i].part == callID {
			list[i].text = name(list[i].call)
		}
	}
}

// callsAsText turns tool calls into content, markers and all, as engines do
// whose tool parser is off.
func (x *exchange) callsAsText(list []delta) []delta {
	for i, d := range list {
		switch d.part {
		case callID:
			list[i].part, list[i].text = content, "<|tool_call_begin|>"+d.text+"<|tool_call_argument_begin|>"
			if d.call == 0 {
				list[i].text = "<|tool_calls_section_begin|>" + list[i].text
			}
		case arguments:
			list[i].part = content
		}
	}
	return list
}

// upstreamBody is the request as it is handed to the endpoint: without what
// the endpoint does not know.
func (x *exchange) upstreamBody() object {
	body := object{}
	for name, value := range x.q.given {
		if name != "provider" && name != "debug" && name != "models" {
			body[name] = value
		}
	}
	for _, name := range x.Dropped {
		delete(body, name)
	}
	return body
}
