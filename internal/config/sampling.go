package config

import (
	"fmt"
	"math"
	"slices"

	"github.com/eyrie-ai/eyrie"
)

// sampling reads how answers are sampled. It comes after thinking in the table
// of fields, which the parts of a mix begin with.
func (r *reader) sampling(v value, j *Job) {
	fields(r, v, jobSamplingFields(), j)
	if j.Parts == nil {
		r.effort(v, &j.Sampling)
	}
}

// jobSamplingFields are the sampler's fields and the mix, which comes last
// because its parts begin with what stands beside it.
func jobSamplingFields() []field[Job] {
	table := within(samplingFields(), func(j *Job) *eyrie.Sampling { return &j.Sampling })
	return append(table, field[Job]{"mix", "", (*reader).mix})
}

// within makes the fields of a value those of another one that holds it.
func within[T, U any](table []field[T], of func(*U) *T) []field[U] {
	out := make([]field[U], len(table))
	for i, f := range table {
		out[i] = field[U]{f.name, f.need, func(r *reader, v value, into *U) { f.read(r, v, of(into)) }}
	}
	return out
}

func samplingFields() []field[eyrie.Sampling] {
	type s = eyrie.Sampling
	number := func(low, high float64, at func(*s) **float64) func(*reader, value, *s) {
		return func(r *reader, v value, into *s) {
			if f, ok := r.number(v, low, high); ok {
				*at(into) = new(f)
			}
		}
	}
	return []field[s]{
		{"temperature", "", number(0, 2, func(s *s) **float64 { return &s.Temperature })},
		{"top_p", "", number(0, 1, func(s *s) **float64 { return &s.TopP })},
		{"top_k", "", func(r *reader, v value, s *s) {
			if n, ok := r.whole(v, 0, math.MaxInt32); ok {
				s.TopK = new(int(n))
			}
		}},
		{"min_p", "", number(0, 1, func(s *s) **float64 { return &s.MinP })},
		{"seed", "", func(r *reader, v value, s *s) {
			// Beyond 53 bits a vendor that reads numbers as floats sees another seed.
			if n, ok := r.whole(v, -1<<53, 1<<53); ok {
				s.Seed = new(n)
			}
		}},
		{"max_tokens", "", func(r *reader, v value, s *s) {
			n, _ := r.whole(v, 16, maxCap)
			s.MaxTokens = int(n)
		}},
		{"effort", "", func(r *reader, v value, s *s) { s.Effort, _ = r.choice(v, eyrie.Efforts...) }},
		{"stop", "", func(r *reader, v value, s *s) { s.Stop = r.stops(v) }},
	}
}

// stops reads one stop string or a list of them. They may hold any text, line
// ends too.
func (r *reader) stops(v value) []string {
	fix := fmt.Sprintf("write one to %d texts, such as [\"\\n\\n\", \"END\"]", eyrie.MaxStop)
	if v.kind == scalar && v.text != "" {
		return []string{v.text}
	}
	if !r.list(v, fix) {
		return nil
	}
	if len(v.items) > eyrie.MaxStop {
		r.fault(v, fmt.Sprintf("%d texts", len(v.items)), fix)
		return nil
	}
	var stops []string
	for i := range v.items {
		switch at := v.item(i); {
		case at.kind != scalar || at.text == "":
			r.refuse(at, fix)
		case slices.Contains(stops, at.text):
			r.fault(at, quote(at.text)+" a second time", "keep one of the two")
		default:
			stops = append(stops, at.text)
		}
	}
	return stops
}

// mix reads the parts of a mix. Each begins with the job's own sampling.
func (r *reader) mix(v value, j *Job) {
	const most = 100
	fix := "list the parts, each with a weight and what differs, such as - {weight: 3, temperature: 0.6}"
	if !r.list(v, fix) {
		return
	}
	if len(v.items) > most {
		r.fault(v, fmt.Sprintf("%d parts", len(v.items)), fmt.Sprintf("write %d at most", most))
		return
	}
	j.Parts = []eyrie.Part{}
	for i := range v.items {
		p := eyrie.Part{Sampling: j.Sampling}
		at := v.item(i)
		fields(r, at, partFields(), &p)
		r.effort(at, &p.Sampling)
		j.Parts = append(j.Parts, p)
	}
}

const needWeight = "write how often this part is taken beside the others, such as 3 or 0.3"

func partFields() []field[eyrie.Part] {
	own := []field[eyrie.Part]{
		{"weight", needWeight, func(r *reader, v value, p *eyrie.Part) {
			// Thousandths are whole numbers, so that weights add up exactly.
			if f, ok := r.number(v, 0.001, 1000); ok {
				p.Weight = int64(math.Round(f * 1000))
			}
		}},
		{"thinking", "", func(r *reader, v value, p *eyrie.Part) {
			b, _ := r.boolean(v)
			p.Sampling.Thinking = eyrie.Thinking(b)
		}},
	}
	return append(own, within(samplingFields(), func(p *eyrie.Part) *eyrie.Sampling { return &p.Sampling })...)
}

// effort takes an effort from a sampling that does not think, and reports one
// that was asked for just there.
func (r *reader) effort(v value, s *eyrie.Sampling) {
	if s.Thinking || s.Effort == "" {
		return
	}
	s.Effort = ""
	for _, e := range v.entries {
		if e.key.text == "effort" {
			r.fault(value{e.value, join(v.field, "effort")}, quote(e.value.text)+" where thinking is off", "leave it out, or set thinking: true")
		}
	}
}

// maxCap is the largest cap of an answer.
const maxCap = 1 << 20

// onLength reads what becomes of answers that were cut off. It comes after the
// sampling and the attempts in the table of fields.
func (r *reader) onLength(v value, j *Job) {
	word, ok := r.choice(v, string(eyrie.KeepCut), string(eyrie.DropCut), string(eyrie.RetryCut))
	if !ok {
		return
	}
	if j.OnLength = eyrie.OnLength(word); j.OnLength != eyrie.RetryCut {
		return
	}
	if j.Attempts == 1 {
		r.fault(v, "a second try where attempts is 1", "set attempts to 2 or more")
	}
	j.RetryTokens = min(2*j.Mix().MaxTokens(), maxCap)
}

// retryTokens reads the cap of a second try. It comes after on_length in the
// table of fields.
func (r *reader) retryTokens(v value, j *Job) {
	if j.OnLength != eyrie.RetryCut {
		r.fault(v, "a cap for a second try that nothing asks for", "set on_length: retry, or leave it out")
		return
	}
	n, _ := r.whole(v, int64(j.Mix().MaxTokens())+1, maxCap)
	j.RetryTokens = int(n)
}
