package tokenizer

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
)

// parseTiktoken reads a tiktoken vocabulary: a line for each token, its bytes
// in base 64, a space, and its rank in decimal. The rank is both the id and
// the merge priority. Ranks must be 0, 1, 2, … in the order of the lines,
// because that is how every published file is written and a gap always means
// damage.
//
// All tokens share one string.
func parseTiktoken(name string, data []byte) ([]string, error) {
	ends := make([]int, 0, bytes.Count(data, []byte("\n"))+1)
	buf := make([]byte, 0, len(data)*3/4)
	for line := 1; len(data) > 0; line++ {
		var row []byte
		row, data, _ = bytes.Cut(data, []byte("\n"))
		row = bytes.TrimSuffix(row, []byte("\r"))
		if len(row) == 0 && len(data) == 0 {
			break
		}
		bad := func(format string, args ...any) error {
			return fmt.Errorf("tokenizer: %s:%d: %s", name, line, fmt.Sprintf(format, args...))
		}
		text, rank, ok := bytes.Cut(row, []byte(" "))
		if !ok {
			return nil, bad("want a token in base 64, a space and a rank, found %q", clip(row))
		}
		start := len(buf)
		var err error
		if buf, err = base64.StdEncoding.AppendDecode(buf, text); err != nil {
			return nil, bad("token %q: %v", clip(text), err)
		}
		if len(buf) == start {
			return nil, bad("empty token")
		}
		if n, err := strconv.Atoi(string(rank)); err != nil || n != len(ends) {
			return nil, bad("rank is %q, want %d: ranks count up from 0 without gaps", clip(rank), len(ends))
		}
		ends = append(ends, len(buf))
	}
	all, start := string(buf), 0
	tokens := make([]string, len(ends))
	for i, end := range ends {
		tokens[i], start = all[start:end], end
	}
	return tokens, nil
}

// clip shortens b for an error message.
func clip(b []byte) []byte {
	const limit = 40
	if len(b) > limit {
		return b[:limit]
	}
	return b
}
