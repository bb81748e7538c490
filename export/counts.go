package export

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/eyrie-ai/eyrie"
)

// counts are what is counted of the rows in passing.
type counts struct {
	freq              frequencies // of the supervised tokens of the train split
	rows, completions histogram
}

func (c *counts) add(r *Row) {
	if r.Err != nil {
		return
	}
	c.rows.add(len(r.IDs.PromptIDs) + len(r.IDs.CompletionIDs))
	c.completions.add(len(r.IDs.CompletionIDs))
	if cmp.Or(r.Meta.Split, eyrie.Train) != eyrie.Train {
		return
	}
	c.freq.count(r.IDs.CompletionIDs)
}

func (c *counts) merge(o *counts) {
	for id, n := range o.freq.all() {
		c.freq.add(id, n)
	}
	c.rows.merge(o.rows)
	c.completions.merge(o.completions)
}

// frequencies count ids.
type frequencies struct {
	dense []int64         // by id
	rare  map[int32]int64 // ids that no vocabulary has yet, too large for a table
}

// denseIDs is more than any vocabulary has.
const denseIDs = 1 << 20

func (f *frequencies) count(ids []int32) {
	for _, id := range ids {
		if int(id) < len(f.dense) {
			f.dense[id]++
		} else {
			f.add(id, 1)
		}
	}
}

func (f *frequencies) add(id int32, n int64) {
	switch {
	case int(id) < len(f.dense):
		f.dense[id] += n
	case id < denseIDs:
		f.dense = append(f.dense, make([]int64, int(id)+1-len(f.dense))...)
		f.dense[id] = n
	default:
		if f.rare == nil {
			f.rare = map[int32]int64{}
		}
		f.rare[id] += n
	}
}

// of is how often an id was counted.
func (f *frequencies) of(id int32) int64 {
	if int(id) < len(f.dense) {
		return f.dense[id]
	}
	return f.rare[id]
}

// all yields the ids that were counted, ascending.
func (f *frequencies) all() iter.Seq2[int32, int64] {
	return func(yield func(int32, int64) bool) {
		for id, n := range f.dense {
			if n > 0 && !yield(int32(id), n) {
				return
			}
		}
		for _, id := range slices.Sorted(maps.Keys(f.rare)) {
			if !yield(id, f.rare[id]) {
				return
			}
		}
	}
}

// ranked lists the ids that were counted, the most frequent first, and the
// smaller of two that are as frequent.
func (f *frequencies) ranked() []int32 {
	var ids []int32
	for id := range f.all() {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Or(cmp.Compare(f.of(b), f.of(a)), cmp.Compare(a, b)) })
	return ids
}

// json is the counts by id, ids ascending.
func (f *frequencies) json() []byte {
	out := []byte("{")
	for id, n := range f.all() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(append(out, '"'), int64(id), 10)
		out = strconv.AppendInt(append(out, `":`...), n, 10)
	}
	return append(out, "}\n"...)
}

// histogram counts rows by their length.
type histogram map[int]int

func (h *histogram) add(n int) {
	if *h == nil {
		*h = histogram{}
	}
	(*h)[n]++
}

func (h *histogram) merge(o histogram) {
	for n, rows := range o {
		if *h == nil {
			*h = histogram{}
		}
		(*h)[n] += rows
	}
}

// Lengths tells how long rows are, in tokens.
type Lengths struct {
	Rows        Length `json:"rows"`
	Completions Length `json:"completions"`
}

// Length describes lengths: half of the rows are at most P50 long, and so on.
// Buckets count the rows by powers of two.
type Length struct {
	Mean    float64  `json:"mean"`
	P50     int      `json:"p50"`
	P90     int      `json:"p90"`
	P99     int      `json:"p99"`
	Max     int      `json:"max"`
	Buckets []Bucket `json:"buckets,omitzero"`
}

// Bucket counts the rows that are at most UpTo long and in no bucket before.
type Bucket struct {
	UpTo int `json:"up_to"`
	Rows int `json:"rows"`
}

func (h histogram) lengths() Length {
	var l Length
	total, sum := 0, 0
	for n, rows := range h {
		total += rows
		sum += n * rows
	}
	if total == 0 {
		return l
	}
	l.Mean = float64(sum) / float64(total)
	seen := 0
	for _, n := range slices.Sorted(maps.Keys(h)) {
		seen += h[n]
		for _, q := range []struct {
			of  int
			out *int
		}{{50, &l.P50}, {90, &l.P90}, {99, &l.P99}} {
			if *q.out == 0 && seen*100 >= q.of*total {
				*q.out = n
			}
		}
		l.Max = n
		upTo := 16
		for upTo < n {
			upTo *= 2
		}
		if k := len(l.Buckets); k == 0 || l.Buckets[k-1].UpTo != upTo {
			l.Buckets = append(l.Buckets, Bucket{UpTo: upTo})
		}
		l.Buckets[len(l.Buckets)-1].Rows += h[n]
	}
	return l
}

// Vocabulary tells which tokens are supervised, and how much of them a drafter
// with a smaller vocabulary could say.
type Vocabulary struct {
	Size     int     `json:"size,omitzero"` // of the target model
	Distinct int     `json:"distinct"`      // ids that are supervised somewhere
	Drafts   []Draft `json:"drafts"`
	// Files is the size of the draft vocabulary in d2t.npy and t2d.npy, 0 where
	// they are not there.
	Files int `json:"files,omitzero"`
}

// Draft is a draft vocabulary of the most frequent tokens.
type Draft struct {
	Size     int     `json:"size"`
	Coverage float64 `json:"coverage"` // share of the supervised tokens that are in it
}

// draftSizes are the draft vocabularies whose coverage is told.
var draftSizes = []int{16_000, 32_000, 64_000}

// vocabulary writes the frequencies and the draft vocabulary.
func (w *writer) vocabulary(c *counts) error {
	if err := w.add(freqFile, c.freq.json()); err != nil {
		return err
	}
	ids, total := c.freq.ranked(), int64(0)
	for _, n := range c.freq.all() {
		total += n
	}
	if total == 0 {
		return nil
	}
	v := &Vocabulary{Size: w.opts.VocabSize, Distinct: len(ids)}
	w.manifest.Vocabulary = v
	for _, size := range draftSizes {
		var covered int64
		for _, id := range ids[:min(size, len(ids))] {
			covered += c.freq.of(id)
		}
		v.Drafts = append(v.Drafts, Draft{size, float64(covered) / float64(total)})
	}
	if w.opts.DraftVocab <= 0 || w.opts.DraftVocab >= w.opts.VocabSize {
		return nil
	}
	v.Files = w.opts.DraftVocab
	d2t, t2d := draftFiles(draftVocabulary(ids, w.opts.DraftVocab), w.opts.VocabSize)
	if err := w.add("d2t.npy", d2t); err != nil {
		return err
	}
	return w.add("t2d.npy", t2d)
}

// draftVocabulary takes the first size of the ranked ids, fills up with the
// smallest that are not among them, and sorts them.
func draftVocabulary(ranked []int32, size int) []int32 {
	draft := slices.Clone(ranked[:min(size, len(ranked))])
	in := make(map[int32]bool, len(draft))
	for _, id := range draft {
		in[id] = true
	}
	for id := int32(0); len(draft) < size; id++ {
		if !in[id] {
			draft = append(draft, id)
		}
	}
	slices.Sort(draft)
	return draft
}
