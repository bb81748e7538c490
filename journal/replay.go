package journal

import (
	"fmt"
	"io"
	"os"
	"path"

	"github.com/eyrie-ai/eyrie/internal/durable"
)

// replay folds the existing records, leaves the last segment open for
// appending, and has those sealed that are not.
func (j *Journal) replay(fold func(Entry) error) (*Torn, error) {
	segs, err := segments(j.fs)
	if err != nil {
		return nil, err
	}
	if len(segs) == 0 {
		return nil, nil
	}
	if fold == nil {
		fold = func(Entry) error { return nil }
	}
	last := segs[len(segs)-1]
	full := segs
	if last.plain {
		full = segs[:len(segs)-1]
	}
	for o := range ahead(j.fs, full, false) {
		for _, e := range o.entries {
			if err := fold(e); err != nil {
				return nil, err
			}
		}
		if o.err != nil {
			return nil, o.err
		}
		if !o.indexed {
			j.sealer.enqueue(sealJob{o.segment.number, endOf(j.fs, o.segment.number)})
		}
	}
	if !last.plain {
		return nil, j.follow(last.number)
	}
	var foldErr error
	emit := func(e Entry) bool {
		foldErr = fold(e)
		return foldErr == nil
	}
	torn, err := j.resume(last.number, emit)
	if foldErr != nil {
		return nil, foldErr
	}
	return torn, err
}

// follow goes on after a last segment that is sealed.
func (j *Journal) follow(n int) error {
	c, err := openSegment(j.fs, n)
	if err != nil {
		return err
	}
	defer c.file.Close()
	j.number, j.end = n, c.table.textSize()
	return nil
}

// resume folds the last segment and opens it for appending.
func (j *Journal) resume(n int, emit func(Entry) bool) (torn *Torn, err error) {
	f, err := j.fs.OpenFile(plainPath(n), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", durable.Explain(err))
	}
	defer func() {
		if j.file != f {
			f.Close()
		}
	}()
	t, err := scan{number: n, last: true, decode: decodeOutline}.read(io.NewSectionReader(f, 0, 1<<62), emit)
	if err != nil {
		return nil, err
	}
	if t.good < t.size {
		if torn, err = cut(j.fs, f, n, t); err != nil {
			return nil, err
		}
	}
	if t.good == 0 {
		// Its first line never became whole: nothing was in it.
		if n > 1 {
			if j.end, err = sizeOf(j.fs, n-1); err != nil {
				return nil, err
			}
		}
		j.number = n - 1
		return torn, nil
	}
	if err := renew(f, t); err != nil {
		return nil, fmt.Errorf("journal: segment %06d: %w", n, durable.Explain(err))
	}
	j.file, j.number, j.end = f, n, t.good
	return torn, nil
}

// renew writes again what no sync line vouches for. It can be read, but after a
// sync that failed that proves nothing: the system may hold it in memory and
// believe that it is on the disk.
func renew(f File, t tail) error {
	b := make([]byte, t.good-t.vouched)
	if _, err := f.ReadAt(b, t.vouched); err != nil {
		return err
	}
	if _, err := f.WriteAt(b, t.vouched); err != nil {
		return err
	}
	return f.Sync()
}

// cut moves what follows the good part of a segment into a file of its own.
func cut(fsys FS, f File, number int, t tail) (*Torn, error) {
	kept := path.Join(dirName, fmt.Sprintf("torn-%06d-%d.jsonl", number, t.good))
	err := durable.WriteFileIn(fsys, kept, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(f, t.good, t.size-t.good))
		return err
	})
	if err == nil {
		err = f.Truncate(t.good)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, fmt.Errorf("journal: cutting the torn tail: %w", durable.Explain(err))
	}
	return &Torn{fmt.Sprintf("%06d", number), t.good, t.size - t.good, kept, t.err}, nil
}

// sizeOf is the size of a segment's text.
func sizeOf(fsys FS, n int) (int64, error) {
	c, err := openSegment(fsys, n)
	if err != nil {
		return 0, err
	}
	defer c.file.Close()
	if c.packed {
		return c.table.textSize(), nil
	}
	info, err := c.file.Stat()
	if err != nil {
		return 0, fmt.Errorf("journal: %w", err)
	}
	return info.Size(), nil
}
