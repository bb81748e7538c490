package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// width is how wide lines on stdout may be: what COLUMNS says, or the terminal;
// 0 where there is no bound.
func (a *app) width() int {
	if n, err := strconv.Atoi(a.getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := a.stdout.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}

// printCards prints rows one below the other, each cell with its heading, for
// terminals that a table would not fit in. The first two cells are the row's
// title; what is not given is left out.
func printCards(w io.Writer, width int, head []string, rows [][]string) {
	for _, row := range rows {
		fmt.Fprintf(w, "%s  %s\n", row[0], row[1])
		var parts []string
		for i := 2; i < len(row); i++ {
			if row[i] != "" && row[i] != none {
				parts = append(parts, strings.ToLower(head[i])+" "+row[i])
			}
		}
		fmt.Fprint(w, wrapped(strings.Join(parts, ", "), max(width-1, 20)))
	}
}

// wrapped breaks a text into lines of so many characters where words allow.
func wrapped(text string, width int) string {
	const indent = "  "
	var b strings.Builder
	line := indent
	for word := range strings.FieldsSeq(text) {
		if line != indent && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

// widest is the length of the longest line.
func widest(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n = max(n, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return n
}
