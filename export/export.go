package export

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"slices"

	"github.com/eyrie-ai/eyrie"
)

// Row is one generation with all that is known of it.
type Row struct {
	ID   string
	IDs  eyrie.Row
	Meta Meta
	// Messages and Tools are what the model was asked, Answer is what it said.
	// Only formats of conversations need them.
	Messages []eyrie.Message
	Tools    []byte // a JSON array of declarations, or nil
	Answer   eyrie.Message
	// Err says why there are no ids.
	Err error
}

// Options say what is exported, and how.
type Options struct {
	// Format says what is written; nil means [Default].
	Format *Format
	// Include lists the classes of ids that are exported; nil means the
	// certified ones.
	Include []eyrie.Known
	// Text also lets rows without ids into formats of conversations: their text
	// is known, and whether it is all of the text is not.
	Text bool
	// Force allows an existing export to be replaced by one with fewer rows, or
	// of another format.
	Force bool
	// ShardBytes and ShardRows are the most that a file of rows may hold, but for
	// what a file ends with, and for a row that is larger alone. Zero leaves it to
	// the format.
	ShardBytes int64
	ShardRows  int
	// Decode appends the text of ids. Where it is set, formats that have a text
	// beside the ids write it.
	Decode func(dst []byte, ids []int32) ([]byte, error)
	// Thinks says that the run may have answers with reasoning in them.
	Thinks bool
	// VocabSize is how many ids the model has, DraftVocab how many the drafter is
	// to have. Without them no draft vocabulary is written.
	VocabSize  int
	DraftVocab int
	// Run describes the run for the manifest.
	Run RunInfo
	// Surveys are what was assumed of each lane, for the manifest.
	Surveys map[string]Survey
}

// normal fills in what is left to the format.
func (o Options) normal() (Options, error) {
	if o.Format == nil {
		o.Format = Default()
	}
	if o.Include == nil {
		o.Include = slices.DeleteFunc(slices.Clone(eyrie.AllKnown), func(k eyrie.Known) bool { return !k.Certified() })
	}
	if o.Text && !o.Format.conversations {
		return o, fmt.Errorf("rows without ids cannot be exported for %s, which is made of ids", o.Format.Name)
	}
	if o.ShardBytes < 0 || o.ShardRows < 0 {
		return o, fmt.Errorf("a shard of %d bytes and %d rows: want more than nothing", o.ShardBytes, o.ShardRows)
	}
	o.ShardBytes = cmp.Or(o.ShardBytes, o.Format.shardBytes)
	return o, nil
}

// ErrFewer is returned when an export would replace one that has more rows.
var ErrFewer = errors.New("the export that is there has more rows")

// Write exports the rows of one data set into the folder dir under root. Rows
// are taken one by one and not kept for longer than it takes to write them.
//
// After an error, and after the process was killed at any moment, the folder is
// the one that was there before, or it is whole and new; where it has neither
// name, it is put back by the next Write.
func Write(root *os.Root, dir, set string, rows iter.Seq2[*Row, error], o Options) (*Manifest, error) {
	o, err := o.normal()
	if err != nil {
		return nil, fmt.Errorf("export: %s: %w", set, err)
	}
	stage, err := newStage(root, dir)
	if err != nil {
		return nil, fmt.Errorf("export: %s: %w", set, err)
	}
	m, err := write(stage, set, rows, o)
	if err != nil {
		stage.discard()
		return nil, fmt.Errorf("export: %s: %w", set, err)
	}
	return m, nil
}

func write(stage *stage, set string, rows iter.Seq2[*Row, error], o Options) (*Manifest, error) {
	if err := stage.foreign(); err != nil {
		return nil, err
	}
	old, err := stage.before()
	if err != nil && !o.Force {
		return nil, err
	}
	if old != nil && !o.Force && cmp.Or(old.Format, Default().Name) != o.Format.Name {
		return nil, fmt.Errorf("the export that is there is for %s and this one for %s (export elsewhere with --out, or use --force)",
			cmp.Or(old.Format, Default().Name), o.Format.Name)
	}
	w := &writer{
		stage: stage, opts: o, manifest: newManifest(set, o), coder: o.Format.coder(&o),
		counts: make([]counts, runtime.GOMAXPROCS(0)), splits: map[string]*split{},
	}
	if err := w.write(rows); err != nil {
		return nil, err
	}
	if old != nil && !o.Force && old.Rows > w.manifest.Rows {
		return nil, fmt.Errorf("%w: %d, and this one %d (export elsewhere with --out, or use --force)", ErrFewer, old.Rows, w.manifest.Rows)
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	return w.manifest, stage.publish()
}

// refuse returns why a row is left out, or "".
func (o *Options) refuse(r *Row) string {
	if r.Err != nil && !o.Text {
		return r.Err.Error()
	}
	if r.Err == nil {
		if len(r.IDs.CompletionIDs) == 0 {
			return "the completion has no ids: its mask would be all zero"
		}
		if why := o.strange(r.IDs.PromptIDs, r.IDs.CompletionIDs); why != "" {
			return why
		}
		if !slices.Contains(o.Include, r.IDs.Known) {
			return cmp.Or(r.IDs.Reason, fmt.Sprintf("ids of class %s were not asked for", r.IDs.Known))
		}
	}
	if o.Format.unfit != nil {
		return o.Format.unfit(r)
	}
	return ""
}

// strange says which id is none of the model's, or "".
func (o *Options) strange(parts ...[]int32) string {
	for _, ids := range parts {
		for i, id := range ids {
			if id < 0 || o.VocabSize > 0 && int(id) >= o.VocabSize {
				return fmt.Sprintf("%d, the id at place %d of its part, is none of the model's %d", id, i, o.VocabSize)
			}
		}
	}
	return ""
}
