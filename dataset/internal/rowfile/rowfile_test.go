package rowfile_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/eyrie-ai/eyrie/dataset/internal/rowfile"
)

// source opens bytes in memory, which can be read anywhere as a file can.
func source(b []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return inMemory{bytes.NewReader(b)}, nil }
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// printed is a row as a test compares it: its place, then its JSON or its fault.
func printed(r rowfile.Row) string {
	at := fmt.Sprintf("%d: ", r.Line)
	if r.Line == 0 {
		at = fmt.Sprintf("%d/%d: ", r.Group, r.Index)
	}
	switch {
	case r.Fault != nil:
		return at + "!" + r.Fault.Detail
	case r.Torn:
		return at + "~" + string(r.JSON)
	}
	return at + string(r.JSON)
}

// rows reads a file to its end.
func rows(name string, b []byte, opts rowfile.Options) (format string, out []string, err error) {
	f, err := rowfile.Open(name, source(b), opts)
	if err != nil {
		return "", nil, err
	}
	var sum bytes.Buffer
	for r, err := range f.Rows(&sum) {
		if err != nil {
			return f.String(), out, err
		}
		out = append(out, printed(r))
	}
	if !bytes.Equal(sum.Bytes(), b) {
		return f.String(), out, fmt.Errorf("%d bytes were summed, of %d", sum.Len(), len(b))
	}
	return f.String(), out, nil
}

func gzipped(b string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write([]byte(b))
	w.Close()
	return out.String()
}

func zstandard(b string) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return string(w.EncodeAll([]byte(b), nil))
}

func TestRows(t *testing.T) {
	const two = `{"a":1}` + "\n" + `{"a":2}` + "\n"
	long := `{"a":"` + strings.Repeat("x", 300<<10) + `"}`
	tests := []struct {
		name   string
		file   string // its name
		text   string
		opts   rowfile.Options
		format string
		want   []string
	}{
		{"lines", "x", two, rowfile.Options{}, "lines", []string{`1: {"a":1}`, `2: {"a":2}`}},
		{"a byte order mark, CRLF and blank lines", "x", "\ufeff{\"a\":1}\r\n\r\n \t\n{\"a\":2}\r\n", rowfile.Options{}, "lines", []string{`1: {"a":1}`, `4: {"a":2}`}},
		{"U+2028 in a string", "x", "{\"a\":\"\u2028\"}\n", rowfile.Options{}, "lines", []string{"1: {\"a\":\"\u2028\"}"}},
		{"a torn line", "x", two + `{"a":`, rowfile.Options{}, "lines", []string{`1: {"a":1}`, `2: {"a":2}`, `3: ~{"a":`}},
		{"lines that are called .json", "x.json", two, rowfile.Options{}, "lines", []string{`1: {"a":1}`, `2: {"a":2}`}},
		{"a line above the buffer", "x", long + "\n" + two, rowfile.Options{}, "lines", []string{"1: " + long, `2: {"a":1}`, `3: {"a":2}`}},
		{"a line above the limit", "x", long + "\n" + two, rowfile.Options{MaxRow: 1000}, "lines",
			[]string{"1: !a row of 300 KB; the limit is 1000 bytes, which max_row raises", `2: {"a":1}`, `3: {"a":2}`}},
		{"gzip", "x", gzipped(two), rowfile.Options{}, "lines in gzip", []string{`1: {"a":1}`, `2: {"a":2}`}},
		{"gzip of several members", "x", gzipped(two) + gzipped(`{"a":3}`), rowfile.Options{}, "lines in gzip", []string{`1: {"a":1}`, `2: {"a":2}`, `3: ~{"a":3}`}},
		{"zstd", "x", zstandard(two), rowfile.Options{}, "lines in zstd", []string{`1: {"a":1}`, `2: {"a":2}`}},
		{"zstd of several frames", "x", zstandard(two) + zstandard(two), rowfile.Options{}, "lines in zstd", []string{`1: {"a":1}`, `2: {"a":2}`, `3: {"a":1}`, `4: {"a":2}`}},
		{"zstd behind a frame to skip", "x", "\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstandard(two), rowfile.Options{}, "lines in zstd", []string{`1: {"a":1}`, `2: {"a":2}`}},

		{"an array", "x", "\ufeff [\n {\"a\":1},\n{\"a\":\n2}\n]\n", rowfile.Options{}, "array", []string{`2: {"a":1}`, "3: {\"a\":\n2}"}},
		{"an array on one line", "x", `[{"a":1},{"a":"]}\""},[1],"x",null]`, rowfile.Options{}, "array",
			[]string{`1: {"a":1}`, `1: {"a":"]}\""}`, "1: [1]", `1: "x"`, "1: null"}},
		{"an array with a broken element", "x", "[\n{\"a\":1,},\n{a:2}\n,{\"a\":3}]", rowfile.Options{}, "array", []string{`2: {"a":1,}`, "3: {a:2}", `4: {"a":3}`}},
		{"an array with a long element", "x", "[" + long + ",{\"a\":1}]", rowfile.Options{MaxRow: 1000}, "array",
			[]string{"1: !a row of 300 KB; the limit is 1000 bytes, which max_row raises", `1: {"a":1}`}},
		{"an array in gzip", "x", gzipped(`[{"a":1}]`), rowfile.Options{}, "array in gzip", []string{`1: {"a":1}`}},
		{"a stray bracket", "x", `[{"a":1}},{"a":2}]`, rowfile.Options{}, "array", []string{`1: {"a":1}`, "1: }", `1: {"a":2}`}},
		{"values over several lines", "x", "{\n \"a\": 1\n}\n{\n \"a\": [{}]\n}", rowfile.Options{}, "values", []string{"1: {\n \"a\": 1\n}", "4: {\n \"a\": [{}]\n}"}},
		{"lines of which the first is broken", "x", "{\"a\":\n{\"a\":2}\n", rowfile.Options{}, "lines", []string{`1: {"a":`, `2: {"a":2}`}},
		{"lines of arrays", "x", "[1]\n[2]\n", rowfile.Options{}, "lines", []string{"1: [1]", "2: [2]"}},

		{"csv", "x.csv", "a,b\n1,\"two\n \"\"2\"\"\"\r\n,\n", rowfile.Options{}, "csv", []string{`2: {"a":"1","b":"two\n \"2\""}`, `4: {"a":"","b":""}`}},
		{"csv that keeps line ends in quotes", "x.csv", "a\n\"1\r\n2\"\n", rowfile.Options{}, "csv", []string{`2: {"a":"1\r\n2"}`}},
		{"csv with semicolons, told", "x", "\ufeffa;b\n1;2", rowfile.Options{Format: "csv"}, "csv", []string{`2: {"a":"1","b":"2"}`}},
		{"csv in gzip", "x.CSV.gz", gzipped("a\n1\n"), rowfile.Options{}, "csv in gzip", []string{`2: {"a":"1"}`}},
		{"csv with bad records", "x.csv", "a,b\n1\n\"x\"y,2\n3,4\n", rowfile.Options{}, "csv",
			[]string{"2: !1 fields under a header of 2", "3: !text after the closing quote of a field; a quote in quotes is written twice", `4: {"a":"3","b":"4"}`}},
		{"csv with a long record", "x.csv", "a\n" + strings.Repeat("x", 2000) + "\n1\n", rowfile.Options{MaxRow: 1000}, "csv",
			[]string{"2: !a row of 2001 bytes; the limit is 1000 bytes, which max_row raises", `3: {"a":"1"}`}},
		{"csv with bytes that are no text", "x.csv", "a\n\xff\x00\n", rowfile.Options{}, "csv", []string{"2: {\"a\":\"\xff\\u0000\"}"}},
		{"tsv", "x.tsv", "a\tb\n1,5\t2\n", rowfile.Options{}, "tsv", []string{`2: {"a":"1,5","b":"2"}`}},
		{"text", "x.txt", "Say \"hi\".\n\nAnd \\ more\n", rowfile.Options{}, "text", []string{`1: {"prompt":"Say \"hi\"."}`, `3: {"prompt":"And \\ more"}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			format, got, err := rows(tt.file, []byte(tt.text), tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if format != tt.format || strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("%s\ngot  %.500q\nwant %s\n     %.500q", format, got, tt.format, tt.want)
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	const line = `{"a":1}` + "\n"
	tests := []struct {
		name, file, text string
		rows             int // before the error
		want             string
	}{
		{"empty", "x", "", 0, "holds no rows"},
		{"blank", "x", "\ufeff\n \n", 0, "holds no rows"},
		{"empty csv", "x.csv", "\n", 0, "holds no rows"},
		{"UTF-16", "x", "\xff\xfe{\x00", 0, "is UTF-16; convert it with iconv -f UTF-16 -t UTF-8"},
		{"UTF-16 without a mark", "x", "{\x00\"\x00a\x00\"\x00:\x001\x00}\x00\n\x00", 0, "is UTF-16 without a byte order mark; convert it with iconv -f UTF-16LE -t UTF-8"},
		{"zip", "x", "PK\x03\x04", 0, "is a zip archive; unpack it"},
		{"a pointer", "x.parquet", "version https://git-lfs.github.com/spec/v1\n", 0, "is a pointer of Git LFS and not the file itself; fetch it with git lfs pull"},
		{"a web page", "x.jsonl", "<!DOCTYPE html>", 0, "is a web page; download the file itself"},
		{"gzip cut off", "x", gzipped(line)[:20], 1, "the gzip is cut off; download it again"},
		{"zstd cut off", "x", zstandard(line)[:12], 0, "the zstd is cut off; download it again"},
		{"damaged gzip", "x", gzipped(line)[:18] + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0, "damaged|cut off|corrupt"},
		{"an open array", "x", "[" + line, 1, "the JSON array is cut off: it is not closed at line 2, where the file ends; download it again"},
		{"an array cut inside an element", "x", "[\n{\"a\":1},\n{\"a\":[", 1, "line 3: what begins here is never closed: a bracket or a quote is missing in it, or the file is cut off"},
		{"an array with more behind it", "x", "[{}]\n{}", 1, "line 2: more text after the end of the JSON array; make it one array or JSON Lines"},
		{"a quote that stays open", "x.csv", "a\n1\n\"2\n3\n", 1, "line 3: a quote of the record that begins here is never closed"},
		{"a header with a column twice", "x.csv", "a,a\n1,2\n", 0, `line 1: the header names the column "a" twice`},
		{"parquet cut off", "x", "PAR1" + strings.Repeat("\x00", 100), 0, "the Parquet file is cut off: its directory, which stands at the end, is not there; download it again"},
		{"a few bytes of parquet", "x", "PAR1\x00", 0, "the Parquet file is cut off after a few bytes; download it again"},
		{"parquet with a wild directory", "x", "PAR1" + strings.Repeat("\x15", 100) + "\x20\x00\x00\x00PAR1", 0, "directory"},
		{"parquet in gzip", "x", gzipped("PAR1" + strings.Repeat("\x00", 100)), 0, "is Parquet inside gzip, which cannot be read from its end; unpack it"},
		{"arrow cut off", "x", "\xff\xff\xff\xff\x10\x00\x00\x00abc", 0, "the Arrow stream is cut off; download it again"},
		{"arrow of nonsense", "x", "\xff\xff\xff\xff\x10\x00\x00\x00" + strings.Repeat("\xfe", 64), 0, "rrow"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, got, err := rows(tt.file, []byte(tt.text), rowfile.Options{})
			ok := false
			for want := range strings.SplitSeq(tt.want, "|") {
				ok = ok || err != nil && strings.Contains(err.Error(), want)
			}
			if !ok || len(got) != tt.rows {
				t.Errorf("%d rows, then %v; want %d, then %s", len(got), err, tt.rows, tt.want)
			}
		})
	}
}

// TestStops breaks out of every format after its first row.
func TestStops(t *testing.T) {
	for name, text := range map[string]string{"lines": "{}\n{}\n", "array": "[{},{}]", "x.csv": "a\n1\n2\n", "x.txt": "a\nb\n", "gzip": gzipped("{}\n{}\n")} {
		f, err := rowfile.Open(name, source([]byte(text)), rowfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range f.Rows(io.Discard) {
			break
		}
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, text := range []string{"{}\n", "[{},\n", "a\n1\n"} {
		passes := 0
		f, err := rowfile.Open("x.csv", func() (io.ReadCloser, error) {
			if passes++; passes == 1 {
				return io.NopCloser(strings.NewReader(text)), nil
			}
			return io.NopCloser(io.MultiReader(strings.NewReader(text), failing{broken})), nil
		}, rowfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got error
		for _, err := range f.Rows(io.Discard) {
			got = err
		}
		if !errors.Is(got, broken) {
			t.Errorf("%q: got %v, want %v", text, got, broken)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// FuzzText reads any text in every format that text can have. Rows must come
// in order, within the limit, and none of it may panic.
func FuzzText(f *testing.F) {
	for _, s := range []string{"{}\n", "[{},\n{}]", "a,b\n1,\"2\"\n", "{\n}\n", "[1 2", "\"", "a\n\"", "\xff\xfe", "[", "{", "}\n]", gzipped("{}"), zstandard("{}")} {
		f.Add([]byte(s))
	}
	const limit = 64
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, format := range []rowfile.Format{"", rowfile.CSV, rowfile.TSV, rowfile.Text} {
			file, err := rowfile.Open("x", source(b), rowfile.Options{Format: format, MaxRow: limit})
			if err != nil {
				continue
			}
			line := 0
			for r, err := range file.Rows(io.Discard) {
				if err != nil {
					break
				}
				if r.Fault == nil && format == "" && len(r.JSON) > limit {
					t.Errorf("a row of %d bytes", len(r.JSON))
				}
				if r.Line < line {
					t.Errorf("line %d after line %d", r.Line, line)
				}
				line = r.Line
			}
		}
	})
}
