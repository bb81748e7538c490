package tokens_test

import (
	"testing"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/tokens"
)

// BenchmarkRow makes rows of answers of 500 tokens on average: of a lane whose
// plain readings fit, and of one that trims, where every reading is tried.
func BenchmarkRow(b *testing.B) {
	p := newPopulation(b, 1)
	p.sentence = 40
	trims := p.rebuild.With(tokens.Habits{tokens.LineAfterReasoning: 0.1, tokens.LineBeforeContent: 0.1})
	for _, c := range []struct {
		name string
		r    *tokens.Rebuilder
		sv   server
	}{{"plain", p.rebuild, servers[0]}, {"trimming", trims, servers[4]}} {
		b.Run(c.name, func(b *testing.B) {
			samples := make([]sample, 200)
			size := 0
			for i := range samples {
				samples[i] = p.sample(b, c.sv)
				size += len(samples[i].completion)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				s := &samples[n%len(samples)]
				n++
				if _, err := c.r.Row(s.generation, s.thinking, s.answer); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)/float64(len(samples)), "tokens/answer")
		})
	}
}

// BenchmarkRowFromEngine checks returned ids.
func BenchmarkRowFromEngine(b *testing.B) {
	p := newPopulation(b, 1)
	p.sentence = 40
	samples := make([]sample, 200)
	for i := range samples {
		samples[i] = p.sample(b, servers[0])
		samples[i].answer.PromptIDs = samples[i].prompt
		samples[i].answer.CompletionIDs = samples[i].completion
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		s := &samples[n%len(samples)]
		n++
		row, err := p.rebuild.Row(s.generation, s.thinking, s.answer)
		if err != nil {
			b.Fatal(err)
		}
		if row.Known != eyrie.KnownEngine {
			b.Fatal(row.Known, row.Reason)
		}
	}
}

// BenchmarkSurvey surveys answers of 500 tokens on average, each read in every
// way.
func BenchmarkSurvey(b *testing.B) {
	p := newPopulation(b, 1)
	p.sentence = 40
	samples := make([]sample, 200)
	for i := range samples {
		samples[i] = p.sample(b, servers[4])
	}
	survey := p.rebuild.Survey()
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		s := &samples[n%len(samples)]
		n++
		survey.Add(s.generation, s.thinking, s.answer)
	}
}
