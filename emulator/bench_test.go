package emulator_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator"
)

// discard takes a reply like a connection whose other end reads at once.
type discard struct {
	header http.Header
	n      int64
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(b []byte) (int, error) { d.n += int64(len(b)); return len(b), nil }
func (d *discard) Flush()                      {}

// BenchmarkStream measures one unpaced stream of about 300 tokens, from the
// request body to the last byte.
func BenchmarkStream(b *testing.B) {
	s, err := emulator.New(emulator.Config{VocabularyPath: kimiVocabulary(b), Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	body := ask("Write a short story about a lighthouse.", `"stream":true,`+pinned)
	b.ReportAllocs()
	tokens := 0
	for b.Loop() {
		r := httptest.NewRequest("POST", "/api/v1/chat/completions", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer k")
		r.Header.Set("User-Agent", "bench")
		d := &discard{header: http.Header{}}
		s.ServeHTTP(d, r)
		b.SetBytes(d.n)
	}
	for _, e := range s.Books() {
		tokens += e.CompletionTokens
	}
	b.ReportMetric(float64(tokens)/float64(b.Elapsed().Seconds()), "tokens/s")
	io.Discard.Write(nil)
}
