package config

import (
	"math/big"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// Keep is what is wanted of a prompt. Zero values want nothing.
type Keep struct {
	Languages []string
	Tools     *bool // with or without tools
	MinTurns  int
	MaxTurns  int
	MinTokens int // of the prompt
	MaxTokens int
}

// choosingFields are the fields of a data set that say how its rows are read
// and which of them are wanted.
func choosingFields() []field[Dataset] {
	share := func(low, high float64, at func(*Dataset) *float64) func(*reader, value, *Dataset) {
		return func(r *reader, v value, d *Dataset) {
			if f, ok := r.number(v, low, high); ok {
				*at(d) = f
			}
		}
	}
	return []field[Dataset]{
		{"layout", "", func(r *reader, v value, d *Dataset) { d.Layout, _ = r.choice(v, layouts...) }},
		{"format", "", func(r *reader, v value, d *Dataset) { d.Format, _ = r.choice(v, "auto", "csv", "tsv", "text") }},
		{"columns", "", func(r *reader, v value, d *Dataset) {
			d.Columns = r.pairs(v, columnFields, nil, "write what a column holds and its name, such as {prompt: ask, answer: reply}")
		}},
		{"roles", "", func(r *reader, v value, d *Dataset) {
			d.Roles = r.pairs(v, nil, roleNames, "write a speaker's name and a role, such as {narrator: system}")
		}},
		{"images", "", func(r *reader, v value, d *Dataset) { d.Images, _ = r.choice(v, "drop", "skip", "refuse") }},
		{"max_row", "", func(r *reader, v value, d *Dataset) { d.MaxRow, _ = r.bytes(v) }},
		{"accept_drops", "", share(0, 1, func(d *Dataset) *float64 { return &d.AcceptDrops })},
		{"keep", "", func(r *reader, v value, d *Dataset) { fields(r, v, keepFields(), &d.Keep) }},
		{"near_duplicates", "", share(0.3, 1, func(d *Dataset) *float64 { return &d.NearDuplicates })},
		{"decontaminate", "", func(r *reader, v value, d *Dataset) {
			const fix = "list files of prompts that must not be trained on, such as [evals/mt_bench.jsonl]"
			d.Decontaminate = r.words(v, fix, func(v value) (string, bool) { return r.prompts(v, fix) })
		}},
		{"sample", "", func(r *reader, v value, d *Dataset) {
			n, _ := r.whole(v, 1, 1<<40)
			d.Sample = int(n)
		}},
		{"shuffle", "", func(r *reader, v value, d *Dataset) { d.Shuffle, _ = r.boolean(v) }},
		{"validation", "", share(0, 0.9, func(d *Dataset) *float64 { return &d.Validation })},
		{"weight", "", func(r *reader, v value, d *Dataset) {
			d.Weight, _ = r.number(v, 1e-6, 1e6)
		}},
	}
}

// columnFields are what a column of a data set may hold.
var columnFields = []string{
	"id", "messages", "system", "tools", "prompt", "input", "options", "answer", "reasoning", "calls", "turns", "transcript",
	"history", "images", "split", "license", "source", "category", "language",
}

var roleNames = []string{string(eyrie.System), string(eyrie.User), string(eyrie.Assistant), string(eyrie.ToolRole)}

func keepFields() []field[Keep] {
	const most = 1 << 30
	count := func(at func(*Keep) *int) func(*reader, value, *Keep) {
		return func(r *reader, v value, k *Keep) {
			n, _ := r.whole(v, 1, most)
			*at(k) = int(n)
		}
	}
	return []field[Keep]{
		{"languages", "", func(r *reader, v value, k *Keep) {
			const fix = "list codes of languages, such as [en, zh]"
			k.Languages = r.words(v, fix, func(v value) (string, bool) {
				if v.kind != scalar || len(v.text) < 2 || len(v.text) > 3 || strings.Trim(v.text, "abcdefghijklmnopqrstuvwxyz") != "" {
					r.refuse(v, fix)
					return "", false
				}
				return v.text, true
			})
		}},
		{"tools", "", func(r *reader, v value, k *Keep) {
			if b, ok := r.boolean(v); ok {
				k.Tools = new(b)
			}
		}},
		{"min_turns", "", count(func(k *Keep) *int { return &k.MinTurns })},
		{"max_turns", "", count(func(k *Keep) *int { return &k.MaxTurns })},
		{"min_tokens", "", count(func(k *Keep) *int { return &k.MinTokens })},
		{"max_tokens", "", count(func(k *Keep) *int { return &k.MaxTokens })},
	}
}

// pairs reads a mapping of names to names. Where keys or words are given, only
// they may stand there.
func (r *reader) pairs(v value, keys, words []string, fix string) map[string]string {
	if v.kind != mapping || len(v.entries) == 0 {
		r.refuse(v, fix)
		return nil
	}
	out := map[string]string{}
	for _, e := range v.entries {
		key, val := value{e.key, join(v.field, e.key.text)}, value{e.value, join(v.field, e.key.text)}
		name, ok := r.word(key, fix)
		switch {
		case !ok:
			continue
		case keys != nil && !slices.Contains(keys, name):
			r.fault(key, "an unknown key", adviseKey(name, nearest(name, keys), keys))
			continue
		case out[name] != "":
			r.fault(key, quote(name)+" a second time", "keep one of the two")
			continue
		}
		if words != nil {
			out[name], _ = r.choice(val, words...)
		} else {
			out[name], _ = r.word(val, fix)
		}
	}
	return out
}

// bytes reads a size such as 64MB.
func (r *reader) bytes(v value) (int64, bool) {
	const fix = "write the most bytes of a row, such as 64MB or 1GB, up to 16GB"
	for suffix, unit := range map[string]int64{"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30} {
		digits, ok := strings.CutSuffix(v.text, suffix)
		if !ok || v.kind != scalar || strings.Trim(digits, "0123456789") != "" || digits == "" || len(digits) > 8 {
			continue
		}
		n, _ := new(big.Int).SetString(digits, 10)
		if size := n.Int64() * unit; size >= 1<<10 && size <= 16<<30 {
			return size, true
		}
	}
	r.refuse(v, fix)
	return 0, false
}

// tokens reads a number of tokens that are wanted.
func (r *reader) tokens(v value) int64 {
	n, ok := parseTokens(v.text)
	if v.kind != scalar || !ok {
		r.refuse(v, needTokens)
		return 0
	}
	return n
}

// weight holds the weight of a data set against what else the job says of
// tokens. A set without tokens of its own has a weight of 1.
func (r *reader) weight(at value, all int64, d *Dataset) {
	v, given := at.entry("weight")
	switch {
	case !given && d.Tokens == 0:
		d.Weight = 1
	case !given:
	case all == 0:
		r.fault(v, v.describe(), "a weight shares out the tokens of the job: write tokens at the top of the file, or in the data set in place of weight")
	case d.Tokens > 0:
		r.fault(v, v.describe()+" beside tokens", "keep one of the two: tokens is a target of its own, weight a share of the job's")
	}
}

// shareOut divides the tokens of a job among the sets that have none of their
// own, by their weights.
func shareOut(all int64, sets []Dataset) {
	var sum float64
	for i := range sets {
		sum += sets[i].Weight
	}
	for i := range sets {
		if d := &sets[i]; all > 0 && d.Weight > 0 {
			d.Tokens = max(1, int64(float64(all)*d.Weight/sum))
		}
	}
}
