package h1

import (
	"bytes"
	"io"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"
)

// FuzzDechunker reads bodies in chunks as they come and in pieces, and compares
// with the standard library's reading of them.
func FuzzDechunker(f *testing.F) {
	for _, body := range []string{
		"3\r\nabc\r\n0\r\n\r\n", "3;x=1\r\nabc\r\na \r\n0123456789\r\n0\r\nA: b\r\n\r\nrest", "3\nabc\r\n0\r\n\r\n", "3;\nabc\r\n0\r\n\r\n", "0\r\n\r\n", "G\r\n", "-1\r\n", "3\r\nabcd\r\n",
		"fffffffffffffffff\r\n", "3\r\nab", strings.Repeat("1\r\nx\r\n", 50) + "0\r\n\r\n",
	} {
		f.Add([]byte(body), uint8(3))
	}
	f.Fuzz(func(t *testing.T, body []byte, size uint8) {
		whole, over, good := dechunk(body, len(body)+1)
		pieces, over2, good2 := dechunk(body, int(size)+1)
		if good != good2 || good && (over != over2 || !bytes.Equal(whole, pieces)) {
			t.Fatalf("%q: whole %q, %v, %v; in pieces %q, %v, %v", body, whole, over, good, pieces, over2, good2)
		}
		want, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(body)))
		// The library leaves the trailer to its caller, and lets fewer sizes be.
		if over && (err != nil || !bytes.Equal(whole, want)) && !bytes.ContainsAny(body, ";") && len(body) < 1<<10 {
			t.Errorf("%q: %q, and the library %q, %v", body, whole, want, err)
		}
		if !good && err == nil && !bytes.Contains(body, []byte("\n0")) && !bytes.HasPrefix(body, []byte("0")) {
			t.Errorf("%q is refused, and the library reads %q", body, want)
		}
	})
}

// dechunk reads a body in pieces.
func dechunk(body []byte, size int) (data []byte, over, good bool) {
	var d dechunker
	for piece := range slices.Chunk(bytes.Clone(body), size) {
		n, _, err := d.take(piece)
		data = append(data, piece[:n]...)
		if err != nil {
			return data, false, false
		}
		if d.over() {
			return data, true, true
		}
	}
	return data, false, true
}
