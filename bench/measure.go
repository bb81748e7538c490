package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"crypto/tls"
	"crypto/x509"
)

// result is what a client's process took. Idle is its memory before its first
// request.
type result struct {
	User, System time.Duration
	RSS, Idle    int64
	Connections  int
	Wall         time.Duration
	report
}

func (r result) cpu() time.Duration { return r.User + r.System }

// report is what a client says of itself.
type report struct {
	Events    int     // with text
	Hash      uint64  `json:",string"` // sum over the texts
	FirstText float64 // mean time to the first text, in seconds
	Idle      int64
	Memory    memory
}

// measure runs one client against a fresh server.
func measure(kind, proto, profile string, l *load) (result, error) {
	addr, cert, stop, err := startServer(proto, l)
	if err != nil {
		return result{}, err
	}
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	cmd := exec.Command(self, append(l.args(), "-client="+kind)...)
	if kind == names()[0] && profile != "" {
		cmd.Args = append(cmd.Args, "-profile="+profile)
	}
	cmd.Env = append(os.Environ(), "BENCH_URL="+addr, "BENCH_CERT="+cert)
	cmd.Stderr = os.Stderr
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return result{}, err
	}
	r := result{Wall: time.Since(began), User: cmd.ProcessState.UserTime(), System: cmd.ProcessState.SystemTime()}
	r.RSS = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024
	if err := json.Unmarshal(out, &r.report); err != nil {
		return r, fmt.Errorf("what it says of itself: %w", err)
	}
	r.Idle = r.report.Idle
	if r.Events != l.events() || r.Hash != l.hash() {
		return r, fmt.Errorf("%d of %d events, texts alike: %v", r.Events, l.events(), r.Hash == l.hash())
	}
	r.Connections, err = connections(addr, cert)
	return r, err
}

// startServer starts the server and returns where it is.
func startServer(proto string, l *load) (addr, cert string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", "", nil, err
	}
	cmd := exec.Command(self, append(l.args(), "-server", "-proto="+proto)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", "", nil, err
	}
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch {
		case addr == "":
			addr = lines.Text()
		case lines.Text() != "":
			cert += lines.Text() + "\n"
		}
		if addr != "" && (proto != "h2" || strings.Contains(cert, "END CERTIFICATE")) {
			go io.Copy(io.Discard, out)
			return addr, cert, stop, nil
		}
	}
	stop()
	return "", "", nil, errors.New("the server did not start")
}

// connections asks the server how many it had at once.
func connections(addr, cert string) (n int, err error) {
	c := http.Client{Transport: transport(cert)}
	resp, err := c.Get(addr + "/connections")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = fmt.Fscan(resp.Body, &n)
	return n, err
}

// transport is a net/http transport as anybody would make it for many streams.
func transport(cert string) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 10_000, 10_000
	t.TLSClientConfig = roots(cert)
	return t
}

func roots(cert string) *tls.Config {
	if cert == "" {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(cert))
	return &tls.Config{RootCAs: pool}
}

// names are the clients, ours first.
func names() []string {
	var out []string
	for _, c := range clients {
		out = append(out, c.name)
	}
	return out
}

// beClient is a process that is one client.
func beClient(kind, profile string, l *load) error {
	i := slices.IndexFunc(clients, func(c client) bool { return c.name == kind })
	if i < 0 {
		return fmt.Errorf("no client %q", kind)
	}
	idle := rss()
	stop, err := startProfile(profile, l)
	if err != nil {
		return err
	}
	defer stop()
	memory := watchMemory()
	r, err := clients[i].run(l, os.Getenv("BENCH_URL"), os.Getenv("BENCH_CERT"))
	r.Memory = memory()
	if err != nil {
		return err
	}
	r.Idle = idle
	return json.NewEncoder(os.Stdout).Encode(r)
}

// rss is the peak of this process's memory so far.
func rss() int64 {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return ru.Maxrss * 1024
}
