package emulator

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie/emulator/internal/bpe"
	"github.com/eyrie-ai/eyrie/emulator/internal/kimi"
)

// The vendor remembers three things: beginnings of prompts at an endpoint,
// which makes them cheaper (prompt cache); the endpoint that a conversation
// went to (stickiness); and, for clients that ask for it, whole answers
// (response cache). All are guarded by Server.mu.

// prefixKey names a beginning of a prompt at an endpoint.
type prefixKey struct {
	tag string
	sum [sha256.Size]byte
}

// prefixes names the beginnings of ids that end at block borders, the shortest
// first, without the prompt's last token, which always has to be read.
func prefixes(tag string, ids []bpe.ID, block int) []prefixKey {
	var keys []prefixKey
	h := sha256.New()
	var buf [4]byte
	for i, id := range ids[:max(len(ids)-1, 0)] {
		binary.LittleEndian.PutUint32(buf[:], id)
		h.Write(buf[:])
		if (i+1)%block == 0 {
			keys = append(keys, prefixKey{tag, [sha256.Size]byte(h.Sum(nil))})
		}
	}
	return keys
}

// warm finds how many tokens of the exchange's prompt are cached at its
// endpoint, and caches all of it, at the endpoint's price for that if it has
// one. Server.mu is held.
func (x *exchange) warm(now time.Time) {
	block := x.scenario.Cache.Block
	if block == 0 || !x.price.reads {
		return
	}
	keys := prefixes(x.endpoint.tag, x.prompt.ids, block)
	for i, k := range keys {
		if seen, ok := x.prefixSeen[k]; ok && now.Sub(seen) < x.scenario.Cache.Window {
			x.cached = (i + 1) * block
		}
		x.prefixSeen[k] = now
	}
	if x.price.writes {
		x.written = len(keys)*block - x.cached
	}
}

// stuck is where a conversation went last.
type stuck struct {
	tag  string
	seen time.Time
}

// conversationKey is the name under which the vendor keeps a conversation at one
// endpoint.
func (q *chatRequest) conversationKey() string {
	if key := orElse(q.SessionID, q.PromptCacheKey); key != "" {
		return key
	}
	var first []string
	for _, system := range []bool{true, false} {
		i := slices.IndexFunc(q.messages.Items, func(m kimi.Value) bool { return (m.Str("role") == "system") == system })
		if i >= 0 {
			first = append(first, q.messages.Items[i].Dump(",", ":"))
		}
	}
	return strings.Join(first, "\x00")
}

// stick moves the endpoint that the conversation is kept at to the front.
// Server.mu is held.
func (x *exchange) stick(list []*endpoint, now time.Time) []*endpoint {
	if len(x.q.Provider.Order) > 0 {
		return list
	}
	last, ok := x.kept[x.q.conversationKey()]
	if !ok || now.Sub(last.seen) >= x.scenario.Cache.Window {
		return list
	}
	i := slices.IndexFunc(list, func(e *endpoint) bool { return e.tag == last.tag })
	if i <= 0 {
		return list
	}
	out := slices.Delete(slices.Clone(list), i, i+1)
	return slices.Insert(out, 0, list[i])
}

// keepRoute remembers the endpoint, once the cache has paid off or at once
// when the client named a session. Server.mu is held.
func (x *exchange) keepRoute(now time.Time) {
	if x.cached > 0 || x.q.SessionID != "" {
		x.kept[x.q.conversationKey()] = stuck{x.endpoint.tag, now}
	}
}

// stored is an answer in the response cache.
type stored struct {
	id       string
	endpoint *endpoint
	c        *completion
	at       time.Time
	ttl      time.Duration
}

// defaultTTL is how long answers are kept when the client does not say.
const defaultTTL = 300

// responseKey names the exchange's answer in the response cache; ok is false
// for clients that did not ask for the cache.
func (x *exchange) responseKey() (key string, ttl time.Duration, ok bool) {
	if !strings.EqualFold(x.header("X-Openrouter-Cache"), "true") {
		return "", 0, false
	}
	seconds, err := strconv.Atoi(x.header("X-Openrouter-Cache-Ttl"))
	if err != nil || seconds < 1 || seconds > 86400 {
		seconds = defaultTTL
	}
	return x.key.secret + "\x00" + string(x.q.body), time.Duration(seconds) * time.Second, true
}

// header returns a request header by its canonical name.
func (x *exchange) header(name string) string {
	if v := x.Header[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// recall answers from the response cache. Server.mu is held.
func (x *exchange) recall(now time.Time) bool {
	key, ttl, ok := x.responseKey()
	if !ok {
		return false
	}
	if strings.EqualFold(x.header("X-Openrouter-Cache-Clear"), "true") {
		delete(x.answers, key)
	}
	h := x.w.Header()
	h.Set("X-OpenRouter-Cache-TTL", strconv.Itoa(int(ttl.Seconds())))
	a := x.answers[key]
	if a == nil || now.Sub(a.at) >= a.ttl {
		h.Set("X-OpenRouter-Cache-Status", "MISS")
		return false
	}
	h.Set("X-OpenRouter-Cache-Status", "HIT")
	h.Set("X-OpenRouter-Cache-Age", strconv.Itoa(int(now.Sub(a.at).Seconds())))
	h.Set("X-OpenRouter-Cache-Source-Id", a.id)
	x.free, x.asked, x.endpoint, x.Endpoint, x.c = true, a.endpoint, a.endpoint, a.endpoint.tag, a.c
	x.timing = x.rng(drawTiming, x.prompt.key())
	return true
}

// store puts the exchange's answer in the response cache. Server.mu is held.
func (x *exchange) store(now time.Time) {
	if key, ttl, ok := x.responseKey(); ok && !x.free {
		x.answers[key] = &stored{x.ID, x.endpoint, x.c, now, ttl}
	}
}
