package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/eyrie-ai/eyrie/internal/config"
)

// spareFiles are open files beside the connections: the journal, data sets,
// the terminal.
const spareFiles = 64

// filesWanted is how many open files a job may need at once. Over https many
// streams share a connection; over http each has its own.
func filesWanted(job *config.Job) uint64 {
	n := spareFiles
	for _, e := range job.Engines {
		switch {
		case e.Local != nil:
			n += min(job.Concurrency, cmp.Or(e.Local.Concurrency, job.Concurrency))
		case strings.HasPrefix(e.OpenRouter.BaseURL, "http:"):
			n += job.Concurrency
		default:
			n += 4 + job.Concurrency/90
		}
	}
	return uint64(n)
}

// enoughFiles refuses a job that would run out of open files.
func enoughFiles(job *config.Job) error {
	want := filesWanted(job)
	if have, known := openFiles(); known && have < want {
		return &exitError{exitConfig, fmt.Errorf(
			"%d requests at once may need %d open files and this process may have %d; raise the limit (ulimit -n %d) or lower concurrency",
			job.Concurrency, want, have, want)}
	}
	return nil
}

// existing is the nearest folder above path, or path itself, that is there.
func existing(path string) string {
	for {
		_, err := os.Stat(path)
		parent := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || parent == path {
			return path
		}
		path = parent
	}
}
