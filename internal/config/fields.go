package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/plan"
	"github.com/eyrie-ai/eyrie/route"
)

// job reads a whole job file.
func (r *reader) job(src []byte) *Job {
	j := &Job{
		File:        r.file,
		Sampling:    eyrie.Sampling{MaxTokens: 8192, Thinking: true},
		Concurrency: 2000,
		Attempts:    4,
		Hold:        "strict",
		OnLength:    eyrie.KeepCut,
		Hedge:       defaultHedge,
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
		{"seed", "", func(r *reader, v value, j *Job) { j.Seed, _ = r.whole(v, math.MinInt64, math.MaxInt64) }},
		{"sampling", "", (*reader).sampling},
		{"concurrency", "", (*reader).concurrency},
		{"attempts", "", (*reader).attempts},
		{"hold", "", func(r *reader, v value, j *Job) { j.Hold, _ = r.choice(v, "strict", "expected") }},
		{"on_length", "", (*reader).onLength},
		{"retry_max_tokens", "", (*reader).retryTokens},
		{"fit", "", (*reader).fit},
		{"deadline", "", (*reader).deadline},
		{"finish", "", (*reader).finish},
		{"sort", "", (*reader).sort},
		{"hedge", "", (*reader).hedge},
		{"tokens", "", func(r *reader, v value, j *Job) { j.Tokens = r.tokens(v) }},
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
	if v.kind == scalar && v.text != "" && plainNumber(v.text) {
		r.refuse(v, "write true or false; a share of the rows is written as sampling.mix")
		return
	}
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
	var ok bool
	if j.Deadline, ok = r.duration(v, time.Minute, 365*24*time.Hour, "write a time from 1m to 8760h, such as 3h"); ok {
		j.Sort = route.ByDeadline
	}
}

// finish says outright what leaving out the deadline means.
func (r *reader) finish(v value, j *Job) {
	if _, ok := r.choice(v, "asap"); ok && j.Deadline > 0 {
		r.fault(v, "asap beside a deadline", "leave out one of the two: with a deadline, lanes that are not needed in time get nothing")
	}
}

// sort reads the order of the lanes. It comes after deadline in the table of
// fields: a deadline without an order is one.
func (r *reader) sort(v value, j *Job) {
	name, ok := r.choice(v, route.Sorts()...)
	if !ok {
		return
	}
	j.Sort, _ = route.ParseSort(name)
	switch {
	case j.Sort == route.ByDeadline && j.Deadline == 0:
		r.fault(v, quote(name)+" without a deadline", "add one, such as deadline: 3h")
	case j.Sort != route.ByDeadline && j.Deadline != 0:
		r.fault(v, quote(name)+" beside a deadline", "leave out one of the two: with a deadline the order is that of the price, and lanes that are not needed in time get nothing")
	}
}

// defaultHedge is the share of the budget that second copies of slow answers may
// use when the job does not say.
const defaultHedge = 0.02

// hedge reads the share of the budget for second copies of slow answers.
func (r *reader) hedge(v value, j *Job) {
	const fix = "write on, off, or the share of the budget for second copies, such as 2%, up to 50%"
	switch v.text {
	case "on", "true":
		return
	case "off", "false":
		j.Hedge = 0
		return
	}
	number, percent := strings.CutSuffix(v.text, "%")
	f, err := strconv.ParseFloat(number, 64)
	if v.kind != scalar || !percent || err != nil || !(f >= 0 && f <= 50) {
		r.refuse(v, fix)
		return
	}
	j.Hedge = f / 100
}

// datasets reads the list of data sets.
func (r *reader) datasets(v value, j *Job) {
	if !r.list(v, "list one or more data sets, each with "+strings.Join(fieldNames(datasetFields()), ", ")) {
		return
	}
	first := map[string]int{}
	for i := range v.items {
		d := Dataset{Samples: 1, Turns: eyrie.AllTurns, Tools: eyrie.PairExact, Layout: "auto", AcceptDrops: 0.05}
		at := v.item(i)
		table := datasetFields()
		if j.Tokens > 0 {
			table[slices.IndexFunc(table, func(f field[Dataset]) bool { return f.name == "tokens" })].need = ""
		}
		fields(r, at, table, &d)
		r.weight(at, j.Tokens, &d)
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
	shareOut(j.Tokens, j.Datasets)
}

// sameName reports a data set whose name the one at index k has already.
func (r *reader) sameName(at value, name string, k int) {
	v, _ := at.entry("name")
	r.fault(v, fmt.Sprintf("%s, which datasets[%d] has too", quote(name), k), "give it another name")
}

func datasetFields() []field[Dataset] {
	return append([]field[Dataset]{
		{"name", needName, (*reader).datasetName},
		{"path", "name the file of prompts, such as prompts/code.jsonl", (*reader).datasetPath},
		{"tokens", needTokens, func(r *reader, v value, d *Dataset) {
			d.Tokens = r.tokens(v)
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
		{"seed_from", "", (*reader).seedFrom},
	}, choosingFields()...)
}

// layouts are the ways in which rows hold conversations.
var layouts = []string{
	"auto", "messages", "sharegpt", "trajectory", "input-output", "transcript", "instruction", "pair", "turns", "prompt",
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
