package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"

	"github.com/eyrie-ai/eyrie"
)

// Verification is what a check of an export found to be right.
type Verification struct {
	Rows int // that are there, each of which is as it would be made now
	// More counts the rows that would be exported now and are not there: the run
	// has gone on, or other classes are asked for.
	More int
}

// Verify reads an export of the set again and compares it with the rows that
// would be exported now: the digests of all files, and then every row, in the
// form that its format gives it. check looks at each of these rows beside, and
// may be nil. The error is the first difference.
//
// o is what the export was made with; its format is that of the export.
func Verify(root *os.Root, dir string, rows iter.Seq2[*Row, error], o Options, check func(*Row) error) (*Verification, error) {
	v, err := verify(root, dir, rows, o, check)
	if err != nil {
		return nil, fmt.Errorf("export: %s: %w", dir, err)
	}
	return v, nil
}

func verify(root *os.Root, dir string, rows iter.Seq2[*Row, error], o Options, check func(*Row) error) (*Verification, error) {
	b, err := fs.ReadFile(root.FS(), path.Join(dir, manifestFile))
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if m.Format != "" {
		if o.Format, err = Lookup(m.Format); err != nil {
			return nil, err
		}
	}
	if o, err = o.normal(); err != nil {
		return nil, err
	}
	for _, f := range m.Files {
		if err := verifyFile(root, dir, f); err != nil {
			return nil, err
		}
	}
	if len(m.Splits) == 0 { // of before there were splits
		m.Splits = []Part{{eyrie.Train, m.Rows}}
		m.Files[0].Split, m.Files[0].Rows = eyrie.Train, m.Rows
	}
	c := &comparison{opts: o, coder: o.Format.coder(&o), check: check, next: map[string]func() (*stored, error, bool){}, at: map[string]*stored{}}
	for _, s := range m.Splits {
		next, stop := iter.Pull2(storedRows(root, dir, m, o.Format, s.Name))
		defer stop()
		c.next[s.Name] = next
		if err := c.advance(s.Name); err != nil {
			return nil, err
		}
	}
	return &c.found, c.run(rows)
}

// verifyFile compares a file with what the manifest says of it.
func verifyFile(root *os.Root, dir string, f File) error {
	in, err := root.Open(path.Join(dir, f.Name))
	if err != nil {
		return err
	}
	defer in.Close()
	h := sha256.New()
	n, err := io.Copy(h, in)
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); n != f.Bytes || sum != f.SHA256 {
		return fmt.Errorf("%s has %d bytes with the digest %s, and the manifest says %d and %s", f.Name, n, sum, f.Bytes, f.SHA256)
	}
	return nil
}

// comparison walks through the rows of an export and those of a run, which are
// in the same order in each split.
type comparison struct {
	opts  Options
	coder coder
	check func(*Row) error
	next  map[string]func() (*stored, error, bool)
	at    map[string]*stored // the next of each split that is not yet compared
	found Verification
}

func (c *comparison) advance(split string) error {
	s, err, ok := c.next[split]()
	if !ok {
		s = nil
	}
	c.at[split] = s
	return err
}

func (c *comparison) run(rows iter.Seq2[*Row, error]) error {
	for r, err := range rows {
		if err != nil {
			return err
		}
		split, err := splitName(r)
		if err != nil {
			return err
		}
		s := c.at[split]
		if s == nil || s.id != r.ID {
			if c.opts.refuse(r) == "" {
				c.found.More++
			}
			continue
		}
		if err := c.compare(s, r); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		c.found.Rows++
		if err := c.advance(split); err != nil {
			return err
		}
	}
	for _, s := range c.at {
		if s != nil {
			return fmt.Errorf("%s: the run has no such row at this place", s)
		}
	}
	return nil
}

// compare finds the first difference between a row as it is stored and as it
// would be made.
func (c *comparison) compare(s *stored, r *Row) error {
	if !c.opts.Format.conversations {
		if err := c.compareIDs(s, r); err != nil {
			return err
		}
	}
	if s.line != nil {
		b := &block{batch: batch{rows: []*Row{r}}}
		if err := c.coder.encode(b); err != nil {
			return err
		}
		if err := compareLines(s.line, bytes.TrimSuffix(b.data, []byte("\n"))); err != nil {
			return err
		}
	}
	if c.check != nil {
		return c.check(r)
	}
	return nil
}

func (c *comparison) compareIDs(s *stored, r *Row) error {
	prompt := len(r.IDs.PromptIDs)
	n := prompt + len(r.IDs.CompletionIDs)
	if len(s.ids) != len(s.mask) {
		return fmt.Errorf("there are %d ids and a mask of %d", len(s.ids), len(s.mask))
	}
	for i := range min(n, len(s.ids)) {
		id, one := int32(0), byte(0)
		if i < prompt {
			id = r.IDs.PromptIDs[i]
		} else {
			id, one = r.IDs.CompletionIDs[i-prompt], 1
		}
		if s.ids[i] != id {
			return fmt.Errorf("input_ids[%d] is %s, and would be %s; before it stands %s",
				i, c.token(s.ids[i]), c.token(id), c.text(s.ids[max(0, i-12):i]))
		}
		if s.mask[i] != one {
			return fmt.Errorf("loss_mask[%d] is %d, and would be %d, at %s", i, s.mask[i], one, c.token(id))
		}
	}
	if n != len(s.ids) {
		return fmt.Errorf("there are %d ids, and would be %d", len(s.ids), n)
	}
	return nil
}

// token prints an id with its text.
func (c *comparison) token(id int32) string {
	if c.opts.Decode == nil {
		return fmt.Sprint(id)
	}
	return fmt.Sprintf("%d %s", id, c.text([]int32{id}))
}

func (c *comparison) text(ids []int32) string {
	if c.opts.Decode == nil {
		return fmt.Sprint(ids)
	}
	b, err := c.opts.Decode(nil, ids)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%q", b)
}

// compareLines shows where two lines part.
func compareLines(is, would []byte) error {
	if bytes.Equal(is, would) {
		return nil
	}
	i := 0
	for i < min(len(is), len(would)) && is[i] == would[i] {
		i++
	}
	around := func(b []byte) string { return string(b[max(0, i-40):min(len(b), i+40)]) }
	return fmt.Errorf("from byte %d on the line is %q, and would be %q", i, around(is), around(would))
}
