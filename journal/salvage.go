package journal

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie"
)

// salvage collects from the torn files what the journal lacks: accepted or not,
// an answer that came was paid for. A start is only worth something with its
// end, and an end counts only where it belongs to the start that the journal
// knows: numbers of attempts that were never acknowledged are given out again.
func (r *repairer) salvage() ([]eyrie.Record, error) {
	names, err := r.fs.ReadDir(dirName)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	slices.Sort(names)
	var out []eyrie.Record
	for _, name := range names {
		if !strings.HasPrefix(name, "torn-") || !strings.HasSuffix(name, plainExt) {
			continue
		}
		recs, err := wholeRecords(r.fs, path.Join(dirName, name))
		if err != nil {
			return nil, err
		}
		out = append(out, r.known.lacking(recs)...)
	}
	return out, nil
}

// wholeRecords reads every line of a file that is whole.
func wholeRecords(fsys FS, name string) ([]eyrie.Record, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	var out []eyrie.Record
	for l, err := range lines(io.NewSectionReader(f, 0, 1<<62)) {
		if err != nil {
			return nil, fmt.Errorf("journal: %s: %w", name, err)
		}
		if l.err != nil {
			continue
		}
		if rec, _, err := decodeLine(l.text[:len(l.text)-1], l.kind); err == nil && rec != nil {
			out = append(out, rec)
		}
	}
	return out, nil
}

// lacking picks the records that add something, and counts them as known.
func (k *known) lacking(recs []eyrie.Record) (out []eyrie.Record) {
	starts := map[int64]*eyrie.StartedRecord{}
	for _, rec := range recs {
		switch rec := rec.(type) {
		case *eyrie.PromptRecord:
			if k.prompts[rec.Prompt] {
				continue
			}
			k.add(rec)
			out = append(out, rec)
		case *eyrie.StartedRecord:
			starts[rec.Attempt] = rec
		case *eyrie.EndedRecord:
			if k.ended[rec.Attempt] {
				continue
			}
			key, begun := k.started[rec.Attempt]
			switch s := starts[rec.Attempt]; {
			case begun && key == rec.Key:
			case !begun && s != nil && s.Key == rec.Key:
				k.add(s)
				out = append(out, s)
			default:
				continue
			}
			k.add(rec)
			out = append(out, rec)
		}
	}
	return out
}
