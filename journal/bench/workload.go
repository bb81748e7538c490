package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
)

// workload makes records whose text packs about as well as answers do: words
// by Zipf's law out of a made vocabulary.
type workload struct {
	pool string
	rng  *rand.Rand
}

const (
	poolSize   = 64 << 20
	meanText   = 7000
	spreadText = 6000
)

func newWorkload() *workload {
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 30_000)
	for i := range words {
		b := make([]byte, 2+rng.IntN(9))
		for k := range b {
			b[k] = "etaoinshrdlucmfwypvbgkqjxz"[min(25, int(rng.ExpFloat64()*6))]
		}
		words[i] = string(b)
	}
	zipf := rand.NewZipf(rng, 1.15, 8, uint64(len(words)-1))
	var pool strings.Builder
	for pool.Len() < poolSize {
		pool.WriteString(words[zipf.Uint64()])
		switch rng.IntN(14) {
		case 0:
			pool.WriteString(". ")
		case 1:
			pool.WriteString(",\n")
		default:
			pool.WriteByte(' ')
		}
	}
	return &workload{pool.String(), rng}
}

// text is a random piece of the pool.
func (w *workload) text(n int) string {
	from := w.rng.IntN(len(w.pool) - n)
	return w.pool[from : from+n]
}

// answer is the n-th answer.
func (w *workload) answer(n int) *eyrie.EndedRecord {
	r := &eyrie.EndedRecord{
		Attempt: int64(n + 1), Set: fmt.Sprintf("B%d", 3+n%6), Lane: "atlas-cloud/int4", OK: true,
		Charged: eyrie.ChargedYes, Cost: eyrie.Money(3_000_000_000 + w.rng.Int64N(1e9)),
		ID:       fmt.Sprintf("gen-17%08d-%016x", n, w.rng.Uint64()),
		Provider: "AtlasCloud", Model: "moonshotai/kimi-k2.5", FinishReason: eyrie.FinishStop, NativeFinish: "stop",
		Content: w.text(meanText - spreadText + w.rng.IntN(2*spreadText)),
		Usage:   eyrie.Usage{Given: true, PromptTokens: 200 + n%300, CompletionTokens: 1000 + n%900, ReasoningTokens: 0},
		FinalFrame: fmt.Sprintf(`data: {"id":"gen-17%08d","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`,
			n, 200+n%300, 1000+n%900),
		FirstContentMS: 400 + int64(n%700), ElapsedMS: 20_000 + int64(n%9000),
	}
	w.digest(&r.Key)
	w.digest(&r.Prompt)
	return r
}

func (w *workload) digest(d *eyrie.Digest) {
	for i := range d {
		d[i] = byte(w.rng.Uint32())
	}
}

// generation is everything that is written for one answer.
func (w *workload) generation(n int) (*eyrie.PromptRecord, *eyrie.StartedRecord, *eyrie.SeenRecord, *eyrie.EndedRecord) {
	e := w.answer(n)
	p := &eyrie.PromptRecord{
		Prompt: e.Prompt, Set: e.Set, ID: fmt.Sprintf("row-%07d", n), Ordinal: n,
		Messages: []eyrie.Message{{Role: eyrie.User, Content: w.text(400 + w.rng.IntN(800))}},
	}
	s := &eyrie.StartedRecord{
		Attempt: e.Attempt, Key: e.Key, Prompt: e.Prompt, Set: e.Set, Try: 1, Lane: e.Lane, Hold: e.Cost * 4,
		PromptTokens: e.Usage.PromptTokens, Sampling: eyrie.Sampling{Temperature: new(1.0), TopP: new(0.95), MaxTokens: 8192},
	}
	return p, s, &eyrie.SeenRecord{Attempt: e.Attempt, ID: e.ID}, e
}

// meanSize is the mean length of an answer as JSON.
func (w *workload) meanSize() int {
	const n = 500
	total := 0
	for i := range n {
		total += size(w.answer(i))
	}
	return total / n
}

func size(r eyrie.Record) int {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return len(b)
}
