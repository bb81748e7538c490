package emulator

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
	"github.com/eyrie-ai/eyrie/emulator/internal/kimi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// localAsk is a request, whatever address it came to.
type localAsk struct {
	path      string
	id        string
	prompt    []bpe.ID
	tools     []tool
	thinking  bool
	limit     int
	stream    bool
	ids       bool // return_token_ids
	promptIDs bool // return_prompt_token_ids
	meta      bool // return_meta_info and logprobs
	history   int  // tool calls before
	keepStop  bool // no_stop_trim
}

// begin numbers a request.
func (l *Local) begin(prefix string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers++
	return fmt.Sprintf("%s-%08x%04x", prefix, l.config.Seed, l.answers)
}

// chat is POST /v1/chat/completions.
func (l *Local) chat(w http.ResponseWriter, r *http.Request) {
	q, refused := readChat(r)
	if refused != nil {
		l.refuse(w, http.StatusBadRequest, "Input should be a valid request: "+string(refused.body))
		return
	}
	if l.config.Kind == VLLM && q.Model != l.model() {
		l.refuse(w, http.StatusNotFound, fmt.Sprintf("The model `%s` does not exist.", q.Model))
		return
	}
	flag := func(name string) bool { return string(q.given[name]) == "true" }
	a := &localAsk{
		path: r.URL.Path, id: l.begin("chatcmpl"), tools: readTools(q.tools), thinking: localThinking(q), stream: q.Stream,
		ids: flag("return_token_ids") && !l.lacks("return_token_ids") && l.config.Kind != LlamaCPP, history: countCalls(q.messages),
	}
	if l.config.Kind == SGLang {
		a.promptIDs = flag("return_prompt_token_ids") && !l.lacks("meta_info")
		a.meta = flag("return_meta_info") && flag("logprobs") && !l.lacks("meta_info")
		for name, on := range map[string]bool{"return_token_ids": a.ids, "return_prompt_token_ids": a.promptIDs} {
			if on && a.stream {
				l.refuse(w, http.StatusBadRequest, name+" is not supported with streaming on /v1/chat/completions. Please set stream=false when using "+name+"=true.")
				return
			}
		}
	}
	a.prompt = l.render(q, a.thinking)
	a.limit, _ = q.limit()
	l.answer(w, r, a, l.chatReply)
}

// localThinking reads the template's variable.
func localThinking(q *chatRequest) bool {
	var kwargs struct {
		Thinking *bool `json:"thinking"`
	}
	if v := q.given["chat_template_kwargs"]; v != nil && json.Unmarshal(v, &kwargs) == nil && kwargs.Thinking != nil {
		return *kwargs.Thinking
	}
	return true
}

// completions is POST /v1/completions with a prompt of ids.
func (l *Local) completions(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string   `json:"model"`
		Prompt   []bpe.ID `json:"prompt"`
		Limit    int      `json:"max_tokens"`
		Stream   bool     `json:"stream"`
		TokenIDs bool     `json:"return_token_ids"`
	}
	if err := json.UnmarshalRead(r.Body, &q, lenient); err != nil || len(q.Prompt) == 0 {
		l.refuse(w, http.StatusBadRequest, "prompt: a list of token ids is wanted")
		return
	}
	if l.config.Kind == VLLM && q.Model != l.model() {
		l.refuse(w, http.StatusNotFound, fmt.Sprintf("The model `%s` does not exist.", q.Model))
		return
	}
	a := l.ofIDs(r.URL.Path, "cmpl", q.Prompt)
	a.limit, a.stream, a.ids = orElse(q.Limit, 16), q.Stream, q.TokenIDs && !l.lacks("return_token_ids")
	l.answer(w, r, a, l.textReply)
}

// generate is SGLang's POST /generate with a prompt of ids.
func (l *Local) generate(w http.ResponseWriter, r *http.Request) {
	var q struct {
		InputIDs []bpe.ID `json:"input_ids"`
		Sampling struct {
			Limit  int  `json:"max_new_tokens"`
			NoTrim bool `json:"no_stop_trim"`
		} `json:"sampling_params"`
		Stream bool `json:"stream"`
	}
	if err := json.UnmarshalRead(r.Body, &q, lenient); err != nil || len(q.InputIDs) == 0 {
		l.refuse(w, http.StatusBadRequest, "Either text, input_ids or input_embeds should be provided.")
		return
	}
	a := l.ofIDs(r.URL.Path, "gen", q.InputIDs)
	a.limit, a.stream, a.keepStop = orElse(q.Sampling.Limit, 128), q.Stream, q.Sampling.NoTrim && !l.quirk("trim_stop")
	l.answer(w, r, a, l.generateReply)
}

// declared finds the functions in a prompt that declares tools.
var declared = regexp.MustCompile(`(?m)^type (\S+) = \(_: `)

// ofIDs reads off a prompt of ids what a chat request would have said.
func (l *Local) ofIDs(path, prefix string, prompt []bpe.ID) *localAsk {
	a := &localAsk{path: path, id: l.begin(prefix), prompt: prompt}
	text := string(l.vocabulary.Decode(prompt))
	a.thinking = strings.HasSuffix(text, "<think>")
	for _, m := range declared.FindAllStringSubmatch(text, -1) {
		a.tools = append(a.tools, tool{name: m[1], parameters: kimi.Value{Kind: '{'}})
	}
	return a
}

// localReply writes what there is of an answer after so many tokens.
type localReply func(a *localAsk, c *completion) localWriter

// localWriter makes the frames of an answer.
type localWriter struct {
	events func(from, to int) [][]byte // of a stream
	last   func() [][]byte             // of a stream: its end
	whole  func() []byte
}

// answer waits for a slot and sends the answer at the server's pace.
func (l *Local) answer(w http.ResponseWriter, r *http.Request, a *localAsk, reply localReply) {
	if n := len(a.prompt) + a.limit; n > l.config.Context {
		l.refuse(w, http.StatusBadRequest, fmt.Sprintf(
			"This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion).",
			l.config.Context, n, len(a.prompt), a.limit))
		return
	}
	limit := a.limit
	if limit == 0 {
		limit = l.config.Context - len(a.prompt)
	}
	c := l.compose(a.prompt, a.tools, a.thinking, limit)
	job, err := l.place(r.Context(), len(a.prompt)+len(c.ids))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer l.leave(job)
	out := reply(a, c)
	sent := 0
	write := func(int) error { return nil }
	if a.stream {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.WriteHeader(http.StatusOK)
		write = func(tokens int) error {
			var b bytes.Buffer
			for _, frame := range out.events(sent, tokens) {
				fmt.Fprintf(&b, "data: %s\n\n", frame)
			}
			sent = tokens
			w.Write(b.Bytes())
			return http.NewResponseController(w).Flush()
		}
	}
	if err := l.pace(r.Context(), job, len(c.ids), write); err != nil {
		panic(http.ErrAbortHandler)
	}
	l.keep(a, c)
	if !a.stream {
		w.Header().Set("Content-Type", "application/json")
		w.Write(out.whole())
		return
	}
	for _, frame := range out.last() {
		fmt.Fprintf(w, "data: %s\n\n", frame)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// keep notes the truth.
func (l *Local) keep(a *localAsk, c *completion) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.truths = append(l.truths, LocalAnswer{a.id, a.path, ids32(a.prompt), ids32(c.ids), c.canonical})
}

func ids32(ids []bpe.ID) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}

// returned are the ids from one place to another as this version returns them.
func (l *Local) returned(a *localAsk, c *completion, from, to int) []int32 {
	ids := ids32(c.ids[from:to])
	trims := l.config.Kind == SGLang && !a.keepStop && (l.quirk("trim_stop") || a.path == "/generate")
	if trims && to == len(c.ids) && c.ended && len(ids) > 0 {
		ids = ids[:len(ids)-1]
	}
	return ids
}

func (l *Local) usage(a *localAsk, c *completion) fields {
	u := fields{"prompt_tokens": len(a.prompt), "completion_tokens": len(c.ids), "total_tokens": len(a.prompt) + len(c.ids)}
	if l.config.Kind == SGLang {
		u["reasoning_tokens"], u["prompt_tokens_details"] = 0, nil
	}
	return u
}

// endedBy is the id that ended the answer, nil where a limit did.
func endedBy(c *completion) any {
	if !c.ended {
		return nil
	}
	return c.ids[len(c.ids)-1]
}

// span is a piece of text between control tokens.
type span struct {
	part part
	call int
	text []byte
}

// spans reads the text of a stretch of the completion off its ids. Characters
// that the stretch cuts are left to the next one.
func (l *Local) spans(c *completion, to int) []span {
	var out []span
	call := -1
	for i, id := range c.ids[:to] {
		p := c.parts[i]
		if p == control {
			continue
		}
		if i == 0 || c.parts[i-1] != p {
			if p == callID {
				call++
			}
			out = append(out, span{part: p, call: max(call, 0)})
		}
		s := &out[len(out)-1]
		s.text = append(s.text, l.vocabulary.Token(id)...)
	}
	if n := len(out); n > 0 && to < len(c.ids) && c.parts[to] == c.parts[max(to-1, 0)] {
		s := &out[n-1]
		s.text = s.text[:len(s.text)-incomplete(s.text)]
	}
	return out
}

// said is what the server's parsers make of the answer after so many tokens.
type said struct {
	reasoning, content string
	calls              []fields
}

func (l *Local) parse(a *localAsk, c *completion, to int) said {
	var s said
	if l.lacks("reasoning_parser") || l.lacks("tool_parser") && len(c.calls) > 0 {
		s.content = l.unparsed(c, to)
		return s
	}
	for _, p := range l.spans(c, to) {
		text := strings.ToValidUTF8(string(p.text), "\uFFFD")
		switch p.part {
		case reasoning:
			s.reasoning += text
		case content:
			s.content += text
		case callID:
			id := text
			if l.config.Kind == SGLang {
				id = fmt.Sprintf("functions.%s:%d", c.calls[p.call].function, a.history+p.call)
			}
			s.calls = append(s.calls, fields{"id": id, "index": p.call, "type": "function",
				"function": fields{"name": c.calls[p.call].function, "arguments": ""}})
		case arguments:
			s.calls[p.call]["function"].(fields)["arguments"] = strings.TrimSpace(text)
		}
	}
	if l.quirk("strip_reasoning") {
		s.reasoning = strings.TrimRight(s.reasoning, " \t\r\n")
	}
	return s
}

// unparsed is the answer as text, the tokens that are no special ones among it.
func (l *Local) unparsed(c *completion, to int) string {
	ids := c.ids[:to]
	if c.ended && to == len(c.ids) {
		ids = ids[:to-1]
	}
	b := l.vocabulary.Decode(ids)
	return strings.ToValidUTF8(string(b[:len(b)-incomplete(b)]), "\uFFFD")
}

// chatReply writes the chat API's frames.
func (l *Local) chatReply(a *localAsk, c *completion) localWriter {
	head := func(object string) fields {
		return fields{"id": a.id, "object": object, "created": 1767225600, "model": l.model()}
	}
	finish := c.finish()
	stop := func(choice fields) {
		choice["finish_reason"] = finish
		if l.config.Kind == SGLang {
			choice["matched_stop"] = endedBy(c)
		} else if l.config.Kind == VLLM {
			choice["stop_reason"] = nil
		}
	}
	var before said
	first := true
	return localWriter{
		events: func(from, to int) [][]byte {
			var frames [][]byte
			for at := from; at < to; {
				next := min(at+l.config.ChunkTokens, to)
				now := l.parse(a, c, next)
				choice := fields{"index": 0, "delta": now.since(before, next == len(c.ids)), "finish_reason": nil, "logprobs": nil}
				if a.ids {
					choice["token_ids"] = l.returned(a, c, at, next)
					if l.quirk("lose_ids") && at%(3*l.config.ChunkTokens) == 0 && at > 0 {
						choice["token_ids"] = []int32{}
					}
				}
				f := head("chat.completion.chunk")
				f["choices"] = []any{choice}
				if first && a.ids {
					f["prompt_token_ids"] = ids32(a.prompt)
				}
				first, before, at = false, now.sent(before, next == len(c.ids)), next
				frames = append(frames, mustJSON(f))
			}
			return frames
		},
		last: func() [][]byte {
			choice := fields{"index": 0, "delta": fields{"content": ""}}
			stop(choice)
			f, u := head("chat.completion.chunk"), head("chat.completion.chunk")
			f["choices"] = []any{choice}
			u["choices"], u["usage"] = []any{}, l.usage(a, c)
			return [][]byte{mustJSON(f), mustJSON(u)}
		},
		whole: func() []byte {
			s := l.parse(a, c, len(c.ids))
			message := fields{"role": "assistant", "content": s.content, "reasoning_content": nil, "tool_calls": nil}
			if s.reasoning != "" {
				message["reasoning_content"] = s.reasoning
			}
			if len(s.calls) > 0 {
				message["tool_calls"] = s.calls
			}
			choice := fields{"index": 0, "message": message, "logprobs": nil}
			stop(choice)
			f := head("chat.completion")
			if a.ids {
				choice["token_ids"] = l.returned(a, c, 0, len(c.ids))
			}
			switch {
			case l.config.Kind == SGLang && (a.promptIDs || a.ids):
				choice["prompt_token_ids"] = ids32(a.prompt)
			case a.ids:
				f["prompt_token_ids"] = ids32(a.prompt)
			}
			if a.meta {
				choice["meta_info"] = fields{"output_token_logprobs": logprobTriples(l.returned(a, c, 0, len(c.ids)))}
			}
			f["choices"], f["usage"] = []any{choice}, l.usage(a, c)
			return mustJSON(f)
		},
	}
}

func logprobTriples(ids []int32) [][]any {
	out := make([][]any, len(ids))
	for i, id := range ids {
		out[i] = []any{-0.25, id, nil}
	}
	return out
}

// since is the delta between two states of the answer. Calls are sent once they
// are whole.
func (s said) since(before said, over bool) fields {
	d := fields{}
	if r := s.reasoning[min(len(before.reasoning), len(s.reasoning)):]; r != "" {
		d["reasoning_content"] = r
	}
	if c := s.content[min(len(before.content), len(s.content)):]; c != "" {
		d["content"] = c
	}
	if n := s.whole(over); n > len(before.calls) {
		d["tool_calls"] = s.calls[len(before.calls):n]
	}
	return d
}

// whole is how many calls are complete.
func (s said) whole(over bool) int {
	if over || len(s.calls) == 0 {
		return len(s.calls)
	}
	return len(s.calls) - 1
}

// sent is the state that a client has after the delta.
func (s said) sent(before said, over bool) said {
	s.calls = slices.Clone(s.calls[:max(len(before.calls), s.whole(over))])
	if len(before.reasoning) > len(s.reasoning) {
		s.reasoning = before.reasoning
	}
	return s
}

// textReply writes the completions API's frames.
func (l *Local) textReply(a *localAsk, c *completion) localWriter {
	head := func() fields {
		return fields{"id": a.id, "object": "text_completion", "created": 1767225600, "model": l.model()}
	}
	finish := "stop"
	if !c.ended {
		finish = "length"
	}
	said := 0
	first := true
	return localWriter{
		events: func(from, to int) [][]byte {
			var frames [][]byte
			for at := from; at < to; {
				next := min(at+l.config.ChunkTokens, to)
				text := l.unparsed(c, next)
				choice := fields{"index": 0, "text": text[min(said, len(text)):], "finish_reason": nil}
				said = max(said, len(text))
				if a.ids {
					choice["token_ids"] = l.returned(a, c, at, next)
					if first {
						choice["prompt_token_ids"] = ids32(a.prompt)
					}
				}
				f := head()
				f["choices"] = []any{choice}
				first, at = false, next
				frames = append(frames, mustJSON(f))
			}
			return frames
		},
		last: func() [][]byte {
			f, u := head(), head()
			f["choices"] = []any{fields{"index": 0, "text": "", "finish_reason": finish, "stop_reason": nil}}
			u["choices"], u["usage"] = []any{}, l.usage(a, c)
			return [][]byte{mustJSON(f), mustJSON(u)}
		},
		whole: func() []byte {
			choice := fields{"index": 0, "text": l.unparsed(c, len(c.ids)), "finish_reason": finish, "stop_reason": nil}
			if a.ids {
				choice["token_ids"], choice["prompt_token_ids"] = l.returned(a, c, 0, len(c.ids)), ids32(a.prompt)
			}
			f := head()
			f["choices"], f["usage"] = []any{choice}, l.usage(a, c)
			return mustJSON(f)
		},
	}
}

// generateReply writes SGLang's own form. Its streams repeat all there is so
// far in every event.
func (l *Local) generateReply(a *localAsk, c *completion) localWriter {
	state := func(to int) []byte {
		meta := fields{"id": a.id, "finish_reason": nil, "prompt_tokens": len(a.prompt), "completion_tokens": to, "cached_tokens": 0, "weight_version": "default"}
		if to == len(c.ids) {
			meta["finish_reason"] = fields{"type": "length", "length": to}
			if c.ended {
				meta["finish_reason"] = fields{"type": "stop", "matched": endedBy(c)}
			}
		}
		f := fields{"text": l.unparsed(c, to), "meta_info": meta}
		if !l.lacks("output_ids") {
			f["output_ids"] = l.returned(a, c, 0, to)
		}
		return mustJSON(f)
	}
	return localWriter{
		events: func(_, to int) [][]byte {
			if to == 0 {
				return nil
			}
			return [][]byte{state(to)}
		},
		last:  func() [][]byte { return nil },
		whole: func() []byte { return state(len(c.ids)) },
	}
}

// models is GET /v1/models.
func (l *Local) models(w http.ResponseWriter, _ *http.Request) {
	m := fields{"id": l.model(), "object": "model", "created": 1767225600, "owned_by": l.config.Kind}
	if l.config.Kind == LlamaCPP {
		m["meta"] = fields{"n_ctx_train": 262_144}
	} else {
		m["root"], m["max_model_len"] = "/models/"+l.model(), l.config.Context
	}
	sendJSON(w, http.StatusOK, fields{"object": "list", "data": []any{m}})
}

func (l *Local) modelInfo(w http.ResponseWriter, _ *http.Request) {
	path := "/models/" + l.model()
	sendJSON(w, http.StatusOK, fields{"model_path": path, "tokenizer_path": path, "is_generation": true})
}

func (l *Local) serverInfo(w http.ResponseWriter, _ *http.Request) {
	sendJSON(w, http.StatusOK, fields{
		"model_path": "/models/" + l.model(), "served_model_name": l.model(), "context_length": nil, "version": "0.5.13",
		"max_running_requests": l.config.Slots, "max_total_num_tokens": l.config.Cache, "internal_states": []any{fields{}},
	})
}

func (l *Local) props(w http.ResponseWriter, _ *http.Request) {
	sendJSON(w, http.StatusOK, fields{
		"default_generation_settings": fields{"n_ctx": l.config.Context}, "total_slots": l.config.Slots,
		"model_path": "/models/" + l.model() + ".gguf", "build_info": "b7000-00dc805",
	})
}

// tokenize is POST /tokenize.
func (l *Local) tokenize(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Prompt  jsontext.Value `json:"prompt"`
		Content jsontext.Value `json:"content"`
	}
	if err := json.UnmarshalRead(r.Body, &q, lenient); err != nil {
		l.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	what := text(q.Prompt)
	if l.config.Kind == LlamaCPP {
		what = text(q.Content)
	}
	ids := ids32(l.vocabulary.EncodePrompt(nil, what))
	if l.quirk("other_tokenizer") && len(ids) > 2 {
		ids[2]++
	}
	sendJSON(w, http.StatusOK, fields{"tokens": ids, "count": len(ids), "max_model_len": l.config.Context})
}

// metrics is GET /metrics.
func (l *Local) metrics(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	running, waiting, written := len(l.running), len(l.queue), l.written
	used := 0.0
	if l.config.Cache > 0 {
		used = float64(l.cached) / float64(l.config.Cache)
	}
	model := l.config.Model
	l.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	say := func(name, labels string, value any) {
		fmt.Fprintf(w, "# HELP %s A figure.\n# TYPE %s gauge\n%s%s %v\n", name, name, name, labels, value)
	}
	switch l.config.Kind {
	case SGLang:
		labels := fmt.Sprintf(`{engine_type="unified",model_name=%q,pp_rank="0",tp_rank="0"}`, model)
		say("sglang:num_running_reqs", labels, float64(running))
		say("sglang:num_queue_reqs", labels, float64(waiting))
		say("sglang:token_usage", labels, used)
		say("sglang:generation_tokens_total", fmt.Sprintf(`{model_name=%q}`, model), float64(written))
	case VLLM:
		labels := fmt.Sprintf(`{engine="0",model_name=%q}`, model)
		say("vllm:num_requests_running", labels, float64(running))
		say("vllm:num_requests_waiting", labels, float64(waiting))
		say("vllm:kv_cache_usage_perc", labels, used)
		say("vllm:generation_tokens_total", labels, float64(written))
	case LlamaCPP:
		say("llamacpp:requests_processing", "", running)
		say("llamacpp:requests_deferred", "", waiting)
		say("llamacpp:tokens_predicted_total", "", written)
	}
}
