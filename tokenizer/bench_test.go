package tokenizer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// BenchmarkEncodeParallel encodes on every core: with -cpu 1,2 its cpu-MB/s stay
// the same where nothing is waited for.
func BenchmarkEncodeParallel(b *testing.B) {
	tok := loadShared(b, "kimi-k2.5")
	var all strings.Builder
	for _, text := range benchTexts(b) {
		all.WriteString(text)
	}
	docs := documents(all.String())
	b.SetBytes(int64(all.Len() / len(docs)))
	b.ResetTimer()
	start := cpuTime()
	b.RunParallel(func(pb *testing.PB) {
		var ids []int32
		for i := 0; pb.Next(); i++ {
			ids = tok.Encode(ids[:0], docs[i%len(docs)])
		}
	})
	b.ReportMetric(float64(all.Len()/len(docs)*b.N)/1e6/(cpuTime()-start).Seconds(), "cpu-MB/s")
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
