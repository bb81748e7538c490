package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// row is the JSON of one row.
type row struct {
	raw  []byte // until the next row
	line int    // where it starts, from 1
	torn bool   // the file ends inside the line
}

// container cuts the bytes of a file into rows. A new one is a file with a
// function like [lines], and an entry in [containers].
type container struct {
	// fits looks at the first bytes of a file.
	fits func(head []byte) bool
	// rows yields the rows in order. An error is the last thing it yields.
	rows func(r io.Reader) iter.Seq2[row, error]
}

// containers are tried in order.
func containers() []container {
	return []container{
		{fits: func([]byte) bool { return true }, rows: lines}, // last: its rows show whether they are JSON
	}
}

// headSize is how much of a file decides on its container.
const headSize = 4096

// foreign are files that people have instead of JSON Lines, by how they begin.
var foreign = []struct{ magic, name, fix string }{
	{"\x1f\x8b", "gzip", "unpack it with gunzip"},
	{"\x28\xb5\x2f\xfd", "zstd", "unpack it with zstd -d"},
	{"PAR1", "Parquet", "convert it to JSON Lines"},
	{"ARROW1", "Arrow", "convert it to JSON Lines"},
	{"PK\x03\x04", "zip", "unpack it"},
	{"\xff\xfe", "UTF-16", "convert it to UTF-8"},
	{"\xfe\xff", "UTF-16", "convert it to UTF-8"},
}

// choose finds the container of a file by its first bytes, of which there are
// fewer than headSize only when the file is that short.
func choose(head []byte) (container, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, bom))
	if len(text) == 0 && len(head) < headSize {
		return container{}, errors.New("holds no rows")
	}
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return container{}, fmt.Errorf("is %s, not JSON Lines; %s", f.name, f.fix)
		}
	}
	if bytes.HasPrefix(text, []byte("[")) {
		return container{}, errors.New("is a JSON array, not JSON Lines; convert it with jq -c '.[]'")
	}
	for _, c := range containers() {
		if c.fits(head) {
			return c, nil
		}
	}
	return container{}, errors.New("is in no form that can be read")
}
