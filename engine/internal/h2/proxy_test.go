package h2_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie/engine/internal/h2"
	"github.com/eyrie-ai/eyrie/internal/memnet"
)

// TestVia goes through proxies that take the connection, refuse it, say
// nothing, or are none.
func TestVia(t *testing.T) {
	const password = "not-to-be-shown"
	for _, row := range []struct {
		name  string
		proxy string
		play  func(c net.Conn) // until the tunnel stands
		want  string           // is in the error; "" for none
		took  time.Duration
	}{
		{"http", "http://proxy.test:3128", connected(t, ""), "", 0},
		{"http with a password", "http://me:" + password + "@proxy.test", connected(t, "me:"+password), "", 0},
		{"socks5", "socks5://proxy.test", socks, "", 0},
		{"refused", "http://me:" + password + "@proxy.test", func(c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
		}, "407", 0},
		{"no proxy", "http://proxy.test", func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH\r\n"); io.Copy(io.Discard, c) }, "malformed", 0},
		{"no socks", "socks5://me:" + password + "@proxy.test", func(c net.Conn) { c.Close() }, "socks connect", 0},
		{"silence", "http://me:" + password + "@proxy.test", func(c net.Conn) { io.Copy(io.Discard, c) }, "no connection within 5s", connect},
		{"silence at TLS", "https://proxy.test", func(c net.Conn) { io.Copy(io.Discard, c) }, "no connection within 5s", connect},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr, origin := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }, nil)
				proxies := memnet.New()
				t.Cleanup(func() { proxies.Close() })
				go func() {
					for {
						c, err := proxies.Accept()
						if err != nil {
							return
						}
						go func() {
							defer c.Close()
							if row.play(c); row.want != "" {
								return
							}
							there, err := origin.Dial(t.Context(), "tcp", host+":443")
							if err != nil {
								t.Error(err)
								return
							}
							go io.Copy(there, c)
							io.Copy(c, there)
						}()
					}
				}()
				u, err := url.Parse(row.proxy)
				if err != nil {
					t.Fatal(err)
				}
				if tr.Dial, err = h2.Via(u, proxies.Dial); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				_, text, err := post(t.Context(), tr, "question")
				switch {
				case row.want == "" && (err != nil || text != "HTTP/2.0"):
					t.Errorf("%q, %v", text, err)
				case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "proxy ")):
					t.Errorf("%v, want %q", err, row.want)
				case err != nil && strings.Contains(err.Error(), password):
					t.Errorf("the password shows in %v", err)
				case time.Since(began) != row.took:
					t.Errorf("it took %v, want %v", time.Since(began), row.took)
				}
			})
		})
	}
	u, _ := url.Parse("ftp://me:" + password + "@proxy.test")
	if _, err := h2.Via(u, nil); err == nil || !strings.Contains(err.Error(), "http, https, socks5") || strings.Contains(err.Error(), password) {
		t.Error(err)
	}
	refused := errors.New("refused")
	u, _ = url.Parse("http://proxy.test:1")
	dial, err := h2.Via(u, func(_ context.Context, _, addr string) (net.Conn, error) {
		if addr != "proxy.test:1" {
			t.Errorf("dialled %s", addr)
		}
		return nil, refused
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t.Context(), "tcp", host+":443"); !errors.Is(err, refused) {
		t.Error(err)
	}
}

// connected plays an HTTP proxy that wants a name and a password, if any.
func connected(t *testing.T, user string) func(net.Conn) {
	return func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReaderSize(c, 16))
		want := ""
		if user != "" {
			want = "Basic " + base64.StdEncoding.EncodeToString([]byte(user))
		}
		if err != nil || r.Method != "CONNECT" || r.Host != host+":443" || r.Header.Get("Proxy-Authorization") != want {
			t.Errorf("%+v, %v", r, err)
		}
		fmt.Fprint(c, "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
	}
}

// socks plays a SOCKS5 proxy that wants no password.
func socks(c net.Conn) {
	read := func(n int) []byte {
		b := make([]byte, n)
		io.ReadFull(c, b)
		return b
	}
	read(int(read(2)[1])) // the methods
	c.Write([]byte{5, 0})
	switch read(4)[3] { // the kind of address
	case 1:
		read(4)
	case 3:
		read(int(read(1)[0]))
	case 4:
		read(16)
	}
	read(2) // the port
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
}
