package export

import (
	"fmt"
	"path"

	"github.com/eyrie-ai/eyrie"
)

// split is the files of one part of the set.
type split struct {
	name   string
	shards []*shard
	meta   *file
	rows   int
}

// shard is one file of rows.
type shard struct {
	file   *file
	entry  File
	rows   int
	tokens int64
	full   bool
	groups []any // the coder's
}

// split returns a split by its name, with its first file where it is new.
func (w *writer) split(name string) (*split, error) {
	if s := w.splits[name]; s != nil {
		return s, nil
	}
	meta, err := w.stage.create(metaName(name))
	if err != nil {
		return nil, err
	}
	s := &split{name: name, meta: meta}
	w.splits[name] = s
	return s, s.next(w)
}

// metaName is the file beside the rows of a split.
func metaName(split string) string {
	if split == eyrie.Train {
		return metaFile
	}
	return "meta-" + split + ".jsonl"
}

// next opens the next shard. It gets its name when all of them are written.
func (s *split) next(w *writer) error {
	f, err := w.stage.create(fmt.Sprintf("%s-%05d.rows", s.name, len(s.shards)))
	if err != nil {
		return err
	}
	sh := &shard{file: f}
	s.shards = append(s.shards, sh)
	_, err = f.Write(w.coder.begin(sh))
	return err
}

// room returns the shard that takes the next so many bytes.
func (s *split) room(w *writer, n int) (*shard, error) {
	sh := s.shards[len(s.shards)-1]
	over := w.opts.ShardBytes > 0 && sh.file.size+int64(n) > w.opts.ShardBytes
	if sh.rows == 0 || !sh.full && !over {
		return sh, nil
	}
	if err := sh.end(w); err != nil {
		return nil, err
	}
	if err := s.next(w); err != nil {
		return nil, err
	}
	return s.shards[len(s.shards)-1], nil
}

// end ends the last shard.
func (s *split) end(w *writer) error {
	for _, sh := range s.shards {
		s.rows += sh.rows
	}
	return s.shards[len(s.shards)-1].end(w)
}

func (sh *shard) end(w *writer) error {
	tail, err := w.coder.end(sh)
	if err != nil {
		return err
	}
	if _, err := sh.file.Write(tail); err != nil {
		return err
	}
	sh.entry, err = sh.file.close()
	return err
}

// name gives the files of rows the names that the loader expects.
func (w *writer) name(splits []*split) error {
	for _, s := range splits {
		for i, sh := range s.shards {
			to := w.opts.Format.file(s.name, i, len(s.shards), len(splits))
			if err := w.stage.rename(sh.entry.Name, to); err != nil {
				return err
			}
			sh.entry.Name, sh.entry.Split = to, s.name
			sh.entry.Rows, sh.entry.Tokens = sh.rows, sh.tokens
			w.manifest.Files = append(w.manifest.Files, sh.entry)
		}
		w.manifest.Splits = append(w.manifest.Splits, Part{s.name, s.rows})
	}
	return nil
}

// file is the name of one of a split's files of rows.
func (f *Format) file(split string, i, of, splits int) string {
	switch {
	case f.savedToDisk && splits > 1:
		return path.Join(split, fmt.Sprintf("data-%05d-of-%05d%s", i, of, f.ext))
	case f.savedToDisk:
		return fmt.Sprintf("data-%05d-of-%05d%s", i, of, f.ext)
	case of == 1 && !f.numbered:
		return path.Join(f.dir, split+f.ext)
	}
	return path.Join(f.dir, fmt.Sprintf("%s-%05d-of-%05d%s", split, i, of, f.ext))
}
