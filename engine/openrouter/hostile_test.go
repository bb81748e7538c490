package openrouter_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// TestHostileServers: whatever a server does, an attempt ends within its limits,
// takes no more memory than it has to, and does not say that nothing was
// charged.
func TestHostileServers(t *testing.T) {
	limits := openrouter.Limits{FirstContent: 90 * time.Second, Silence: 40 * time.Second, Whole: 10 * time.Minute}
	raw := func(send func(w io.Writer)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			send(c)
		}
	}
	stream := func(send func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			send(w, r)
		}
	}
	for _, row := range []struct {
		name   string
		server http.HandlerFunc
		class  string
		within time.Duration
	}{
		{"headers without end", raw(func(w io.Writer) {
			io.WriteString(w, "HTTP/1.1 200 OK\r\n")
			for n := 0; ; n++ {
				if _, err := fmt.Fprintf(w, "X-%d: %s\r\n", n, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		}), "connection", time.Second},
		{"a byte of header a second", raw(func(w io.Writer) {
			for {
				if _, err := io.WriteString(w, "H"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}), "connection", limits.FirstContent},
		{"no HTTP at all", raw(func(w io.Writer) { io.WriteString(w, "220 mail.example ready\r\n") }), "connection", time.Second},
		{"a byte of text a second", stream(func(w http.ResponseWriter, r *http.Request) {
			for i := 0; r.Context().Err() == nil; i++ {
				text := delta(says)
				io.WriteString(w, text[i%len(text):i%len(text)+1])
				http.NewResponseController(w).Flush()
				time.Sleep(time.Second)
			}
		}), "no first content", limits.FirstContent},
		{"dots without end", stream(func(w http.ResponseWriter, r *http.Request) {
			dots := delta(`"content":"` + strings.Repeat(".", 100<<10) + `"`)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, dots); err != nil {
					return
				}
			}
		}), openrouter.ClassOverrun, time.Second},
		{"a page without end", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("<p>wait</p>", 1000)); err != nil {
					return
				}
			}
		}, "not a stream", time.Second},
		{"a packed event of 40 MB", stream(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed("data: {\"x\":\"", 40<<20))
		}), "bad frame", time.Second},
		{"packed white space of 20 MB", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed("", 20<<20))
		}, "empty body", time.Second},
		{"a packing that is none", stream(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, delta(says))
		}), "not a stream", time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := serve(t, row.server, func(c *openrouter.Config) { c.Limits = limits })
				h := ask(t, t.Context(), c, request(recordedLane()))
				time.Sleep(2 * time.Second) // of the bubble: until the slow servers notice
				if row.class == "connection" && h.class() == "no first content" && h.took == row.within {
					return // the clock ran out before the header came
				}
				if h.class() != row.class || h.charged() != unknown || h.took > row.within {
					t.Errorf("%q after %v, charged %v; want %q within %v (%v)", h.class(), h.took, h.charged(), row.class, row.within, h.err)
				}
			})
		})
	}
}

// packed is a beginning and so many spaces, compressed.
func packed(head string, size int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, head)
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	for range size >> 20 {
		z.Write(spaces)
	}
	z.Close()
	return b.Bytes()
}
