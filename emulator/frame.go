package emulator

import (
	"bytes"
	"compress/gzip"
	"net/http"
)

// appendEvent frames a payload as a server-sent event, plainly or in one of
// the unusual ways that the format allows.
func (x *exchange) appendEvent(dst, payload []byte) []byte {
	switch x.variant("frame") {
	case "crlf":
		dst = append(append(dst, "data: "...), payload...)
		return append(dst, "\r\n\r\n"...)
	case "no_space":
		dst = append(append(dst, "data:"...), payload...)
		return append(dst, "\n\n"...)
	case "fields":
		dst = append(dst, "event: message\nid: 7\nretry: 3000\n"...)
	case "multi_line":
		// A line break between JSON tokens changes nothing but the framing.
		payload = bytes.Replace(payload, []byte(`,"choices":`), []byte(",\ndata: \"choices\":"), 1)
	case "huge":
		if bytes.HasPrefix(payload, []byte("{")) {
			size := orElse(x.fault("frame").After, 1<<20)
			padded := append([]byte(`{"padding":"`), bytes.Repeat([]byte("x"), size)...)
			payload = append(append(padded, `",`...), payload[1:]...)
		}
	}
	dst = append(append(dst, "data: "...), payload...)
	return append(dst, "\n\n"...)
}

// writeOut writes bytes and flushes them: at once, or in small pieces that cut
// through runes and field names.
func (e *events) writeOut(b []byte) error {
	size := len(b)
	if e.variant("frame") == "split" {
		size = orElse(e.fault("frame").After, 7)
	}
	for {
		n := min(size, len(b))
		if _, err := e.w.Write(b[:n]); err != nil {
			return err
		}
		if err := e.out.Flush(); err != nil {
			return err
		}
		if b = b[n:]; len(b) == 0 {
			return nil
		}
	}
}

// zipped compresses what a handler writes.
type zipped struct {
	http.ResponseWriter
	z *gzip.Writer
}

func newZipped(w http.ResponseWriter) *zipped {
	w.Header().Set("Content-Encoding", "gzip")
	return &zipped{w, gzip.NewWriter(w)}
}

func (z *zipped) Write(b []byte) (int, error) { return z.z.Write(b) }

// FlushError sends what has been written so far.
func (z *zipped) FlushError() error {
	if err := z.z.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(z.ResponseWriter).Flush()
}
