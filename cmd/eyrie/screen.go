package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/eyrie-ai/eyrie"
)

// screen shows a run on stderr: a line that is drawn again on a terminal,
// plain lines elsewhere. Messages and the line do not mix.
type screen struct {
	mu    sync.Mutex
	w     io.Writer
	width func() int // nil where lines are plain
	live  bool       // the line is drawn
}

// progressModes are the values of --progress.
const progressModes = "auto, tty, plain, none"

func newScreen(w io.Writer, mode string) (*screen, error) {
	s := &screen{w: w}
	f, isFile := w.(*os.File)
	tty := isFile && term.IsTerminal(int(f.Fd()))
	switch mode {
	case "auto":
	case "tty":
		tty = true
	case "plain":
		tty = false
	case "none":
		s.w = io.Discard
		return s, nil
	default:
		return nil, &exitError{exitConfig, fmt.Errorf("--progress %s: want one of %s", mode, progressModes)}
	}
	if tty {
		s.width = func() int {
			if isFile {
				if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
					return w
				}
			}
			return 80
		}
	}
	return s, nil
}

// every is how often the line is shown.
func (s *screen) every() time.Duration {
	if s.width != nil {
		return 500 * time.Millisecond
	}
	return 10 * time.Second
}

const clearLine = "\r\x1b[K"

// show draws the status line.
func (s *screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.width == nil {
		fmt.Fprintln(s.w, line)
		return
	}
	if r, w := []rune(line), s.width(); len(r) >= w {
		line = string(r[:max(0, w-1)])
	}
	io.WriteString(s.w, clearLine+line)
	s.live = true
}

// Write prints messages above the line.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		io.WriteString(s.w, clearLine)
		s.live = false
	}
	return s.w.Write(p)
}

func (s *screen) printf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// logger logs to the screen, for people.
func (s *screen) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.String(slog.TimeKey, a.Value.Time().Format("15:04:05"))
		}
		return a
	}}))
}

// statusLine is a run in one line.
func statusLine(s eyrie.Snapshot) string {
	var parts []string
	var have, target int64
	for _, set := range s.Sets {
		have += min(set.Have, set.Target)
		target += set.Target
		parts = append(parts, fmt.Sprintf("%s %s", set.Name, percent(set.Have, set.Target)))
	}
	out := []string{
		fmt.Sprintf("%s/%s tok", short(have), short(target)),
		s.Spent.Cents() + " of " + s.Budget.Cents(),
		fmt.Sprintf("%d in flight", s.Running),
		short(int64(s.TokensPerSecond)) + " tok/s",
	}
	if s.ETA > 0 && s.Phase == "running" {
		out = append(out, "ETA "+rough(s.ETA))
	}
	if s.Bills > 0 {
		out = append(out, fmt.Sprintf("%d bills to come (%s held)", s.Bills, s.Unbilled.Cents()))
	}
	if s.Phase != "running" {
		out = append(out, s.Phase)
	} else if s.Idle != "" {
		out = append(out, s.Idle)
	}
	return strings.Join(append(out, strings.Join(parts, ", ")), " · ")
}

func percent(have, target int64) string {
	if target <= 0 {
		return "–"
	}
	return fmt.Sprintf("%d%%", 100*have/target)
}

// short prints a count in four characters or so.
func short(n int64) string {
	switch {
	case n >= 100_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
