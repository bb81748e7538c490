package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// serve plays the API until it is told to stop. It prints its address, and for
// TLS its certificate.
func serve(l *load, secure bool) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &server{load: l}
	srv := &http.Server{Handler: s, ConnState: s.count}
	if !secure {
		fmt.Printf("http://%s\n", ln.Addr())
		go srv.Serve(ln)
	} else {
		cert, text, err := certificate()
		if err != nil {
			return err
		}
		srv.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}}
		fmt.Printf("https://%s\n%s\n", ln.Addr(), text)
		go srv.ServeTLS(ln, "", "")
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	<-stop
	return srv.Close()
}

// server sends the streams, and counts connections.
type server struct {
	load       *load
	open, most atomic.Int64
}

func (s *server) count(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if n := s.open.Add(1); n > s.most.Load() {
			s.most.Store(n)
		}
	case http.StateClosed:
		s.open.Add(-1)
	}
}

var item = regexp.MustCompile(`item (\d+)\.`)

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/connections" {
		fmt.Fprint(w, s.most.Swap(s.open.Load()))
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m := item.FindSubmatch(body)
	if m == nil {
		http.Error(w, "no item in the prompt", http.StatusBadRequest)
		return
	}
	n, _ := strconv.Atoi(string(m[1]))
	s.stream(w, n)
}

// stream sends an answer, each token when it is due and in a write of its own.
func (s *server) stream(w http.ResponseWriter, n int) {
	l := s.load
	id := fmt.Sprintf("gen-17694%05d-%020d", n%100000, n)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Generation-Id", id)
	rc := http.NewResponseController(w)
	send := func(text string) bool {
		if _, err := io.WriteString(w, text); err != nil {
			return false
		}
		return rc.Flush() == nil
	}
	if !send(": OPENROUTER PROCESSING\n\n") {
		return
	}
	every := time.Duration(float64(time.Second) / l.Rate)
	due := time.Now()
	if l.Wait > 0 {
		due = due.Add(l.Wait + time.Duration(n%200)*time.Millisecond)
	}
	for i := range l.Tokens {
		time.Sleep(time.Until(due))
		due = due.Add(every)
		if !send(event(id, l.word(n, i))) {
			return
		}
	}
	send(fmt.Sprintf(`data: {"id":%q,"object":"chat.completion.chunk","created":1769490011,"model":%q,"provider":%q,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop","native_finish_reason":"stop","logprobs":null}]}`+"\n\n"+
		`data: {"id":%q,"object":"chat.completion.chunk","created":1769490011,"model":%q,"provider":%q,"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"cost":%s,"is_byok":false,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}`+"\n\ndata: [DONE]\n\n",
		id, model, provider, id, model, provider, promptTokens, l.Tokens, promptTokens+l.Tokens, l.cost()))
}

// event is one token as OpenRouter sends it, about 345 bytes long.
func event(id, text string) string {
	return `data: {"id":"` + id + `","object":"chat.completion.chunk","created":1769490011,"model":"` + model + `","provider":"` + provider +
		`","choices":[{"index":0,"delta":{"role":"assistant","content":"` + text + `"},"finish_reason":null,"native_finish_reason":null,"logprobs":null}],"system_fingerprint":"fp_0123456789abcdef"}` + "\n\n"
}

func certificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, text, nil
}
