package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Layout names how a row holds a conversation.
type Layout string

// The layouts.
const (
	Auto     Layout = "auto"     // whichever fits the first rows
	Messages Layout = "messages" // "messages" of "role" and "content"
	ShareGPT Layout = "sharegpt" // "conversations" of "from" and "value"
)

// layout turns the JSON of a row into a draft. A new one is a file with a
// function like [conversation], and an entry in [layouts].
type layout struct {
	name Layout
	// fits looks at the columns of a row.
	fits func(columns []column) bool
	// read reads a row's object. Its error is a [*drop] or bad JSON.
	read func(w *walker) (*draft, error)
}

// layouts are tried in order.
func layouts() []layout {
	return []layout{
		conversation(Messages, "role", "messages", "conversations", "conversation"),
		conversation(ShareGPT, "from", "conversations", "conversation", "messages"),
	}
}

// column is a field of a row as the choice of a layout sees it.
type column struct {
	name  string
	first []string // the keys of the first element, where it is a list of objects
}

// sniffRows is how many rows may pass before one fits a layout.
const sniffRows = 100

// sniff finds the container and the layout of the set.
func (s *Set) sniff() error {
	candidates, err := candidateLayouts(s.opts.Layout)
	if err != nil {
		return err
	}
	f, err := s.src.open()
	if err != nil {
		return err
	}
	defer f.Close()
	br := bufio.NewReaderSize(f, headSize)
	head, err := br.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if s.form, err = choose(head); err != nil {
		return err
	}
	s.layout, err = sniffLayout(s.form, br, candidates)
	return err
}

// candidateLayouts returns what the caller allows.
func candidateLayouts(l Layout) ([]layout, error) {
	all := layouts()
	if l == "" || l == Auto {
		return all, nil
	}
	var names []string
	for _, c := range all {
		if c.name == l {
			return []layout{c}, nil
		}
		names = append(names, string(c.name))
	}
	return nil, fmt.Errorf("layout %q is not known; there are %s, %s", l, Auto, strings.Join(names, ", "))
}

// sniffLayout returns the layout of the first row that has one.
func sniffLayout(c container, r io.Reader, candidates []layout) (layout, error) {
	var w walker
	var objects, others int
	var columns []string
	for row, err := range c.rows(r) {
		if err != nil {
			return layout{}, err
		}
		cols, err := w.columns(row.raw)
		if err != nil {
			others++
		} else {
			if objects++; columns == nil {
				columns = columnNames(cols)
			}
			for _, l := range candidates {
				if l.fits(cols) {
					return l, nil
				}
			}
		}
		if objects+others == sniffRows {
			break
		}
	}
	switch {
	case objects > 0:
		return layout{}, fmt.Errorf("is not of layout %s; its first row has the columns %s",
			layoutNames(candidates), strings.Join(columns, ", "))
	case others > 0:
		return layout{}, fmt.Errorf("is not JSON Lines; none of its first %d lines is a JSON object", others)
	}
	return layout{}, errors.New("holds no rows")
}

// maxColumns is how many columns an error names.
const maxColumns = 20

func columnNames(cols []column) []string {
	names := []string{}
	for _, c := range cols[:min(len(cols), maxColumns)] {
		names = append(names, clip(c.name))
	}
	return names
}

func layoutNames(ls []layout) string {
	var names []string
	for _, l := range ls {
		names = append(names, string(l.name))
	}
	return strings.Join(names, " or ")
}

// list returns the first of the named columns that holds a list of objects.
func list(columns []column, names []string) (column, bool) {
	for _, n := range names {
		for _, c := range columns {
			if c.name == n && len(c.first) > 0 {
				return c, true
			}
		}
	}
	return column{}, false
}

// has reports whether the elements of a list have the key.
func (c column) has(key string) bool { return slices.Contains(c.first, key) }
