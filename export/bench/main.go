// Command bench measures exports of many rows beside the plain writers of
// parquet-go and of arrow-go. It is a module of its own, so that arrow-go's
// Parquet is no dependency of eyrie.
//
// Every writer runs in a process of its own, which gets the same rows from a
// ring made ahead, and is measured by what the system says of it when it has
// ended: time, processor time, and the most memory it had.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	rows := flag.Int("rows", 1_000_000, "how many rows")
	only := flag.String("only", "", "writers to run, separated by commas; all by default")
	dir := flag.String("dir", "", "where to write; a temporary folder of the system by default")
	child := flag.String("child", "", "run this writer in this process, and say nothing")
	ringFile := flag.String("ring", "", "where that writer finds the rows")
	flag.Parse()
	if *child != "" {
		if err := writeWith(*child, *dir, *ringFile, *rows); err != nil {
			return err
		}
		return printPeak()
	}
	tmp, err := os.MkdirTemp(*dir, "bench-export-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	ring, err := ring()
	if err != nil {
		return err
	}
	if err := save(filepath.Join(tmp, "ring"), ring); err != nil {
		return err
	}
	raw := 5 * float64(tokensOf(ring, *rows)) / 1e6 // four bytes of an id and one of its mask
	t := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "writer\trows\traw MB\tfile MB\twall s\tCPU s\trows/s\tMB/s\tMB/CPU s\tpeak MB\t\n")
	for _, w := range writers {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), w.name) {
			continue
		}
		m, err := measure(w.name, tmp, *rows)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.0f\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\t%d\t\n", w.name, *rows, raw, float64(m.bytes)/1e6,
			m.wall.Seconds(), m.cpu.Seconds(), float64(*rows)/m.wall.Seconds(), raw/m.wall.Seconds(), raw/m.cpu.Seconds(), m.peakKB/1000)
		t.Flush()
	}
	return nil
}

type measured struct {
	wall, cpu time.Duration
	peakKB    int64
	bytes     int64
}

// measure runs a writer in a process of its own.
func measure(name, tmp string, rows int) (*measured, error) {
	dir := filepath.Join(tmp, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-child", name, "-dir", dir, "-ring", filepath.Join(tmp, "ring"), "-rows", strconv.Itoa(rows))
	cmd.Stderr = os.Stderr
	start := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	m := &measured{wall: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if m.peakKB, err = strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64); err != nil {
		return nil, err
	}
	return m, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		m.bytes += info.Size()
		return err
	})
}

// peak finds the most memory that a process had, in what Linux says of it. What
// the system tells of a child that has ended includes its parent's.
var peak = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

func printPeak() error {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	m := peak.FindSubmatch(b)
	if m == nil {
		return errors.New("the system does not say how much memory a process had")
	}
	_, err = fmt.Printf("%s\n", m[1])
	return err
}
