package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie"
)

// recorder is a run that notes what it is told.
type recorder struct{ told []string }

func (r *recorder) note(format string, args ...any) error {
	r.told = append(r.told, fmt.Sprintf(format, args...))
	return nil
}

func (r *recorder) PauseRun() error                   { return r.note("pause") }
func (r *recorder) ResumeRun() error                  { return r.note("resume") }
func (r *recorder) EndRun() error                     { return r.note("drain") }
func (r *recorder) SetBudget(m eyrie.Money) error     { return r.note("budget %s", m) }
func (r *recorder) SetConcurrency(n int) error        { return r.note("concurrency %d", n) }
func (r *recorder) ResumeLane(tag string) error       { return r.note("resume %s", tag) }
func (r *recorder) LimitLane(tag string, n int) error { return r.note("limit %s %d", tag, n) }
func (r *recorder) PauseLane(tag string) error {
	if tag != "a/int4" {
		return fmt.Errorf("no lane %q; the lanes are a/int4", tag)
	}
	return r.note("pause %s", tag)
}

func (r *recorder) Snapshot() eyrie.Snapshot {
	return eyrie.Snapshot{Phase: "running", Budget: eyrie.Dollar, Running: 7, Lanes: []eyrie.LaneSnapshot{{Name: "a/int4", Running: 7, Limit: 7, Idle: "full"}}}
}

func TestControl(t *testing.T) {
	for _, row := range []struct {
		args string
		told string // what the run is told
		want string // part of the error
	}{
		{"", "", ""},
		{"show", "", ""},
		{"pause", "pause", ""},
		{"resume", "resume", ""},
		{"drain", "drain", ""},
		{"budget 150", "budget $150.00", ""},
		{"budget $12.50", "budget $12.50", ""},
		{"concurrency 50", "concurrency 50", ""},
		{"lane a/int4 pause", "pause a/int4", ""},
		{"lane a/int4 resume", "resume a/int4", ""},
		{"lane a/int4 limit 9", "limit a/int4 9", ""},
		{"lane b pause", "", `no lane "b"; the lanes are a/int4`},
		{"budget plenty", "", `budget "plenty": want dollars`},
		{"concurrency many", "", `concurrency "many": want a whole number`},
		{"lane a/int4 limit few", "", `lane-limit "few": want a whole number`},
		{"budget", "", `ctl budget: want "budget $N"`},
		{"pause now", "", `ctl pause: want "pause"`},
		{"lane a/int4", "", "ctl lane: want"},
		{"stop", "", `there is no "stop"`},
	} {
		t.Run(row.args, func(t *testing.T) {
			run, dir := new(recorder), t.TempDir()
			s, err := serveControl(dir, run)
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			q, err := parseCtl(strings.Fields(row.args))
			var reply *controlReply
			if err == nil {
				reply, err = askRun(dir, q)
			}
			if row.want != "" {
				if err == nil || !strings.Contains(err.Error(), row.want) || run.told != nil {
					t.Fatalf("error %v, told %q; want %q and nothing", err, run.told, row.want)
				}
				return
			}
			if err != nil || reply.Status.Running != 7 || reply.Status.Lanes[0].Idle != "full" {
				t.Fatalf("error %v, reply %+v", err, reply)
			}
			if told := strings.Join(run.told, "; "); told != row.told {
				t.Errorf("the run was told %q, want %q", told, row.told)
			}
		})
	}
}

func TestControlSocket(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("deep", 40))
	if err := os.Mkdir(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"short": t.TempDir(), "long path": deep} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, controlSocket)
			if _, err := askRun(dir, &controlRequest{Do: "show"}); err == nil || !strings.Contains(err.Error(), "no run goes on there") {
				t.Errorf("without a run: %v", err)
			}
			for range 2 { // the second time after one that was killed
				s, err := serveControl(dir, new(recorder))
				if err != nil {
					t.Fatal(err)
				}
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("the socket: %v, %v", info, err)
				}
				if _, err := askRun(dir, &controlRequest{Do: "show"}); err != nil {
					t.Error(err)
				}
				s.l.Close()
				if _, err := askRun(dir, &controlRequest{Do: "show"}); err == nil || !strings.Contains(err.Error(), "no run goes on there") {
					t.Errorf("after a kill: %v", err)
				}
			}
			s, err := serveControl(dir, new(recorder))
			if err != nil {
				t.Fatal(err)
			}
			s.close()
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the socket is left: %v", err)
			}
		})
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, controlSocket), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := serveControl(dir, new(recorder)); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("a file in the socket's place: %v", err)
	}
}

// TestControlTakesNonsense writes what is no request to the socket.
func TestControlTakesNonsense(t *testing.T) {
	dir, run := t.TempDir(), new(recorder)
	s, err := serveControl(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, line := range []string{"", "{}", "null", "pause", `{"do":"explode"}`, `{"do":"pause","twice":true}`, `{"do":"pause"`, strings.Repeat("x", 1<<20)} {
		c, err := net.Dial("unix", filepath.Join(dir, controlSocket))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(c, line) // the server may have closed it before it was all written
		b := make([]byte, 4096)
		n, _ := c.Read(b)
		if n > 0 && !strings.HasPrefix(string(b[:n]), `{"error":"`) && !strings.HasPrefix(string(b[:n]), `{"ok":false`) {
			t.Errorf("%.40q is answered with %.100s", line, b[:n])
		}
		c.Close()
	}
	if run.told != nil {
		t.Errorf("the run was told %q", run.told)
	}
}
