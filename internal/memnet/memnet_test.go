package memnet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie/internal/memnet"
)

func TestConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New()
		accepted := make(chan net.Conn)
		go func() {
			c, err := n.Accept()
			if err != nil {
				t.Error(err)
			}
			accepted <- c
		}()
		here, err := n.Dial(t.Context(), "tcp", "anywhere:1")
		if err != nil {
			t.Fatal(err)
		}
		there := <-accepted
		text := bytes.Repeat([]byte("0123456789"), 1<<17)
		if m, err := there.Write(text); m != len(text) || err != nil { // nobody reads yet
			t.Fatalf("wrote %d, %v", m, err)
		}
		there.Close()
		if got, err := io.ReadAll(here); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes came, %v", len(got), err)
		}
		if _, err := here.Write([]byte("x")); !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("writing to a closed end: %v", err)
		}
		here.Close()
		if _, err := here.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("reading what was closed: %v", err)
		}
		n.Close()
		n.Close()
		if _, err := n.Dial(t.Context(), "tcp", "anywhere:1"); !errors.Is(err, net.ErrClosed) || n.Dials.Load() != 2 {
			t.Errorf("dialling a closed network: %v, %d dials", err, n.Dials.Load())
		}
		if _, err := n.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accepting on it: %v", err)
		}
	})
}

func TestDialHeedsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := memnet.New().Dial(ctx, "tcp", "nobody:1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := memnet.Pipe()
		p := make([]byte, 1)
		began := time.Now()
		read := func(want time.Duration) {
			t.Helper()
			if _, err := here.Read(p); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != want {
				t.Errorf("%v after %v, want a deadline after %v", err, time.Since(began), want)
			}
		}
		here.SetReadDeadline(began.Add(time.Second))
		read(time.Second)
		here.SetDeadline(began) // passed
		read(time.Second)
		here.SetReadDeadline(began.Add(2 * time.Second))
		here.SetReadDeadline(began.Add(3 * time.Second)) // moved
		read(3 * time.Second)
		here.SetReadDeadline(time.Time{})
		time.AfterFunc(time.Hour, func() { there.Write([]byte("x")) })
		if n, err := here.Read(p); n != 1 || err != nil {
			t.Errorf("without a deadline: %d, %v", n, err)
		}
		here.Close()
		there.Close()
	})
}
