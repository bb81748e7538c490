// Package compare measures package tokenizer beside two other Go libraries and
// the Rust library in WebAssembly, in one run on the same texts. It is a
// module of its own, so that the libraries do not become dependencies.
//
//	EYRIE_BENCH_TEXT=folder EYRIE_KIMI=folder go test -bench .
//
// EYRIE_BENCH_TEXT names a folder of text files. EYRIE_KIMI names a folder with
// Kimi's tiktoken.model. For the Rust library, node and the packages that
// tokenizer/internal/oracle installs are needed; EYRIE_ORACLE names their
// folder, and without it that one is left out.
//
// The figure to read is cpu-MB/s: megabytes of text for each second of processor
// time. Each document counts with the best of ten rounds, so that other work on
// the machine disturbs little.
package compare

import (
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eyrie-ai/eyrie/tokenizer"
	pkoukk "github.com/pkoukk/tiktoken-go"
	other "github.com/tiktoken-go/tokenizer"
)

//go:embed speed.mjs
var script []byte

// texts reads documents from the first 400 kB of each file.
func texts(b *testing.B) map[string][]string {
	dir := os.Getenv("EYRIE_BENCH_TEXT")
	if dir == "" {
		b.Skip("EYRIE_BENCH_TEXT names no folder of texts")
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		b.Fatal(err)
	}
	out := make(map[string][]string)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		text := strings.ToValidUTF8(string(data[:min(len(data), 400_000)]), "")
		key := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
		for len(text) > 20_000 {
			end := strings.LastIndexByte(text[:20_000], '\n') + 1
			if end == 0 {
				end = 20_000
			}
			out[key] = append(out[key], text[:end])
			text = text[end:]
		}
	}
	return out
}

func kimiFolder(b *testing.B) string {
	dir := os.Getenv("EYRIE_KIMI")
	if dir == "" {
		b.Skip("EYRIE_KIMI names no folder with Kimi's tiktoken.model")
	}
	return dir
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs encode over the documents in several rounds and reports the sum
// of each document's best time.
func measure(b *testing.B, docs []string, encode func(string)) {
	const rounds = 10
	bytes := 0
	for _, doc := range docs {
		bytes += len(doc)
	}
	best := make([]time.Duration, len(docs))
	for b.Loop() {
		for range rounds {
			for i, doc := range docs {
				start := cpuTime()
				encode(doc)
				if took := cpuTime() - start; best[i] == 0 || took < best[i] {
					best[i] = took
				}
			}
		}
	}
	var sum time.Duration
	for _, d := range best {
		sum += d
	}
	b.ReportMetric(float64(bytes)/1e6/sum.Seconds(), "cpu-MB/s")
}

func BenchmarkKimi(b *testing.B) {
	tok, err := tokenizer.Load(kimiFolder(b))
	if err != nil {
		b.Fatal(err)
	}
	for name, docs := range texts(b) {
		b.Run(name, func(b *testing.B) {
			var ids []int32
			measure(b, docs, func(s string) { ids = tok.Encode(ids[:0], s) })
		})
	}
}

// kimiPattern is Kimi's in the syntax of the regexp library that pkoukk's
// tokenizer uses, where classes are subtracted, not intersected.
const kimiPattern = `[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}-[\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}-[\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}-[\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}-[\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// BenchmarkPkoukk is github.com/pkoukk/tiktoken-go with Kimi's vocabulary.
func BenchmarkPkoukk(b *testing.B) {
	data, err := os.ReadFile(filepath.Join(kimiFolder(b), "tiktoken.model"))
	if err != nil {
		b.Fatal(err)
	}
	ranks := make(map[string]int)
	for line := range strings.Lines(string(data)) {
		text, rank, _ := strings.Cut(strings.TrimSpace(line), " ")
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			b.Fatal(err)
		}
		if ranks[string(raw)], err = strconv.Atoi(rank); err != nil {
			b.Fatal(err)
		}
	}
	bpe, err := pkoukk.NewCoreBPE(ranks, map[string]int{}, kimiPattern)
	if err != nil {
		b.Fatal(err)
	}
	enc := pkoukk.NewTiktoken(bpe, &pkoukk.Encoding{Name: "kimi"}, map[string]any{})
	for name, docs := range texts(b) {
		b.Run(name, func(b *testing.B) {
			measure(b, docs, func(s string) { enc.EncodeOrdinary(s) })
		})
	}
}

// BenchmarkTiktokenGo is github.com/tiktoken-go/tokenizer, which has only its
// own vocabularies; o200k_base is the nearest.
func BenchmarkTiktokenGo(b *testing.B) {
	enc, err := other.Get(other.O200kBase)
	if err != nil {
		b.Fatal(err)
	}
	for name, docs := range texts(b) {
		b.Run(name, func(b *testing.B) {
			measure(b, docs, func(s string) {
				if _, _, err := enc.Encode(s); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkWASM is the Rust library in WebAssembly with Kimi's vocabulary.
func BenchmarkWASM(b *testing.B) {
	dir := os.Getenv("EYRIE_ORACLE")
	if dir == "" {
		b.Skip("EYRIE_ORACLE names no folder with the npm packages")
	}
	name := filepath.Join(dir, "speed.mjs")
	if err := os.WriteFile(name, script, 0o644); err != nil {
		b.Fatal(err)
	}
	for key, docs := range texts(b) {
		b.Run(key, func(b *testing.B) {
			input, err := json.Marshal(map[string]any{
				"model": filepath.Join(kimiFolder(b), "tiktoken.model"), "pattern": wasmPattern, "docs": docs,
			})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				cmd := exec.Command("node", name)
				cmd.Stdin, cmd.Stderr = strings.NewReader(string(input)), os.Stderr
				out, err := cmd.Output()
				if err != nil {
					b.Fatal(err)
				}
				var speed float64
				if _, err := fmt.Sscan(string(out), &speed); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(speed, "cpu-MB/s")
			}
		})
	}
}

const wasmPattern = `[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
