package h2_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/eyrie-ai/eyrie/engine/internal/h2"
	"github.com/eyrie-ai/eyrie/internal/memnet"
)

// TestRoundTrip sends requests of all sizes to net/http's server and gets them
// back.
func TestRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, network := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || r.ProtoMajor != 2 || r.Host != host || r.URL.RequestURI() != "/v1/chat?x=1" || r.Header.Get("X-Name") != "value" || r.ContentLength != int64(len(body)) {
				t.Errorf("%v %v %v with %v and %d bytes, %v", r.Proto, r.Host, r.URL, r.Header, len(body), err)
			}
			w.Header().Add("Twice", "a")
			w.Header().Add("Twice", "b")
			w.WriteHeader(http.StatusAccepted)
			w.Write(body)
		}, nil)
		for _, n := range []int{0, 1, 16 << 10, 16<<10 + 1, 65535, 65536, 1 << 20, 5 << 20} {
			sent := strings.Repeat("0123456789abcdef", n/16+1)[:n]
			resp, got, err := post(t.Context(), tr, sent)
			if err != nil || got != sent {
				t.Fatalf("%d bytes: %d came back, %v", n, len(got), err)
			}
			if resp.StatusCode != http.StatusAccepted || resp.Status != "202 Accepted" || resp.ProtoMajor != 2 || fmt.Sprint(resp.Header["Twice"]) != "[a b]" {
				t.Errorf("%d bytes: %v %v", n, resp.Status, resp.Header)
			}
		}
		if n := network.Dials.Load(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// TestWhateverTheServerDoes plays what a server may do with one request, or
// must not: the request ends, with what is said here, and the next one is
// answered.
func TestWhateverTheServerDoes(t *testing.T) {
	data := func(p *peer, id uint32, ended bool, text string) { p.WriteData(id, ended, []byte(text)) }
	for _, row := range []struct {
		name  string
		play  func(p *peer, id uint32)
		want  string // the body, or what is in the error
		conns int32  // after the next request
	}{
		{"an answer", func(p *peer, id uint32) {
			p.answer(id, false, ":status", "200")
			data(p, id, false, "one ")
			data(p, id, true, "two")
		}, "one two", 1},
		{"an answer without a body", func(p *peer, id uint32) { p.answer(id, true, ":status", "204") }, "", 1},
		{"padding", func(p *peer, id uint32) {
			p.answer(id, false, ":status", "200")
			p.WriteDataPadded(id, true, []byte("text"), make([]byte, 200))
		}, "text", 1},
		{"early hints before it, trailers after it", func(p *peer, id uint32) {
			p.answer(id, false, ":status", "103", "link", "x")
			p.answer(id, false, ":status", "200")
			data(p, id, false, "text")
			p.answer(id, true, "checksum", "1")
		}, "text", 1},
		{"frames of other kinds", func(p *peer, id uint32) {
			p.WriteRawFrame(0xfa, 0, id, []byte("grease"))
			p.WritePriority(id, http2.PriorityParam{StreamDep: 0})
			p.WriteSettings(http2.Setting{ID: 0x4a4a, Val: 7}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
			p.answer(id, false, ":status", "200")
			p.WriteWindowUpdate(99, 1)
			data(p, id, true, "text")
		}, "text", 1},
		{"fewer bytes than promised", func(p *peer, id uint32) {
			p.answer(id, false, ":status", "200", "content-length", "10")
			data(p, id, true, "text")
		}, "unexpected EOF", 1},
		{"a reset", func(p *peer, id uint32) {
			p.answer(id, false, ":status", "200")
			p.WriteRSTStream(id, http2.ErrCodeInternal)
		}, "INTERNAL_ERROR", 1},
		{"a reset without a reason", func(p *peer, id uint32) {
			p.answer(id, false, ":status", "200")
			p.WriteRSTStream(id, http2.ErrCodeNo)
		}, "unexpected EOF", 1},
		{"a body before its head", func(p *peer, id uint32) { data(p, id, true, "text") }, "before its headers", 1},
		{"an end without a head", func(p *peer, id uint32) { p.answer(id, true, ":status", "100") }, "nothing after the status", 1},
		{"no status", func(p *peer, id uint32) { p.answer(id, true, "x", "y") }, `status ""`, 1},
		{"a status that is none", func(p *peer, id uint32) { p.answer(id, true, ":status", "20") }, `status "20"`, 1},
		{"a header in capitals", func(p *peer, id uint32) { p.answer(id, true, ":status", "200", "Not-Allowed", "x") }, "PROTOCOL_ERROR", 1},
		{"headers twice", func(p *peer, id uint32) {
			p.answer(id, false, ":status", "200")
			p.answer(id, false, ":status", "200")
		}, "headers twice", 1},
		{"headers without end", func(p *peer, id uint32) {
			p.answer(id, true, ":status", "200", "long", strings.Repeat("x", 100<<10), "longer", strings.Repeat("y", 200<<10))
		}, "longer than", 1},
		{"a push", func(p *peer, id uint32) {
			p.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, EndHeaders: true})
		}, "PROTOCOL_ERROR", 2},
		{"a stream that nobody opened", func(p *peer, id uint32) { data(p, 99, false, "text") }, "PROTOCOL_ERROR", 2},
		{"a frame larger than allowed", func(p *peer, id uint32) { p.WriteRawFrame(http2.FrameData, 0, id, make([]byte, 1<<20)) }, "too large", 2},
		{"headers that no decoder understands", func(p *peer, id uint32) {
			p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, EndHeaders: true})
		}, "COMPRESSION_ERROR", 2},
		{"a window larger than there is", func(p *peer, id uint32) {
			p.WriteWindowUpdate(0, 1<<31-1)
		}, "FLOW_CONTROL_ERROR", 2},
		{"a setting out of range", func(p *peer, id uint32) {
			p.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1})
		}, "PROTOCOL_ERROR", 2},
		{"garbage", func(p *peer, id uint32) { p.Conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, "too large", 2},
		{"the end", func(p *peer, id uint32) { p.Conn.Close() }, "unexpected EOF", 2},
		{"the end within an answer", func(p *peer, id uint32) {
			p.answer(id, false, ":status", "200")
			data(p, id, false, "text")
			p.Conn.Close()
		}, "unexpected EOF", 2},
		{"goodbye, the answer comes", func(p *peer, id uint32) {
			p.WriteGoAway(id, http2.ErrCodeNo, nil)
			p.answer(id, false, ":status", "200")
			data(p, id, true, "text")
		}, "text", 2},
		{"silence", func(p *peer, id uint32) { time.Sleep(time.Hour) }, "dead", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr, network := script(t, nil, func(p *peer) {
					for first := true; ; first = false {
						id := p.request()
						switch {
						case id == 0:
							return
						case first && p.conn == 0:
							row.play(p, id)
						default:
							p.answer(id, false, ":status", "200")
							p.WriteData(id, true, []byte("next"))
						}
					}
				})
				began := time.Now()
				_, text, err := post(t.Context(), tr, "question")
				switch {
				case err == nil && text != row.want, err != nil && !strings.Contains(err.Error(), row.want):
					t.Errorf("got %q and %v, want %q", text, err, row.want)
				case time.Since(began) > time.Minute:
					t.Errorf("it took %v", time.Since(began))
				}
				if _, text, err := post(t.Context(), tr, "question"); text != "next" || err != nil {
					t.Errorf("then %q, %v", text, err)
				}
				if n := network.Dials.Load(); n != row.conns {
					t.Errorf("%d connections, want %d", n, row.conns)
				}
			})
		})
	}
}

// TestFlood sends a stream more than its window while nobody reads it: it is
// reset, and its neighbour is served.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reset := make(chan http2.ErrCode, 1)
		tr, network := script(t, nil, func(p *peer) {
			id := p.request()
			p.answer(id, false, ":status", "200")
			for range 40 {
				p.WriteData(id, false, make([]byte, 16<<10))
			}
			reset <- next[*http2.RSTStreamFrame](p).ErrCode
			id = p.request()
			p.answer(id, false, ":status", "200")
			p.WriteData(id, true, []byte("next"))
			p.drain()
		})
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "https://"+host+"/", nil)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if code := <-reset; code != http2.ErrCodeFlowControl {
			t.Errorf("the server was told %v", code)
		}
		if got, err := io.ReadAll(resp.Body); len(got) > 256<<10 || err == nil || !strings.Contains(err.Error(), "more than it was allowed to") {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, text, err := post(t.Context(), tr, "question"); text != "next" || err != nil || network.Dials.Load() != 1 {
			t.Errorf("then %q, %v", text, err)
		}
	})
}

// TestGreetings plays what a server may say first.
func TestGreetings(t *testing.T) {
	for _, row := range []struct {
		name  string
		greet func(p *peer)
		want  string
		took  time.Duration
	}{
		{"nothing", func(p *peer) { p.drain() }, "no HTTP/2 settings within 5s", connect},
		{"the end", func(p *peer) { p.Conn.Close() }, "unexpected EOF", 0},
		{"another frame", func(p *peer) { p.WritePing(false, [8]byte{}); p.drain() }, "PROTOCOL_ERROR", 0},
		{"HTTP/1.1", func(p *peer) { p.Conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); p.drain() }, "too large", 0},
		{"goodbye", func(p *peer) { p.WriteSettings(); p.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil); p.drain() }, "ENHANCE_YOUR_CALM", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr, network := script(t, row.greet, func(*peer) {})
				began := time.Now()
				_, _, err := post(t.Context(), tr, "question")
				if err == nil || !strings.Contains(err.Error(), row.want) || time.Since(began) != row.took {
					t.Errorf("%v after %v, want %q after %v", err, time.Since(began), row.want, row.took)
				}
				if n := network.Dials.Load(); n > 5 {
					t.Errorf("%d connections were dialled", n)
				}
			})
		})
	}
}

// TestUnseen repeats what the server says it has not looked at, and nothing
// else.
func TestUnseen(t *testing.T) {
	for _, row := range []struct {
		name   string
		refuse func(p *peer, id uint32)
	}{
		{"refused", func(p *peer, id uint32) { p.WriteRSTStream(id, http2.ErrCodeRefusedStream) }},
		{"goodbye", func(p *peer, id uint32) { p.WriteGoAway(id-1, http2.ErrCodeNo, nil) }},
	} {
		for _, times := range []int{1, 2, 100} {
			t.Run(fmt.Sprint(row.name, " ", times), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var seen atomic.Int32
					tr, _ := script(t, nil, func(p *peer) {
						for {
							id := p.request()
							if id == 0 {
								return
							}
							if seen.Add(1) <= int32(times) {
								row.refuse(p, id)
								continue
							}
							body := next[*http2.DataFrame](p)
							p.answer(id, false, ":status", "200")
							p.WriteData(id, true, body.Data())
						}
					})
					_, text, err := post(t.Context(), tr, "question")
					switch {
					case times < 5 && (text != "question" || err != nil):
						t.Errorf("got %q, %v", text, err)
					case times > 5 && (err == nil || !strings.Contains(err.Error(), "did not take the request") || seen.Load() != 5):
						t.Errorf("%v after %d tries", err, seen.Load())
					}
				})
			})
		}
	}
}

// TestWindowsOfTheServer uploads what no window of the server is large enough
// for.
func TestWindowsOfTheServer(t *testing.T) {
	const size = 300_000
	body := strings.Repeat("x", size)
	t.Run("opened slowly", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tr, _ := script(t, func(p *peer) { p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}) }, func(p *peer) {
				id, got, window := p.request(), 0, 10
				p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1000}) // grows what is under way
				window = 1000
				p.WriteWindowUpdate(0, 1<<20)
				for got < size {
					f := next[*http2.DataFrame](p)
					if f == nil {
						t.Fatal("the client went")
					}
					got += len(f.Data())
					if window -= len(f.Data()); window < 0 {
						t.Fatalf("%d bytes more than allowed", -window)
					}
					if window == 0 {
						time.Sleep(time.Second)
						window = 20_000
						p.WriteWindowUpdate(id, uint32(window))
					}
				}
				p.answer(id, true, ":status", "200")
			})
			if _, _, err := post(t.Context(), tr, body); err != nil {
				t.Error(err)
			}
		})
	})
	for _, row := range []struct {
		name string
		play func(p *peer, id uint32)
		want string
	}{
		{"refused halfway", func(p *peer, id uint32) {
			p.answer(id, false, ":status", "413")
			p.WriteData(id, true, []byte("too long"))
		}, "413 too long"},
		{"refused, and reset", func(p *peer, id uint32) {
			p.answer(id, false, ":status", "413")
			p.WriteData(id, true, []byte("too long"))
			p.WriteRSTStream(id, http2.ErrCodeNo)
		}, "413 too long"},
		{"reset halfway", func(p *peer, id uint32) { p.WriteRSTStream(id, http2.ErrCodeEnhanceYourCalm) }, "ENHANCE_YOUR_CALM"},
		{"gone halfway", func(p *peer, id uint32) { p.Conn.Close() }, "unexpected EOF"},
		{"accepted halfway", func(p *peer, id uint32) {
			p.answer(id, false, ":status", "200")
			time.Sleep(time.Second)
			p.WriteWindowUpdate(0, 1<<20)
			p.WriteWindowUpdate(id, 1<<20)
			for {
				if f := next[*http2.DataFrame](p); f == nil || f.StreamEnded() {
					break
				}
			}
			p.WriteData(id, true, []byte("all of it"))
		}, "200 all of it"},
		{"never", func(p *peer, id uint32) {}, "context canceled"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr, _ := script(t, nil, func(p *peer) {
					id := p.request()
					for got := 0; got < 65535; {
						got += len(next[*http2.DataFrame](p).Data())
					}
					row.play(p, id)
					p.drain()
				})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(20*time.Second, cancel)
				resp, text, err := post(ctx, tr, body)
				if err == nil {
					err = fmt.Errorf("%d %s", resp.StatusCode, text)
				}
				if !strings.Contains(err.Error(), row.want) {
					t.Errorf("%v, want %q", err, row.want)
				}
			})
		})
	}
}

// TestCancel gives up at every stage: the server is told, and the place is free
// again.
func TestCancel(t *testing.T) {
	gone := errors.New("gave up")
	for _, stage := range []string{"no head", "no body", "closed"} {
		t.Run(stage, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resets := make(chan http2.ErrCode, 10)
				tr, network := script(t, func(p *peer) { p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1}) }, func(p *peer) {
					for {
						id := p.request()
						if id == 0 {
							return
						}
						if stage != "no head" {
							p.answer(id, false, ":status", "200")
							p.WriteData(id, false, []byte("text"))
						}
						if f := next[*http2.RSTStreamFrame](p); f != nil && f.StreamID == id {
							resets <- f.ErrCode
						}
					}
				})
				for range 3 {
					ctx, cancel := context.WithCancelCause(t.Context())
					time.AfterFunc(time.Second, func() { cancel(gone) })
					req, _ := http.NewRequestWithContext(ctx, "GET", "https://"+host+"/", nil)
					resp, err := tr.RoundTrip(req)
					if err == nil {
						if stage == "no body" {
							_, err = io.ReadAll(resp.Body)
						}
						resp.Body.Close()
						if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF {
							t.Errorf("reading what was closed: %d, %v", n, err)
						}
					}
					if stage != "closed" && !errors.Is(err, gone) {
						t.Errorf("%v, want that it gave up", err)
					}
					if code := <-resets; code != http2.ErrCodeCancel {
						t.Errorf("the server was told %v", code)
					}
					cancel(nil)
				}
				if n := network.Dials.Load(); n != 1 {
					t.Errorf("%d connections for one stream at a time", n)
				}
			})
		})
	}
}

// TestConnections opens streams until no connection has room.
func TestConnections(t *testing.T) {
	for _, row := range []struct {
		streams int
		limit   uint32 // of the server; 0 says nothing
		conns   int32
	}{{1, 0, 1}, {100, 0, 1}, {101, 0, 2}, {2000, 0, 20}, {2000, 1000, 20}, {60, 20, 3}} {
		t.Run(fmt.Sprint(row.streams, " of ", row.limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var open, want atomic.Int32
				all := make(chan struct{})
				tr, network := serve(t, func(w http.ResponseWriter, r *http.Request) {
					if n := want.Load(); n > 0 {
						if open.Add(1) == n {
							close(all)
						}
						<-all
					}
				}, func(s *http.Server) { s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: int(row.limit)} })
				post(t.Context(), tr, "") // the server's limit is known after the first
				want.Store(int32(row.streams))
				var wg sync.WaitGroup
				for range row.streams {
					wg.Go(func() {
						if _, _, err := post(t.Context(), tr, ""); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if got := network.Dials.Load(); got != row.conns {
					t.Errorf("%d connections, want %d", got, row.conns)
				}
				time.Sleep(5 * time.Minute)
				want.Store(0)
				post(t.Context(), tr, "")
				if got := network.Dials.Load(); got != row.conns+1 {
					t.Errorf("after a long pause %d connections were dialled in all, want %d: idle ones are closed", got, row.conns+1)
				}
			})
		})
	}
}

// TestDials fails to connect, and does so for those only who have no other
// connection to hope for.
func TestDials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, network := serve(t, func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Minute) }, nil)
		var dials atomic.Int32
		refused := errors.New("refused")
		tr.Dial = func(ctx context.Context, n, addr string) (net.Conn, error) {
			if addr != host+":443" {
				t.Errorf("dialled %s", addr)
			}
			if dials.Add(1) == 2 {
				return nil, refused
			}
			time.Sleep(time.Second)
			return network.Dial(ctx, n, addr)
		}
		var failed atomic.Int32
		var wg sync.WaitGroup
		for range 300 {
			wg.Go(func() {
				switch _, _, err := post(t.Context(), tr, ""); {
				case errors.Is(err, refused):
					failed.Add(1)
				case err != nil:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := failed.Load(); n == 0 || n > 100 {
			t.Errorf("%d of 300 requests failed for one of three connections", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		tr := transport(t, memnet.New()) // nobody listens
		if _, _, err := post(t.Context(), tr, ""); err == nil || !strings.Contains(err.Error(), "deadline") {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, _, err := post(ctx, tr, ""); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.Sleep(time.Minute)
	})
}

// TestPlain leaves a server that does not speak HTTP/2 to the other transport,
// with as many streams as there are.
func TestPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most, open atomic.Int32
		tr, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if n := open.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Minute)
			open.Add(-1)
			io.WriteString(w, r.Proto)
		}, func(s *http.Server) {
			s.TLSConfig.NextProtos = []string{"http/1.1"}
			s.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
		})
		var wg sync.WaitGroup
		for range 250 {
			wg.Go(func() {
				if _, text, err := post(t.Context(), tr, "x"); text != "HTTP/1.1" || err != nil {
					t.Errorf("%q, %v", text, err)
				}
			})
		}
		wg.Wait()
		if most.Load() != 250 {
			t.Errorf("%d at once, want 250", most.Load())
		}
	})
}

// TestOtherHosts go to the other transport.
func TestOtherHosts(t *testing.T) {
	called := false
	tr := &h2.Transport{Host: host, Fallback: roundTripper(func(r *http.Request) (*http.Response, error) {
		called = true
		return nil, errors.ErrUnsupported
	})}
	req, _ := http.NewRequest("GET", "https://other.test/", nil)
	if _, err := tr.RoundTrip(req); !called || !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestReady lets text gather: the reader is told of the end, and when there is
// much.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		tr, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			for range 60 {
				w.Write(bytes.Repeat([]byte("x"), 2000))
				rc.Flush()
				sent.Add(2000)
				time.Sleep(time.Second)
			}
		}, nil)
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "https://"+host+"/", nil)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		ready := resp.Body.(h2.Body).Ready()
		for len(ready) > 0 {
			<-ready // for nothing
		}
		began := time.Now()
		<-ready
		if took, n := time.Since(began), sent.Load(); took < 30*time.Second || took > 40*time.Second {
			t.Errorf("told after %v, when %d bytes had been sent", took, n)
		}
		buf := make([]byte, 100_000)
		n, err := resp.Body.Read(buf)
		if err != nil || n < 60_000 {
			t.Errorf("read %d, %v", n, err)
		}
		<-ready
		if took := time.Since(began).Round(time.Second); took != time.Minute {
			t.Errorf("told of the end after %v", took)
		}
		if rest, err := io.ReadAll(resp.Body); n+len(rest) != 120_000 || err != nil {
			t.Errorf("%d bytes, %v", n+len(rest), err)
		}
	})
}

// TestManyAtOnce runs thousands of requests of all kinds through net/http's
// server at once: what comes back is what was sent, whatever their neighbours
// do.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			rng := rand.New(rand.NewPCG(uint64(len(body)), 1))
			rc := http.NewResponseController(w)
			for len(body) > 0 {
				n := min(len(body), 1+rng.IntN(9000))
				w.Write(body[:n])
				rc.Flush()
				body = body[n:]
				time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
				if rng.IntN(200) == 0 {
					panic(http.ErrAbortHandler)
				}
			}
		}, nil)
		var whole, cut, given atomic.Int32
		var wg sync.WaitGroup
		for i := range 2000 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), 2))
				time.Sleep(time.Duration(rng.IntN(10_000)) * time.Millisecond)
				size := rng.IntN(30_000)
				if rng.IntN(20) == 0 {
					size = rng.IntN(500_000)
				}
				sent := make([]byte, size)
				for i := range sent {
					sent[i] = byte('a' + rng.IntN(26))
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if rng.IntN(10) == 0 {
					time.AfterFunc(time.Duration(rng.IntN(500))*time.Millisecond, cancel)
				}
				_, text, err := post(ctx, tr, string(sent))
				switch {
				case err == nil && text == string(sent):
					whole.Add(1)
				case err == nil:
					t.Errorf("%d bytes sent, others came back (%d)", size, len(text))
				case !strings.HasPrefix(string(sent), text):
					t.Errorf("what came before %v is not what was sent", err)
				case ctx.Err() != nil:
					given.Add(1)
				case strings.Contains(err.Error(), "INTERNAL_ERROR"):
					cut.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if whole.Load() < 1500 || cut.Load() == 0 || given.Load() == 0 {
			t.Errorf("%d whole, %d cut by the server, %d given up", whole.Load(), cut.Load(), given.Load())
		}
	})
}

// FuzzServer answers with any bytes at all: every request ends.
func FuzzServer(f *testing.F) {
	frames := func(write func(*http2.Framer)) []byte {
		var b bytes.Buffer
		write(http2.NewFramer(&b, nil))
		return b.Bytes()
	}
	f.Add([]byte{})
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	f.Add(frames(func(w *http2.Framer) {
		w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true}) // :status 200
		w.WriteData(1, true, []byte("text"))
	}))
	f.Add(frames(func(w *http2.Framer) {
		w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: false})
		w.WriteContinuation(1, true, []byte{0x5c, 0x01, '9'}) // content-length: 9
		w.WriteDataPadded(1, false, []byte("text"), make([]byte, 9))
		w.WriteWindowUpdate(1, 1<<30)
		w.WritePing(false, [8]byte{})
		w.WriteRSTStream(1, http2.ErrCodeCancel)
		w.WriteGoAway(1, http2.ErrCodeNo, []byte("bye"))
	}))
	f.Add(frames(func(w *http2.Framer) {
		w.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
		w.WriteSettingsAck()
		w.WriteGoAway(0, http2.ErrCodeProtocol, nil)
	}))
	f.Fuzz(func(t *testing.T, said []byte) {
		synctest.Test(t, func(t *testing.T) {
			tr, _ := script(t, nil, func(p *peer) {
				if p.request() != 0 {
					p.Conn.Write(said)
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { post(ctx, tr, strings.Repeat("question", 10_000)) })
			}
			wg.Wait()
			if ctx.Err() != nil {
				t.Error("a request did not end")
			}
		})
	})
}
