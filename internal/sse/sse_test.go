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
		{"a field without a colon", "data\n\n", []string{""}, 0, io.EOF},
		{"lone CRs", "data: a\r\rdata: b\rdata: c\r\r", []string{"a", "b\nc"}, 0, io.EOF},
		{"all line ends mixed", "data: a\r\ndata: b\n\rdata: c\r\n\n", []string{"a\nb", "c"}, 0, io.EOF},
		{"byte order mark", "\ufeffdata: a\n\n", []string{"a"}, 0, io.EOF},
		{"byte order mark before a blank line", "\ufeff\ndata: a\n\n", []string{"a"}, 0, io.EOF},
		{"a mark that is none", "\xefdata: a\n\ndata: b\n\n", []string{"b"}, 0, io.EOF},
		{"an event name does not outlive its event", "event: ping\n\ndata: a\n\n", []string{"a"}, 0, io.EOF},
		{"a comment between data lines", "data: a\n: c\ndata: b\n\n", []string{"a\nb"}, 1, io.EOF},
		{"a rune in pieces", "data: \u4f60\u597d \U0001f600\n\n", []string{"\u4f60\u597d \U0001f600"}, 0, io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"whole":    strings.NewReader(tt.in),
				"bytewise": iotest.OneByteReader(strings.NewReader(tt.in)),
				"with EOF": iotest.DataErrReader(strings.NewReader(tt.in)),
				"pausing":  &pausing{Reader: iotest.HalfReader(strings.NewReader(tt.in))},
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

func TestLimit(t *testing.T) {
	const max = 100
	exact := strings.Repeat("x", max)
	for _, in := range []string{"data: " + exact + "\n\n", "data: " + exact[:max/2] + "\ndata: " + exact[:max/2-1] + "\n\n"} {
		if got, _, err := readAll(strings.NewReader(in), max); len(got) != 1 || len(got[0]) != max || err != io.EOF {
			t.Errorf("an event of exactly the limit: %d events, %v", len(got), err)
		}
	}
	for _, in := range []string{"data: " + exact + "x\n\n", "data: " + exact + "\ndata: x\n\n", strings.Repeat("y", 10*max)} {
		if got, _, err := readAll(iotest.OneByteReader(strings.NewReader(in)), max); len(got) != 0 || !errors.Is(err, sse.ErrTooLong) {
			t.Errorf("an event over the limit: %d events, %v", len(got), err)
		}
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("reset")
	got, _, err := readAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)), 1<<10)
	if !slices.Equal(got, []string{"a"}) || err != broken {
		t.Errorf("got %q, %v; want the event before the error, and the error itself", got, err)
	}
	if _, _, err := readAll(stuck{}, 1<<10); err != io.ErrNoProgress {
		t.Errorf("a reader that reads nothing: %v", err)
	}
}

// pausing pauses before two of three reads.
type pausing struct {
	io.Reader
	n int
}

func (p *pausing) Wait(idle func()) error {
	if p.n++; p.n%3 > 0 {
		idle()
	}
	return nil
}

// TestAPauseNeedsNoBuffer: a reader whose source pauses keeps what is unread,
// and nothing else; and the reason why a pause ended early is an error.
func TestAPauseNeedsNoBuffer(t *testing.T) {
	cut := errors.New("cut")
	src := &cutPause{Reader: strings.NewReader("data: a\n\ndata: b\n\nda"), err: cut}
	r := sse.NewReader(src, 1<<10)
	defer r.Release()
	for _, want := range []string{"a", "b"} {
		if ev, err := r.Next(); err != nil || string(ev.Data) != want {
			t.Fatalf("%q, %v", ev.Data, err)
		}
	}
	if _, err := r.Next(); err != cut {
		t.Errorf("%v, want the reason", err)
	}
	if _, err := r.Next(); err != cut {
		t.Errorf("then %v, want the same", err)
	}
}

// cutPause pauses after its first read, and is cut off.
type cutPause struct {
	io.Reader
	err  error
	once bool
}

func (c *cutPause) Wait(idle func()) error {
	if !c.once {
		c.once = true
		return nil
	}
	idle()
	return c.err
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// plainly reads a whole stream the slow way, to compare with.
func plainly(in string) (events []string, comments int, torn bool) {
	in = strings.TrimPrefix(in, "\ufeff")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(in, "\n")
	rest := lines[len(lines)-1]
	name, data := "", []string(nil)
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data != nil:
			e := strings.Join(data, "\n")
			if name != "" {
				e = name + "|" + e
			}
			events = append(events, e)
			fallthrough
		case line == "":
			name, data = "", nil
		case field == "":
			comments++
		case field == "data":
			data = append(data, value)
		case field == "event":
			name = value
		}
	}
	return events, comments, rest != "" || data != nil
}

func FuzzNext(f *testing.F) {
	f.Add([]byte("data: a\r\n\n: c\n\nevent: e\ndata:b\ndata: c\n\n"))
	f.Add([]byte("\ufeffdata: a\r\r\n\rdata"))
	f.Add([]byte("\xef\xbbdata: a\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		want, comments, torn := plainly(string(in))
		end := io.EOF
		if torn {
			end = io.ErrUnexpectedEOF
		}
		for name, r := range map[string]io.Reader{
			"whole": bytes.NewReader(in), "bytewise": iotest.OneByteReader(bytes.NewReader(in)), "by halves": iotest.HalfReader(bytes.NewReader(in)),
			"pausing": &pausing{Reader: iotest.OneByteReader(bytes.NewReader(in))},
		} {
			got, n, err := readAll(r, 1<<20)
			if !slices.Equal(got, want) || n != comments || err != end {
				t.Errorf("%s: %q, %d comments, %v; want %q, %d, %v", name, got, n, err, want, comments, end)
			}
		}
	})
}

func BenchmarkNext(b *testing.B) {
	const chunks = 200
	stream := []byte(strings.Repeat("data: "+strings.Repeat("x", 345)+"\n\n", chunks))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		r := sse.NewReader(bytes.NewReader(stream), 1<<20)
		for range chunks {
			if _, err := r.Next(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/event")
}
