package openrouter_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// TestP26P28Limits lets each of the four clocks run out, under comments every
// ten seconds where a response has begun.
func TestP26P28Limits(t *testing.T) {
	limits := openrouter.Limits{Connect: 5 * time.Second, FirstContent: 90 * time.Second, Silence: 40 * time.Second, Whole: 10 * time.Minute}
	for _, row := range []struct {
		name    string
		change  func(*emulator.Scenario)
		class   string
		charged eyrie.Charged
		took    time.Duration
	}{
		{"no head of a response", func(s *emulator.Scenario) { s.Timing.Header = time.Hour }, "no first content", unknown, limits.FirstContent},
		{"no text", func(s *emulator.Scenario) { s.Timing.TTFT = time.Hour }, "no first content", unknown, limits.FirstContent},
		{"text just in time", func(s *emulator.Scenario) { s.Timing.TTFT = limits.FirstContent - time.Second }, "", yes, limits.FirstContent - time.Second},
		{"head and text together too late", func(s *emulator.Scenario) { s.Timing.Header, s.Timing.TTFT = time.Minute, time.Minute }, "no first content", unknown, limits.FirstContent},
		{"silence", func(s *emulator.Scenario) {
			s.Timing.TTFT = time.Minute
			s.Faults = []emulator.Fault{{Kind: "stall", Value: "comments", After: 40}}
		}, "silence", unknown, time.Minute + limits.Silence},
		{"silence, before the first text would have been due", func(s *emulator.Scenario) {
			s.Faults = []emulator.Fault{{Kind: "stall", Value: "comments", After: 40}}
		}, "silence", unknown, limits.Silence},
		{"a trickle", func(s *emulator.Scenario) { s.Timing.TokenRate = 0.2 }, "too long", unknown, limits.Whole},
		{"a trickle that is too slow", func(s *emulator.Scenario) { s.Timing.TokenRate, s.Timing.TTFT = 0.09, time.Second }, "silence", unknown, 0},
		{"open after the end", func(s *emulator.Scenario) { s.Faults = []emulator.Fault{{Kind: "done", Value: "open"}} }, "", yes, 100 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, func(s *emulator.Scenario, c *openrouter.Config) {
					c.Limits = limits
					row.change(s)
				})
				h := ask(t, t.Context(), w.client, request(w.lanes[atlas]))
				if h.class() != row.class || h.charged() != row.charged || row.took > 0 && h.took.Truncate(time.Microsecond) != row.took {
					t.Errorf("%q after %v, charged %v; want %q after %v, %v", h.class(), h.took, h.charged(), row.class, row.took, row.charged)
				}
				synctest.Wait()
				if left := w.Totals().InFlight[atlas]; left != 0 {
					t.Errorf("%d requests are still in flight", left)
				}
			})
		})
	}
}

// TestConnect has no network: nothing is sent, so nothing is charged.
func TestConnect(t *testing.T) {
	hang := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, fmt.Errorf("connection refused") }
	mute := func(context.Context, string, string) (net.Conn, error) {
		here, _ := net.Pipe()
		return here, nil
	}
	for _, row := range []struct {
		name    string
		base    string
		dial    func(context.Context, string, string) (net.Conn, error)
		class   string
		charged eyrie.Charged
		took    time.Duration
	}{
		{"refused", testBase, refuse, "connection", no, 0},
		{"no answer to the dial", testBase, hang, "connection", no, 5 * time.Second},
		{"no answer to the TLS handshake", "https://vendor.test/api/v1", mute, "connection", no, 5 * time.Second},
		{"no answer to the request", testBase, mute, "no first content", unknown, time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := openrouter.New(openrouter.Config{
					BaseURL: row.base, Key: testKey, Dial: row.dial,
					Limits: openrouter.Limits{Connect: 5 * time.Second, FirstContent: time.Minute},
				})
				if err != nil {
					t.Fatal(err)
				}
				h := ask(t, t.Context(), c, request(recordedLane()))
				if h.class() != row.class || h.charged() != row.charged || h.took != row.took {
					t.Errorf("%q (%v) after %v, charged %v; want %q after %v, %v", h.class(), h.err, h.took, h.charged(), row.class, row.took, row.charged)
				}
				if row.class == "connection" && (!h.err.LaneWide || h.err.RetryAfter <= 0) {
					t.Errorf("a network that is away is nobody's fault but everybody's trouble: %+v", h.err)
				}
				c.Close()
			})
		})
	}
}

// TestRestOfStream finishes an answer whose end does not come, or comes late.
func TestRestOfStream(t *testing.T) {
	text := delta(thinks) + delta(says) + finish("stop", "")
	for _, row := range []struct {
		name, now, later string
		wait             time.Duration
		class            string
		charged          eyrie.Charged
		took             time.Duration
	}{
		{"usage and [DONE] late", text, billed() + done, 3 * time.Second, "", yes, 3 * time.Second},
		{"[DONE] never", text + billed(), done, time.Hour, "", yes, 10 * time.Second},
		{"usage never", text, billed(), time.Hour, "", unknown, 10 * time.Second},
		{"nothing after an error", delta(thinks) + frame(`"error":{"code":502,"message":"gone"}`), billed(), time.Hour, "in-band 502", unknown, 10 * time.Second},
		{"usage some time after an error", delta(thinks) + frame(`"error":{"code":502,"message":"gone"}`), billed(), 2 * time.Second, "in-band 502", yes, 2 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", "text/event-stream")
					io.WriteString(w, row.now)
					w.(http.Flusher).Flush()
					select {
					case <-time.After(row.wait):
						io.WriteString(w, row.later)
					case <-r.Context().Done():
					}
				}), nil)
				h := ask(t, t.Context(), c, request(recordedLane()))
				if h.class() != row.class || h.charged() != row.charged || h.took != row.took {
					t.Errorf("%q (%v) after %v, charged %v; want %q after %v, %v", h.class(), h.err, h.took, h.charged(), row.class, row.took, row.charged)
				}
			})
		})
	}
}

// TestGather compares attempts that read at once with ones that let text
// gather: the same answer, the same time to the first text, and an end at most
// one period later, at rates below and far above what fits a buffer.
func TestGather(t *testing.T) {
	const period = 200 * time.Millisecond
	for _, rate := range []float64{5, 25, 250, 5000} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			listen := func(gather time.Duration) (h *heard) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, func(s *emulator.Scenario, c *openrouter.Config) {
						s.Timing.TTFT, s.Timing.TokenRate, s.Timing.WriteEvery = 730*time.Millisecond, rate, time.Millisecond
						s.Stream.ChunkTokens, s.Text.MedianTokens, s.Text.Sigma = 1, 2000, 0
						c.Gather = gather
					})
					h = ask(t, t.Context(), w.client, request(w.lanes[atlas]))
				})
				return h
			}
			at, gathered := listen(0), listen(period)
			if at.err != nil || gathered.err != nil || at.Content != gathered.Content || at.Reasoning != gathered.Reasoning || at.Cost != gathered.Cost {
				t.Fatalf("not the same answer: %v, %v", at.err, gathered.err)
			}
			if at.FirstContent != gathered.FirstContent || at.FirstContent < 730*time.Millisecond {
				t.Errorf("the first text after %v, and gathered after %v", at.FirstContent, gathered.FirstContent)
			}
			if late := gathered.Elapsed - at.Elapsed; late < 0 || late > period {
				t.Errorf("the end after %v, and gathered after %v", at.Elapsed, gathered.Elapsed)
			}
		})
	}
}

// TestGatherCancel cancels in the pause between two reads.
func TestGatherCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *emulator.Scenario, c *openrouter.Config) {
			s.Timing.TokenRate = 10
			c.Gather = time.Hour
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		h := ask(t, ctx, w.client, request(w.lanes[atlas]))
		if h.class() != "cancelled" || h.took != 3*time.Second || h.Reasoning == "" {
			t.Errorf("%v after %v with %q", h.err, h.took, h.Reasoning)
		}
	})
}

// TestSilenceWhileGathering holds that text which waits in the kernel is not
// silence, and that silence is found no later for gathering.
func TestSilenceWhileGathering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *emulator.Scenario, c *openrouter.Config) {
			c.Gather = 10 * time.Second
			c.Limits.Silence = 15 * time.Second
			s.Timing.TokenRate = 4
		}, emulator.Fault{Kind: "stall", Value: "comments", After: 200})
		h := ask(t, t.Context(), w.client, request(w.lanes[atlas]))
		stalled := 50 * time.Second
		if h.class() != "silence" || h.took < stalled || h.took > stalled+25*time.Second {
			t.Errorf("%v after %v", h.err, h.took)
		}
		if n := strings.Count(h.Reasoning+h.Content, "") - 1; n < 200 {
			t.Errorf("only %d characters of 200 tokens were kept", n)
		}
	})
}
