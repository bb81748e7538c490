package dataset_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/dataset"
)

// corpus makes rows of a conversation of four messages each, about 2 KB long.
func corpus(rows int, layout dataset.Layout, tools string) []byte {
	var b bytes.Buffer
	for i := range rows {
		said := strings.Repeat(fmt.Sprintf("Line %d of a text with a “quote”, a\\ttab and a number.\\n", i), 8)
		if layout == dataset.ShareGPT {
			fmt.Fprintf(&b, `{"id":"r%d","conversations":[{"from":"human","value":"%s"},{"from":"gpt","value":"%s"},{"from":"human","value":"%s"},{"from":"gpt","value":"%s"}]%s}`, i, said, said, said, said, tools)
		} else {
			fmt.Fprintf(&b, `{"id":"r%d","messages":[{"role":"user","content":"%s"},{"role":"assistant","content":"%s"},{"role":"user","content":"%s"},{"role":"assistant","content":"%s"}]%s}`, i, said, said, said, said, tools)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func BenchmarkPrompts(b *testing.B) {
	const tools = `,"tools":[{"type":"function","function":{"name":"get_weather","description":"Weather in a city","parameters":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}}]`
	tests := []struct {
		name   string
		layout dataset.Layout
		tools  string
		opts   dataset.Options
	}{
		{"messages", dataset.Messages, "", dataset.Options{}},
		{"sharegpt", dataset.ShareGPT, "", dataset.Options{}},
		{"tools", dataset.Messages, tools, dataset.Options{}},
		{"special", dataset.Messages, "", dataset.Options{Special: func(s string) bool { return strings.Contains(s, "<|") }}},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			const rows = 1000
			file := corpus(rows, tt.layout, tt.tools)
			src := dataset.Source{Set: "bench", Path: "bench.jsonl", Open: func() (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(file)), nil
			}}
			set, err := dataset.Open(src, tt.opts)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				kept := 0
				for _, err := range set.Prompts() {
					if err != nil {
						b.Fatal(err)
					}
					kept++
				}
				if kept != rows {
					b.Fatalf("%d rows kept, want %d", kept, rows)
				}
			}
		})
	}
}
