package main

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// load is what the server sends and a client has to have got.
type load struct {
	Streams  int           // at once
	Requests int           // in all
	Tokens   int           // of each, an event a token
	Rate     float64       // tokens a second of each stream
	Wait     time.Duration // for the first token of each, and up to 200 ms more
	Soak     bool          // say how memory grows
	Profile  string        // where the heap's goes
	words    []string
}

func newLoad() *load {
	l := new(load)
	flag.IntVar(&l.Streams, "streams", 2000, "streams at once")
	flag.IntVar(&l.Requests, "requests", 4000, "requests in all")
	flag.IntVar(&l.Tokens, "tokens", 200, "tokens a request")
	flag.Float64Var(&l.Rate, "rate", 25, "tokens a second of each stream")
	flag.DurationVar(&l.Wait, "wait", 100*time.Millisecond, "wait for the first token of each stream, and up to 200ms more; none at 0")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 512 {
		var b strings.Builder
		b.WriteByte(' ')
		for range 2 + rng.IntN(7) {
			b.WriteByte(byte('a' + rng.IntN(26)))
		}
		l.words = append(l.words, b.String())
	}
	return l
}

// args are the flags that make another process of the program have this load.
func (l *load) args() []string {
	return []string{
		fmt.Sprintf("-soaking=%v", l.Soak),
		fmt.Sprintf("-streams=%d", l.Streams), fmt.Sprintf("-requests=%d", l.Requests),
		fmt.Sprintf("-tokens=%d", l.Tokens), fmt.Sprintf("-rate=%g", l.Rate), fmt.Sprintf("-wait=%s", l.Wait),
	}
}

// events is how many events with text there are in all.
func (l *load) events() int { return l.Requests * l.Tokens }

// text is how long a text is on average, in bytes.
func (l *load) text() float64 {
	n := 0
	for _, w := range l.words {
		n += len(w)
	}
	return float64(n*l.Tokens) / float64(len(l.words))
}

// time is about how long it all takes, with every stream busy.
func (l *load) time() time.Duration {
	rounds := float64(l.Requests) / float64(l.Streams)
	return time.Duration(rounds * float64(l.Tokens) / l.Rate * float64(time.Second))
}

// word is a piece of a request's text.
func (l *load) word(request, i int) string { return l.words[(request*31+i*7)%len(l.words)] }

// hash is the sum over all texts of their hashes, whatever order they come in.
func (l *load) hash() (sum uint64) {
	for r := range l.Requests {
		var b strings.Builder
		for i := range l.Tokens {
			b.WriteString(l.word(r, i))
		}
		sum += hash(b.String())
	}
	return sum
}

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// What the server says of itself, and the prices that its bills are made of.
const (
	model        = "moonshotai/kimi-k2.5"
	provider     = "AtlasCloud"
	tag          = "atlas-cloud/int4"
	promptPrice  = "0.0000005"
	outputPrice  = "0.0000025"
	promptTokens = 40
)

// cost is what an answer costs, in dollars, as the vendor writes it.
func (l *load) cost() string {
	return fmt.Sprintf("%.7f", float64(promptTokens)*0.0000005+float64(l.Tokens)*0.0000025)
}

// prompt names a request to the server.
func prompt(request int) string { return fmt.Sprintf("Write about item %d.", request) }
