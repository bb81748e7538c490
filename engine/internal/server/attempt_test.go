package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/engine/internal/stream"
	"github.com/eyrie-ai/eyrie/internal/memnet"
)

// bubble gives a client of a server in memory.
func bubble(t *testing.T, handler http.HandlerFunc, play func(t *testing.T, c *Client)) {
	synctest.Test(t, func(t *testing.T) {
		p := memnet.New()
		s := &http.Server{Handler: handler}
		go s.Serve(p)
		c, err := New(Config{Engine: "test", BaseURL: "http://server", Model: "m", Dial: p.Dial}, Dialect{
			Metrics: Metrics{Running: []string{"running"}, Waiting: []string{"waiting"}, Tokens: []string{"tokens_total"}}, Health: "/health",
		})
		if err != nil {
			t.Fatal(err)
		}
		play(t, c)
		c.Close()
		s.Close()
	})
}

func chat(c *Client, events bool) func() (*Ask, error) {
	return func() (*Ask, error) {
		return &Ask{Path: "/v1/chat/completions", Body: c.ChatBody(request(), events), Stream: events, Frame: OpenAI}, nil
	}
}

func request() *eyrie.Request {
	return &eyrie.Request{
		Generation: &eyrie.Generation{Messages: []eyrie.Message{{Role: eyrie.User, Content: "Hi"}}},
		Sampling:   eyrie.Sampling{MaxTokens: 100}, Lane: &eyrie.Lane{Tag: "rack1"},
	}
}

func ask(t *testing.T, c *Client, events bool) (*eyrie.Answer, *eyrie.Error) {
	t.Helper()
	var answer *eyrie.Answer
	var failed error
	for ev, err := range c.Stream(t.Context(), request(), chat(c, events)) {
		if ev.Kind == eyrie.Ended {
			answer, failed = ev.Answer, err
		}
	}
	if answer == nil {
		t.Fatal("an attempt without an end")
	}
	if failed == nil {
		return answer, nil
	}
	e, ok := eyrie.AsError(failed)
	if !ok || e.Charged != eyrie.ChargedNo || e.Class == "" || e.Kind == 0 {
		t.Fatalf("no error of a free attempt: %#v", failed)
	}
	return answer, e
}

const (
	says   = `{"id":"a","model":"m","choices":[{"index":0,"message":{"content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`
	begins = `data: {"id":"a","model":"m","choices":[{"index":0,"delta":{"content":"ye"}}]}` + "\n\n"
	ends   = `data: {"id":"a","model":"m","choices":[{"index":0,"delta":{"content":"s"},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"id":"a","model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}` + "\n\n"
	done = "data: [DONE]\n\n"
)

// Whatever comes, an attempt ends with a reason that a person can read, and
// only with a whole answer in none.
func TestWhateverComes(t *testing.T) {
	body := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, text)
		}
	}
	cutOff := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, text)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	for _, row := range []struct {
		name   string
		server http.HandlerFunc
		class  string // "" is an answer
		kind   eyrie.ErrorKind
		words  string
	}{
		{"an answer in one piece", body(200, says), "", 0, ""},
		{"white space before it", body(200, "\n\n  "+says), "", 0, ""},
		{"a stream", body(200, begins+ends+done), "", 0, ""},
		{"a stream with comments and CRLF", body(200, strings.ReplaceAll(": hi\n\n"+begins+ends+done, "\n", "\r\n")), "", 0, ""},
		{"a stream without its last line", body(200, begins+ends), "", 0, ""},
		{"a stream without usage", body(200, begins+strings.SplitAfter(ends, "\n\n")[0]), "stream cut", eyrie.Again, "without its end"},
		{"a stream cut off", cutOff(begins), "stream cut", eyrie.Again, ""},
		{"an answer cut off", cutOff(says[:40]), "stream cut", eyrie.Again, ""},
		{"nothing", body(200, ""), "stream cut", eyrie.Again, "without its end"},
		{"no JSON", body(200, `{"id":`), "bad frame", eyrie.Again, `in "{\"id\":"`},
		{"another JSON", body(200, `{"choices":"x"}`), "bad frame", eyrie.Again, ""},
		{"an empty object", body(200, `{}`), "no finish reason", eyrie.Again, ""},
		{"a page", body(200, "<html><body>nginx</body></html>"), "stream cut", eyrie.Again, ""},
		{"a page and 502", body(502, "<html>bad gateway</html>"), "502", eyrie.Again, "502: a web page"},
		{"words and 500", body(500, "Internal Server Error"), "500", eyrie.Again, "500: Internal Server Error"},
		{"an error in a stream", body(200, begins+`data: {"error":{"message":"CUDA out of memory","code":500}}`+"\n\n"+done), "in-band 500", eyrie.Again, "CUDA out of memory"},
		{"an error without words", body(200, `{"error":{}}`), "in-band error", eyrie.Again, ""},
		{"an old error", body(400, `{"object":"error","message":"This model's maximum context length is 10 tokens.","code":400}`), "400", eyrie.Elsewhere, "maximum context length is 10"},
		{"FastAPI's error", body(422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`), "422", eyrie.GiveUp, "field required"},
		{"too many", body(429, `{"error":{"message":"slow down"}}`), "429", eyrie.Again, "slow down"},
		{"loading", body(503, `{"error":{"message":"Loading model","code":503}}`), "503", eyrie.Again, "Loading model"},
		{"no such model", body(404, `{"error":{"message":"The model m does not exist.","code":404}}`), "404", eyrie.Elsewhere, "does not exist"},
		{"a key is wanted", body(401, `{"error":"Unauthorized"}`), "401", eyrie.Elsewhere, "set key_file"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere/", http.StatusMovedPermanently)
		}, "301", eyrie.Elsewhere, "set base_url"},
		{"another model", body(200, strings.Replace(says, `"m"`, `"n"`, 1)), "wrong model", eyrie.Elsewhere, `"n" answered`},
		{"two choices", body(200, strings.Replace(says, `"choices":[`, `"choices":[{"index":1},`, 1)), "bad frame", eyrie.Elsewhere, "more than one"},
		{"given up", body(200, strings.Replace(says, `"stop"`, `"abort"`, 1)), "abort", eyrie.Again, ""},
		{"a reason nobody knows", body(200, strings.Replace(says, `"stop"`, `"because"`, 1)), "finish reason", eyrie.Elsewhere, "because"},
		{"no text", body(200, strings.Replace(says, `"yes"`, `null`, 1)), "empty answer", eyrie.Again, ""},
		{"too long", body(200, strings.Replace(says, `"completion_tokens":2`, `"completion_tokens":101`, 1)), "overrun", eyrie.Elsewhere, "101"},
		{"reasoning nobody asked for", body(200, strings.Replace(says, `"content"`, `"reasoning_content":"hm","content"`, 1)), "reasoning", eyrie.Elsewhere, ""},
		{"a call of nothing", body(200, strings.Replace(says, `"yes"`, `"yes","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]`, 1)), "tool call", eyrie.Again, "not offered"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, row.server, func(t *testing.T, c *Client) {
				for _, events := range []bool{true, false} {
					a, e := ask(t, c, events)
					switch {
					case row.class == "" && e != nil:
						t.Errorf("refused: %v", e)
					case row.class == "":
						if a.Content != "yes" || a.Usage.CompletionTokens != 2 || a.ID != "a" || a.Provider != "test" {
							t.Errorf("got %+v", a)
						}
					case e == nil:
						t.Errorf("accepted: %+v", a)
					case e.Class != row.class || e.Kind != row.kind || !strings.Contains(e.Error(), row.words):
						t.Errorf("got %s, %v: %v", e.Class, e.Kind, e)
					}
				}
			})
		})
	}
}

func TestClocks(t *testing.T) {
	hold := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // else leaving is not noticed
			io.WriteString(w, text)
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
	for _, row := range []struct {
		name   string
		server http.HandlerFunc
		events bool
		class  string
		after  time.Duration
	}{
		{"no text", hold(""), true, "no first content", 5 * time.Minute},
		{"silence", hold(begins), true, "silence", 2 * time.Minute},
		{"in one piece", hold(""), false, "too long", time.Hour},
		{"the end, and then nothing", hold(begins + ends), true, "", endWait},
		{"[DONE] and an open body", hold(begins + ends + done), true, "", hangUpWait},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, row.server, func(t *testing.T, c *Client) {
				began := time.Now()
				_, e := ask(t, c, row.events)
				class := ""
				if e != nil {
					class = e.Class
				}
				if took := time.Since(began); class != row.class || took < row.after || took > row.after+time.Second {
					t.Errorf("%q after %v, want %q after %v: %v", class, took, row.class, row.after, e)
				}
			})
		})
	}
}

// Servers have been seen to lose requests and to call themselves healthy. What
// they have forgotten is given up long before an hour has passed.
func TestWhatAServerForgotIsCutOff(t *testing.T) {
	for _, row := range []struct {
		name    string
		running int // as it says
		waiting int
		dead    bool
		class   string
		after   time.Duration
	}{
		{"it works on nothing", 0, 0, false, "lost", lostAfter},
		{"it lets all wait", 0, 1, false, "lost", stuckAfter},
		{"it is at work", 1, 3, false, "too long", time.Hour},
		{"it does not answer", 0, 0, true, "lost", goneAfter},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path != "/metrics":
					io.Copy(io.Discard, r.Body) // else leaving is not noticed
					<-r.Context().Done()
				case row.dead:
					panic(http.ErrAbortHandler)
				default:
					fmt.Fprintf(w, "running %d\nwaiting %d\n", row.running, row.waiting)
				}
			}
			bubble(t, server, func(t *testing.T, c *Client) {
				ctx, stop := context.WithCancel(t.Context())
				watched := make(chan struct{})
				go func() {
					defer close(watched)
					for tick := time.NewTicker(time.Second); ; {
						select {
						case <-tick.C:
							c.Load(ctx)
						case <-ctx.Done():
							tick.Stop()
							return
						}
					}
				}()
				began := time.Now()
				_, e := ask(t, c, false)
				took := time.Since(began)
				stop()
				<-watched
				if e == nil || e.Class != row.class || took < row.after || took > row.after+15*time.Second {
					t.Errorf("after %v: %v", took, e)
				}
				if row.class == "lost" && !e.LaneWide {
					t.Error("the lane is not said to be at fault")
				}
			})
		})
	}
}

// A server that takes requests and answers none is found out before the start.
func TestProbeOfAServerThatHangs(t *testing.T) {
	bubble(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // else leaving is not noticed
		<-r.Context().Done()
	}, func(t *testing.T, c *Client) {
		began := time.Now()
		_, err := c.Ask1(t.Context(), func(*eyrie.Request) (*Ask, error) { return chat(c, false)() })
		if err == nil || !strings.Contains(err.Error(), "one token was not answered in 1m0s") || time.Since(began) > probeWait+time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestLoad(t *testing.T) {
	tokens := 1000
	bubble(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "running 7\nwaiting 2\ntokens_total %d\n", tokens)
	}, func(t *testing.T, c *Client) {
		load, err := c.Load(t.Context())
		if err != nil || load.Running != 7 || load.Waiting != 2 || load.Cache != -1 {
			t.Fatalf("%+v %v", load, err)
		}
		tokens += 500
		<-time.After(2 * time.Second)
		if load, _ = c.Load(t.Context()); load.TokensPerSecond != 250 {
			t.Errorf("%v tokens a second", load.TokensPerSecond)
		}
		tokens = 3 // it was started again
		<-time.After(2 * time.Second)
		if load, _ = c.Load(t.Context()); load.TokensPerSecond > 0 {
			t.Errorf("%v tokens a second of a server that was started again", load.TokensPerSecond)
		}
	})
}

// A server without metrics is asked for its health, and its speed is counted
// here.
func TestLoadWithoutMetrics(t *testing.T) {
	ill := false
	bubble(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/metrics":
			http.NotFound(w, r)
		case r.URL.Path == "/health" && ill:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/health":
		default:
			io.WriteString(w, says)
		}
	}, func(t *testing.T, c *Client) {
		load, err := c.Load(t.Context())
		if err != nil || load.Running != -1 || load.Waiting != -1 || c.HasMetrics() {
			t.Fatalf("%+v %v", load, err)
		}
		for range 10 {
			ask(t, c, false)
		}
		<-time.After(2 * time.Second)
		if load, _ = c.Load(t.Context()); load.TokensPerSecond < 9 || load.TokensPerSecond > 10 {
			t.Errorf("twenty tokens in two seconds are %v a second", load.TokensPerSecond)
		}
		ill = true
		if _, err := c.Load(t.Context()); err == nil {
			t.Error("a server that says it is ill is taken to be well")
		}
	})
}

func TestTheKeyDoesNotShow(t *testing.T) {
	const key = "secret-key-of-rack1"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"your header is %s"}}`, r.Header.Get("Authorization"))
	}))
	defer s.Close()
	c, err := New(Config{Engine: "test", BaseURL: s.URL, Model: "m", Key: key, Limits: stream.Limits{}}, Dialect{Health: "/health"})
	if err != nil {
		t.Fatal(err)
	}
	_, e := ask(t, c, false)
	if e == nil || strings.Contains(e.Error(), key) || !strings.Contains(e.Error(), hiddenKey) {
		t.Errorf("got %v", e)
	}
	_, err = c.Get(t.Context(), "/v1/models")
	if err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("got %v", err)
	}
	if _, err := New(Config{Engine: "test", BaseURL: s.URL, Key: "two words"}, Dialect{}); err == nil || strings.Contains(err.Error(), "two words") {
		t.Errorf("a key with a space: %v", err)
	}
	for _, u := range []string{"", "rack1:8000", "ftp://rack1", "http://"} {
		if _, err := New(Config{Engine: "test", BaseURL: u}, Dialect{}); err == nil {
			t.Errorf("base_url %q was taken", u)
		}
	}
}
