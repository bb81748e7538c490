package chat_test

import (
	"os"
	"testing"

	"github.com/eyrie-ai/eyrie/chat"
)

// BenchmarkRender renders the golden conversations of Kimi-K2.5, by the
// built-in template and by the template engine.
func BenchmarkRender(b *testing.B) {
	src, err := os.ReadFile(shared(b, "models", "kimi-k2.5", "chat_template.jinja"))
	if err != nil {
		b.Fatal(err)
	}
	var cs []chat.Conversation
	for _, g := range readGoldenChats(b) {
		if g.Model == "k25" {
			cs = append(cs, g.conversation(b))
		}
	}
	for name, parse := range map[string]func(string) (chat.Template, error){"built in": chat.Parse, "engine": chat.ParseGeneral} {
		b.Run(name, func(b *testing.B) {
			tmpl, err := parse(string(src))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var buf []byte
			var total int64
			n := 0
			for b.Loop() {
				if buf, err = tmpl.Render(buf[:0], cs[n%len(cs)]); err != nil {
					b.Fatal(err)
				}
				total += int64(len(buf))
				n++
			}
			b.SetBytes(total / int64(n))
		})
	}
}
