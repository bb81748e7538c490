package openrouter_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// The price list of the lane that recorded answers come from.
func recordedLane() *eyrie.Lane {
	l := &eyrie.Lane{Tag: atlas, Provider: "AtlasCloud", Quantization: "int4"}
	l.PromptPrice, _ = eyrie.ParsePrice("0.00000049")
	l.OutputPrice, _ = eyrie.ParsePrice("0.0000025")
	l.CachedPrice, _ = eyrie.ParsePrice("0.0000002")
	return l
}

// play sends a recorded response to one attempt.
func play(t *testing.T, status int, header http.Header, body string, tweak ...func(*eyrie.Request)) (h *heard) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			for name, values := range header {
				w.Header()[name] = values
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}), nil)
		r := request(recordedLane())
		for _, f := range tweak {
			f(r)
		}
		h = ask(t, t.Context(), c, r)
	})
	return h
}

var (
	asStream = http.Header{"Content-Type": {"text/event-stream"}, "X-Generation-Id": {"gen-1"}}
	asJSON   = http.Header{"Content-Type": {"application/json"}, "X-Generation-Id": {"gen-1"}}
)

// frame prints the members of a chunk behind those that every chunk has.
func frame(members string) string {
	return `data: {"id":"gen-1","object":"chat.completion.chunk","created":1769490011,"model":"moonshotai/kimi-k2.5","provider":"AtlasCloud",` + members + "}\n\n"
}

func delta(members string) string {
	return frame(`"choices":[{"index":0,"delta":{"role":"assistant",` + members + `},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]`)
}

func finish(word, more string) string {
	return frame(`"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"` + word + `","native_finish_reason":"` + word + `","logprobs":null}]` + more)
}

// usage of 1,200 prompt tokens, 200 of them cached, and 800 of completion costs
// 0.00253 at the recorded lane.
const (
	usage  = `"usage":{"prompt_tokens":1200,"completion_tokens":800,"total_tokens":2000,"cost":0.00253,"prompt_tokens_details":{"cached_tokens":200},"completion_tokens_details":{"reasoning_tokens":610}}`
	done   = "data: [DONE]\n\n"
	thinks = `"content":"","reasoning":"First "`
	says   = `"content":"Final"`
)

func billed() string { return frame(`"choices":[],` + usage) }

// TestFrames reads recorded streams: what is in them, and how they end.
func TestFrames(t *testing.T) {
	good := delta(thinks) + delta(says) + finish("stop", "") + billed() + done
	body := func(frames ...string) string { return strings.Join(frames, "") }
	for _, row := range []struct {
		name, body         string
		reasoning, content string
		class              string
		charged            eyrie.Charged
	}{
		{"as documented", ": OPENROUTER PROCESSING\n\n" + good, "First ", "Final", "", yes},
		{"P29 a comment and a blank line between all", strings.ReplaceAll(good, "data:", ": OPENROUTER PROCESSING\n\ndata:"), "First ", "Final", "", yes},
		{"P86 unknown members", strings.ReplaceAll(good, `"index":0,`, `"index":0,"novelty":{"a":[1,{"b":null}]},`), "First ", "Final", "", yes},
		{"members twice", strings.ReplaceAll(good, `"object":`, `"object":"x","object":`), "First ", "Final", "", yes},
		{"byte order mark", "\ufeff" + good, "First ", "Final", "", yes},
		{"lone CRs", strings.ReplaceAll(good, "\n", "\r"), "First ", "Final", "", yes},
		{"[DONE] without the blank line", strings.TrimSuffix(good, "\n\n"), "First ", "Final", "", yes},
		{"[DONE] in the last event", strings.Replace(good, "\n\n"+done, "\n"+done, 1), "First ", "Final", "", yes},
		{"two frames in one event", strings.Replace(good, "\n\n"+delta(says), "\n"+delta(says), 1), "First ", "Final", "", yes},
		{"no [DONE]", body(delta(thinks), delta(says), finish("stop", ""), billed()), "First ", "Final", "", yes},
		{"no [DONE], no usage", body(delta(thinks), delta(says), finish("stop", "")), "First ", "Final", "", unknown},
		{"no finish reason", body(delta(thinks), delta(says), billed(), done), "First ", "Final", "no finish reason", yes},
		{"no finish reason, no [DONE]", body(delta(thinks), delta(says), billed()), "First ", "Final", "stream cut", unknown},
		{"usage on the way is not the bill", body(delta(thinks), frame(`"choices":[],`+usage), delta(says), finish("stop", ""), done), "First ", "Final", "", unknown},
		{"usage before an error is not the bill", body(delta(thinks), frame(`"choices":[],`+usage), frame(`"error":{"code":502,"message":"gone"},"choices":[]`)), "First ", "", "in-band 502", unknown},
		{"usage after an error is", body(delta(thinks), frame(`"error":{"code":502,"message":"gone"},"choices":[]`), billed(), done), "First ", "", "in-band 502", yes},
		{"usage as strings", body(delta(thinks), delta(says), finish("stop", ""), frame(`"choices":[],"usage":{"prompt_tokens":"1000","completion_tokens":800.0,"cost":"2.49e-03"}`), done), "First ", "Final", "", yes},
		{"usage that counts nothing", body(delta(thinks), delta(says), finish("stop", ""), frame(`"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"cost":0}`), done), "First ", "Final", "usage", yes},
		{"usage null", body(delta(thinks), delta(says), finish("stop", `,"usage":null`), done), "First ", "Final", "", unknown},
		{"cost below zero", body(delta(thinks), delta(says), finish("stop", ""), strings.Replace(billed(), "0.00253", "-0.00253", 1), done), "First ", "Final", "", unknown},
		{"cost off by three in a hundred", body(delta(thinks), delta(says), finish("stop", ""), strings.Replace(billed(), "0.00253", "0.00261", 1), done), "First ", "Final", "usage", yes},
		{"cost off by one in a hundred", body(delta(thinks), delta(says), finish("stop", ""), strings.Replace(billed(), "0.00253", "0.002505", 1), done), "First ", "Final", "", yes},
		{"nothing mends an error", body(delta(thinks), delta(says), finish("error", ""), finish("stop", ""), billed(), done), "First ", "Final", "finish reason", yes},
		{"an error after the finish", body(delta(thinks), delta(says), finish("stop", ""), billed(), frame(`"error":{"code":500,"message":"oh"}`), done), "First ", "Final", "in-band 500", yes},
		{"error null is none", strings.ReplaceAll(good, `"object":`, `"error":null,"object":`), "First ", "Final", "", yes},
		{"error: a string", body(delta(thinks), "data: {\"error\":\"boom\"}\n\n"), "First ", "", "in-band 502", unknown},
		{"event: error", body(delta(thinks), "event: error\ndata: {\"error\":{\"code\":\"429\",\"message\":\"slow\"}}\n\n"), "First ", "", "in-band 429", unknown},
		{"a frame that does not parse", body(delta(thinks), delta(says), "data: {\"id\":\n\n", finish("stop", ""), billed(), done), "First ", "Final", "bad frame", unknown},
		{"a frame that is no object", body(delta(thinks), "data: 7\n\n", done), "First ", "", "bad frame", unknown},
		{"half a rune", body(delta(thinks), delta(`"content":"a`+"\xe4\xbd"+`"`), finish("stop", ""), billed(), done), "First ", "a\ufffd\ufffd", "bad frame", yes},
		{"half a surrogate pair", body(delta(thinks), delta(`"content":"\ud83d"`), delta(`"content":"\ude00"`), finish("stop", ""), billed(), done), "First ", "\ufffd\ufffd", "bad frame", yes},
		{"escapes", body(delta(`"reasoning":"\u4f60\n\"\\"`), delta(`"content":"\ud83d\ude00\u0000\/<"`), finish("stop", ""), billed(), done), "你\n\"\\", "😀\x00/<", "", yes},
		{"two choices", body(delta(thinks), delta(says), strings.Replace(delta(says), `"index":0`, `"index":1`, 1), finish("stop", ""), billed(), done), "First ", "FinalFinal", "bad frame", yes},
		{"the provider changes", body(delta(thinks), strings.Replace(delta(says), "AtlasCloud", "Novita", 1), finish("stop", ""), billed(), done), "First ", "Final", "bad frame", yes},
		{"the last frame is another provider's", strings.ReplaceAll(good, "AtlasCloud", "Novita"), "First ", "Final", "wrong provider", yes},
		{"reasoning in two places", body(delta(`"reasoning":"First ","reasoning_details":[{"type":"reasoning.text","text":"First "}]`), delta(says), finish("stop", ""), billed(), done), "First ", "Final", "", yes},
		{"reasoning again in whole at the end", body(delta(thinks), delta(`"reasoning":"then"`), delta(says), delta(`"reasoning_details":[{"type":"reasoning.text","text":"First then","signature":"x"}]`), finish("stop", ""), billed(), done), "First then", "Final", "", yes},
		{"encrypted reasoning", body(delta(`"reasoning_details":[{"type":"reasoning.encrypted","data":"zzz"}]`), delta(says), finish("stop", ""), billed(), done), "", "Final", "reasoning", yes},
		{"the router selected another", body(delta(thinks), delta(says), finish("stop", `,"openrouter_metadata":{"attempt":1,"endpoints":{"available":[{"provider":"AtlasCloud","selected":false},{"provider":"Novita","selected":true}]},"pipeline":[]}`), billed(), done), "First ", "Final", "wrong provider", yes},
		{"the router changed the answer", body(delta(thinks), delta(says), finish("stop", ""), frame(`"choices":[],"openrouter_metadata":{"pipeline":[{"type":"response_healing"}]},`+usage), done), "First ", "Final", "pipeline", yes},
		{"cut in the reasoning by max_tokens", body(delta(thinks), finish("length", ""), billed(), done), "First ", "", "", yes},
		{"cut by max_tokens before any text", body(finish("length", ""), billed(), done), "", "", "empty answer", yes},
		{"tool_calls without a call", body(delta(thinks), delta(says), finish("tool_calls", ""), billed(), done), "First ", "Final", "tool call", yes},
		{"a call of a tool that was not offered", body(delta(thinks), delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"rm","arguments":"{}"}}]`), finish("tool_calls", ""), billed(), done), "First ", "", "tool call", yes},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := play(t, 200, asStream, row.body)
			if h.Reasoning != row.reasoning || h.Content != row.content || h.class() != row.class || h.charged() != row.charged {
				t.Errorf("%q, %q, class %q, charged %v, %v; want %q, %q, %q, %v",
					h.Reasoning, h.Content, h.class(), h.charged(), h.err, row.reasoning, row.content, row.class, row.charged)
			}
			if h.ID != "gen-1" {
				t.Errorf("id %q", h.ID)
			}
		})
	}
}

// TestBodies reads recorded responses in one piece, and ones that are not what
// their head says.
func TestBodies(t *testing.T) {
	answer := `{"id":"gen-9","model":"moonshotai/kimi-k2.5","provider":"AtlasCloud","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Final","reasoning":"First "}}],` + usage + `}`
	stream := delta(thinks) + delta(says) + finish("stop", "") + billed() + done
	asPage := http.Header{"Content-Type": {"text/html"}}
	zipped := http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"gzip"}}
	for _, row := range []struct {
		name   string
		status int
		header http.Header
		body   string
		class  string
		final  string // is part of the kept frames
	}{
		{"a whole answer", 200, asJSON, answer, "", `"cost":0.00253`},
		{"P08 a whole answer behind white space", 200, asJSON, strings.Repeat("\n         ", 500) + answer, "", ""},
		{"a whole answer called a stream", 200, asStream, answer, "", ""},
		{"an error called a stream", 200, asStream, `{"error":{"code":502,"message":"gone"}}`, "in-band 502", "gone"},
		{"P11 comments and a stream called JSON", 200, asJSON, ": OPENROUTER PROCESSING\n\n" + stream, "", ""},
		{"a stream called JSON", 200, asJSON, stream, "", ""},
		{"P11 comments and nothing else", 200, asJSON, ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n", "stream cut", ""},
		{"a page", 200, asPage, "<!DOCTYPE html><p>hello", "not a stream", "hello"},
		{"a page called a stream", 200, asStream, "<html>hello", "not a stream", "hello"},
		{"a refusal in a 200", 200, asJSON, `{"error":{"code":402,"message":"Insufficient credits"}}`, "in-band 402", "credits"},
		{"an error zipped badly", 503, zipped, "not gzip", "503", ""},
		{"plain text", 200, http.Header{"Content-Type": {"text/plain"}}, "internal error", "not a stream", "internal error"},
		{"content null", 200, asJSON, strings.Replace(answer, `"Final"`, "null", 1), "reasoning only", ""},
		{"gzip, though not asked for", 200, zipped, gzipped(stream), "", ""},
		{"gzip that is cut", 200, zipped, gzipped(stream)[:90], "stream cut", ""},
		{"gzip that is none", 200, zipped, stream, "not a stream", ""},
		{"another compression", 200, http.Header{"Content-Encoding": {"br"}}, stream, "not a stream", ""},
		{"an answer from the cache", 200, http.Header{"Content-Type": {"text/event-stream"}, "X-Openrouter-Cache-Status": {"HIT"}}, stream, "cached answer", ""},
		{"an empty error", 502, asJSON, "", "502", ""},
		{"a page of the edge, zipped", 524, http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {"gzip"}}, gzipped("<html>"), "524 page", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := play(t, row.status, row.header, row.body)
			if h.class() != row.class || row.class == "" && (h.Content != "Final" || h.Reasoning != "First " || h.charged() != yes) {
				t.Errorf("class %q, %v; want %q; content %q, reasoning %q, charged %v", h.class(), h.err, row.class, h.Content, h.Reasoning, h.charged())
			}
			if !strings.Contains(string(h.FinalFrame), row.final) {
				t.Errorf("kept %q of it", h.FinalFrame)
			}
		})
	}
}

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

// TestTorn reads responses whose connection breaks before their end.
func TestTorn(t *testing.T) {
	for _, begun := range []string{"", `{"id":"gen-1","choices":[{"message":{"content":"half`, "<html>half", delta(thinks)} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Generation-Id", "gen-1")
				io.WriteString(w, begun)
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}), nil)
			h := ask(t, t.Context(), c, request(recordedLane()))
			if h.class() != "stream cut" || h.kind() != again || h.charged() != unknown || h.ID != "gen-1" {
				t.Errorf("%q and no more: %v, charged %v", begun, h.err, h.charged())
			}
			if begun != "" && begun[0] != 'd' && string(h.FinalFrame) != begun {
				t.Errorf("kept %q", h.FinalFrame)
			}
		})
	}
}

// TestEndlessEvent gives up on an event that does not end.
func TestEndlessEvent(t *testing.T) {
	h := play(t, 200, asStream, delta(thinks)+"data: "+strings.Repeat("x", 33<<20))
	if h.class() != "bad frame" || h.charged() != unknown || h.Reasoning != "First " {
		t.Errorf("%v, charged %v", h.err, h.charged())
	}
}

// TestToolCalls puts calls together from their pieces.
func TestToolCalls(t *testing.T) {
	paris, rome := eyrie.ToolCall{ID: "a", Name: "get_weather", Arguments: `{"city":"Paris"}`}, eyrie.ToolCall{ID: "b", Name: "get_weather", Arguments: `{"city":"Rome"}`}
	unnamed := paris
	unnamed.ID = ""
	piece := func(members ...string) string { return delta(`"tool_calls":[{` + strings.Join(members, "},{") + `}]`) }
	args := func(s string) string { return fmt.Sprintf(`"function":{"arguments":%q}`, s) }
	const headA, headB = `"id":"a","type":"function","function":{"name":"get_weather","arguments":""}`, `"id":"b","type":"function","function":{"name":"get_weather","arguments":""}`
	for _, row := range []struct {
		name   string
		frames string
		want   []eyrie.ToolCall
	}{
		{"as documented", piece(`"index":0,`+headA) + piece(`"index":0,`+args(`{"ci`)) + piece(`"index":0,`+args(`ty":"Paris"}`)), []eyrie.ToolCall{paris}},
		{"two, interleaved", piece(`"index":0,`+headA, `"index":1,`+headB) + piece(`"index":1,`+args(`{"city":`)) + piece(`"index":0,`+args(`{"city":"Paris"}`), `"index":1,`+args(`"Rome"}`)), []eyrie.ToolCall{paris, rome}},
		{"id and name repeated", piece(`"index":0,`+headA) + piece(`"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}`), []eyrie.ToolCall{paris}},
		{"id and name empty later", piece(`"index":0,`+headA) + piece(`"index":0,"id":"","function":{"name":"","arguments":"{\"city\":\"Paris\"}"}`), []eyrie.ToolCall{paris}},
		{"id missing", piece(`"index":0,"function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}`), []eyrie.ToolCall{unnamed}},
		{"no index, two calls in turn", piece(headA) + piece(args(`{"city":"Paris"}`)) + piece(headB) + piece(args(`{"city":"Rome"}`)), []eyrie.ToolCall{paris, rome}},
		{"no index, two calls at once", piece(`"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}`, `"id":"b","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}`), []eyrie.ToolCall{paris, rome}},
		{"index a string", piece(`"index":"0",`+headA) + piece(`"index":"0",`+args(`{"city":"Paris"}`)), []eyrie.ToolCall{paris}},
		{"no arguments", piece(`"index":0,` + headA), []eyrie.ToolCall{{ID: "a", Name: "get_weather"}}},
		{"one id for two calls", piece(`"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}`) + piece(`"index":1,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}`), []eyrie.ToolCall{paris, {ID: "a", Name: rome.Name, Arguments: rome.Arguments}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := play(t, 200, asStream, delta(thinks)+row.frames+finish("tool_calls", "")+billed()+done, weather)
			if !slices.Equal(h.ToolCalls, row.want) || h.err != nil {
				t.Errorf("got %v, %v; want %v", h.ToolCalls, h.err, row.want)
			}
		})
	}
	cut := delta(thinks) + piece(`"index":0,`+headA) + piece(`"index":0,`+args(`{"ci`)) + finish("length", "") + billed() + done
	if h := play(t, 200, asStream, cut, weather); h.err != nil {
		t.Errorf("arguments that max_tokens cut off: %v", h.err)
	}
}

// TestEvents checks the order of what an attempt tells.
func TestEvents(t *testing.T) {
	h := play(t, 200, asStream, delta(thinks)+delta(`"content":""`)+delta(says)+finish("stop", "")+billed()+done)
	want := []eyrie.Event{{Kind: eyrie.Opened, ID: "gen-1"}, {Kind: eyrie.Progress, Bytes: 6}, {Kind: eyrie.Progress, Bytes: 11}, {Kind: eyrie.Ended, Answer: h.Answer}}
	if !slices.Equal(h.events, want) {
		t.Errorf("got %v", h.events)
	}
	if h.Chunks != 5 || h.FirstContent <= 0 || h.Elapsed < 0 || h.NativeFinish != "stop" || h.Usage != (eyrie.Usage{Given: true, PromptTokens: 1200, CompletionTokens: 800, ReasoningTokens: 610, CachedTokens: 200}) {
		t.Errorf("got %+v", h.Answer)
	}
	if frames := bytes.Split(h.FinalFrame, []byte("\n")); len(frames) != 2 || !jsontext.Value(frames[0]).IsValid() || !bytes.Contains(frames[1], []byte("0.00253")) {
		t.Errorf("kept %q; want the finish and the usage, as they came", h.FinalFrame)
	}
	// Without the header, the first frame names the request.
	h = play(t, 200, http.Header{"Content-Type": {"text/event-stream"}}, delta(thinks)+delta(says)+finish("stop", "")+billed()+done)
	if len(h.events) != 4 || h.events[0] != (eyrie.Event{Kind: eyrie.Opened, ID: "gen-1"}) {
		t.Errorf("without the header: %v", h.events)
	}
}

// TestFinalFrames bounds what is kept when every frame has a usage.
func TestFinalFrames(t *testing.T) {
	running := strings.Repeat(strings.Replace(delta(`"reasoning":"x"`), `"choices"`, `"usage":{"completion_tokens":1,"pad":"`+strings.Repeat("y", 20<<10)+`"},"choices"`, 1), 20)
	h := play(t, 200, asStream, running+delta(says)+finish("stop", "")+billed()+done)
	if h.err != nil || len(h.FinalFrame) > 64<<10 || !bytes.Contains(h.FinalFrame, []byte("0.00253")) || !bytes.Contains(h.FinalFrame, []byte(`"finish_reason":"stop"`)) {
		t.Errorf("%v; kept %d bytes, ending in %.300q", h.err, len(h.FinalFrame), h.FinalFrame[max(0, len(h.FinalFrame)-300):])
	}
}

// TestUnsendable cannot be sent: nothing leaves, nothing is charged.
func TestUnsendable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for name, spoil := range map[string]func(*eyrie.Generation){
			"a message that is not UTF-8": func(g *eyrie.Generation) { g.Messages[0].Content = "\xff" },
			"tools that are not JSON":     func(g *eyrie.Generation) { g.Tools = []byte("[{") },
		} {
			r := request(w.lanes[atlas])
			spoil(r.Generation)
			if h := ask(t, t.Context(), w.client, r); h.class() != "request" || h.kind() != giveUp || h.charged() != no {
				t.Errorf("%s: %v, charged %v", name, h.err, h.charged())
			}
		}
		if n := len(w.Books()); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// TestRequestThatStops asks an endpoint that takes stop strings for them, and
// for no thinking, beside which an effort would be a contradiction.
func TestRequestThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		r := request(w.lanes["venice"])
		r.Sampling.Stop, r.Sampling.Effort, r.Sampling.Thinking = []string{"\n\n", "END"}, "high", false
		if h := ask(t, t.Context(), w.client, r); h.err != nil {
			t.Fatal(h.err)
		}
		body := string(w.Books()[0].Body)
		for _, want := range []string{`"stop":["\n\n","END"]`, `"reasoning":{"enabled":false}`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s is not in the request\n%s", want, body)
			}
		}
	})
}

// TestRequest reads what the vendor got.
func TestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ *emulator.Scenario, c *openrouter.Config) { c.DataCollection = "deny" })
		r := request(w.lanes[atlas])
		r.Sampling.Temperature, r.Sampling.Seed, r.Sampling.Effort = new(0.7), new(int64(5)), "low"
		weather(r)
		r.Generation.Messages = append(r.Generation.Messages,
			eyrie.Message{Role: eyrie.Assistant, Reasoning: "hm", ToolCalls: []eyrie.ToolCall{{ID: "functions.get_weather:0", Name: "get_weather", Arguments: `{"city": "Paris"}`}}},
			eyrie.Message{Role: eyrie.ToolRole, ToolCallID: "functions.get_weather:0", Content: "<rain> & sun"})
		if h := ask(t, t.Context(), w.client, r); h.err != nil {
			t.Fatal(h.err)
		}
		e := w.Books()[0]
		for _, want := range []string{
			`"model":"moonshotai/kimi-k2.5"`, `"stream":true`, `"max_tokens":4096`, `"temperature":0.7`, `"seed":5`, `"reasoning":{"enabled":true,"effort":"low"}`,
			`"provider":{"only":["atlas-cloud/int4"],"allow_fallbacks":false,"quantizations":["int4"],"require_parameters":true,"data_collection":"deny","max_price":{"prompt":0.49,"completion":2.50}}`,
			`"tool_call_id":"functions.get_weather:0"`, `"reasoning":"hm"`, `"arguments":"{\"city\": \"Paris\"}"`, `<rain> & sun`,
			`"metadata":{"run":"r1","generation":"00000000000000000000000000000000","attempt":"1"}`,
		} {
			if !strings.Contains(string(e.Body), want) {
				t.Errorf("%s is not in the request\n%s", want, e.Body)
			}
		}
		for _, never := range []string{`"n":`, `"models":`, `"top_p":`, `"plugins":`, `"stream_options":`, `"stop":`} {
			if strings.Contains(string(e.Body), never) {
				t.Errorf("%s is in the request", never)
			}
		}
		for name, want := range map[string]string{"X-Openrouter-Metadata": "enabled", "X-Openrouter-Cache": "false", "Accept": "text/event-stream", "Content-Type": "application/json", "User-Agent": "eyrie"} {
			if got := http.Header(e.Header).Get(name); got != want {
				t.Errorf("header %s: %q, want %q", name, got, want)
			}
		}
		if e.Dropped != nil {
			t.Errorf("the endpoint dropped %v", e.Dropped)
		}
	})
}
