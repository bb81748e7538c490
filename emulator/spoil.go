package emulator

import (
	"strings"

	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
)

// elsewhere finds an endpoint of another provider at another price; nil when
// there is none.
func (x *exchange) elsewhere() *endpoint {
	for _, e := range x.offer.endpoints {
		if e.provider != x.asked.provider && e.price.completion.cmp(x.asked.price.completion) != 0 {
			return e
		}
	}
	return nil
}

// swap has another endpoint serve what was asked of one.
func (x *exchange) swap() {
	if v := x.variant("provider"); v != "swapped" && v != "hidden" {
		return
	}
	if e := x.elsewhere(); e != nil {
		x.endpoint, x.Endpoint = e, e.tag
	}
}

// spoilOrder changes what the model is asked for.
func (x *exchange) spoilOrder(o *order, sample *uint64) {
	switch x.variant("content") {
	case "duplicate": // every sample of a prompt is the first one
		*sample = 0
	case "ignore_disabled":
		o.thinking, x.Thinking = true, true
	}
	switch x.variant("tool") {
	case "":
	case "ignore_choice":
		o.forceTool = "-"
	default:
		if len(o.tools) > 0 && o.forceTool == "" {
			o.forceTool = "*"
		}
	}
}

// spoilCompletion changes what the model wrote.
func (x *exchange) spoilCompletion() {
	w := &writer{order: order{vocabulary: x.vocabulary}, composer: composer{x.timing}, c: &completion{canonical: true, ended: true}}
	switch x.variant("content") {
	case "reasoning_only": // the answer stays in the think block
		for _, p := range x.c.texts(x.vocabulary) {
			w.put(reasoning, p)
		}
	case "empty":
	case "no_reasoning":
		w.mark(x.vocabulary.EndThink())
		w.put(content, w.paragraph())
	case "leak":
		w.put(reasoning, w.prose())
		w.mark(x.vocabulary.EndThink())
		w.put(content, w.prose()+"<|tool_calls_section_begin|><|tool_call_begin|>functions.x:0")
	case "refusal":
		w.mark(x.vocabulary.EndThink())
		w.put(content, "I'm sorry, but I can't help with that.")
	case "drift":
		w.put(reasoning, w.chinese())
		w.mark(x.vocabulary.EndThink())
		w.put(content, w.chinese()+w.foreign())
	case "loop":
		limit, _ := x.q.limit()
		line := w.sentence() + "\n"
		w.put(content, strings.Repeat(line, 1+min(orElse(limit, 2000), 20_000)/4))
		w.c.truncate(limit, x.vocabulary)
		w.c.ended = false
	default:
		return
	}
	if w.c.ended {
		w.mark(x.vocabulary.EndTurn())
	}
	x.c = w.c
	x.c.canonical = x.c.isCanonical(x.vocabulary)
}

// texts lists the texts between the control tokens.
func (c *completion) texts(v *bpe.Vocabulary) []string {
	var list []string
	for i, id := range c.ids {
		if c.parts[i] == control {
			continue
		}
		if i == 0 || c.parts[i-1] != c.parts[i] {
			list = append(list, "")
		}
		list[len(list)-1] += string(v.Token(id))
	}
	return list
}

// charged is what the account pays, which is usually what the bill says.
func (x *exchange) charged() decimal {
	switch x.variant("charge") {
	case "double":
		return x.bill.cost.times(2)
	case "discount": // one per cent off
		cost := x.bill.cost.times(99)
		cost.scale += 2
		return cost
	}
	return x.bill.cost
}

// spoilBody sends a useless body where one is due. It reports whether it did.
func (x *exchange) spoilBody() bool {
	switch {
	case x.fault("blank") != nil:
		x.blank(x.variant("blank"))
	case x.fault("error_body") != nil:
		x.errorBody(x.fault("error_body"))
	case x.fault("choices") != nil:
		x.noChoices(x.variant("choices"))
	default:
		return false
	}
	return true
}

func (x *exchange) blank(variant string) {
	body, contentType := "", "application/json"
	switch variant {
	case "whitespace":
		body = strings.Repeat("\n         \n", 40)
	case "dot":
		body = strings.Repeat("\n", 120) + "."
	case "html":
		body, contentType = string(page(502).body), "text/html; charset=UTF-8"
	case "cut_json":
		whole := x.completionJSON()
		body = string(whole[:len(whole)*2/3])
	case "sse":
		x.q.Stream = true
		x.stream()
		return
	}
	x.send(contentType, []byte(body))
	x.settle(Broken, len(x.c.ids))
}

func (x *exchange) errorBody(f *Fault) {
	status := orElse(f.Status, 429)
	if f.variant() == "in_choice" {
		x.c.ended = false
		x.free = f.Charge != "yes" // and the usage says so
		x.send("application/json", x.choiceErrorJSON(status, orElse(f.Message, "Provider returned error")))
		x.settle(Broken, 0)
		return
	}
	body := fields{
		"error":   fields{"code": status, "message": orElse(f.Message, "Provider returned error"), "metadata": fields{"error_type": errorType(status), "provider_name": x.endpoint.provider}},
		"user_id": userID,
	}
	if f.variant() == "null_choices" {
		body["choices"] = nil
	}
	x.send("application/json", mustJSON(body))
	x.settle(Broken, 0)
}

func (x *exchange) noChoices(variant string) {
	body := x.replyFields()
	switch variant {
	case "null":
		body["choices"] = nil
	case "empty":
		body["choices"] = []any{}
	case "missing":
		delete(body, "choices")
	}
	x.send("application/json", mustJSON(body))
	x.settle(Broken, len(x.c.ids))
}
