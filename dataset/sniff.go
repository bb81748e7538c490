package dataset

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/eyrie-ai/eyrie/dataset/internal/rowfile"
)

// column is a field of a row as the choice of a layout sees it.
type column struct {
	name string
	raw  []byte // its value, until the next row
}

// has reports whether a row has a column with something in it.
func has(row []column, name string) bool {
	return slices.ContainsFunc(row, func(c column) bool {
		return c.name == name && !bytes.Equal(c.raw, []byte("null")) && !bytes.Equal(c.raw, []byte(`""`))
	})
}

// listed reports whether one of the named columns holds a list of objects with
// one of the keys, as it is or as text.
func listed(row []column, names []string, keys ...string) bool {
	return slices.ContainsFunc(row, func(c column) bool {
		return slices.Contains(names, c.name) &&
			slices.ContainsFunc(firstKeys(c.raw), func(k string) bool { return slices.Contains(keys, k) })
	})
}

// hasTranscript reports whether a row holds a text in which speakers take
// turns.
func hasTranscript(row []column) bool {
	return slices.ContainsFunc(row, func(c column) bool {
		return slices.Contains(transcripts, c.name) && isTranscript(unquoted(c.raw))
	})
}

var (
	userTurn      = regexp.MustCompile(`(?m)^\s*(USER|User|Human|HUMAN):`)
	assistantTurn = regexp.MustCompile(`(?m)^\s*(ASSISTANT|Assistant|GPT):`)
)

func isTranscript(text string) bool {
	return userTurn.MatchString(text) && assistantTurn.MatchString(text)
}

// sniff finds the layout of a file by its first rows.
func (s *Set) sniff(f *rowfile.File, allowed []layout) (layout, error) {
	w := walker{rules: &s.rules}
	var seen sniffed
	for row, err := range f.Rows(io.Discard) {
		if err != nil {
			return layout{}, err
		}
		if row.Fault != nil {
			continue
		}
		cols, err := w.columns(row.JSON)
		if err != nil {
			seen.others++
		} else {
			for _, l := range allowed {
				if l.fits(cols) {
					return l, nil
				}
			}
			seen.object(cols)
		}
		if seen.objects+seen.others == sniffRows {
			break
		}
	}
	return layout{}, seen.error(f.Format(), allowed)
}

// sniffed is what was seen of a file that no layout fits.
type sniffed struct {
	objects, others int
	columns         []string // of the first row
	looks           Layout   // that the first row has, if it was not allowed
}

func (n *sniffed) object(cols []column) {
	if n.objects++; n.objects > 1 {
		return
	}
	n.columns = columnNames(cols)
	for _, l := range layouts() {
		if l.fits(cols) {
			n.looks = l.name
			return
		}
	}
}

// error says what the file is.
func (n *sniffed) error(f rowfile.Format, allowed []layout) error {
	columns := "no columns"
	if len(n.columns) > 0 {
		columns = "the columns " + strings.Join(n.columns, ", ")
	}
	switch {
	case n.objects > 0 && slices.Contains(n.columns, "input_ids"):
		return fmt.Errorf("holds token ids and no conversations; its first row has %s", columns)
	case n.objects > 0 && n.looks != "":
		return fmt.Errorf("is not of layout %s but looks like %s; its first row has %s", layoutNames(allowed), n.looks, columns)
	case n.objects > 0 && len(allowed) > 1:
		return fmt.Errorf("is of no layout that is known; its first row has %s; tell which holds what, such as columns: {prompt: %s}", columns, firstOf(n.columns))
	case n.objects > 0:
		return fmt.Errorf("is not of layout %s; its first row has %s", layoutNames(allowed), columns)
	case n.others > 0 && f == rowfile.Lines:
		return fmt.Errorf("is not JSON Lines; none of its first %d lines is a JSON object", n.others)
	case n.others > 0:
		return fmt.Errorf("is no list of JSON objects; none of its first %d values is one", n.others)
	}
	return errNoRows
}

func firstOf(names []string) string {
	if len(names) == 0 {
		return "text"
	}
	return names[0]
}
