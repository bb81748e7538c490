package h2_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/eyrie-ai/eyrie/engine/internal/h2"
	"github.com/eyrie-ai/eyrie/internal/memnet"
)

const (
	host    = "origin.test"
	connect = 5 * time.Second
)

// identity is a certificate of host, and who trusts it.
var identity = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	// Bubbles live in the year 2000.
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{host},
		NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
})

// transport returns a transport to a network, and closes it in the end.
func transport(t testing.TB, network *memnet.Network) *h2.Transport {
	_, pool := identity()
	roots := &tls.Config{RootCAs: pool}
	tr := &h2.Transport{
		Host: host, Dial: network.Dial, TLS: roots, Connect: connect,
		Fallback: &http.Transport{DialContext: network.Dial, TLSClientConfig: roots},
	}
	t.Cleanup(func() {
		network.Close()
		synctest.Wait()
		tr.CloseIdleConnections()
		time.Sleep(2 * time.Hour) // for whoever sleeps
	})
	return tr
}

// serve runs net/http's own server.
func serve(t *testing.T, handler http.HandlerFunc, change func(*http.Server)) (*h2.Transport, *memnet.Network) {
	t.Helper()
	network := memnet.New()
	cert, _ := identity()
	web := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}}}
	if change != nil {
		change(web)
	}
	tr := transport(t, network)
	go web.ServeTLS(network, "", "")
	t.Cleanup(func() { web.Close() })
	return tr, network
}

// peer is a server that does exactly what a script says.
type peer struct {
	testing.TB
	net.Conn
	*http2.Framer
	conn int // which connection this is, from 0
}

// script runs a server by hand: greet is what it says first, nil is empty
// settings.
func script(t testing.TB, greet func(*peer), play func(*peer)) (*h2.Transport, *memnet.Network) {
	network := memnet.New()
	cert, _ := identity()
	tr := transport(t, network)
	go func() {
		for n := 0; ; n++ {
			raw, err := network.Accept()
			if err != nil {
				return
			}
			go func() {
				c := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
				defer c.Close()
				preface := make([]byte, len(http2.ClientPreface))
				if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
					t.Errorf("the client began with %q, %v", preface, err)
					return
				}
				p := &peer{TB: t, Conn: c, Framer: http2.NewFramer(c, c), conn: n}
				p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
				if greet == nil {
					p.WriteSettings()
				} else {
					greet(p)
				}
				play(p)
			}()
		}
	}()
	return tr, network
}

// next returns the next frame of a kind; nil at the end of the connection.
func next[F http2.Frame](p *peer) (f F) {
	for {
		got, err := p.ReadFrame()
		if err != nil {
			return f
		}
		if f, ok := got.(F); ok {
			return f
		}
	}
}

// request waits for the head of a request, and returns the id of its stream; 0
// when there is none any more.
func (p *peer) request() uint32 {
	if f := next[*http2.MetaHeadersFrame](p); f != nil {
		return f.StreamID
	}
	return 0
}

// answer sends headers: names and values in turn.
func (p *peer) answer(id uint32, ended bool, fields ...string) {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	head := b.Bytes()
	p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head[:min(len(head), 16<<10)], EndHeaders: len(head) <= 16<<10, EndStream: ended})
	for len(head) > 16<<10 {
		head = head[16<<10:]
		p.WriteContinuation(id, len(head) <= 16<<10, head[:min(len(head), 16<<10)])
	}
}

// drain reads until the client goes.
func (p *peer) drain() { next[*http2.PushPromiseFrame](p) }

// post sends a request and reads the response.
func post(ctx context.Context, tr http.RoundTripper, body string) (resp *http.Response, text string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+"/v1/chat?x=1", strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("X-Name", "value")
	if resp, err = tr.RoundTrip(req); err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}
