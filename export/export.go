package export

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/internal/durable"
)

// Row is one generation with all that is known of it.
type Row struct {
	ID   string
	IDs  eyrie.Row
	Meta Meta
	// Err says why there are no ids.
	Err error
}

// Options say what is exported.
type Options struct {
	// Include lists the classes of ids that are exported; nil means the
	// certified ones.
	Include []eyrie.Known
	// Force allows an existing export to be replaced by one with fewer rows.
	Force bool
	// Run describes the run for the manifest.
	Run RunInfo
	// Surveys are what was assumed of each lane, for the manifest.
	Surveys map[string]Survey
}

// ErrFewer is returned when an export would replace one that has more rows.
var ErrFewer = errors.New("the export that is there has more rows")

// JSONL exports the rows of one data set into the folder dir under root.
func JSONL(root *os.Root, dir, set string, rows iter.Seq2[*Row, error], o Options) (*Manifest, error) {
	if o.Include == nil {
		o.Include = slices.DeleteFunc(slices.Clone(eyrie.AllKnown), func(k eyrie.Known) bool { return !k.Certified() })
	}
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	w := &writer{root: root, dir: dir, opts: o, manifest: newManifest(set, o)}
	err := w.write(rows)
	if err == nil {
		err = w.commit()
	}
	if err != nil {
		w.discard()
		return nil, fmt.Errorf("export: %s: %w", set, err)
	}
	return w.manifest, nil
}

// The files of an export, in the order in which they are put in place.
const (
	trainFile    = "train.jsonl"
	metaFile     = "meta.jsonl"
	refusedFile  = "refused.jsonl"
	manifestFile = "manifest.json"
)

// writer writes the files of one export aside.
type writer struct {
	root     *os.Root
	dir      string
	opts     Options
	manifest *Manifest
	files    []*file
}

// file is a file being written under a temporary name.
type file struct {
	name string
	f    *os.File
	buf  *bufio.Writer
	sum  hash.Hash
	size int64
	line []byte
}

func (w *writer) create(name string) (*file, error) {
	f, err := w.root.OpenFile(path.Join(w.dir, name+".partial"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	out := &file{name: name, f: f, sum: sha256.New()}
	out.buf = bufio.NewWriterSize(io.MultiWriter(f, out.sum), 1<<20)
	w.files = append(w.files, out)
	return out, nil
}

func (f *file) writeLine() error {
	f.line = append(f.line, '\n')
	f.size += int64(len(f.line))
	_, err := f.buf.Write(f.line)
	return err
}

func (w *writer) write(rows iter.Seq2[*Row, error]) error {
	train, err := w.create(trainFile)
	if err != nil {
		return err
	}
	meta, err := w.create(metaFile)
	if err != nil {
		return err
	}
	refused, err := w.create(refusedFile)
	if err != nil {
		return err
	}
	for r, err := range rows {
		if err != nil {
			return err
		}
		if why := w.refuse(r); why != "" {
			w.manifest.refuse(r)
			refused.line, err = appendRefused(refused.line[:0], r, why)
			if err == nil {
				err = refused.writeLine()
			}
			if err != nil {
				return err
			}
			continue
		}
		w.manifest.add(r)
		train.line = appendTrain(train.line[:0], r)
		if err := train.writeLine(); err != nil {
			return err
		}
		if meta.line, err = appendMeta(meta.line[:0], r); err != nil {
			return err
		}
		if err := meta.writeLine(); err != nil {
			return err
		}
	}
	return nil
}

// refuse returns why a row is left out, or "".
func (w *writer) refuse(r *Row) string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case len(r.IDs.CompletionIDs) == 0:
		return "the completion has no ids: its mask would be all zero"
	case !slices.Contains(w.opts.Include, r.IDs.Known):
		return cmp.Or(r.IDs.Reason, fmt.Sprintf("ids of class %s were not asked for", r.IDs.Known))
	}
	return ""
}

// commit syncs the files and puts them in place, the manifest last.
func (w *writer) commit() error {
	if err := w.compare(); err != nil {
		return err
	}
	for _, f := range w.files {
		if err := f.buf.Flush(); err != nil {
			return err
		}
		if err := f.f.Sync(); err != nil {
			return err
		}
		if err := f.f.Close(); err != nil {
			return err
		}
		w.manifest.Files = append(w.manifest.Files, File{f.name, f.size, hex.EncodeToString(f.sum.Sum(nil))})
	}
	for _, f := range w.files {
		name := path.Join(w.dir, f.name)
		if err := w.root.Rename(name+".partial", name); err != nil {
			return err
		}
	}
	b, err := w.manifest.marshal()
	if err != nil {
		return err
	}
	return durable.WriteBytes(w.root, path.Join(w.dir, manifestFile), b)
}

// compare refuses to replace an export by a smaller one.
func (w *writer) compare() error {
	if w.opts.Force {
		return nil
	}
	b, err := fs.ReadFile(w.root.FS(), path.Join(w.dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	old, err := parseManifest(b)
	if err != nil {
		return fmt.Errorf("%s of the export that is there: %w (move the folder away, or use --force)", manifestFile, err)
	}
	if old.Rows > w.manifest.Rows {
		return fmt.Errorf("%w: %d, and this one %d (export elsewhere with --out, or use --force)", ErrFewer, old.Rows, w.manifest.Rows)
	}
	return nil
}

// discard removes what was written aside.
func (w *writer) discard() {
	for _, f := range w.files {
		f.f.Close()
		w.root.Remove(path.Join(w.dir, f.name+".partial"))
	}
}
