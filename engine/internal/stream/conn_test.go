package stream_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie/engine/internal/stream"
)

// counted counts the reads of a connection in memory.
type counted struct {
	net.Conn
	data  chan []byte
	rest  []byte
	reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	if len(c.rest) == 0 {
		b, ok := <-c.data
		if !ok {
			return 0, io.EOF
		}
		c.rest = b
	}
	for { // all that is there, as a kernel gives it
		select {
		case b, ok := <-c.data:
			if !ok {
				n := copy(p, c.rest)
				c.rest = c.rest[n:]
				return n, nil
			}
			c.rest = append(c.rest, b...)
			continue
		default:
		}
		n := copy(p, c.rest)
		c.rest = c.rest[n:]
		return n, nil
	}
}

func (c *counted) Close() error { return nil }

// TestASharedConnectionGathers sends a small piece every millisecond for ten
// seconds: all of it arrives, in few reads, and none of it late by more than
// the grid.
func TestASharedConnectionGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counted{data: make(chan []byte, 1<<16)}
		g := stream.GatherConn(c, stream.ConnGrid)
		const pieces = 10_000
		go func() {
			for i := range pieces {
				time.Sleep(time.Millisecond)
				c.data <- []byte{byte(i)}
			}
			close(c.data)
		}()
		began, got := time.Now(), 0
		buf := make([]byte, 512)
		for {
			n, err := g.Read(buf)
			for i := range n {
				if buf[i] != byte(got+i) {
					t.Fatalf("byte %d is %d", got+i, buf[i])
				}
				sent := began.Add(time.Duration(got+i+1) * time.Millisecond)
				if late := time.Since(sent); late > stream.ConnGrid+time.Millisecond {
					t.Fatalf("byte %d came %v late", got+i, late)
				}
			}
			got += n
			if err != nil {
				break
			}
		}
		if got != pieces {
			t.Fatalf("%d of %d bytes came", got, pieces)
		}
		if most := 1001 + 9000/int(stream.ConnGrid/time.Millisecond) + 10; c.reads > most {
			t.Errorf("%d reads, want at most %d", c.reads, most)
		}
	})
}

// TestAFullBufferIsReadOn: no pause where more is waiting.
func TestAFullBufferIsReadOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counted{data: make(chan []byte, 1)}
		text := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MB
		c.data <- text
		close(c.data)
		g := stream.GatherConn(c, stream.ConnGrid)
		time.Sleep(2 * time.Second)
		began := time.Now()
		got, err := io.ReadAll(g)
		if err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%d of %d bytes, %v", len(got), len(text), err)
		}
		if took := time.Since(began); took > 2*stream.ConnGrid {
			t.Errorf("it took %v", took)
		}
	})
}

func TestClosingEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counted{data: make(chan []byte)}
		g := stream.GatherConn(c, time.Hour)
		time.Sleep(2 * time.Second)
		done := make(chan error)
		go func() {
			_, err := g.Read(make([]byte, 1))
			done <- err
		}()
		synctest.Wait()
		g.Close()
		g.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("the reader got %v", err)
		}
	})
}
