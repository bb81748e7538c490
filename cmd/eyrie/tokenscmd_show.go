package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

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
