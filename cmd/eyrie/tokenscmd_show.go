package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/eyrie-ai/eyrie/tokenizer"
)

// painter writes colours where they are wanted.
type painter struct{ on bool }

func (a *app) painter(mode string) (painter, error) {
	switch mode {
	case "auto":
		return painter{a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb" && isTerminal(a.stdout)}, nil
	case "always":
		return painter{true}, nil
	case "never":
		return painter{false}, nil
	}
	return painter{}, &exitError{exitConfig, fmt.Errorf("--color %s: want %s", mode, colorHelp)}
}

// colour is the parameter of the escape sequence that begins it.
type colour string

const (
	faint   colour = "2"
	red     colour = "31"
	green   colour = "32"
	magenta colour = "35"
)

func (p painter) paint(c colour, s string) string {
	if !p.on {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// pieceTable prints ids with their pieces, one a line.
type pieceTable struct {
	painter
	tok *tokenizer.Tokenizer
	w   io.Writer
}

func (a *app) pieces(tok *tokenizer.Tokenizer, color string) (*pieceTable, error) {
	p, err := a.painter(color)
	if err != nil {
		return nil, err
	}
	return &pieceTable{p, tok, a.stdout}, nil
}

// print prints ids, and the loss mask beside them where there is one.
func (t *pieceTable) print(ids []int32, mask []bool) error {
	w := bufio.NewWriter(t.w)
	loss := 0
	for i, id := range ids {
		if mask != nil {
			bit := t.paint(faint, "0")
			if mask[i] {
				bit = t.paint(green, "1")
				loss++
			}
			fmt.Fprintf(w, "%s  ", bit)
		}
		fmt.Fprintf(w, "%7d  %s\n", id, t.piece(id, mask != nil && mask[i]))
	}
	fmt.Fprintf(w, "%d tokens", len(ids))
	if mask != nil {
		fmt.Fprintf(w, ", %d with loss", loss)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// piece is a token's bytes in quotes: control tokens in a colour of their own,
// what is trained on in another.
func (t *pieceTable) piece(id int32, trained bool) string {
	b, ok := t.tok.Token(id)
	switch {
	case !ok:
		return t.paint(red, "not in the vocabulary")
	case t.tok.IsSpecial(id):
		return t.paint(magenta, strconv.Quote(string(b)))
	case trained:
		return t.paint(green, strconv.Quote(string(b)))
	}
	return strconv.Quote(string(b))
}

// columns is how wide the terminal is that stream leads to; 0 where it is none.
func columns(stream any) int {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// hang writes a table whose last column, of text, begins at the given column.
// Lines that are wider than width are broken between words, and go on under that
// column. With width 0 nothing is broken.
func hang(w io.Writer, table string, column, width int) {
	const narrow = 12 // columns that are too few for text
	if width-column < narrow {
		column = 2
	}
	for line := range strings.Lines(table) {
		line = strings.TrimRight(line, " \n")
		for width-column >= narrow && utf8.RuneCountInString(line) > width && !strings.Contains(line, "\x1b") {
			at := breakAt(line, column, width)
			if at == 0 {
				break
			}
			fmt.Fprintln(w, strings.TrimRight(line[:at], " "))
			line = strings.Repeat(" ", column) + strings.TrimLeft(line[at:], " ")
		}
		fmt.Fprintln(w, line)
	}
}

// breakAt is the last space behind the column with which a line fits, or else
// the first; 0 where there is none.
func breakAt(line string, column, width int) int {
	at, n := 0, 0
	for i, r := range line {
		if n > width && at > 0 {
			break
		}
		if r == ' ' && n > column {
			at = i
		}
		n++
	}
	return at
}
