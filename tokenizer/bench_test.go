package tokenizer_test

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/tokenizer"
)

// benchTexts returns texts to measure with, by name. EYRIE_BENCH_TEXT may name
// a folder of text files of your own; otherwise it is the strings of the
// reference data that read like what people write.
func benchTexts(b *testing.B) map[string]string {
	texts := make(map[string]string)
	if dir := os.Getenv("EYRIE_BENCH_TEXT"); dir != "" {
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			base := filepath.Base(name)
			texts[strings.TrimSuffix(base, filepath.Ext(base))] = string(data)
		}
		return texts
	}
	for _, text := range golden[goldenText](b, "corpus.jsonl.gz") {
		switch text.Cat {
		case "natural", "zh-natural", "ja-ko-natural", "code":
			texts[text.Cat] += text.Text + "\n"
		}
	}
	return texts
}

// documents cuts text into what a request might hold.
func documents(text string) []string {
	const size = 20_000
	var docs []string
	for len(text) > size {
		end := strings.LastIndexByte(text[:size], '\n') + 1
		if end == 0 {
			end = size
		}
		docs = append(docs, text[:end])
		text = text[end:]
	}
	return append(docs, text)
}

func BenchmarkEncode(b *testing.B) {
	tok := loadShared(b, "kimi-k2.5")
	for name, text := range benchTexts(b) {
		docs := documents(text)
		b.Run(name, func(b *testing.B) {
			var ids []int32
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				for _, doc := range docs {
					ids = tok.Encode(ids[:0], doc)
				}
			}
			b.ReportMetric(float64(len(text)*b.N)/1e6/(cpuTime()-start).Seconds(), "cpu-MB/s")
		})
	}
}

// BenchmarkScale encodes on one goroutine and on one for each processor, by turns.
// speedup is how many times faster the latter are together, and cpu-ratio what
// share of the text they encode for a second of processor time. The second is near
// 1 where nothing is waited for or shared; other work on the machine lowers the
// first. Both are of each side's best round.
func BenchmarkScale(b *testing.B) {
	tok := loadShared(b, "kimi-k2.5")
	var docs []string // few, as short rounds are disturbed less
	for _, text := range benchTexts(b) {
		all := documents(text)
		docs = append(docs, all[:min(2, len(all))]...)
	}
	alone, together := newPace(), newPace()
	n := runtime.GOMAXPROCS(0)
	for b.Loop() {
		for range 50 {
			alone.best(tok, docs, 1)
			together.best(tok, docs, n)
		}
	}
	b.ReportMetric(float64(n)*alone.wall.Seconds()/together.wall.Seconds(), "speedup")
	b.ReportMetric(float64(n)*alone.cpu.Seconds()/together.cpu.Seconds(), "cpu-ratio")
}

// pace is the least time that rounds of encoding took.
type pace struct{ wall, cpu time.Duration }

func newPace() *pace { return &pace{math.MaxInt64, math.MaxInt64} }

// best times one round, in which each of n goroutines encodes all documents.
func (p *pace) best(tok *tokenizer.Tokenizer, docs []string, n int) {
	var wg sync.WaitGroup
	start, cpu := time.Now(), cpuTime()
	for g := range n {
		wg.Go(func() {
			var ids []int32
			for i := range docs {
				ids = tok.Encode(ids[:0], docs[(i+g*len(docs)/n)%len(docs)])
			}
		})
	}
	wg.Wait()
	p.wall, p.cpu = min(p.wall, time.Since(start)), min(p.cpu, cpuTime()-cpu)
}

func BenchmarkDecode(b *testing.B) {
	tok := loadShared(b, "kimi-k2.5")
	for name, text := range benchTexts(b) {
		ids := tok.Encode(nil, text)
		b.Run(name, func(b *testing.B) {
			var out []byte
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				out, _ = tok.Decode(out[:0], ids)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	dir := filepath.Join(sharedDir(b), "models")
	for _, name := range []string{"kimi-k2.5", "qwen3", "gptoss"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				if _, err := tokenizer.Load(filepath.Join(dir, name)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpuTime()-start).Seconds()*1e3/float64(b.N), "cpu-ms/op")
		})
	}
}
