package emulator

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/eyrie-ai/eyrie/emulator/internal/kimi"
	"github.com/go-json-experiment/json/jsontext"
)

// begin notes what is known before anything is looked at.
func (x *exchange) begin(r *http.Request) {
	x.Began = time.Now()
	x.Header = maps.Clone(map[string][]string(r.Header))
	delete(x.Header, "Authorization")
	x.mu.Lock()
	defer x.mu.Unlock()
	x.number++
	x.Number = x.number
	x.scenario = x.Server.scenario
	x.ID = generationID(x.Began, x.rng(drawID, uint64(x.Number)))
}

// generationID looks like the vendor's: the time and twenty letters and digits.
func generationID(now time.Time, rng *rand.Rand) string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	tail := make([]byte, 20)
	for i := range tail {
		tail[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return fmt.Sprintf("gen-%d-%s", now.Unix(), tail)
}

// admit takes the request through the vendor's checks in their order. It
// returns nil when the request has got a place at an endpoint.
func (x *exchange) admit(r *http.Request) *refusal {
	if refused := x.atEdge(r); refused != nil {
		return refused
	}
	if refused := x.authorize(r, false); refused != nil {
		return refused
	}
	var refused *refusal
	if x.q, refused = readChat(r); jsontext.Value(x.q.body).IsValid(lenient) {
		x.Body = x.q.body
	}
	if refused != nil {
		return refused
	}
	x.Model, x.Stream, x.Thinking = x.q.Model, x.q.Stream, x.q.thinking()
	x.mu.Lock()
	x.offer = x.q.find(x.current(time.Now()))
	x.mu.Unlock()
	if x.offer == nil {
		return unavailable(400, "model_not_found", x.q.Model+" is not a valid model ID", x.q.Model, nil)
	}
	x.render()

	x.mu.Lock()
	defer x.mu.Unlock()
	x.attempt = x.prompt.asked
	x.prompt.asked++
	if x.key = x.Server.key(bearer(r)); x.key == nil { // deleted since it was checked
		return unauthorized("User not found.")
	}
	x.funds = x.Server.funds(x.key, time.Now(), x.scenario.Account.BalanceLag)
	if refused := x.funds.blocked(); refused != nil && !x.scenario.Account.CheckLate {
		return refused
	}
	if refused := x.gateFault(); refused != nil {
		return refused
	}
	if x.recall(time.Now()) {
		return nil
	}
	return x.route()
}

// render makes the prompt that the model sees. Prompts are kept by digest,
// since the same one is usually asked several times.
func (x *exchange) render() {
	text := kimi.Render(x.q.conversation(x.scenario.Text.KeepArguments), x.q.tools, kimi.Options{NoThinking: !x.Thinking})
	digest := sha256.Sum256([]byte(text))
	x.mu.Lock()
	p := x.prompts[digest]
	x.mu.Unlock()
	if p == nil {
		p = &prompt{digest: digest, ids: x.vocabulary.EncodePrompt(nil, text)}
		x.mu.Lock()
		if other := x.prompts[digest]; other != nil {
			p = other
		} else {
			x.prompts[digest] = p
		}
		x.mu.Unlock()
	}
	x.prompt = p
	x.PromptDigest = hex.EncodeToString(digest[:])
	x.PromptIDs = p.ids
}

// key is a number for the prompt, to draw by.
func (p *prompt) key() uint64 { return binary.LittleEndian.Uint64(p.digest[:]) }

// route finds an endpoint and takes a place there. Server.mu is held.
func (x *exchange) route() *refusal {
	list, refused := x.catalogueEndpoints()
	if refused != nil {
		return refused
	}
	if refused := x.funds.blocked(); refused != nil {
		return refused
	}
	var before []fields // what other endpoints said
	for i, e := range list {
		if i > 0 && !x.q.Provider.fallbacks() && len(x.q.Provider.Order) == 0 {
			break
		}
		if refused != nil {
			before = append(before, refused.short(list[i-1]))
		}
		if refused = x.try(e); refused == nil {
			return nil
		}
	}
	return refused.after(before)
}

// catalogueEndpoints lists the endpoints that may serve, best first.
func (x *exchange) catalogueEndpoints() ([]*endpoint, *refusal) {
	rng := x.rng(drawRoute, x.prompt.key(), uint64(x.attempt))
	list, refused := x.candidates(x.offer, x.q, len(x.prompt.ids), rng)
	if refused != nil {
		return nil, refused
	}
	return x.stick(list, time.Now()), nil
}

// try asks one endpoint.
func (x *exchange) try(e *endpoint) *refusal {
	limit, ok := x.q.limit()
	if !ok {
		limit = e.largest()
	}
	if refused := x.funds.tooDear(e.priceFor(len(x.prompt.ids), time.Now()), len(x.prompt.ids), limit); refused != nil {
		return refused
	}
	if refused := x.upstreamFault(e); refused != nil {
		x.Endpoint = e.tag
		return refused
	}
	if at := x.q.unreasoned(); at >= 0 && x.Thinking && x.scenario.limits(e.tag).Reasoned {
		x.Endpoint = e.tag
		return relayed(400, e.provider, fmt.Sprintf("thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", at), nil)
	}
	wait, refused := x.enter(e, time.Now())
	x.Endpoint = e.tag
	if refused != nil {
		return refused
	}
	x.asked, x.endpoint, x.wait, x.placed = e, e, wait, wait == nil
	x.keepRoute(time.Now())
	for _, name := range x.q.parameters() {
		if !e.supports(name) {
			x.Dropped = append(x.Dropped, name)
		}
	}
	k := sampleKey{x.prompt.digest, e.tag}
	x.Sample = x.samples[k]
	x.samples[k]++
	x.faults = x.draw(reply, e.tag)
	x.swap()
	x.price = x.endpoint.priceFor(len(x.prompt.ids), time.Now())
	x.warm(time.Now())
	x.timing = x.rng(drawTiming, x.prompt.key(), hashOf(e.tag), uint64(x.Sample))
	return nil
}

// queue waits for a place at the endpoint, if the exchange has none yet.
func (x *exchange) queue() *refusal {
	if x.wait == nil {
		return nil
	}
	limits := x.scenario.limits(x.asked.tag)
	timer := time.NewTimer(limits.Queue)
	defer timer.Stop()
	select {
	case <-x.wait:
		x.placed = true
		return nil
	case <-timer.C:
	case <-x.ctx.Done():
	}
	x.mu.Lock()
	x.placed = !x.lane(x.asked.tag).giveUp(x.wait)
	x.mu.Unlock()
	if x.placed {
		return nil
	}
	return upstreamBusy(x.asked).retryAfter(limits.RetryAfter)
}
