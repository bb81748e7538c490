package sse_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/eyrie-ai/eyrie/internal/sse"
)

func readAll(r io.Reader, max int) (out []string, comments int, err error) {
	s := sse.NewReader(r, max)
	for {
		ev, err := s.Next()
		if err != nil {
			return out, s.Comments, err
		}
		t := string(ev.Data)
		if ev.Name != "" {
			t = ev.Name + "|" + t
		}
		out = append(out, t)
	}
}

func TestNext(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
		comments int
		err      error
	}{
		{"empty", "", nil, 0, io.EOF},
		{"two events", "data: a\n\ndata: b\n\n", []string{"a", "b"}, 0, io.EOF},
		{"no space after colon", "data:a\n\n", []string{"a"}, 0, io.EOF},
		{"only one space is cut", "data:  a\n\n", []string{" a"}, 0, io.EOF},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}, 0, io.EOF},
		{"a comment and a blank line are no event", ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: a\n\n", []string{"a"}, 2, io.EOF},
		{"several data lines", "data: a\ndata: b\n\n", []string{"a\nb"}, 0, io.EOF},
		{"event name", "event: error\ndata: x\n\ndata: y\n\n", []string{"error|x", "y"}, 0, io.EOF},
		{"id and retry are passed over", "id: 7\nretry: 10\ndata: x\n\n", []string{"x"}, 0, io.EOF},
		{"torn inside a line", "data: a\n\ndata: b", []string{"a"}, 0, io.ErrUnexpectedEOF},
		{"torn before the blank line", "data: a\n\ndata: b\n", []string{"a"}, 0, io.ErrUnexpectedEOF},
		{"an empty data line is an event", "data:\n\n", []string{""}, 0, io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"whole":    strings.NewReader(tt.in),
				"bytewise": iotest.OneByteReader(strings.NewReader(tt.in)),
				"with EOF": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				got, comments, err := readAll(r, 1<<20)
				if !slices.Equal(got, tt.want) || comments != tt.comments || !errors.Is(err, tt.err) {
					t.Errorf("%s: got %q, %d comments, %v; want %q, %d, %v", name, got, comments, err, tt.want, tt.comments, tt.err)
				}
			}
		})
	}
}

func TestLongLine(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	got, _, err := readAll(strings.NewReader("data: "+long+"\n\n"), 4<<20)
	if len(got) != 1 || got[0] != long || err != io.EOF {
		t.Errorf("a line of 3 MiB was not read whole: %d events, %v", len(got), err)
	}
	if _, _, err := readAll(strings.NewReader("data: "+long+"\n\n"), 1<<20); !errors.Is(err, sse.ErrTooLong) {
		t.Errorf("a line over the limit: %v, want ErrTooLong", err)
	}
}

func FuzzNext(f *testing.F) {
	f.Add([]byte("data: a\r\n\n: c\n\nevent: e\ndata:b\ndata: c\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, _, err1 := readAll(bytes.NewReader(in), 1<<16)
		split, _, err2 := readAll(iotest.OneByteReader(bytes.NewReader(in)), 1<<16)
		if !slices.Equal(whole, split) || err1.Error() != err2.Error() {
			t.Errorf("the cut of reads shows: %q %v, and %q %v", whole, err1, split, err2)
		}
	})
}
