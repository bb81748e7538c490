package openrouter_test

import (
	"context"
	"errors"
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

// answering serves one JSON document to every request.
func answering(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

func TestAccount(t *testing.T) {
	show := func(m *eyrie.Money) string {
		if m == nil {
			return "none"
		}
		return m.String()
	}
	for _, row := range []struct {
		name, body              string
		usage, limit, remaining string
		err                     string
	}{
		{"as documented", `{"data":{"usage":68.58,"limit":250,"limit_remaining":181.42,"usage_daily":null,"rate_limit":{"requests":-1}}}`, "$68.58", "$250.00", "$181.42", ""},
		{"no limit", `{"data":{"usage":0,"limit":null,"limit_remaining":null}}`, "$0.00", "none", "none", ""},
		{"overdrawn", `{"data":{"usage":250.02,"limit":250,"limit_remaining":-0.02}}`, "$250.02", "$250.00", "-$0.02", ""},
		{"strings and exponents", `{"data":{"usage":"1e-05","limit":"2.5e2"}}`, "$0.00001", "$250.00", "none", ""},
		{"a limit that cannot be read is not none", `{"data":{"usage":1,"limit":"lots"}}`, "", "", "", "limit"},
		{"a limit of another kind", `{"data":{"usage":1,"limit":{"usd":5}}}`, "", "", "", "limit"},
		{"cut", `{"data":{"usage":1,`, "", "", "", "key"},
		{"something else", `{"object":"list"}`, "", "", "", "no data"},
		{"null", `{"data":null}`, "", "", "", "no data"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := serve(t, answering(200, row.body), nil)
				acc, err := c.Account(t.Context())
				if row.err != "" {
					if err == nil || !strings.Contains(err.Error(), row.err) {
						t.Errorf("%v, want an error about %s", err, row.err)
					}
					return
				}
				if err != nil || show(acc.Usage) != row.usage || show(acc.Limit) != row.limit || show(acc.Remaining) != row.remaining {
					t.Errorf("%s, %s, %s, %v", show(acc.Usage), show(acc.Limit), show(acc.Remaining), err)
				}
			})
		})
	}
}

// TestAccountSays reads what is not money.
func TestAccountSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := serve(t, answering(200, `{"data":{"label":"sk-or-v1-012...def `+testKey+`","limit":5,"limit_reset":"daily","is_management_key":true}}`), nil)
		acc, err := c.Account(t.Context())
		if err != nil || acc.Resets != "daily" || !acc.Management || !acc.Clock.Equal(time.Now().Truncate(time.Second)) {
			t.Errorf("%+v, %v", acc, err)
		}
		if acc.Label != "sk-or-v1-012...def [key]" {
			t.Errorf("label %q", acc.Label)
		}
	})
}

func TestCredits(t *testing.T) {
	for _, row := range []struct {
		name   string
		status int
		body   string
		want   eyrie.Money
		err    string // is part of the error; "" for none
	}{
		{"some left", 200, `{"data":{"total_credits":250,"total_usage":68.58}}`, 18142 * eyrie.Dollar / 100, ""},
		{"overdrawn", 200, `{"data":{"total_credits":1,"total_usage":1.5}}`, -eyrie.Dollar / 2, ""},
		{"an ordinary key", 403, `{"error":{"code":403,"message":"Only management keys can perform this operation"}}`, 0, openrouter.ErrCreditsHidden.Error()},
		{"half of it", 200, `{"data":{"total_credits":250}}`, 0, "no data"},
		{"not a number", 200, `{"data":{"total_credits":250,"total_usage":"much"}}`, 0, "total_usage"},
		{"failing", 500, `{"error":{"code":500,"message":"Internal Server Error"}}`, 0, "500"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := serve(t, answering(row.status, row.body), nil)
				m, err := c.Credits(t.Context())
				if m != row.want || (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
					t.Errorf("%s, %v; want %s, %q", m, err, row.want, row.err)
				}
			})
		})
	}
}

func TestBill(t *testing.T) {
	for _, row := range []struct {
		name   string
		status int
		body   string
		want   eyrie.Money
		err    string // is part of the error; "" for none
	}{
		{"as documented", 200, `{"data":{"id":"gen-1","total_cost":0.00253,"usage":0.00253}}`, 2_530_000_000, ""},
		{"the larger figure", 200, `{"data":{"total_cost":0,"usage":"1.2e-05"}}`, 12_000_000, ""},
		{"nothing", 200, `{"data":{"total_cost":0,"usage":0}}`, 0, ""},
		{"null", 200, `{"data":{"total_cost":null,"usage":null}}`, 0, "no total_cost"},
		{"below zero", 200, `{"data":{"total_cost":-1}}`, 0, "no total_cost"},
		{"another request's", 200, `{"data":{"id":"gen-2","total_cost":1}}`, 0, "gen-2"},
		{"cut", 200, `{"data":{"total_cost":1`, 0, "bill of gen-1"},
		{"not yet", 404, `{"error":{"code":404,"message":"Generation gen-1 not found"}}`, 0, openrouter.ErrNoBill.Error()},
		{"failing", 500, `{"error":{"code":500,"message":"Internal Server Error"}}`, 0, "500"},
		{"a page", 524, `<html>`, 0, "page"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := serve(t, answering(row.status, row.body), nil)
				m, err := c.Bill(t.Context(), "gen-1")
				if m != row.want || (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
					t.Errorf("%s, %v; want %s, %q", m, err, row.want, row.err)
				}
				if e, ok := eyrie.AsError(err); ok && e.Charged != no {
					t.Errorf("a look-up was charged: %v", e.Charged)
				}
			})
		})
	}
}

// TestNoNetwork reads documents over a network that is away.
func TestNoNetwork(t *testing.T) {
	c, err := openrouter.New(openrouter.Config{Key: testKey, BaseURL: testBase, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("away")
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err1 := c.Account(t.Context())
	_, err2 := c.Bill(t.Context(), "gen-1")
	_, err3 := c.Endpoints(t.Context(), model)
	for _, err := range []error{err1, err2, err3} {
		if e, ok := eyrie.AsError(err); !ok || e.Kind != again || e.Charged != no || e.Class != "connection" || !strings.Contains(e.Error(), "away") {
			t.Errorf("%#v", err)
		}
	}
}

// TestP38LateBills asks for bills as they are written: some time after the end,
// and much later when the stream was cut.
func TestP38LateBills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *emulator.Scenario, _ *openrouter.Config) {
			s.Generation = emulator.Lookup{Delay: 5 * time.Second, CancelledDelay: 2 * time.Minute}
		}, emulator.Fault{Kind: "usage", Value: "missing", Requests: []int{1}}, emulator.Fault{Kind: "overrun", Factor: 25, Requests: []int{2}})
		for _, row := range []struct {
			class string
			wait  time.Duration
		}{{"", 5 * time.Second}, {openrouter.ClassOverrun, 2 * time.Minute}} {
			r := request(w.lanes[atlas])
			r.Sampling.MaxTokens = 200
			h := ask(t, t.Context(), w.client, r)
			if h.class() != row.class || h.charged() != unknown {
				t.Fatalf("%v, charged %v", h.err, h.charged())
			}
			synctest.Wait()
			truth := eyrie.Money(w.Books()[len(w.Books())-1].Cost)
			if _, err := w.client.Bill(t.Context(), h.ID); !errors.Is(err, openrouter.ErrNoBill) {
				t.Errorf("at once: %v", err)
			}
			time.Sleep(row.wait)
			if m, err := w.client.Bill(t.Context(), h.ID); err != nil || m != truth {
				t.Errorf("after %v: %s, %v; the books say %s", row.wait, m, err, truth)
			}
		}
	})
}
