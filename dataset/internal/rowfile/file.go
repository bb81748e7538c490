package rowfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"
)

// Format says where the rows of a file begin and end.
type Format string

// The formats.
const (
	Auto    Format = "auto"
	Lines   Format = "lines"
	Array   Format = "array"
	Values  Format = "values"
	CSV     Format = "csv"
	TSV     Format = "tsv"
	Text    Format = "text"
	Parquet Format = "parquet"
	Arrow   Format = "arrow"
)

// Row is one row of a file.
type Row struct {
	JSON  []byte // the row as it stands, or as one object; until the next row
	Fault *Fault // set when there is no JSON to give
	Torn  bool   // the file ends inside the row's line
	Place
}

// Place says where in its file a row stands: by line, or by its number in a
// group of rows. All of it counts from 1.
type Place struct {
	Line  int
	Group int
	Index int
}

// Fault says why a row could not be cut out.
type Fault struct {
	TooLong bool // the row is above the limit; else it breaks the rules of its format
	Detail  string
}

// DefaultMaxRow is the limit of a row where none is given.
const DefaultMaxRow = 64 << 20

// Options say how a file is read. The zero value is ready to use.
type Options struct {
	Format Format // [Auto] or empty finds out; only CSV, TSV and Text can be told
	MaxRow int    // the most bytes of a row; 0 is [DefaultMaxRow]
}

// File is a file whose format is known.
type File struct {
	open   func() (io.ReadCloser, error)
	format Format
	packed packing
	max    int
}

// Open finds out how to read a file. It looks at the first bytes, and at the
// name where they say nothing. open is called anew for every pass.
func Open(name string, open func() (io.ReadCloser, error), opts Options) (*File, error) {
	f := &File{open: open, max: opts.MaxRow}
	if f.max <= 0 {
		f.max = DefaultMaxRow
	}
	if err := f.sniff(name, opts.Format); err != nil {
		return nil, err
	}
	return f, nil
}

// Format returns the format that was found.
func (f *File) Format() Format { return f.format }

// String names the format and what it is packed in, as in "lines in gzip".
func (f *File) String() string {
	if f.packed == unpacked {
		return string(f.format)
	}
	return string(f.format) + " in " + f.packed.String()
}

// ErrEmpty is the error of a file without a row.
var ErrEmpty = errors.New("holds no rows")

// headSize is how much of a file decides on its format.
const headSize = 64 << 10

// sniff finds the packing and the format.
func (f *File) sniff(name string, told Format) error {
	r, err := f.open()
	if err != nil {
		return err
	}
	defer r.Close()
	br := bufio.NewReaderSize(r, 16)
	magic, err := br.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	f.packed = packingOf(magic)
	in, err := f.packed.unpack(br)
	if err != nil {
		return err
	}
	defer in.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return f.packed.explain(err)
	}
	if n == 0 && errors.Is(err, io.ErrUnexpectedEOF) && f.packed != unpacked {
		return f.packed.explain(err)
	}
	f.format, err = formatOf(head[:n], n < headSize, name, told)
	if err == nil && f.format == Parquet && f.packed != unpacked {
		err = fmt.Errorf("is Parquet inside %s, which cannot be read from its end; unpack it", f.packed)
	}
	return err
}

// bom is the byte order mark that some editors put before UTF-8.
var bom = []byte("\ufeff")

// foreign are files that people have instead, by how they begin.
var foreign = []struct{ magic, name, fix string }{
	{"PK\x03\x04", "a zip archive", "unpack it"},
	{"BZh", "bzip2", "unpack it with bunzip2"},
	{"\xfd7zXZ\x00", "xz", "unpack it with unxz"},
	{"\xff\xfe\x00\x00", "UTF-32", "convert it with iconv -f UTF-32 -t UTF-8"},
	{"\xff\xfe", "UTF-16", "convert it with iconv -f UTF-16 -t UTF-8"},
	{"\xfe\xff", "UTF-16", "convert it with iconv -f UTF-16 -t UTF-8"},
	{"SQLite format 3\x00", "an SQLite database", "export its table as JSON Lines"},
	{"\x89HDF", "HDF5", "convert it to Parquet"},
	{"\x80\x04", "a Python pickle", "convert it to JSON Lines"},
	{"version https://git-lfs", "a pointer of Git LFS and not the file itself", "fetch it with git lfs pull"},
	{"<!DOCTYPE", "a web page", "download the file itself"},
	{"<html", "a web page", "download the file itself"},
}

// formatOf finds the format of a file by its first bytes; all says that they
// are the whole of it.
func formatOf(head []byte, all bool, name string, told Format) (Format, error) {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return "", fmt.Errorf("is %s; %s", f.name, f.fix)
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Parquet, nil
	case bytes.HasPrefix(head, []byte("PARE")):
		return "", errors.New("is encrypted Parquet; decrypt it")
	case bytes.HasPrefix(head, []byte(arrowMagic)), bytes.HasPrefix(head, arrowContinuation):
		return Arrow, nil
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head, bom))
	if len(text) == 0 && all {
		return "", ErrEmpty
	}
	if fixed, err := byName(name, told); fixed != "" || err != nil {
		return fixed, err
	}
	if strided(head) {
		return "", errors.New("is UTF-16 without a byte order mark; convert it with iconv -f UTF-16LE -t UTF-8")
	}
	switch {
	case bytes.HasPrefix(text, []byte("[")) && !oneLineArrays(text):
		return Array, nil
	case bytes.HasPrefix(text, []byte("{")) && printed(text, all):
		return Values, nil
	}
	return Lines, nil
}

// byName is the format that a file was told to have or that its name gives.
func byName(name string, told Format) (Format, error) {
	switch told {
	case CSV, TSV, Text:
		return told, nil
	case Auto, "":
	default:
		return "", fmt.Errorf("format %q cannot be told; there are auto, csv, tsv and text, the others are found by what is in the file", told)
	}
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	for _, suffix := range packSuffixes {
		base = strings.TrimSuffix(base, suffix)
	}
	switch path.Ext(base) {
	case ".csv":
		return CSV, nil
	case ".tsv":
		return TSV, nil
	case ".txt":
		return Text, nil
	}
	return "", nil
}

// strided reports whether every second byte is a zero, as in English UTF-16.
func strided(head []byte) bool {
	zeros := [2]int{}
	n := min(len(head), 512) &^ 1
	for i := range n {
		if head[i] == 0 {
			zeros[i%2]++
		}
	}
	return n >= 8 && (zeros[0] > n*2/5 && zeros[1] == 0 || zeros[1] > n*2/5 && zeros[0] == 0)
}

// oneLineArrays tells lines that each hold an array from one array over
// several lines: the first line closes what it opens, and another follows it.
func oneLineArrays(text []byte) bool {
	first, rest, more := bytes.Cut(text, []byte("\n"))
	rest = bytes.TrimSpace(rest)
	return more && balanced(first) && len(rest) > 0 && rest[0] == '['
}

// printed tells a JSON object that is printed over several lines from JSON
// Lines: the first line leaves something open, and the second, which is there,
// does not begin an object of its own.
func printed(text []byte, all bool) bool {
	first, rest, more := bytes.Cut(text, []byte("\n"))
	rest = bytes.TrimSpace(rest)
	if !more || len(rest) == 0 {
		return false
	}
	return !balanced(first) && (rest[0] != '{' || all && bytes.HasSuffix(bytes.TrimSpace(first), []byte("[")))
}

// balanced reports whether text closes every bracket that it opens.
func balanced(text []byte) bool {
	var s nesting
	for _, c := range text {
		s.step(c)
	}
	return s.depth <= 0 && !s.quoted
}

// Rows reads the file from its beginning on. What is read of it, packed as it
// is, goes to sum, all of it when the rows are read to their end. An error is
// the last thing that is yielded.
func (f *File) Rows(sum io.Writer) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		r, err := f.open()
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer r.Close()
		if f.format == Parquet {
			f.parquetRows(r, sum)(yield)
			return
		}
		raw := io.TeeReader(r, sum)
		in, err := f.packed.unpack(raw)
		if err != nil {
			yield(Row{}, err)
			return
		}
		defer in.Close()
		for row, err := range f.cut(in) {
			if err != nil {
				yield(Row{}, f.packed.explain(err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if _, err := io.Copy(io.Discard, raw); err != nil {
			yield(Row{}, err)
		}
	}
}

// cut returns the rows of an unpacked stream.
func (f *File) cut(r io.Reader) iter.Seq2[Row, error] {
	switch f.format {
	case Array, Values:
		return jsonRows(r, f.format == Array, f.max)
	case CSV:
		return csvRows(r, 0, f.max)
	case TSV:
		return csvRows(r, '\t', f.max)
	case Text:
		return textRows(r, f.max)
	case Arrow:
		return arrowRows(r, f.max)
	}
	return lineRows(r, f.max)
}

// tooLong is the fault of a row above the limit.
func tooLong(size, most int) *Fault {
	return &Fault{TooLong: true, Detail: fmt.Sprintf("a row of %s; the limit is %s, which max_row raises", bytesText(size), bytesText(most))}
}

// bytesText prints a size for people.
func bytesText(n int) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// extensions are the endings by which files of rows are known in a folder.
var extensions = []string{".jsonl", ".ndjson", ".json", ".traj", ".csv", ".tsv", ".txt", ".parquet", ".arrow"}

// IsName reports whether a name in a folder looks like a file of rows.
func IsName(name string) bool {
	name = strings.ToLower(name)
	for _, suffix := range packSuffixes {
		name = strings.TrimSuffix(name, suffix)
	}
	return slices.Contains(extensions, path.Ext(name))
}
