package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/plan"
)

// job reads a whole job file.
func (r *reader) job(src []byte) *Job {
	j := &Job{
		File:        r.file,
		Sampling:    eyrie.Sampling{MaxTokens: 8192, Thinking: true},
		Concurrency: 2000,
		Attempts:    4,
	}
	if v, ok := r.document(src); ok {
		table := jobFields()
		if ownOnly(v) {
			i := slices.IndexFunc(table, func(f field[Job]) bool { return f.name == "budget" })
			table[i].need = ""
		}
		fields(r, v, table, j)
	}
	return j
}

func jobFields() []field[Job] {
	return []field[Job]{
		{"model", needModel, (*reader).model},
		{"tokenizer", needTokenizer, (*reader).tokenizer},
		{"budget", needBudget, (*reader).budget},
		{"output", "name the run folder, such as ./runs/kimi", (*reader).output},
		{"thinking", "", (*reader).thinking},
		{"sampling", "", func(r *reader, v value, j *Job) { fields(r, v, samplingFields(), &j.Sampling) }},
		{"concurrency", "", (*reader).concurrency},
		{"attempts", "", (*reader).attempts},
		{"fit", "", (*reader).fit},
		{"deadline", "", (*reader).deadline},
		{"datasets", "list one or more data sets", (*reader).datasets},
		{"engines", needEngines, (*reader).engines},
	}
}

const (
	needModel  = "name the model as author/slug, such as moonshotai/kimi-k2.5"
	needBudget = "write dollars above zero, such as 100 or $12.50"
)

// slug is the name of a model: author, slug, and a variant that some have.
var slug = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*(:[a-z]+)?$`)

func (r *reader) model(v value, j *Job) {
	if v.kind != scalar || !slug.MatchString(v.text) {
		r.refuse(v, needModel)
		return
	}
	// These suffixes let the vendor choose the endpoint, or another kind of
	// answer; eyrie pins every request to an endpoint itself.
	switch base, variant, _ := strings.Cut(v.text, ":"); variant {
	case "nitro", "floor", "exacto", "batch":
		r.refuse(v, fmt.Sprintf("leave out %q: eyrie chooses the endpoint itself; write %s", ":"+variant, base))
		return
	}
	j.Model = v.text
}

func (r *reader) budget(v value, j *Job) {
	j.Budget, _ = r.money(v, needBudget)
}

func (r *reader) thinking(v value, j *Job) {
	b, _ := r.boolean(v)
	j.Sampling.Thinking = eyrie.Thinking(b)
}

func (r *reader) concurrency(v value, j *Job) {
	n, _ := r.whole(v, 1, 100_000)
	j.Concurrency = int(n)
}

func (r *reader) attempts(v value, j *Job) {
	n, _ := r.whole(v, 1, 20)
	j.Attempts = int(n)
}

func (r *reader) fit(v value, j *Job) {
	if name, ok := r.choice(v, plan.Fits()...); ok {
		j.Fit, _ = plan.ParseFit(name)
	}
}

func (r *reader) deadline(v value, j *Job) {
	j.Deadline, _ = r.duration(v, time.Minute, 365*24*time.Hour, "write a time from 1m to 8760h, such as 3h")
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
			n, _ := r.whole(v, 16, 1<<20)
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

// datasets reads the list of data sets.
func (r *reader) datasets(v value, j *Job) {
	if !r.list(v, "list one or more data sets, each with "+strings.Join(fieldNames(datasetFields()), ", ")) {
		return
	}
	first := map[string]int{}
	for i := range v.items {
		d := Dataset{Samples: 1, Turns: eyrie.AllTurns, Tools: eyrie.PairExact, Layout: "auto"}
		at := v.item(i)
		fields(r, at, datasetFields(), &d)
		j.Datasets = append(j.Datasets, d)
		if d.Name == "" {
			continue
		}
		low := strings.ToLower(d.Name)
		if k, twice := first[low]; twice {
			r.sameName(at, d.Name, k)
		} else {
			first[low] = i
		}
	}
}

// sameName reports a data set whose name the one at index k has already.
func (r *reader) sameName(at value, name string, k int) {
	for _, e := range at.entries {
		if e.key.text == "name" {
			v := value{e.value, join(at.field, "name")}
			r.fault(v, fmt.Sprintf("%s, which datasets[%d] has too", quote(name), k), "give it another name")
			return
		}
	}
}

func datasetFields() []field[Dataset] {
	return []field[Dataset]{
		{"name", needName, (*reader).datasetName},
		{"path", "name the file of prompts, such as prompts/code.jsonl", (*reader).datasetPath},
		{"tokens", needTokens, func(r *reader, v value, d *Dataset) {
			n, ok := parseTokens(v.text)
			if v.kind != scalar || !ok {
				r.refuse(v, needTokens)
				return
			}
			d.Tokens = n
		}},
		{"samples", "", func(r *reader, v value, d *Dataset) {
			n, _ := r.whole(v, 1, 1000)
			d.Samples = int(n)
		}},
		{"turns", "", func(r *reader, v value, d *Dataset) {
			word, _ := r.choice(v, string(eyrie.AllTurns), string(eyrie.LastTurn), string(eyrie.FirstTurn))
			d.Turns = eyrie.Turns(word)
		}},
		{"tools", "", func(r *reader, v value, d *Dataset) {
			word, _ := r.choice(v, string(eyrie.PairExact), string(eyrie.PairByName))
			d.Tools = eyrie.Pairing(word)
		}},
		{"layout", "", func(r *reader, v value, d *Dataset) {
			d.Layout, _ = r.choice(v, "auto", "messages", "sharegpt")
		}},
		{"seed_from", "", (*reader).seedFrom},
	}
}

const (
	needName   = `give it a name of letters, digits, ".", "_" and "-" that does not start with a dot`
	needTokens = "write how many output tokens are wanted, such as 10M, 500k or 10_000_000"
)

// folderName is what may become the name of a folder.
var folderName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)

func (r *reader) datasetName(v value, d *Dataset) {
	if v.kind != scalar || !folderName.MatchString(v.text) {
		r.refuse(v, needName)
		return
	}
	d.Name = v.text
}
