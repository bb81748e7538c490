package h2

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"golang.org/x/net/proxy"
)

// Dialer makes a connection. It heeds its context.
type Dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// Via returns what dials through a proxy, which forward reaches: http and https
// proxies by CONNECT, and socks5. The errors it makes do not show the proxy's
// password.
func Via(p *url.URL, forward Dialer) (Dialer, error) {
	port := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[p.Scheme]
	if port == "" {
		return nil, fmt.Errorf("proxy %s: %q is none of the ways to a proxy: http, https, socks5", p.Redacted(), p.Scheme)
	}
	at := net.JoinHostPort(p.Hostname(), cmp.Or(p.Port(), port))
	if port == "1080" {
		return socks(p, at, forward)
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := forward(ctx, network, at)
		if err != nil {
			return nil, fmt.Errorf("proxy %s: %w", p.Redacted(), err)
		}
		// The handshakes below know nothing of a context but through the
		// connection.
		stop := context.AfterFunc(ctx, func() { c.Close() })
		through := c
		if p.Scheme == "https" {
			through = tls.Client(c, &tls.Config{ServerName: p.Hostname()})
		}
		err = ask(through, p, addr)
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			c.Close()
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return nil, fmt.Errorf("proxy %s: %w", p.Redacted(), err)
		}
		return through, nil
	}, nil
}

// ask has a proxy connect to an address.
func ask(c net.Conn, p *url.URL, addr string) error {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if p.User != nil {
		password, _ := p.User.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(p.User.Username()+":"+password)))
	}
	if err := req.Write(c); err != nil {
		return err
	}
	// One byte at a time: what follows the head belongs to the connection.
	resp, err := http.ReadResponse(bufio.NewReaderSize(oneByte{c}, 16), req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// oneByte never reads further than was asked for.
type oneByte struct{ net.Conn }

func (o oneByte) Read(p []byte) (int, error) { return o.Conn.Read(p[:min(1, len(p))]) }

func socks(p *url.URL, at string, forward Dialer) (Dialer, error) {
	var auth *proxy.Auth
	if p.User != nil {
		password, _ := p.User.Password()
		auth = &proxy.Auth{User: p.User.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", at, auth, dialing(forward))
	if err != nil {
		return nil, fmt.Errorf("proxy %s: %w", p.Redacted(), err)
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.(proxy.ContextDialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, fmt.Errorf("proxy %s: %w", p.Redacted(), err)
		}
		return c, nil
	}, nil
}

// dialing is a Dialer as the module wants it.
type dialing Dialer

func (d dialing) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d(ctx, network, addr)
}

func (d dialing) Dial(network, addr string) (net.Conn, error) {
	return d(context.Background(), network, addr)
}
