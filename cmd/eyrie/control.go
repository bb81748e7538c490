package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/internal/config"
)

// A run that goes on listens on a Unix socket in its folder, which only its
// owner may use. A request is a line of JSON, and so is the answer to it:
//
//	{"do":"budget","value":"150"}
//	{"ok":true,"status":{"state":"running",…}}
//
// do is show, pause, resume, drain, budget or concurrency, the latter two with a
// value; or lane-pause, lane-resume or lane-limit, with the name of a lane, and
// the last with a value, too. The status is what eyrie run --json prints. A
// request that is refused is answered with {"ok":false,"error":"…"}. A connection
// may make any number of requests, one after another.

// controlSocket is the socket's name in the run folder.
const controlSocket = "control.sock"

type controlRequest struct {
	Do    string `json:"do"`
	Lane  string `json:"lane,omitzero"`
	Value string `json:"value,omitzero"`
}

type controlReply struct {
	OK     bool        `json:"ok"`
	Error  string      `json:"error,omitzero"`
	Status *statusJSON `json:"status,omitzero"`
}

// runControl is what a request can do to a run.
type runControl interface {
	PauseRun() error
	ResumeRun() error
	EndRun() error
	SetBudget(eyrie.Money) error
	SetConcurrency(int) error
	PauseLane(string) error
	ResumeLane(string) error
	LimitLane(string, int) error
	Snapshot() eyrie.Snapshot
}

var _ runControl = (*dispatch.Runner)(nil)

// boundedRun is a run that is not given more requests at once than this process
// can have open files for.
type boundedRun struct {
	runControl
	job *config.Job
}

func (b boundedRun) SetConcurrency(n int) error {
	job := *b.job
	job.Concurrency = n
	if err := enoughFiles(&job); err != nil {
		return err
	}
	return b.runControl.SetConcurrency(n)
}

// controlServer answers requests until it is closed.
type controlServer struct {
	run  runControl
	l    net.Listener
	path string
	mu   sync.Mutex
	open map[net.Conn]struct{}
	wg   sync.WaitGroup
}

// serveControl listens in a run folder whose journal this process has locked:
// a socket that is there already was left by one that was killed.
func serveControl(dir string, run runControl) (*controlServer, error) {
	path := filepath.Join(dir, controlSocket)
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != fs.ModeSocket {
			return nil, fmt.Errorf("%s is no socket; move it away to use eyrie ctl", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	name, done, err := shortPath(path)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.Listen("unix", name)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // its name is another one by then
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	s := &controlServer{run: run, l: l, path: path, open: map[net.Conn]struct{}{}}
	s.wg.Go(s.accept)
	return s, nil
}

// longestSocket is how long the path of a socket may be on every Unix.
const longestSocket = 100

// shortPath names a socket so that the system takes the name: a path that is
// long goes through its open folder, where the system has such names.
func shortPath(path string) (name string, done func(), err error) {
	if len(path) <= longestSocket {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	name = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	if _, err := os.Stat(filepath.Dir(name)); err != nil {
		dir.Close()
		return "", nil, fmt.Errorf("the path of the run folder is too long for a socket (%d bytes)", len(path))
	}
	return name, func() { dir.Close() }, nil
}

func (s *controlServer) accept() {
	for {
		c, err := s.l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.open[c] = struct{}{}
		s.mu.Unlock()
		s.wg.Go(func() {
			s.serve(c)
			s.mu.Lock()
			delete(s.open, c)
			s.mu.Unlock()
			c.Close()
		})
	}
}

// close ends the server and removes the socket.
func (s *controlServer) close() {
	s.l.Close()
	s.mu.Lock()
	for c := range s.open {
		c.SetReadDeadline(time.Now()) // an answer on its way still goes out
	}
	s.mu.Unlock()
	s.wg.Wait()
	os.Remove(s.path)
}

func (s *controlServer) serve(c net.Conn) {
	lines := bufio.NewScanner(c) // a request is short
	for lines.Scan() {
		c.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if printJSON(c, s.answer(lines.Bytes())) != nil {
			return
		}
	}
}

func (s *controlServer) answer(line []byte) *controlReply {
	var q controlRequest
	err := json.Unmarshal(line, &q, json.RejectUnknownMembers(true))
	if err == nil {
		err = s.do(&q)
	}
	out := &controlReply{OK: err == nil, Status: newStatusJSON("running", s.run.Snapshot())}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

// do carries a request out.
func (s *controlServer) do(q *controlRequest) error {
	switch q.Do {
	case "show":
		return nil
	case "pause":
		return s.run.PauseRun()
	case "resume":
		return s.run.ResumeRun()
	case "drain":
		return s.run.EndRun()
	case "budget":
		m, err := eyrie.ParseMoney(strings.TrimPrefix(q.Value, "$"))
		if err != nil {
			return fmt.Errorf("budget %q: want dollars, such as 150 or $12.50", q.Value)
		}
		return s.run.SetBudget(m)
	case "concurrency":
		n, err := wholeNumber(q)
		if err != nil {
			return err
		}
		return s.run.SetConcurrency(n)
	case "lane-pause":
		return s.run.PauseLane(q.Lane)
	case "lane-resume":
		return s.run.ResumeLane(q.Lane)
	case "lane-limit":
		n, err := wholeNumber(q)
		if err != nil {
			return err
		}
		return s.run.LimitLane(q.Lane, n)
	}
	return fmt.Errorf("%q is nothing that a run can do; it can show, pause, resume, drain, budget, concurrency, lane-pause, lane-resume, lane-limit", q.Do)
}

func wholeNumber(q *controlRequest) (int, error) {
	n, err := strconv.Atoi(q.Value)
	if err != nil {
		return 0, fmt.Errorf("%s %q: want a whole number", q.Do, q.Value)
	}
	return n, nil
}

// askRun sends one request to the run that goes on in a folder.
func askRun(dir string, q *controlRequest) (*controlReply, error) {
	name, done, err := shortPath(filepath.Join(dir, controlSocket))
	if err != nil {
		return nil, err
	}
	defer done()
	c, err := net.DialTimeout("unix", name, 5*time.Second)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%s: no run goes on there now; eyrie run JOB starts one, and eyrie status shows how far it came", dir)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s: the run belongs to another user, who alone may change it", dir)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	if err := printJSON(c, q); err != nil {
		return nil, fmt.Errorf("%s: the run does not take requests: %w", dir, err)
	}
	line, err := bufio.NewReader(c).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: the run gave no answer; it may just have ended (eyrie status tells)", dir)
	}
	out := new(controlReply)
	if err := json.Unmarshal(line, out); err != nil {
		return nil, fmt.Errorf("%s: the run's answer is not understood: %w", dir, err)
	}
	if !out.OK {
		return nil, errors.New(out.Error)
	}
	return out, nil
}
