package openrouter

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

// BenchmarkStream reads streams of 200 chunks from memory, from bytes to an
// answer: once as OpenRouter sends reasoning, once in the 345 bytes that
// comparisons of clients use.
func BenchmarkStream(b *testing.B) {
	const chunks = 200
	openrouter := `data: {"id":"gen-1769490011-Qx7Zp2Qx7Zp2Qx7Zp2Qx","object":"chat.completion.chunk","created":1769490011,"model":"moonshotai/kimi-k2.5-0127","provider":"AtlasCloud","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":" token","reasoning_details":[{"type":"reasoning.text","text":" token","format":"unknown","index":0}]},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}` + "\n\n"
	openai := `data: {"id":"gen-1769490011-Qx7Zp2Qx7Zp2Qx7Zp2Qx","object":"chat.completion.chunk","created":1769490011,"model":"moonshotai/kimi-k2.5-0127","provider":"AtlasCloud","system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":{"role":"assistant","content":" token"},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]`
	openai += strings.Repeat(" ", 342-len(openai)) + "}\n\n"
	end := `data: {"id":"gen-1769490011-Qx7Zp2Qx7Zp2Qx7Zp2Qx","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":200,"cost":0.0005}}` + "\n\ndata: [DONE]\n\n"
	for _, row := range []struct{ name, chunk string }{{"openrouter", openrouter}, {"openai", openai}} {
		b.Run(fmt.Sprintf("%s-%dB", row.name, len(row.chunk)), func(b *testing.B) {
			frames := []byte(strings.Repeat(row.chunk, chunks) + end)
			client := &Client{}
			req := &eyrie.Request{Lane: &eyrie.Lane{}, Sampling: eyrie.Sampling{MaxTokens: 1000}}
			b.SetBytes(int64(len(frames)))
			b.ReportAllocs()
			for b.Loop() {
				a := client.newAttempt(req, func(eyrie.Event, error) bool { return true })
				a.watch = stream.NewWatch(stream.Limits{}.WithDefaults(), nil)
				if e := a.events(b.Context(), io.Reader(bytes.NewReader(frames))); e != nil {
					b.Fatal(e)
				}
				a.watch.Stop()
				a.dec.finish()
				if len(a.answer.Reasoning)+len(a.answer.Content) != len(" token")*chunks {
					b.Fatal("text is missing")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/chunk")
		})
	}
}
